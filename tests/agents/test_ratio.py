"""The least information ratio against all deterministic policies and all their pairwise mixtures, and its edges."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers import masked_mdp, problem_of
from steering.agents import make_agent
from steering.agents.ratio import RatioSolution, minimise_ratio
from steering.envs import make_env
from steering.mdp import TabularMDP, backward_induction, evaluate, evaluate_finite, policy_iteration

DISCOUNT = 0.8


class Bandit:
    """Value and information of every policy of a small MDP from a state, and probes by the exact planners."""

    def __init__(self, P, r, D, mask, horizon=None, state=0, discount=DISCOUNT):
        self.P, self.r, self.D, self.mask, self.horizon = P, r, D, mask, horizon
        self.state, self.discount = state, discount
        self.probes = 0

    def measure(self, policy, rewards) -> float:
        mdp = TabularMDP(self.P, rewards, mask=self.mask)
        if self.horizon is None:
            return float(evaluate(mdp, policy[0], self.discount)[self.state])
        return float(evaluate_finite(mdp, policy, self.horizon, 1.0)[0, self.state])

    def probe(self, weight: float):
        self.probes += 1
        mdp = TabularMDP(self.P, self.r + weight * self.D, mask=self.mask)
        if self.horizon is None:
            policy = policy_iteration(mdp, self.discount).policy[None]
        else:
            policy = backward_induction(mdp, self.horizon, 1.0).policy
        return policy, self.measure(policy, self.r), self.measure(policy, self.D)

    def all_points(self):
        """(V, K) of every deterministic policy; time-dependent ones with a horizon."""
        layers, S = self.horizon or 1, self.r.shape[0]
        choices = [np.flatnonzero(self.mask[s]) for _ in range(layers) for s in range(S)]
        policies = [np.array(p).reshape(layers, S) for p in itertools.product(*choices)]
        return np.array([(self.measure(p, self.r), self.measure(p, self.D)) for p in policies])


def random_case(seed: int, horizon: int | None, S: int = 3, A: int = 2) -> Bandit:
    rng = np.random.default_rng(seed)
    P = rng.dirichlet(np.full(S, 0.5), size=(S, A))
    D = rng.gamma(0.3, size=(S, A))
    mask = np.ones((S, A), dtype=bool)
    mask[rng.integers(S), rng.integers(A)] = rng.random() < 0.5
    return Bandit(P, rng.normal(size=(S, A)), D, mask, horizon)


def least_ratio(points: np.ndarray, best: float) -> float:
    """Least delta^2 / K over all points and all mixtures of two, each pair minimised in closed form."""
    regret, information = best - points[:, 0], points[:, 1]
    d1, d2 = regret[:, None], regret[None, :]
    k1, k2 = information[:, None], information[None, :]
    rise, more = d2 - d1, k2 - k1
    with np.errstate(divide="ignore", invalid="ignore"):
        inner = (more * d1 - 2 * rise * k1) / (rise * more)  # where the derivative in the weight is zero
        ends = [np.zeros_like(inner), np.ones_like(inner), np.clip(np.nan_to_num(inner), 0, 1)]
        values = [(d1 + w * rise) ** 2 / (k1 + w * more) for w in ends]
    return float(np.nanmin(values))


@pytest.mark.parametrize("horizon", [None, 2])
@pytest.mark.parametrize("seed", range(40))
def test_least_ratio_of_all_policies_and_pairs(seed: int, horizon: int | None) -> None:
    case = random_case(seed, horizon)
    points = case.all_points()
    best = points[:, 0].max() + np.random.default_rng(seed).gamma(1.0) * [0.1, 1.0, 10.0][seed // 3 % 3]
    solution = minimise_ratio(case.probe, best, guess=[0.0, 0.3, 50.0][seed % 3])
    assert solution.ratio == pytest.approx(least_ratio(points, best), rel=1e-7)
    # What it says of itself is true of its two policies.
    (v1, k1), (v2, k2) = ((case.measure(p, case.r), case.measure(p, case.D)) for p in (solution.first, solution.second))
    w = solution.weight
    assert solution.regret == pytest.approx(best - (1 - w) * v1 - w * v2, rel=1e-9)
    assert solution.information == pytest.approx((1 - w) * k1 + w * k2, rel=1e-9)
    # The root: lambda = delta / (2 K), and both policies are optimal for it.
    assert solution.info_weight == pytest.approx(solution.regret / (2 * solution.information), rel=1e-6)
    top = (points[:, 0] + solution.info_weight * points[:, 1]).max()
    for v, k in {(v1, k1), (v2, k2)} if 0 < w < 1 else {(v1, k1) if w == 0 else (v2, k2)}:
        assert v + solution.info_weight * k == pytest.approx(top, rel=1e-7, abs=1e-9)


def two_arms(cost: float) -> Bandit:
    """One state that matters: an arm that pays and teaches nothing, and one that teaches and costs."""
    P = np.zeros((2, 2, 2))
    P[:, :, 0] = 1.0
    return Bandit(P, np.array([[0.0, -cost]] * 2), np.array([[0.0, 1.0]] * 2), np.ones((2, 2), bool))


@pytest.mark.parametrize("cost", [1e-3, 0.2, 1.0, 1e3, 1e6])
def test_two_arms_are_mixed_as_calculus_says(cost: float) -> None:
    """With regret b a step, (b + w c)^2 / w is least at w = b / c, where it is 4 b c; for c < b at w = 1."""
    gap = 0.1
    steps = 1 / (1 - DISCOUNT)
    solution = minimise_ratio(two_arms(cost).probe, gap * steps)
    w = min(gap / cost, 1.0)
    assert solution.weight == pytest.approx(w, rel=1e-6)
    assert solution.ratio == pytest.approx((gap + w * cost) ** 2 / w * steps, rel=1e-6)


@given(st.integers(0, 10_000), st.sampled_from([None, 2]), st.floats(0.0, 5.0))
@settings(max_examples=40)
def test_h_falls_along_lambda(seed: int, horizon: int | None, above: float) -> None:
    case = random_case(seed, horizon)
    weights = np.concatenate([[0.0], np.geomspace(1e-3, 1e3, 25)])
    probes = [case.probe(w) for w in weights]
    best = probes[0][1] + above
    information = np.array([k for _, _, k in probes])
    h = np.array([best - v - 2 * w * k for w, (_, v, k) in zip(weights, probes, strict=True)])
    assert (np.diff(information) >= -1e-9 * information.max()).all()
    assert (np.diff(h) <= 1e-9 * (1 + np.abs(h[1:]))).all()


def test_without_regret_the_best_policy_is_taken_at_once() -> None:
    case = random_case(0, None)
    top = case.all_points()[:, 0].max()
    for best in (top, top - 3.0):
        case.probes = 0
        solution = minimise_ratio(case.probe, best, guess=7.0)
        assert case.probes == 1
        assert (solution.ratio, solution.weight, solution.info_weight) == (0.0, 0.0, 0.0)
        assert case.measure(solution.first, case.r) == pytest.approx(top)


def test_where_nothing_can_be_learnt_the_best_policy_is_taken_and_the_ratio_is_infinite() -> None:
    case = random_case(1, None)
    case.D = np.zeros_like(case.D)
    top = case.all_points()[:, 0].max()
    solution = minimise_ratio(case.probe, top + 1.0, guess=2.0)
    assert case.measure(solution.first, case.r) == pytest.approx(top)
    assert solution.ratio == np.inf
    assert (solution.weight, solution.info_weight) == (0.0, 0.0)
    assert case.probes < 20


def test_one_policy() -> None:
    case = Bandit(np.ones((1, 1, 1)), np.array([[2.0]]), np.array([[0.5]]), np.ones((1, 1), bool))
    solution = minimise_ratio(case.probe, 13.0)
    assert solution.ratio == pytest.approx((13.0 - 10.0) ** 2 / 2.5)
    assert solution.info_weight == pytest.approx(3.0 / 5.0)
    np.testing.assert_array_equal(solution.first, solution.second)
    assert RatioSolution(solution.first, solution.first, 0.0, 0.0, 0.0, 0.0).ratio == 0.0


@given(st.integers(0, 10_000), st.floats(1e-6, 1e6))
@settings(max_examples=30)
def test_units_of_reward_do_not_matter(seed: int, unit: float) -> None:
    case, scaled = random_case(seed, None), random_case(seed, None)
    scaled.r = scaled.r * unit
    best = case.probe(0.0)[1] + 0.7
    one, other = minimise_ratio(case.probe, best), minimise_ratio(scaled.probe, best * unit)
    assert other.ratio == pytest.approx(one.ratio * unit**2, rel=1e-6)
    assert other.info_weight == pytest.approx(one.info_weight * unit, rel=1e-5)


@pytest.mark.parametrize("horizon", [None, 3])
@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("state", [0, 2])
def test_the_agent_follows_the_least_ratio_of_its_own_model(seed: int, horizon: int | None, state: int) -> None:
    """Its policy is one of the mixture's, its weight the root, for v* from its own draws, in the state of the plan."""
    env = make_env(masked_mdp(seed, S=3, A=2), horizon=horizon)
    agents = []
    for _ in range(2):
        agent = make_agent("steering:objective=ratio")
        agent.start(problem_of(env), np.random.default_rng(seed), np.random.default_rng(1))
        rng = np.random.default_rng(seed + 100)
        n = 30
        s, a = np.divmod(rng.choice(np.flatnonzero(env.mask), size=n), 2)
        agent.belief.observe_many((s, a, rng.normal(size=n), rng.integers(3, size=n)))
        agents.append(agent)
    agent, twin = agents
    agent.plan(state)
    twin.belief.refresh()
    draws = [twin.solve(*twin.belief.draw_model(twin.planning_rng), twin.discount)[1][0, state] for _ in range(2)]
    best = float(np.mean([np.where(env.mask[state], q, -np.inf).max() for q in draws]))
    P, r = twin.model()
    case = Bandit(P.copy(), r.copy(), agent.D.copy(), env.mask, horizon, state, agent.discount)
    points = case.all_points()
    if best <= points[:, 0].max():
        assert agent.info_weight == 0.0
        return
    value, information = case.measure(agent.policy, case.r), case.measure(agent.policy, case.D)
    top = (points[:, 0] + agent.info_weight * points[:, 1]).max()
    assert value + agent.info_weight * information == pytest.approx(top, rel=1e-7)
    expected = least_ratio(points, best)
    # At the root delta^2 / K = 2 lambda delta = 4 lambda^2 K; of the pure policies one has at most that delta.
    regrets = best - points[:, 0]
    on_line = np.isclose(points @ [1.0, agent.info_weight], top, rtol=1e-7)
    root = expected / (2 * agent.info_weight)
    assert regrets[on_line].min() <= root * (1 + 1e-5)
    assert regrets[on_line].max() >= root * (1 - 1e-5)
