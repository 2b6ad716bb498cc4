"""Special functions of compiled code against SciPy, over the whole range in which agents use them."""

import numpy as np
import pytest
from scipy import special

from steering._compiled.special import digamma, inverse_log_minus_digamma, log_minus_digamma, trigamma

GRID = np.concatenate([np.geomspace(1e-6, 1e8, 141), [7.999999, 8.0, 8.000001, 1.4616321449683622]])


def test_digamma_is_scipys() -> None:
    got = np.array([digamma(x) for x in GRID])
    # Near its zero at 1.46 only the absolute error can be small.
    np.testing.assert_allclose(got, special.digamma(GRID), rtol=2e-13, atol=2e-14)


def test_trigamma_is_scipys() -> None:
    got = np.array([trigamma(x) for x in GRID])
    np.testing.assert_allclose(got, special.polygamma(1, GRID), rtol=5e-13)


def test_log_minus_digamma_keeps_its_digits_where_the_difference_loses_them() -> None:
    small = GRID[GRID < 100]
    np.testing.assert_allclose(
        [log_minus_digamma(x) for x in small], np.log(small) - special.digamma(small), rtol=1e-11
    )
    # f(x) = 1/(2x) + 1/(12 x^2) - 1/(120 x^4) + ...; the terms left out are below 1e-14 of it here.
    large = np.geomspace(300, 1e8, 40)
    series = 0.5 / large + 1 / (12 * large**2) - 1 / (120 * large**4)
    np.testing.assert_allclose([log_minus_digamma(x) for x in large], series, rtol=1e-13)


def test_inverse_undoes_log_minus_digamma() -> None:
    back = np.array([inverse_log_minus_digamma(log_minus_digamma(x)) for x in GRID])
    np.testing.assert_allclose(back, GRID, rtol=1e-9)


@pytest.mark.parametrize("y", [1e-300, 1e-18, 1e-12])
def test_inverse_of_tiny_arguments_is_half_the_reciprocal(y: float) -> None:
    assert inverse_log_minus_digamma(y) == pytest.approx(0.5 / y, rel=1e-6)
