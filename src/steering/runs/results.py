"""The outcome of running one agent on one environment for several seeds.

Regret compares with an oracle that follows the optimal policy of the true MDP:

    realised   oracle's reward - agent's reward, both with their noise; the oracle meets the same noise as the agent,
    expected   the oracle's expected reward of step t - r(s_t, a_t) of the agent, free of reward noise.

Normalised regret is divided by the oracle's expected total reward; where that is not positive the ratio means nothing
and is refused. The *score* is divided by what the oracle earns more than the policy that takes every allowed action
equally often: it is defined for costs too, wherever the oracle is the better of the two.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from steering._types import Floats, Ints
from steering.errors import InvalidOption, NotAvailable
from steering.runs.tables import POINTS, Tabled, count, sentence, summary_of, thinned_steps
from steering.runs.visits import Visits, state_visits

if TYPE_CHECKING:
    from steering.runs.animation import Animation

NORMALISED = (False, True, "oracle", "random")


@dataclass(frozen=True)
class QSnapshots:
    """Beliefs about Q at chosen times: arrays (seeds, times, layers, S, A), NaN where an action is not allowed.

    `times` is (times,), or (seeds, times) where seeds differ in them; see `RunResults`.
    """

    times: Ints
    mean: Floats
    std: Floats
    optimal: Floats | None
    """Q of the optimal policy, (layers, S, A), where the MDP is known."""


@dataclass(frozen=True)
class Diagnostics:
    """What every plan of STEERING rested on; arrays (seeds, plans), `information` (seeds, plans, S, A).

    A seed with fewer plans than another has NaN at the end.

    Attributes
    ----------
    info_weight
        The weight lambda in use.
    information
        D(s, a), the Stein information of every row.
    gain
        K, the discounted Stein information of the policy from the state of the plan.
    regret
        Posterior estimate of V* - V of the policy there.
    ratio
        Stein information ratio regret^2 / gain; infinite where there is regret and nothing to learn.
    dictionary
        Size of the dictionary.
    true_regret
        V* - V of the policy there in the true MDP, which no agent knows; None for records without it.
    """

    info_weight: Floats
    information: Floats
    gain: Floats
    regret: Floats
    ratio: Floats
    dictionary: Floats
    true_regret: Floats | None = None

    def theorem_sides(self) -> tuple[Floats, Floats]:
        """Both sides of the paper's first theorem, one pair for each seed.

        Left the sum of regrets, right sqrt(largest ratio * number of plans * sum of gains). Both are the agent's own
        posterior expectations, so that the inequality is Cauchy and Schwarz's and must hold. The theorem is about the
        expectation over MDPs of the prior; in one MDP, or under a wrong prior, `true_sum` may exceed the right side. A
        plan with regret and nothing to learn has an infinite ratio, and the right side is infinite: the theorem says
        nothing then.
        """
        made = ~np.isnan(self.regret)
        largest = self.ratio.max(axis=1, initial=0.0, where=made)
        known = np.isfinite(largest)
        gains = self.gain.sum(axis=1, where=made)
        right = np.sqrt(np.where(known, largest, 0.0) * made.sum(axis=1) * gains)
        right[~known] = np.inf
        return self.regret.sum(axis=1, where=made), right

    def true_sum(self) -> Floats:
        """Sum of V* - V in the true MDP over all plans, one for each seed: what the theorem bounds in expectation."""
        if self.true_regret is None:
            raise NotAvailable("the true regret of plans is not in these records; run again and record diagnostics.")
        total: Floats = self.true_regret.sum(axis=1, where=~np.isnan(self.true_regret))
        return total


@dataclass(frozen=True, repr=False)
class RunResults(Tabled):
    """Everything recorded about K seeds of T steps of one agent; see the methods for regret.

    Attributes
    ----------
    rewards
        Received rewards, (K, T).
    expected_rewards
        r(s_t, a_t) of the state-action pairs visited, (K, T); None when the MDP is not known.
    oracle_rewards, oracle_expected
        Rewards of the oracle with noise (K, T), and its expected rewards (T,); None when the MDP is not known.
    random_total
        Expected total reward of the policy that takes every allowed action equally often, over T steps.
    visits, windows
        Number of visits to (s, a) in each window of steps, (K, W, S, A), and the W + 1 edges of the windows; where
        that would be large, a `SparseVisits` that stands for it.
    plan_times, value_gaps
        On request: the steps at which plans were made, (plans,), and V*(s) - V_policy(s) in the state of each such
        step, (K, plans). Where seeds plan at different steps (an agent that decides itself when to plan), the steps are
        (K, plans) too, and the row of a seed with fewer plans than another ends in steps of -1 and gaps of NaN.
    q_posterior, diagnostics
        On request: beliefs about Q, and what each plan rested on.
    """

    environment: str
    agent: str
    seeds: tuple[int, ...]
    discount: float
    horizon: int | None
    rewards: Floats
    expected_rewards: Floats | None
    oracle_rewards: Floats | None
    oracle_expected: Floats | None
    visits: Visits
    windows: Ints
    seconds: Floats
    plan_times: Ints | None = None
    value_gaps: Floats | None = None
    q_posterior: QSnapshots | None = None
    diagnostics: Diagnostics | None = None
    settings: dict[str, object] = field(default_factory=dict)
    random_total: float | None = None

    def __repr__(self) -> str:
        size = f"{count(len(self.seeds), 'seed')} of {count(self.steps, 'step')}"
        return f"RunResults: {self.agent} on {self.environment}, {size}\n{sentence(self.summary())}"

    @property
    def steps(self) -> int:
        """Number of steps T of each run."""
        return int(self.rewards.shape[1])

    def state_visits(self) -> Floats:
        """Visits to each state, shape (K, S); ``env.render(results.state_visits().mean(axis=0))`` draws a heatmap."""
        return state_visits(self.visits)

    def animate(self, path: str | Path | None = None, *, seed: int | None = None, milliseconds: int = 400) -> Animation:
        """Where one seed was and what it did most, window by window; shows itself in a notebook.

        Parameters
        ----------
        path
            File to write as well: .gif, or .html, a page that holds it.
        seed
            One of `seeds`; the first unless given.
        milliseconds
            Time of a frame. There is one for each window: ``run(..., windows=50)`` makes a smooth one.
        """
        from steering.runs.animation import animate

        made = animate(self, seed=seed, milliseconds=milliseconds)
        if path is not None:
            made.save(path)
        return made

    def regret_curve(self, *, normalised: bool | str = False, kind: str = "realised") -> Floats:
        """Cumulative regret after each step, shape (K, T).

        Parameters
        ----------
        normalised
            Divide by the oracle's expected total reward over all T steps (True or "oracle"), or by how much more that
            is than the uniformly random policy's ("random": the score).
        kind
            "realised" or "expected".
        """
        if kind not in ("realised", "expected"):
            raise InvalidOption(f"kind is '{kind}'; choose 'realised' or 'expected'.")
        if normalised not in NORMALISED:
            raise InvalidOption(f"normalised is {normalised!r}; choose False, True, 'oracle' (as True) or 'random'.")
        if self.oracle_rewards is None or self.oracle_expected is None or self.expected_rewards is None:
            raise NotAvailable(
                f"regret needs the true MDP, and '{self.environment}' gives only samples; use `rewards`, or estimate "
                "its table with the option estimate=STEPS."
            )
        if kind == "realised":
            gaps = self.oracle_rewards - self.rewards
        else:
            gaps = self.oracle_expected - self.expected_rewards
        curve: Floats = np.cumsum(gaps, axis=1)
        if normalised == "random":
            return curve / self.random_gap()
        return curve / self.oracle_total() if normalised else curve

    def regret(self, *, normalised: bool | str = False, kind: str = "realised") -> Floats:
        """Total regret of every seed, shape (K,); see `regret_curve`."""
        return self.regret_curve(normalised=normalised, kind=kind)[:, -1]

    def oracle_total(self) -> float:
        """The oracle's expected total reward; refused when it is not positive: no ratio to it has a meaning then."""
        total = self._oracle_sum()
        if not total > 0:
            raise NotAvailable(
                f"normalised regret is not defined on '{self.environment}': the oracle's expected total reward is "
                f"{total:.6g}, not positive; use the raw regret (normalised=False) or normalised='random'."
            )
        return total

    def random_gap(self) -> float:
        """How much more the oracle earns than a uniformly random policy, in expectation; refused unless positive."""
        total = self._oracle_sum()
        if self.random_total is None:
            raise NotAvailable("these results do not say what a random policy earns; run again for a score.")
        gap = total - self.random_total
        if not gap > ROUNDING * max(abs(total), abs(self.random_total)):
            raise NotAvailable(
                f"the score is not defined on '{self.environment}': in {count(self.steps, 'step')} the oracle earns "
                f"{total:.6g} and a uniformly random policy {self.random_total:.6g}, no less; use the raw regret."
            )
        return gap

    def _oracle_sum(self) -> float:
        if self.oracle_expected is None:
            raise NotAvailable(f"the oracle of '{self.environment}' is not known: it gives only samples.")
        return float(self.oracle_expected.sum())

    def table(self) -> pd.DataFrame:
        """One row for each seed: total reward, regrets and time. Columns that do not exist for the run are left out."""
        columns: dict[str, object] = {
            "environment": self.environment,
            "agent": self.agent,
            "seed": list(self.seeds),
            "steps": self.steps,
            "reward": self.rewards.sum(axis=1),
        }
        if self.oracle_rewards is not None:
            columns["oracle_reward"] = self.oracle_rewards.sum(axis=1)
            raw = {kind: self.regret(kind=kind) for kind in ("realised", "expected")}
            columns |= {f"{kind}_regret": values for kind, values in raw.items()}
            oracle, gap = known(self.oracle_total), known(self.random_gap)
            if oracle is not None:
                columns["oracle_total"] = oracle
                columns["normalised_regret"] = raw["realised"] / oracle
                columns["normalised_expected_regret"] = raw["expected"] / oracle
            if gap is not None:
                columns["random_gap"] = gap
                columns["score"] = raw["realised"] / gap
        columns["seconds"] = self.seconds
        return pd.DataFrame(columns)

    @property
    def curves(self) -> pd.DataFrame:
        """Cumulative reward and regrets of each seed at up to 200 steps; `cell` is the row of `table`."""
        at = thinned_steps(self.steps, POINTS)
        runs = len(self.seeds)
        table = pd.DataFrame({"cell": np.repeat(np.arange(runs), at.size)})
        table["environment"], table["agent"], table["steps"] = self.environment, self.agent, self.steps
        table["seed"], table["step"] = np.repeat(self.seeds, at.size), np.tile(at, runs)
        table["reward"] = np.cumsum(self.rewards, axis=1)[:, at - 1].reshape(-1)
        if self.oracle_rewards is not None:
            table["regret"] = self.regret_curve()[:, at - 1].reshape(-1)
            table["expected_regret"] = self.regret_curve(kind="expected")[:, at - 1].reshape(-1)
        return table

    def summary(self) -> dict[str, Any]:
        """Mean over seeds of the headline measure with its 95 % interval (None below 3 seeds), and of all measures.

        The headline measure is normalised regret where it exists, else the score, else raw regret, else reward.
        """
        row = {str(name): value for name, value in summary_of(self.table()).iloc[0].to_dict().items()}
        return row | {end: row[end] if np.isfinite(row[end]) else None for end in ("low", "high")}


ROUNDING = 1e-9
"""Two totals that differ by less than this share of them are the same."""


def known(total: Callable[[], float]) -> float | None:
    """A total, or nothing where it is refused."""
    try:
        return total()
    except NotAvailable:
        return None
