"""KSD of points against numerical derivatives, Gaussians against integrals, Normal-Gamma against sampling."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import steering.stein as stein
from steering.errors import InvalidOption, UnknownName
from steering.stein.errors import InvalidDistribution

PHI = {"rbf": lambda r: np.exp(-0.5 * r), "imq": lambda r: (1 + r) ** -0.5}


def numeric_stein_kernel(
    x: np.ndarray, y: np.ndarray, sx: np.ndarray, sy: np.ndarray, kernel: str, scale: float
) -> float:
    """s.s' k + s.grad' k + s'.grad k + trace, derivatives by central differences."""

    def k(a: np.ndarray, b: np.ndarray) -> float:
        return float(PHI[kernel](((a - b) ** 2).sum() / scale**2))

    h = 1e-4
    total = float(sx @ sy) * k(x, y)
    for e in np.eye(len(x)) * h:
        total += sx @ e / h * (k(x, y + e) - k(x, y - e)) / (2 * h)
        total += sy @ e / h * (k(x + e, y) - k(x - e, y)) / (2 * h)
        total += (k(x + e, y + e) - k(x + e, y - e) - k(x - e, y + e) + k(x - e, y - e)) / (4 * h * h)
    return total


@pytest.mark.parametrize("kernel", ["rbf", "imq"])
@pytest.mark.parametrize("dimension", [1, 3])
def test_statistics_equal_the_double_sum_of_the_definition(kernel: str, dimension: int) -> None:
    rng = np.random.default_rng(0)
    x = rng.standard_normal((7, dimension))
    score = -(x - 0.3) / 1.7
    pairs = np.array(
        [[numeric_stein_kernel(x[i], x[j], score[i], score[j], kernel, 0.8) for j in range(7)] for i in range(7)]
    )
    assert stein.ksd(x, score, kernel, 0.8) == pytest.approx(pairs.mean(), rel=1e-5)
    u = (pairs.sum() - np.trace(pairs)) / 42
    assert stein.ksd(x, score, kernel, 0.8, statistic="U") == pytest.approx(u, rel=1e-5, abs=1e-7)
    by_function = stein.ksd(x, lambda z: -(z - 0.3) / 1.7, kernel, 0.8)
    assert by_function == pytest.approx(stein.ksd(x, score, kernel, 0.8), rel=1e-14)


def test_blocks_do_not_change_the_value() -> None:
    x = np.random.default_rng(1).standard_normal(700)
    whole = stein.ksd(x, lambda z: -z)
    u = x[:, None] - x[None, :]
    base = 1 / (1 + u**2)
    pairs = x[:, None] * x[None, :] * base**0.5 - u**2 * base**1.5 + base**1.5 - 3 * u**2 * base**2.5
    assert whole == pytest.approx(pairs.mean(), rel=1e-10)


@pytest.mark.parametrize("kernel", ["rbf", "imq"])
@settings(max_examples=25)
@given(
    mean=st.floats(-2, 2),
    variance=st.floats(0.1, 3),
    other=st.floats(0.2, 4),
    scale=st.floats(0.8, 4),
)
def test_gaussian_value_equals_the_double_integral(
    kernel: str, mean: float, variance: float, other: float, scale: float
) -> None:
    """Both integrals by the trapezoidal rule, which for Gaussians converges faster than any power."""
    nodes = np.linspace(-10, 10, 401)
    weights = np.exp(-(nodes**2) / 2)
    weights /= weights.sum()
    x = mean + np.sqrt(variance) * nodes
    s = -x / other
    d = x[:, None] - x[None, :]
    r = d**2 / scale**2
    if kernel == "rbf":
        phi = np.exp(-r / 2)
        first, second = -phi / 2, phi / 4
    else:
        phi = (1 + r) ** -0.5
        first, second = -0.5 * phi / (1 + r), 0.75 * phi / (1 + r) ** 2
    u = s[:, None] * s * phi - 2 * first / scale**2 * ((s[:, None] - s) * d + 1) - 4 * r / scale**2 * second
    expected = float(weights @ u @ weights)
    value = stein.ksd_gaussian(mean, variance, 0.0, other, kernel, scale)
    assert value == pytest.approx(expected, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("kernel", ["rbf", "imq"])
def test_gaussian_value_is_zero_exactly_at_equality_and_scales(kernel: str) -> None:
    assert stein.ksd_gaussian(0.4, 2.0, 0.4, 2.0, kernel) == pytest.approx(0, abs=1e-14)
    shifts = stein.ksd_gaussian(np.array([0.1, 0.2, 0.4]), 2.0, 0.0, 2.0, kernel)
    np.testing.assert_allclose(shifts / shifts[0], [1, 4, 16], rtol=1e-9)
    spread = stein.ksd_gaussian(0.0, np.array([1.5, 1.99, 2.0, 2.01, 3.0]), 0.0, 2.0, kernel)
    assert np.argmin(spread) == 2
    assert (np.delete(spread, 2) > 1e-8).all()
    # changing units by c multiplies the (squared) discrepancy by 1 / c^2
    one = stein.ksd_gaussian(0.3, 1.2, -0.2, 2.0, kernel, 0.7)
    ten = stein.ksd_gaussian(3.0, 120.0, -2.0, 200.0, kernel, 7.0)
    assert ten == pytest.approx(one / 100, rel=1e-10)


@pytest.mark.parametrize("kernel", ["rbf", "imq"])
@settings(max_examples=40)
@given(
    variance=st.floats(1e-6, 1e6),
    scale=st.floats(1e-2, 1e2),
    shift=st.floats(1e-9, 1e-3),
    stretch=st.floats(1e-9, 1e-3),
)
def test_gaussians_that_are_nearly_equal_lose_no_digits(
    kernel: str, variance: float, scale: float, shift: float, stretch: float
) -> None:
    """g^2 E0 + b^2 (v E0 / 2 - E2 / 4), moments by quadrature in extended precision."""
    other = variance * (1 + stretch)
    v, w, length = (np.longdouble(x) for x in (variance, other, scale))
    sd = np.sqrt(2 * v)
    t = np.linspace(-1, 1, 4001, dtype=np.longdouble) * np.arcsinh(13 * sd / length)
    d = length * np.sinh(t)
    weight = np.exp(-((d / sd) ** 2) / 2) * np.cosh(t)
    weight /= weight.sum()
    phi = np.exp(-(d**2) / (2 * length**2)) if kernel == "rbf" else 1 / np.sqrt(1 + (d / length) ** 2)
    # v E0 / 2 - E2 / 4 is small beside its terms for v << l^2: take phi - 1, whose part E[2 v - d^2] = 0 is left out
    less = np.expm1(-(d**2) / (2 * length**2)) if kernel == "rbf" else np.expm1(-np.log1p((d / length) ** 2) / 2)
    m = (weight * less * (2 * v - d**2)).sum() / 4
    g, b = np.longdouble(shift) / w, (w - v) / (v * w)
    expected = float(g * g * (weight * phi).sum() + b * b * m)
    value = stein.ksd_gaussian(shift, variance, 0.0, other, kernel, scale)
    assert value == pytest.approx(expected, rel=1e-11, abs=0)


@pytest.mark.parametrize("kernel", ["rbf", "imq"])
@pytest.mark.parametrize("size", [1e6, 1e14])
def test_normal_gamma_information_of_much_data_loses_no_digits(kernel: str, size: float) -> None:
    """lam = alpha = beta = n: E KSD = (E0 + M) / n exactly, v = l = 1."""
    value = stein.normal_gamma_information(0.0, size, size, size, kernel=kernel)
    near = stein.normal_gamma_information(0.0, 1.0, 1.0, 1.0, kernel=kernel)
    assert value == pytest.approx(near / size, rel=1e-12, abs=0)
    if kernel == "rbf":
        assert near == pytest.approx(np.sqrt(1 / 3) * 4 / 3, rel=1e-14)


@pytest.mark.parametrize("kernel", ["rbf", "imq"])
@pytest.mark.parametrize("reference", [None, (0.5, 0.8)])
def test_normal_gamma_expectation_agrees_with_sampling(kernel: str, reference: tuple | None) -> None:
    """4.5 standard errors of 100,000 draws, fixed seed: fails by chance with probability below 1e-5."""
    mu, lam, alpha, beta = 0.2, 4.0, 3.0, 3.0
    rng = np.random.default_rng(0)
    tau = rng.gamma(alpha, 1 / beta, 100_000)
    m = mu + rng.standard_normal(100_000) / np.sqrt(lam * tau)
    mean, variance = (mu, beta / alpha) if reference is None else reference
    draws = stein.ksd_gaussian(mean, variance, m, 1 / tau, kernel, np.sqrt(variance))
    exact = stein.normal_gamma_information(mu, lam, alpha, beta, reference, kernel)
    assert abs(exact - draws.mean()) < 4.5 * draws.std() / np.sqrt(1e5)


def test_normal_gamma_information_falls_with_data_and_broadcasts() -> None:
    n = np.array([0, 10, 100, 1000])
    value = stein.normal_gamma_information(np.zeros((2, 1)), 4.0 + n, 3.0 + n / 2, 3.0 + n / 2)
    assert value.shape == (2, 4)
    assert (np.diff(value) < 0).all()
    assert value[0, 3] == pytest.approx(value[0, 2] / 10, rel=0.1)


def test_points_from_the_model_have_a_small_u_statistic() -> None:
    """Under the model the U-statistic has mean zero; 400 points, fixed seed, far inside the alternative's value."""
    x = np.random.default_rng(0).standard_normal((400, 2))
    null = stein.ksd(x, lambda z: -z, statistic="U")
    alternative = stein.ksd(x + 0.5, lambda z: -z, statistic="U")
    assert abs(null) < 0.02 < 0.1 < alternative


def test_bad_continuous_input() -> None:
    with pytest.raises(UnknownName, match="did you mean 'rbf'"):
        stein.ksd([0.0], [0.0], kernel="rbff")
    with pytest.raises(InvalidDistribution, match="must be equal"):
        stein.ksd(np.zeros((3, 2)), np.zeros((2, 2)))
    with pytest.raises(InvalidDistribution, match="not finite"):
        stein.ksd([np.nan], [0.0])
    with pytest.raises(InvalidDistribution, match="needs 2"):
        stein.ksd([0.0], [0.0], statistic="U")
    with pytest.raises(InvalidOption, match="'V' or 'U'"):
        stein.ksd([0.0], [0.0], statistic="X")
    with pytest.raises(InvalidDistribution, match="n points"):
        stein.ksd(np.zeros((2, 2, 2)), 0.0)
    for samples, score, scale in (([1e200, 1.0], [-1e200, -1.0], 1.0), ([1.0, 2.0], [-1.0, -2.0], 1e-200)):
        for statistic in ("V", "U"):
            with pytest.raises(InvalidDistribution, match="double precision"):
                stein.ksd(samples, score, scale=scale, statistic=statistic)
    with pytest.raises(InvalidDistribution, match="samples must be real numbers"):
        stein.ksd(["a"], [1.0])
    with pytest.raises(InvalidDistribution, match="the score must be real numbers"):
        stein.ksd([1.0], [1.0j])
    with pytest.raises(InvalidOption, match="scale must be one number"):
        stein.ksd([1.0, 2.0], [1.0, 2.0], scale=[1.0, 99.0])
    with pytest.raises(InvalidDistribution, match="model_variance"):
        stein.ksd_gaussian(0, 1, 0, 0)
    with pytest.raises(InvalidDistribution, match="mu has an entry"):
        stein.normal_gamma_information(np.inf, 1, 1, 1)
    with pytest.raises(InvalidDistribution, match="double precision"):
        stein.ksd_gaussian(0, 1, 0, 1e-200)
