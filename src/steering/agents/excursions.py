"""Excursions: now and then an agent goes where its Stein information is, whatever that pays meanwhile.

Discounted plans give up for ever what looked bad early: a path whose rare outcome came first, a prize behind costs that
the prior does not think worth paying. Nothing that could matter may be given up for good, so some time is set aside.
In it a plan is made for information alone: reward 1 for every pair whose row still has more than `UNKNOWN` of the
information of a row never visited, in the model in force, with a horizon of `REACH` S steps.

The time set aside is known beforehand: the k-th excursion has (S + 1) 2^(k - 1) steps and begins when all steps set
aside so far, this one's included, are c sqrt(t) (the option `excursions` is c). So excursions come for ever, and their
share of all steps vanishes. One is left out while its plan expects to make fewer than `HOPE` / k pairs known, as where
what is unknown cannot be reached, and ends when it has cost as much as its number of steps. A step costs 1 or,
if more than half of the pairs tried pay more than its reward r on average, (g - r) / u where that is above 1. Here g is
the average reward of late outside of excursions, and u is g - m, or the standard deviation over pairs where that is
more, but at most what something new may be worth, 0.6 (b - m); b is what the best pair paid and m the mean over all
pairs tried, with those below 2 m' - b raised to that, m' being their plain mean: a disaster counts for little. So
c sqrt(t) is the most that is charged: where every step loses what a usual pair pays less, an excursion ends before its
time.

So does one that has found no pair never tried before for half of its length, and for 2 (S + 1) and 16 steps: what was
in reach has been seen. A step does not count towards that if nothing is lost at it: if at most a tenth of the pairs
tried pay more than it did, and at most half of them less. That is so where two pairs of five pay just as much, as on
the way to a prize that nothing is paid on; with noise in rewards every step counts, and where all pairs paid the same,
so that there is no unit u. Cost and finds are counted from the first step on, also while the excursion is left out.
Since lengths double, what is far away is in reach of a later one.

Everything follows from the transitions seen, not from the plans made: an agent that is started anew on a recorded
history is where the old one was.
"""

from __future__ import annotations

import math

import numpy as np

from steering._compiled import excursions as compiled
from steering._types import Bools, Floats
from steering.mdp.simulator import Transitions

UNKNOWN = 0.75
"""Share of a fresh row's information from which on a row is worth an excursion."""
REACH = 3.0
"""Horizon of an excursion's plan, in numbers of states."""
LONGEST = 300.0
"""Horizon of an excursion's plan, at most."""
TRIED = 3
"""Visits of a pair where rows have no information, as with a single state."""
HOPE = 0.3
"""Pairs that the first excursion's plan must expect to make known; a k-th of that for the k-th."""


class Excursions:
    """Which steps are set aside, and what they have cost.

    Parameters
    ----------
    mask
        Allowed actions (S, A).
    rate
        The factor c, above 0.
    """

    def __init__(self, mask: Bools, rate: float) -> None:
        S = mask.shape[0]
        self.mask = mask
        self.discount = 1.0 - 1.0 / min(REACH * S, LONGEST)
        self._pairs = (np.zeros(mask.shape), np.zeros(mask.shape))
        self._state: Floats = np.zeros(compiled.NUMBERS)
        compiled.begin(self._state, S, rate)

    def learn(self, transitions: Transitions) -> None:
        """Take note of steps and their rewards."""
        states, actions, rewards, _ = transitions
        compiled.account(self._state, *self._pairs, states, actions, rewards)

    @property
    def due(self) -> bool:
        """Whether the next step is set aside, and what was set aside has not been spent."""
        return bool(compiled.due(self._state))

    @property
    def number(self) -> float:
        """Number k of the excursion under way or next."""
        return 1.0 + math.log2(float(self._state[compiled.LENGTH]) / (self.mask.shape[0] + 1.0))

    @property
    def hope(self) -> float:
        """Pairs that an excursion's plan must expect to make known: HOPE / k for the k-th excursion."""
        return HOPE / self.number

    def targets(self, information: Floats, fresh: float) -> Floats | None:
        """Rewards (S, A) of an excursion's plan; None where nothing unknown is left.

        Parameters
        ----------
        information
            Of every row, (S, A).
        fresh
            Of a row never visited.
        """
        # With one state there is nothing to learn about transitions: then every action is tried a few times.
        unknown = (information > UNKNOWN * fresh if fresh > 0 else self._pairs[1] < TRIED) & self.mask
        return unknown.astype(np.float64) if unknown.any() else None
