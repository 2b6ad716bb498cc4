"""Closed forms of what a session knows, against Monte Carlo and against models that are known."""

import numpy as np
import pytest
from scipy import stats
from session_tools import ACTIONS, STATES, make

from steering._compiled import beliefs as kernels
from steering._compiled import planning
from steering.agents import Problem
from steering.beliefs import ModelBelief
from steering.session.knowledge import DenseKnowledge, expected_gain


def known_after(rows, S=4, A=3, seed=0, discount=0.9, noise=0.5):
    """Knowledge after many rows of a random MDP."""
    rng = np.random.default_rng(seed)
    P = rng.dirichlet(np.ones(S), size=(S, A))
    means = rng.normal(size=(S, A, S))
    belief = ModelBelief(S, A)
    s, a = rng.integers(S, size=rows), rng.integers(A, size=rows)
    y = np.array([rng.choice(S, p=P[i, j]) for i, j in zip(s, a, strict=True)], dtype=np.int64)
    belief.observe_many((s, a, means[s, a, y] + noise * rng.normal(size=rows), y))
    belief.refresh()
    return DenseKnowledge(belief, Problem(S, A, np.ones((S, A), dtype=bool), discount))


def test_spread_of_q_is_that_of_posterior_draws():
    """First order, with plenty of data: 4000 draws of Q of the same policy; the error of a std is 1.1 %."""
    known = known_after(6000)
    rng = np.random.default_rng(1)
    draws = []
    for _ in range(4000):
        P, r = known.belief.draw_model(rng)
        draws.append(planning.propagate(P, known.policy, r, known.problem.discount))
    known.P, known.r = known.belief.mean_model()  # draws are made in the same arrays
    drawn = np.array(draws)
    for state in range(4):
        assert known.spread(state) == pytest.approx(drawn.std(axis=0)[state], rel=0.06)
    assert pytest.approx(drawn.mean(axis=0), abs=0.15 * drawn.std()) == known.Q


def test_risk_is_that_of_predictive_draws():
    """400000 draws of the next reward; the error of a probability is below 0.0032 with probability 0.9999."""
    known = known_after(40)
    b, rng, n = known.belief, np.random.default_rng(2), 400_000
    for floor in (-1.0, 0.3):
        for action in range(3):
            y = rng.choice(4, p=known.P[1, action], size=n)
            tau = rng.gamma(b.shape[1, action, y]) / b.rate[1, action, y]
            mean = b.mu[1, action, y] + rng.normal(size=n) / np.sqrt((b.prior[1] + b.counts[1, action, y]) * tau)
            reward = mean + rng.normal(size=n) / np.sqrt(tau)
            assert known.below(1, floor)[action] == pytest.approx((reward < floor).mean(), abs=0.0032)


def test_information_and_novelty():
    known = known_after(30)
    out = np.empty((4, 3))
    kernels.row_information(known.belief.alpha, known.belief.eta, out)
    for state in range(4):
        assert known.information(state) == pytest.approx(out[state])
        never = known.belief.counts[state] == 0
        assert known.novelty(state) == pytest.approx((known.P[state] * never).sum(axis=-1))


def test_local_variance_is_that_of_draws():
    known = known_after(60)
    rng, V = np.random.default_rng(3), known.V.copy()
    local = known.local_variance()
    draws = np.array([known.belief.draw_model(rng)[1] + 0.9 * known.belief.P @ V for _ in range(40_000)])
    assert local == pytest.approx(draws.var(axis=0), rel=0.05)


def test_intervals_hold_their_probability():
    known = known_after(50)
    table = known.table(list("abcd"), list("xyz"), 0.9, False)
    row = table.iloc[5]
    s, a, y = "abcd".index(row["state"]), "xyz".index(row["action"]), "abcd".index(row["next_state"])
    alpha, total = known.belief.alpha[s, a, y], known.belief.alpha[s, a].sum()
    chance = stats.beta(alpha, total - alpha)
    assert chance.cdf(row["probability_low"]) == pytest.approx(0.05)
    assert chance.cdf(row["probability_high"]) == pytest.approx(0.95)
    b = known.belief
    scale = np.sqrt(b.rate[s, a, y] / (b.shape[s, a, y] * (b.prior[1] + b.counts[s, a, y])))
    mean = stats.t(2 * b.shape[s, a, y], b.mu[s, a, y], scale)
    assert mean.cdf(row["reward_low"]) == pytest.approx(0.05)
    assert mean.cdf(row["reward_high"]) == pytest.approx(0.95)
    assert len(table) == 48


def test_a_forecast_of_a_known_process(tmp_path):
    """After thousands of rows of a cycle good -> worn -> good the forecast is what happens."""
    with make(tmp_path / "s", sync=False, eta=0.01) as session:
        for step in range(400):
            session.add("good", "run", 2.0, "worn", key=f"a{step}")
            session.add("worn", "service", -1.0, "good", key=f"b{step}")
        for state in STATES:
            for action in ACTIONS:
                if (state, action) not in (("good", "run"), ("worn", "service")):
                    session.add(state, action, -5.0, "broken")
        assert session.recommend()["good"] == "run"
        assert session.recommend()["worn"] == "service"
        forecast = session.forecast("good", 10)
        assert forecast["reward"].to_numpy() == pytest.approx([2.0, -1.0] * 5, abs=0.3)
        assert forecast["total_low"].iloc[-1] < 5.0 < forecast["total_high"].iloc[-1]
        assert session.forecast("good", 10).equals(forecast)


def test_expected_gain_is_that_of_draws():
    rng = np.random.default_rng(4)
    draws = rng.normal(-1.0, 2.0, size=10**6)
    assert expected_gain(1.0, 2.0) == pytest.approx(np.maximum(draws, 0.0).mean(), rel=0.01)
    assert expected_gain(1.0, 0.0) == 0.0


def test_reasons_tell_exploration_from_what_is_best(tmp_path):
    with make(tmp_path / "s", sync=False) as session:
        for step in range(40):
            session.add("good", "run", 2.0, "good", key=f"a{step}")
            session.add("good", "service", -5.0, "good", key=f"b{step}")
        best = session.explain("good")
        assert best.kind == "best known"
        by_name = {one["action"]: one for one in best.actions}
        chosen = next(one for one in best.actions if one["suggested"])
        assert chosen["best_known"]
        assert by_name["run"]["visits"] == 40
        assert by_name["run"]["spread"] < by_name["replace"]["spread"]
        assert by_name["run"]["information"] < by_name["replace"]["information"]
        assert by_name["run"]["novelty"] < by_name["replace"]["novelty"]
        import numpy as np

        other = session._reasons(0, np.ones(3, dtype=bool), ACTIONS.index("service"), None)
        assert other.kind == "exploration"
        values = {one["action"]: one["value"] for one in other.actions}
        assert other.cost == pytest.approx(max(values.values()) - values["service"], rel=1e-4)
        assert "'service'" in str(other)
        assert "tried 40 times" in str(other)
        assert other.table().shape[0] == 3
