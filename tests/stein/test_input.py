"""What users hand in by mistake, and corners that are no mistake: one sentence or the right value."""

from __future__ import annotations

import time
import warnings

import numpy as np
import pytest

import steering.stein as stein
from steering.errors import InvalidOption
from steering.stein.errors import InvalidDistribution, SteinSupportWarning

Q = np.array([0.2, 0.3, 0.5])
barker = stein.get_operator("barker")
assert isinstance(barker, stein.Reversible)


@pytest.mark.parametrize("operator", stein.operator_names())
def test_no_rows_give_no_values(operator: str) -> None:
    none, each = np.empty((0, 3)), np.empty((2, 0, 3))
    assert stein.discrepancy(none, Q, operator).shape == (0,)
    assert stein.discrepancy(each, Q, operator).shape == (2, 0)
    assert stein.discrepancy(none, none, operator).shape == (0,)
    for statistic in ("V", "U"):
        assert stein.discrepancy_from_counts(none, Q, operator, statistic=statistic).shape == (0,)


@pytest.mark.parametrize("name", ["barker", "min", "sqrt", "gibbs"])
def test_graphs_without_edges_move_nothing(name: str) -> None:
    op = stein.get_operator(name)
    assert isinstance(op, stein.Reversible)
    alone, pair = op.on(np.zeros((3, 3))), op.on(np.zeros((1, 1)))
    assert stein.discrepancy([0.5, 0.3, 0.2], Q, alone) == 0.0
    assert stein.discrepancy([[0.5, 0.3, 0.2]] * 2, [Q] * 2, alone).tolist() == [0.0, 0.0]
    assert stein.discrepancy([1.0], [1.0], pair) == 0.0
    assert stein.discrepancy_from_counts([4, 1, 1], Q, alone, statistic="U") == 0.0


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: stein.posterior_information([1.0, 2.0], draws=2.5, rng=0), InvalidOption, "draws must be a whole"),
        (lambda: stein.posterior_information([1.0, 2.0], draws=5, rng=-1), InvalidOption, "rng must be a seed"),
        (lambda: stein.posterior_information([1.0, 2.0], draws=5, rng="a"), InvalidOption, "rng must be a seed"),
        (lambda: stein.goodness_of_fit([1, 2], [0.5, 0.5], draws=9.5), InvalidOption, "draws must be a whole"),
        (lambda: stein.goodness_of_fit([1, 2], [0.5, 0.5], rng=-1), InvalidOption, "rng must be a seed"),
        (lambda: stein.goodness_of_fit(np.array([2**62] * 2), [0.5, 0.5]), InvalidDistribution, "add up to"),
        (lambda: stein.Reversible("c", lambda a, b: 1.0), InvalidOption, "shape of its arguments"),  # type: ignore
        (lambda: stein.Reversible("c", lambda a, b: a + 0 * b), InvalidOption, "not symmetric"),
        (lambda: stein.Reversible("c", lambda a, b: a * b), InvalidOption, "scale_free=False"),
        (lambda: stein.Reversible("c", lambda a, b: -a - b), InvalidOption, "must be positive"),
        (lambda: stein.get_operator("difference").on(np.ones((3, 3))), InvalidOption, "has no neighbours"),
        (lambda: stein.TwoParameter(-1, 0), InvalidOption, "a = -1"),
        (lambda: stein.TwoParameter(1, np.nan), InvalidOption, "b = nan"),
        (lambda: stein.discrepancy(Q + 0j, Q), InvalidDistribution, "p is not an array of real numbers"),
        (lambda: stein.posterior_information_rows([[1, 2, 3]], [1.0, 5.0, 9.0]), InvalidOption, "eta must be one"),
        (lambda: stein.sparse_rows([[0, 1]], [1.0, 2.0]), InvalidOption, "eta must be one number"),
        (lambda: stein.sparse_rows([0, 1], 1.0), InvalidDistribution, "rows x outcomes"),
        (
            lambda: stein.posterior_information([1.0, 2.0], [0, 1], reference="empirical", empty="foo"),
            InvalidOption,
            "'error' or 'mean', not 'foo'",
        ),
        (
            lambda: stein.posterior_information([1.0, 2.0], [0, 0], reference="empirical"),
            InvalidDistribution,
            "^the data has no samples",
        ),
        (lambda: stein.discrepancy_from_counts([1, 2, 3], Q, empty="foo"), InvalidOption, "empty must be"),
        (
            lambda: stein.discrepancy_from_counts([[0, 1, 0], [0, 0, 0]], Q, statistic="U"),
            InvalidDistribution,
            r"row \[0\] has 1 samples",
        ),
    ],
)
def test_mistakes_get_one_sentence(call: object, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message) as caught:
        call()  # type: ignore[operator]
    assert str(caught.value).count(". ") == 0


def test_a_tiny_probability_without_data_is_no_obstacle() -> None:
    """p = 0 where q = 5e-324: the ratio overflows, but nothing is multiplied by it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SteinSupportWarning)
        value = stein.discrepancy([0.5, 0.5, 0.0], [0.5, 0.5, 5e-324], "difference")
        tiny = stein.discrepancy([0.5, 0.5, 0.0], [0.5, 0.5 - 1e-200, 1e-200], "difference")
        assert value == pytest.approx(tiny, rel=1e-12)
        for statistic in ("V", "U"):
            stein.discrepancy_from_counts([2, 2, 0], [0.5, 0.5, 5e-324], "difference", statistic=statistic)
        with pytest.raises(InvalidDistribution, match="double precision"):
            stein.discrepancy([0.5, 0.4, 0.1], [0.5, 0.5, 5e-324], "difference")
    with pytest.raises(InvalidDistribution, match="smaller entries"):
        stein.discrepancy_from_counts([10**6, 10**6], [0.2, 0.8], kernel=np.eye(2) * 1e307)


def test_rows_without_samples_on_request() -> None:
    counts = np.array([[[3, 1, 2], [0, 0, 0]], [[0, 1, 0], [2, 2, 2]]])
    for statistic, few in (("V", [[False, True], [False, False]]), ("U", [[False, True], [True, False]])):
        nan = stein.discrepancy_from_counts(counts, Q, statistic=statistic, empty="nan")
        np.testing.assert_array_equal(np.isnan(nan), few)
        zero = stein.discrepancy_from_counts(counts, Q, statistic=statistic, empty="zero")
        np.testing.assert_array_equal(zero, np.nan_to_num(nan))
        assert nan[0, 0] == pytest.approx(stein.discrepancy_from_counts(counts[0, 0], Q, statistic=statistic))
        rows = stein.sparse_rows(counts.reshape(4, 3), 1.0)
        sparse = stein.discrepancy_sparse(*rows, statistic=statistic, empty="nan")
        np.testing.assert_array_equal(np.isnan(sparse), np.ravel(few))
    assert np.isnan(stein.discrepancy_from_counts([0, 0, 0], Q, empty="nan"))


def test_many_rows_of_one_model_share_its_matrix() -> None:
    """As fast as one product with the Stein kernel, within a factor that noise cannot reach; equal to row by row."""
    rng = np.random.default_rng(0)
    counts, q = rng.integers(0, 5, (2000, 100)), rng.dirichlet(np.ones(100))

    def seconds(function: object) -> float:
        times = []
        for _ in range(5):
            start = time.perf_counter()
            function()  # type: ignore[operator]
            times.append(time.perf_counter() - start)
        return min(times)

    ours = seconds(lambda: stein.discrepancy_from_counts(counts, q))
    product = seconds(lambda: np.einsum("ni,ni->n", counts @ stein.stein_kernel(q), counts))
    assert ours < 4 * product
    values = stein.discrepancy_from_counts(counts[:5], q)
    np.testing.assert_allclose(values, [stein.discrepancy_from_counts(c, q) for c in counts[:5]], rtol=1e-12)
    assert stein.discrepancy(np.stack([q, q]), q).max() < 1e-28
