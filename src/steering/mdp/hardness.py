r"""How hard an MDP is to explore: measures that the literature bounds regret with, each exact.

All of them look at the states that can be reached from the start only.

**Diameter.** :math:`D = \max_{s \ne s'} \min_\pi E[\text{steps from } s \text{ to } s']` (Jaksch, Ortner and Auer
2010). The way to one target is a stochastic shortest path problem, solved by policy iteration from a policy that moves
along shortest paths of the graph; every policy met is proper, so all systems are regular and it ends with the optimum.

**Span.** :math:`\max h^* - \min h^*` of the bias of an optimal policy for the long-run average: the policy that is
optimal for a discount of 1 - 1e-6, improved until the optimality equations :math:`g = \max_a P g` and, over the actions
that keep g, :math:`g + h = \max_a (r + P h)` hold (Howard's policy iteration for multichain problems). It is at most D
times the range of rewards (Bartlett and Tewari 2009).

**Communication.** *ergodic*: every policy visits every state for ever; *communicating*: from every state some policy
leads to every other; *weakly communicating*: that holds for one closed set, and no policy stays outside of it for ever;
*multichain*: none of these, so a mistake can be for ever. All by fixed points on the graph.

**Gaps, values.** :math:`V^*(s) - Q^*(s, a)` and :math:`\mathrm{std}_{P(\cdot|s, a)} V^*`, discounted, or in every layer
of an episode.

**Reward time.** Expected number of steps until the uniformly random policy first takes a pair with the largest expected
reward. With a horizon H, T the time within one endless episode: :math:`E[\min(T, H)] / \Pr(T \le H)`.

**Greedy depth.** The least k for which acting greedily by :math:`Q_k` is optimal, where :math:`Q_1` is that of the
uniformly random policy and :math:`Q_{k+1} = r + \gamma P \max Q_k` (Laidlaw, Russell and Dragan 2023): 1 means that
improving the random policy once is enough.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np
from scipy.sparse import csgraph

from steering._compiled import planning as kernels
from steering._types import Bools, Floats
from steering.errors import NotAvailable, TooLarge
from steering.mdp._checks import checked_mdp
from steering.mdp.communication import communication_class, diameter, graph_of
from steering.mdp.evaluation import action_values, evaluate
from steering.mdp.finite_horizon import backward_induction, evaluate_finite
from steering.mdp.long_run import bias, gain
from steering.mdp.planning import policy_iteration
from steering.mdp.tabular import SMALL_ENTRIES, TabularMDP

NEARLY_ONE = 1.0 - 1e-6
MAX_DEPTH = 100_000
MAX_IMPROVEMENTS = 1000
"""Of a policy that is nearly optimal when it starts: a handful is normal."""
TIE = 1e-9
"""Action values closer than this, relative to the largest value, are equally good."""


@dataclass(frozen=True)
class Hardness:
    """How hard an MDP is to explore; see the module for the definitions.

    Attributes
    ----------
    n_states, n_actions
        States that can be reached from the start, and actions.
    communication
        "ergodic", "communicating", "weakly communicating" or "multichain".
    diameter
        Steps between the two states that are farthest apart, on the best way; infinite unless communicating.
    span
        Range of the bias: what the best start is worth more than the worst one in the long run.
    value_std
        Largest standard deviation of the optimal value of the next state.
    min_gap
        Smallest loss by a single action that is not optimal; infinite where all are optimal.
    inverse_gaps
        Sum of 1 / loss over all actions that are not optimal.
    reward_time
        Steps until the random policy first tries a pair with the largest expected reward.
    greedy_depth
        Rounds of improvement from the random policy to an optimal one.
    """

    n_states: int
    n_actions: int
    communication: str
    diameter: float
    span: float
    value_std: float
    min_gap: float
    inverse_gaps: float
    reward_time: float
    greedy_depth: int

    def explained(self) -> list[tuple[str, int | float | str, str]]:
        """Name, value and one sentence for each measure."""
        return [(f.name, getattr(self, f.name), SENTENCES[f.name]) for f in fields(self)]


SENTENCES = {
    "n_states": "States that can be reached from the start.",
    "n_actions": "Actions.",
    "communication": "Whether a mistake can be mended: from ergodic (always) to multichain (it may be for ever).",
    "diameter": "Steps between the two states farthest apart, on the best way.",
    "span": "What the best first state is worth more than the worst one in the long run.",
    "value_std": "Largest standard deviation of the optimal value of the next state: how much luck there is in a step.",
    "min_gap": "Smallest loss by one action that is not optimal: how fine one must distinguish.",
    "inverse_gaps": "Sum of 1 / loss over actions that are not optimal: what regret of order log T grows with.",
    "reward_time": "Steps until the random policy first tries a pair with the largest expected reward.",
    "greedy_depth": "Rounds of improvement from the random policy to an optimal one; 1: one look ahead is enough.",
}


def hardness(mdp: TabularMDP, discount: float | None = None, horizon: int | None = None) -> Hardness:
    """Measure how hard an MDP is to explore.

    Parameters
    ----------
    mdp
        The MDP.
    discount, horizon
        The setting, as of an environment: 0.9 without a horizon and 1 with one, unless given. They matter for
        value_std, the gaps and greedy_depth, and the horizon for reward_time.

    Examples
    --------
    >>> from steering.envs import make_env
    >>> found = hardness(make_env("deepsea:8").mdp)
    >>> found.communication, found.greedy_depth
    ('communicating', 5)
    """
    checked_mdp(mdp, "hardness(env.mdp, env.discount, env.horizon)")
    gamma = discount if discount is not None else 0.9 if horizon is None else 1.0
    if mdp.entries > SMALL_ENTRIES:
        raise TooLarge(
            f"the measures of hardness need dense tables of S A S entries, at most {SMALL_ENTRIES}, and "
            f"{mdp.n_states} states with {mdp.n_actions} actions make {mdp.entries}; use a smaller world."
        )
    mdp = _reachable(mdp.to_dense())
    if horizon is None:
        V, Q = _discounted(mdp, gamma)
        met = np.ones((1, mdp.n_states), dtype=bool)
        depth = _depth(mdp, gamma, Q[0])
    else:
        finite = backward_induction(mdp, horizon, gamma)
        V, Q = finite.V[1:], finite.Q
        met = _met(mdp, horizon)
        depth = _depth_finite(mdp, gamma, horizon, Q, met)
    gaps = _gaps(Q, met)
    return Hardness(
        n_states=mdp.n_states,
        n_actions=mdp.n_actions,
        communication=communication_class(mdp),
        diameter=diameter(mdp),
        span=float(np.ptp(optimal_bias(mdp))),
        value_std=max(float(_row_std(mdp, values)[states].max()) for values, states in zip(V, met, strict=True)),
        min_gap=float(gaps.min()) if gaps.size else np.inf,
        inverse_gaps=float((1.0 / gaps).sum()),
        reward_time=_reward_time(mdp, horizon),
        greedy_depth=depth,
    )


def optimal_bias(mdp: TabularMDP) -> Floats:
    """Bias (S,) of a policy that is optimal for the long-run average."""
    policy = policy_iteration(mdp, NEARLY_ONE).policy
    here = np.arange(mdp.n_states)
    for _ in range(MAX_IMPROVEMENTS):
        h, g = bias(mdp, policy), gain(mdp, policy)
        ahead = np.where(mdp.mask, mdp.P @ g, -np.inf)  # gain after an action
        same = TIE * max(1.0, float(np.abs(g).max()))
        values, better = ahead, ahead.max(axis=1) > g + same
        if not better.any():
            tolerance = TIE * max(1.0, float(np.abs(h).max()))
            # an action may not lead to where less is earned
            values = np.where(ahead >= g[:, None] - same, action_values(mdp, h, 1.0), -np.inf)
            better = values.max(axis=1) > values[here, policy] + tolerance
        if not better.any():
            return h
        policy = np.where(better, values.argmax(axis=1), policy)
    raise NotAvailable(
        f"the bias of an optimal policy was not found in {MAX_IMPROVEMENTS} improvements: values of actions differ by "
        "less than rounding lets them be told apart; bring rewards and probabilities to similar sizes."
    )


def _reachable(mdp: TabularMDP) -> TabularMDP:
    """The MDP on the states that some policy can reach from the start."""
    first = np.flatnonzero(mdp.start_distribution)
    steps = csgraph.shortest_path(graph_of(mdp), method="D", unweighted=True, indices=first)
    states = np.flatnonzero(np.isfinite(steps).any(axis=0))
    if len(states) == mdp.n_states:
        return mdp
    inside = np.ix_(states, np.arange(mdp.n_actions), states)
    return TabularMDP(mdp.P[inside], mdp.reward_mean[inside], 0.0, mdp.mask[states], mdp.start[states])


def _discounted(mdp: TabularMDP, gamma: float) -> tuple[Floats, Floats]:
    solution = policy_iteration(mdp, gamma)
    return solution.V[None], solution.Q[None]


def _met(mdp: TabularMDP, horizon: int) -> Bools:
    """States that can be met in each step of an episode, shape (H, S)."""
    edges = graph_of(mdp)
    met = np.zeros((horizon, mdp.n_states), dtype=bool)
    met[0] = mdp.start_distribution > 0
    for h in range(1, horizon):
        met[h] = edges[met[h - 1]].any(axis=0)
    return met


def _gaps(Q: Floats, met: Bools) -> Floats:
    """Losses by actions that are allowed and not optimal, in the states that are met."""
    best = Q.max(axis=-1, keepdims=True)
    loss = np.where(met[..., None] & np.isfinite(Q), best - Q, 0.0)
    scale = float(np.abs(best[met]).max(initial=0.0))
    gaps: Floats = loss[loss > TIE * scale]
    return gaps


def _row_std(mdp: TabularMDP, values: Floats) -> Floats:
    """Standard deviation of the next state's value for every allowed pair, largest over the actions, shape (S,)."""
    mean = mdp.P @ values
    variance = (mdp.P * (values - mean[..., None]) ** 2).sum(axis=2)
    std: Floats = np.sqrt(np.where(mdp.allowed, variance, 0.0)).max(axis=1)
    return std


def _uniform(mdp: TabularMDP) -> Floats:
    """The uniformly random policy, shape (S, A)."""
    policy: Floats = mdp.allowed / mdp.allowed.sum(axis=1, keepdims=True)
    return policy


def _reward_time(mdp: TabularMDP, horizon: int | None) -> float:
    r = np.where(mdp.allowed, mdp.rewards, -np.inf)
    wanted = r >= r.max() - TIE * max(1.0, float(np.abs(mdp.rewards).max()))
    policy = np.where(wanted, 0.0, _uniform(mdp))  # what is left is: not yet
    P = np.einsum("sa,sat->st", policy, mdp.P)
    start = mdp.start_distribution
    if horizon is None:
        # Where the reward cannot be met any more, the system is singular: the time is infinite.
        going = np.isfinite(csgraph.shortest_path(P > 0, unweighted=True))
        lost = ~(going & (policy.sum(axis=1) < 1.0 - 1e-12)).any(axis=1)
        if going[np.ix_(start > 0, lost)].any():
            return np.inf
        alive = ~lost
        inner = P[np.ix_(alive, alive)]
        return float(start[alive] @ np.linalg.solve(np.eye(len(inner)) - inner, np.ones(len(inner))))
    expected, weights = 0.0, start
    for _ in range(horizon):
        expected += weights.sum()
        weights = weights @ P
    hit = 1.0 - weights.sum()
    return float(expected / hit) if hit > 0 else np.inf


def _is_greedy(Q: Floats, optimal: Floats, met: Bools) -> bool:
    """Whether every action that is best by Q is best by the optimal values, in the states that are met."""
    best = Q.max(axis=-1, keepdims=True)
    truth = optimal.max(axis=-1, keepdims=True)
    tolerance = kernels.TIE_TOLERANCE * max(1e-300, float(np.abs(best[met]).max()))
    chosen = best - Q <= tolerance
    bad = chosen & (optimal < truth - TIE * float(np.abs(truth[met]).max()))
    return not bool(bad[met].any())


def _depth(mdp: TabularMDP, gamma: float, optimal: Floats) -> int:
    Q = action_values(mdp, evaluate(mdp, _uniform(mdp), gamma), gamma)
    everywhere = np.ones(mdp.n_states, dtype=bool)
    for k in range(1, MAX_DEPTH):
        if _is_greedy(Q, optimal, everywhere):
            return k
        Q = action_values(mdp, Q.max(axis=1), gamma)
    return MAX_DEPTH


def _depth_finite(mdp: TabularMDP, gamma: float, horizon: int, optimal: Floats, met: Bools) -> int:
    V = evaluate_finite(mdp, _uniform(mdp), horizon, gamma)[1:]
    for k in range(1, horizon + 1):
        Q = np.array([action_values(mdp, values, gamma) for values in V])
        if _is_greedy(Q, optimal, met):
            return k
        V = np.concatenate([Q[1:].max(axis=2), np.zeros((1, mdp.n_states))])
    return horizon
