"""Random streams: one for every purpose, all functions of the seed."""

import itertools

import numpy as np
import pytest

from steering.runs.seeds import PURPOSES, checked_seeds, environment_streams, stream


def test_streams_are_reproducible_and_differ() -> None:
    draws = {(seed, purpose): stream(seed, purpose).random(4) for seed in (0, 1) for purpose in PURPOSES}
    for one, other in itertools.combinations(draws, 2):
        assert not np.array_equal(draws[one], draws[other])
    for (seed, purpose), values in draws.items():
        np.testing.assert_array_equal(values, stream(seed, purpose).random(4))


def test_the_environment_has_three_streams() -> None:
    streams = environment_streams(5)
    for name in ("transitions", "rewards", "starts"):
        np.testing.assert_array_equal(getattr(streams, name).random(3), stream(5, name).random(3))


def test_these_numbers_never_change() -> None:
    # Results of published runs depend on them.
    np.testing.assert_array_equal(stream(0, "transitions").integers(0, 2**32, 2), [3445585646, 4049885951])
    np.testing.assert_array_equal(stream(0, "acting").integers(0, 2**32, 2), [751395872, 2804495858])


@pytest.mark.parametrize("seeds", [3, np.int64(3), range(3), [0, 1, 2], np.arange(3), (x for x in range(3))])
def test_seeds_as_numbers_or_lists(seeds) -> None:
    chosen = checked_seeds(seeds)
    assert chosen == (0, 1, 2)
    assert all(type(seed) is int for seed in chosen)
