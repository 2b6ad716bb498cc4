"""Kernels of a function f of the outcomes, and mixtures: against explicit Gram matrices and double sums; refusals."""

from __future__ import annotations

import numpy as np
import pytest
import stein_oracle as oracle
from hypothesis import given, settings
from hypothesis import strategies as st

import steering.stein as stein
from steering.errors import InvalidOption, UnknownName
from steering.stein.errors import InvalidDistribution
from steering.stein.value_kernels import summands

quiet = pytest.mark.filterwarnings("ignore::steering.stein.SteinSupportWarning")
HAMMING = oracle.gram("exp-hamming", 5)
F = np.array([0.5, -2.0, 3.0, 0.0, 1.5])


def mixed(f: np.ndarray) -> tuple[stein.MixedKernel, np.ndarray]:
    """A mixture and the matrix that it stands for."""
    kernel = stein.MixedKernel([(0.3, "exp-hamming"), (2.0, stein.ValueKernel(f))])
    return kernel, 0.3 * oracle.gram("exp-hamming", len(f)) + 2.0 * np.outer(f, f)


@quiet
@settings(max_examples=80)
@given(
    data=oracle.counts_and_pmf(1e-4),
    name=st.sampled_from(oracle.OPERATORS),
    seed=st.integers(0, 99),
    mixture=st.booleans(),
)
def test_statistics_equal_double_sums_over_samples(data: tuple, name: str, seed: int, mixture: bool) -> None:
    counts, q = data
    f = np.random.default_rng(seed).normal(size=len(q))
    kernel, matrix = mixed(f) if mixture else (stein.ValueKernel(f), np.outer(f, f))
    t = np.array([oracle.operator_image(name, q, y) for y in range(len(q))])
    samples = np.repeat(np.arange(len(q)), counts)
    v, u, scale = oracle.double_sums(t @ matrix @ t.T, samples)
    reach = np.sqrt(len(q) * np.trace(matrix)) * (oracle.rounding(name, q, samples) + 1e-15 * np.abs(t).max())
    slack = 2 * np.sqrt(max(v, 0.0)) * reach + reach**2
    close = {"rel": 1e-9, "abs": 1e-12 * scale + 2 * slack}
    assert stein.discrepancy_from_counts(counts, q, name, kernel) == pytest.approx(v, **close)
    assert stein.discrepancy_from_counts(counts, q, name, kernel, statistic="U") == pytest.approx(u, **close)
    assert stein.discrepancy(counts / counts.sum(), q, name, kernel) == pytest.approx(v, **close)


@pytest.mark.parametrize(
    "kernel", [stein.ValueKernel(F), mixed(F)[0], stein.MixedKernel([(1.0, HAMMING), (0.0, "delta")])]
)
def test_a_kernel_is_its_matrix(kernel: stein.ValueKernel | stein.MixedKernel) -> None:
    rng = np.random.default_rng(0)
    w, m = rng.normal(size=(2, 3, 5)), rng.dirichlet(np.ones(5), (2, 3))
    matrix = kernel.gram(5)
    np.testing.assert_allclose(kernel.apply(w), w @ matrix, rtol=1e-12)
    np.testing.assert_allclose(kernel.quadratic(w), np.einsum("...i,ij,...j->...", w, matrix, w), rtol=1e-12)
    np.testing.assert_allclose(kernel.quadratic(w[0, 0]), w[0, 0] @ matrix @ w[0, 0], rtol=1e-12)
    np.testing.assert_allclose(kernel.diagonal(5), np.diagonal(matrix), rtol=1e-12)
    by_hand = [[float((matrix * (np.diag(row) - np.outer(row, row))).sum()) for row in rows] for rows in m]
    np.testing.assert_allclose(kernel.scatter(m), by_hand, rtol=1e-10)
    assert kernel.size == 5


def test_the_matrices_are_those_of_the_definition() -> None:
    np.testing.assert_allclose(stein.ValueKernel(F).gram(5), np.outer(F, F))
    kernel, matrix = mixed(F)
    np.testing.assert_allclose(kernel.gram(5), matrix)
    nested = stein.MixedKernel([(0.5, kernel), (1.0, "delta")])
    np.testing.assert_allclose(nested.gram(5), 0.5 * matrix + np.eye(5))
    assert [weight for weight, _ in summands(nested)] == [0.15, 1.0, 1.0]
    assert stein.MixedKernel([(1, "delta")]).size is None


@quiet
@settings(max_examples=60)
@given(
    q=oracle.pmfs(1e-3, sizes=(2, 12)),
    name=st.sampled_from(["barker", "gibbs", "min", "sqrt"]),
    seed=st.integers(0, 99),
    shift=st.floats(-100, 100),
)
def test_values_matter_by_their_differences_and_numbering_not_at_all(
    q: np.ndarray, name: str, seed: int, shift: float
) -> None:
    rng = np.random.default_rng(seed)
    f, p, order = rng.normal(size=len(q)), rng.dirichlet(np.ones(len(q))), rng.permutation(len(q))
    value = stein.discrepancy(p, q, name, stein.ValueKernel(f))
    slack = 1e-10 * np.abs(stein.get_operator(name).generator(q)).sum() ** 2
    assert stein.discrepancy(p, q, name, stein.ValueKernel(f + shift)) == pytest.approx(value, rel=1e-8, abs=slack)
    again = stein.discrepancy(p[order], q[order], name, stein.ValueKernel(f[order]))
    assert again == pytest.approx(value, rel=1e-9, abs=slack)
    assert stein.discrepancy(q, q, name, stein.ValueKernel(f)) == pytest.approx(0.0, abs=slack)


def test_gibbs_compares_the_means_of_f() -> None:
    rng = np.random.default_rng(1)
    p, q = rng.dirichlet(np.ones(5), 7), rng.dirichlet(np.ones(5), 7)
    np.testing.assert_allclose(stein.discrepancy(p, q, "gibbs", stein.ValueKernel(F)), ((q - p) @ F) ** 2, rtol=1e-9)
    # the root is the distance over one function: no larger than that over the ball which holds it
    ball = stein.MixedKernel([(1.0, stein.ValueKernel(F)), (1.0, "delta")])
    assert (stein.discrepancy(p, q, "gibbs", ball) > stein.discrepancy(p, q, "gibbs", stein.ValueKernel(F))).all()


def test_what_a_value_kernel_cannot_see_a_mixture_does() -> None:
    f = np.array([1.0, 1.0, 0.0])
    p, q = np.array([0.5, 0.1, 0.4]), np.array([0.1, 0.5, 0.4])
    alone, kernel = stein.ValueKernel(f), mixed(f)[0]
    assert stein.discrepancy(p, q, "gibbs", alone) == pytest.approx(0.0, abs=1e-30)
    assert stein.discrepancy(p, q, "gibbs", kernel) > 0.01
    assert not alone.strictly_positive
    assert kernel.strictly_positive
    assert not stein.MixedKernel([(0.0, "delta"), (1.0, alone)]).strictly_positive
    assert stein.ValueKernel([2.0]).strictly_positive


def test_every_function_that_takes_a_kernel_takes_these() -> None:
    """The same numbers as with the Gram matrix, which all of them know."""
    rng = np.random.default_rng(2)
    kernel, matrix = mixed(F)
    q, counts = rng.dirichlet(np.ones(5), (3, 2)), rng.integers(0, 5, (3, 2, 5))
    weights = np.full((3, 2), 1 / 6)
    p = rng.dirichlet(np.ones(5), (3, 2))
    for ours, plain in ((kernel, matrix), (stein.ValueKernel(F), np.outer(F, F))):
        np.testing.assert_allclose(
            stein.stein_kernel(q, kernel=ours), stein.stein_kernel(q, kernel=plain), rtol=1e-9, atol=1e-13
        )
        for statistic in ("V", "U"):
            assert stein.joint_discrepancy(counts, q, kernel=ours, statistic=statistic) == pytest.approx(
                stein.joint_discrepancy(counts, q, kernel=plain, statistic=statistic), rel=1e-9
            )
        assert stein.joint_population(p, q, weights, kernel=ours) == pytest.approx(
            stein.joint_population(p, q, weights, kernel=plain), rel=1e-9
        )
        row = counts[0, 0] + 1
        one, two = (stein.goodness_of_fit(row, q[0, 0], kernel=k, draws=99) for k in (ours, plain))
        assert one.p_value == two.p_value
        whole, other = (stein.transition_goodness_of_fit(counts, q, kernel=k, draws=99) for k in (ours, plain))
        assert whole.p_value == other.p_value
        kept, known = stein.Dictionary(q, kernel=ours), stein.Dictionary(q, kernel=plain)
        for sample in ((0, 1, 2), (2, 0, 4), (0, 1, 3)):
            kept.add(sample)
            known.add(sample)
        assert [kept.v_statistic, kept.u_statistic] == pytest.approx([known.v_statistic, known.u_statistic], rel=1e-9)
    y = rng.integers(0, 5, 300)
    np.testing.assert_array_equal(
        stein.thin(y, 30, q=q[0, 0], kernel=kernel), stein.thin(y, 30, q=q[0, 0], kernel=matrix)
    )


def test_an_input_kernel_may_see_value_too() -> None:
    rng = np.random.default_rng(3)
    q, counts = rng.dirichlet(np.ones(4), 3), rng.integers(1, 5, (3, 4))
    f = np.array([1.0, 2.0, -1.0])
    assert stein.joint_discrepancy(counts, q, input_kernel=[stein.ValueKernel(f)]) == pytest.approx(
        stein.joint_discrepancy(counts, q, input_kernel=[np.outer(f, f)]), rel=1e-10
    )


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: stein.ValueKernel([[1.0, 2.0]]), r"must be a vector, not of shape \(1, 2\)"),
        (lambda: stein.ValueKernel(3.0), "must be a vector"),
        (lambda: stein.ValueKernel([]), "must be a vector"),
        (lambda: stein.ValueKernel([1.0, np.nan]), r"f\[1\] of a ValueKernel is nan"),
        (lambda: stein.ValueKernel([np.inf, 1.0]), r"f\[0\] of a ValueKernel is inf"),
        (lambda: stein.ValueKernel(["a", "b"]), "not an array of real numbers"),
        (lambda: stein.ValueKernel([1j, 0]), "not an array of real numbers"),
        (lambda: stein.MixedKernel([]), "at least one part"),
        (lambda: stein.MixedKernel([(-0.1, "delta")]), "weight -0.1"),
        (lambda: stein.MixedKernel([(np.nan, "delta")]), "weight nan"),
        (lambda: stein.MixedKernel(["delta"]), "pair"),
        (lambda: stein.MixedKernel([("delta", 1.0)]), "pair"),
        (lambda: stein.MixedKernel(3), "pairs"),
        (lambda: stein.MixedKernel([(1.0, stein.ValueKernel([1, 2])), (1.0, np.eye(3))]), "for 2 and for 3 outcomes"),
        (lambda: stein.get_kernel("value"), r"ValueKernel\(f\)"),
        (lambda: stein.get_kernel("mixed"), "MixedKernel"),
    ],
)
def test_bad_kernels_are_refused_in_a_sentence(make, message: str) -> None:
    with pytest.raises(InvalidOption, match=message):
        make()


@pytest.mark.parametrize("kernel", [stein.ValueKernel([1.0, 2.0]), mixed(np.array([1.0, 2.0]))[0]])
def test_a_kernel_of_another_size_is_refused_everywhere(kernel: stein.ValueKernel) -> None:
    q = np.full(3, 1 / 3)
    for call in (
        lambda: stein.discrepancy(q, q, kernel=kernel),
        lambda: stein.discrepancy(q, q, "gibbs", kernel),
        lambda: stein.discrepancy_from_counts([1, 1, 1], q, kernel=kernel, statistic="U"),
        lambda: stein.stein_kernel(q, kernel=kernel),
        lambda: stein.joint_discrepancy(np.ones((2, 3)), np.full((2, 3), 1 / 3), kernel=kernel),
        lambda: stein.goodness_of_fit([1, 1, 1], q, kernel=kernel),
        lambda: stein.thin([0, 1, 2], 2, q=q, kernel=kernel),
        lambda: stein.Dictionary(q, kernel=kernel),
        lambda: stein.posterior_information(np.ones(3), kernel=kernel),
        lambda: stein.posterior_information(np.ones(3), operator="gibbs", kernel=kernel),
        lambda: stein.posterior_information(np.ones(3), operator="min", kernel=kernel, rng=0),
        lambda: kernel.gram(3),
        lambda: kernel.diagonal(3),
    ):
        with pytest.raises(InvalidOption, match="Kernel is for 2 outcomes and the distributions have 3"):
            call()


@pytest.mark.parametrize("kernel", [stein.ValueKernel(np.arange(4.0)), mixed(np.arange(4.0))[0]])
def test_functions_that_group_equal_outcomes_say_that_they_cannot(kernel: stein.ValueKernel) -> None:
    q = np.full((4, 4), 1 / 16)
    what = f"only asks whether outcomes are equal.*{type(kernel).__name__}"
    for call in (
        lambda: stein.discrepancy_sparse([[0, 1]], [[1, 1]], [[0.25, 0.25]], [0.25], 4, kernel=kernel),
        lambda: stein.posterior_information_rows(np.ones((2, 4)), 1.0, kernel=kernel),
        lambda: stein.vector_discrepancy(q, q, "barker", kernel),  # type: ignore[arg-type]
        lambda: stein.Dictionary(q * 4, input_kernel=[kernel]),
    ):
        with pytest.raises(InvalidOption, match=what):
            call()


def test_a_misspelt_part_is_named() -> None:
    with pytest.raises(UnknownName, match="did you mean 'exp-hamming'"):
        stein.MixedKernel([(1.0, "hamming")])


def test_values_that_overflow_are_refused_and_f_is_kept() -> None:
    f = np.array([1e200, -1e200])
    kernel = stein.ValueKernel(f)
    f[:] = 0.0  # the kernel has its own copy
    assert (kernel.f != 0).all()
    with pytest.raises(ValueError, match="read-only"):
        kernel.f[0] = 1.0
    with pytest.raises(InvalidDistribution, match="smaller entries"):
        stein.discrepancy([0.5, 0.5], [0.1, 0.9], kernel=kernel)
    for operator in ("gibbs", "barker"):
        with pytest.raises(InvalidDistribution, match="smaller entries"):
            stein.posterior_information([1.0, 2.0], operator=operator, kernel=kernel)
