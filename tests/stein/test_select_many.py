"""A whole sequence of batches selected in one compiled call: the same places as `Dictionary.select` one by one."""

from __future__ import annotations

import numpy as np
import pytest
from stein_oracle import KERNELS, OPERATORS

import steering.stein as stein
from steering.errors import InvalidOption
from steering.stein import InvalidDistribution


def one_by_one(kept: stein.Dictionary, samples: np.ndarray, batch: int) -> list[int]:
    rows = [tuple(int(i) for i in sample) for sample in samples]
    return [begin + kept.select(rows[begin : begin + batch]) for begin in range(0, len(rows), batch)]


def model(name: str, rng: np.random.Generator) -> np.ndarray:
    shape = {"outcomes": (9,), "one input": (3, 4), "table": (6, 2, 6)}.get(name, (5, 3, 11))
    # Under a uniform model most batches hold samples that are exactly alike but for the order of their entries.
    return np.full(shape, 1.0 / shape[-1]) if name == "ties" else rng.dirichlet(np.ones(shape[-1]), shape[:-1])


@pytest.mark.parametrize("length", [12, 600])
@pytest.mark.parametrize("name", ["outcomes", "one input", "table", "ties"])
@pytest.mark.parametrize("operator", OPERATORS)
def test_places_are_those_of_select_one_by_one(operator: str, name: str, length: int) -> None:
    rng = np.random.default_rng(length)
    q = model(name, rng)
    samples = np.stack([rng.integers(n, size=length) for n in q.shape], -1)
    for batch, kernel in zip((1, 2, 3, 7), (*KERNELS, "exp-hamming"), strict=True):
        fast, slow = (stein.Dictionary(q, operator, kernel, "exp-hamming-normalised") for _ in range(2))
        for part in (samples[: length // 2], samples[length // 2 :]):
            np.testing.assert_array_equal(fast.select_many(part, batch), one_by_one(slow, part, batch))
        np.testing.assert_array_equal(fast.counts, slow.counts)
        assert len(fast) == len(slow)
        sample = tuple(int(i) for i in samples[0])
        assert fast.similarity(sample) == slow.similarity(sample)
        if operator != "difference":
            assert fast.v_statistic == pytest.approx(slow.v_statistic, rel=1e-9, abs=1e-14)
            assert fast.u_statistic == pytest.approx(slow.u_statistic, rel=1e-9, abs=1e-14)


def test_totals_are_kept_by_what_follows() -> None:
    q = np.random.default_rng(0).dirichlet(np.ones(4), (4, 2))
    samples = np.stack([np.random.default_rng(1).integers(n, size=20) for n in q.shape], -1)
    kept = stein.Dictionary(q)
    kept.add((0, 1, 2), times=3)
    assert kept.v_statistic > 0
    kept.select_many(samples, 2)
    kept.add((3, 0, 1))
    kept.remove((0, 1, 2))
    kept.shrink(9)
    assert kept.v_statistic == pytest.approx(stein.joint_discrepancy(kept.counts, q), rel=1e-10)
    assert kept.u_statistic == pytest.approx(stein.joint_discrepancy(kept.counts, q, statistic="U"), rel=1e-10)


@pytest.mark.parametrize("operator", OPERATORS)
@pytest.mark.parametrize("tiny", [False, True])
def test_rows_are_those_of_the_generator_one_by_one(operator: str, tiny: bool) -> None:
    rng = np.random.default_rng(3)
    op = stein.get_operator(operator)
    q = rng.dirichlet(np.ones(10), 40)
    if tiny and not op.needs_full_support:
        q[:20, 0] = 0.0
        q[5:30, 1] = 1e-310
    y = rng.integers(10, size=40)
    np.testing.assert_array_equal(op.rows(q, y), [op.row(model, int(z)) for model, z in zip(q, y, strict=True)])


def test_rows_along_a_graph() -> None:
    op = stein.get_operator("barker").on(np.eye(4, k=1) + np.eye(4, k=-1))
    q = np.random.default_rng(0).dirichlet(np.ones(4), 4)
    np.testing.assert_array_equal(op.rows(q, np.arange(4)), [op.row(q[i], i) for i in range(4)])


def test_another_model_keeps_the_samples() -> None:
    first, second = np.random.default_rng(0).dirichlet(np.ones(4), (2, 4, 2))
    samples = np.stack([np.random.default_rng(1).integers(n, size=30) for n in first.shape], -1)
    moved, fresh = stein.Dictionary(first), stein.Dictionary(second)
    moved.select_many(samples, 2)
    moved.change_model(second)
    fresh.counts[:] = moved.counts
    fresh.refresh()
    assert moved.v_statistic == fresh.v_statistic == pytest.approx(stein.joint_discrepancy(moved.counts, second))
    np.testing.assert_array_equal(moved.select_many(samples, 3), fresh.select_many(samples, 3))


def test_a_model_that_does_not_fit_is_refused_and_nothing_changes() -> None:
    q = np.full((2, 2, 2), 0.5)
    kept = stein.Dictionary(q)
    kept.add((0, 1, 0))
    before = kept.v_statistic
    blank = q.copy()
    blank[0, 1] = 0.0
    for other, message in ((q[0], "shape"), (blank, r"q\[0, 1\] is all zero"), (q * 2, "sums to 2")):
        with pytest.raises(InvalidDistribution, match=message):
            kept.change_model(other)
        assert kept.v_statistic == before


def test_mistakes_are_named_and_nothing_is_taken_in() -> None:
    q = np.array([[[0.5, 0.5], [0.0, 0.0]], [[0.5, 0.5], [0.1, 0.9]]])
    kept = stein.Dictionary(q)
    good = [[0, 0, 1], [1, 1, 0]]
    for samples, batch, error, message in (
        ([*good, [0, 1, 0]], 2, InvalidDistribution, r"q\[0, 1\] is all zero"),
        ([*good, [0, 2, 0]], 2, InvalidDistribution, r"samples\[2, 1\] is 2, outside"),
        ([*good, [0, -1, 0]], 2, InvalidDistribution, r"samples\[2, 1\] is -1, outside"),
        ([[0.0, 0.0, 1.0]], 2, InvalidDistribution, "whole numbers"),
        ([0, 0, 1], 2, InvalidDistribution, "at least one row of 3"),
        (good, 0, InvalidOption, "batch must be a whole number"),
    ):
        with pytest.raises(error, match=message):
            kept.select_many(samples, batch)
        assert len(kept) == kept.counts.sum() == 0


def test_a_sample_that_overflows_is_refused_and_nothing_is_taken_in() -> None:
    kept = stein.Dictionary([0.5, 0.5 - 1e-200, 1e-200], "difference")
    kept.add(0)
    before = kept.similarity(1)
    with pytest.raises(InvalidDistribution, match="double precision"):
        kept.select_many([0, 1, 0, 2], 2)
    assert kept.counts.tolist() == [1, 0, 0]
    assert kept.similarity(1) == before


def test_a_dictionary_is_shown_in_one_line() -> None:
    kept = stein.Dictionary(np.full((4, 2, 4), 0.25), "difference")
    kept.add((0, 1, 2))
    shown = "Dictionary: 1 sample against a model of shape (4, 2, 4), operator difference; v_statistic, select(batch)"
    assert repr(kept) == shown
    empty = stein.Dictionary([0.5, 0.5])
    assert repr(empty).startswith("Dictionary: 0 samples against a pmf of 2 outcomes, operator barker;")
