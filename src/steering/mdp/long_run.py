r"""Undiscounted rewards of a policy: long-run average, expected total over a number of steps, expected curve.

**Average.** The gain :math:`g(s) = \lim_T \frac1T E_s \sum_{t<T} r_\pi(s_t)` exists for every finite chain,
also periodic and with several recurrent classes, because the Cesàro limit of :math:`P_\pi^t` does. The
recurrent classes are the strongly connected components that no transition leaves. On a class with stationary
distribution :math:`\nu` the gain is :math:`\nu \cdot r_\pi`; on the transient states T it is the expectation
over the class that absorbs, :math:`(I - P_{TT}) g_T = P_{TR} g_R`. The stationary distribution is found by
state reduction (Grassmann, Taksar & Heyman 1985), which subtracts nothing and therefore has small *relative*
error in every entry, however rare the state. Direct methods throughout, no stopping rule; classes and transient parts
of more than `LARGE` states are solved by sweeps that end when they change nothing but rounding.

**Total.** :math:`v_n = \sum_{t<n} P^t r` satisfies :math:`v_{m+n} = v_m + P^m v_n`, so n steps cost about
:math:`2 \log_2 n` products of matrices; for few steps plain iteration is cheaper.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
from scipy.sparse import csgraph

from steering._checks import whole
from steering._compiled.chains import stationary_distribution
from steering._compiled.sparse_chains import expected_curve
from steering._types import Floats, Ints
from steering.mdp import _krylov, _rows
from steering.mdp._checks import checked_start
from steering.mdp.evaluation import policy_chain
from steering.mdp.tabular import TabularMDP

LARGE = 1000
"""States of a class of a sparse chain beyond which its stationary distribution is found by sweeps."""


def average_reward(
    mdp: TabularMDP,
    policy: ArrayLike,
    start: ArrayLike | int | None = None,
    *,
    rewards: ArrayLike | None = None,
) -> float:
    """Long-run average reward of a policy from the start distribution (that of the MDP by default).

    Examples
    --------
    >>> mdp = TabularMDP(P=[[[0.0, 1.0]], [[1.0, 0.0]]], reward_mean=[[3.0], [0.0]])
    >>> average_reward(mdp, [0, 0])
    1.5
    """
    return float(checked_start(mdp, start) @ gain(mdp, policy, rewards=rewards))


def gain(mdp: TabularMDP, policy: ArrayLike, *, rewards: ArrayLike | None = None) -> Floats:
    """Long-run average reward of a policy from every first state, shape (S,)."""
    P, r = policy_chain(mdp, policy, rewards=rewards)
    g = np.zeros(mdp.n_states)
    transient = np.ones(mdp.n_states, dtype=bool)
    for members in closed_classes(P > 0.0):
        inner = _part(P, members, members)
        weights = _rows.stationary(inner) if sparse.issparse(inner) else stationary_distribution(inner)
        g[members] = weights @ r[members]
        transient[members] = False
    if transient.any():
        here, there = np.flatnonzero(transient), np.flatnonzero(~transient)
        inside = _part(P, here, here)
        out = _part(P, here, there) @ g[there]
        if sparse.issparse(inside):
            g[here] = _rows.solve(inside, out, 1.0)
        else:
            g[here] = np.linalg.solve(np.eye(len(inside)) - inside, out)
    return g


def _part(P: Any, rows: Ints, columns: Ints) -> Any:
    """Part of a chain: dense as P is, and of a sparse P dense when small."""
    if isinstance(P, np.ndarray):
        return P[np.ix_(rows, columns)]
    part = P[rows][:, columns]
    return part if rows.size > LARGE else part.toarray()


def bias(mdp: TabularMDP, policy: ArrayLike, *, rewards: ArrayLike | None = None) -> Floats:
    r"""Bias h of a policy from every first state, shape (S,): what starting there earns beyond the gain, for ever.

    .. math:: h = \sum_{t \ge 0} (P^t - P^*) r = (I - P + P^*)^{-1} (r - g), \qquad P^* h = 0,

    with the Cesàro limit P* of the powers of P (and the sum taken in that sense).
    """
    P, r = policy_chain(mdp.to_dense(), policy, rewards=rewards)
    limit = limiting_matrix(P)
    return np.asarray(np.linalg.solve(np.eye(len(P)) - P + limit, r - limit @ r), dtype=np.float64)


def limiting_matrix(P: Floats) -> Floats:
    """Cesàro limit P* (S, S) of the powers of a transition matrix."""
    limit = np.zeros_like(P)
    transient = np.ones(len(P), dtype=bool)
    for members in closed_classes(P > 0.0):
        limit[np.ix_(members, members)] = stationary_distribution(P[np.ix_(members, members)])
        transient[members] = False
    if transient.any():
        inside = P[np.ix_(transient, transient)]
        out = P[np.ix_(transient, ~transient)] @ limit[~transient]
        limit[transient] = np.linalg.solve(np.eye(len(inside)) - inside, out)
    return limit


def closed_classes(edges: Any) -> list[Ints]:
    """Strongly connected components of a graph (S, S) that no edge leaves, each as its states in order."""
    graph: Any = sparse.csr_array(edges)
    count, label = csgraph.connected_components(graph, directed=True, connection="strong")
    leaving = np.zeros(count, dtype=bool)
    tails, heads = graph.nonzero()
    leaving[label[tails[label[tails] != label[heads]]]] = True
    return [np.flatnonzero(label == number) for number in np.flatnonzero(~leaving)]


def expected_total_reward(
    mdp: TabularMDP,
    policy: ArrayLike,
    steps: int,
    start: ArrayLike | int | None = None,
    *,
    rewards: ArrayLike | None = None,
) -> float:
    """Expected sum of the first `steps` rewards of a policy, undiscounted and exact (0 for 0 steps)."""
    n = whole("steps", steps, 0)
    P, r = policy_chain(mdp, policy, rewards=rewards)
    mu = checked_start(mdp, start)
    if n <= mdp.n_states or sparse.issparse(P):
        return float(_curve(P, r, mu, n).sum())
    total, power, block = np.zeros_like(r), P, r
    while n:  # block = v_m and power = P^m for m = 1, 2, 4, ...
        if n & 1:
            total = block + power @ total
        n >>= 1
        if n:
            block = block + power @ block
            power = power @ power
    return float(mu @ total)


def expected_reward_curve(
    mdp: TabularMDP,
    policy: ArrayLike,
    steps: int,
    start: ArrayLike | int | None = None,
    *,
    rewards: ArrayLike | None = None,
) -> Floats:
    """Expected reward of a policy at each of the first `steps` steps, shape (steps,)."""
    n = whole("steps", steps, 0)
    P, r = policy_chain(mdp, policy, rewards=rewards)
    return _curve(P, r, checked_start(mdp, start), n)


def _curve(P: Any, r: Floats, mu: Floats, steps: int) -> Floats:
    curve: Floats | None = None
    if not isinstance(P, np.ndarray) and P.nnz * float(steps) > _krylov.WORTH:
        curve = _krylov.curve(P, r, mu, steps)
    if curve is None:
        curve = expected_curve(_rows.chain_rows(P), np.ascontiguousarray(r), np.array(mu), steps)
    return curve
