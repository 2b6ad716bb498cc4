"""`steering lab`: see agents explore, live or as a page that replays a run."""

from __future__ import annotations

import contextlib
import tempfile
import webbrowser
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from steering.cli import stopping
from steering.cli.catalog import complete_agent, complete_env
from steering.cli.common import Imports, count, import_modules, out, place
from steering.errors import InvalidOption

DEFAULT_AGENTS = ("steering", "psrl")
STEPS = 5000


def register(app: typer.Typer) -> None:
    """Add the command of this file."""
    app.command(name="lab")(lab)


def lab(
    env: Annotated[
        str, typer.Argument(help="Environment, e.g. deepsea:8, or directory of a session.", autocompletion=complete_env)
    ] = "deepsea:8",
    agent: Annotated[
        list[str] | None,
        typer.Option("--agent", "-a", help="Agent; repeat for more side by side.", autocompletion=complete_agent),
    ] = None,
    steps: Annotated[
        int | None,
        typer.Option(
            "--steps", "-t", help="Steps of each run, e.g. 1e4.", show_default=str(STEPS), parser=count, metavar="N"
        ),
    ] = None,
    seed: Annotated[
        int | None,
        typer.Option("--seed", "-s", help="Seed of the noise, which all agents share.", show_default="0"),
    ] = None,
    speed: Annotated[
        float | None,
        typer.Option(help="Steps a second at which the page begins to play.", show_default="by the size of the world"),
    ] = None,
    port: Annotated[int, typer.Option("--port", "-p", help="Port on this machine; 0 takes any free one.")] = 8765,
    no_browser: Annotated[bool, typer.Option("--no-browser", help="Do not open a browser.")] = False,
    export: Annotated[
        Path | None,
        typer.Option("--export", metavar="FILE", help="Write one page that replays the run offline.", parser=place),
    ] = None,
    imports: Imports = None,
) -> None:
    """Watch agents explore: what they know, what they want to know, and what it costs.

    [bold]Examples[/]

    steering lab deepsea:8

    steering lab rooms:10 --agent steering --agent psrl --speed 60

    steering lab deepsea:8 -a steering -a psrl --steps 5000 --export deepsea.html

    steering lab press            (a session: what was asked, suggested, told and believed)
    """
    from steering.lab.chart import require

    require("bokeh", "starlette", "uvicorn")
    from steering.lab.journal import SessionLab, is_session
    from steering.lab.page import write_page
    from steering.lab.server import Lab, Setup, bound, serve

    import_modules(imports)
    if speed is not None and not 0.1 <= speed <= 1e6:
        raise InvalidOption(f"--speed is {speed:g}; it must be between 0.1 and 1,000,000 steps a second.")
    if export is not None:
        _refuse_place(export)
    begin: Callable[[], Lab | SessionLab]
    if is_session(env):
        if agent or steps is not None or seed is not None:
            raise InvalidOption(f"{env} is a session, which has its agent and its steps; leave those options out.")
        session = SessionLab(env)
        if export is not None:
            write_page(export, session.name, session.packs(), speed)
            _wrote(export)
            return
        begin = lambda: session  # noqa: E731 - read already, so that damage is said before the address
    else:
        setup = Setup.checked(
            env, list(agent or DEFAULT_AGENTS), STEPS if steps is None else steps, 0 if seed is None else seed
        )
        if export is not None:
            _export(export, setup, speed)
            return
        begin = partial(Lab, setup)
    made = bound(port)
    address = f"http://127.0.0.1:{made.getsockname()[1]}/"
    out.print(f"the lab is at {address}; Ctrl-C ends it", soft_wrap=True, highlight=False)
    if not no_browser:
        with contextlib.suppress(webbrowser.Error):
            webbrowser.open(address)
    with stopping.saying("the lab is closed."):
        serve(begin(), made, speed)


def _refuse_place(path: Path) -> None:
    """See that the page can be written, before the run is made."""
    try:
        # The page takes the place of what has its name: of a link too, and /dev/stdout is one.
        if path.is_symlink() or (path.exists() and not path.is_file()):
            what = "is a directory" if path.is_dir() else "is a link or a device"
            raise InvalidOption(f"--export {path} {what}; give the name of a file, e.g. {path.name or 'lab'}.html.")
        with tempfile.TemporaryFile(dir=path.parent):
            pass
    except OSError as error:
        raise InvalidOption(
            f"--export {path} cannot be written ({error.strerror or error}); give a file in a directory of your own."
        ) from None


def _export(path: Path, setup: object, speed: float | None) -> None:
    from steering.lab.page import export
    from steering.lab.server import Setup

    assert isinstance(setup, Setup)
    export(path, setup.environment, setup.agents, steps=setup.steps, seed=setup.seed, speed=speed)
    _wrote(path)


def _wrote(path: Path) -> None:
    out.print(f"wrote {path} ({path.stat().st_size / 1e6:.2f} MB)", soft_wrap=True, highlight=False)
