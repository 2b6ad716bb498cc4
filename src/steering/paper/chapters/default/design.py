"""What the study of the default compares: tasks, families of agents, and the grid in which each baseline is tuned.

A *task* is a question with one answer: an environment (or a class of MDPs drawn from a prior), a number of steps and
the prior that every model-based agent is given. A *family* is an agent with a grid of settings; in every task it takes
part with the setting that is best there on the tuning seeds, and is then run on seeds of its own. Our agent has no
grid: it takes part as it is.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any

from steering.paper.scale import Block, with_options

OURS = "steering"
TUNING_SEED = 100
"""First of the seeds on which settings are chosen; the comparison itself uses 0, 1, 2, ..."""
MODEL_BASED = ("steering", "psrl", "ids", "ube", "mm")


@dataclass(frozen=True)
class Family:
    """An agent and the settings it is tuned over (one setting: nothing to tune)."""

    name: str
    settings: tuple[str, ...]


@dataclass(frozen=True)
class Task:
    """One comparison; see the module's docstring.

    Attributes
    ----------
    environments
        One, or several MDPs of a class, which are pooled (each keeps its own weight in the interval).
    seeds
        Runs of every family on every environment in the comparison.
    tuning
        Tuning seeds for every environment, rung by rung: all settings have those of the first, the best third those of
        the second, the best two those of the third (successive halving; with two rungs the best two are left after the
        first).
    prior
        Options that every model-based agent gets, such as eta.
    developed
        Whether our default was developed on this environment (with other seeds).
    families
        Names of the families that take part.
    without
        Settings whose text has one of these are left out, where a run takes long.
    """

    name: str
    environments: tuple[str, ...]
    steps: int = 5000
    seeds: int = 30
    tuning: tuple[int, ...] = (4, 12, 24)
    prior: dict[str, Any] = field(default_factory=dict)
    developed: bool = True
    families: tuple[str, ...] = (OURS,)
    without: tuple[str, ...] = ()

    def block(self, agents: Iterable[str], seeds: Iterable[int]) -> Block:
        """Some agents on this task, as a block of a sweep."""
        return Block(self.environments, tuple(dict.fromkeys(agents)), self.steps, tuple(seeds), points=50, windows=1)


@dataclass(frozen=True)
class Design:
    """All tasks and families of a study."""

    name: str
    tasks: tuple[Task, ...]
    families: tuple[Family, ...]

    def of(self, task: Task) -> list[Family]:
        """Families that take part in a task."""
        return [one for one in self.families if one.name in task.families]

    def settings(self, task: Task, family: Family) -> list[str]:
        """Texts of the settings of a family in a task."""
        kept = [text for text in family.settings if not any(word in text for word in task.without)]
        return [with_prior(text, task.prior) for text in kept]


def with_prior(agent: str, prior: dict[str, Any]) -> str:
    """An agent with a prior; agents without a model of the MDP have no prior of it."""
    return with_options(agent, **prior) if agent.partition(":")[0] in MODEL_BASED else agent


def _grid(agent: str, **values: Iterable[Any]) -> tuple[str, ...]:
    """All combinations of options as texts."""
    texts = [""]
    for key, options in values.items():
        texts = [f"{text},{key}={value}" for text in texts for value in options]
    return tuple(f"{agent}:{text[1:]}" if text else agent for text in texts)


LEARNED = {"concentration": ["learned"], "reward_scale": ["fixed", "learned"]}
IDS: dict[str, list[Any]] = {
    "information": ["variance", "gain"],
    "planning": ["mean", "sampled"],
    "info_weight": [0.1, 0.5, 2.0],
}

FAMILIES = (
    Family("steering", ("steering",)),
    Family("steering, ratio", ("steering:objective=ratio",)),
    Family("steering, paper-sound", ("steering:preset=paper-sound",)),
    Family("steering, paper", ("steering:preset=paper",)),
    Family("q_learning", _grid("q_learning", epsilon=[0.05, 0.1, 0.5], learning_rate=[0.1, 0.5])),
    Family("bayesian_q", _grid("bayesian_q", normal_gamma=["(0,4,3,3)", "(0,1,3,3)", "(0,0.25,3,3)"])),
    Family("ube", _grid("ube", zeta=[0.01, 0.1, 1.0])),
    Family("ube, learned", _grid("ube", zeta=[0.01, 0.1, 1.0], **LEARNED)),
    Family("mm", _grid("mm", zeta=[0.1, 0.5, 1.0])),
    Family("mm, learned", _grid("mm", zeta=[0.1, 0.5, 1.0], **LEARNED)),
    Family("psrl", ("psrl",)),
    Family("psrl, learned", _grid("psrl", **LEARNED)),
    Family("ids", _grid("ids", **IDS)),
    Family("ids, learned", _grid("ids", **IDS, **LEARNED)),
)
ALL = tuple(one.name for one in FAMILIES)
WITHOUT_PRESETS = tuple(name for name in ALL if "paper" not in name)
"""On grid DeepSea, with 100 states, one run of the sound preset takes half a minute."""
BELIEVERS = (OURS, "ube", "ube, learned", "mm", "mm, learned", "psrl", "psrl, learned", "ids", "ids, learned")
LARGE = (OURS, "q_learning", "bayesian_q", "psrl", "psrl, learned", "ids", "ids, learned")


def _prior_mdps(size: str, count: int) -> tuple[str, ...]:
    return tuple(f"priormdp:{size},seed={seed}" for seed in range(count))


def _task(name: str, *environments: str, families: tuple[str, ...] = ALL, **rest: Any) -> Task:
    return Task(name, environments, families=families, **rest)


ENVIRONMENTS = (
    _task("DeepSea 4", "deepsea:4"),
    _task("DeepSea 8", "deepsea:8"),
    _task("DeepSea 15", "deepsea:15"),
    _task("DeepSea 20", "deepsea:20"),
    _task("DeepSea 30", "deepsea:30"),
    _task("DeepSea 40", "deepsea:40", developed=False),
    _task("WideNarrow 1,12", "widenarrow:1,12", steps=12_000),
    _task("WideNarrow 2,6", "widenarrow:2,6", steps=6000),
    _task("PriorMDP 4x2", *_prior_mdps("4,2", 20), seeds=6, tuning=(1, 2), developed=False),
    _task("PriorMDP 10x4", *_prior_mdps("10,4", 10), seeds=6, tuning=(1, 3), developed=False),
    _task("RiverSwim 6", "riverswim:6"),
    _task("RiverSwim 12", "riverswim:12"),
    _task("grid DeepSea 10", "griddeepsea:10", tuning=(1, 3, 6), developed=False, families=WITHOUT_PRESETS),
    _task("FrozenLake", "gym:FrozenLake-v1"),
    _task("CliffWalking", "gym:CliffWalking-v1", steps=3000),
    _task(
        "Taxi",
        "gym:Taxi-v4",
        steps=10_000,
        tuning=(2, 6),
        developed=False,
        families=LARGE,
        without=("sampled", "gain", "reward_scale=learned"),
    ),
)
ETAS = (0.1, 3.0, 10.0)
REWARD_PRIORS = {
    "means ten times too wide": (0, 4, 3, 300),
    "means ten times too narrow": (0, 4, 3, 0.03),
    "means of 1 expected": (1, 4, 3, 3),
}


def _with_prior(name: str, prior: dict[str, Any], label: str) -> Task:
    task = next(one for one in ENVIRONMENTS if one.name == name)
    # All MDPs of a class, with half of the seeds.
    seeds = task.seeds // 2 if len(task.environments) > 1 else task.seeds
    return replace(task, name=f"{name}, {label}", prior=prior, seeds=seeds, families=BELIEVERS)


def default_design(*, quick: bool = False) -> Design:
    """The study of the default; `quick` is a small one that shows that everything works."""
    if quick:
        return _quick()
    tasks = list(ENVIRONMENTS)
    for name in ("DeepSea 8", "DeepSea 15", "RiverSwim 6", "PriorMDP 4x2", "WideNarrow 1,12"):
        tasks += [_with_prior(name, {"eta": eta}, f"eta {eta:g}") for eta in ETAS]
    for name in ("DeepSea 8", "PriorMDP 4x2"):
        tasks += [_with_prior(name, {"normal_gamma": prior}, label) for label, prior in REWARD_PRIORS.items()]
    return Design("default", tuple(tasks), FAMILIES)


def _quick() -> Design:
    keep = {
        OURS: FAMILIES[0].settings,
        "steering, ratio": FAMILIES[1].settings,
        "q_learning": ("q_learning:epsilon=0.1",),
        "ube": ("ube",),
        "mm": ("mm",),
        "psrl": ("psrl",),
        "psrl, learned": ("psrl:concentration=learned",),
        "ids": ("ids:planning=mean", "ids"),
        "ids, learned": ("ids:planning=mean,concentration=learned",),
    }
    families = tuple(Family(name, settings) for name, settings in keep.items())
    named = {one.name: replace(one, seeds=6, tuning=(2,)) for one in ENVIRONMENTS}
    tasks = [
        replace(named["DeepSea 8"], steps=3000),
        named["DeepSea 15"],
        replace(named["WideNarrow 1,12"], steps=3000),
        replace(named["PriorMDP 4x2"], environments=_prior_mdps("4,2", 3), steps=2000, seeds=3),
        replace(named["RiverSwim 6"], steps=3000),
        replace(named["DeepSea 8"], name="DeepSea 8, eta 10", prior={"eta": 10.0}, steps=3000, families=BELIEVERS),
    ]
    return Design("default, quick", tuple(tasks), families)
