"""Posterior information: exact ways against each other and against Monte Carlo, and what does not exist."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import integrate, special

import steering.stein as stein
from steering.errors import InvalidOption
from steering.stein.errors import DivergentExpectation, InfiniteVarianceWarning, InvalidDistribution
from steering.stein.posterior import log_gamma_draws
from steering.stein.ratios import gamma_ratio_mean, gamma_rule

ALPHA = np.array([[1.0, 1, 1, 1, 1], [3, 1, 1, 9, 1], [0.2, 0.2, 4.2, 0.2, 1.2], [30.5, 20.5, 0.5, 0.5, 0.5]])
COUNTS = np.array([[1, 0, 0, 0, 0], [2, 0, 0, 8, 0], [0, 0, 4, 0, 1], [30, 20, 0, 0, 0]])


@pytest.mark.parametrize("reference", ["mean", "empirical", "draw"])
@pytest.mark.parametrize("operator", ["barker", "gibbs"])
def test_exact_information_agrees_with_monte_carlo(operator: str, reference: str) -> None:
    """Twelve comparisons a case at 4.5 standard errors: fails by chance with probability below 1e-4 (seed fixed)."""
    exact = stein.posterior_information(ALPHA, COUNTS, operator, reference=reference)
    mean, error = stein.posterior_information(
        ALPHA, COUNTS, operator, reference=reference, draws=4000, rng=1, return_error=True
    )
    assert (np.abs(exact - mean) < 4.5 * error).all()
    assert (error < 0.1 * exact).all()


def test_two_outcomes_have_a_closed_form() -> None:
    """S = 2: w = +-((p_0 + p_1) B - p), one Beta variable, so E DSD = 2 a (Var B + (E B - p)^2)."""
    a, b = 2.5, 0.7
    total = a + b
    variance = a * b / (total**2 * (total + 1))
    value = stein.posterior_information([a, b], kernel="delta")
    assert value == pytest.approx(2 * variance, rel=1e-10)
    shifted = stein.posterior_information([a, b], [1, 3], kernel="delta", reference="empirical")
    assert shifted == pytest.approx(2 * (variance + (a / total - 0.25) ** 2), rel=1e-10)


def continued_fraction(alpha: np.longdouble, g: np.ndarray) -> np.ndarray:
    """E[g / (g + G)], G ~ Gamma(alpha), in extended precision: depth K is the K-point Gauss-Laguerre rule."""
    value = g + alpha + 400
    for k in range(200, 0, -1):
        value = g + alpha + 2 * (k - 1) - k * (alpha + k - 1) / value
    return g / value


@pytest.mark.parametrize("size", [1e4, 1e9, 1e12])
def test_one_large_parameter_loses_no_digits(size: float) -> None:
    """alpha = (A, 1, 1): the formula of the module in extended precision, to the stated 1e-9."""
    alpha = np.array([size, 1, 1], dtype=np.longdouble)
    p = alpha / alpha.sum()
    total = np.longdouble(0)
    for z in range(3):
        log_g, weights = (x.astype(np.longdouble) for x in gamma_rule(float(alpha[z])))
        sums, single = np.zeros(len(log_g), dtype=np.longdouble), np.longdouble(0)
        for y in set(range(3)) - {z}:
            mean, c = alpha[z] / (alpha[y] + alpha[z]), p[y] + p[z]
            if alpha[y] == alpha[z]:  # h and its mean are of one size there
                h = gamma_ratio_mean(1.0, log_g.astype(float)).astype(np.longdouble)
            else:
                h = continued_fraction(alpha[y], np.exp(log_g))
            sums += c * (h - mean)
            variance = alpha[z] * alpha[y] / (alpha[y] + alpha[z]) ** 2 / (alpha[y] + alpha[z] + 1)
            single += c**2 * (variance - weights @ (h - mean) ** 2)
        total += weights @ sums**2 + single
    assert stein.posterior_information(alpha.astype(float), kernel="delta") == pytest.approx(
        float(total), rel=1e-9, abs=0
    )


def test_equal_parameters_reduce_to_one_integral() -> None:
    """All alpha = 1: the triple moment E[a^2 / ((a+b)(a+c))] is (1 - 2 E[abc / ((a+b)(b+c)(c+a))]) / 3 by symmetry."""
    n = 6
    # E over the uniform simplex point (b/a = t, c/a = s): density of independent exponentials, 2 / (1 + t +
    # s)^3
    moment = integrate.dblquad(
        lambda t, s: 2.0 / (1 + t + s) ** 3 / ((1 + t) * (1 + s)), 0, np.inf, 0, np.inf, epsabs=1e-11
    )[0]
    c = 2.0 / n  # p_y + p_z
    variance = (n - 1) * c**2 / 12 + (n - 1) * (n - 2) * c**2 * (moment - 0.25)
    assert stein.posterior_information(np.ones(n), kernel="delta") == pytest.approx(n * variance, rel=1e-8)


@pytest.mark.parametrize("kernel", ["delta", "exp-hamming"])
@pytest.mark.parametrize("n", [1, 2, 3, 5])
def test_difference_closed_form_agrees_with_monte_carlo(n: int, kernel: str) -> None:
    """Parameters above 8, so that the sample mean has finite variance; 4.5 standard errors, fixed seed."""
    alpha = 8.0 + np.arange(n)
    exact = stein.posterior_information(alpha, operator="difference", kernel=kernel)
    mean, error = stein.posterior_information(
        alpha, operator="difference", kernel=kernel, draws=20_000, rng=2, return_error=True
    )
    assert abs(exact - mean) <= 4.5 * error + 1e-30


def test_difference_needs_alpha_above_two_only_where_the_reference_has_mass() -> None:
    alpha = np.array([1.0, 4.0, 1.0, 6.0])
    with pytest.raises(DivergentExpectation, match=r"alpha\[0\] = 1 is not above 2.*barker"):
        stein.posterior_information(alpha, operator="difference")
    counts = np.array([0, 3, 0, 5])
    assert stein.posterior_information(alpha, counts, "difference", reference="empirical") > 0
    with pytest.raises(DivergentExpectation, match="sqrt"):
        stein.posterior_information(alpha, operator="sqrt", rng=0)
    with pytest.raises(DivergentExpectation):
        stein.posterior_information(alpha, operator="difference", reference="draw", rng=0)


def test_literal_operator_really_diverges() -> None:
    """E min((q(v z)/q(z))^2, cap) grows with the cap without end at alpha = 1: the refusal is not caution."""
    ratio = special.betainc(1.0, 1.0, 1.0)  # uniform Beta: q_z / (q_z + q_vz)
    assert ratio == 1.0
    capped = [
        integrate.quad(lambda b, cap=cap: min(((1 - b) / b) ** 2, cap), 1e-12, 1, limit=500)[0]
        for cap in (1e2, 1e4, 1e6)
    ]
    assert capped[1] > 5 * capped[0]
    assert capped[2] > 5 * capped[1]


def test_operators_without_a_closed_form_use_monte_carlo_and_say_how_well() -> None:
    alpha = np.array([[3.0, 4.0, 5.0], [2.0, 2.0, 2.0]])
    value, error = stein.posterior_information(alpha, operator="min", rng=0, draws=500, return_error=True)
    assert value.shape == error.shape == (2,)
    assert (error > 0).all()
    again = stein.posterior_information(alpha, operator="min", rng=0, draws=500)
    np.testing.assert_array_equal(value, again)
    with pytest.raises(InvalidOption, match="rng="):
        stein.posterior_information(alpha, operator="min")
    with pytest.raises(InvalidOption, match="at least 2"):
        stein.posterior_information(alpha, operator="min", rng=0, draws=1)
    gram = np.eye(3) + 0.5
    near = stein.posterior_information(alpha, kernel=gram, rng=0, draws=2000)
    np.testing.assert_allclose(near, stein.posterior_information(alpha, kernel="delta"), rtol=0.2)


def test_standard_error_that_does_not_exist_is_not_given_silently() -> None:
    """Draws of the literal operator have finite variance only for alpha > 4, of sqrt for alpha > 2."""
    for operator, alpha in (("difference", 3.0), ("sqrt", 1.5)):
        with pytest.warns(InfiniteVarianceWarning, match="barker") as record:
            stein.posterior_information(np.full(3, alpha), operator=operator, draws=100, rng=0, return_error=True)
        assert record[0].filename == __file__
        stein.posterior_information(np.full(3, 4.5), operator=operator, draws=100, rng=0, return_error=True)
    stein.posterior_information([0.5, 0.5], draws=100, rng=0, return_error=True)  # barker is bounded


def test_limits_belong_to_the_operator_not_to_its_name() -> None:
    own = stein.Reversible("sqrt of my own", lambda a, b: np.sqrt(a) * np.sqrt(b), needs_full_support=True)
    assert own.alpha_above == 1.0
    with pytest.raises(DivergentExpectation, match="not above 1"):
        stein.posterior_information([3.0, 3.0, 0.5], operator=own, draws=100, rng=0)
    assert stein.get_operator("min").alpha_above == stein.get_operator("gibbs").alpha_above == 0.0


def test_gibbs_with_any_kernel_is_exact() -> None:
    alpha = np.array([2.0, 3.0, 4.0])
    gram = np.array([[2.0, 0.3, 0.1], [0.3, 1.0, 0.2], [0.1, 0.2, 3.0]])
    m = alpha / 9
    covariance = (np.diag(m) - np.outer(m, m)) / 10
    value = stein.posterior_information(alpha, operator="gibbs", kernel=gram)
    assert value == pytest.approx(float((gram * covariance).sum()), rel=1e-12)
    twice = stein.posterior_information(alpha, operator="gibbs", kernel=gram, reference="draw")
    assert twice == pytest.approx(2 * value, rel=1e-12)


def test_information_shrinks_with_data_and_is_invariant_to_numbering() -> None:
    rng = np.random.default_rng(0)
    p = rng.dirichlet(np.ones(6))
    values = [stein.posterior_information(1 + n * p) for n in (0, 10, 100, 1000, 10_000)]
    assert (np.diff(values) < 0).all()
    assert values[-1] == pytest.approx(values[-2] / 10, rel=0.05)  # the 1/n rate
    alpha = 1 + 30 * p
    for reference in ("mean", "draw"):
        one = stein.posterior_information(alpha, reference=reference)
        two = stein.posterior_information(alpha[::-1].copy(), reference=reference)
        assert one == pytest.approx(two, rel=1e-10)


@pytest.mark.parametrize("eta", [1e-3, 1e-2])
def test_tiny_concentrations_underflow_nowhere(eta: float) -> None:
    """Draws far below the smallest positive number still have the right ratios (4.5 standard errors, fixed seed)."""
    alpha = np.full(4, eta)
    exact = stein.posterior_information(alpha)
    mean, error = stein.posterior_information(alpha, draws=4000, rng=3, return_error=True)
    assert abs(exact - mean) < 4.5 * error
    assert np.isfinite(log_gamma_draws(alpha, np.random.default_rng(0), 3)).all()


def moments_from_logs(operator: str, alpha: np.ndarray, p: np.ndarray, draws: int) -> tuple[float, float]:
    """Mean and standard error of E DSD from the definition with ratios taken from log q, draws of its own."""
    rng = np.random.default_rng(17)
    shape = (draws, len(alpha))
    logs = np.log(rng.standard_gamma(alpha + 1, shape)) + np.log(rng.random(shape)) / alpha
    gap = logs[:, None, :] - logs[:, :, None]
    with np.errstate(over="ignore"):
        rate = {"barker": special.expit(gap), "min": np.exp(np.minimum(gap, 0)), "sqrt": np.exp(gap / 2)}[operator]
    moved = np.where(p[:, None] > 0, p[:, None] * np.where(p[:, None] > 0, rate, 0), 0)
    w = moved.sum(1) - moved.sum(2)
    value = (1 - np.exp(-1)) * (w**2).sum(1)
    return float(value.mean()), float(value.std() / np.sqrt(draws))


@pytest.mark.parametrize("operator", ["min", "barker"])
@pytest.mark.parametrize("graph", [False, True])
def test_monte_carlo_is_unbiased_at_tiny_concentrations(operator: str, graph: bool) -> None:
    """Most draws underflow there; 4.5 combined standard errors, fixed seeds (the bias was 45 of them)."""
    alpha = np.full(5, 1e-3)
    op = stein.get_operator(operator)
    chosen = op.on(np.ones((5, 5))) if graph else op  # type: ignore[attr-defined]
    value, error = stein.posterior_information(alpha, operator=chosen, draws=4000, rng=1, return_error=True)
    truth, other = moments_from_logs(operator, alpha, np.full(5, 0.2), 40_000)
    assert abs(value - truth) < 4.5 * np.hypot(error, other)


def test_underflow_where_the_reference_has_no_mass_is_no_obstacle() -> None:
    """alpha = 0.001 is unseen: its draws underflow, its ratios are multiplied by zero (4.5 standard errors)."""
    alpha, counts = np.array([0.001, 0.001, 5, 5]), np.array([0, 0, 4, 4])
    value, error = stein.posterior_information(
        alpha, counts, "sqrt", reference="empirical", draws=1000, rng=0, return_error=True
    )
    truth, other = moments_from_logs("sqrt", alpha, counts / 8, 40_000)
    assert abs(value - truth) < 4.5 * np.hypot(error, other)
    exact = stein.posterior_information(alpha, counts, "difference", "delta", reference="empirical")
    value, error = stein.posterior_information(
        alpha, counts, "difference", np.eye(4), reference="empirical", draws=4000, rng=0, return_error=True
    )
    assert abs(value - exact) < 4.5 * error


def test_empirical_reference_needs_counts() -> None:
    with pytest.raises(InvalidOption, match="needs counts="):
        stein.posterior_information([1.0, 2.0], reference="empirical")
    with pytest.raises(InvalidDistribution, match=r"row \[1\] has no samples.*empty='mean'"):
        stein.posterior_information(np.ones((2, 2)), [[1, 0], [0, 0]], reference="empirical")
    with pytest.raises(InvalidOption, match="'mean', 'empirical' or 'draw'"):
        stein.posterior_information([1.0, 2.0], reference="median")
    with pytest.raises(InvalidDistribution, match=r"alpha\[1\] is 0"):
        stein.posterior_information([1.0, 0.0])
    filled = stein.posterior_information(np.ones((2, 2)), [[1, 0], [0, 0]], reference="empirical", empty="mean")
    assert filled[1] == pytest.approx(stein.posterior_information([1.0, 1.0]))


def test_one_outcome_has_no_information() -> None:
    for operator in ("barker", "gibbs", "difference"):
        assert stein.posterior_information([3.0], operator=operator) == pytest.approx(0.0, abs=1e-30)


def test_gamma_ratio_mean_against_integration_and_recurrence() -> None:
    for alpha in (0.3, 0.5, 1.0, 1.0 + 1e-8, 1.5, 2.5, 12.0, 40.0):
        for g in (0.01, 0.5, 0.999, 1.0, 3.0, 50.0):
            value = float(gamma_ratio_mean(alpha, np.log(g)))
            number = integrate.quad(
                lambda u, a=alpha, g=g: np.exp(a * u - np.exp(u) - special.gammaln(a)) / (1 + np.exp(u) / g),
                -40 / alpha,
                np.log(alpha + 80),
                limit=400,
                epsabs=1e-14,
            )[0]
            assert value == pytest.approx(number, rel=1e-9)
            above = float(gamma_ratio_mean(alpha + 1, np.log(g)))
            assert above == pytest.approx(g * (1 - value) / alpha, rel=1e-9)


@pytest.mark.parametrize("alpha", [1e-3, 0.5, 3.0, 19.9, 20.1, 1e4])
def test_gamma_rule_integrates_beta_moments(alpha: float) -> None:
    log_g, weights = gamma_rule(alpha)
    for other in (0.01, 1.0, 7.0, 300.0):
        mean = float(weights @ gamma_ratio_mean(other, log_g))
        assert mean == pytest.approx(alpha / (alpha + other), rel=1e-11)


@pytest.mark.parametrize("operator", ["barker", "gibbs", "min"])
@pytest.mark.parametrize("reference", ["empirical", "draw"])
@pytest.mark.parametrize(("eta", "shape"), [(1.0, (7, 2, 7)), (1e-3, (7, 2, 7)), (0.02, (30, 30)), (1.0, (90, 90))])
def test_monte_carlo_in_blocks_is_that_of_one_draw_after_the_other(
    operator: str, reference: str, eta: float, shape: tuple[int, ...]
) -> None:
    """To the last digit, and with as much taken from the generator, whatever number of draws makes a block."""
    counts = np.random.default_rng(0).integers(0, 3, shape) * (np.arange(shape[-1]) < 4)
    counts[0] = 1
    alpha, op, base = eta + counts, stein.get_operator(operator), stein.get_kernel("exp-hamming")
    kept, whole = np.random.default_rng(1), np.random.default_rng(1)
    p = np.where(counts.sum(-1, keepdims=True) > 0, counts / np.maximum(counts.sum(-1, keepdims=True), 1), 0)
    p = np.where(p.sum(-1, keepdims=True) > 0, p, alpha / alpha.sum(-1, keepdims=True))
    total = np.zeros(shape[:-1])
    for _ in range(20):
        logs = [
            np.log(kept.standard_gamma(alpha + 1.0)) - kept.standard_exponential(shape) / alpha
            for _ in range(2 if reference == "draw" else 1)
        ]
        total += base.quadratic(op.flow_from_logs(special.softmax(logs[1], -1) if reference == "draw" else p, logs[0]))
    value = stein.posterior_information(alpha, counts, operator, reference=reference, draws=20, rng=whole, empty="mean")
    np.testing.assert_array_equal(value, total / 20)
    assert whole.random() == kept.random()
