"""`steering hardness`: how hard environments are to explore."""

from __future__ import annotations

from typing import Annotated, Any

import typer
from rich.table import Table

from steering.cli.catalog import complete_agent, complete_env
from steering.cli.common import JsonFlag, Seeds, Steps, out, print_json
from steering.errors import InvalidOption

AGENTS = ["psrl", "steering"]
"""Of the figure, unless others are given."""
MEASURE = "reward_time"


def register(app: typer.Typer) -> None:
    """Add the command of this file."""
    app.command()(hardness)


def hardness(
    environments: Annotated[
        list[str], typer.Argument(metavar="ENV...", help="Environments.", autocompletion=complete_env)
    ],
    as_json: JsonFlag = False,
    figure: Annotated[
        str | None, typer.Option("--figure", metavar="FILE", help="Draw the scores of agents against a measure.")
    ] = None,
    agents: Annotated[
        list[str] | None, typer.Option("--agent", "-a", help="Agents of the figure.", autocompletion=complete_agent)
    ] = None,
    measure: Annotated[str | None, typer.Option(help="Measure of the figure, reward_time unless given.")] = None,
    steps: Steps = 5000,
    seeds: Seeds = 5,
) -> None:
    """Measure how hard environments are to explore, exactly.

    One environment is explained, several become a table.

    [bold]Examples[/]

    steering hardness deepsea:15

    steering hardness deepsea:8 riverswim chain lock:6,5 --json

    steering hardness deepsea:8 riverswim chain --figure hardness.svg -a psrl -a steering
    """
    from steering.envs import make_env
    from steering.mdp import hardness as measured

    if figure is not None:
        _check_figure(agents or AGENTS, measure or MEASURE, figure)
    elif agents or measure is not None:
        option = "--agent" if agents else "--measure"
        raise InvalidOption(f"{option} is about the figure; say where to write it with --figure FILE.")
    found: dict[str, Any] = {}
    for text in environments:
        env = make_env(text)
        found[env.name] = measured(env.table, env.discount, env.horizon)
    if figure is not None:
        _draw(list(found), agents or AGENTS, measure or MEASURE, steps, seeds, figure)
        if not as_json:
            out.print(f"wrote {figure}", soft_wrap=True, highlight=False, markup=False)
    if as_json:
        rows = [
            {"environment": name, **{key: value for key, value, _ in one.explained()}} for name, one in found.items()
        ]
        print_json(rows)
    elif len(found) == 1:
        name, one = next(iter(found.items()))
        table = Table(title=f"Hardness of {name}", title_justify="left")
        for column in ("measure", "value", "what it is"):
            table.add_column(column, overflow="fold", no_wrap=column == "measure")
        for key, value, sentence in one.explained():
            table.add_row(key, _short(value), sentence)
        out.print(table)
    else:
        table = Table(title="Hardness", title_justify="left")
        table.add_column("environment", no_wrap=True)
        for key, _, _ in next(iter(found.values())).explained():
            table.add_column(key)
        for name, one in found.items():
            table.add_row(name, *(_short(value) for _, value, _ in one.explained()))
        out.print(table)


def _check_figure(agents: list[str], measure: str, path: str) -> None:
    """Refuse what cannot be drawn before anything is run."""
    from steering.agents import make_agent
    from steering.runs import hardness_figure
    from steering.runs.drawing import figure_format

    figure_format(path)
    hardness_figure.check_measure(measure)
    for agent in agents:
        make_agent(agent)


def _draw(environments: list[str], agents: list[str], measure: str, steps: int, seeds: int, path: str) -> None:
    from steering.runs import hardness_figure, run
    from steering.runs.drawing import save_figure

    runs = [run(name, agent, steps=steps, seeds=seeds) for name in environments for agent in agents]
    save_figure(hardness_figure.figure(hardness_figure.data(runs, measure)), path)


def _short(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)
