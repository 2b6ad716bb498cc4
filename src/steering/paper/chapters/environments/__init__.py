"""Regret on WideNarrow and PriorMDP (the paper's Fig. 7 and its appendix).

The paper names neither size. WideNarrow has one wide state with 12 actions; PriorMDP has 4 states and 2 actions, and
run i meets the i-th MDP drawn from the prior, so that its band shows MDPs as well as noise. Regret of PriorMDP is in
units of reward: on a drawn MDP the oracle may well earn less than nothing, and no ratio to it has a meaning then.
"""

from __future__ import annotations

import pandas as pd

from steering.paper import looks
from steering.paper.chapter import Chapter, Topic
from steering.paper.charts import Chart, Comparison
from steering.paper.fits import mean_effect
from steering.paper.rule import ALL, BEHIND, DECIDES, Claim, above, variants_ahead
from steering.paper.scale import AGENTS, BASELINES, Block, Scale
from steering.paper.tables import Tables, groups, scores

WIDE = "WideNarrow, 1 wide state, 12 actions"
PRIOR = "PriorMDP, 4 states, 2 actions"
TOO_HIGH = 2.0
"""An agent whose regret is this many times that of the next one is cut off."""


def panels(scale: Scale) -> dict[str, list[Block]]:
    """One panel for each environment."""
    seeds = tuple(range(scale.seeds))
    return {
        WIDE: [Block(("widenarrow:1,12",), AGENTS, scale.steps, seeds)],
        PRIOR: [Block((f"priormdp:4,2,seed={i}",), AGENTS, scale.steps, (i,)) for i in seeds],
    }


COMPARISON = Comparison("WideNarrow and PriorMDP", panels, AGENTS, normalised=False, share_y=False)


def charts(tables: Tables, scale: Scale) -> list[Chart]:
    """Regret over time; an agent far above all others is cut off and named."""
    (one,) = COMPARISON.charts(tables, scale)
    for panel, part in zip(one["panels"], groups(tables["curves"], "panel").values(), strict=True):
        limits, gone = readable(part)
        if limits:
            panel["ylim"] = limits
            panel["title"] += f"\n({gone})"
    return [one]


def readable(part: pd.DataFrame) -> tuple[tuple[float, float] | None, str]:
    """Limits of the heights that cut off one agent far above all others, and words for it; nothing where none is."""
    ends = part.groupby("agent")["mean"].last().sort_values()
    if ends.iloc[-1] <= TOO_HIGH * ends.iloc[-2]:
        return None, ""
    top = 1.3 * float(ends.iloc[-2])
    return (-0.06 * top, top), f"{looks.label(str(ends.index[-1]))} leaves the axes: {ends.iloc[-1]:.0f} at the end"


def claims(tables: Tables) -> list[Claim]:
    """STEERING against all baselines on both, and what factored posteriors cost."""
    regrets = {panel: scores(part) for panel, part in groups(tables["runs"], "panel").items()}
    wide = regrets[WIDE]
    outperforms = {
        name: Claim(
            name.lower(),
            f"STEERING outperforms existing baselines on {name}.",
            "Fig. 7; appendix, last figure",
            f"regret in units of reward at the end; {BEHIND}",
            above(0),
            variants_ahead(regrets[panel], BASELINES),
        )
        for name, panel in (("WideNarrow", WIDE), ("PriorMDP", PRIOR))
    }
    factored = Claim(
        "factored",
        "The factored posteriors of Bayesian Q-learning and moment matching cost performance.",
        "Appendix, baselines 1 and 3",
        f"regret in units of reward on WideNarrow: theirs - PSRL's, paired by seed; {DECIDES}",
        above(0),
        {ALL: above(0).worst([mean_effect(wide[agent] - wide["psrl"]) for agent in ("bayesian_q", "mm")])},
    )
    return [outperforms["WideNarrow"], factored, outperforms["PriorMDP"]]


CHAPTER = Chapter(
    name="environments",
    title=COMPARISON.title,
    paper="Figures 7 and 22",
    text="WideNarrow: transitions are known at once, and what must be learned are noisy rewards. PriorMDP: no special "
    "structure at all, a new MDP drawn for every seed.",
    needs=COMPARISON.needs,
    data=COMPARISON.data,
    charts=charts,
    claims=claims,
    topic=Topic.OUTPERFORMS,
)
