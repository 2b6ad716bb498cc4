"""Environments: the paper's, two classics, any Gymnasium environment with finite spaces, and your own MDP."""

from steering.envs.base import Environment
from steering.envs.deepsea import deep_sea
from steering.envs.griddeepsea import grid_deep_sea
from steering.envs.priormdp import prior_mdp, sample_prior_mdp
from steering.envs.registry import EnvInfo, list_envs, make_env
from steering.envs.riverswim import river_swim
from steering.envs.widenarrow import wide_narrow

__all__ = [
    "EnvInfo",
    "Environment",
    "deep_sea",
    "grid_deep_sea",
    "list_envs",
    "make_env",
    "prior_mdp",
    "river_swim",
    "sample_prior_mdp",
    "wide_narrow",
]
