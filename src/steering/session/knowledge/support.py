"""Knowledge by support: outcomes that were seen one by one, all others of a row as one group.

The closed forms are those of the tables, each a sum over the outcomes seen plus one term. Two things are not exact:
V, Q and the weights w of a spread come from sweeps (to about 1e-6 of the largest), and in a forecast the outcomes of a
row that were never seen are drawn as one: their common share is a draw, and is spread evenly among them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse, special

from steering import _memory
from steering._compiled import grouped_planning
from steering._types import Bools, Floats, Ints
from steering.agents import Problem
from steering.agents.large import RowSolver
from steering.beliefs import NormalGammaCells, SparseBelief
from steering.session.knowledge.base import FORECAST_DRAWS, Knowledge, belief_table, with_intervals

SETTLED = 1e-8
"""Change of a distribution of places, or discount of what follows, at which the rest is taken as what it is now."""
TABLE_BYTES = 200
"""Of a row of the table of beliefs, about."""


@dataclass(frozen=True)
class Cells:
    """Outcomes that were seen, by row and next state: row s A + a, next state, visits, posterior of the mean reward."""

    row: Ints
    head: Ints
    counts: Floats
    mu: Floats
    lam: Floats
    shape: Floats
    rate: Floats

    @classmethod
    def of(cls, belief: SparseBelief) -> Cells:
        """Those of a belief."""
        start, length, _, heads, *_ = belief.pool
        row = np.repeat(np.arange(length.size), length)
        first = np.cumsum(length) - length
        place = np.arange(row.size) + np.repeat(start - first, length)
        order = np.lexsort((heads[place], row))
        row, place = row[order], place[order]
        cells = NormalGammaCells((1,), belief.prior)
        cells.counts, cells.average, cells.scatter = (belief.pool[column][place] for column in (4, 5, 6))
        head = heads[place].astype(np.int64)
        return cls(row, head, cells.counts, cells.mu, cells.lam, cells.shape, cells.rate)

    def take(self, which: Any) -> Cells:
        """Some of them."""
        return Cells(*(getattr(self, name)[which] for name in self.__dataclass_fields__))


class SparseKnowledge(Knowledge):
    """A sparse belief at one moment; see `steering.session.knowledge`."""

    belief: SparseBelief

    def __init__(self, belief: SparseBelief, problem: Problem) -> None:
        self.belief, self.problem = belief, problem
        self.P, self.r = belief.mean_model()
        self.cells = Cells.of(belief)
        self.total: Floats = belief.totals.ravel() + belief.n_states * belief.eta
        """Sum of the Dirichlet parameters of every row."""
        self.unseen: Ints = belief.n_states - belief.pool[1].astype(np.int64)
        """Outcomes never seen of every row."""
        self._solve(problem.mask)

    def _solve(self, mask: Bools) -> None:
        p = self.problem
        policy: Ints = np.zeros((1, p.n_states), dtype=np.int64)
        self.V = RowSolver(replace(p, mask=mask)).solve(self.P, self.r, policy)[0][0]
        self.Q = np.empty(mask.shape)
        grouped_planning.q_table(self.P.arrays, self.r.ravel(), p.mask, p.discount, self.V, self.Q)
        self.policy = policy[0]
        self._local: Floats | None = None
        self._along: sparse.csr_array | None = None

    def _rows(self, state: int) -> tuple[slice, Cells]:
        """Rows of a state, and their cells."""
        A = self.problem.n_actions
        rows = slice(state * A, (state + 1) * A)
        first, last = np.searchsorted(self.cells.row, [rows.start, rows.stop])
        return rows, self.cells.take(slice(first, last))

    def _sum(self, cells: Cells, values: Floats, rows: slice) -> Floats:
        """Sum of values of cells in each of some rows."""
        summed = np.bincount(cells.row - rows.start, values, rows.stop - rows.start)
        return summed.astype(np.float64)  # a sum of nothing comes as whole numbers

    def local_variance(self) -> Floats:
        """nu(s, a), see `steering.session.knowledge`."""
        if self._local is None:
            c, eta = self.cells, self.belief.eta
            _, lam, shape, rate = self.belief.prior
            spread, _ = self.belief.local_moments(self.V, self.problem.discount)
            with np.errstate(divide="ignore"):
                seen = c.rate / (c.lam * np.maximum(c.shape - 1.0, 0.0))
                new = np.float64(rate) / np.float64(lam * max(shape - 1.0, 0.0))
            total = self.total[c.row]
            everywhere = slice(0, self.total.size)
            squares = self._sum(c, _mean_square((c.counts + eta) / total, total) * seen, everywhere)
            fresh = _mean_square(eta / self.total, self.total) * new
            squares += self.unseen * np.where(self.unseen > 0, fresh, 0.0)
            self._local = spread + squares.reshape(spread.shape)
        return self._local

    def spread(self, state: int) -> Floats:
        """Standard deviation of Q(state, a) for every action, to first order."""
        A = self.problem.n_actions
        here = np.arange(self.problem.n_states)
        weights = self._weights(np.stack([self.P.row(state, a) for a in range(A)], axis=1))
        local = self.local_variance()
        variance = local[here, self.policy] @ weights**2 + local[state]
        best = self.policy[state]
        variance[best] += 2.0 * weights[state, best] * local[state, best]
        return np.asarray(np.sqrt(variance))

    def spread_everywhere(self) -> Floats | None:
        """None: a spread takes a solution for every pair, which is too much for all of them."""
        return None

    def _weights(self, place: Floats) -> Floats:
        """Discounted visits (S, A) that follow places (S, A): sum over k >= 1 of gamma^k times those after k steps."""
        onward, base = self._policy_rows()
        factor = discount = self.problem.discount
        weights = factor * place
        while True:
            following = onward @ place + base @ place
            change = np.abs(following - place).sum(axis=0).max()
            place = following
            factor *= discount
            if change <= SETTLED or factor <= SETTLED:
                return np.asarray(weights + factor / (1.0 - discount) * place)
            weights += factor * place

    def _policy_rows(self) -> tuple[sparse.csr_array, Floats]:
        """The rows of the policy, turned: what leads to each state beyond the even part, and that part."""
        S, A = self.problem.n_states, self.problem.n_actions
        chosen = np.arange(S) * A + self.policy
        if self._along is None:
            c = self.cells
            cells = c.take(self.policy[c.row // A] == c.row % A)
            excess = cells.counts / self.total[cells.row]
            self._along = sparse.csr_array((excess, (cells.head, cells.row // A)), shape=(S, S))
        return self._along, self.belief.eta / self.total[chosen]

    def below(self, state: int, floor: float) -> Floats:
        """Probability that the next reward of each action is below a floor."""
        return self._below(*self._rows(state), floor)

    def below_everywhere(self, floor: float) -> Floats:
        """The same for all states, (S, A)."""
        return self._below(slice(0, self.total.size), self.cells, floor).reshape(self.r.shape)

    def _below(self, rows: slice, c: Cells, floor: float) -> Floats:
        eta, prior = self.belief.eta, self.belief.prior
        seen = (c.counts + eta) / self.total[c.row] * _chance_below(floor, (c.mu, c.lam, c.shape, c.rate))
        new = self.unseen[rows] * eta / self.total[rows] * _chance_below(floor, prior)
        return np.asarray(self._sum(c, seen, rows) + new)

    def information(self, state: int) -> Floats:
        """Mutual information (nats) of each action's row and its next outcome."""
        rows, c = self._rows(state)
        eta, total = self.belief.eta, self.total[rows]
        alpha = c.counts + eta
        gain = self._sum(c, alpha * (special.digamma(alpha + 1.0) - np.log(alpha)), rows)
        gain += self.unseen[rows] * eta * (special.digamma(eta + 1.0) - np.log(eta))
        return np.asarray(np.maximum(gain / total - special.digamma(total + 1.0) + np.log(total), 0.0))

    def novelty(self, state: int) -> Floats:
        """Probability that the next outcome of each action was never seen."""
        rows, _ = self._rows(state)
        return np.asarray(self.unseen[rows] * self.belief.eta / self.total[rows])

    def table(
        self, states: list[Any], actions: list[Any], level: float, only_seen: bool, state: int | None = None
    ) -> pd.DataFrame:
        """One row for each (state, action, next state): visits, probability and mean reward with intervals."""
        A = self.problem.n_actions
        rows, c = (slice(0, self.total.size), self.cells) if state is None else self._rows(state)
        if not only_seen:
            c = self._all_cells(rows, c)
        places = c.row // A, c.row % A, c.head
        alpha = c.counts + self.belief.eta, self.total[c.row]
        return belief_table((states, actions), places, c.counts, alpha, (c.mu, c.lam, c.shape, c.rate), level)

    def _all_cells(self, rows: slice, seen: Cells) -> Cells:
        """Cells of outcomes that were never seen too, of allowed pairs."""
        S = self.problem.n_states
        listed = self.problem.mask.ravel()[rows] | (self.belief.totals.ravel()[rows] > 0)
        kept = np.arange(rows.start, rows.stop)[listed]
        _memory.require(
            float(TABLE_BYTES) * kept.size * S, f"a table of {kept.size * S} outcomes", "leave out those never seen"
        )
        row, head = np.repeat(kept, S), np.tile(np.arange(S), kept.size)
        place = np.searchsorted(kept, seen.row) * S + seen.head
        columns = [row, head]
        for name, value in zip(("counts", "mu", "lam", "shape", "rate"), (0.0, *self.belief.prior), strict=True):
            column = np.full(row.size, float(value))
            column[place] = getattr(seen, name)
            columns.append(column)
        return Cells(*columns)

    def forecast(self, policy: Ints, state: int, steps: int, level: float, rng: np.random.Generator) -> pd.DataFrame:
        """Expected reward of each step and their sum under a policy, with intervals over posterior draws."""
        A = self.problem.n_actions
        c = self.cells.take(policy[self.cells.row // A] == self.cells.row % A)
        c = c.take(np.lexsort((c.row, c.head)))  # as the rows of a matrix that leads on
        curves = [self._curve(c, policy, state, steps, rng) for _ in range(FORECAST_DRAWS)]
        return with_intervals(np.array(curves), level)

    def _curve(self, c: Cells, policy: Ints, state: int, steps: int, rng: np.random.Generator) -> Floats:
        """Expected rewards of the next steps in one posterior draw of the policy's rows, whose cells are `c`."""
        S, A = self.r.shape
        eta, (mu, lam, shape, rate) = self.belief.eta, self.belief.prior
        tail = c.row // A
        others = self.unseen[np.arange(S) * A + policy]
        seen, rest = rng.standard_gamma(c.counts + eta), rng.standard_gamma(others * eta)
        whole = np.bincount(tail, seen, S) + rest
        seen, rest = seen / whole[tail], rest / whole
        means = c.mu + rng.standard_normal(c.mu.size) / np.sqrt(c.lam * rng.standard_gamma(c.shape) / c.rate)
        # The average of many mean rewards with Dirichlet weights w: E sum w^2 is what is left of their variance.
        evenness = np.sqrt((eta + 1.0) / (others * eta + 1.0))
        new = mu + evenness * rng.standard_normal(S) / np.sqrt(lam * rng.standard_gamma(shape, S) / rate)
        rewards = np.bincount(tail, seen * means, S) + rest * new
        even = rest / np.maximum(others, 1)
        onward = sparse.csr_array((seen - even[tail], tail, np.searchsorted(c.head, np.arange(S + 1))), shape=(S, S))
        place: Floats = np.zeros(S)
        place[state] = 1.0
        out = np.empty(steps)
        for t in range(steps):
            out[t:] = place @ rewards
            before, place = place, onward @ place + even @ place
            if np.abs(place - before).sum() <= SETTLED:
                break
        return out


def _mean_square(p: Floats, total: Floats) -> Floats:
    """E[P^2] of a probability with mean p in a Dirichlet row."""
    return np.asarray(p**2 + p * (1.0 - p) / (total + 1.0))


def _chance_below(floor: float, reward: tuple[Any, Any, Any, Any]) -> Floats:
    """Probability that a reward with a Normal-Gamma belief is below a floor (Student t)."""
    mu, lam, shape, rate = reward
    scale = np.sqrt(rate * (lam + 1.0) / (shape * lam))
    return np.asarray(special.stdtr(2.0 * shape, (floor - mu) / scale))
