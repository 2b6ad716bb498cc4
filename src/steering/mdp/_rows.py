"""What planners and evaluators do on sparse rows: the choice of the form, chains of policies, linear systems.

A small sparse MDP is planned with the dense functions, which are faster there and give the same bits as ever.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import splu

from steering import _memory
from steering._compiled import sparse_chains, sparse_orders
from steering._types import Floats, Ints
from steering.errors import NotAvailable
from steering.mdp.tabular import DENSE_PLANNING, TabularMDP

MAX_SWEEPS = 2000
"""Sweeps after which a linear system is factorised instead (sparse LU)."""

Rows = tuple[Any, Any, Floats]


def by_rows(mdp: TabularMDP) -> bool:
    """Whether planners should work on sparse rows."""
    return mdp.is_sparse and mdp.entries > DENSE_PLANNING


def rows_of(mdp: TabularMDP) -> Rows:
    """Arrays (offsets, successors, probabilities) for compiled functions."""
    table = mdp.transitions
    return table.offsets, table.successors, table.probabilities


def longest_row(mdp: TabularMDP) -> int:
    """Largest number of successors of a pair (s, a)."""
    return int(np.diff(mdp.transitions.offsets).max())


def order_of(mdp: TabularMDP, r: Floats) -> tuple[Any, bool]:
    """Order of states for ordered sweeps, and whether they suit the MDP better than level ones."""
    top = np.where(mdp.allowed, r, -np.inf).max(axis=1)
    if sparse_orders.shallow(rows_of(mdp), top, mdp.n_actions):
        return np.arange(mdp.n_states, dtype=np.int32), False
    order, depth = sparse_orders.backward_order(rows_of(mdp), top, mdp.n_actions)
    return order, bool(depth > sparse_orders.DEEP)


def chain_matrix(mdp: TabularMDP, policy: Floats | Ints) -> Any:
    """P_pi as a scipy array (S, S), for a policy (S,) or (S, A) that has been checked."""
    S, A = mdp.allowed.shape
    if policy.ndim == 1:
        return mdp.transitions.matrix[np.arange(S) * A + policy]
    pairs = np.flatnonzero(policy)
    choice = sparse.csr_array((policy.ravel()[pairs], (pairs // A, pairs)), shape=(S, S * A))
    return sparse.csr_array(choice @ mdp.transitions.matrix)


def chain_rows(P: Any) -> Rows:
    """Arrays of a scipy matrix for compiled functions, always of the same types."""
    P = sparse.csr_array(P)
    P.sum_duplicates()
    return P.indptr.astype(np.int64), P.indices.astype(np.int32), np.ascontiguousarray(P.data, dtype=np.float64)


def solve(P: Any, c: Floats, discount: float, *, weight: Floats | None = None, guess: Floats | None = None) -> Floats:
    """Solve x = c + discount P x for a sparse matrix of a chain (or its transpose), accurate to rounding.

    Sweeps in an order that follows the dependencies, from the entries with the largest weight (|c| by default); if they
    do not settle, a sparse factorisation.
    """
    rows = chain_rows(P)
    transposed = chain_rows(sparse.csr_array(P).T)
    order, _ = sparse_orders.forward_order(transposed, np.abs(c) if weight is None else weight)
    x = np.array(c if guess is None else guess, dtype=np.float64)
    if sparse_chains.solve_by_sweeps(rows, np.ascontiguousarray(c), discount, x, order, MAX_SWEEPS):
        return x
    return factorised(P, c, discount)


def factorised(P: Any, c: Floats, discount: float) -> Floats:
    """Solve x = c + discount P x by a sparse LU factorisation with one step of refinement."""
    n = c.size
    A = sparse.csc_array(sparse.eye_array(n, format="csc") - discount * sparse.csc_array(P))
    _memory.require(200.0 * A.nnz, f"a sparse factorisation of {n} states", "use method='mpi'")
    try:
        factors = splu(A)
    except (RuntimeError, MemoryError) as error:
        raise NotAvailable(f"the linear system of {n} states could not be solved: {error}; use solve.") from None
    x = factors.solve(c)
    return np.asarray(x + factors.solve(c - A @ x), dtype=np.float64)


def stationary(P: Any) -> Floats:
    """Stationary distribution of an irreducible sparse chain, by sweeps or, if they do not settle, a factorisation."""
    n = P.shape[0]
    transposed = chain_rows(sparse.csr_array(P).T)
    weight = np.zeros(n)
    weight[0] = 1.0
    order, _ = sparse_orders.forward_order(chain_rows(P), weight)
    x = np.full(n, 1.0 / n)
    if sparse_chains.stationary_by_sweeps(transposed, x, order, MAX_SWEEPS):
        return x
    # Visits between two returns to state 0 solve a regular system; they are proportional to the distribution.
    inner = sparse.csr_array(P)[1:, 1:]
    first = np.asarray(sparse.csr_array(P)[[0], 1:].toarray(), dtype=np.float64).ravel()
    x = np.concatenate([[1.0], factorised(inner.T, first, 1.0)])
    return np.asarray(x / x.sum(), dtype=np.float64)
