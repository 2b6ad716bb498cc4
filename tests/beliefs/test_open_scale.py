"""`reward_scale=open`: spreads that follow what was seen; value and unseen mass of rows."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from steering._compiled.reward_scale import within_row
from steering.beliefs import ModelBelief, SparseBelief
from steering.errors import InvalidOption

FORMS = (ModelBelief, SparseBelief)


def random_data(seed: int, S: int, A: int, n: int, scale: float = 1.0):
    rng = np.random.default_rng(seed)
    s, a = rng.integers(S, size=n), rng.integers(A, size=n)
    return s, a, scale * rng.normal(0.3 * a, 1.0, size=n), (s + rng.integers(0, 3, size=n)) % S


@pytest.mark.parametrize("form", FORMS)
def test_large_costs_are_believed(form) -> None:
    """Twenty rewards of -25 elsewhere, two here: believed to within a tenth; a fixed spread believes a fifth of it."""

    def mean(scale: str) -> float:
        belief = form(6, 2, reward_scale=scale)
        rng = np.random.default_rng(0)
        for i in range(20):
            belief.observe(i % 5, 0, -25.0 + rng.normal(), (i + 1) % 5)
        belief.observe(5, 1, -25.0, 0)
        belief.observe(5, 1, -24.5, 0)
        belief.refresh()
        return float(belief.mu[5, 1, 0])

    assert abs(mean("open") + 25.0) < 2.5
    assert mean("fixed") > -10.0


@given(seed=st.integers(0, 1000), scale=st.sampled_from([0.01, 1.0, 100.0]))
def test_dense_and_sparse_agree(seed: int, scale: float) -> None:
    data = random_data(seed, 5, 2, 60, scale)
    dense, sparse = (form(5, 2, concentration="learned", reward_scale="open") for form in FORMS)
    for belief in (dense, sparse):
        belief.observe_many(data)
        belief.refresh()
        belief.observe_many(random_data(seed + 1, 5, 2, 20, scale))
        belief.refresh()
        belief.data_model()
    np.testing.assert_allclose(dense.prior, sparse.prior, rtol=1e-12)
    assert dense.promise == pytest.approx(sparse.promise, rel=1e-12)
    assert dense.row_promise == pytest.approx(sparse.row_promise, rel=1e-12)
    np.testing.assert_allclose(dense.data_model()[1], sparse.data_model()[1], rtol=1e-9, atol=1e-12 * scale)
    np.testing.assert_allclose(dense.unseen_mass(), sparse.unseen_mass(), rtol=1e-12, atol=1e-15)
    V = np.random.default_rng(seed).normal(size=5)
    np.testing.assert_allclose(dense.value_spread(V, 0.9), sparse.value_spread(V, 0.9), rtol=1e-9)
    assert sparse.to_dense().promise == sparse.promise
    assert sparse.to_dense().row_promise == sparse.row_promise


def test_the_spread_never_falls_and_the_promise_follows_the_best_reward() -> None:
    belief = ModelBelief(4, 2, reward_scale="open")
    sigma = belief.promise
    assert sigma == pytest.approx(np.sqrt(3.0 / (4.0 * 2.0)))
    for i in range(40):  # small rewards, one of them better than the others beyond doubt
        belief.observe(i % 4, 0, 0.01 if i % 4 == 3 else 0.0, (i + 1) % 4)
    belief.refresh()
    _, lam, alpha, beta = belief.prior
    assert np.sqrt(beta / (lam * (alpha - 1))) == pytest.approx(sigma)
    assert 0.0 < belief.promise < sigma
    for _ in range(5):
        belief.observe(0, 1, 50.0, 0)
    belief.refresh()
    assert belief.promise > 10 * sigma


def told(form, rewards, times: int):
    """A belief that was shown one action of every state, each with its reward."""
    belief = form(len(rewards), 1, reward_scale="open")
    for _ in range(times):
        for s, reward in enumerate(rewards):
            belief.observe(s, 0, float(reward), (s + 1) % len(rewards))
    belief.refresh()
    return belief


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("others", [6, 28])
def test_the_promise_is_what_the_best_has_above_the_middle(form, others: int) -> None:
    """The worst counts as no further below the common mean than the best is above; in steps of a factor 1.1."""
    rewards = np.array([50.0, -300.0] + [0.0] * others)
    belief = told(form, rewards, 3)
    low = 2 * belief.prior[0] - 50.0
    wanted = 0.6 * (50.0 - np.maximum(rewards, low).mean())
    assert low > -300.0
    assert belief.promise == pytest.approx(wanted, rel=0.05)
    assert 0.6 * (50.0 - rewards.mean()) > 1.1 * belief.promise


@pytest.mark.parametrize("form", FORMS)
def test_rewards_far_apart_are_no_noise(form) -> None:
    belief = told(form, [1000.0 * (-1) ** s * (1 + s) for s in range(6)], 2)
    _, _, alpha, beta = belief.prior
    assert np.sqrt(beta / (alpha - 1)) < 1.0


@pytest.mark.parametrize("form", FORMS)
def test_noise_may_be_a_millionth_of_what_was_expected(form) -> None:
    assert told(form, [1e-5 * s for s in range(6)], 8).noise_unit < 1e-3


@pytest.mark.parametrize("form", FORMS)
def test_rewards_that_are_all_alike_or_in_doubt_leave_the_promise_as_it_was(form) -> None:
    sigma = form(6, 1, reward_scale="open").promise
    assert told(form, [100.0] * 6, 5).promise == pytest.approx(sigma)
    doubt = form(6, 1, reward_scale="open")
    for i in range(24):  # noise of 0.1, and one mean a little above the others
        doubt.observe(i % 6, 0, 0.1 * (-1) ** (i // 6) + (0.05 if i % 6 == 5 else 0.0), (i + 1) % 6)
    doubt.refresh()
    assert doubt.promise == pytest.approx(sigma)


@pytest.mark.parametrize("form", FORMS)
def test_rewards_within_rows_are_looked_for_where_they_differ(form) -> None:
    """Forty rows of two outcomes: if both pay alike the row promises little, if they are 2 apart about that spread."""

    def promised(gap: float) -> tuple[float, float]:
        belief = form(20, 2, reward_scale="open")
        rng = np.random.default_rng(1)
        for _ in range(10):
            for s in range(20):
                for a in range(2):
                    y = int(rng.integers(2))
                    # What pairs pay differs widely; what the outcomes of a pair pay differs by the gap.
                    belief.observe(s, a, 5.0 * np.sin(s + 3 * a) + gap * y + 0.01 * rng.normal(), (s + y) % 20)
        belief.refresh()
        return belief.row_promise, belief.promise

    alike, whole = promised(0.0)
    assert alike == pytest.approx(whole * 8 / 48, rel=0.1)  # what is left, whatever the data say; in steps of 1.1
    apart, whole = promised(2.0)
    # Two values 2 apart, half of the visits each: n (1 - 1/2) reach, n visits 1 from the middle: tau^2 = 2.
    assert apart == pytest.approx(np.sqrt(2.0) * 40 / 48 + whole * 8 / 48, rel=0.1)


@pytest.mark.parametrize("form", FORMS)
def test_an_outcome_never_seen_is_expected_to_pay_what_its_row_paid(form) -> None:
    belief = form(4, 1, eta=0.2, reward_scale="open")
    for _ in range(6):
        belief.observe(0, 0, 3.0, 1)
        belief.observe(0, 0, 5.0, 2)
    belief.refresh()
    _, r = belief.data_model()
    assert r[0, 0] == pytest.approx(4.0, abs=0.05)  # with the common mean in its place: about 3.8
    assert r[1, 0] == pytest.approx(belief.prior[0])


@given(
    n=st.lists(st.integers(0, 4), min_size=1, max_size=6),
    seed=st.integers(0, 1000),
)
def test_spread_within_a_row_against_its_definition(n: list[int], seed: int) -> None:
    counts = np.array(n, dtype=np.float64)
    average = np.random.default_rng(seed).normal(size=len(n))
    squares, more, reach = within_row(counts, average)
    seen = counts > 0
    if seen.sum() < 2:
        assert (squares, more, reach) == (0.0, 0.0, 0.0)
        return
    m = np.average(average[seen], weights=counts[seen])
    assert squares == pytest.approx((counts[seen] * (average[seen] - m) ** 2).sum())
    assert more == seen.sum() - 1
    assert reach == pytest.approx(counts.sum() - (counts**2).sum() / counts.sum())


@given(seed=st.integers(0, 100))
def test_value_spread_is_the_deviation_of_drawn_rows(seed: int) -> None:
    """Against 4000 draws: within 10 %, far beyond the 1.6 % standard error of a standard deviation."""
    belief = ModelBelief(4, 1, eta=0.7)
    belief.observe_many(random_data(seed, 4, 1, 12))
    rng = np.random.default_rng(seed)
    V = rng.normal(size=4)
    q = rng.dirichlet(belief.alpha[2, 0], size=4000)
    drawn = (q * (belief.mu[2, 0] + 0.9 * V)).sum(axis=-1).std()
    assert belief.value_spread(V, 0.9)[2, 0] == pytest.approx(drawn, rel=0.1)


def test_what_is_wrong_is_refused() -> None:
    with pytest.raises(InvalidOption, match="open"):
        ModelBelief(2, 1, reward_scale="wide")
    with pytest.raises(InvalidOption, match="alpha above 1"):
        ModelBelief(2, 1, reward_scale="open", normal_gamma=(0.0, 4.0, 1.0, 3.0))
