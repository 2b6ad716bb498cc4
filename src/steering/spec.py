"""Short descriptions as text: ``name:value,value,key=value`` for environments and agents.

The same grammar everywhere (Python, command line, sweep files)::

    deepsea:15                   -> ("deepsea", [15], {})
    widenarrow:1,12              -> ("widenarrow", [1, 12], {})
    ids:information=variance     -> ("ids", [], {"information": "variance"})

Values are read as whole number, number, true/false, none, ``(1, 2, 3)`` lists in round brackets, else text.
No code is ever evaluated.
"""

from __future__ import annotations

from steering.errors import InvalidOption

MAX_DEPTH = 8
"""Deepest nesting of round brackets."""

Value = int | float | bool | str | None | tuple["Value", ...]


def parse(text: str) -> tuple[str, list[Value], dict[str, Value]]:
    """Split a description into its name, positional values and options.

    Parameters
    ----------
    text
        For example ``"priormdp:4,2,seed=0"``.

    Returns
    -------
    name, positional, options
    """
    name, _, rest = text.strip().partition(":")
    name = name.strip()
    if not name:
        missing = f"'{text}' has no name before the colon" if ":" in text else "the text is empty, so there is no name"
        raise InvalidOption(f"{missing}; write name:value,key=value.")
    positional: list[Value] = []
    options: dict[str, Value] = {}
    for part in _split(rest, text):
        key, equals, value = part.partition("=")
        if not equals:
            if options:
                raise InvalidOption(f"in '{text}', '{part}' stands after a key=value option; put it before them.")
            positional.append(_value(part))
            continue
        key = key.strip()
        if not key.isidentifier():
            raise InvalidOption(f"in '{text}', '{key}' is not an option name; write key=value.")
        if key in options:
            raise InvalidOption(f"in '{text}', option '{key}' is given twice; keep one of them.")
        options[key] = _value(value)
    return name, positional, options


def _split(rest: str, text: str) -> list[str]:
    parts: list[str] = []
    depth = start = 0
    for i, char in enumerate(rest):
        depth += (char == "(") - (char == ")")
        if depth < 0:
            break
        if depth > MAX_DEPTH:
            raise InvalidOption(f"a value has more than {MAX_DEPTH} round brackets inside each other; use fewer.")
        if char == "," and depth == 0:
            parts.append(rest[start:i])
            start = i + 1
    if depth != 0:
        raise InvalidOption(f"in '{text}', the round brackets do not match; close every bracket.")
    if rest.strip():
        parts.append(rest[start:])
    if any(not part.strip() for part in parts):
        raise InvalidOption(f"'{text}' has an empty part between commas; remove it.")
    return [part.strip() for part in parts]


def _value(text: str) -> Value:
    text = text.strip()
    if text.startswith("(") and text.endswith(")"):
        return tuple(_value(part) for part in _split(text[1:-1], text))
    for reader in (int, float):
        try:
            return reader(text)
        except ValueError:
            pass
    return {"true": True, "false": False, "none": None}.get(text.lower(), text)


def describe(name: str, positional: list[Value], options: dict[str, Value]) -> str:
    """Write a description back as text.

    `parse` gives the same parts again, as long as texts among the values have no comma, equal sign or bracket and
    do not read as a number, true, false or none.
    """
    parts = [describe_value(value) for value in positional]
    parts += [f"{key}={describe_value(value)}" for key, value in options.items()]
    return f"{name}:{','.join(parts)}" if parts else name


def describe_value(value: Value) -> str:
    """Write one value as text."""
    if isinstance(value, tuple):
        return f"({','.join(describe_value(item) for item in value)})"
    if value is None or isinstance(value, bool):
        return str(value).lower()
    return str(value)
