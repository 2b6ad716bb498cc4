"""`steering envs` and `steering agents`: what there is, and what its options mean."""

from __future__ import annotations

import inspect
import textwrap
from typing import Annotated, Any

import typer
from rich.table import Table

from steering.cli.common import Imports, JsonFlag, import_modules, out, print_json
from steering.errors import unknown_name
from steering.spec import describe_value

GROUPS = ("posterior sampling", "optimism", "information", "model-free", "Bayes-adaptive")
"""Headings of `steering agents`, in this order; agents from elsewhere may have headings of their own."""

PIPED_WIDTH = 100
"""Columns of a catalog in a file or a pipe: its cells are prose, which nobody reads in lines of 400."""


def register(app: typer.Typer) -> None:
    """Add the commands of this file."""
    app.command()(envs)
    app.command()(agents)


def complete_env(incomplete: str) -> list[str]:
    """Names of environments that begin as typed, for the shell."""
    from steering.envs import list_envs

    return [info.name for info in list_envs() if info.name.startswith(incomplete)]


def complete_agent(incomplete: str) -> list[str]:
    """Names of agents that begin as typed, for the shell."""
    from steering.agents import list_agents

    return [str(row["name"]) for row in list_agents() if str(row["name"]).startswith(incomplete)]


def envs(
    name: Annotated[
        str | None, typer.Argument(help="One environment: explain its parameters.", autocompletion=complete_env)
    ] = None,
    imports: Imports = None,
    as_json: JsonFlag = False,
) -> None:
    """List the environments, their parameters and defaults.

    [bold]Examples[/]

    steering envs

    steering envs deepsea

    steering envs maze --import mine          (your own, in mine.py)
    """
    from steering.envs import list_envs

    import_modules(imports)
    rows = [{"name": r.name, "parameters": r.parameters, "summary": r.summary} for r in list_envs()]
    if name is not None:
        rows = [_chosen(rows, name, "environment")]
    if as_json:
        print_json(rows)
    elif name is not None:
        _explain(rows[0], rows[0]["parameters"], _env_documentation(name))
    else:
        _catalog("Environments", "parameters", [(r["name"], r["parameters"], r["summary"]) for r in rows])
        _hint("Write them as name:value,key=value, for example deepsea:15 or priormdp:4,2,seed=7.")
        _hint("Every environment also takes discount=, horizon= (episodic), replan_every= and max_iterations=.")
        _hint("Explain one: steering envs deepsea.")


def agents(
    name: Annotated[
        str | None, typer.Argument(help="One agent: explain its options.", autocompletion=complete_agent)
    ] = None,
    imports: Imports = None,
    as_json: JsonFlag = False,
) -> None:
    """List the agents, their options and defaults.

    [bold]Examples[/]

    steering agents

    steering agents ids

    steering agents mine --import mine          (your own, in mine.py)
    """
    from steering.agents import list_agents

    import_modules(imports)
    rows = list_agents()
    if name is not None:
        rows = [_chosen(rows, name, "agent")]
    if as_json:
        print_json(rows)
    elif name is not None:
        _explain(rows[0], _arguments(rows[0]["options"]), _agent_documentation(name))
    else:
        for group in (*GROUPS, *sorted({str(r["group"]) for r in rows} - set(GROUPS))):
            chosen = [(r["name"], _arguments(r["options"]), r["summary"]) for r in rows if r["group"] == group]
            if chosen:
                _catalog(f"Agents: {group}", "options", chosen)
        _hint("Write them as name:key=value,key=value, for example ids:planning=mean,info_weight=0.2.")
        _hint("Explain one: steering agents ids.")


def _chosen(rows: list[dict[str, Any]], name: str, what: str) -> dict[str, Any]:
    for row in rows:
        if row["name"] == name:
            return row
    raise unknown_name(what, name, [str(row["name"]) for row in rows], own=True)


def _catalog(title: str, second: str, rows: list[tuple[str, str, str]]) -> None:
    table = Table(title=title, title_justify="left")
    table.add_column("name", no_wrap=True)
    table.add_column(second, overflow="fold")
    table.add_column("what it is", overflow="fold")
    for row in rows:
        table.add_row(*row)
    out.print(table, width=out.width if out.is_terminal else min(out.width, PIPED_WIDTH))


def _hint(text: str) -> None:
    out.print(text, soft_wrap=not out.is_terminal, highlight=False, markup=False)


def _explain(row: dict[str, Any], arguments: str, documentation: list[str]) -> None:
    _hint(f"{row['name']}: {row['summary']}")
    _hint(f"\nDefaults: {arguments or 'no options'}")
    for text in documentation:
        _hint(f"\n{text}")


def _env_documentation(name: str) -> list[str]:
    from steering.envs import from_gym
    from steering.envs.entries import ENTRIES

    source = ENTRIES[name].build if name in ENTRIES else from_gym if name == "gym" else None
    return [_parameters(source)] if source is not None else []


def _agent_documentation(name: str) -> list[str]:
    """Meaning of the options, the agent's own first, then those that it shares with others."""
    from steering.agents.options import option_docs
    from steering.agents.registry import AGENTS

    options = AGENTS[name].options
    if options is None:
        return []
    texts = option_docs(options)
    explained = [f"{option}\n{textwrap.indent(text, '    ')}" for option, text in texts.items() if text]
    return ["\n".join(explained)]


def _parameters(documented: Any) -> str:
    """The list of parameters in a docstring, without its summary, heading and examples."""
    text = inspect.getdoc(documented) or ""
    for heading in ("Parameters", "Attributes"):
        text = text.partition(f"{heading}\n{'-' * len(heading)}\n")[2] or text
    return text.partition("\n\n")[0]


def _arguments(parameters: dict[str, Any]) -> str:
    return ", ".join(f"{key}={describe_value(value)}" for key, value in parameters.items())
