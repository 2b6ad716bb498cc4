"""Beliefs by support agree with dense ones in every number, and their draws in distribution."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import ks_2samp

from steering import _memory
from steering.agents.stein_information import InformationChoice, SteinInformation
from steering.beliefs import ModelBelief, SparseBelief, make_belief, support
from steering.beliefs.base import GRID
from steering.errors import SlowWarning, SteeringError, TooLarge

S, A = 6, 2
LEARNED = {"concentration": "learned", "reward_scale": "learned"}
STATES, REWARDS = st.integers(0, S - 1), st.sampled_from([0.0, -1.0, 2.5, 7.0])
TRANSITIONS = st.lists(st.tuples(STATES, st.integers(0, A - 1), REWARDS, STATES), max_size=60)


def both(data, **options) -> tuple[ModelBelief, SparseBelief]:
    forms = ModelBelief(S, A, **options), SparseBelief(S, A, **options)
    columns = [np.array(x) for x in zip(*data, strict=True)] if data else [np.zeros(0, int)] * 4
    columns[2] = columns[2].astype(float)
    for belief in forms:
        half = len(data) // 2
        belief.observe_many(tuple(x[:half] for x in columns))
        belief.refresh()
        belief.observe_many(tuple(x[half:] for x in columns))
        belief.refresh()
    return forms


def close(one, other) -> None:
    np.testing.assert_allclose(np.asarray(one), np.asarray(other), rtol=1e-12, atol=1e-12)


@given(TRANSITIONS, st.sampled_from([1e-6, 1e-3, 0.2, 1.0, 30.0]), st.booleans(), st.integers(0, 10**6))
@settings(max_examples=60, deadline=None)
def test_both_forms_agree(data, eta: float, learned: bool, seed: int) -> None:
    dense, sparse = both(data, eta=eta, **(LEARNED if learned else {}))
    assert (dense.eta, dense.noise_unit) == (sparse.eta, sparse.noise_unit)
    close(dense.prior, sparse.prior)
    for name in ("totals", "counts", "average", "scatter", "alpha", "mu", "shape", "rate"):
        close(getattr(dense, name), getattr(sparse, name))
    for make in ("data_model", "mean_model"):
        for one, other in zip(getattr(dense, make)(), getattr(sparse, make)(), strict=True):
            close(one, other)
        for one, other in zip(dense.reward_spread(), sparse.reward_spread(), strict=True):
            close(one, other)
    close(dense.row_variance(), sparse.row_variance())
    close(dense.row_information(), sparse.row_information())
    values = np.random.default_rng(seed).normal(3.0, 2.0, S)
    for one, other in zip(dense.local_moments(values, 0.9), sparse.local_moments(values, 0.9), strict=True):
        close(one, other)
    for s in range(S):
        for one, other in zip(dense.outcomes(s, 1), sparse.outcomes(s, 1), strict=True):
            np.testing.assert_array_equal(one, other)
    same = sparse.to_dense()
    for belief in (same, dense):
        belief.observe(1, 1, 2.0, 3)
        belief.refresh()
    assert same.eta == dense.eta
    for name in ("totals", "counts", "average", "scatter", "alpha", "mu", "shape", "rate"):
        close(getattr(dense, name), getattr(same, name))
    dense.counts[1, 1, 3] -= 1
    if sparse.seen:
        assert sparse.seen == (dense.counts > 0).sum()


@given(TRANSITIONS, st.sampled_from([1e-3, 0.2, 1.0, 30.0]), st.sampled_from(["mean", "empirical"]))
@settings(max_examples=40, deadline=None)
def test_stein_information_agrees_and_follows_the_belief(data, eta: float, reference: str) -> None:
    dense, sparse = both(data, eta=eta, concentration="learned")
    choice = InformationChoice("barker", "exp-hamming", reference, "exact", 2)
    kept = SteinInformation(choice)
    rng = np.random.default_rng(0)
    for _ in range(3):
        fresh = SteinInformation(choice).rows(dense, dense.counts, dense.P, rng)
        np.testing.assert_allclose(kept.grouped_rows(sparse), fresh, rtol=1e-12, atol=1e-15)
        step = tuple(np.array([x]) for x in (1, 0, 1.0, int(rng.integers(S))))
        for belief in (dense, sparse):
            belief.observe_many(step)
            belief.refresh()


def test_a_large_pool_moves_rows_and_keeps_everything() -> None:
    rng = np.random.default_rng(1)
    n, states = 40_000, 300
    data = (rng.integers(3, size=n), rng.integers(2, size=n), rng.normal(size=n), rng.integers(states, size=n))
    dense, sparse = ModelBelief(states, 2, **LEARNED), SparseBelief(states, 2, **LEARNED)
    for belief in (dense, sparse):
        for part in np.array_split(np.arange(n), 7):
            belief.observe_many(tuple(x[part] for x in data))
        belief.refresh()
    for name in ("counts", "average", "scatter"):
        np.testing.assert_array_equal(getattr(dense, name), getattr(sparse, name))
    assert sparse.eta == dense.eta
    head, following, origin = sparse.links
    for y in (0, 17, 299):
        edge, found = head[y], []
        while edge >= 0:
            found.append(int(origin[edge]))
            edge = following[edge]
        assert sorted(found) == sorted(np.nonzero(dense.counts[:, :, y])[0].tolist())


def test_many_outcomes_delay_the_choice_of_the_unit_and_nothing_else() -> None:
    rng = np.random.default_rng(2)
    n, states = 3000, 200
    data = (rng.integers(states, size=n), np.zeros(n, int), rng.normal(size=n), rng.integers(states, size=n))
    belief = SparseBelief(states, 1, reward_scale="learned")
    belief.observe_many(data)
    belief.refresh()
    judged, unit = belief.state[4], belief.noise_unit
    belief.observe(0, 0, 5.0, 0)
    belief.refresh()
    assert (belief.state[4], belief.noise_unit) == (judged, unit)
    lam = belief.prior[1]
    share = belief.counts / (belief.counts + lam)
    assert belief.prior[0] == pytest.approx((share * belief.average).sum() / (4 + share.sum()), rel=1e-9)
    belief.observe_many(tuple(x[:100] for x in data))
    belief.refresh()
    assert belief.state[4] == n + 101


@pytest.mark.parametrize(("eta", "alpha"), [(0.002, 3.0), (0.03, 3.0), (0.5, 3.0), (1.0, 1.0), (1.0, 2.5)])
def test_draws_have_the_distribution_of_dense_draws(eta: float, alpha: float) -> None:
    """Kolmogorov-Smirnov on numbers of a row; 8 tests at 1e-4 (fixed seed).

    They are its value, its largest unseen part, its reward, and the product of the last two: rewards of rows with a
    large part vary more. One row with data and one without; the value is a linear function of the row, so that the
    split counts. Numbers are rounded to 1e-4: the last 1e-6 of a row are spread evenly.
    """
    rng = np.random.default_rng(3)
    states, n = 12, 4000
    data = tuple(np.array(x) for x in ([0] * 6, [0] * 6, [0.5, 1.0, -1.0, 0.3, 2.0, 0.1], [1, 1, 2, 1, 5, 1]))
    prior = (0.3, 2.0, alpha, 3.0)
    forms = (form(states, 1, eta=eta, normal_gamma=prior) for form in (ModelBelief, SparseBelief))
    values = rng.normal(size=states)
    seen: list[list[list[float]]] = [[], []]
    for belief, out in zip(forms, seen, strict=True):
        belief.observe_many(data)
        for _ in range(n):
            P, r = belief.draw_model(rng)
            for s in (0, 1):
                row = P[s, 0] if isinstance(P, np.ndarray) else P.row(s, 0)
                part = row[[0, 3, 4, 6, 7, 8, 9, 10, 11]].max()
                out.append([float(row @ values), part, r[s, 0], part * abs(r[s, 0] - 0.3)])
    one, other = (np.array(x).reshape(n, 2, 4).round(4) for x in seen)
    for s in (0, 1):
        for what in range(4):
            assert ks_2samp(one[:, s, what], other[:, s, what]).pvalue > 1e-4


def test_the_form_follows_the_size_and_the_option() -> None:
    assert isinstance(make_belief(10, 2), ModelBelief)
    assert isinstance(make_belief(500, 6), SparseBelief)
    assert isinstance(make_belief(500, 6, "dense"), ModelBelief)
    assert isinstance(make_belief(10, 2, "sparse"), SparseBelief)
    with pytest.raises(SteeringError, match="belief is 'spare'"):
        make_belief(10, 2, "spare")


def test_what_does_not_fit_is_refused_in_one_sentence(monkeypatch) -> None:
    with pytest.raises(TooLarge, match=r"'counts' of a belief about 100000 states .* belief=dense"):
        _ = SparseBelief(100_000, 4).counts
    belief = SparseBelief(10_000, 4)
    monkeypatch.setattr(_memory, "available", lambda: 10**9)
    with pytest.raises(TooLarge, match="concentration=learned"):
        belief.draw_model(np.random.default_rng(0))
    with pytest.raises(TooLarge, match=r"a dense belief about 10000 states .*belief=sparse"):
        make_belief(10_000, 4, "dense")
    monkeypatch.setattr(_memory, "available", lambda: 10**7)
    with pytest.raises(TooLarge, match="a belief about 1000000 states"):
        SparseBelief(1_000_000, 4)


def test_a_draw_that_takes_long_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    belief = SparseBelief(20, 2)
    monkeypatch.setattr(support, "MANY", 800)
    with pytest.warns(SlowWarning, match="splits every row of 20 states .* With a small eta most parts"):
        belief.draw_model(np.random.default_rng(0))


def test_concentrations_of_a_millionth_are_learned() -> None:
    """3000 rows of one outcome each, seen six times: what is left for the 2999 others is S eta / (S eta + 6)."""
    belief = SparseBelief(3000, 1, concentration="learned")
    states = np.tile(np.arange(3000), 6)
    belief.observe_many((states, np.zeros(18_000, int), np.zeros(18_000), (states + 1) % 3000))
    belief.refresh()
    assert GRID[0] == pytest.approx(1e-6)
    assert belief.eta <= GRID[1]
