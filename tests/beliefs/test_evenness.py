"""Evenness: in the model of the data the outcomes seen of a row are drawn towards equal shares, if all rows say so."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from steering.beliefs import ModelBelief, SparseBelief
from steering.beliefs.base import EVEN_GRID, EVEN_PLAUSIBLE
from steering.errors import InvalidOption

S, A = 5, 2
STATES = st.integers(0, S - 1)
DATA = st.lists(st.tuples(STATES, st.integers(0, A - 1), st.floats(-3, 3), STATES), max_size=60)
FORMS = (ModelBelief, SparseBelief)


def beliefs(data, **options) -> list[ModelBelief | SparseBelief]:
    made = [form(S, A, evenness="learned", **options) for form in FORMS]
    for belief in made:
        for s, a, r, y in data:
            belief.observe(s, a, r, y)
        belief.refresh()
    return made


def evened(counts: np.ndarray, even: float) -> np.ndarray:
    """The definition, row by row and outcome by outcome."""
    found = np.zeros(counts.shape)
    for s, a, y in zip(*np.nonzero(counts), strict=True):
        n, k = counts[s, a].sum(), np.count_nonzero(counts[s, a])
        found[s, a, y] = n * (counts[s, a, y] + even) / (n + k * even)
    return found


def evidence(data) -> np.ndarray:
    """Log of the probability of every outcome that came again, among those known of its row."""
    found, rows = np.zeros(EVEN_GRID.size), {}
    for s, a, _, y in data:
        known = rows.setdefault((s, a), {})
        if y in known and len(known) > 1:
            shares = [(known[y] + b) / sum(n + b for n in known.values()) for b in EVEN_GRID]
            found += np.log(shares)
        known[y] = known.get(y, 0) + 1
    return found


@given(DATA, st.sampled_from([1e-3, 0.1, 1.0]), st.sampled_from([0.0, 0.4, 8.0]), st.sampled_from(["fixed", "open"]))
@settings(max_examples=80, deadline=None)
def test_both_forms_are_the_definition(data, eta: float, even: float, scale: str) -> None:
    dense, sparse = beliefs(data, eta=eta, reward_scale=scale)
    e, counts = min(eta, 1 / S), np.array(dense.counts)
    shares, visits = evened(counts, even), counts.sum(axis=-1, keepdims=True)
    np.testing.assert_allclose(shares.sum(axis=-1), visits[..., 0], rtol=1e-12)
    P = (shares + e) / (visits + S * e)
    mu = dense.mu.copy()
    if scale == "open":
        paid = (shares * mu).sum(axis=-1) / np.maximum(visits[..., 0], 1)
        mu = np.where((counts == 0) & (visits > 0), paid[..., None], mu)
    values = np.arange(S) - 2.0
    related, gains = [], []
    for belief in (dense, sparse):
        belief.evenness = even
        rows, r = belief.data_model()
        np.testing.assert_allclose(np.array(rows), P, rtol=1e-12)
        np.testing.assert_allclose(r, (P * mu).sum(axis=-1), rtol=1e-10, atol=1e-12)
        related.append(np.array(belief.related_rows(values)))
        gains.append(np.array(belief.related_gains(values)))
        mean = (counts + eta) / (visits + S * eta)
        np.testing.assert_allclose(np.array(belief.mean_model()[0]), mean, rtol=1e-12)  # the posterior stays
    m = (1 / S + (shares / (visits + 1)).sum(axis=1)) / (1 + (visits / (visits + 1)).sum(axis=1))
    for s in range(S):
        for a in range(A):
            if visits[s, a, 0] >= 3:
                row = (shares[s, a] + S * e * m[s]) / (visits[s, a] + S * e)
                np.testing.assert_allclose([one[s, a] for one in related], [row, row], rtol=1e-11)
    for one in gains:
        np.testing.assert_allclose(one, (related[0] - P) @ values, rtol=1e-8, atol=1e-11)
    np.testing.assert_allclose(related[0], related[1], rtol=1e-11)


@given(DATA)
@settings(max_examples=60, deadline=None)
def test_the_evidence_is_the_probability_of_what_came_again(data) -> None:
    expected = evidence(data)
    least = EVEN_GRID[expected >= expected.max() - EVEN_PLAUSIBLE][0]
    for belief in beliefs(data):
        np.testing.assert_allclose(belief._even_evidence, expected, rtol=1e-9, atol=1e-12)
        assert belief.evenness == least
    copy = beliefs(data)[1].to_dense()
    assert copy.evenness == least
    copy.observe(0, 0, 0.0, 1)
    again = evidence([*data, (0, 0, 0.0, 1)])
    np.testing.assert_allclose(copy._even_evidence, again, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(("chances", "even"), [([1 / 3, 1 / 3, 1 / 3], True), ([0.8, 0.15, 0.05], False)])
def test_even_outcomes_are_found_and_others_are_not_made_even(form, chances, even: bool) -> None:
    """A dozen visits a row; in 100 seeds b was 1 or more of the even ones, with a better model, and 0 of the others."""
    rng = np.random.default_rng(0)
    belief = form(40, 1, evenness="learned")
    for s in range(40):
        for y in rng.choice(3, size=12, p=chances):
            belief.observe(s, 0, 0.0, (s + int(y)) % 40)
    belief.refresh()
    assert (belief.evenness >= 1.0) if even else (belief.evenness == 0.0)
    truth = np.array([[chances[(y - s) % 40] if (y - s) % 40 < 3 else 0.0 for y in range(40)] for s in range(40)])
    error = np.abs(np.array(belief.data_model()[0])[:, 0] - truth).sum()
    belief.evenness = 0.0
    counted = np.abs(np.array(belief.data_model()[0])[:, 0] - truth).sum()
    assert error < 0.9 * counted if even else error == counted


def test_a_row_of_one_outcome_says_nothing() -> None:
    for belief in beliefs([(0, 0, 1.0, 1)] * 50 + [(0, 1, 1.0, 1)]):
        assert belief.evenness == 0.0
        assert not belief._even_evidence.any()


@pytest.mark.parametrize("form", FORMS)
def test_where_there_are_many_counts_outcomes_are_as_counted(form) -> None:
    belief = form(3, 1, evenness="learned")
    steps = 200_000
    y = np.arange(steps) % 4 // 3  # three times 0, then 1
    belief.observe_many((np.zeros(steps, np.int64), np.zeros(steps, np.int64), np.zeros(steps), y))
    belief.refresh()
    assert belief.evenness == 0.0
    assert math.isfinite(belief._even_evidence.min())
    assert np.array(belief.data_model()[0])[0, 0, 1] == pytest.approx(0.25, rel=1e-4)


def test_other_words_are_refused() -> None:
    with pytest.raises(InvalidOption, match=r"evenness is 'equal'; choose 'none' or 'learned'\."):
        ModelBelief(2, 1, evenness="equal")
