"""`steering lab`: see agents explore, live or as a page that replays a run."""

from __future__ import annotations

import contextlib
import webbrowser
from pathlib import Path
from typing import Annotated

import typer

from steering.cli import stopping
from steering.cli.catalog import complete_agent, complete_env
from steering.cli.common import Imports, Steps, import_modules, out, place
from steering.errors import InvalidOption

DEFAULT_AGENTS = ("steering", "psrl")


def register(app: typer.Typer) -> None:
    """Add the command of this file."""
    app.command(name="lab")(lab)


def lab(
    env: Annotated[str, typer.Argument(help="Environment, e.g. deepsea:8.", autocompletion=complete_env)] = "deepsea:8",
    agent: Annotated[
        list[str] | None,
        typer.Option("--agent", "-a", help="Agent; repeat for more side by side.", autocompletion=complete_agent),
    ] = None,
    steps: Steps = 5000,
    seed: Annotated[int, typer.Option("--seed", "-s", help="Seed of the noise, which all agents share.")] = 0,
    speed: Annotated[float, typer.Option(help="Steps a second at which the page begins to play.")] = 20.0,
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
    """
    from steering.lab.chart import require

    require("bokeh", "starlette", "uvicorn")
    from steering.lab.server import Lab, Setup, bound, serve

    import_modules(imports)
    if not 0.1 <= speed <= 1e6:
        raise InvalidOption(f"--speed is {speed:g}; it must be between 0.1 and 1,000,000 steps a second.")
    setup = Setup.checked(env, list(agent or DEFAULT_AGENTS), steps, seed)
    if export is not None:
        _export(export, setup, speed)
        return
    made = bound(port)
    address = f"http://127.0.0.1:{made.getsockname()[1]}/"
    out.print(f"the lab is at {address}; Ctrl-C ends it", soft_wrap=True, highlight=False)
    if not no_browser:
        with contextlib.suppress(webbrowser.Error):
            webbrowser.open(address)
    with stopping.saying("the lab is closed."):
        serve(Lab(setup), made, speed)


def _export(path: Path, setup: object, speed: float) -> None:
    from steering.lab.page import export
    from steering.lab.server import Setup

    assert isinstance(setup, Setup)
    export(path, setup.environment, setup.agents, steps=setup.steps, seed=setup.seed, speed=speed)
    out.print(f"wrote {path} ({path.stat().st_size / 1e6:.2f} MB)", soft_wrap=True, highlight=False)
