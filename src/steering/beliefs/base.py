"""What both forms of a belief about an MDP share: the priors that can be learned, and what agents ask for.

**How concentrated rows are** (``concentration="learned"``). All rows share one eta. Each value on a grid (1e-6 to 1e3
in steps of a factor 1.26) gets a score: its log evidence, that is the Dirichlet-multinomial marginal likelihood of
everything seen, plus a weak log-normal pull towards the given eta. Of all values that score at most `PLAUSIBLE` below
the best, the one nearest to the given eta is taken: eta leaves the given value as far as the data demand, and no
further. The best value itself would be too rash. A few rows that happened to show one outcome each do not prove that
rows are deterministic, and an agent that thinks so gives up what failed once. The grid goes down so far because eta is
for each of S outcomes: with 1e-3 a row of 900 tried once would lead elsewhere with a chance of a half for ever.

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

**How large rewards are** (``reward_scale="open"``: all of the above, and this). The spread of mean rewards grows with
what was seen: tau^2 = max(sigma_0^2, sum of squared averages / (cells + 1)), and lambda_0 falls to
beta_0 / (tau^2 (alpha_0 - 1)), so that rewards of -25 are believed even if the prior expected nothing beyond 2. It
never falls below the given sigma_0. The noise is judged with the same tau: rewards far apart are no noise if each comes
again as it was; units c go down to 1e-6 (``learned``: 1e-3).

Apart from it, `promise` says what a reward never seen may be worth to somebody who looks for it: 0.6 times what the
best mean seen has above the middle of all (the mean of averages, one far below the common mean counting as no further
below it than the best is above), if that is more than sigma_0. Else it goes from sigma_0 to 0.6 times what the best has
above the common mean as pairs are tried (with k of them the weight k / (k + 60)), once some reward is better than that
beyond doubt (four standard errors). So rewards that are all a hundred times smaller or larger than the prior has it are
looked for in much the same way, unless there are disasters among them. `row_promise` says the same of an outcome never
seen of a pair that was tried, above what the pair has paid: the spread of rewards within rows as measured, mixed with
`promise` until a few rows have shown several outcomes, and at most `promise`. The model of the data expects such an
outcome to pay what its row is expected to pay by those seen (the other models, and `value_spread`, expect the common
mean). Where rewards follow from state and action alone, little is left to look for in a pair that was tried.

**How even the chances of a row's outcomes are** (``evenness="learned"``; in the model of the data only). An outcome
that came n_y times in n visits counts as n (n_y + b) / (n + k b), k being the number of outcomes seen of the row: their
shares are drawn towards equal ones, as if each had come b times more. With b = 0 they are as counted. All rows share b.
Each value on a grid up to 8 gets its log evidence, from the chance that it gave to every outcome that came again among
those known of its row, and the least that scores at most `EVEN_PLAUSIBLE` below the best is taken: the shares are as
counted unless the data demand otherwise. Where an action leads to a few places alike, as one that slips, its row is
known after a few visits; where chances differ, b is 0.

All of it takes effect at `refresh`, which an agent calls before it plans. The evidence for eta is updated with every
sample; the evidence for c is computed at `refresh` and costs a few logarithms for each grid point and cell seen.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from steering._compiled import beliefs as kernels
from steering._types import Floats, Ints
from steering.beliefs.dirichlet import checked_concentration
from steering.beliefs.grouped import Rows
from steering.beliefs.normal_gamma import PAPER_PRIOR, checked_prior, prior_spread
from steering.errors import InvalidOption

Transitions = tuple[Ints, Ints, Floats, Ints]

GRID = np.concatenate([np.geomspace(1e-6, 1e-3, 31)[:-1], np.geomspace(1e-3, 1e3, 61)])
UNIT_GRID = np.geomspace(1e-3, 1e3, 31)
OPEN_UNIT_GRID = np.geomspace(1e-6, 1e3, 46)
PULL = 2.0  # standard deviation of the log-normal pull, in natural logarithms
PLAUSIBLE = 1.0  # log evidence by which the concentration may be less likely than the best
EVEN_GRID = np.array([0.0, 0.03, 0.1, 0.2, 0.4, 0.7, 1.0, 1.5, 2.5, 4.0, 8.0])
EVEN_PLAUSIBLE = 6.0  # log evidence by which what is less even may be less likely than the best
MEAN_PULL = 4.0  # cells that the given mean reward is worth


class Belief(ABC):
    """Posterior over the transitions and mean rewards of a finite MDP; `ModelBelief` and `SparseBelief` are its forms.

    Parameters
    ----------
    n_states, n_actions
        Size of the MDP.
    eta
        Dirichlet concentration of every next state.
    normal_gamma
        Prior (mu, lambda, alpha, beta) of every reward r(s, a, s').
    concentration, reward_scale
        "fixed" or "learned", see the module; the latter also "open".
    evenness
        "none" or "learned", see the module.

    Attributes
    ----------
    eta, prior, noise_unit, evenness
        Concentration, prior of rewards, unit of their noise, and how even the outcomes of a row are, in force.
    promise, row_promise
        Spread of mean rewards never seen: that of the prior, or what was learned of it; the latter of pairs tried.
    totals
        Visits of every pair, (S, A).
    """

    totals: Floats

    if TYPE_CHECKING:  # dense tables (S, A, S); a large sparse belief refuses them

        @property
        def counts(self) -> Floats: ...  # noqa: D102

        @property
        def average(self) -> Floats: ...  # noqa: D102

        @property
        def scatter(self) -> Floats: ...  # noqa: D102

        @property
        def alpha(self) -> Floats: ...  # noqa: D102

        @property
        def mu(self) -> Floats: ...  # noqa: D102

        @property
        def shape(self) -> Floats: ...  # noqa: D102

        @property
        def rate(self) -> Floats: ...  # noqa: D102

    def __init__(
        self,
        n_states: int,
        n_actions: int,
        *,
        eta: float = 1.0,
        normal_gamma: Sequence[float] = PAPER_PRIOR,
        concentration: str = "fixed",
        reward_scale: str = "fixed",
        evenness: str = "none",
    ) -> None:
        self.given_eta = checked_concentration(eta)
        self.given_prior = checked_prior(normal_gamma)
        learn_eta = _checked_choice("concentration", concentration)
        learn_scale = _checked_choice("reward_scale", reward_scale, ("fixed", "learned", "open"))
        _checked_choice("evenness", evenness, ("none", "learned"))
        if min(n_states, n_actions) < 1:
            raise InvalidOption(f"a belief about {n_states} states and {n_actions} actions needs at least one of each.")
        self.n_states, self.n_actions = n_states, n_actions
        self.eta = self.given_eta
        self.evenness = 0.0
        self.noise_unit = 1.0
        self.prior = self.given_prior
        self._open = reward_scale == "open"
        self.promise = self.row_promise = self._given_promise()
        self._etas = np.sort(np.append(GRID, self.given_eta)) if learn_eta else np.empty(0)
        away = np.log(self._etas / self.given_eta)
        self._eta_distance = np.abs(away)
        self._eta_evidence = -0.5 * (away / PULL) ** 2
        self._evens = EVEN_GRID.copy() if evenness == "learned" else np.empty(0)
        self._even_evidence = np.zeros(self._evens.size)
        self._units = (OPEN_UNIT_GRID if self._open else UNIT_GRID).copy() if learn_scale else np.empty(0)
        self._unit_pulls = 0.5 * (np.log(self._units) / PULL) ** 2
        self._unit_evidence = np.zeros(self._units.size)

    def _given_promise(self) -> float:
        alpha = self.given_prior[2]
        if alpha > 1:
            return prior_spread(self.given_prior)
        if self._open:
            raise InvalidOption(f"normal_gamma has alpha = {alpha}; reward_scale=open needs alpha above 1.")
        return float("inf")

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
        S, A = self.n_states, self.n_actions
        wrong = kernels.first_invalid(transitions, S, A)
        if wrong >= 0:
            s, a, r, y = (array[wrong] for array in transitions)
            raise InvalidOption(
                f"transition number {wrong} is ({s}, {a}, {r}, {y}); it must be a state below {S}, an action below "
                f"{A}, a finite reward and a next state below {S}."
            )
        self._add(transitions)

    def refresh(self) -> None:
        """Move to what the evidence says of the priors that are learned."""
        if self._etas.size:
            # There may be a gap among the plausible values, with the given one in it.
            eta = float(self._etas[kernels.nearest_plausible(self._eta_evidence, self._eta_distance, PLAUSIBLE)])
            if eta != self.eta:
                self.eta = eta
                self._concentration_moved()
        if self._evens.size:
            least = kernels.nearest_plausible(self._even_evidence, self._evens, EVEN_PLAUSIBLE)
            self.evenness = float(self._evens[least])
        if self._units.size:
            self._refresh_rewards()

    @abstractmethod
    def _add(self, transitions: Transitions) -> None:
        """Add transitions that were checked."""

    def _concentration_moved(self) -> None:  # noqa: B027 - a default
        """Follow a new `eta`."""

    @abstractmethod
    def _refresh_rewards(self) -> None:
        """Choose `noise_unit` and `prior` anew."""

    @abstractmethod
    def mean_model(self) -> tuple[Rows, Floats]:
        """Posterior mean P (S, A, S) and r (S, A); the arrays are reused by the next call."""

    @abstractmethod
    def data_model(self) -> tuple[Rows, Floats]:
        """The mean model under a prior that is worth one observation of a row at most: P_y = (n_y + e) / (n + S e).

        e = min(eta, 1 / S), and the counts n_y are evened, see the module. With reward_scale="open" outcomes never seen
        of a pair that was tried are expected to pay what the pair does by those seen. The arrays are reused by the next
        call.
        """

    @abstractmethod
    def related_rows(self, values: Floats) -> Rows:
        """The rows of the model last made, which is that of the data, related.

        What the prior expects of a pair that was tried is then where the actions of its state were seen to lead. A
        pair tried once or twice is left as it is where it would lose by it, with `values` (S,) of the next state; see
        `steering._compiled.related`. The arrays are reused by the next call. Nothing may be observed between the model
        and this call.
        """

    @abstractmethod
    def related_gains(self, values: Floats) -> Floats:
        """What related rows add to the expected values (S,) of the next state, for every pair (S, A)."""

    @abstractmethod
    def draw_model(self, rng: np.random.Generator) -> tuple[Rows, Floats]:
        """One posterior draw of P (S, A, S) and r (S, A); the arrays are reused by the next call."""

    @abstractmethod
    def reward_spread(self) -> tuple[Floats, Floats]:
        """Standard deviation of r(s, a) by outcomes seen and by outcomes never seen, in the model last made."""

    @abstractmethod
    def unseen_mass(self) -> Floats:
        """Probability of the outcomes never seen, in the model last made, (S, A)."""

    @abstractmethod
    def value_spread(self, values: Floats, discount: float) -> Floats:
        """Standard deviation of sum P (mu + discount V) under the posterior, (S, A); `values` (S,) are V."""

    @abstractmethod
    def row_variance(self) -> Floats:
        """Sum over s' of Var P(s'|s, a), (S, A)."""

    @abstractmethod
    def row_information(self) -> Floats:
        """Mutual information between P(.|s, a) and the next transition from (s, a), (S, A)."""

    @abstractmethod
    def local_moments(self, values: Floats, discount: float) -> tuple[Floats, Floats]:
        """Var(sum P (mu + discount V)) and sum E[P] Var(mean reward), each (S, A); the mean model is the one last made.

        `values` (S,) are those of the next states.
        """

    @abstractmethod
    def outcomes(self, state: int, action: int) -> tuple[Ints, Floats]:
        """Next states of a pair that were seen, in ascending order, and how often."""


def _checked_choice(name: str, value: str, known: tuple[str, ...] = ("fixed", "learned")) -> bool:
    if value not in known:
        raise InvalidOption(f"{name} is '{value}'; choose {' or '.join(repr(word) for word in known)}.")
    return value != "fixed"
