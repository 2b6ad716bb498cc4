"""STEERING: Stein information directed exploration (Chakraborty et al. 2023), made sound.

The paper's Algorithm 1, episode by episode:

    sample or summarise   a model from the posterior,
    estimate              a policy: value plus information (regularised), or the least information ratio,
    interact              with it,
    select                samples for the dictionary,
    update                dictionary and posterior.

Default, in ten lines. The belief learns how concentrated rows are, how noisy rewards are and how large
(`steering.beliefs.base`). Plans are made when something was learned (`replan=learned`), in the model of the data, for

    r(s, a) + c sqrt(DV(s, a)) + novelty P(unseen | s, a) rho(s, a) + reward_noise sigma(s, a) z(s, a)

with a horizon of at least `far` S steps (200 at most). In that model the prior expects of an action that was tried what
the actions of its state were seen to lead to (`rows=related`, `steering._compiled.related`), and outcomes seen have
chances as even as all rows together say (`evenness=learned`, `steering.beliefs.base`). DV = E_q (q'f - m'f)^2 =
Var(q'f) is the Stein information of the row for the operator `gibbs` and the rank-one kernel f f', f = r + gamma V with
the values V of the plan itself: what is not known, if it can matter. rho is what a reward never seen may be worth: the
belief's `promise` for a pair never tried, its `row_promise` for others, times sqrt(1 + g h / (1 + n)^2) for a pair with
n visits, h = min(1, 2 / (1 + n)), g being `persistence` times the mean number of visits of a pair, so that what may
still show something new is tried again. sigma is the posterior standard deviation of r(s, a) by rewards seen and z
standard normal, drawn anew at each plan: unseen rewards are looked for, rewards seen but noisy are resolved by
posterior sampling. Now and then an excursion looks for nothing but the Stein information D(s, a) = E_q DSD(m, q) of
`barker` and the exponential Hamming kernel: for what is not known at all (`steering.agents.excursions`).

Other settings. `info_weight` adds lambda u D(s, a) to the reward of the plan, the paper's regularised objective; u is
the prior's spread of mean rewards relative to that of the paper's prior (1 unless another prior is given), so that
scaling rewards and prior together changes nothing; with weight_unit=none, as in the presets of the paper, u = 1. With
unseen=independent the rewards never seen of a row are independent and have the prior's spread.

Ratio objective: minimise (v* - V)^2 / K exactly, v* the mean optimal value of a few posterior draws, V and K
the discounted reward and D of the policy in the planning model (with planning=data that is not the posterior's mean,
and V may exceed v*: then there is nothing to gain by information, and lambda is 0); no weight is left to choose (see
`steering.agents.ratio`).

By default the agent plans in the model of its data: the posterior mean, but with a prior that is worth one observation
of a row at most (at that limit Perks' rule). A confident and wrong prior then delays no plan; it acts through the
information only. A learned concentration that expects sparser rows is heard.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from steering._compiled.planning import TIE_TOLERANCE, canonical_policy
from steering._compiled.reward_scale import on_grid, worth_of_pairs
from steering._types import Bools, Floats, Ints
from steering.agents.base import ModelBasedAgent
from steering.agents.excursions import Excursions
from steering.agents.large import RowBonus, expected
from steering.agents.ratio import RatioSolution, information_ratio, minimise_ratio
from steering.agents.steering_options import SteeringOptions
from steering.agents.stein_information import (
    InformationChoice,
    SteinInformation,
    grouped_kind,
    positive_rows,
)
from steering.beliefs import ModelBelief, Rows, SparseBelief
from steering.beliefs.normal_gamma import PAPER_PRIOR, prior_spread
from steering.mdp.simulator import Transitions
from steering.stein import Dictionary

DIAGNOSTIC_DRAWS = 16
RATIO_ACCURACY = 1e-12
"""Relative accuracy of values that are compared by the ratio, where they are solved for by sweeps."""
KERNEL = "exp-hamming"
"""Base kernel of the discrepancy: the paper's."""
BATCH = 2
"""One sample of so many is selected; the paper does not say."""


GROWTH_STEP = 1.2
"""The worth of pairs that were tried less than others grows in steps of about the root of this factor."""
FARTHEST = 200.0
"""Horizon of plans, at most, unless the discount says more."""
ROUNDS = 2
"""Rounds of plan and bonus, where the bonus is about values."""
MOST = 10.0
"""Spread of a row's mean value, at most, in units of the largest reward seen and of what one never seen may be worth,
in every step: far above what it is with weights that make sense."""


class Steering(ModelBasedAgent):
    """Value plus Stein information; see the module's docstring."""

    name = "steering"
    group = "information"
    options: SteeringOptions

    def _reset(self) -> None:
        super()._reset()
        o, p = self.options, self.problem
        self.discount = p.discount
        if o.far > 0 and p.horizon is None:
            self.discount = max(p.discount, 1.0 - 1.0 / max(min(o.far * p.n_states, FARTHEST), 1.0))
        # At a model there is no information of a row never visited to compare with.
        self.excursions = Excursions(p.mask, o.excursions) if o.excursions > 0 and o.expectation != "model" else None
        self.on_excursion = False
        self._values: Floats = np.zeros(p.n_states)
        self._pairs = int(p.mask.sum())
        S, A = self.problem.n_states, self.problem.n_actions
        self.information = SteinInformation(self._choice)
        self.dictionary: Dictionary | None = None
        self._pending: list[Transitions] = []
        if o.selection != "none":
            # Samples may come before the first plan (`observe` by hand): they are then compared in the prior's mean.
            self._planned = np.array(self.belief.mean_model()[0])
        self._steps, self._noise_from, self._asked = 0, -1, True
        self._largest = 0.0  # size of a reward seen
        if o.objective == "ratio":
            self._solver.accuracy = RATIO_ACCURACY
        spread = prior_spread(o.normal_gamma) / prior_spread(PAPER_PRIOR)
        self.weight_unit = spread if o.weight_unit == "prior" else 1.0
        self.info_weight = 0.0
        self.D: Floats = np.zeros((S, A))
        self.state = self.layer = 0

    def restrict(self, mask: Bools) -> None:
        """As `Agent.restrict`, on excursions too."""
        super().restrict(mask)
        if self.excursions is not None:
            self.excursions.mask = mask

    @property
    def _belief_options(self) -> dict[str, Any]:
        return {**super()._belief_options, "evenness": self.options.evenness}

    @property
    def _related(self) -> bool:
        """Whether plans are made with related rows."""
        o = self.options
        return o.objective == "regularised" and o.planning == "data" and o.rows == "related"

    @property
    def _choice(self) -> InformationChoice:
        o = self.options
        return InformationChoice(o.operator, KERNEL, o.reference, o.expectation, o.draws)

    @property
    def needs_tables(self) -> str:
        """All but the information of `steering.agents.stein_information.GROUPED` do, and the selection of samples."""
        if self.options.selection != "none":
            return f"selection={self.options.selection} compares samples in whole tables"
        return "" if grouped_kind(self._choice) else "only barker with expectation=exact is known for grouped outcomes"

    # Sample or summarise ---------------------------------------------------------------------------------------------

    def model(self) -> tuple[Rows, Floats]:
        """Transitions and mean rewards of the model in which this plan is made."""
        belief = self.belief
        if self.options.planning == "sampled":
            return belief.draw_model(self.planning_rng)
        if self.options.planning == "mean":
            return belief.mean_model()
        return belief.data_model()

    # Estimate --------------------------------------------------------------------------------------------------------

    def plan(self, state: int = 0, step: int = 0) -> None:
        """Update with what was seen since the last plan, then choose the policy."""
        self._select_and_update()
        self.state, self.layer = state, step
        self._asked = not self.schedule.due  # the environment asks for a plan, and not what was learned
        super().plan(state, step)
        if self._plan_excursion():
            pass
        elif self.options.objective == "ratio":
            self._plan_ratio()
        else:
            self._plan_regularised()
        if self.options.selection != "none":
            # The belief's buffer is overwritten by whoever looks at the belief before the next selection.
            assert isinstance(self.belief, ModelBelief)
            self._planned = self.belief.P.copy()

    def _plan_excursion(self) -> bool:
        """Plan for information alone, if this step is set aside for it and there is something to find."""
        self.on_excursion = False
        if self.excursions is None or not self.excursions.due:
            return False
        P, _ = self.model()
        self.D = self._information(P)
        belief = self.belief
        assert isinstance(belief, ModelBelief | SparseBelief)
        targets = self.excursions.targets(self.D, self.information.fresh(belief))
        if targets is None:
            return False
        kept = self.policy.copy()
        if self._related:
            P = belief.related_rows(self._values if self._repaired is None else self._repaired.V)
        found = self.solve(P, targets, self.excursions.discount if self.problem.horizon is None else None)[1]
        self.on_excursion = bool(found[self.layer, self.state].max() >= self.excursions.hope)
        if not self.on_excursion:
            self.policy = kept
        return self.on_excursion

    def _plan_regularised(self) -> None:
        o = self.options
        self.info_weight = o.info_weight * self.weight_unit
        rewards = o.planning != "sampled" and (o.novelty > 0 or o.reward_noise > 0)
        if o.planning != "sampled" and (repaired := self.repair(o.planning, self._bonus(), self.discount)):
            if rewards and self._noise_is_due():
                repaired.draw_noise(self.planning_rng)
            repaired.update(self.policy[0], self._grown(), self._spread_limit(1.0 / (1.0 - self.discount)))
            self.D = repaired.D.reshape(self.D.shape)
            return
        P, r = self.model()
        self.D = self._information(P)
        total = r + self.info_weight * self.D
        if rewards:
            seen, new = self.belief.reward_spread()
            noise = self.planning_rng.standard_normal(total.shape)
            if o.unseen == "alike":
                b = self.belief
                new = b.unseen_mass() * worth_of_pairs(b.promise, b.row_promise, self._grown(), b.totals)
            total += o.novelty * new + o.reward_noise * seen * noise
        if not self._related and (o.value_weight == 0 or o.planning == "sampled"):
            self.solve(P, total, self.discount)
        elif self.problem.horizon is None:
            self._solve_in_rounds(P, total)
        else:
            self._solve_backwards(P, total)

    def _solve_in_rounds(self, P: Rows, r: Floats) -> None:
        """Plans in which bonus and rows rest on the values of the one before."""
        for _ in range(ROUNDS if self.options.value_weight > 0 else 1):
            bonus = self._value_bonus(self._values, self.discount, 1.0 / (1.0 - self.discount))
            rows = self.belief.related_rows(self._values) if self._related else P
            self._values = self.solve(rows, r + bonus, self.discount)[0][0]

    def _solve_backwards(self, P: Rows, r: Floats) -> None:
        """Backward induction in which bonus and rows rest on the values of the step after."""
        p, V = self.problem, np.zeros(self.problem.n_states)
        assert p.horizon is not None
        for h in range(p.horizon - 1, -1, -1):
            Q = r + self._value_bonus(V, p.discount, float(p.horizon))
            Q += p.discount * expected(P, V)
            if self._related:
                Q += p.discount * self.belief.related_gains(V)
            Q[~p.mask] = -np.inf
            V = Q.max(axis=1)
            canonical_policy(Q, self.policy[h], TIE_TOLERANCE * float(np.abs(V).max()))
        self._values = V

    def _value_bonus(self, V: Floats, discount: float, steps: float) -> Floats:
        """`value_weight` times the spread of each row's mean value."""
        return self.options.value_weight * np.minimum(self.belief.value_spread(V, discount), self._spread_limit(steps))

    def _spread_limit(self, steps: float) -> float:
        """Most that the mean value of a row can be uncertain by: `MOST` times what can be hoped for in so many steps.

        With large weights values would otherwise feed on their own spread and grow from plan to plan without end.
        """
        return MOST * steps * (self._largest + self.belief.promise * math.sqrt(1.0 + self._grown()))

    def _bonus(self) -> RowBonus:
        """What a plan that is repaired adds to the rewards."""
        o, information = self.options, self.information
        return RowBonus(
            *(grouped_kind(information.choice), information.diagonal, self.info_weight, o.novelty, o.reward_noise),
            *(o.unseen == "alike", o.value_weight, self._related),
        )

    def _grown(self) -> float:
        """Mean number of visits of a pair, times `persistence`; one more than it moves in steps."""
        return float(on_grid(1.0 + self.options.persistence * self._steps / self._pairs, 1.0, GROWTH_STEP)) - 1.0

    def _noise_is_due(self) -> bool:
        """Whether a plan that is repaired draws new noise.

        It does where the environment asked for the plan, and S + 1 steps (the paper's buffer) after it last did: plans
        that follow each other closely share the noise, or nothing of them could be kept.
        """
        if self._asked or self._noise_from < 0 or self._steps - self._noise_from > self.problem.n_states:
            self._noise_from = self._steps
            return True
        return False

    def _plan_ratio(self) -> None:
        best = self._optimal_value(self.options.draws, self.planning_rng)
        P, r = self.model()
        self.D = self._information(P)
        solution = self._ratio(P, r, best)
        mixed = solution.second if self.planning_rng.random() < solution.weight else solution.first
        self.policy = mixed.copy()
        self.info_weight = solution.info_weight

    def _information(self, P: Rows) -> Floats:
        belief = self.belief
        if isinstance(belief, SparseBelief):
            return self.information.grouped_rows(belief)
        assert isinstance(belief, ModelBelief)
        assert isinstance(P, np.ndarray)
        counts = belief.counts
        if self.options.selection == "dictionary" and self.dictionary is not None:
            counts = self.dictionary.counts.astype(np.float64)
        return self.information.rows(belief, counts, P, self.planning_rng)

    def _ratio(self, P: Rows, r: Floats, best: float) -> RatioSolution:
        def probe(weight: float) -> tuple[Ints, float, float]:
            _, Q = self.solve(P, r + weight * self.D, self.discount)
            K = self._value(P, self.D)
            # The optimal value is V + weight K, so V needs no second evaluation.
            return self.policy.copy(), float(Q[self.layer, self.state].max()) - weight * K, K

        return minimise_ratio(probe, best, self.info_weight)

    def _value(self, P: Rows, r: Floats) -> float:
        """Value of the policy in force from the current state, with rewards r."""
        return float(self.values(P, r, self.discount)[self.layer, self.state])

    def _optimal_value(self, draws: int, rng: np.random.Generator) -> float:
        """E_k[max V] from the current state, by posterior draws."""
        kept = self.policy.copy()
        here = self.layer, self.state
        models = (self.belief.draw_model(rng) for _ in range(draws))
        values = [float(self.solve(*model, self.discount)[1][here].max()) for model in models]
        self.policy = kept
        return float(np.mean(values))

    # Select and update -----------------------------------------------------------------------------------------------

    def learn(self, transitions: Transitions) -> None:
        """Update the belief at once, or keep the transitions for the next selection."""
        self._steps += transitions[0].size
        self._largest = max(self._largest, float(np.abs(transitions[2]).max(initial=0.0)))
        if self.excursions is not None:
            self.excursions.learn(transitions)
        if self.options.selection == "none":
            super().learn(transitions)
        else:
            self._pending.append(transitions)

    def _select_and_update(self) -> None:
        if not self._pending:
            return
        columns = zip(*self._pending, strict=True)
        states, actions, rewards, successors = (np.concatenate(column) for column in columns)
        self._pending = []
        chosen = self._select(states, actions, successors)
        if self.options.selection == "posterior":
            states, actions, rewards, successors = (x[chosen] for x in (states, actions, rewards, successors))
        self.belief.observe_many((states, actions, rewards, successors))

    def _select(self, states: Ints, actions: Ints, successors: Ints) -> Ints:
        """Places of the samples with the least similarity to the dictionary, one of every batch, which take them in."""
        o = self.options
        q = positive_rows(self._planned)
        if self.dictionary is None:
            self.dictionary = Dictionary(q, operator=o.operator, kernel=KERNEL)
        else:
            self.dictionary.change_model(q)
        return self.dictionary.select_many(np.stack([states, actions, successors], axis=-1), BATCH)

    # Diagnostics -----------------------------------------------------------------------------------------------------

    def _posterior_regret(self, draws: int, rng: np.random.Generator) -> float:
        """E_k[max V - V of the policy] from the current state; both in the same draws, so that none is below 0."""
        policy = self.policy.copy()
        gaps = []
        for _ in range(draws):
            P, r = self.belief.draw_model(rng)
            best = float(self.solve(P, r, self.discount)[1][self.layer, self.state].max())
            self.policy = policy.copy()  # solving wrote into it
            gaps.append(best - self._value(P, r))
        return max(float(np.mean(gaps)), 0.0)  # rounding

    def diagnose(self, rng: np.random.Generator) -> dict[str, Any]:
        """What the last plan rests on, from the state it was made in.

        Returns
        -------
        dict
            info_weight (lambda), information (D, shape (S, A)), gain (K of the policy in the posterior mean model),
            regret (posterior estimate of V* - V of the policy, from `DIAGNOSTIC_DRAWS` draws), ratio (regret^2 / gain,
            infinite where there is regret and nothing to learn, as with a single state) and dictionary (its size; the
            number of samples seen where nothing is selected). With the ratio objective all of them are about the
            policy that was drawn from the minimising mixture.
        """
        regret = self._posterior_regret(DIAGNOSTIC_DRAWS, rng)
        gain = self._value(self.belief.mean_model()[0], self.D)
        size = int(self.belief.totals.sum()) if self.dictionary is None else len(self.dictionary)
        return {
            "info_weight": self.info_weight,
            "information": self.D.copy(),
            "gain": gain,
            "regret": regret,
            "ratio": information_ratio(regret, gain),
            "dictionary": size,
        }
