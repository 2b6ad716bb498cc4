"""Environments: the paper's, two classics, any Gymnasium environment with finite spaces, and your own MDP."""

from steering.envs.base import Environment
from steering.envs.deepsea import deep_sea
from steering.envs.griddeepsea import grid_deep_sea
from steering.envs.gym_env import TabularEnv
from steering.envs.gym_import import estimate_mdp, from_gym
from steering.envs.live import LiveGym
from steering.envs.priormdp import prior_mdp, sample_prior_mdp
from steering.envs.registration import register_all
from steering.envs.registry import EnvInfo, list_envs, make_env
from steering.envs.riverswim import river_swim
from steering.envs.widenarrow import wide_narrow

__all__ = [
    "EnvInfo",
    "Environment",
    "LiveGym",
    "TabularEnv",
    "deep_sea",
    "estimate_mdp",
    "from_gym",
    "grid_deep_sea",
    "list_envs",
    "make_env",
    "prior_mdp",
    "register_all",
    "river_swim",
    "sample_prior_mdp",
    "wide_narrow",
]
