"""`steering envs` and `steering agents`: what there is."""

from __future__ import annotations

from typing import Any

import typer
from rich.table import Table

from steering.cli.common import JsonFlag, out, print_json


def register(app: typer.Typer) -> None:
    """Add the commands of this file."""
    app.command()(envs)
    app.command()(agents)


def envs(as_json: JsonFlag = False) -> None:
    """List the environments, their parameters and defaults.

    Example: steering envs
    """
    from steering.envs import list_envs

    rows = list_envs()
    if as_json:
        print_json([{"name": r.name, "parameters": r.parameters, "summary": r.summary} for r in rows])
        return
    table = Table("name", "parameters", "what it is", title="Environments", title_justify="left")
    for r in rows:
        table.add_row(r.name, r.parameters, r.summary)
    out.print(table)
    out.print("Write them as name:value,key=value, for example [bold]deepsea:15[/] or [bold]priormdp:4,2,seed=7[/].")
    out.print("Every environment also takes discount=, horizon= (episodic), replan_every= and max_iterations=.")


def agents(as_json: JsonFlag = False) -> None:
    """List the agents, their options and defaults.

    Example: steering agents
    """
    from steering.agents import list_agents

    rows = list_agents()
    if as_json:
        print_json(rows)
        return
    table = Table("name", "options", "what it is", title="Agents", title_justify="left")
    for row in rows:
        table.add_row(row["name"], _arguments(row["options"]), row["summary"])
    out.print(table)
    out.print("Write them as name:key=value,key=value, for example [bold]ids:planning=mean,info_weight=0.2[/].")


def _arguments(parameters: dict[str, Any]) -> str:
    return ", ".join(f"{key}={_shown(value)}" for key, value in parameters.items())


def _shown(value: Any) -> str:
    return str(value).lower() if value is None or isinstance(value, bool) else str(value)
