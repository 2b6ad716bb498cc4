"""Who takes part: our agent as it is, its controls, and every other agent of the package with a grid of settings.

A rival is compared three times: *as published* (the first setting of its grid), at *one setting* for all tasks (that
with the least mean score over the development tasks) and *tuned* (its best setting in that very task, on runs of its
own). Agents that have to be told the range of rewards (options r_min and r_max) are told the true one of every
environment; ours is not.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

from steering.agents import make_agent
from steering.paper.task import Task

OURS = "steering"
LARGE = ("q_learning", "ids")
"""Rivals that take part in large worlds: the others need many seconds for a run, or dense tables."""
PRIORS = "concentration=learned,reward_scale=learned"
"""Learned priors, as ours has."""
BOTH = f"{PRIORS},replan=learned"
"""And the schedule of ours: plan again as soon as something was learned."""


@dataclass(frozen=True)
class Rival:
    """An agent and its settings, the published one first; `slow` ones take part in some tasks only."""

    name: str
    settings: tuple[str, ...]
    slow: bool = False


def _rival(name: str, *options: str, slow: bool = False) -> Rival:
    return Rival(name, (name, *(f"{name}:{text}" for text in options)), slow)


RIVALS = (
    _rival("q_learning", "epsilon=0.1", "epsilon=0.1,learning_rate=0.5", "epsilon=0.02,learning_rate=0.5"),
    _rival("bayesian_q", "normal_gamma=(0,1,3,3)", "normal_gamma=(0,0.25,3,3)"),
    _rival("ube", "zeta=0.01", f"zeta=0.1,{PRIORS}", f"zeta=0.01,{BOTH}"),
    _rival("mm", "zeta=0.1", f"zeta=0.5,{PRIORS}", f"zeta=0.5,{BOTH}"),
    _rival("psrl", PRIORS, f"replan=tsde,{PRIORS}", BOTH),
    _rival(
        "ids",
        "planning=mean",
        f"planning=mean,{PRIORS}",
        f"planning=mean,{BOTH}",
        f"planning=mean,info_weight=0.1,{BOTH}",
        f"planning=mean,information=gain,info_weight=2,{BOTH}",
    ),
    _rival("ucrl2b", "scale=0.1", "scale=0.01", f"scale=0.01,model=posterior,{BOTH}"),
    _rival(
        "ucbvi",
        "bound=simplified",
        "bound=simplified,scale=0.1",
        f"bound=simplified,scale=0.1,model=posterior,{PRIORS}",
    ),
    _rival("mbie_eb", "scale=0.1", "scale=0.01", f"scale=0.01,model=posterior,{BOTH}"),
    _rival("rmax", "m=1", "m=1,replan=learned", f"m=2,model=posterior,{BOTH}"),
    _rival("opsrl", "scale=0.1", f"scale=0.1,eta_mass=true,{PRIORS}"),
    _rival("rlsvi", "noise=simple", "noise=simple,scale=0.1", f"noise=simple,scale=0.1,model=posterior,{BOTH}"),
    _rival("eubrl", PRIORS, BOTH, f"scale=0.3,{BOTH}"),
    _rival("k_learning", "scale=0.1", "scale=0.01", f"scale=0.01,{PRIORS}"),
    _rival("vapor", "scale=0.1", "scale=0.01", slow=True),
    _rival("ucb_q", "scale=0.1", "scale=0.01"),
    _rival("beb", "scale=0.1", "scale=0.01", f"scale=0.01,{BOTH}"),
    _rival("vbrb", "scale=0.1", "scale=0.01", f"scale=0.01,{BOTH}"),
    _rival("bamcp", "exploration=0.1", PRIORS, slow=True),
)

CONTROLS: dict[str, str] = {
    "no Stein information": "steering:value_weight=0,excursions=0",
    "no information about value": "steering:value_weight=0",
    "no excursions": "steering:excursions=0",
    "independent rows": "steering:rows=independent",
    "chances as counted": "steering:evenness=none",
    "gibbs for barker": "steering:operator=gibbs",
    "fixed priors": "steering:concentration=fixed,reward_scale=fixed",
    "schedule every": "steering:replan=every",
    "the default of 0.1": "steering:preset=v1",
}
"""Our agent with one thing changed; what is the same agent as ours is left out of the runs."""
WATCHED = ("no Stein information",)
"""Controls that are run on the development tasks too."""
STEIN = "no Stein information"
"""The control that shows what the Stein information is worth."""


def controls() -> dict[str, str]:
    """Controls that differ from our agent."""
    ours = _options(OURS)
    return {name: text for name, text in CONTROLS.items() if _options(text) != ours}


def rivals_of(task: Task, rivals: tuple[Rival, ...] = RIVALS) -> list[Rival]:
    """Rivals that take part in a task."""
    return [one for one in rivals if (task.slow or not one.slow) and (not task.large or one.name in LARGE)]


def _options(text: str) -> dict[str, Any]:
    options = make_agent(text).options
    known = dataclasses.asdict(options) if dataclasses.is_dataclass(options) else {}  # type: ignore[arg-type]
    return {key: value for key, value in known.items() if key != "preset"}
