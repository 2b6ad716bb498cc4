"""Tasks of the study: two lists that share neither instances nor seeds, and whole families that only one of them has.

Everything that was chosen (our default, and the one setting of every rival) was chosen on `DEVELOPMENT`. `CONFIRMATION`
has other sizes, other instances (seeds of environments from 0; development has those from 1000) and families that were
never looked at in development. Seeds of runs differ too:

    development     runs from 1000 on
    confirmation    runs 0, 1, 2, ...; settings are tuned in a task on runs from 100 on
"""

from __future__ import annotations

from typing import Any

from steering.paper.task import Task

DEVELOPMENT_SEED = 1000
TUNING_SEED = 100


def _instances(text: str, first: int, count: int = 10) -> tuple[str, ...]:
    return tuple(f"{text},seed={seed}" for seed in range(first, first + count))


def _dev(name: str, kind: str, text: str, *, drawn: bool = False, **rest: Any) -> Task:
    environments = _instances(text, DEVELOPMENT_SEED) if drawn else (text,)
    return Task(name, kind, environments, **{"steps": 5000, **rest})


def _conf(name: str, kind: str, text: str, *, drawn: bool = False, **rest: Any) -> Task:
    return Task(name, kind, _instances(text, 0) if drawn else (text,), **rest)


LAVA = "lava=0.125,step_cost=0.01"
COSTS = "pays=0,cost=1,traps=4,sigma=0.1"

DEVELOPMENT = (
    _dev("DeepSea 8", "DeepSea", "deepsea:8", slow=True),
    _dev("DeepSea 30", "DeepSea", "deepsea:30"),
    _dev("WideNarrow 1,12", "WideNarrow", "widenarrow:1,12", steps=12_000),
    _dev("RiverSwim 12", "RiverSwim", "riverswim:12"),
    _dev("FrozenLake", "FrozenLake", "gym:FrozenLake-v1"),
    _dev("CliffWalking", "CliffWalking", "gym:CliffWalking-v1"),
    _dev("PriorMDP 4x2", "PriorMDP", "priormdp:4,2", drawn=True),
    _dev("PriorMDP 10x4", "PriorMDP", "priormdp:10,4", drawn=True),
    _dev("Garnet 20x3", "Garnet", "garnet:20,3,3,sigma=0.1", drawn=True),
    _dev("maze 6", "maze", "maze:6", drawn=True),
    _dev("lava maze 6", "lava maze", f"maze:6,{LAVA}", drawn=True),
    _dev("lock 6,5", "lock", "lock:6,5,slip=0.1,lure=0.05", drawn=True),
    _dev("cost Garnet 20x3", "cost Garnet", f"garnet:20,3,3,{COSTS}", drawn=True),
    _dev("DeepSea 15", "DeepSea", "deepsea:15"),
    _dev("DeepSea 40", "DeepSea", "deepsea:40"),
    _dev("maintenance 12", "maintenance", "maintenance:12", drawn=True, slow=True),
    _dev("patience 15", "patience", "patience:15", drawn=True),
    _dev("inventory 20", "inventory", "inventory:20", drawn=True),
    _dev("queue 15", "queue", "queue:15", drawn=True),
    _dev("maze 6, rewards x 0.01", "maze", "maze:6,reward_scale=0.01", drawn=True),
    _dev("maze 6, rewards x 100", "maze", "maze:6,reward_scale=100", drawn=True),
    _dev("DeepSea 8, rewards x 0.01", "DeepSea", "deepsea:8,reward_scale=0.01"),
    _dev("DeepSea 8, rewards x 100", "DeepSea", "deepsea:8,reward_scale=100"),
)
"""What was looked at while the default was made."""

THIRTEEN = tuple(task.name for task in DEVELOPMENT[:13])
"""The tasks whose mean was watched in development."""

CONFIRMATION = (
    _conf("DeepSea 12", "DeepSea", "deepsea:12", slow=True),
    _conf("DeepSea 24", "DeepSea", "deepsea:24", steps=5000),
    _conf("DeepSea 50", "DeepSea", "deepsea:50", steps=5000),
    _conf("grid DeepSea 7", "grid DeepSea", "griddeepsea:7", steps=2000),
    _conf("WideNarrow 2,8", "WideNarrow", "widenarrow:2,8", steps=5000),
    _conf("RiverSwim 8 (Strehl)", "RiverSwim", "riverswim:8,variant=strehl"),
    _conf("PriorMDP 6x3", "PriorMDP", "priormdp:6,3", drawn=True, slow=True),
    _conf("PriorMDP 12x3", "PriorMDP", "priormdp:12,3", drawn=True),
    _conf("Garnet 30x4", "Garnet", "garnet:30,4,2,sigma=0.1", drawn=True),
    _conf("maze 5", "maze", "maze:5", drawn=True),
    _conf("maze 30", "maze", "maze:30,seed=0", steps=20_000, large=True),
    _conf("lava maze 5", "lava maze", f"maze:5,{LAVA}", drawn=True),
    _conf("lock 5,4", "lock", "lock:5,4,slip=0.2,lure=0.02", drawn=True),
    _conf("cost Garnet 15x4", "cost Garnet", f"garnet:15,4,4,{COSTS}", drawn=True),
    _conf("FrozenLake, less ice", "FrozenLake", "gym:FrozenLake-v1,success_rate=0.8"),
    _conf(
        "FrozenLake 8x8, dry",
        "FrozenLake",
        "gym:FrozenLake-v1,map_name=8x8,is_slippery=false,discount=0.97",
        large=True,
    ),
    _conf("CliffWalking, slippery", "CliffWalking", "gym:CliffWalking-v1,is_slippery=true"),
    _conf("Taxi", "Taxi", "gym:Taxi-v4", steps=10_000, large=True),
    _conf("chain 5", "chain", "chain:5"),
    _conf("loop 3", "loop", "loop:3"),
    _conf("LazyChain 8", "LazyChain", "lazychain:8,p_error=0.1"),
    _conf("rooms 6", "rooms", "rooms:6,room=3", drawn=True),
    _conf("maintenance 20", "maintenance", "maintenance:20,profit=25", drawn=True),
    _conf("patience 10", "patience", "patience:10,prize=80,lure=1", drawn=True),
    _conf("inventory 12", "inventory", "inventory:12,orders=5,lot=2,price=12", drawn=True),
    _conf("queue 25", "queue", "queue:25", drawn=True),
    _conf("admission 6", "admission", "admission:6", drawn=True),
    _conf("selling 10", "selling", "selling:10", drawn=True, slow=True),
    _conf("rental 4", "rental", "rental:4", drawn=True),
    _conf("chain 5, rewards x 0.01", "chain", "chain:5,reward_scale=0.01"),
    _conf("chain 5, rewards x 100", "chain", "chain:5,reward_scale=100"),
    _conf("loop 3, rewards x 0.01", "loop", "loop:3,reward_scale=0.01"),
    _conf("loop 3, rewards x 100", "loop", "loop:3,reward_scale=100"),
    _conf("DeepSea 12, eta 10", "DeepSea", "deepsea:12", prior={"eta": 10.0}),
    _conf(
        "PriorMDP 6x3, means ten times too wide",
        "PriorMDP",
        "priormdp:6,3",
        drawn=True,
        prior={"normal_gamma": (0, 4, 3, 300)},
    ),
)
"""Run once, after everything was chosen."""


def new_kinds() -> list[str]:
    """Families of the confirmation that development does not have."""
    known = {task.kind for task in DEVELOPMENT}
    return [kind for kind in dict.fromkeys(task.kind for task in CONFIRMATION) if kind not in known]
