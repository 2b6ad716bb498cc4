"""Vectors of categorical coordinates against the definition on all outcomes."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import steering.stein as stein
from steering.errors import InvalidOption
from steering.stein.errors import InvalidDistribution, SteinSupportWarning

quiet = pytest.mark.filterwarnings("ignore::steering.stein.SteinSupportWarning")


def brute_kernel(q: np.ndarray, divide: float | None) -> np.ndarray:
    """kappa over all outcomes from T_q l = sum over coordinates of s_i l - D*_i l."""
    outcomes = list(itertools.product(*(range(n) for n in q.shape)))
    place = {y: i for i, y in enumerate(outcomes)}

    def kernel(x: tuple, y: tuple) -> float:
        h = sum(i != j for i, j in zip(x, y, strict=True))
        return float(h == 0) if divide is None else float(np.exp(-h / divide))

    base = np.array([[kernel(x, y) for y in outcomes] for x in outcomes])
    total = np.zeros_like(base)
    for axis, n in enumerate(q.shape):
        images = np.zeros_like(base)
        for y in outcomes:
            ahead = tuple((v + (i == axis)) % n if i == axis else v for i, v in enumerate(y))
            back = tuple((v - 1) % n if i == axis else v for i, v in enumerate(y))
            images[place[y], place[y]] += (1 - q[ahead] / q[y]) - 1
            images[place[y], place[back]] += 1
        total += images @ base @ images.T
    return total


@quiet
@pytest.mark.parametrize(("kernel", "divide"), [("exp-hamming", 1), ("exp-hamming-normalised", 3), ("delta", None)])
@pytest.mark.parametrize("sizes", [(2, 3, 2), (2, 2, 2), (1, 4, 2)])
def test_three_ways_give_the_same_statistics(kernel: str, divide: float | None, sizes: tuple) -> None:
    rng = np.random.default_rng(0)
    q = rng.dirichlet(np.ones(int(np.prod(sizes)))).reshape(sizes)
    counts = rng.integers(0, 4, sizes)
    counts[0, 0, 0] += 2
    kappa = brute_kernel(q, divide)
    n, flat = counts.sum(), counts.ravel()
    v = flat @ kappa @ flat / n**2
    u = (flat @ kappa @ flat - flat @ np.diagonal(kappa)) / (n * (n - 1))
    samples = np.repeat(np.argwhere(counts >= 0), flat, axis=0)

    def log_pmf(y: np.ndarray) -> np.ndarray:
        return np.log(q[tuple(y.T)]) + 5.0  # any constant

    for statistic, value in (("V", v), ("U", u)):
        table = stein.vector_discrepancy_from_counts(counts, q, "difference", kernel=kernel, statistic=statistic)
        points = stein.vector_discrepancy_from_samples(samples, log_pmf, sizes, "difference", kernel, statistic)
        assert table == pytest.approx(value, rel=1e-10)
        assert points == pytest.approx(value, rel=1e-10)
    assert stein.vector_discrepancy(counts / n, q, "difference", kernel=kernel) == pytest.approx(v, rel=1e-10)


@settings(max_examples=40)
@given(
    seed=st.integers(0, 1000),
    sizes=st.sampled_from([(2, 3, 2), (2, 2), (4,), (1, 4, 2), (3, 3)]),
    operator=st.sampled_from(["barker", "min", "sqrt"]),
    kernel=st.sampled_from(["exp-hamming", "exp-hamming-normalised", "delta"]),
    zeros=st.booleans(),
)
def test_samples_and_tables_agree_for_balanced_operators(
    seed: int, sizes: tuple[int, ...], operator: str, kernel: str, zeros: bool
) -> None:
    """Pairs of samples, in closed form, against the flow over the whole table; also where q forbids a cell."""
    rng = np.random.default_rng(seed)
    flat = rng.dirichlet(np.ones(int(np.prod(sizes))))
    if zeros and operator != "sqrt":
        flat[-1] = 0.0
    q = (flat / flat.sum()).reshape(sizes)
    counts = rng.integers(0, 3, sizes)
    counts.ravel()[0] += 2
    samples = np.repeat(np.argwhere(counts >= 0), counts.ravel(), axis=0)

    def log_pmf(y: np.ndarray) -> np.ndarray:
        with np.errstate(divide="ignore"):
            return np.log(q[tuple(y.T)]) - 700.0  # any constant, also where exp of it is nearly nothing

    for statistic in ("V", "U"):
        table = stein.vector_discrepancy_from_counts(counts, q, operator, kernel, statistic)
        raw = stein.vector_discrepancy_from_counts(
            samples=samples, q=q, operator=operator, kernel=kernel, statistic=statistic
        )
        points = stein.vector_discrepancy_from_samples(samples, log_pmf, sizes, operator, kernel, statistic)
        assert points == pytest.approx(table, rel=1e-9, abs=1e-12)
        assert raw == table


def test_every_function_has_the_same_operator_unless_told() -> None:
    import inspect

    for name in stein.__all__:
        found = getattr(stein, name)
        target = found.__init__ if inspect.isclass(found) else found
        parameters = inspect.signature(target).parameters if callable(target) else {}
        if "operator" in parameters and name not in ("register_operator", "get_operator"):
            assert parameters["operator"].default in ("barker", inspect.Parameter.empty), name
    q = np.random.default_rng(0).dirichlet(np.ones(6)).reshape(2, 3)
    p = np.full((2, 3), 1 / 6)
    assert stein.vector_discrepancy(p, q) == stein.vector_discrepancy(p, q, "barker")


@settings(max_examples=30)
@given(seed=st.integers(0, 1000), name=st.sampled_from(["difference", "barker", "sqrt", "min", "gibbs"]))
def test_zero_if_and_only_if_equal(seed: int, name: str) -> None:
    rng = np.random.default_rng(seed)
    p, q = (rng.dirichlet(np.ones(12)).reshape(3, 2, 2) for _ in range(2))
    assert stein.vector_discrepancy(q, q, name) == pytest.approx(0, abs=1e-22)
    assert stein.vector_discrepancy(p, q, name) > 1e-4


@pytest.mark.parametrize("name", ["barker", "min", "sqrt", "gibbs"])
def test_u_statistic_of_reversible_operators(name: str) -> None:
    """Against the double sum with the generator written out, neighbours one coordinate apart."""
    sizes = (2, 3, 2)
    rng = np.random.default_rng(4)
    q = rng.dirichlet(np.ones(12)).reshape(sizes)
    counts = rng.integers(0, 3, sizes)
    counts[1, 1, 1] += 2
    cells = np.array(list(itertools.product(*(range(n) for n in sizes))))
    flat = q.ravel()
    t = np.zeros((12, 12))
    for (y, a), (z, b) in itertools.permutations(enumerate(cells), 2):
        changed = np.flatnonzero(a != b)
        if len(changed) == 1:
            line = q.sum(changed[0], keepdims=True)[tuple(np.where(np.arange(3) == changed[0], 0, a))]
            ratio = flat[z] / flat[y]
            t[y, z] = {
                "barker": ratio / (1 + ratio),
                "min": min(1, ratio),
                "sqrt": np.sqrt(ratio),
                "gibbs": flat[z] / line,  # the conditional of the Gibbs sampler
            }[name]
    t -= np.diag(t.sum(1))
    kappa = t @ np.exp(-(cells[:, None] != cells[None]).sum(-1)) @ t.T
    n, c = counts.sum(), counts.ravel()
    v, own = c @ kappa @ c, c @ np.diagonal(kappa)
    assert stein.vector_discrepancy_from_counts(counts, q, name) == pytest.approx(v / n**2, rel=1e-10)
    value = stein.vector_discrepancy_from_counts(counts, q, name, statistic="U")
    assert value == pytest.approx((v - own) / (n * (n - 1)), rel=1e-10)


def test_gibbs_of_vectors_with_lines_that_the_model_forbids() -> None:
    q = np.array([[0.5, 0.5], [0.0, 0.0]])
    assert stein.vector_discrepancy(q, q, "gibbs") == 0.0
    assert stein.vector_discrepancy([[0.5, 0.3], [0.0, 0.2]], q, "gibbs") > 0.01


def test_one_coordinate_is_the_plain_discrepancy() -> None:
    rng = np.random.default_rng(0)
    p, q = rng.dirichlet(np.ones(5)), rng.dirichlet(np.ones(5))
    for name in ("difference", "barker", "gibbs"):
        assert stein.vector_discrepancy(p, q, name) == pytest.approx(stein.discrepancy(p, q, name), rel=1e-12)


def test_hamming_graph_joins_vectors_that_differ_once() -> None:
    sizes = (2, 3, 2)
    graph = stein.hamming_graph(sizes).toarray()
    outcomes = np.array(list(itertools.product(*(range(n) for n in sizes))))
    differ = (outcomes[:, None] != outcomes[None]).sum(-1)
    np.testing.assert_array_equal(graph, differ == 1)


def test_space_too_large_to_list() -> None:
    """Thirty coordinates of four values, independent: the V-statistic of samples from the model shrinks like 1/n."""
    rng = np.random.default_rng(0)
    logits = rng.standard_normal((30, 4)) * 0.3
    probabilities = np.exp(logits) / np.exp(logits).sum(1, keepdims=True)

    def log_pmf(y: np.ndarray) -> np.ndarray:
        return np.log(probabilities)[np.arange(30), y].sum(1)

    x = np.stack([rng.choice(4, 800, p=row) for row in probabilities], 1)
    sizes = [4] * 30
    values = [
        stein.vector_discrepancy_from_samples(x[:n], log_pmf, sizes, kernel="exp-hamming-normalised") for n in (50, 800)
    ]
    assert values[1] < values[0] / 8
    null = stein.vector_discrepancy_from_samples(x, log_pmf, sizes, kernel="exp-hamming-normalised", statistic="U")
    uniform = rng.integers(0, 4, (800, 30))
    wrong = stein.vector_discrepancy_from_samples(
        uniform, log_pmf, sizes, kernel="exp-hamming-normalised", statistic="U"
    )
    assert abs(null) < wrong / 10


def test_bad_vector_input() -> None:
    q = np.full((2, 2), 0.25)
    with pytest.warns(SteinSupportWarning):
        stein.vector_discrepancy([[1.0, 0.0], [0.0, 0.0]], q, "difference")
    with pytest.raises(InvalidDistribution, match="one axis a coordinate"):
        stein.vector_discrepancy(q.ravel(), q)
    with pytest.raises(InvalidOption, match="Gram"):
        stein.vector_discrepancy(q, q, kernel=np.eye(2))  # type: ignore[arg-type]
    with pytest.raises(InvalidDistribution, match="needs 2"):
        stein.vector_discrepancy_from_counts([[1, 0], [0, 0]], q, "barker", statistic="U")
    with pytest.raises(InvalidDistribution, match="outside its coordinate"):
        stein.vector_discrepancy_from_samples([[0, 2]], lambda y: np.zeros(len(y)), (2, 2))
    with pytest.raises(InvalidDistribution, match="shape"):
        stein.vector_discrepancy_from_samples([0, 1], lambda y: np.zeros(len(y)), (2, 2))
    with pytest.raises(InvalidDistribution, match="log_pmf must return one number"):
        stein.vector_discrepancy_from_samples([[0, 1]], lambda y: np.full(len(y), np.nan), (2, 2))
    with pytest.raises(InvalidOption, match="operator 'gibbs' has no form for samples"):
        stein.vector_discrepancy_from_samples([[0, 1]], lambda y: np.zeros(len(y)), (2, 2), "gibbs")
    with pytest.raises(InvalidDistribution, match="finite"):
        stein.vector_discrepancy_from_samples(
            [[0, 1]], lambda y: np.where(y.sum(axis=1) > 1, -np.inf, 0.0), (2, 2), "sqrt"
        )
    with pytest.raises(InvalidDistribution, match="finite"):
        stein.vector_discrepancy_from_samples([[0, 1]], lambda y: np.full(len(y), -np.inf), (2, 2))
    with pytest.raises(InvalidOption, match="'V' or 'U'"):
        stein.vector_discrepancy_from_samples([[0, 1]], lambda y: np.zeros(len(y)), (2, 2), statistic="X")
