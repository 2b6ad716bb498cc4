"""The Stein information of a belief against `steering.stein`, what is kept between plans, and its invariances."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from steering.agents.stein_information import InformationChoice, SteinInformation, positive_rows
from steering.beliefs import ModelBelief
from steering.stein import discrepancy, posterior_information

KERNELS = ("exp-hamming", "delta")
EXACT = [(operator, reference) for operator in ("barker", "gibbs") for reference in ("mean", "empirical", "draw")]


def belief_with(seed: int, S: int = 4, A: int = 2, n: int = 40, **options) -> ModelBelief:
    rng = np.random.default_rng(seed)
    belief = ModelBelief(S, A, **options)
    states, actions, successors = rng.integers(S, size=n), rng.integers(A, size=n), rng.integers(S, size=n)
    belief.observe_many((states, actions, rng.normal(size=n), successors))
    belief.refresh()
    return belief


def information(belief: ModelBelief, seed: int = 0, data=None, model=None, **choice) -> np.ndarray:
    values = {"operator": "barker", "kernel": "exp-hamming", "reference": "mean", "expectation": "exact", "draws": 5}
    stein = SteinInformation(InformationChoice(**{**values, **choice}))
    data = belief.counts if data is None else data
    model = belief.mean_model()[0] if model is None else model
    return stein.rows(belief, data, model, np.random.default_rng(seed))


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize(("operator", "reference"), EXACT)
@pytest.mark.parametrize("eta", [0.1, 1.0, 10.0])
def test_exact_expectations(operator: str, reference: str, kernel: str, eta: float) -> None:
    """As the library's exact value, row by row; the compiled quadrature of barker to one in a thousand."""
    belief = belief_with(1, eta=eta)
    D = information(belief, operator=operator, kernel=kernel, reference=reference)
    for s, a in np.ndindex(D.shape):
        counts = belief.counts[s, a]
        exact = posterior_information(
            eta + counts, counts, operator=operator, kernel=kernel, reference=reference, empty="mean"
        )
        assert D[s, a] == pytest.approx(exact, rel=1e-3)


@pytest.mark.parametrize("operator", ["barker", "gibbs", "min"])
@pytest.mark.parametrize("reference", ["mean", "empirical", "draw"])
def test_draws_are_a_monte_carlo_estimate_of_the_same(operator: str, reference: str) -> None:
    """The library's with the same generator; near the exact value (4 standard errors a row, 8 rows, fixed seed)."""
    belief = belief_with(2)
    choice = {"operator": operator, "reference": reference, "expectation": "draws", "draws": 400}
    D = information(belief, seed=5, **choice)
    same, error = posterior_information(
        belief.alpha,
        belief.counts,
        operator=operator,
        reference=reference,
        draws=400,
        rng=5,
        empty="mean",
        return_error=True,
    )
    np.testing.assert_array_equal(D, same)
    if operator != "min":
        exact = information(belief, operator=operator, reference=reference)
        assert (np.abs(D - exact) < 4 * error + 1e-3 * exact).all()


@pytest.mark.parametrize("operator", ["difference", "barker", "gibbs", "sqrt", "min"])
@pytest.mark.parametrize("reference", ["mean", "empirical"])
@pytest.mark.parametrize("kernel", KERNELS)
def test_at_the_model_it_is_the_plain_discrepancy(operator: str, reference: str, kernel: str) -> None:
    belief = belief_with(3, n=400)  # every outcome seen, so that the literal operator has nothing to warn of
    assert belief.counts.min() > 0
    model = np.random.default_rng(0).dirichlet(np.ones(4), size=(4, 2))
    p = belief.counts / belief.totals[..., None]
    if reference == "mean":
        p = belief.alpha / belief.alpha.sum(axis=-1, keepdims=True)
    D = information(belief, model=model, operator=operator, reference=reference, kernel=kernel, expectation="model")
    np.testing.assert_allclose(D, discrepancy(p, model, operator=operator, kernel=kernel), rtol=1e-12)


def test_rows_without_data_have_the_mean_as_their_reference() -> None:
    belief = ModelBelief(3, 1)
    belief.observe_many((np.array([0, 0]), np.array([0, 0]), np.zeros(2), np.array([1, 1])))
    for expectation in ("exact", "model"):
        empirical = information(belief, reference="empirical", expectation=expectation)
        mean = information(belief, reference="mean", expectation=expectation)
        np.testing.assert_allclose(empirical[1:], mean[1:])
        assert empirical[0, 0] != pytest.approx(mean[0, 0])


def test_gibbs_around_the_mean_is_the_posterior_variance() -> None:
    """E (q - m)' L (q - m) with L = (1 - 1/e) I + 11'/e: the entries of q - m sum to zero, so 1/e drops out."""
    belief = belief_with(4, eta=0.7)
    m = belief.alpha / belief.alpha.sum(axis=-1, keepdims=True)
    variance = (m * (1 - m)).sum(axis=-1) / (belief.alpha.sum(axis=-1) + 1)
    np.testing.assert_allclose(information(belief, operator="gibbs"), (1 - np.exp(-1)) * variance, rtol=1e-12)
    np.testing.assert_allclose(information(belief, operator="gibbs", kernel="delta"), variance, rtol=1e-12)


@pytest.mark.parametrize("reference", ["mean", "empirical"])
@pytest.mark.parametrize("concentration", ["fixed", "learned"])
def test_kept_rows_are_what_a_fresh_computation_gives(reference: str, concentration: str) -> None:
    belief = ModelBelief(5, 2, concentration=concentration)
    choice = InformationChoice("barker", "exp-hamming", reference, "exact", 2)
    kept = SteinInformation(choice)
    rng = np.random.default_rng(0)
    etas = set()
    for _ in range(30):
        n = int(rng.integers(0, 6))
        successors = np.minimum(rng.integers(5, size=n), 1)  # sparse rows, so that a learned eta moves
        belief.observe_many((rng.integers(5, size=n), rng.integers(2, size=n), np.zeros(n), successors))
        belief.refresh()
        etas.add(belief.eta)
        D = kept.rows(belief, belief.counts, belief.P, rng)
        fresh = SteinInformation(choice).rows(belief, belief.counts, belief.P, rng)
        np.testing.assert_array_equal(D, fresh)
    assert (len(etas) > 1) == (concentration == "learned")


def test_an_empirical_reference_of_a_dictionary_is_not_taken_for_that_of_the_posterior() -> None:
    belief = belief_with(5)
    half = np.floor(belief.counts / 2)
    D = information(belief, data=half, reference="empirical")
    expected = posterior_information(belief.alpha, half, reference="empirical", empty="mean")
    np.testing.assert_allclose(D, expected, rtol=1e-10)
    assert np.abs(D - information(belief, reference="empirical")).max() > 1e-3


@given(st.integers(0, 10_000), st.sampled_from(["barker", "gibbs"]), st.sampled_from(["mean", "empirical"]))
@settings(max_examples=30)
def test_relabelling_states_relabels_information(seed: int, operator: str, reference: str) -> None:
    rng = np.random.default_rng(seed)
    S, A, n = 5, 2, 30
    order = rng.permutation(S)
    s, a, y, r = rng.integers(S, size=n), rng.integers(A, size=n), rng.integers(S, size=n), rng.normal(size=n)
    one, other = ModelBelief(S, A), ModelBelief(S, A)
    one.observe_many((s, a, r, y))
    other.observe_many((order[s], a, r, order[y]))
    D = information(one, operator=operator, reference=reference)
    relabelled = information(other, operator=operator, reference=reference)
    np.testing.assert_allclose(relabelled[order], D, rtol=1e-9)


def test_the_literal_operator_does_depend_on_the_numbering() -> None:
    belief, other = ModelBelief(5, 1), ModelBelief(5, 1)
    order = np.array([2, 0, 3, 1, 4])
    y = np.array([0, 0, 1, 3, 3, 3])
    zeros = np.zeros(6, dtype=np.int64)
    belief.observe_many((zeros, zeros, np.zeros(6), y))
    other.observe_many((order[zeros], zeros, np.zeros(6), order[y]))
    choice = {"operator": "difference", "reference": "empirical", "expectation": "model"}
    assert abs(information(other, **choice)[order[0], 0] - information(belief, **choice)[0, 0]) > 0.01


@pytest.mark.parametrize("operator", ["barker", "gibbs"])
@pytest.mark.parametrize("eta", [1e-3, 1.0, 1e3])
def test_information_is_finite_positive_and_fades_with_data(operator: str, eta: float) -> None:
    values = []
    for n in (0, 1e3, 1e6, 1e9, 1e12):
        belief = ModelBelief(4, 1, eta=eta)
        belief.counts[:, 0, :2] = n / 2
        belief.totals[:] = n
        belief.alpha[:] = eta + belief.counts
        values.append(float(information(belief, operator=operator)[0, 0]))
    assert np.isfinite(values).all()
    assert (np.diff(values) < 0).all()
    # 1 / n: a thousand times the data, a thousandth of the information.
    np.testing.assert_allclose(np.divide(values[2:-1], values[3:]), 1000.0, rtol=0.05)


def test_drawn_rows_that_underflow_keep_the_literal_operator_finite() -> None:
    belief = belief_with(6, eta=1e-3)
    model = np.zeros((4, 2, 4))
    model[..., 0] = 1.0
    D = information(belief, model=model, operator="difference", reference="empirical", expectation="model")
    assert np.isfinite(D).all()
    assert D.max() == 1e100
    np.testing.assert_allclose(positive_rows(model).sum(axis=-1), 1.0)
    assert (positive_rows(model) > 0).all()
