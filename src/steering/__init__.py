"""STEERING: Stein information directed exploration for finite Markov decision processes.

>>> import steering
>>> results = steering.run("deepsea:4", "psrl", steps=100, seeds=2)
>>> results.regret(normalised=True).shape
(2,)
"""

from __future__ import annotations

from steering._version import __version__
from steering.envs.registration import register_on_import

# The command line listens to signals as soon as this is loaded: until then everything counts, the typing module too.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from steering.agents import Agent, list_agents, make_agent, register_agent
    from steering.envs import Environment, list_envs, make_env, register_env
    from steering.errors import SteeringError
    from steering.mdp import TabularMDP
    from steering.runs import Comparison, bayesian_regret, run
    from steering.runs.results import RunResults
    from steering.session import Session
    from steering.sweeps import sweep
    from steering.sweeps.store.load import Results, load

# Loaded on first use: `import steering.stein` or the command line's help must not pay for the compiler.
_HOMES = {
    "Agent": "steering.agents",
    "list_agents": "steering.agents",
    "make_agent": "steering.agents",
    "Comparison": "steering.runs",
    "register_agent": "steering.agents",
    "Environment": "steering.envs",
    "list_envs": "steering.envs",
    "make_env": "steering.envs",
    "register_env": "steering.envs",
    "SteeringError": "steering.errors",
    "bayesian_regret": "steering.runs",
    "run": "steering.runs",
    "sweep": "steering.sweeps",
    "TabularMDP": "steering.mdp",
    "Results": "steering.sweeps.store.load",
    "RunResults": "steering.runs",
    "load": "steering.sweeps.store.load",
    "Session": "steering.session",
}

__all__ = [
    "Agent",
    "Comparison",
    "Environment",
    "Results",
    "RunResults",
    "Session",
    "SteeringError",
    "TabularMDP",
    "__version__",
    "bayesian_regret",
    "list_agents",
    "list_envs",
    "load",
    "make_agent",
    "make_env",
    "register_agent",
    "register_env",
    "run",
    "sweep",
]

# Gymnasium ids such as steering/DeepSea-v0, once Gymnasium itself is loaded.
register_on_import()


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        import importlib

        return getattr(importlib.import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'steering' has no attribute '{name}'")


def __dir__() -> list[str]:
    return sorted(__all__)
