"""V, U and population values against double sums over samples, batching, kernels, bad input."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import stein_oracle as oracle
from hypothesis import given, settings
from hypothesis import strategies as st

import steering.stein as stein
from steering.errors import InvalidOption
from steering.stein.errors import InvalidDistribution, SteinSupportWarning
from steering.stein.kernels import GramKernel

quiet = pytest.mark.filterwarnings("ignore::steering.stein.SteinSupportWarning")


@quiet
@given(
    data=oracle.counts_and_pmf(),
    name=st.sampled_from(oracle.OPERATORS),
    kernel=st.sampled_from(oracle.KERNELS),
)
def test_statistics_equal_double_sums_over_samples(data: tuple, name: str, kernel: str) -> None:
    counts, q = data
    kappa = oracle.stein_kernel(name, kernel, q)
    samples = np.repeat(np.arange(len(q)), counts)
    v, u, scale = oracle.double_sums(kappa, samples)
    off = oracle.rounding(name, q, samples)
    slack = 2 * np.sqrt(max(v, 0.0)) * off + off**2
    got_v = stein.discrepancy_from_counts(counts, q, name, kernel)
    got_u = stein.discrepancy_from_counts(counts, q, name, kernel, statistic="U")
    assert got_v == pytest.approx(v, rel=1e-10, abs=1e-12 * scale + slack)
    assert got_u == pytest.approx(u, rel=1e-10, abs=1e-12 * scale + 2 * slack)
    assert stein.discrepancy(counts / counts.sum(), q, name, kernel) == pytest.approx(
        got_v, rel=1e-10, abs=1e-13 * scale + 2 * slack
    )


@settings(max_examples=60)
@given(q=oracle.pmfs(), name=st.sampled_from(oracle.OPERATORS), kernel=st.sampled_from(oracle.KERNELS))
def test_stein_kernel_is_the_definition_and_positive(q: np.ndarray, name: str, kernel: str) -> None:
    kappa = stein.stein_kernel(q, name, kernel)
    expected = oracle.stein_kernel(name, kernel, q)
    scale = np.abs(expected).max()
    np.testing.assert_allclose(kappa, expected, rtol=1e-10, atol=1e-12 * scale + 1e-300)
    assert np.linalg.eigvalsh(kappa)[0] >= -1e-12 * scale - 1e-15
    np.testing.assert_array_equal(kappa, kappa.T)


def test_u_statistic_is_unbiased_exactly() -> None:
    """Sum over all data sets of three samples from p, weighted by their probability, equals the population value."""
    p, q = np.array([0.2, 0.5, 0.3]), np.array([0.4, 0.35, 0.25])
    samples = np.array(np.meshgrid([0, 1, 2], [0, 1, 2], [0, 1, 2])).reshape(3, -1).T
    counts = np.array([np.bincount(s, minlength=3) for s in samples])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SteinSupportWarning)
        for name in oracle.OPERATORS:
            u = stein.discrepancy_from_counts(counts, q, name, statistic="U")
            assert p[samples].prod(1) @ u == pytest.approx(stein.discrepancy(p, q, name), rel=1e-12)


@pytest.mark.parametrize("name", oracle.OPERATORS)
def test_leading_axes_broadcast(name: str) -> None:
    rng = np.random.default_rng(0)
    p, q = rng.dirichlet(np.ones(7), (5, 1, 3)), rng.dirichlet(np.ones(7), (4, 1))
    values = stein.discrepancy(p, q, name)
    assert values.shape == (5, 4, 3)
    assert values[2, 3, 1] == pytest.approx(stein.discrepancy(p[2, 0, 1], q[3, 0], name), rel=1e-12)
    counts = rng.integers(1, 5, (5, 4, 3, 7))
    for statistic in ("V", "U"):
        many = stein.discrepancy_from_counts(counts, q, name, statistic=statistic)
        one = stein.discrepancy_from_counts(counts[1, 2, 0], q[2, 0], name, statistic=statistic)
        assert many[1, 2, 0] == pytest.approx(one, rel=1e-10)


def test_gram_matrix_kernel_and_user_kernel() -> None:
    rng = np.random.default_rng(0)
    p, q = rng.dirichlet(np.ones(5)), rng.dirichlet(np.ones(5))
    assert stein.discrepancy(p, q, kernel=oracle.gram("exp-hamming", 5)) == pytest.approx(
        stein.discrepancy(p, q), rel=1e-12
    )
    root = rng.standard_normal((5, 2))
    thin_gram = GramKernel(root @ root.T)
    assert not thin_gram.strictly_positive
    w = stein.get_operator("barker").flow(p, q)
    assert stein.discrepancy(p, q, kernel=thin_gram) == pytest.approx(float(((root.T @ w) ** 2).sum()), rel=1e-10)
    counts = rng.integers(1, 9, 5)
    u = oracle.double_sums(stein.stein_kernel(q, kernel=thin_gram), np.repeat(np.arange(5), counts))[1]
    assert stein.discrepancy_from_counts(counts, q, kernel=thin_gram, statistic="U") == pytest.approx(u, rel=1e-10)

    @stein.register_kernel("test-half")
    def half(dimensions: int) -> stein.TwoParameter:
        return stein.TwoParameter(0.5, 0.5)

    assert stein.discrepancy(p, q, kernel="test-half") == pytest.approx(0.5 * stein.discrepancy(p, q, kernel="delta"))
    assert "test-half" in stein.kernel_names()
    assert half(1).strictly_positive


@pytest.mark.parametrize(
    ("matrix", "message"),
    [
        (np.ones((2, 3)), "square"),
        (np.array([[1.0, 2.0], [2.0, 1.0]]), "eigenvalue -1"),
        (np.array([[1.0, 0.5], [0.0, 1.0]]), "symmetric"),
        (np.array([[np.nan, 0.0], [0.0, 1.0]]), "finite"),
        (np.eye(3), "3 outcomes"),
    ],
)
def test_bad_gram_matrices(matrix: np.ndarray, message: str) -> None:
    with pytest.raises(InvalidOption, match=message):
        stein.discrepancy([0.5, 0.5], [0.5, 0.5], kernel=matrix)


def test_literal_operator_warns_once_on_rows_it_cannot_vanish_on() -> None:
    p, q = np.array([[0.5, 0.5, 0.0], [0.0, 1.0, 0.0]]), np.full(3, 1 / 3)
    with pytest.warns(SteinSupportWarning, match="barker") as record:
        value = stein.discrepancy(p, q, "difference")
    assert len(record) == 1
    assert record[0].filename == __file__
    assert "[" not in str(record[0].message)  # nothing that changes from call to call, so that Python shows it once
    # the bound of the warning: w(z) = p(v z) wherever p(z) = 0
    assert (value >= (1 - np.exp(-1)) * np.array([0.25, 1.0])).all()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        stein.discrepancy(p, q, "barker")
        stein.discrepancy(q, q, "difference")


def test_literal_operator_keeps_its_floor_however_much_data() -> None:
    """A deterministic row under the posterior mean: barker goes to zero, the literal operator does not."""
    floor, sound = [], []
    for n in (10, 1000, 100_000):
        counts = np.array([0, n, 0, 0, 0])
        q = (counts + 1.0) / (n + 5.0)
        with pytest.warns(SteinSupportWarning):
            floor.append(stein.discrepancy_from_counts(counts, q, "difference"))
        sound.append(stein.discrepancy_from_counts(counts, q))
    assert min(floor) > 1 - np.exp(-1)
    assert sound[0] > 100 * sound[1] > 1e3 * sound[2]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([0.5, 0.6], [0.5, 0.5]), "p sums to 1.1"),
        (([[0.5, 0.5], [0.2, 0.2]], [0.5, 0.5]), r"p\[1\] sums to 0.4.*last axis"),
        (([0.5, 0.5], [1.5, -0.5]), r"q\[1\] is negative"),
        (([0.5, np.nan], [0.5, 0.5]), r"p\[1\] is not finite"),
        (([0.5, 0.5], [1.0]), "2 outcomes on its last axis and q has 1"),
        ((np.full((2, 3), 1 / 3), np.full((4, 3), 1 / 3)), "do not broadcast"),
        ((1.0, [1.0]), "last axis"),
        (([], []), "at least one"),
        (([0.5, "a"], [0.5, 0.5]), "not an array of real numbers"),
    ],
)
def test_bad_probabilities(arguments: tuple, message: str) -> None:
    with pytest.raises(InvalidDistribution, match=message):
        stein.discrepancy(*arguments)


@pytest.mark.parametrize(
    ("counts", "statistic", "message"),
    [
        ([1, -1], "V", r"counts\[1\] is -1"),
        ([1, 0.5], "V", r"counts\[1\] is 0.5"),
        ([1, np.inf], "V", r"counts\[1\] is inf"),
        ([0, 0], "V", "has 0 samples and the V-statistic needs 1"),
        ([[3, 1], [0, 1]], "U", r"row \[1\] has 1 samples and the U-statistic needs 2"),
        ([1, 2, 3], "V", "3 outcomes"),
    ],
)
def test_bad_counts(counts: list, statistic: str, message: str) -> None:
    with pytest.raises(InvalidDistribution, match=message):
        stein.discrepancy_from_counts(counts, [0.5, 0.5], statistic=statistic)


def test_unknown_statistic() -> None:
    with pytest.raises(InvalidOption, match="'V' or 'U'"):
        stein.discrepancy_from_counts([1, 1], [0.5, 0.5], statistic="W")
