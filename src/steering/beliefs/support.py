"""The sparse form of a belief about an MDP: statistics of outcomes that were seen, the others grouped exactly.

All outcomes of a row that were never seen share the prior's parameters, so that every closed form of the dense belief
is a sum over the outcomes seen plus one term; see `steering._compiled.sparse_beliefs`. Memory is that of what was seen.
Two things differ from the dense form. Draws take other random numbers: the mass of unseen outcomes is drawn once and
split, largest parts first, until 1e-6 of a row is left (`steering._compiled.sparse_draws`), about 14 S eta
parts a row, or all S with eta of 0.05 or more. And beyond 256 outcomes the unit of the reward noise is chosen anew once
there is one new reward for 64 of them, instead of at each `refresh`.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steering import _memory
from steering._compiled import related, sparse_draws, sparse_moments
from steering._compiled import sparse_beliefs as kernels
from steering._compiled.beliefs import refresh_rewards
from steering._types import Floats, Ints
from steering.beliefs.base import MEAN_PULL, Belief, Transitions
from steering.beliefs.grouped import GroupedRows, refuse_table
from steering.beliefs.model import ModelBelief
from steering.beliefs.normal_gamma import NormalGammaCells
from steering.errors import SlowWarning

BYTES_PER_ROW = 168
"""What a pair (s, a) costs before anything was seen of it, a plan included."""
ROOM = 1024
"""Places of the pool, at first."""
MANY = 2**27
"""Parts of a draw that take seconds, so that a run would seem to hang."""
PLACE_BYTES = 12
"""Of a drawn outcome: its number and its probability."""

Pool = tuple[Ints, NDArray[np.int32], NDArray[np.int32], NDArray[np.int32], Floats, Floats, Floats]
Links = tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int32]]


class SparseBelief(Belief):
    """Dirichlet rows and Normal-Gamma rewards by support.

    Parameters
    ----------
    n_states, n_actions
        Size of the MDP.
    options
        As for `Belief`: eta, normal_gamma, concentration, reward_scale, evenness.

    Examples
    --------
    >>> belief = SparseBelief(100_000, 4)
    >>> belief.observe(0, 0, 1.0, 7)
    >>> P, r = belief.mean_model()
    >>> float(P.row(0, 0)[7])
    1.999980000199998e-05
    """

    def __init__(self, n_states: int, n_actions: int, **options: Any) -> None:
        super().__init__(n_states, n_actions, **options)
        S, R = n_states, n_states * n_actions
        _memory.require(
            float(BYTES_PER_ROW) * R, f"a belief about {S} states and {n_actions} actions", "make the problem smaller"
        )
        self.totals = np.zeros((n_states, n_actions))
        self.pool: Pool = (
            np.zeros(R, np.int64),
            np.zeros(R, np.int32),
            np.zeros(R, np.int32),
            *_places(ROOM),
        )
        self.links: Links = (np.full(S, -1, np.int32), np.empty(ROOM, np.int32), np.empty(ROOM, np.int32))
        self.marks = (np.zeros(R, np.bool_), np.empty(R, np.int64))
        self.state: Ints = np.zeros(kernels.NUMBERS, np.int64)
        self.state[kernels.JUDGED] = -1
        self._sums = np.zeros(2)
        self._width = self.given_prior[1]
        self._strength = 0.0
        self._base: Floats = np.empty(0)
        self._excess: Floats = np.empty(0)
        self._related: tuple[Floats, Floats, Floats] = (np.empty(0), np.empty(0), np.empty(0))
        self._drawn: tuple[NDArray[np.int32], Floats] = (np.empty(0, np.int32), np.empty(0))

    @property
    def samples(self) -> int:
        """Number of transitions seen."""
        return int(self.state[kernels.SAMPLES])

    @property
    def seen(self) -> int:
        """Number of different transitions (s, a, s') seen."""
        return int(self.state[kernels.CELLS])

    # Learning --------------------------------------------------------------------------------------------------------

    def _add(self, transitions: Transitions) -> None:
        done, steps = 0, transitions[0].size
        while True:
            done = kernels.observe(
                transitions,
                done,
                *(self.n_states, self.n_actions, self.pool, self.totals.ravel(), self.links, self.marks, self.state),
                (self._etas, self._eta_evidence),
                (self._evens, self._even_evidence),
                self.given_prior[1] * min(self.noise_unit**2, 1.0),
                self._sums,
            )
            if done == steps:
                return
            self._grow()

    def _grow(self) -> None:
        old = self.pool[3].size
        # A row may need more than twice the pool: it doubles its own room when it moves.
        new = 2 * old + 2 * int(self.pool[2].max())
        _memory.require(
            60.0 * new,
            f"a belief about {self.n_states} states with {self.seen} different transitions",
            "make the problem smaller",
        )
        larger = _places(new)
        larger[0][:old] = self.pool[3]
        for column in (1, 2, 3):
            larger[column][:old] = self.pool[3 + column]
        self.pool = (*self.pool[:3], *larger)
        following, origin = np.empty(new, np.int32), np.empty(new, np.int32)
        following[:old], origin[:old] = self.links[1], self.links[2]
        self.links = (self.links[0], following, origin)

    def _refresh_rewards(self) -> None:
        spreads = (self.promise, self.row_promise) if self._open else (0.0, 0.0)
        unit, prior, spreads, self._width = kernels.learn_rewards(
            self.given_prior,
            self.noise_unit,
            self._units,
            self._unit_pulls,
            MEAN_PULL,
            *(self.pool, self.state, self._sums, self._unit_evidence),
            *(self.totals, spreads, self._width),
        )
        if unit > 0:
            self.noise_unit, self.prior = unit, prior
            if self._open:
                self.promise, self.row_promise = spreads

    # Models ----------------------------------------------------------------------------------------------------------

    def model_strength(self, kind: str) -> float:
        """Concentration e of the model (n_y + e) / (n + S e): eta for "mean", at most 1 / S for "data"."""
        return self.eta if kind == "mean" else min(self.eta, 1.0 / self.n_states)

    def model_evenness(self, kind: str) -> float:
        """How even the outcomes of a row are in the model: as learned for "data", 0 (as counted) for "mean"."""
        return self.evenness if kind == "data" else 0.0

    def pooled(self, kind: str) -> bool:
        """Whether outcomes never seen of a row that was tried are expected to pay what those seen of it do."""
        return self._open and kind == "data"

    def _model(self, kind: str) -> tuple[GroupedRows, Floats]:
        R, places = self.totals.size, self.pool[3].size
        if self._base.size != R or self._excess.size != places:
            self._base, self._excess = np.empty(R), np.empty(places)
        self._strength = self.model_strength(kind)
        r, self._known, self._new = np.empty(R), np.empty(R), np.empty(R)
        kernels.fill_model(
            *(self.pool, self.totals.ravel(), self.n_states, self._strength, self.model_evenness(kind)),
            *(self.pooled(kind), self.prior),
            *((self._excess, self._base), r, self._known, self._new),
        )
        start, length, _, heads, *_ = self.pool
        rows = GroupedRows(self.n_states, self.n_actions, (start, length, heads, self._excess, self._base))
        return rows, self._pairs(r)

    def mean_model(self) -> tuple[GroupedRows, Floats]:
        """Posterior mean rows and r (S, A); what is returned is good until the next observation or call."""
        return self._model("mean")

    def data_model(self) -> tuple[GroupedRows, Floats]:
        """The model of the data, see `Belief.data_model`."""
        return self._model("data")

    def related_rows(self, values: Floats) -> GroupedRows:
        """The rows of the model last made, related; see `Belief.related_rows`."""
        start, length, _, heads, *_ = self.pool
        R = self._base.size
        assert self._excess.size == heads.size, "something was observed since the model was made"
        if self._related[0].size != R:
            self._related = np.empty(R), np.empty(R), np.empty(R)
        blended, weight, factor = self._related
        strength = self.n_states * self.model_strength("data")
        related.relate_states(
            *(self.n_actions, self.totals.ravel(), strength, np.ascontiguousarray(values), self.pool),
            (self._excess, self._base, blended, weight, factor),
        )
        return GroupedRows(self.n_states, self.n_actions, (start, length, heads, self._excess, blended, weight, factor))

    def draw_model(self, rng: np.random.Generator) -> tuple[GroupedRows, Floats]:
        """One posterior draw of the rows and r (S, A); the rows are good until the next draw."""
        S, A, R = self.n_states, self.n_actions, self.totals.size
        parts = S + 1 if self.eta >= sparse_draws.LARGE else min(S + 1, 4 + int(20 * S * self.eta))
        places = R * parts + self.seen + S
        _memory.require(
            float(PLACE_BYTES) * places,
            f"a posterior draw of {S} states and {A} actions with a concentration of {self.eta:g} for each next state",
            "use concentration=learned or a smaller eta, of which draws are sparse, or an agent that plans in the mean",
        )
        if self.eta >= sparse_draws.LARGE and places >= MANY:
            warnings.warn(
                f"a posterior draw with a concentration of {self.eta:g} splits every row of {S} states among all: "
                f"{places / 1e6:.0f} million parts, {2e-8 * places:.0f} s or more for the draw alone. With a small eta "
                "most parts are never drawn, and with concentration=learned so once the data say that rows are sparse.",
                SlowWarning,
                stacklevel=2,
            )
        start, length = np.empty(R, np.int64), np.empty(R, np.int32)
        # Kept from draw to draw: asking for the pages of a large array anew takes as long as filling them.
        if self._drawn[0].size < places:
            self._drawn = np.empty(places, np.int32), np.empty(places)
        heads, excess = self._drawn
        base, r = np.empty(R), np.empty(R)
        row = used = 0
        while True:
            out = (start, length, heads, excess, base, r)
            row, used = sparse_draws.draw_rows(
                rng, self.pool, self.totals.ravel(), S, self.eta, self.prior, row, out, used
            )
            if row == R:
                break
            more = heads.size // 2 + S
            heads, excess = np.append(heads, np.empty(more, np.int32)), np.append(excess, np.empty(more))
            self._drawn = heads, excess
        return GroupedRows(S, A, (start, length, heads, excess, base)), self._pairs(r)

    # Moments ---------------------------------------------------------------------------------------------------------

    def reward_spread(self) -> tuple[Floats, Floats]:
        """Standard deviation of r(s, a) by outcomes seen and never seen, in the model last made."""
        return self._pairs(np.sqrt(self._known)), self._pairs(np.sqrt(self._new))

    def unseen_mass(self) -> Floats:
        """Probability of the outcomes never seen, in the model last made."""
        return self._pairs((self.n_states - self.pool[1]) * self._base)

    def value_spread(self, values: Floats, discount: float) -> Floats:
        """Standard deviation of sum P (mu + discount V)."""
        return np.sqrt(self.local_moments(values, discount)[0])

    def related_gains(self, values: Floats) -> Floats:
        """What related rows add to the expected values, see `Belief.related_gains`."""
        out = np.empty(self.totals.size)
        strength = self.n_states * self.model_strength("data")
        related.grouped_gains(
            *(self.pool, self.totals.ravel(), self.n_actions, self.evenness, strength),
            *(np.ascontiguousarray(values), out),
        )
        return self._pairs(out)

    def row_variance(self) -> Floats:
        """Sum over s' of Var P(s'|s, a)."""
        return self._rows(sparse_moments.VARIANCE)

    def row_information(self) -> Floats:
        """Mutual information between a row and its next outcome."""
        return self._rows(sparse_moments.GAIN)

    def _rows(self, kind: int) -> Floats:
        out = np.empty(self.totals.size)
        sparse_moments.all_rows(kind, self.pool, self.totals.ravel(), self.n_states, self.eta, out)
        return self._pairs(out)

    def local_moments(self, values: Floats, discount: float) -> tuple[Floats, Floats]:
        """Var(sum P (mu + discount V)) and sum E[P] Var(mean reward) under the posterior mean."""
        spread, noise = np.empty(self.totals.size), np.empty(self.totals.size)
        sparse_moments.local_moments(
            *(self.pool, self.totals.ravel(), self.n_states, self.eta, self.prior),
            *(np.ascontiguousarray(values), discount, spread, noise),
        )
        return self._pairs(spread), self._pairs(noise)

    def outcomes(self, state: int, action: int) -> tuple[Ints, Floats]:
        """Next states of a pair that were seen, in ascending order, and how often."""
        start, length, _, heads, n, _, _ = self.pool
        row = state * self.n_actions + action
        places = slice(start[row], start[row] + length[row])
        order = np.argsort(heads[places])
        return heads[places][order].astype(np.int64), n[places][order]

    # Dense tables, for looking at small beliefs --------------------------------------------------------------------

    @property
    def counts(self) -> Floats:
        """Counts as a dense table (S, A, S), read-only; refused where it would be large."""
        return self._table("counts", 4)

    @property
    def average(self) -> Floats:
        """Average reward of every outcome seen, 0 elsewhere; a dense read-only table."""
        return self._table("average", 5)

    @property
    def scatter(self) -> Floats:
        """Sum of squared deviations of the rewards of every outcome; a dense read-only table."""
        return self._table("scatter", 6)

    @property
    def alpha(self) -> Floats:
        """Dirichlet parameters eta + counts; a dense table."""
        return self.counts + self.eta

    @property
    def mu(self) -> Floats:
        """Posterior mean of every mean reward; a dense table."""
        return self._rewards().mu

    @property
    def shape(self) -> Floats:
        """Posterior shape of the precision of every reward; a dense table."""
        return self._rewards().shape

    @property
    def rate(self) -> Floats:
        """Posterior rate of the precision of every reward; a dense table."""
        return self._rewards().rate

    def to_dense(self) -> ModelBelief:
        """The same belief as dense tables; refused where they do not fit into memory."""
        dense = ModelBelief(
            self.n_states,
            self.n_actions,
            eta=self.given_eta,
            normal_gamma=self.given_prior,
            concentration="learned" if self._etas.size else "fixed",
            reward_scale="open" if self._open else "learned" if self._units.size else "fixed",
            evenness="learned" if self._evens.size else "none",
        )
        dense.evenness, dense.kinds[:] = self.evenness, self._pairs(self.pool[1].astype(np.float64))
        dense._even_evidence[:] = self._even_evidence
        dense.eta, dense.prior, dense.noise_unit = self.eta, self.prior, self.noise_unit
        dense.promise, dense.row_promise = self.promise, self.row_promise
        dense._eta_evidence[:] = self._eta_evidence
        dense.totals[:] = self.totals
        for table, column in ((dense.counts, 4), (dense.average, 5), (dense.scatter, 6)):
            self._fill(table, column)
        np.add(dense.counts, self.eta, out=dense.alpha)
        refresh_rewards(self.prior, dense.counts, dense.average, dense.scatter, dense.mu, dense.shape, dense.rate)
        return dense

    def _rewards(self) -> NormalGammaCells:
        cells = NormalGammaCells((1,), self.prior)
        cells.counts, cells.average, cells.scatter = self.counts, self.average, self.scatter
        return cells

    def _table(self, name: str, column: int) -> Floats:
        S, A = self.n_states, self.n_actions
        refuse_table(name, S, A)
        table = np.zeros((S, A, S))
        self._fill(table, column)
        table.flags.writeable = False
        return table

    def _fill(self, table: Floats, column: int) -> None:
        start, length, _, heads, *_ = self.pool
        for row in np.flatnonzero(length):
            places = slice(start[row], start[row] + length[row])
            table[row // self.n_actions, row % self.n_actions, heads[places]] = self.pool[column][places]

    def _pairs(self, rows: Floats) -> Floats:
        return rows.reshape(self.n_states, self.n_actions)


def _places(size: int) -> tuple[NDArray[np.int32], Floats, Floats, Floats]:
    return np.empty(size, np.int32), np.empty(size), np.empty(size), np.empty(size)
