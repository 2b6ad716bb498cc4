"""Compiled accounts of excursions: which steps are set aside, what a step outside pays, what one inside costs."""

import math

from steering._compiled._jit import jit
from steering._compiled.reward_scale import PROMISE

STEPS, BEGINS, LENGTH, SET_ASIDE, RATE, COST, EARNED, OUTSIDE, HALF, USUAL, UNIT, PATIENCE, FOUND = range(13)
"""Steps made; first step and length of the excursion under way or next; steps set aside, this one's included; c;
cost of this one; rewards and steps outside, of late, and steps after which both are halved; average reward outside and
unit of losses, as of the beginning of this excursion (no unit: 0); steps after which an excursion that finds no pair
that was never tried ends, at least; step of the last one found, or of the beginning, and one more for each step since
at which nothing was lost."""
NUMBERS = 13
PATIENCE_ROUNDS = 2.0
"""Steps that an excursion goes on without finding anything, in units of S + 1; `SHORTEST_PATIENCE` at least."""
SHORTEST_PATIENCE = 16.0
PATIENCE_SHARE = 0.5
"""The same as a share of the excursion's length, if that is more: a long excursion finds what is far away."""
MOST_PAY_MORE = 0.5
"""Share of the pairs tried that must pay more than a step did, and not only as much, for the step to be priced."""
FEW_PAY_MORE = 0.1
MOST_PAY_LESS = 0.5
"""Shares of the pairs tried that may pay more and less than a step did, at most, for nothing to be lost at it."""
ROUNDING = 1e-9
"""Rewards that differ by less than this part of them are equal."""
WINDOW = 64.0
"""Steps of which the average reward outside is taken, at least."""


@jit
def begin(state, n_states, rate):
    """Set the first excursion."""
    state[RATE] = rate
    state[HALF] = WINDOW
    state[PATIENCE] = max(SHORTEST_PATIENCE, PATIENCE_ROUNDS * (n_states + 1.0))
    state[LENGTH] = state[SET_ASIDE] = n_states + 1.0
    state[BEGINS] = math.ceil((state[SET_ASIDE] / rate) ** 2)


@jit
def due(state):
    """Whether the next step belongs to an excursion that has neither cost too much nor gone on without a find."""
    return state[STEPS] >= state[BEGINS] and state[COST] < state[LENGTH]


@jit
def account(state, sums, visits, states, actions, rewards):
    """Take steps in, one after the other: the result does not depend on how they were batched."""
    for t in range(states.shape[0]):
        s, a, r = states[t], actions[t], rewards[t]
        if state[STEPS] >= state[BEGINS]:
            if state[STEPS] == state[BEGINS]:
                _price(state, sums, visits)
                state[FOUND] = state[STEPS]
            cost = 1.0
            if state[UNIT] > 0.0 and state[COST] < state[LENGTH]:
                above, below = _compared(sums, visits, r)
                if above > MOST_PAY_MORE:
                    cost = max(1.0, (state[USUAL] - r) / state[UNIT])
                elif above <= FEW_PAY_MORE and below <= MOST_PAY_LESS:
                    state[FOUND] += 1.0  # not a step without a find
            if visits[s, a] == 0.0:
                state[FOUND] = state[STEPS]
            elif state[STEPS] - state[FOUND] >= max(state[PATIENCE], PATIENCE_SHARE * state[LENGTH]):
                cost = state[LENGTH]  # all that may be spent
            state[COST] += cost
        else:
            state[EARNED] += r
            state[OUTSIDE] += 1.0
            if state[OUTSIDE] >= state[HALF]:
                state[EARNED] *= 0.5
                state[OUTSIDE] *= 0.5
                state[HALF] = max(WINDOW, 0.5 * state[STEPS])
        sums[s, a] += r
        visits[s, a] += 1.0
        state[STEPS] += 1.0
        if state[STEPS] >= state[BEGINS] + state[LENGTH]:
            state[LENGTH] *= 2.0
            state[SET_ASIDE] += state[LENGTH]
            state[BEGINS] = max(state[STEPS], math.ceil((state[SET_ASIDE] / state[RATE]) ** 2))
            state[COST] = 0.0


@jit
def _compared(sums, visits, r):
    """Shares of the pairs tried that paid more and less than r, on average."""
    above, below, tried = 0.0, 0.0, 0.0
    for s in range(sums.shape[0]):
        for a in range(sums.shape[1]):
            if visits[s, a] > 0.0:
                tried += 1.0
                usual = r * visits[s, a]
                equal = ROUNDING * abs(usual)
                above += sums[s, a] > usual + equal
                below += sums[s, a] < usual - equal
    return above / max(tried, 1.0), below / max(tried, 1.0)


@jit
def _price(state, sums, visits):
    """Average reward outside, and the unit of what a step can lose: at most what something new may be worth."""
    state[UNIT] = 0.0
    if state[OUTSIDE] == 0.0:
        return
    n, mean, squares, best = 0.0, 0.0, 0.0, -math.inf
    for s in range(sums.shape[0]):
        for a in range(sums.shape[1]):
            if visits[s, a] > 0.0:
                x = sums[s, a] / visits[s, a]
                best = max(best, x)
                n += 1.0
                step = x - mean
                mean += step / n
                squares += step * (x - mean)
    if best > mean:
        # No pair counts as further below the mean than the best is above: a disaster makes losses hardly cheaper.
        low = 2.0 * mean - best
        mean = 0.0
        for s in range(sums.shape[0]):
            for a in range(sums.shape[1]):
                if visits[s, a] > 0.0:
                    mean += max(sums[s, a] / visits[s, a], low) / n
    state[USUAL] = state[EARNED] / state[OUTSIDE]
    state[UNIT] = max(state[USUAL] - mean, math.sqrt(squares / n))
    if best > mean:
        state[UNIT] = min(state[UNIT], PROMISE * (best - mean))
    # Where all rewards are equal but for rounding, losses are too, and have no unit.
    if state[UNIT] <= ROUNDING * max(abs(best), abs(mean), abs(state[USUAL])):
        state[UNIT] = 0.0
