"""What the page knows before anybody moves: the map, names, true rewards, and what the oracle earns under the seed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steering._types import Ints
from steering.envs import Environment
from steering.envs.layout import layout_of
from steering.errors import InvalidOption
from steering.lab.packing import small_unsigned
from steering.mdp import TabularMDP
from steering.runs.oracle import world_of
from steering.runs.seeds import environment_streams

LARGEST = 10_000
"""States that a map can show."""


def refuse_large(environment: Environment) -> None:
    """Refuse what no screen can show."""
    if environment.table.n_states > LARGEST:
        raise InvalidOption(
            f"'{environment.name}' has {environment.n_states} states; the lab shows at most {LARGEST}, so choose a "
            "smaller one."
        )


def world(
    environment: Environment, agents: Sequence[str], steps: int, seed: int
) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Header and arrays of the world in which `agents` run for some steps under a seed."""
    refuse_large(environment)
    mdp, place = environment.table, layout_of(environment)
    header = {
        "environment": environment.name,
        "agents": list(agents),
        "steps": steps,
        "seed": seed,
        "states": mdp.n_states,
        "actions": mdp.n_actions,
        "stateNames": list(mdp.state_names),
        "actionNames": list(mdp.action_names),
        "horizon": environment.horizon,
        "discount": environment.discount,
        "layout": {"kind": place.kind, "width": place.width, "height": place.height},
    }
    arrays: dict[str, NDArray[Any]] = {
        "x": place.x.astype(np.float32),
        "y": place.y.astype(np.float32),
        "walls": place.walls.astype(np.uint16),
        "edges": place.edges.astype(np.uint16),
        "allowed": mdp.allowed.astype(np.uint8),
        "rewards": np.where(mdp.allowed, mdp.rewards, 0.0).astype(np.float64),
        "moves": small_unsigned(likely_moves(mdp), mdp.n_states),
        "start": (mdp.start_distribution > 0).astype(np.uint8),
        "oracle": world_of(environment).oracle_rewards(steps, environment_streams(seed)),
    }
    return header, arrays


def likely_moves(mdp: TabularMDP) -> Ints:
    """The most likely successor of every pair, (S, A); the state itself where an action is not allowed."""
    rows = mdp.transitions
    out = np.repeat(np.arange(mdp.n_states), mdp.n_actions)
    counts = np.diff(rows.offsets)
    pair = np.repeat(np.arange(out.size), counts)
    # Sorted by pair and then by probability, the last entry of each pair is its most likely one.
    order = np.lexsort((rows.probabilities, pair))
    last = np.cumsum(counts) - 1
    out[counts > 0] = rows.successors[order][last[counts > 0]]
    return out.reshape(mdp.n_states, mdp.n_actions)
