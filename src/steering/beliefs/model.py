"""What a model-based agent believes about an MDP: Dirichlet rows and Normal-Gamma rewards, together.

Parts of the prior can be learned from the data.

**How concentrated rows are** (``concentration="learned"``). All rows share one eta. Each value on a grid (steps of a
factor 1.26) gets a score: its log evidence, that is the Dirichlet-multinomial marginal likelihood of everything seen,
plus a weak log-normal pull towards the given eta. Of all values that score at most `PLAUSIBLE` below the best, the one
nearest to the given eta is taken: eta leaves the given value as far as the data demand, and no further. The best value
itself would be too rash. A few rows that happened to show one outcome each do not prove that rows are deterministic,
and an agent that thinks so gives up what failed once.

**How noisy rewards are** (``reward_scale="learned"``). The noise of rewards is measured in a unit c, the value with the
best score on a grid (steps of a factor 1.58). The evidence is that of all cells about their own common mean; one cell
counts as a few rewards at most (`EVIDENCE_LIMIT`). Then beta_0 becomes beta_0 c^2 and lambda_0 becomes
lambda_0 min(c^2, 1), with two consequences:

* Less noise than expected (c < 1): the spread of mean rewards, beta_0 / (lambda_0 (alpha_0 - 1)), stays what the prior
  says. Rewards that were seen tell how noisy rewards are, not how large the unseen ones are; an agent that confuses the
  two stops looking for them.
* More noise than expected (c > 1): the prior counts as many observations as before.

The mean mu_0, which all cells share, is learned too, with a pull worth `MEAN_PULL` cells: where every step costs 1,
what was never tried is expected to cost about as much.

All of it takes effect at `refresh`, which an agent calls before it plans. The evidence for eta is updated with every
sample; the evidence for c is computed at `refresh` and costs a few logarithms for each grid point and cell seen.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from steering._compiled import beliefs as kernels
from steering._types import Floats, Ints
from steering.beliefs.dirichlet import SMALL_CONCENTRATION, checked_concentration, draw_rows
from steering.beliefs.normal_gamma import PAPER_PRIOR, checked_prior
from steering.errors import InvalidOption

Transitions = tuple[Ints, Ints, Floats, Ints]

GRID = np.geomspace(1e-3, 1e3, 61)
UNIT_GRID = np.geomspace(1e-3, 1e3, 31)
PULL = 2.0  # standard deviation of the log-normal pull, in natural logarithms
PLAUSIBLE = 1.0  # log evidence by which the concentration may be less likely than the best
MEAN_PULL = 4.0  # cells that the given mean reward is worth


class ModelBelief:
    """Posterior over the transitions and mean rewards of a finite MDP.

    Parameters
    ----------
    n_states, n_actions
        Size of the MDP.
    eta
        Dirichlet concentration of every next state.
    normal_gamma
        Prior (mu, lambda, alpha, beta) of every reward r(s, a, s').
    concentration, reward_scale
        "fixed" or "learned", see above.

    Examples
    --------
    >>> belief = ModelBelief(2, 1)
    >>> belief.observe(0, 0, 1.0, 1)
    >>> P, r = belief.mean_model()
    >>> P[0, 0]
    array([0.33333333, 0.66666667])
    """

    def __init__(
        self,
        n_states: int,
        n_actions: int,
        *,
        eta: float = 1.0,
        normal_gamma: Sequence[float] = PAPER_PRIOR,
        concentration: str = "fixed",
        reward_scale: str = "fixed",
    ) -> None:
        self.given_eta = checked_concentration(eta)
        self.given_prior = checked_prior(normal_gamma)
        learn_eta = _checked_choice("concentration", concentration)
        learn_scale = _checked_choice("reward_scale", reward_scale)
        cells = (n_states, n_actions, n_states)
        if min(cells) < 1:
            raise InvalidOption(f"a belief about {n_states} states and {n_actions} actions needs at least one of each.")
        self.eta = self.given_eta
        self.noise_unit = 1.0
        self.prior = self.given_prior
        self.counts: Floats = np.zeros(cells)
        self.totals: Floats = np.zeros(cells[:2])
        self.average: Floats = np.zeros(cells)
        self.scatter: Floats = np.zeros(cells)
        self.alpha: Floats = np.full(cells, self.eta)
        self.mu: Floats = np.full(cells, self.prior[0])
        self.shape: Floats = np.full(cells, self.prior[2])
        self.rate: Floats = np.full(cells, self.prior[3])
        self._etas = np.sort(np.append(GRID, self.given_eta)) if learn_eta else np.empty(0)
        away = np.log(self._etas / self.given_eta)
        self._eta_distance = np.abs(away)
        self._eta_evidence = -0.5 * (away / PULL) ** 2
        self._units = UNIT_GRID.copy() if learn_scale else np.empty(0)
        self._unit_pulls = 0.5 * (np.log(self._units) / PULL) ** 2
        self._unit_evidence = np.zeros(self._units.size)
        self._statistics = (self.counts, self.totals, self.average, self.scatter)
        self._posterior = (self.alpha, self.mu, self.shape, self.rate)
        self._buffers: tuple[Floats, Floats, Floats] | None = None
        self.P: Floats = np.empty(cells)
        self.r: Floats = np.empty(cells[:2])

    def observe(self, state: int, action: int, reward: float, next_state: int) -> None:
        """Add one transition."""
        self.observe_many(
            (
                np.array([state]),
                np.array([action]),
                np.array([reward], dtype=np.float64),
                np.array([next_state]),
            )
        )

    def observe_many(self, transitions: Transitions) -> None:
        """Add transitions (states, actions, rewards, next states) in their order."""
        wrong = kernels.first_invalid(transitions, *self.totals.shape)
        if wrong >= 0:
            s, a, r, y = (array[wrong] for array in transitions)
            S, A = self.totals.shape
            raise InvalidOption(
                f"transition number {wrong} is ({s}, {a}, {r}, {y}); it must be a state below {S}, an action below "
                f"{A}, a finite reward and a next state below {S}."
            )
        kernels.observe(
            self.prior,
            transitions,
            self._statistics,
            self._posterior,
            (self._etas, self._eta_evidence),
        )

    def refresh(self) -> None:
        """Move to what the evidence says of the priors that are learned."""
        if self._etas.size:
            self._refresh_concentration()
        if self._units.size:
            self._refresh_rewards()

    def _refresh_concentration(self) -> None:
        # There may be a gap among the plausible values, with the given one in it.
        eta = float(self._etas[kernels.nearest_plausible(self._eta_evidence, self._eta_distance, PLAUSIBLE)])
        if eta != self.eta:
            self.eta = eta
            np.add(self.counts, eta, out=self.alpha)

    def _refresh_rewards(self) -> None:
        unit, prior = kernels.learn_rewards(
            self.given_prior,
            self._units,
            self._unit_pulls,
            MEAN_PULL,
            (self.counts, self.average, self.scatter),
            self._unit_evidence,
            (self.mu, self.shape, self.rate),
        )
        if unit > 0:
            self.noise_unit, self.prior = unit, prior

    def mean_model(self) -> tuple[Floats, Floats]:
        """Posterior mean P (S, A, S) and r (S, A); the arrays are reused by the next call."""
        kernels.mean_model(self.alpha, self.mu, self.P, self.r)
        return self.P, self.r

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


def _checked_choice(name: str, value: str) -> bool:
    if value not in ("fixed", "learned"):
        raise InvalidOption(f"{name} is '{value}'; choose 'fixed' or 'learned'.")
    return value == "learned"
