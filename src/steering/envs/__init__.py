"""Environments: the paper's, classics of exploration, any finite Gymnasium environment, and your own MDP."""

from __future__ import annotations

TYPE_CHECKING = False  # as in the package itself, which loads this
if TYPE_CHECKING:
    from typing import Any

    from steering.envs.admission import admission_control
    from steering.envs.base import Environment
    from steering.envs.chain import dearden_chain
    from steering.envs.deepsea import deep_sea
    from steering.envs.entries import register_env
    from steering.envs.garnet import garnet
    from steering.envs.griddeepsea import grid_deep_sea
    from steering.envs.gym_env import TabularEnv
    from steering.envs.gym_import import estimate_mdp, from_gym
    from steering.envs.harvest import renewable_harvest
    from steering.envs.inventory import stock_keeping
    from steering.envs.jobs import job_offers
    from steering.envs.lazychain import lazy_chain
    from steering.envs.live import LiveGym
    from steering.envs.lock import combination_lock
    from steering.envs.loop import dearden_loop
    from steering.envs.maintenance import machine_maintenance
    from steering.envs.maze import maze
    from steering.envs.patience import growing_prize
    from steering.envs.priormdp import prior_mdp, sample_prior_mdp
    from steering.envs.queueing import service_queue
    from steering.envs.registration import register_all
    from steering.envs.registry import EnvInfo, list_envs, make_env
    from steering.envs.rental import car_rental
    from steering.envs.reservoir import dam_reservoir
    from steering.envs.riverswim import river_swim
    from steering.envs.rooms import rooms
    from steering.envs.seats import flight_seats
    from steering.envs.selling import offer_selling
    from steering.envs.widenarrow import wide_narrow

# Loaded on first use, so that registering names with Gymnasium does not load the environments.
_HOMES = {
    "EnvInfo": "steering.envs.registry",
    "Environment": "steering.envs.base",
    "LiveGym": "steering.envs.live",
    "TabularEnv": "steering.envs.gym_env",
    "admission_control": "steering.envs.admission",
    "car_rental": "steering.envs.rental",
    "combination_lock": "steering.envs.lock",
    "dam_reservoir": "steering.envs.reservoir",
    "dearden_chain": "steering.envs.chain",
    "dearden_loop": "steering.envs.loop",
    "deep_sea": "steering.envs.deepsea",
    "estimate_mdp": "steering.envs.gym_import",
    "flight_seats": "steering.envs.seats",
    "from_gym": "steering.envs.gym_import",
    "garnet": "steering.envs.garnet",
    "grid_deep_sea": "steering.envs.griddeepsea",
    "growing_prize": "steering.envs.patience",
    "job_offers": "steering.envs.jobs",
    "lazy_chain": "steering.envs.lazychain",
    "list_envs": "steering.envs.registry",
    "machine_maintenance": "steering.envs.maintenance",
    "make_env": "steering.envs.registry",
    "maze": "steering.envs.maze",
    "offer_selling": "steering.envs.selling",
    "prior_mdp": "steering.envs.priormdp",
    "register_all": "steering.envs.registration",
    "register_env": "steering.envs.entries",
    "renewable_harvest": "steering.envs.harvest",
    "river_swim": "steering.envs.riverswim",
    "rooms": "steering.envs.rooms",
    "sample_prior_mdp": "steering.envs.priormdp",
    "service_queue": "steering.envs.queueing",
    "stock_keeping": "steering.envs.inventory",
    "wide_narrow": "steering.envs.widenarrow",
}

__all__ = [
    "EnvInfo",
    "Environment",
    "LiveGym",
    "TabularEnv",
    "admission_control",
    "car_rental",
    "combination_lock",
    "dam_reservoir",
    "dearden_chain",
    "dearden_loop",
    "deep_sea",
    "estimate_mdp",
    "flight_seats",
    "from_gym",
    "garnet",
    "grid_deep_sea",
    "growing_prize",
    "job_offers",
    "lazy_chain",
    "list_envs",
    "machine_maintenance",
    "make_env",
    "maze",
    "offer_selling",
    "prior_mdp",
    "register_all",
    "register_env",
    "renewable_harvest",
    "river_swim",
    "rooms",
    "sample_prior_mdp",
    "service_queue",
    "stock_keeping",
    "wide_narrow",
]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        import importlib

        return getattr(importlib.import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'steering.envs' has no attribute '{name}'")


def __dir__() -> list[str]:
    return sorted(__all__)
