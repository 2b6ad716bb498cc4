"""Greedy thinning against a search that looks at every sample."""

from __future__ import annotations

import numpy as np
import pytest

import steering.stein as stein
from steering.errors import InvalidOption
from steering.stein.errors import InvalidDistribution


def greedy(kappa: np.ndarray, m: int, replace: bool) -> list[int]:
    """The definition on the full n x n matrix."""
    objective = np.diagonal(kappa).copy()
    chosen = []
    for _ in range(m):
        best = int(np.argmin(np.round(objective, 9)))
        chosen.append(best)
        objective = objective + 2 * kappa[best]
        if not replace:
            objective[best] = np.inf
    return chosen


@pytest.mark.parametrize("replace", [True, False])
@pytest.mark.parametrize("operator", ["barker", "difference", "gibbs"])
def test_categorical_thinning_is_the_greedy_search_over_all_samples(operator: str, replace: bool) -> None:
    rng = np.random.default_rng(0)
    q = rng.dirichlet(np.ones(5))
    y = rng.integers(0, 5, 60)
    kappa = stein.stein_kernel(q, operator)
    expected = greedy(kappa[np.ix_(y, y)], 25, replace)
    got = stein.thin(y, 25, q=q, operator=operator, replace=replace)
    np.testing.assert_array_equal(y[got], y[expected])
    np.testing.assert_array_equal(got, expected)


@pytest.mark.parametrize("replace", [True, False])
@pytest.mark.parametrize("input_kernel", ["exp-hamming", "delta"])
def test_thinning_of_transitions_is_the_greedy_search_over_all_samples(input_kernel: str, replace: bool) -> None:
    """Samples (s, a, s') against the joint kernel on all pairs; rows of q without samples may be all zero."""
    rng = np.random.default_rng(3)
    q = rng.dirichlet(np.ones(3), (3, 2))
    q[2, 1] = 0.0
    samples = rng.integers(0, [3, 2, 3], (80, 3))
    samples = samples[~((samples[:, 0] == 2) & (samples[:, 1] == 1))]
    kappa = np.empty((len(samples), len(samples)))
    rows = [stein.get_operator("barker").row(q[s, a], y) for s, a, y in samples]
    for i, j in np.ndindex(kappa.shape):
        differ = (samples[i, :2] != samples[j, :2]).sum()
        k = float(differ == 0) if input_kernel == "delta" else np.exp(-differ)
        kappa[i, j] = k * (rows[i] @ (np.exp(-1) + (1 - np.exp(-1)) * np.eye(3)) @ rows[j])
    expected = greedy(kappa, 30, replace)
    got = stein.thin(samples, 30, q=q, input_kernel=input_kernel, replace=replace)
    np.testing.assert_array_equal(got, expected)
    with pytest.raises(InvalidDistribution, match=r"q\[2, 1\] is all zero"):
        stein.thin([[2, 1, 0]], 1, q=q)


def test_thinned_categories_follow_the_model_not_the_sample() -> None:
    q = np.array([0.1, 0.2, 0.3, 0.4])
    y = np.random.default_rng(0).integers(0, 4, 5000)  # uniform, far from q
    kept = np.bincount(y[stein.thin(y, 200, q=q)], minlength=4) / 200
    np.testing.assert_allclose(kept, q, atol=0.01)


def imq_matrix(x: np.ndarray, s: np.ndarray, g: np.ndarray) -> np.ndarray:
    d = x[:, None] - x[None]
    form = 1 + np.einsum("ijk,kl,ijl->ij", d, g, d)
    second = np.einsum("ijk,kl,ijl->ij", d, g @ g, d)
    along = np.einsum("ijk,kl,ijl->ij", s[:, None] - s[None], g, d)
    return -3 * second / form**2.5 + (np.trace(g) + along) / form**1.5 + s @ s.T / form**0.5


@pytest.mark.parametrize("replace", [True, False])
@pytest.mark.parametrize("preconditioner", ["id", "med", "sclmed", "smpcov", 0.7])
@pytest.mark.parametrize("standardise", [True, False])
def test_continuous_thinning_is_the_greedy_search(
    preconditioner: str | float, standardise: bool, replace: bool
) -> None:
    rng = np.random.default_rng(1)
    x = rng.standard_normal((200, 2)) @ np.array([[1.0, 0.5], [0.0, 2.0]])
    s = -x
    z, t = x, s
    if standardise:
        spread = np.abs(x - x.mean(0)).mean(0)
        z, t = x / spread, s * spread
    distance = np.sqrt(((z[:, None] - z[None]) ** 2).sum(-1))[np.triu_indices(200, 1)]
    median = np.median(distance) ** 2
    g = {
        "id": np.eye(2),
        "med": np.eye(2) / median,
        "sclmed": np.eye(2) / median * np.log(200),
        "smpcov": np.linalg.inv(np.cov(z, rowvar=False)),
    }.get(preconditioner, np.eye(2) / 0.49)
    expected = greedy(imq_matrix(z, t, g), 30, replace)
    got = stein.thin(x, 30, score=s, preconditioner=preconditioner, standardise=standardise, replace=replace)
    np.testing.assert_array_equal(got, expected)
    by_function = stein.thin(
        x, 30, score=lambda v: -v, preconditioner=preconditioner, standardise=standardise, replace=replace
    )
    np.testing.assert_array_equal(by_function, got)


def test_thinning_beats_the_first_points() -> None:
    x = np.random.default_rng(2).standard_normal((2000, 2)) + 0.3
    kept = x[stein.thin(x, 40, score=lambda v: -v)]
    assert stein.ksd(kept, lambda v: -v) < stein.ksd(x[:40], lambda v: -v) / 5


def test_bad_thinning_input() -> None:
    q = [0.5, 0.5]
    for arguments, error, message in (
        ({"samples": [0, 1], "m": 1}, InvalidOption, "either q="),
        ({"samples": [0, 1], "m": 0, "q": q}, InvalidOption, "at least 1"),
        ({"samples": [0, 1], "m": 3, "q": q, "replace": False}, InvalidOption, "without replacement"),
        ({"samples": [0, 2], "m": 1, "q": q}, InvalidDistribution, r"samples\[1, 0\] is 2"),
        ({"samples": [0.5], "m": 1, "q": q}, InvalidDistribution, "whole numbers"),
        ({"samples": [0], "m": 1, "q": [q]}, InvalidDistribution, "one row of 2"),
        ({"samples": [0], "m": 1.5, "q": q}, InvalidOption, "whole number"),
        ({"samples": np.zeros((3, 1)), "m": 1, "score": np.zeros((3, 1))}, InvalidDistribution, "never changes"),
    ):
        with pytest.raises(error, match=message):
            stein.thin(**arguments)
    points = np.random.default_rng(0).standard_normal((5, 2))
    flat = np.c_[points[:, 0], 2 * points[:, 0]]
    for choice, error, message in (
        ("cov", InvalidOption, "preconditioner must be"),
        (-1.0, InvalidOption, "positive"),
        ("smpcov", InvalidDistribution, "singular"),
    ):
        with pytest.raises(error, match=message):
            stein.thin(flat, 2, score=-flat, preconditioner=choice, standardise=False)
    with pytest.raises(InvalidDistribution, match="coincide"):
        stein.thin(np.zeros((4, 1)), 2, score=np.zeros((4, 1)), preconditioner="med", standardise=False)
