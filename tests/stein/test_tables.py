"""Sparse rows, the joint discrepancy and the dictionary: each against the dense or brute-force value."""

from __future__ import annotations

import itertools
import time

import numpy as np
import pytest
import scipy.sparse as sp
import stein_oracle as oracle
from hypothesis import given, settings
from hypothesis import strategies as st

import steering.stein as stein
from steering.errors import InvalidOption
from steering.stein.errors import InvalidDistribution, SteinSupportWarning

quiet = pytest.mark.filterwarnings("ignore::steering.stein.SteinSupportWarning")
EXP_HAMMING = {"exp-hamming": 1.0, "exp-hamming-normalised": 2.0}


@quiet
@settings(max_examples=80)
@given(
    seed=st.integers(0, 10_000),
    states=st.integers(1, 12),
    eta=st.sampled_from([1e-3, 0.5, 1.0, 20.0]),
    name=st.sampled_from(oracle.OPERATORS),
    kernel=st.sampled_from(["exp-hamming", "delta"]),
    statistic=st.sampled_from(["V", "U"]),
)
def test_sparse_rows_equal_dense_rows(
    seed: int, states: int, eta: float, name: str, kernel: str, statistic: str
) -> None:
    rng = np.random.default_rng(seed)
    counts = rng.integers(0, 6, (5, states)) * (rng.random((5, states)) < 0.4)
    counts[np.arange(5), rng.integers(0, states, 5)] += 2
    q = (counts + eta) / (counts + eta).sum(1, keepdims=True)
    rows = stein.sparse_rows(sp.csr_array(counts), eta)
    value = stein.discrepancy_sparse(*rows, operator=name, kernel=kernel, statistic=statistic)
    dense = stein.discrepancy_from_counts(counts, q, name, kernel, statistic)
    scale = np.abs(stein.stein_kernel(q, name, kernel)).max()
    np.testing.assert_allclose(value, dense, rtol=1e-10, atol=1e-12 * scale + 1e-14)


def test_sparse_cost_follows_the_support() -> None:
    """Twenty times the states, the same support: not even twice the time (dense would be 400 times)."""
    rng = np.random.default_rng(0)
    support = np.sort(rng.permuted(np.tile(np.arange(200), (2000, 1)), axis=1)[:, :5], axis=1)
    counts = rng.integers(1, 9, support.shape)

    def seconds(states: int) -> float:
        total = counts.sum(1) + states
        best = np.inf
        for _ in range(5):
            start = time.perf_counter()
            stein.discrepancy_sparse(support, counts, (counts + 1) / total[:, None], 1 / total, states)
            best = min(best, time.perf_counter() - start)
        return best

    assert seconds(4000) < 4 * seconds(200)


def test_sparse_input_is_checked() -> None:
    good = {"support": [[0, 2]], "counts": [[1, 3]], "q_support": [[0.2, 0.4]], "q_rest": [0.2], "n_states": 4}
    assert stein.discrepancy_sparse(**good).shape == (1,)
    with pytest.warns(SteinSupportWarning):
        stein.discrepancy_sparse(**good, operator="difference")
    for change, error, message in (
        ({"support": [[0, 4]]}, InvalidDistribution, "0 to 3"),
        ({"support": [[2, 2]]}, InvalidDistribution, "twice"),
        ({"support": [0, 1]}, InvalidDistribution, "two-dimensional"),
        ({"q_rest": [0.3]}, InvalidDistribution, "sums to 1.2"),
        ({"q_support": [[1.2, -0.6]]}, InvalidDistribution, r"q_support\[0, 1\] is -0.6"),
        ({"q_support": [[np.nan, 0.4]]}, InvalidDistribution, r"q_support\[0, 0\] is nan"),
        ({"q_rest": [np.inf]}, InvalidDistribution, r"q_rest\[0\] is inf"),
        ({"counts": [[1, 3, 2]]}, InvalidDistribution, r"counts has shape \(1, 3\)"),
        ({"q_support": [0.2, 0.4]}, InvalidDistribution, r"q_support has shape \(2,\)"),
        ({"q_rest": [0.2, 0.2]}, InvalidDistribution, r"q_rest has shape \(2,\)"),
        ({"n_states": 4.5}, InvalidOption, "n_states must be a whole number"),
        ({"empty": "foo"}, InvalidOption, "empty must be"),
        ({"counts": [[0, 0]]}, InvalidDistribution, "0 samples"),
        ({"counts": [[1, -3]]}, InvalidDistribution, "is -3"),
        ({"kernel": np.eye(4)}, InvalidOption, "Gram"),
        ({"statistic": "W"}, InvalidOption, "'V' or 'U'"),
        ({"operator": stein.get_operator("barker").on(np.ones((4, 4)))}, InvalidOption, "graph"),  # type: ignore[attr-defined]
        ({"q_support": [[0.6, 0.4]], "q_rest": [0.0], "operator": "sqrt"}, InvalidDistribution, "zero"),
    ):
        with pytest.raises(error, match=message):
            stein.discrepancy_sparse(**{**good, **change})


def brute_joint(samples: list, q: np.ndarray, name: str, input_kernel: str) -> tuple[float, float]:
    def k(x: tuple, y: tuple) -> float:
        if input_kernel == "delta":
            return float(x == y)
        return float(np.exp(-sum(i != j for i, j in zip(x, y, strict=True)) / EXP_HAMMING[input_kernel]))

    base = oracle.gram("exp-hamming", q.shape[-1])
    images = [oracle.operator_image(name, q[s[:-1]], s[-1]) for s in samples]
    coupled = list(zip(samples, images, strict=True))
    pairs = np.array([[k(s[:-1], t[:-1]) * (a @ base @ b) for t, b in coupled] for s, a in coupled])
    n = len(samples)
    return pairs.mean(), (pairs.sum() - np.trace(pairs)) / (n * (n - 1))


@quiet
@pytest.mark.parametrize("input_kernel", ["exp-hamming", "exp-hamming-normalised", "delta"])
@pytest.mark.parametrize("name", oracle.OPERATORS)
def test_joint_discrepancy_and_dictionary_equal_the_double_sum(name: str, input_kernel: str) -> None:
    rng = np.random.default_rng(5)
    counts = rng.integers(0, 3, (3, 2, 3))
    counts[1, 1] = 0
    q = rng.dirichlet(np.ones(3), (3, 2))
    samples = [tuple(int(i) for i in cell) for cell in np.argwhere(counts) for _ in range(counts[tuple(cell)])]
    v, u = brute_joint(samples, q, name, input_kernel)
    assert stein.joint_discrepancy(counts, q, name, input_kernel=input_kernel) == pytest.approx(v, rel=1e-10)
    assert stein.joint_discrepancy(counts, q, name, input_kernel=input_kernel, statistic="U") == pytest.approx(
        u, rel=1e-9
    )
    kept = stein.Dictionary(q, name, input_kernel=input_kernel)
    for i in rng.permutation(len(samples)):
        kept.add(samples[i])
    assert len(kept) == len(samples)
    assert kept.v_statistic == pytest.approx(v, rel=1e-10)
    assert kept.u_statistic == pytest.approx(u, rel=1e-9)
    np.testing.assert_array_equal(kept.counts, counts)


def test_joint_with_one_gram_matrix_for_each_axis_and_blank_rows() -> None:
    rng = np.random.default_rng(1)
    counts = rng.integers(0, 5, (3, 2, 3))
    counts[0, 1] = 0
    q = rng.dirichlet(np.ones(3), (3, 2))
    same = stein.joint_discrepancy(
        counts, q, input_kernel=[oracle.gram("exp-hamming", 3), oracle.gram("exp-hamming", 2)]
    )
    assert same == pytest.approx(stein.joint_discrepancy(counts, q), rel=1e-12)
    masked = q.copy()
    masked[0, 1] = 0.0  # an action that is not allowed
    assert stein.joint_discrepancy(counts, masked) == pytest.approx(same, rel=1e-12)
    counts[0, 1, 0] = 1
    with pytest.raises(InvalidDistribution, match=r"q\[0, 1\] is all zero"):
        stein.joint_discrepancy(counts, masked)


def test_joint_u_statistic_with_kernels_that_weigh_inputs() -> None:
    """Gram matrices whose diagonal is not one, against the double sum."""
    rng = np.random.default_rng(3)
    counts, q = rng.integers(0, 3, (2, 2, 3)), rng.dirichlet(np.ones(3), (2, 2))
    first, second = np.array([[2.0, 0.5], [0.5, 1.0]]), np.array([[3.0, 1.0], [1.0, 0.5]])
    samples = [tuple(int(i) for i in cell) for cell in np.argwhere(counts) for _ in range(counts[tuple(cell)])]
    base = oracle.gram("exp-hamming", 3)
    images = [oracle.operator_image("barker", q[s[:-1]], s[-1]) for s in samples]
    total = sum(
        first[s[0], t[0]] * second[s[1], t[1]] * float(a @ base @ b)
        for (i, (s, a)), (j, (t, b)) in itertools.product(enumerate(zip(samples, images, strict=True)), repeat=2)
        if i != j
    )
    value = stein.joint_discrepancy(counts, q, input_kernel=[first, second], statistic="U")
    assert value == pytest.approx(total / (len(samples) * (len(samples) - 1)), rel=1e-10)


def test_joint_population_is_the_limit_and_zero_at_the_truth() -> None:
    rng = np.random.default_rng(2)
    p, q = rng.dirichlet(np.ones(4), (3, 2)), rng.dirichlet(np.ones(4), (3, 2))
    weights = rng.dirichlet(np.ones(6)).reshape(3, 2)
    value = stein.joint_population(p, q, weights)
    n = 10**9
    counts = np.round(n * weights[..., None] * p)
    assert stein.joint_discrepancy(counts, q) == pytest.approx(value, rel=1e-6)
    assert stein.joint_population(p, p, weights) == pytest.approx(0, abs=1e-30)
    with pytest.raises(InvalidDistribution, match="do not match"):
        stein.joint_population(p, q, weights.ravel())


def test_joint_input_is_checked() -> None:
    counts, q = np.ones((2, 2, 2)), np.full((2, 2, 2), 0.5)
    with pytest.raises(InvalidDistribution, match="must be equal"):
        stein.joint_discrepancy(counts, q[0])
    with pytest.raises(InvalidDistribution, match="needs 2"):
        stein.joint_discrepancy(np.eye(2)[None] * [[1], [0]], q[:1], statistic="U")
    with pytest.raises(InvalidOption, match="2 input axes"):
        stein.joint_discrepancy(counts, q, input_kernel=["delta"])
    with pytest.raises(InvalidOption, match="'V' or 'U'"):
        stein.joint_discrepancy(counts, q, statistic="T")


def test_incremental_updates_stay_exact_and_cost_the_same() -> None:
    rng = np.random.default_rng(0)
    q = rng.dirichlet(np.ones(16))
    y = rng.choice(16, 20_000, p=q)
    kept = stein.Dictionary(q)
    times = []
    for start in range(0, 20_000, 1000):
        begin = time.perf_counter()
        for value in y[start : start + 1000]:
            kept.add(int(value))
        times.append(time.perf_counter() - begin)
    counts = np.bincount(y, minlength=16)
    assert kept.v_statistic == pytest.approx(stein.discrepancy_from_counts(counts, q), rel=1e-10)
    assert kept.u_statistic == pytest.approx(
        stein.discrepancy_from_counts(counts, q, statistic="U"), rel=1e-8, abs=1e-15
    )
    assert min(times[10:]) < 3 * min(times[:10])  # n grew twentyfold, the cost of an update did not
    before = kept.v_statistic
    kept.remove(int(y[0]))
    kept.add(int(y[0]))
    kept.add(3, times=5)
    for _ in range(5):
        kept.remove(3)
    assert kept.v_statistic == pytest.approx(before, rel=1e-9)
    kept.refresh()
    assert kept.v_statistic == pytest.approx(before, rel=1e-9)


def test_selection_takes_the_minimiser_of_the_batch() -> None:
    rng = np.random.default_rng(4)
    q = rng.dirichlet(np.ones(4), (3, 2))
    kept = stein.Dictionary(q)
    samples: list[tuple[int, ...]] = []
    for _ in range(12):
        batch = [tuple(int(i) for i in rng.integers(0, [3, 2, 4])) for _ in range(5)]
        totals = (
            [brute_joint([*samples, c], q, "barker", "exp-hamming")[0] * (len(samples) + 1) ** 2 for c in batch]
            if samples
            else None
        )
        place = kept.select(batch)
        if totals is not None:
            assert totals[place] == pytest.approx(min(totals), rel=1e-9)
        samples.append(batch[place])
    assert kept.v_statistic == pytest.approx(brute_joint(samples, q, "barker", "exp-hamming")[0], rel=1e-9)


def test_selected_points_fit_better_than_random_ones() -> None:
    rng = np.random.default_rng(0)
    q = rng.dirichlet(np.ones(8))
    y = rng.choice(8, 1000, p=q).reshape(100, 10)
    kept = stein.Dictionary(q)
    for batch in y:
        kept.select([int(v) for v in batch])
    random = stein.discrepancy_from_counts(np.bincount(y[:, 0], minlength=8), q)
    assert kept.v_statistic < random / 20


def test_shrinking_removes_what_changes_least() -> None:
    """Every removal, down to three samples, is the one that a search over all outcomes would make."""
    rng = np.random.default_rng(1)
    q = rng.dirichlet(np.ones(5))
    kept = stein.Dictionary(q)
    for y, n in enumerate(rng.multinomial(40, q) + 1):
        kept.add(y, times=int(n))
    while len(kept) > 3:
        counts, before = kept.counts.copy(), kept.v_statistic
        options = {
            int(y): abs(stein.discrepancy_from_counts(counts - (np.arange(5) == y), q) - before)
            for y in np.flatnonzero(counts)
        }
        (removed,) = kept.shrink(len(kept) - 1)
        assert options[removed[0]] == pytest.approx(min(options.values()), rel=1e-6, abs=1e-12)
    assert kept.v_statistic == pytest.approx(stein.discrepancy_from_counts(kept.counts, q), rel=1e-9)


def test_dictionary_refuses_samples_of_rows_without_a_model() -> None:
    """As `joint_discrepancy` does: no model is invented there."""
    q = np.array([[[0.5, 0.5], [0.0, 0.0]], [[0.5, 0.5], [0.1, 0.9]]])
    kept = stein.Dictionary(q)
    kept.add((0, 0, 1))
    for call in (lambda: kept.add((0, 1, 0)), lambda: kept.select([(0, 1, 0)]), lambda: kept.similarity((0, 1, 0))):
        with pytest.raises(InvalidDistribution, match=r"q\[0, 1\] is all zero"):
            call()
    assert kept.v_statistic == pytest.approx(stein.joint_discrepancy(kept.counts, q), rel=1e-12)


@quiet
def test_dictionary_is_unchanged_by_a_sample_that_overflows() -> None:
    kept = stein.Dictionary([0.5, 0.5 - 1e-200, 1e-200], "difference")
    kept.add(1)
    kept.add(0, times=2)
    before = kept.v_statistic
    with pytest.raises(InvalidDistribution, match="double precision"):
        kept.add(2)
    with pytest.raises(InvalidDistribution, match="double precision"):
        kept.select([2])
    assert kept.v_statistic == before
    assert kept.counts.tolist() == [2, 1, 0]
    kept.shrink(1)
    assert kept.counts.min() == 0
    assert kept.counts.sum() == len(kept) == 1


def test_dictionary_says_when_the_literal_operator_cannot_vanish() -> None:
    kept = stein.Dictionary([0.2, 0.3, 0.5], "difference")
    kept.add(1, times=2)
    for statistic in ("v_statistic", "u_statistic"):
        with pytest.warns(SteinSupportWarning, match="barker") as record:
            getattr(kept, statistic)
        assert record[0].filename == __file__
    for y in (0, 2):
        kept.add(np.array(y))  # zero-dimensional arrays and NumPy integers are whole numbers too
    assert kept.v_statistic > 0


def test_dictionary_mistakes_are_named() -> None:
    kept = stein.Dictionary([0.5, 0.5])
    for call, error, message in (
        (lambda: kept.v_statistic, InvalidDistribution, "0 samples and the V-statistic needs 1"),
        (lambda: kept.u_statistic, InvalidDistribution, "0 samples and the U-statistic needs 2"),
        (lambda: kept.add(2), InvalidDistribution, "outside"),
        (lambda: kept.add((0, 1)), InvalidDistribution, "1 whole numbers"),
        (lambda: kept.remove(0), InvalidDistribution, "not in the dictionary"),
        (lambda: kept.select([]), InvalidDistribution, "empty"),
        (lambda: kept.shrink(0), InvalidOption, "budget"),
        (lambda: kept.add(0, times=0), InvalidOption, "times"),
        (lambda: kept.add(0, times=2.5), InvalidOption, "times must be a whole number"),
        (lambda: kept.add(1.0), InvalidDistribution, "1 whole numbers"),
        (lambda: kept.add("a"), InvalidDistribution, "1 whole numbers"),
        (lambda: kept.shrink(1.5), InvalidOption, "budget must be a whole number"),
        (lambda: stein.Dictionary(np.full((2, 2), 0.5), input_kernel=[np.eye(2)]), InvalidOption, "inputs of a Dict"),
    ):
        with pytest.raises(error, match=message):
            call()
