"""The dense form of a belief about an MDP: tables (S, A, S) of everything; see `steering.beliefs.base`."""

from __future__ import annotations

from typing import Any

import numpy as np

from steering import _memory
from steering._compiled import beliefs as kernels
from steering._compiled import related
from steering._compiled.reward_scale import learn_rewards
from steering._types import Floats, Ints
from steering.beliefs.base import MEAN_PULL, Belief, Transitions
from steering.beliefs.dirichlet import SMALL_CONCENTRATION, draw_rows

WORTH_ASKING = 2**24
"""Bytes from which on it is asked whether they are there."""

TABLES = 12
"""Dense tables (S, A, S) that a belief holds, those for draws and related rows included."""


class ModelBelief(Belief):
    """Dirichlet rows and Normal-Gamma rewards as dense tables.

    Parameters
    ----------
    n_states, n_actions
        Size of the MDP.
    options
        As for `Belief`: eta, normal_gamma, concentration, reward_scale, evenness.

    Examples
    --------
    >>> belief = ModelBelief(2, 1)
    >>> belief.observe(0, 0, 1.0, 1)
    >>> P, r = belief.mean_model()
    >>> P[0, 0]
    array([0.33333333, 0.66666667])
    """

    def __init__(self, n_states: int, n_actions: int, **options: Any) -> None:
        super().__init__(n_states, n_actions, **options)
        cells = (n_states, n_actions, n_states)
        require_dense(n_states, n_actions, "keep only the outcomes that were seen (belief=sparse)")
        self.counts: Floats = np.zeros(cells)
        self.totals: Floats = np.zeros(cells[:2])
        self.kinds: Floats = np.zeros(cells[:2])
        self.average: Floats = np.zeros(cells)
        self.scatter: Floats = np.zeros(cells)
        self.alpha: Floats = np.full(cells, self.eta)
        self.mu: Floats = np.full(cells, self.prior[0])
        self.shape: Floats = np.full(cells, self.prior[2])
        self.rate: Floats = np.full(cells, self.prior[3])
        self._statistics = (self.counts, self.totals, self.kinds, self.average, self.scatter)
        self._posterior = (self.alpha, self.mu, self.shape, self.rate)
        self._buffers: tuple[Floats, Floats, Floats] | None = None
        self._related: tuple[Floats, Floats] | None = None
        self.P: Floats = np.empty(cells)
        self.r: Floats = np.empty(cells[:2])

    def _add(self, transitions: Transitions) -> None:
        kernels.observe(
            self.prior,
            transitions,
            self._statistics,
            self._posterior,
            (self._etas, self._eta_evidence),
            (self._evens, self._even_evidence),
        )

    def _concentration_moved(self) -> None:
        np.add(self.counts, self.eta, out=self.alpha)

    def _refresh_rewards(self) -> None:
        unit, prior, spread, within = learn_rewards(
            self.given_prior,
            self._units,
            self._unit_pulls,
            MEAN_PULL,
            (self.counts, self.average, self.scatter),
            self._unit_evidence,
            (self.mu, self.shape, self.rate),
            *(self.totals, self.promise if self._open else 0.0),
        )
        if unit > 0:
            self.noise_unit, self.prior = unit, prior
            if self._open:
                self.promise, self.row_promise = spread, within

    def mean_model(self) -> tuple[Floats, Floats]:
        """Posterior mean P (S, A, S) and r (S, A); the arrays are reused by the next call."""
        kernels.mean_model(self.alpha, self.mu, self.P, self.r)
        return self.P, self.r

    def data_model(self) -> tuple[Floats, Floats]:
        """The model of the data, see `Belief.data_model`."""
        kernels.smoothed_model(
            *(self.counts, self.totals, self.kinds, self.eta, self.evenness, self.mu, self._open, self.P, self.r)
        )
        return self.P, self.r

    def related_rows(self, values: Floats) -> Floats:
        """The rows of the model last made, related; see `Belief.related_rows`."""
        if self._related is None:
            self._related = np.empty(self.counts.shape), np.empty(self.n_states)
        out, share = self._related
        strength = min(self.eta * self.n_states, 1.0)
        related.related_rows(
            *(self.counts, self.totals, self.kinds, self.evenness, strength, values, self.P, share, out)
        )
        return out

    def related_gains(self, values: Floats) -> Floats:
        """What related rows add to the expected values, see `Belief.related_gains`."""
        out = np.empty(self.r.shape)
        strength = min(self.eta * self.n_states, 1.0)
        V = np.ascontiguousarray(values)
        related.related_gains(self.counts, self.totals, self.kinds, self.evenness, strength, V, out)
        return out

    def draw_model(self, rng: np.random.Generator) -> tuple[Floats, Floats]:
        """One posterior draw of P (S, A, S) and r (S, A); the arrays are reused by the next call."""
        if self._buffers is None:
            cells = self.counts.shape
            self._buffers = (np.empty(cells), np.empty(cells), np.empty(cells))
        gammas, precisions, normals = self._buffers
        rng.standard_gamma(self.alpha, out=gammas)
        if self.eta < SMALL_CONCENTRATION:
            # A row that was visited has an alpha above 1, so its sum cannot underflow; the others are drawn again.
            fresh = self.totals == 0
            if fresh.any():
                gammas[fresh] = draw_rows(self.alpha[fresh], rng, smallest=self.eta)
        rng.standard_gamma(self.shape, out=precisions)
        rng.standard_normal(out=normals)
        kernels.assemble_draw(
            gammas, precisions, normals, self.prior[1], self.counts, self.mu, self.rate, self.P, self.r
        )
        return self.P, self.r

    def reward_spread(self) -> tuple[Floats, Floats]:
        """Standard deviation of r(s, a) by outcomes seen and never seen, in the model last made."""
        seen, new = np.empty(self.r.shape), np.empty(self.r.shape)
        kernels.reward_spread(self.P, self.counts, self.rate, self.shape, self.prior[1], seen, new)
        return seen, new

    def unseen_mass(self) -> Floats:
        """Probability of the outcomes never seen, in the model last made."""
        out = np.empty(self.r.shape)
        kernels.unseen_mass(self.counts, self.P, out)
        return out

    def value_spread(self, values: Floats, discount: float) -> Floats:
        """Standard deviation of sum P (mu + discount V)."""
        out = np.empty(self.r.shape)
        kernels.value_spread(self.alpha, self.mu, values, discount, out)
        return out

    def row_variance(self) -> Floats:
        """Sum over s' of Var P(s'|s, a)."""
        out = np.empty(self.r.shape)
        kernels.row_variance(self.alpha, out)
        return out

    def row_information(self) -> Floats:
        """Mutual information between a row and its next outcome."""
        out = np.empty(self.r.shape)
        kernels.row_information(self.alpha, self.eta, out)
        return out

    def local_moments(self, values: Floats, discount: float) -> tuple[Floats, Floats]:
        """Var(sum P (mu + discount V)) and sum E[P] Var(mean reward), in the model last made."""
        spread, noise = np.empty(self.r.shape), np.empty(self.r.shape)
        kernels.local_moments(
            *(self.alpha, self.counts, self.mu, self.rate, self.shape, self.prior[1]),
            *(values, discount, self.P, spread, noise),
        )
        return spread, noise

    def outcomes(self, state: int, action: int) -> tuple[Ints, Floats]:
        """Next states of a pair that were seen, and how often."""
        counts = self.counts[state, action]
        seen = np.flatnonzero(counts)
        return seen, counts[seen]


def require_dense(n_states: int, n_actions: int, advice: str) -> None:
    """Refuse a dense belief that does not fit into memory, with what to do about it."""
    needed = 8.0 * TABLES * n_states * n_actions * n_states
    if needed > WORTH_ASKING:
        _memory.require(needed, f"a dense belief about {n_states} states and {n_actions} actions", advice)
