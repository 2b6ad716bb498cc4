"""Gymnasium ids of this package's environments: ``steering/DeepSea-v0`` and so on."""

from __future__ import annotations

from typing import Any

import gymnasium

from steering.envs.gym_env import TabularEnv
from steering.envs.registry import ENTRIES, make_env

NAMESPACE = "steering"


def register_all() -> list[str]:
    """Register every environment with Gymnasium (again does no harm) and return the ids."""
    ids = []
    for name, entry in ENTRIES.items():
        env_id = f"{NAMESPACE}/{entry.gym}-v0"
        ids.append(env_id)
        if env_id not in gymnasium.registry:
            kwargs = {"name": name, **entry.example}
            gymnasium.register(env_id, entry_point=f"{__name__}:tabular_env", kwargs=kwargs)
    return ids


def tabular_env(name: str, *, disallowed: str = "stay", render_mode: str | None = None, **options: Any) -> TabularEnv:
    """Make the Gymnasium environment of a registered name; the options are those of `make_env`."""
    env = make_env(name, **options)
    return TabularEnv(env.table, horizon=env.horizon, disallowed=disallowed, render_mode=render_mode)
