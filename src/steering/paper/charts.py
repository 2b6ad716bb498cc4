"""Charts as plain values: one description for the interactive report (`report.plots`) and the figures (`drawing`).

A chart of lines has panels, and a panel has series: x, mean, and where there is a band low and high. `chart` makes it
of a table with columns panel, agent, x, mean, low, high. A panel may have more: `lines` (vertical, with a band),
`marks` (horizontal), `ylim`, `ylabel`. A series may have a `marker`, a `width`, `bars` instead of a band, and with
`points` no line at all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from steering.paper import looks
from steering.paper.scale import VARIANTS, Block, Scale
from steering.paper.source import Source
from steering.paper.tables import Panels, Tables, curves, finals, groups

Chart = dict[str, Any]
Series = dict[str, Any]

NORMALISED = "regret / oracle's total reward"
RAW = "cumulative regret (reward units)"


def chart(
    table: pd.DataFrame | None,
    title: str,
    *,
    xlabel: str = "step",
    ylabel: str = NORMALISED,
    size: str,
    band: str = looks.BAND,
    log: str = "",
    share_y: bool = False,
    hidden: Sequence[str] = (),
    **more: Any,
) -> Chart:
    """Panels of a table, a line for each agent; those in `hidden` are switched off at first in the report.

    `size` says how small the runs are ("quick: 6 seeds"); `log` names the logarithmic axes: "x", "y" or "xy".
    """
    panels = {} if table is None else groups(table, "panel")
    return {
        "type": "lines",
        "title": title,
        "xlabel": xlabel,
        "ylabel": ylabel,
        "size": size,
        "band": band,
        "logx": "x" in log,
        "logy": "y" in log,
        "share_y": share_y,
        "panels": [
            {
                "title": str(panel),
                "series": [of_agent(a, rows, hidden=a in hidden) for a, rows in groups(part, "agent").items()],
            }
            for panel, part in panels.items()
        ],
        **more,
    }


def of_agent(agent: str, rows: pd.DataFrame, **more: Any) -> Series:
    """The line of an agent, in its own look."""
    more = {"width": 2.0 if agent == VARIANTS["default"] else 1.4, **more}
    return series(looks.label(agent), rows, looks.colour(agent), looks.dash(agent), **more)


def series(name: str, rows: pd.DataFrame, colour: str, dash: str = "", **more: Any) -> Series:
    """One line, from columns x, mean, low and high (no band without the last two)."""
    banded = "low" in rows and bool(rows["low"].notna().any())  # one or two runs have no interval
    columns = ("x", "mean", "low", "high") if banded else ("x", "mean")
    values = {column: rows[column].tolist() for column in columns}
    return {"name": name, "colour": colour, "dash": dash, **more, **values}


def reference(name: str, x: Iterable[float], y: Iterable[float]) -> Series:
    """A line to compare with, such as the slope of a bound: in the colour of the text, and dotted more finely."""
    rows = pd.DataFrame({"x": list(x), "mean": list(y)})
    return series(name, rows, looks.INK, looks.REFERENCE_DASH)


def with_bars(lines: Iterable[Series]) -> list[Series]:
    """Lines as points with bars."""
    return [{**line, "marker": "o", "bars": True} for line in lines]


def choice(label: str, charts: dict[str, Chart]) -> Chart:
    """Charts to choose from."""
    return {"type": "choice", "label": label, "options": list(charts), "charts": list(charts.values())}


@dataclass(frozen=True)
class Comparison:
    """Regret over time of several agents in several panels: what most figures of the paper are.

    Attributes
    ----------
    panels
        Runs of each panel.
    agents, hidden
        Who is drawn, and who is switched off in the report at first.
    """

    title: str
    panels: Callable[[Scale], Panels]
    agents: tuple[str, ...]
    normalised: bool = True
    share_y: bool = True
    hidden: tuple[str, ...] = ()

    def needs(self, scale: Scale) -> list[Block]:
        """Runs of all panels."""
        return [block for part in self.panels(scale).values() for block in part]

    def data(self, source: Source, scale: Scale) -> Tables:
        """Curves, and the regret of every run at the end."""
        made = (source, self.panels(scale), self.agents)
        return {
            "curves": curves(*made, normalised=self.normalised),
            "runs": finals(*made, normalised=self.normalised),
        }

    def charts(self, tables: Tables, scale: Scale) -> list[Chart]:
        """One chart."""
        height = NORMALISED if self.normalised else RAW
        return [
            chart(
                tables["curves"],
                self.title,
                ylabel=height,
                size=scale.remark(),
                share_y=self.share_y,
                hidden=self.hidden,
            )
        ]
