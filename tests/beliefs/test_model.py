"""The belief that agents use, in both forms: agrees with the two plain beliefs, learns its priors, draws correctly."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from steering._compiled.reward_scale import EVIDENCE_LIMIT
from steering.beliefs import DirichletRows, ModelBelief, NormalGammaCells, SparseBelief
from steering.beliefs.base import GRID, MEAN_PULL, PLAUSIBLE, PULL, UNIT_GRID
from steering.errors import InvalidOption, SteeringError

pytestmark = pytest.mark.parametrize("Form", [ModelBelief, SparseBelief])

S, A = 3, 2
SHAPE = (S, A, S)
TRANSITIONS = st.lists(
    st.tuples(st.integers(0, S - 1), st.integers(0, A - 1), st.floats(-9, 9), st.integers(0, S - 1)),
    min_size=1,
    max_size=40,
)


def arrays(data) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    s, a, r, y = zip(*data, strict=True)
    return np.array(s), np.array(a), np.array(r, dtype=float), np.array(y)


def random_data(seed: int, n: int, scale: float = 1.0, rows: float = 0.3) -> list[tuple[int, int, float, int]]:
    rng = np.random.default_rng(seed)
    P = rng.dirichlet(np.full(S, rows), size=(S, A))
    data = []
    for _ in range(n):
        s, a = int(rng.integers(S)), int(rng.integers(A))
        data.append((s, a, float(scale * rng.normal()), int(rng.choice(S, p=P[s, a]))))
    return data


def plain(data, eta: float, prior) -> tuple[DirichletRows, NormalGammaCells]:
    rows, cells = DirichletRows(SHAPE, eta), NormalGammaCells(SHAPE, prior)
    for s, a, r, y in data:
        rows.observe((s, a), y)
        cells.observe((s, a, y), r)
    return rows, cells


def concentration_score(data, grid, given: float = 1.0, shape=SHAPE) -> np.ndarray:
    """Log evidence of the transitions for each concentration, less the pull towards the given one."""
    evidence = []
    for eta in grid:
        rows = DirichletRows(shape, eta)
        for s, a, _, y in data:
            rows.observe((s, a), y)
        evidence.append(rows.log_marginal())
    return np.array(evidence) - 0.5 * (np.log(grid / given) / PULL) ** 2


def unit_prior(prior, unit: float) -> tuple[float, float, float, float]:
    mu, lam, alpha, beta = prior
    return mu, lam * min(unit, 1.0) ** 2, alpha, beta * unit**2


def shared_mean(belief, prior, pull: float) -> float:
    """Weighted least squares: cells have variance 1 + lambda / n, the given mean 1 / pull."""
    n = belief.counts[belief.counts > 0]
    precision = np.append(1 / (1 + prior[1] / n), pull)
    values = np.append(belief.average[belief.counts > 0], prior[0])
    return float(precision @ values / precision.sum())


def evidence_of(belief, prior) -> float:
    """Log marginal likelihood of the cells, each counting as a few rewards at most, about their own common mean."""
    keep = np.minimum(1.0, EVIDENCE_LIMIT / np.maximum(belief.counts, 1))
    cells = NormalGammaCells(SHAPE, (shared_mean(belief, prior, 0.0), *prior[1:]))
    cells.observe_moments(belief.counts * keep, belief.average, belief.scatter * keep)
    return cells.log_marginal()


@given(TRANSITIONS, st.sampled_from([0.01, 1.0, 5.0]))
@settings(max_examples=50)
def test_agrees_with_rows_and_cells(Form, data, eta: float) -> None:
    prior = (0.5, 2.0, 3.0, 1.0)
    belief = Form(S, A, eta=eta, normal_gamma=prior)
    belief.observe_many(arrays(data))
    rows, cells = plain(data, eta, prior)
    np.testing.assert_allclose(belief.alpha, rows.alpha, rtol=1e-14)
    np.testing.assert_array_equal(belief.totals, rows.counts.sum(axis=-1))
    for name in ("mu", "shape", "rate"):
        np.testing.assert_allclose(getattr(belief, name), getattr(cells, name), rtol=1e-12, atol=1e-14)
    P, r = belief.mean_model()
    np.testing.assert_allclose(P, rows.mean(), rtol=1e-13)
    np.testing.assert_allclose(r, (rows.mean() * cells.mu).sum(axis=-1), rtol=1e-12, atol=1e-14)


@given(TRANSITIONS, st.randoms(use_true_random=False))
@settings(max_examples=40)
def test_batch_is_sequential_in_any_order(Form, data, shuffler) -> None:
    options = {"concentration": "learned", "reward_scale": "learned"}
    one, other = Form(S, A, **options), Form(S, A, **options)
    one.observe_many(arrays(data))
    shuffler.shuffle(data)
    for transition in data:
        other.observe(*transition)
    one.refresh()
    other.refresh()
    assert (one.eta, one.noise_unit) == (other.eta, other.noise_unit)
    for name in ("alpha", "mu", "shape", "rate"):
        np.testing.assert_allclose(getattr(one, name), getattr(other, name), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize(("rows", "eta"), [(0.02, 1.0), (0.3, 10.0), (5.0, 1.0), (50.0, 0.37)])
@pytest.mark.parametrize("n", [1, 20, 600])
def test_learned_concentration_is_the_plausible_value_nearest_to_the_given(Form, rows, eta: float, n: int) -> None:
    data = random_data(1, n, rows=rows)
    belief = Form(S, A, eta=eta, concentration="learned")
    belief.observe_many(arrays(data))
    assert belief.eta == eta  # takes effect at refresh only
    belief.refresh()
    grid = np.append(GRID, eta)
    score = concentration_score(data, grid, eta)
    plausible = grid[score >= score.max() - PLAUSIBLE]
    nearest = plausible[np.abs(np.log(plausible / eta)).argmin()]
    assert belief.eta == pytest.approx(nearest, rel=1e-12)
    np.testing.assert_allclose(belief.alpha, belief.counts + nearest, rtol=1e-13)
    if n == 1:
        assert belief.eta == eta
    if n == 600 and rows in (0.02, 5.0):
        assert 0.2 < belief.eta / rows < 5


def test_a_few_rows_with_one_outcome_each_do_not_prove_that_rows_are_deterministic(Form) -> None:
    """Three rows seen twice each: the best score is near 0, but 0.3 is not excluded; 60 visits of each do that."""
    belief = Form(S, A, concentration="learned")
    data = [(s, 0, 0.0, s) for s in range(S)] * 2
    belief.observe_many(arrays(data))
    belief.refresh()
    grid = np.append(GRID, 1.0)
    assert grid[np.argmax(concentration_score(data, grid))] < 0.15
    assert belief.eta > 0.3
    belief.observe_many(arrays([(s, 0, 0.0, s) for s in range(S)] * 58))
    belief.refresh()
    assert belief.eta < 0.11


@pytest.mark.parametrize("states", [30, 300])
def test_many_states_without_chance_are_believed(Form, states: int) -> None:
    """After six visits of each row less than 1 in 50 is left for outcomes never seen of it, however many there are."""
    belief = Form(states, 1, concentration="learned")
    belief.observe_many(arrays([(s, 0, 0.0, (s + 1) % states) for s in range(states)] * 6))
    belief.refresh()
    assert states * belief.eta < 0.12
    belief.mean_model()
    assert belief.unseen_mass().max() < 0.02


@pytest.mark.parametrize("scale", [1e-2, 1.0, 100.0])
@pytest.mark.parametrize("n", [1, 30, 400])
def test_learned_reward_scale_is_the_maximum_of_evidence_and_pull(Form, scale: float, n: int) -> None:
    prior = (0.0, 4.0, 3.0, 3.0)
    data = random_data(2, n, scale=scale)
    belief = Form(S, A, normal_gamma=prior, reward_scale="learned")
    belief.observe_many(arrays(data))
    belief.refresh()
    score = [evidence_of(belief, unit_prior(prior, c)) - 0.5 * (np.log(c) / PULL) ** 2 for c in UNIT_GRID]
    np.testing.assert_allclose(np.diff(belief._unit_evidence), np.diff(score), atol=1e-8)
    best = UNIT_GRID[int(np.argmax(score))]
    assert belief.noise_unit == pytest.approx(best)
    wanted = unit_prior(prior, best)
    assert belief.prior == pytest.approx((shared_mean(belief, wanted, MEAN_PULL), *wanted[1:]))
    cells = plain(data, 1.0, belief.prior)[1]
    for name in ("mu", "shape", "rate"):
        np.testing.assert_allclose(getattr(belief, name), getattr(cells, name), rtol=1e-10, atol=1e-14)
    if n == 400:
        assert 0.3 < belief.noise_unit / scale < 3
    # What comes after a refresh is added to the same posterior.
    belief.observe(0, 0, 2 * scale, 1)
    cells.observe((0, 0, 1), 2 * scale)
    np.testing.assert_allclose(belief.rate, cells.rate, rtol=1e-10)


def test_learning_the_scale_leaves_the_spread_of_unseen_mean_rewards(Form) -> None:
    belief = Form(S, A, reward_scale="learned")
    before = belief.rate / ((belief.prior[1] + belief.counts) * (belief.shape - 1))
    belief.observe_many(arrays([(0, 0, 1e-3 * (-1) ** i, 0) for i in range(200)]))
    belief.refresh()
    assert belief.noise_unit < 0.1
    after = belief.rate / ((belief.prior[1] + belief.counts) * (belief.shape - 1))
    unseen = belief.counts == 0
    np.testing.assert_allclose(after[unseen], before[unseen], rtol=1e-12)


def test_where_there_is_more_noise_the_prior_is_worth_no_more_observations(Form) -> None:
    belief = Form(S, A, reward_scale="learned")
    belief.observe_many(arrays(random_data(6, 300, scale=50.0)))
    belief.refresh()
    assert belief.noise_unit > 10
    assert belief.prior[1] == 4.0


def test_a_common_cost_is_expected_where_nothing_was_tried(Form) -> None:
    belief = Form(S, A, reward_scale="learned")
    belief.observe_many(arrays([(s, 0, -1.0, y) for s in range(S) for y in range(S) for _ in range(50)]))
    belief.refresh()
    assert belief.prior[0] == pytest.approx(-9 / (9 + MEAN_PULL), abs=0.02)
    np.testing.assert_array_equal(belief.mu[:, 1], belief.prior[0])


def test_fixed_priors_do_not_move(Form) -> None:
    belief = Form(S, A, eta=2.0)
    belief.observe_many(arrays(random_data(3, 200, scale=30.0)))
    belief.refresh()
    assert (belief.eta, belief.noise_unit, belief.prior) == (2.0, 1.0, (0.0, 4.0, 3.0, 3.0))


@pytest.mark.parametrize("value", [-100.0, -10.0, 1.0, 1e6])
@pytest.mark.parametrize("visits", [1, 2, 8])
def test_rewards_that_are_all_alike_have_no_noise_however_far_from_the_prior(Form, value: float, visits: int) -> None:
    belief = Form(S, A, reward_scale="learned")
    belief.observe_many(arrays([(s, 0, value, y) for s in range(S) for y in range(S)] * visits))
    belief.refresh()
    assert belief.noise_unit <= 1
    assert belief.prior[3] / belief.prior[1] == pytest.approx(3 / 4)


def test_a_cell_without_noise_does_not_outvote_the_others(Form) -> None:
    """Eight cells with noise of 1, and one that was visited for ever and has none."""
    rng = np.random.default_rng(7)
    noisy = [(s, a, float(rng.normal()), y) for s in (0, 1) for a in range(A) for y in (0, 1) for _ in range(8)]
    belief = Form(S, A, reward_scale="learned")
    belief.observe_many(arrays(noisy + [(2, 0, 0.3, 2)] * 5000))
    belief.refresh()
    assert belief.noise_unit > 0.3


def test_a_gap_among_plausible_concentrations_is_not_filled(Form) -> None:
    """Ten rows with one outcome each and a flat one: small values and large ones, and nothing between."""
    n = 30
    belief = Form(n, 1, concentration="learned")
    data = [(s, 0, 0.0, s) for s in range(10) for _ in range(5)] + [(29, 0, 0.0, k % n) for k in range(2010)]
    belief.observe_many(arrays(data))
    belief.refresh()
    grid = np.append(GRID, 1.0)
    score = concentration_score(data, grid, shape=(n, 1, n))
    assert score[grid == belief.eta] >= score.max() - PLAUSIBLE
    assert belief.eta != belief.given_eta


@pytest.mark.parametrize("eta", [1e-3, 0.03, 1.0])
def test_drawn_models_have_the_posterior_moments(Form, eta: float) -> None:
    """18 + 6 means, 18 variances: below 5 standard errors each (2.4e-5 in total; fixed seed)."""
    data = random_data(4, 25)
    belief = Form(S, A, eta=eta)
    belief.observe_many(arrays(data))
    rows, cells = plain(data, eta, (0, 4, 3, 3))
    rng = np.random.default_rng(5)
    n = 20_000
    P, r = np.empty((n, *SHAPE)), np.empty((n, S, A))
    for i in range(n):
        P[i], r[i] = belief.draw_model(rng)
    assert np.isfinite(P).all()
    assert np.isfinite(r).all()
    np.testing.assert_allclose(P.sum(axis=-1), 1.0, rtol=1e-12)
    assert (np.abs(P.mean(axis=0) - rows.mean()) <= 5 * np.sqrt(rows.variance() / n)).all()
    squares = (P - rows.mean()) ** 2
    assert (np.abs(squares.mean(axis=0) - rows.variance()) <= 5 * squares.std(axis=0) / np.sqrt(n) + 1e-9).all()
    expected = (rows.mean() * cells.mu).sum(axis=-1)
    # Var r = Var(P'mu) + sum E[P^2] Var(mean): rows and rewards are independent.
    second = rows.variance() + rows.mean() ** 2
    spread = rows.variance_of(cells.mu) + (second * cells.variance_of_mean()).sum(axis=-1)
    assert (np.abs(r.mean(axis=0) - expected) <= 5 * np.sqrt(spread / n)).all()
    deviations = (r - expected) ** 2
    assert (np.abs(deviations.mean(axis=0) - spread) <= 6 * deviations.std(axis=0) / np.sqrt(n)).all()


@pytest.mark.parametrize("eta", [1e-6, 1e-3, 1e-2, 0.04, 1e3])
def test_learned_and_extreme_concentrations_draw_no_nan(Form, eta: float) -> None:
    for size in (1, 2, 30):
        belief = Form(size, 1, eta=eta, concentration="learned")
        belief.observe_many((np.zeros(50, int), np.zeros(50, int), np.zeros(50), np.zeros(50, int)))
        belief.refresh()
        rng = np.random.default_rng(0)
        for _ in range(200):
            P, r = belief.draw_model(rng)
            P = np.asarray(P)
            assert np.isfinite(P).all()
            assert np.isfinite(r).all()
            np.testing.assert_allclose(P.sum(axis=-1), 1.0, rtol=1e-12)


@pytest.mark.parametrize("value", [0.0, 1e6, -1e6])
def test_constant_and_huge_rewards_stay_finite(Form, value: float) -> None:
    belief = Form(2, 1, concentration="learned", reward_scale="learned")
    for _ in range(300):
        belief.observe(0, 0, value, 1)
    belief.refresh()
    for array in (
        belief.mu,
        belief.shape,
        belief.rate,
        *belief.mean_model(),
        *belief.draw_model(np.random.default_rng(0)),
    ):
        assert np.isfinite(array).all()
    assert (belief.rate > 0).all()
    assert belief.mu[0, 0, 1] == pytest.approx(value, rel=0.5, abs=1e-12)


def test_wrong_transitions_are_refused_and_change_nothing(Form) -> None:
    belief = Form(2, 2, concentration="learned", reward_scale="learned")
    good = (0, 0, 1.0, 1)
    for bad in ((2, 0, 1.0, 0), (-1, 0, 1.0, 0), (0, 2, 1.0, 0), (0, 0, 1.0, 2), (0, 0, np.nan, 0), (0, 0, np.inf, 0)):
        with pytest.raises(SteeringError, match="number 1 "):
            belief.observe_many(arrays([good, bad]))
    assert belief.counts.sum() == 0
    fresh = Form(2, 2, concentration="learned", reward_scale="learned")
    for one in (belief, fresh):
        one.observe_many(arrays([good, (0, 1, 0.5, 0)] * 40))
        one.refresh()
    assert (belief.eta, belief.noise_unit, belief.prior) == (fresh.eta, fresh.noise_unit, fresh.prior)
    assert fresh.eta != fresh.given_eta


@pytest.mark.parametrize(
    ("options", "word"),
    [
        ({"concentration": "leaned"}, "concentration is 'leaned'"),
        ({"reward_scale": "x"}, "reward_scale is 'x'"),
        ({"eta": 0.0}, "eta is"),
        ({"normal_gamma": (0, 0, 1, 1)}, "lambda"),
    ],
)
def test_bad_options_are_named(Form, options, word: str) -> None:
    with pytest.raises(InvalidOption, match=word):
        Form(2, 2, **options)


@pytest.mark.parametrize(("states", "actions"), [(0, 1), (1, 0), (-1, 2)])
def test_an_empty_mdp_is_refused(Form, states: int, actions: int) -> None:
    with pytest.raises(InvalidOption, match="at least one"):
        Form(states, actions)
