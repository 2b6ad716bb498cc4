"""Tasks of the study: two lists that share no instance, and no size but where another parameter differs.

Everything that was chosen (our default, and the one setting of every rival) was chosen on `DEVELOPMENT`. Most of them
were the confirmations of six earlier defaults; since their results were looked at, they are development now.
`CONFIRMATION` has other instances (seeds of environments from 17000; development has those from 0, 1000, 7000, 9000,
11000, 13000 and 15000) and kinds of tasks that were never looked at in development. Seeds of runs:

    development     runs from 1000 on
    confirmation    runs 0, 1, 2, ...; settings are tuned in a task on runs from 100 on
"""

from __future__ import annotations

from typing import Any

from steering.paper.task import Task

DEVELOPMENT_SEED = 1000
TUNING_SEED = 100
DEVELOPMENT_INSTANCE = 1000
CONFIRMATION_INSTANCE = 17_000


def _instances(text: str, first: int, count: int = 10) -> tuple[str, ...]:
    return tuple(f"{text},seed={seed}" for seed in range(first, first + count))


def _dev(
    name: str, kind: str, text: str, *, drawn: bool = False, first: int = DEVELOPMENT_INSTANCE, **rest: Any
) -> Task:
    return Task(name, kind, _instances(text, first) if drawn else (text,), **{"steps": 5000, **rest})


def _seen(name: str, kind: str, text: str, **rest: Any) -> Task:
    """A task of an earlier confirmation."""
    return _dev(name, kind, text, **{"first": 0, "steps": 2000, **rest})


def _conf(name: str, kind: str, text: str, *, drawn: bool = False, **rest: Any) -> Task:
    environments = _instances(text, CONFIRMATION_INSTANCE) if drawn else (text,)
    return Task(name, kind, environments, **{"steps": 2000, **rest})


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
    _seen("DeepSea 24", "DeepSea", "deepsea:24", steps=5000),
    _seen("grid DeepSea 7", "grid DeepSea", "griddeepsea:7"),
    _seen("WideNarrow 2,8", "WideNarrow", "widenarrow:2,8", steps=5000),
    _seen("RiverSwim 8 (Strehl)", "RiverSwim", "riverswim:8,variant=strehl"),
    _seen("PriorMDP 6x3", "PriorMDP", "priormdp:6,3", drawn=True),
    _seen("Garnet 30x4", "Garnet", "garnet:30,4,2,sigma=0.1", drawn=True),
    _seen("maze 5", "maze", "maze:5", drawn=True),
    _seen("lava maze 5", "lava maze", f"maze:5,{LAVA}", drawn=True),
    _seen("lock 5,4", "lock", "lock:5,4,slip=0.2,lure=0.02", drawn=True),
    _seen("cost Garnet 15x4", "cost Garnet", f"garnet:15,4,4,{COSTS}", drawn=True),
    _seen("CliffWalking, slippery", "CliffWalking", "gym:CliffWalking-v1,is_slippery=true"),
    _seen("chain 5", "chain", "chain:5"),
    _seen("loop 3", "loop", "loop:3"),
    _seen("LazyChain 8", "LazyChain", "lazychain:8,p_error=0.1"),
    _seen("rooms 6", "rooms", "rooms:6,room=3", drawn=True),
    _seen("maintenance 20", "maintenance", "maintenance:20,profit=25", drawn=True),
    _seen("patience 10", "patience", "patience:10,prize=80,lure=1", drawn=True),
    _seen("inventory 12", "inventory", "inventory:12,orders=5,lot=2,price=12", drawn=True),
    _seen("queue 25", "queue", "queue:25", drawn=True),
    _seen("admission 6", "admission", "admission:6", drawn=True),
    _seen("selling 10", "selling", "selling:10", drawn=True),
    _seen("rental 4", "rental", "rental:4", drawn=True),
    _seen("chain 5, rewards x 0.01", "chain", "chain:5,reward_scale=0.01"),
    _seen("chain 5, rewards x 100", "chain", "chain:5,reward_scale=100"),
    _seen("DeepSea 18", "DeepSea", "deepsea:18", steps=4000),
    _seen("grid DeepSea 6", "grid DeepSea", "griddeepsea:6", steps=2000),
    _seen("WideNarrow 2,10", "WideNarrow", "widenarrow:2,10", steps=5000),
    _seen("RiverSwim 9", "RiverSwim", "riverswim:9", steps=3000),
    _seen("PriorMDP 7x2", "PriorMDP", "priormdp:7,2", drawn=True, first=7000),
    _seen("Garnet 24x4", "Garnet", "garnet:24,4,3,sigma=0.1", drawn=True, first=7000),
    _seen("maze 8", "maze", "maze:8", drawn=True, first=7000, steps=4000),
    _seen("lava maze 8", "lava maze", f"maze:8,{LAVA}", drawn=True, first=7000, steps=4000),
    _seen("lock 5,5", "lock", "lock:5,5,slip=0.12,lure=0.04", drawn=True, first=7000),
    _seen("cost Garnet 18x3", "cost Garnet", f"garnet:18,3,3,{COSTS}", drawn=True, first=7000),
    _seen("FrozenLake 8x8, not slippery", "FrozenLake", "gym:FrozenLake8x8-v1,is_slippery=false", steps=3000),
    _seen("chain 6", "chain", "chain:6", steps=3000),
    _seen("loop 5", "loop", "loop:5"),
    _seen("LazyChain 7", "LazyChain", "lazychain:7,p_error=0.15"),
    _seen("rooms 9", "rooms", "rooms:9,room=3", drawn=True, first=7000, steps=3000),
    _seen("maintenance 14", "maintenance", "maintenance:14,profit=20", drawn=True, first=7000),
    _seen("patience 14", "patience", "patience:14,prize=40,lure=0.4", drawn=True, first=7000),
    _seen("inventory 18", "inventory", "inventory:18,orders=5,lot=4,price=9", drawn=True, first=7000),
    _seen("queue 18", "queue", "queue:18,hold=0.7", drawn=True, first=7000),
    _seen("admission 7", "admission", "admission:7,low=6,high=25", drawn=True, first=7000),
    _seen("selling 12", "selling", "selling:12", drawn=True, first=7000),
    _seen("rental 5", "rental", "rental:5", drawn=True, first=7000),
    _seen("harvest 20", "harvest", "harvest:20", drawn=True, first=7000),
    _seen("reservoir 20", "reservoir", "reservoir:20", drawn=True, first=7000),
    _seen("seats 4", "seats", "seats:4", drawn=True, first=7000),
    _seen("jobs 8", "jobs", "jobs:8", drawn=True, first=7000),
    _seen("loop 5, rewards x 0.01", "loop", "loop:5,reward_scale=0.01"),
    _seen("loop 5, rewards x 100", "loop", "loop:5,reward_scale=100"),
    _seen("DeepSea 20", "DeepSea", "deepsea:20", steps=4000),
    _seen("grid DeepSea 5", "grid DeepSea", "griddeepsea:5"),
    _seen("stochastic grid DeepSea 5", "stochastic grid DeepSea", "griddeepsea:5,stochastic=true", steps=3000),
    _seen("WideNarrow 1,9", "WideNarrow", "widenarrow:1,9", steps=5000),
    _seen("RiverSwim 10", "RiverSwim", "riverswim:10", steps=4000),
    _seen("PriorMDP 8x3", "PriorMDP", "priormdp:8,3", drawn=True, first=9000),
    _seen("Garnet 16x5", "Garnet", "garnet:16,5,3,sigma=0.1", drawn=True, first=9000),
    _seen("noisy Garnet 15x3", "noisy Garnet", "garnet:15,3,4,pays=0.5,sigma=1", drawn=True, first=9000, steps=3000),
    _seen("maze 7", "maze", "maze:7", drawn=True, first=9000, steps=4000),
    _seen("lava maze 7", "lava maze", f"maze:7,{LAVA}", drawn=True, first=9000, steps=4000),
    _seen("lock 4,6", "lock", "lock:4,6,slip=0.15,lure=0.03", drawn=True, first=9000),
    _seen("cost Garnet 24x3", "cost Garnet", f"garnet:24,3,3,{COSTS}", drawn=True, first=9000),
    _seen("FrozenLake, not slippery", "FrozenLake", "gym:FrozenLake-v1,is_slippery=false"),
    _seen("chain 7", "chain", "chain:7", steps=4000),
    _seen("loop 4", "loop", "loop:4"),
    _seen("LazyChain 6", "LazyChain", "lazychain:6,p_error=0.2"),
    _seen("rooms 7", "rooms", "rooms:7,room=3", drawn=True, first=9000, steps=3000),
    _seen("lava rooms 7", "lava rooms", f"rooms:7,room=3,{LAVA}", drawn=True, first=9000, steps=3000),
    _seen("maintenance 16", "maintenance", "maintenance:16,profit=15", drawn=True, first=9000),
    _seen("patience 12", "patience", "patience:12,prize=50,lure=0.5", drawn=True, first=9000),
    _seen("inventory 15", "inventory", "inventory:15,orders=6,lot=3,price=10", drawn=True, first=9000),
    _seen("queue 12", "queue", "queue:12,hold=0.8", drawn=True, first=9000),
    _seen("admission 8", "admission", "admission:8,low=4,high=20", drawn=True, first=9000),
    _seen("selling 8", "selling", "selling:8", drawn=True, first=9000),
    _seen("rental 3", "rental", "rental:3", drawn=True, first=9000),
    _seen("harvest 16", "harvest", "harvest:16", drawn=True, first=9000),
    _seen("reservoir 16", "reservoir", "reservoir:16", drawn=True, first=9000),
    _seen("seats 3", "seats", "seats:3", drawn=True, first=9000),
    _seen("jobs 6", "jobs", "jobs:6", drawn=True, first=9000),
    _seen("loop 4, rewards x 0.01", "loop", "loop:4,reward_scale=0.01"),
    _seen("loop 4, rewards x 100", "loop", "loop:4,reward_scale=100"),
    _seen("DeepSea 22", "DeepSea", "deepsea:22", steps=4000),
    _seen("dense DeepSea 12", "dense DeepSea", "deepsea:12,reward=dense"),
    _seen("grid DeepSea 8", "grid DeepSea", "griddeepsea:8", steps=3000),
    _seen("stochastic grid DeepSea 4", "stochastic grid DeepSea", "griddeepsea:4,stochastic=true"),
    _seen("WideNarrow 1,10", "WideNarrow", "widenarrow:1,10", steps=5000),
    _seen("RiverSwim 11", "RiverSwim", "riverswim:11", steps=4000),
    _seen("PriorMDP 5x4", "PriorMDP", "priormdp:5,4", drawn=True, first=11_000),
    _seen("Garnet 18x4", "Garnet", "garnet:18,4,3,sigma=0.1", drawn=True, first=11_000),
    _seen("deterministic Garnet 20x4", "deterministic Garnet", "garnet:20,4,1,sigma=0.1", drawn=True, first=11_000),
    _seen("noisy Garnet 12x4", "noisy Garnet", "garnet:12,4,4,pays=0.5,sigma=1", drawn=True, first=11_000, steps=3000),
    _seen("maze 9", "maze", "maze:9", drawn=True, first=11_000, steps=5000),
    _seen("still maze 8", "still maze", "maze:8,slip=0", drawn=True, first=11_000, steps=4000),
    _seen("lava maze 9", "lava maze", f"maze:9,{LAVA}", drawn=True, first=11_000, steps=5000),
    _seen("lock 5,6", "lock", "lock:5,6,slip=0.1,lure=0.03", drawn=True, first=11_000, steps=3000),
    _seen("cost Garnet 16x4", "cost Garnet", f"garnet:16,4,3,{COSTS}", drawn=True, first=11_000),
    _seen("FrozenLake, less slippery", "FrozenLake", "gym:FrozenLake-v1,success_rate=0.8", steps=3000),
    _seen("chain 8", "chain", "chain:8", steps=5000),
    _seen("loop 6", "loop", "loop:6"),
    _seen("LazyChain 9", "LazyChain", "lazychain:9,p_error=0.1", steps=3000),
    _seen("rooms 8", "rooms", "rooms:8,room=3", drawn=True, first=11_000, steps=3000),
    _seen("lava rooms 6", "lava rooms", f"rooms:6,room=3,{LAVA}", drawn=True, first=11_000),
    _seen("maintenance 18", "maintenance", "maintenance:18,profit=12", drawn=True, first=11_000),
    _seen("patience 11", "patience", "patience:11,prize=60,lure=0.6", drawn=True, first=11_000),
    _seen("inventory 16", "inventory", "inventory:16,orders=5,lot=3,price=11", drawn=True, first=11_000),
    _seen("queue 14", "queue", "queue:14,hold=0.9", drawn=True, first=11_000),
    _seen("admission 9", "admission", "admission:9,low=5,high=22", drawn=True, first=11_000),
    _seen("selling 9", "selling", "selling:9", drawn=True, first=11_000),
    _seen("rental 4, three moves", "rental", "rental:4,moves=3", drawn=True, first=11_000),
    _seen("harvest 18", "harvest", "harvest:18", drawn=True, first=11_000),
    _seen("reservoir 18", "reservoir", "reservoir:18", drawn=True, first=11_000),
    _seen("seats 5", "seats", "seats:5", drawn=True, first=11_000),
    _seen("jobs 7", "jobs", "jobs:7", drawn=True, first=11_000),
    _seen("RiverSwim 11, rewards x 0.01", "RiverSwim", "riverswim:11,reward_scale=0.01", steps=4000),
    _seen("RiverSwim 11, rewards x 100", "RiverSwim", "riverswim:11,reward_scale=100", steps=4000),
    _seen("DeepSea 26", "DeepSea", "deepsea:26", steps=4000),
    _seen("dense DeepSea 10", "dense DeepSea", "deepsea:10,reward=dense"),
    _seen("grid DeepSea 9", "grid DeepSea", "griddeepsea:9", steps=3000),
    _seen("stochastic grid DeepSea 6", "stochastic grid DeepSea", "griddeepsea:6,stochastic=true", steps=4000),
    _seen("WideNarrow 1,11", "WideNarrow", "widenarrow:1,11", steps=5000),
    _seen("RiverSwim 13", "RiverSwim", "riverswim:13", steps=5000),
    _seen("PriorMDP 6x4", "PriorMDP", "priormdp:6,4", drawn=True, first=13_000, slow=True),
    _seen("Garnet 22x3", "Garnet", "garnet:22,3,4,sigma=0.1", drawn=True, first=13_000),
    _seen("paying Garnet 15x3", "paying Garnet", "garnet:15,3,3,pays=1,sigma=0.1", drawn=True, first=13_000),
    _seen("deterministic Garnet 24x3", "deterministic Garnet", "garnet:24,3,1,sigma=0.1", drawn=True, first=13_000),
    _seen("noisy Garnet 10x4", "noisy Garnet", "garnet:10,4,4,pays=0.5,sigma=1", drawn=True, first=13_000, steps=3000),
    _seen("maze 10", "maze", "maze:10", drawn=True, first=13_000, steps=5000),
    _seen("still maze 7", "still maze", "maze:7,slip=0", drawn=True, first=13_000, steps=3000),
    _seen("costly maze 7", "costly maze", "maze:7,step_cost=0.02", drawn=True, first=13_000, steps=3000),
    _seen("maze 30", "maze", "maze:30,seed=13000", steps=40_000, large=True, runs=6),
    _seen("lava maze 10", "lava maze", f"maze:10,{LAVA}", drawn=True, first=13_000, steps=5000),
    _seen("lock 6,4", "lock", "lock:6,4,slip=0.12,lure=0.03", drawn=True, first=13_000, steps=3000),
    _seen("cost Garnet 14x3", "cost Garnet", f"garnet:14,3,3,{COSTS}", drawn=True, first=13_000),
    _seen("FrozenLake, hardly slippery", "FrozenLake", "gym:FrozenLake-v1,success_rate=0.9", steps=3000),
    _seen("chain 9", "chain", "chain:9", steps=5000),
    _seen("loop 7", "loop", "loop:7"),
    _seen("LazyChain 10", "LazyChain", "lazychain:10,p_error=0.15", steps=3000),
    _seen("rooms 10", "rooms", "rooms:10,room=3", drawn=True, first=13_000, steps=4000),
    _seen("lava rooms 8", "lava rooms", f"rooms:8,room=3,{LAVA}", drawn=True, first=13_000, steps=3000),
    _seen("maintenance 15", "maintenance", "maintenance:15,profit=18", drawn=True, first=13_000),
    _seen("patience 13", "patience", "patience:13,prize=70,lure=0.7", drawn=True, first=13_000),
    _seen("inventory 14", "inventory", "inventory:14,orders=6,lot=2,price=10", drawn=True, first=13_000),
    _seen("queue 16", "queue", "queue:16,hold=0.75", drawn=True, first=13_000),
    _seen("admission 10", "admission", "admission:10,low=6,high=24", drawn=True, first=13_000),
    _seen("selling 11", "selling", "selling:11", drawn=True, first=13_000, slow=True),
    _seen("rental 5, three moves", "rental", "rental:5,moves=3", drawn=True, first=13_000),
    _seen("harvest 14", "harvest", "harvest:14", drawn=True, first=13_000),
    _seen("reservoir 14", "reservoir", "reservoir:14", drawn=True, first=13_000),
    _seen("seats 6", "seats", "seats:6", drawn=True, first=13_000),
    _seen("jobs 5", "jobs", "jobs:5", drawn=True, first=13_000),
    _seen(
        "lock 6,4, rewards x 0.01",
        "lock",
        "lock:6,4,slip=0.12,lure=0.03,reward_scale=0.01",
        drawn=True,
        first=13_000,
        steps=3000,
    ),
    _seen(
        "lock 6,4, rewards x 100",
        "lock",
        "lock:6,4,slip=0.12,lure=0.03,reward_scale=100",
        drawn=True,
        first=13_000,
        steps=3000,
    ),
    _seen("DeepSea 28", "DeepSea", "deepsea:28", steps=4000),
    _seen("grid DeepSea 10", "grid DeepSea", "griddeepsea:10", steps=3000),
    _seen("stochastic grid DeepSea 7", "stochastic grid DeepSea", "griddeepsea:7,stochastic=true", steps=4000),
    _seen("WideNarrow 1,8", "WideNarrow", "widenarrow:1,8", steps=5000),
    _seen("RiverSwim 14", "RiverSwim", "riverswim:14", steps=5000),
    _seen("PriorMDP 9x3", "PriorMDP", "priormdp:9,3", drawn=True, first=15_000, slow=True),
    _seen("sparse PriorMDP 8x3", "sparse PriorMDP", "priormdp:8,3,kappa=0.2", drawn=True, first=15_000),
    _seen("Garnet 26x3", "Garnet", "garnet:26,3,3,sigma=0.1", drawn=True, first=15_000),
    _seen("deterministic Garnet 18x5", "deterministic Garnet", "garnet:18,5,1,sigma=0.1", drawn=True, first=15_000),
    _seen("noisy Garnet 14x3", "noisy Garnet", "garnet:14,3,4,pays=0.5,sigma=1", drawn=True, first=15_000, steps=3000),
    _seen("maze 11", "maze", "maze:11", drawn=True, first=15_000, steps=6000),
    _seen("still maze 12", "still maze", "maze:12,slip=0", drawn=True, first=15_000, steps=5000),
    _seen("maze 30, less slip", "maze", "maze:30,slip=0.05,seed=15000", steps=40_000, large=True, runs=6),
    _seen("lava maze 11", "lava maze", f"maze:11,{LAVA}", drawn=True, first=15_000, steps=6000),
    _seen("lock 7,3", "lock", "lock:7,3,slip=0.1,lure=0.03", drawn=True, first=15_000, steps=3000),
    _seen("cost Garnet 22x4", "cost Garnet", f"garnet:22,4,3,{COSTS}", drawn=True, first=15_000),
    _seen("FrozenLake 8x8, hardly slippery", "FrozenLake", "gym:FrozenLake8x8-v1,success_rate=0.9", steps=5000),
    _seen("chain 10", "chain", "chain:10", steps=6000),
    _seen("loop 8", "loop", "loop:8"),
    _seen("LazyChain 11", "LazyChain", "lazychain:11,p_error=0.1", steps=3000),
    _seen("rooms 11", "rooms", "rooms:11,room=3", drawn=True, first=15_000, steps=5000),
    _seen("costly rooms 8", "costly rooms", "rooms:8,room=3,step_cost=0.02", drawn=True, first=15_000, steps=3000),
    _seen("maintenance 13", "maintenance", "maintenance:13,profit=22", drawn=True, first=15_000, slow=True),
    _seen("patience 16", "patience", "patience:16,prize=45,lure=0.5", drawn=True, first=15_000),
    _seen("inventory 17", "inventory", "inventory:17,orders=5,lot=3,price=9", drawn=True, first=15_000),
    _seen("queue 13", "queue", "queue:13,hold=0.85", drawn=True, first=15_000),
    _seen("admission 11", "admission", "admission:11,low=5,high=26", drawn=True, first=15_000),
    _seen("selling 13", "selling", "selling:13", drawn=True, first=15_000),
    _seen("rental 6", "rental", "rental:6", drawn=True, first=15_000),
    _seen("noisy harvest 15", "noisy harvest", "harvest:15,sigma=4", drawn=True, first=15_000),
    _seen("reservoir 22", "reservoir", "reservoir:22", drawn=True, first=15_000),
    _seen("seats 7", "seats", "seats:7", drawn=True, first=15_000),
    _seen("jobs 9", "jobs", "jobs:9", drawn=True, first=15_000),
    _seen(
        "Garnet 26x3, rewards x 0.01", "Garnet", "garnet:26,3,3,sigma=0.1,reward_scale=0.01", drawn=True, first=15_000
    ),
    _seen("Garnet 26x3, rewards x 100", "Garnet", "garnet:26,3,3,sigma=0.1,reward_scale=100", drawn=True, first=15_000),
)
"""What was looked at while the default was made."""

THIRTEEN = tuple(task.name for task in DEVELOPMENT[:13])
"""The tasks whose mean was watched in development."""

CONFIRMATION = (
    _conf("DeepSea 32", "DeepSea", "deepsea:32", steps=5000),
    _conf("grid DeepSea 11", "grid DeepSea", "griddeepsea:11", steps=3000),
    _conf("stochastic grid DeepSea 8", "stochastic grid DeepSea", "griddeepsea:8,stochastic=true", steps=5000),
    _conf("WideNarrow 2,9", "WideNarrow", "widenarrow:2,9", steps=5000),
    _conf("RiverSwim 15", "RiverSwim", "riverswim:15", steps=5000),
    _conf("PriorMDP 7x3", "PriorMDP", "priormdp:7,3", drawn=True, slow=True),
    _conf("sparse PriorMDP 9x4", "sparse PriorMDP", "priormdp:9,4,kappa=0.2", drawn=True),
    _conf("Garnet 28x3", "Garnet", "garnet:28,3,3,sigma=0.1", drawn=True),
    _conf("lonely Garnet 20x3", "lonely Garnet", "garnet:20,3,3,pays=0.03,sigma=0.1", drawn=True),
    _conf("deterministic Garnet 22x4", "deterministic Garnet", "garnet:22,4,1,sigma=0.1", drawn=True),
    _conf("noisy Garnet 16x3", "noisy Garnet", "garnet:16,3,4,pays=0.5,sigma=1", drawn=True, steps=3000),
    _conf("maze 12", "maze", "maze:12", drawn=True, steps=6000),
    _conf("still maze 10", "still maze", "maze:10,slip=0", drawn=True, steps=5000),
    _conf("still lava maze 9", "still lava maze", f"maze:9,slip=0,{LAVA}", drawn=True, steps=5000),
    _conf("maze 30, more slip", "maze", f"maze:30,slip=0.15,seed={CONFIRMATION_INSTANCE}", steps=40_000, large=True),
    _conf("lava maze 12", "lava maze", f"maze:12,{LAVA}", drawn=True, steps=6000),
    _conf("lock 6,3", "lock", "lock:6,3,slip=0.1,lure=0.03", drawn=True, steps=3000),
    _conf("cost Garnet 20x4", "cost Garnet", f"garnet:20,4,3,{COSTS}", drawn=True),
    _conf("FrozenLake 8x8, less slippery", "FrozenLake", "gym:FrozenLake8x8-v1,success_rate=0.8", steps=5000),
    _conf("chain 11", "chain", "chain:11", steps=6000),
    _conf("loop 9", "loop", "loop:9"),
    _conf("LazyChain 12", "LazyChain", "lazychain:12,p_error=0.1", steps=3000),
    _conf("rooms 12", "rooms", "rooms:12,room=3", drawn=True, steps=5000),
    _conf("costly rooms 7", "costly rooms", "rooms:7,room=3,step_cost=0.02", drawn=True, steps=3000),
    _conf("maintenance 17", "maintenance", "maintenance:17,profit=14", drawn=True, slow=True),
    _conf("patience 17", "patience", "patience:17,prize=55,lure=0.5", drawn=True),
    _conf("inventory 13", "inventory", "inventory:13,orders=5,lot=3,price=10", drawn=True),
    _conf("queue 17", "queue", "queue:17,hold=0.8", drawn=True),
    _conf("noisy queue 11", "noisy queue", "queue:11,sigma=4", drawn=True),
    _conf("admission 12", "admission", "admission:12,low=5,high=24", drawn=True),
    _conf("selling 14", "selling", "selling:14", drawn=True),
    _conf("rental 6, three moves", "rental", "rental:6,moves=3", drawn=True),
    _conf("harvest 17", "harvest", "harvest:17", drawn=True),
    _conf("reservoir 24", "reservoir", "reservoir:24", drawn=True),
    _conf("seats 8", "seats", "seats:8", drawn=True),
    _conf("jobs 10", "jobs", "jobs:10", drawn=True),
    _conf("LazyChain 12, rewards x 0.01", "LazyChain", "lazychain:12,p_error=0.1,reward_scale=0.01", steps=3000),
    _conf("LazyChain 12, rewards x 100", "LazyChain", "lazychain:12,p_error=0.1,reward_scale=100", steps=3000),
)
"""Run once, after everything was chosen."""


def new_kinds() -> list[str]:
    """Families of the confirmation that development does not have."""
    known = {task.kind for task in DEVELOPMENT}
    return [kind for kind in dict.fromkeys(task.kind for task in CONFIRMATION) if kind not in known]
