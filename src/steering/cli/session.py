"""`steering session`, `ask`, `tell`, `explain`, `recommend`, `serve`: an agent for a real process."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from steering.cli import session_looks as looks
from steering.cli.catalog import complete_agent
from steering.cli.common import Imports, JsonFlag, out, plural, print_json
from steering.cli.session_looks import Directory, State
from steering.errors import InvalidOption

if TYPE_CHECKING:
    from steering.session import Session

WAIT = 10.0
"""Seconds that a command waits for another process that writes to the same session."""

Unit = Annotated[str | None, typer.Option("--unit", help="Which machine, patient or customer, if there are several.")]
Columns = Annotated[
    list[str] | None,
    typer.Option("--column", help="Column with another name, e.g. state=condition; repeat for more."),
]

group = typer.Typer(help="Make, look at, fill and export sessions.", no_args_is_help=True)


def register(app: typer.Typer) -> None:
    """Add the commands of this file."""
    group.command(name="new")(new)
    group.command(name="show")(looks.show)
    group.command(name="import")(import_)
    group.command(name="export")(looks.export)
    group.command(name="belief")(looks.belief)
    group.command(name="forecast")(looks.forecast)
    for command in (add, start, cancel, forbid):
        group.command()(command)
    app.add_typer(group, name="session")
    for top in (ask, tell, looks.explain, looks.recommend, serve):
        app.command()(top)


def _open(directory: Path) -> Session:
    from steering.session import Session

    return Session.open(directory, wait=WAIT)


def _names(text: str | None) -> list[str] | int | None:
    """A list "a,b,c", a number of them, or @FILE with one name a line; else a name holds anything but a comma."""
    if text is None:
        return None
    if text.startswith("@"):
        try:
            lines = Path(text[1:]).read_text(encoding="utf-8-sig").splitlines()
        except (OSError, ValueError) as error:
            raise InvalidOption(f"the names in {text[1:]} cannot be read ({error}).") from None
        return [line.strip() for line in lines if line.strip()]
    if text.strip().isdecimal():
        return int(text)
    return [part.strip() for part in text.split(",")]


def _risk(text: str | None) -> tuple[float, float] | None:
    if text is None:
        return None
    try:
        floor, probability = (float(part) for part in text.split(","))
    except ValueError:
        raise InvalidOption(f"--risk is '{text}'; give a floor and a probability, such as -100,0.05.") from None
    return floor, probability


def _columns(pairs: list[str] | None) -> dict[str, str]:
    found = {}
    for pair in pairs or []:
        name, equals, column = pair.partition("=")
        if not equals:
            raise InvalidOption(f"--column is '{pair}'; write name=column, such as state=condition.")
        found[name.strip()] = column.strip()
    return found


def new(
    directory: Directory,
    states: Annotated[str | None, typer.Option("--states", help="Names, as a,b,c, how many, or @FILE.")] = None,
    actions: Annotated[str | None, typer.Option("--actions", help="Names, as a,b,c, how many, or @FILE.")] = None,
    log: Annotated[Path | None, typer.Option("--log", help="CSV file with what happened before.")] = None,
    column: Columns = None,
    agent: Annotated[str, typer.Option("--agent", "-a", help="Agent.", autocompletion=complete_agent)] = "steering",
    discount: Annotated[float, typer.Option("--discount", help="Worth of a reward that comes a step later.")] = 0.95,
    seed: Annotated[int, typer.Option("--seed", help="Of all random choices.")] = 0,
    rewards: Annotated[str | None, typer.Option("--rewards", help="Usual rewards, as 'about -25 to 0'.")] = None,
    allowed: Annotated[str | None, typer.Option("--allowed", help="JSON object: state to list of actions.")] = None,
    risk: Annotated[str | None, typer.Option("--risk", help="Floor and probability, as -100,0.05.")] = None,
    replan_every: Annotated[int, typer.Option("--replan-every", help="Steps that a plan is followed, at most.")] = 1,
    imports: Imports = None,
    as_json: JsonFlag = False,
) -> None:
    """Begin a session.

    [bold]Examples[/]

    steering session new press --states good,worn,broken --actions run,repair --rewards "about -25 to 5"

    steering session new press --log log.csv --column state=condition
    """
    from steering.session import Session

    try:
        mask = None if allowed is None else json.loads(allowed)
    except (ValueError, RecursionError):
        raise InvalidOption('--allowed is not JSON; write \'{"broken": ["repair"]}\'.') from None
    with Session.create(
        directory,
        _names(states),
        _names(actions),
        allowed=mask,
        agent=agent,
        discount=discount,
        seed=seed,
        rewards=rewards,
        risk=_risk(risk),
        log=log,
        columns=_columns(column),
        replan_every=replan_every,
        import_modules=imports or [],
    ) as session:
        report = session.log_report
        if as_json:
            print_json({**session.summary(), "log": None if report is None else report.to_dict()})
            return
        text = f"made {directory}: {plural(len(session.states), 'state')}, {plural(len(session.actions), 'action')}"
        out.print(f"{text}, agent {session.header['agent']}", highlight=False)
        if report is not None:
            _print_report(report)


def import_(
    directory: Directory,
    log: Annotated[Path, typer.Argument(help="CSV file with columns state, action, reward, next_state.")],
    column: Columns = None,
    delimiter: Annotated[str | None, typer.Option("--delimiter", help="Between two cells.")] = None,
    add_new: Annotated[bool, typer.Option("--new", help="Add states and actions that are not known.")] = False,
    as_json: JsonFlag = False,
) -> None:
    """Take what happened from a CSV file; the same file counts once, however often this is called."""
    with _open(directory) as session:
        report = session.import_log(log, columns=_columns(column), delimiter=delimiter, new=add_new)
    if as_json:
        print_json(report.to_dict())
    else:
        _print_report(report)


def _print_report(report: Any) -> None:
    out.print(str(report), highlight=False)
    for line, reason in report.skipped[1:20]:
        out.print(f"  line {line}: {reason}", highlight=False)
    if report.n_skipped > 20:
        out.print(f"  and {report.n_skipped - 20} more", highlight=False)


def add(
    directory: Directory,
    state: State,
    action: Annotated[str, typer.Argument(help="What was done.")],
    reward: Annotated[float, typer.Option("--reward", help="What it earned.")],
    next_state: Annotated[str | None, typer.Option("--next", help="Where it led.")] = None,
    done: Annotated[bool, typer.Option("--done", help="An episode ended.")] = False,
    unit: Unit = None,
    key: Annotated[str | None, typer.Option("--key", help="Your own name of this row: it then counts once.")] = None,
    as_json: JsonFlag = False,
) -> None:
    """Add something that happened without being asked for."""
    with _open(directory) as session:
        session.add(state, action, reward, next_state, done, unit=unit, key=key)
        _done(as_json, "added")


def start(directory: Directory, state: State, unit: Unit = None, as_json: JsonFlag = False) -> None:
    """Say that an episode begins in a state; `ask` and `add` after the end of one do so by themselves."""
    with _open(directory) as session:
        session.start(state, unit=unit)
        _done(as_json, f"started in {state}")


def cancel(
    directory: Directory,
    id: Annotated[int, typer.Argument(help="Number of the suggestion.")],
    as_json: JsonFlag = False,
) -> None:
    """Forget a suggestion that will not be told."""
    with _open(directory) as session:
        session.cancel(id)
        _done(as_json, f"cancelled {id}")


def forbid(
    directory: Directory,
    action: Annotated[str, typer.Argument(help="The action.")],
    state: Annotated[str | None, typer.Option("--state", help="Only in this state.")] = None,
    as_json: JsonFlag = False,
) -> None:
    """Never suggest an action again."""
    with _open(directory) as session:
        session.forbid(action, state)
        _done(as_json, f"'{action}' is forbidden")


def _done(as_json: bool, text: str) -> None:
    if as_json:
        print_json({"ok": True})
    else:
        out.print(text, highlight=False)


def ask(
    directory: Directory,
    state: State,
    allowed: Annotated[str | None, typer.Option("--allowed", help="Actions possible right now, as a,b.")] = None,
    risk: Annotated[str | None, typer.Option("--risk", help="Floor and probability, as -100,0.05.")] = None,
    unit: Unit = None,
    as_json: JsonFlag = False,
) -> None:
    """Ask what to do in a state; the answer stays the same until the outcome is told.

    [bold]Examples[/]

    steering ask press worn

    steering ask press worn --allowed run,repair --json
    """
    with _open(directory) as session:
        names = None if allowed is None else [part.strip() for part in allowed.split(",")]
        found = session.ask(state, names, risk=_risk(risk), unit=unit)
    if as_json:
        print_json(found.to_dict())
        return
    out.print(f"{found.id}: {found.action}", highlight=False)
    out.print(str(found.why), highlight=False)


def tell(
    directory: Directory,
    id: Annotated[int, typer.Argument(help="Number of the suggestion.")],
    reward: Annotated[float | None, typer.Option("--reward", help="What it earned; may be told later.")] = None,
    next_state: Annotated[str | None, typer.Option("--next", help="Where the process is now.")] = None,
    done: Annotated[bool, typer.Option("--done", help="An episode ended.")] = False,
    action: Annotated[str | None, typer.Option("--action", help="What was done, if not as suggested.")] = None,
    as_json: JsonFlag = False,
) -> None:
    """Tell what happened after a suggestion.

    [bold]Examples[/]

    steering tell press 1 --reward -3.5 --next good
    """
    with _open(directory) as session:
        session.tell(id, reward, next_state, done, action)
        _done(as_json, f"told {id}")


def serve(
    directory: Directory,
    port: Annotated[int, typer.Option("--port", help="Port; 0 takes a free one.")] = 8765,
    host: Annotated[str, typer.Option("--host", help="Address; one that others reach needs a token.")] = "127.0.0.1",
    token_file: Annotated[str | None, typer.Option("--token-file", help="File with the token of requests.")] = None,
    rate: Annotated[float, typer.Option("--rate", help="Requests a second from one address, at most.")] = 2000.0,
) -> None:
    """Serve a session over HTTP until Ctrl-C (needs the extra lab).

    [bold]Examples[/]

    steering serve press --port 8765

    curl -X POST -H 'Content-Type: application/json' -d '{"state": "worn"}' http://127.0.0.1:8765/ask
    """
    from steering.session.serve import serve as run

    def ready(address: str) -> None:
        print(f"serving {directory} on {address}", flush=True)

    run(directory, host=host, port=port, token_file=token_file, rate=rate, ready=ready)
