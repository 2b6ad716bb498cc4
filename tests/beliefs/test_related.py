"""Related rows: the prior's weight in a row that was tried goes to where the actions of its state were seen to lead."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from steering.beliefs import ModelBelief, SparseBelief

S, A = 5, 3
STATES = st.integers(0, S - 1)
DATA = st.lists(st.tuples(STATES, st.integers(0, A - 1), STATES), max_size=50)
FORMS = (ModelBelief, SparseBelief)


def beliefs(data: list[tuple[int, int, int]], eta: float) -> list[ModelBelief | SparseBelief]:
    made = [form(S, A, eta=eta) for form in FORMS]
    for belief in made:
        for s, a, y in data:
            belief.observe(s, a, 0.0, y)
        belief.data_model()
    return made


def by_hand(counts: np.ndarray, eta: float, values: np.ndarray) -> np.ndarray:
    """The definition, row by row and outcome by outcome."""
    e = min(eta, 1 / S)
    P = np.empty(counts.shape)
    for s in range(S):
        n = counts[s].sum(axis=-1)
        m = [(1 / S + sum(counts[s, b, y] / (n[b] + 1) for b in range(A))) for y in range(S)]
        m = np.array(m) / sum(m)
        for a in range(A):
            P[s, a] = (counts[s, a] + e) / (n[a] + S * e)
            gains = m @ values >= values.mean() - 1e-9
            if n[a] >= 3 or (n[a] > 0 and gains):
                P[s, a] = (counts[s, a] + S * e * m) / (n[a] + S * e)
    return P


@given(DATA, st.sampled_from([1e-3, 0.1, 1.0, 30.0]), st.integers(0, 10**6))
@settings(max_examples=80, deadline=None)
def test_both_forms_are_the_definition(data, eta: float, seed: int) -> None:
    values = np.random.default_rng(seed).normal(-1.0, 3.0, S)
    dense, sparse = beliefs(data, eta)
    expected = by_hand(dense.counts, eta, values)
    plain = np.array(dense.P)
    for belief in (dense, sparse):
        P = np.array(belief.related_rows(values))
        np.testing.assert_allclose(P, expected, rtol=1e-12, atol=1e-14)
        np.testing.assert_allclose(P.sum(axis=-1), 1.0, rtol=1e-12)
        np.testing.assert_allclose(belief.related_gains(values), (expected - plain) @ values, rtol=1e-9, atol=1e-12)
    np.testing.assert_array_equal(dense.P, plain)  # the model itself is not touched


@pytest.mark.parametrize("form", FORMS)
def test_a_row_tried_once_or_twice_does_not_lose_by_the_others(form) -> None:
    """Action 0 was seen to end badly, and the others always do: that is believed when it was tried three times."""
    values = np.array([0.0, 0.0, 0.0, 0.0, 10.0])
    for tries, lost in ((1, False), (2, False), (3, True)):
        belief = form(S, A)
        for _ in range(20):
            belief.observe(1, 1, 0.0, 0)
        for _ in range(tries):
            belief.observe(1, 0, 0.0, 0)
        P, _ = belief.data_model()
        before = float(np.array(P)[1, 0] @ values)
        after = float(np.array(belief.related_rows(values))[1, 0] @ values)
        assert after < before if lost else after == before
        # The other way round everyone gains at once, and what was never tried stays as it is.
        good = np.array([10.0, 0.0, 0.0, 0.0, 0.0])
        rows, P = np.array(belief.related_rows(good)), np.array(P)
        assert rows[1, 0] @ good > P[1, 0] @ good
        np.testing.assert_array_equal(rows[1, 2], P[1, 2])
        np.testing.assert_array_equal(rows[2], P[2])


@pytest.mark.parametrize("form", FORMS)
def test_values_that_are_all_the_same_change_nothing_but_rounding(form) -> None:
    belief = beliefs([(0, 0, 1), (0, 1, 2), (0, 1, 2), (3, 2, 3)], 1.0)[FORMS.index(form)]
    gains = belief.related_gains(np.full(S, -0.3))
    np.testing.assert_array_equal(gains, 0.0)
