"""Small tables for notebooks; every text is escaped, so that names from files are shown and never run."""

from __future__ import annotations

import html
from collections.abc import Mapping


def table(title: str, values: Mapping[str, object]) -> str:
    """A heading and one line for each value."""
    rows = "".join(f"<tr><th>{_text(name)}</th><td>{_text(value)}</td></tr>" for name, value in values.items())
    return f"<table><caption>{_text(title)}</caption>{rows}</table>"


def _text(value: object) -> str:
    return html.escape(f"{value:.6g}" if isinstance(value, float) else str(value))
