"""What saves time and must not change a bit: unlocked tables, small first chunks of noise; memory weighed first."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from steering import _memory, make_env, run
from steering.errors import TooLarge
from steering.mdp import occupancy_finite
from steering.mdp._arrays import unlocked
from steering.mdp.simulator import CHUNK, Noise


def test_tables_are_locked_for_users_and_open_for_compiled_functions() -> None:
    mdp = make_env("deepsea:5").table.to_dense()
    for one in (mdp, pickle.loads(pickle.dumps(mdp)), make_env("deepsea:5").table):
        assert not one.P.flags.writeable
        with pytest.raises(ValueError, match="read-only"):
            one.P[0, 0, 0] = 1.0
        below = unlocked(one.P)
        assert below.flags.writeable
        assert np.shares_memory(below, one.P)
        np.testing.assert_array_equal(below, one.P)
    part = mdp.P[1:]
    assert unlocked(part) is part  # a part of a table is not the table
    own = np.eye(3)
    assert unlocked(own) is own


@pytest.mark.parametrize("kind", ["uniform", "normal"])
def test_the_size_of_chunks_does_not_change_the_numbers(kind: str) -> None:
    def taken(chunk: int) -> np.ndarray:
        noise = Noise(np.random.default_rng(7), kind, chunk)
        parts = []
        for n in (1, 3, 200, 1, 5000, 20_000, 7):
            parts.append(noise.take(n).copy())
            noise.give_back(n // 3)
        return np.concatenate(parts)

    np.testing.assert_array_equal(taken(2), taken(CHUNK))


def test_tables_of_every_step_are_weighed_first(monkeypatch: pytest.MonkeyPatch) -> None:
    env = make_env("maze:30,horizon=2000")
    monkeypatch.setattr(_memory, "available", lambda: 10**7)
    with pytest.raises(TooLarge, match="2000 steps"):
        occupancy_finite(env.table, np.zeros(900, dtype=int), 2000)
    with pytest.raises(TooLarge, match="horizon"):
        run(env, "q_learning", steps=10, seeds=1)
