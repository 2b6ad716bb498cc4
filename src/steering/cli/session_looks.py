"""Commands that look at a session and change nothing: `explain`, `recommend`, and some of `steering session`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table

from steering.cli.common import JsonFlag, out, place, plural, print_json
from steering.errors import InvalidOption

if TYPE_CHECKING:
    from steering.session import Session, Why

MOST_ROWS = 200
"""Rows of a table that are printed for people."""

Directory = Annotated[Path, typer.Argument(metavar="DIR", help="Directory of the session.", parser=place)]
State = Annotated[str, typer.Argument(help="Name or number of the state.")]
Level = Annotated[float, typer.Option("--level", help="Probability of the intervals.")]


def _look(directory: Path) -> Session:
    from steering.session import Session

    return Session.open(directory, read_only=True)


def show(directory: Directory, as_json: JsonFlag = False) -> None:
    """Say what a session holds and what is under way."""
    session = _look(directory)
    found = session.summary()
    if as_json:
        print_json(found)
        return
    table = Table(title=f"Session {directory}", title_justify="left", show_header=False)
    shown = {**found, "states": _some(found["states"]), "actions": _some(found["actions"])}
    shown["under_way"] = "; ".join(f"{one['id']}: {one['action']} in {one['state']}" for one in found["under_way"])
    for key, value in shown.items():
        if value not in (None, [], "") and key != "directory":
            table.add_row(key.replace("_", " "), str(value))
    out.print(table)


def _some(names: list[Any]) -> str:
    text = ", ".join(map(str, names[:12]))
    return text if len(names) <= 12 else f"{text}, ... ({len(names)})"


def export(
    directory: Directory,
    file: Annotated[Path, typer.Argument(help="File to write: .csv, .json or .parquet.")],
    as_json: JsonFlag = False,
) -> None:
    """Write everything that happened as a table."""
    history = _look(directory).history()
    kind = file.suffix.lower()
    if kind == ".csv":
        history.to_csv(file, index=False)
    elif kind == ".json":
        history.to_json(file, orient="records", date_format="iso")
    elif kind == ".parquet":
        names = ["state", "action", "next_state", "suggested", "unit"]
        history.astype(dict.fromkeys(names, "string")).to_parquet(file, index=False)
    else:
        raise InvalidOption(f"{file} has no known ending; use .csv, .json or .parquet.")
    if as_json:
        print_json({"file": str(file), "rows": len(history)})
    else:
        out.print(f"wrote {plural(len(history), 'row')} to {file}", highlight=False)


def explain(directory: Directory, state: State, as_json: JsonFlag = False) -> None:
    """Say what is known about each action of a state."""
    found = _look(directory).explain(state)
    if as_json:
        print_json(found.to_dict())
    else:
        _print_why(found)


def _print_why(why: Why) -> None:
    out.print(str(why), highlight=False)
    _print_rows(why.actions)


def _print_rows(rows: Sequence[dict[str, Any]]) -> None:
    """The first of some rows as a table, and how many there are more."""
    if not rows:
        return
    table = Table()
    for name in rows[0]:
        table.add_column(str(name).replace("_", " "))
    for one in rows[:MOST_ROWS]:
        table.add_row(*(f"{value:.4g}" if isinstance(value, float) else str(value) for value in one.values()))
    out.print(table)
    if len(rows) > MOST_ROWS:
        out.print(f"and {len(rows) - MOST_ROWS} more rows; --json has them all", highlight=False)


def recommend(
    directory: Directory,
    state: Annotated[str | None, typer.Argument(help="One state; all of them if left out.")] = None,
    as_json: JsonFlag = False,
) -> None:
    """Print the best known action of every state or of one, without exploration."""
    session = _look(directory)
    policy = session.recommend() if state is None else {state: session.recommend(state)}
    if as_json:
        print_json({str(name): action for name, action in policy.items()})
        return
    rows = [{"state": name, "action": "(nothing is safe enough)" if a is None else a} for name, a in policy.items()]
    _print_rows(rows)


def belief(
    directory: Directory,
    state: Annotated[str | None, typer.Argument(help="One state; all of them if left out.")] = None,
    level: Level = 0.95,
    as_json: JsonFlag = False,
) -> None:
    """Print what is believed of each (state, action, next state), with intervals."""
    table = _look(directory).belief(state, level=level)
    rows = [{str(key): value for key, value in row.items()} for row in table.to_dict("records")]
    if as_json:
        print_json({"rows": rows, "left_out": table.attrs.get("left_out")})
        return
    _print_rows(rows)
    if "left_out" in table.attrs:
        out.print(table.attrs["left_out"], highlight=False)


def forecast(
    directory: Directory,
    state: State,
    steps: Annotated[int, typer.Option("--steps", "-t", help="How many steps to look ahead.")] = 30,
    level: Level = 0.95,
    as_json: JsonFlag = False,
) -> None:
    """Print the expected rewards of the next steps under the recommended policy, with intervals."""
    table = _look(directory).forecast(state, steps, level=level)
    rows = [{str(key): value for key, value in row.items()} for row in table.to_dict("records")]
    print_json(rows) if as_json else _print_rows(rows)
