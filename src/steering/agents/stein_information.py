"""Stein information of every row of a belief: how far the model is expected to be from the data.

    D(s, a) = E_q DSD(p, q),     q ~ posterior of the row,

with p the posterior mean, the empirical row of the dictionary, or a second draw. The expectation is taken exactly where
that is possible (barker, gibbs), by Monte Carlo, or not at all: at the model in which the agent plans, as the paper's
algorithm reads. Rows are computed again only when they were visited or the concentration changed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from steering._compiled.sparse_moments import BARKER, BARKER_EMPIRICAL, NOTHING
from steering._compiled.sparse_plans import information_rows
from steering._compiled.stein import barker_information_rows, barker_row, barker_space
from steering._types import Floats
from steering.beliefs import ModelBelief, SparseBelief
from steering.stein import TwoParameter, get_kernel, get_operator, posterior_information

SMALLEST = 1e-120
"""Least probability of a row; its inverse can still be squared and summed."""
LARGEST = 1e100
"""Most that a row can be worth, so that plans stay finite."""


@dataclass(frozen=True)
class InformationChoice:
    """Which discrepancy and which expectation; see `steering.agents.steering.SteeringOptions`."""

    operator: str
    kernel: str
    reference: str
    expectation: str
    draws: int


class SteinInformation:
    """D(s, a) of a belief, with what has not changed since the last call kept."""

    def __init__(self, choice: InformationChoice) -> None:
        self.choice = choice
        kernel = get_kernel(choice.kernel)
        self._diagonal = kernel.a if isinstance(kernel, TwoParameter) else None
        self.diagonal = 1.0 if self._diagonal is None else float(self._diagonal)
        self._space: Any = None
        self._kept: Floats | None = None
        self._totals: Floats | None = None
        self._eta = 0.0
        self._fresh = (0.0, 0.0)

    def rows(self, belief: ModelBelief, data: Floats, model: Floats, rng: np.random.Generator) -> Floats:
        """D(s, a), shape (S, A).

        Parameters
        ----------
        belief
            The posterior.
        data
            Counts (S, A, S) behind the empirical reference.
        model
            Transition table in which the agent plans, used with expectation="model".
        rng
            Generator for Monte Carlo.
        """
        c = self.choice
        if c.expectation == "model":
            return self._at_model(belief, data, model)
        compiled = c.operator == "barker" and c.expectation == "exact" and c.reference != "draw"
        if compiled and self._diagonal is not None and (c.reference == "mean" or data is belief.counts):
            return self._compiled(belief, self._diagonal)
        exact = c.expectation == "exact"
        value = posterior_information(
            belief.alpha,
            data if c.reference == "empirical" else None,
            operator=c.operator,
            kernel=c.kernel,
            reference=c.reference,  # type: ignore[arg-type]
            draws=None if exact else c.draws,
            rng=rng,
            empty="mean",
        )
        return np.asarray(value, dtype=np.float64)

    def fresh(self, belief: ModelBelief | SparseBelief) -> float:
        """D of a row never visited; by 1000 draws of a generator of its own where there is no exact way."""
        if belief.eta != self._fresh[0]:
            S, c = belief.n_states, self.choice
            if self._diagonal is not None and grouped_kind(c):
                value = barker_row(np.zeros(0), S, belief.eta, self.diagonal, False, barker_space(S))
            else:
                rows = np.full((1, S), belief.eta)
                value = posterior_information(rows, operator=c.operator, kernel=c.kernel, rng=np.random.default_rng(0))[
                    0
                ]  # type: ignore[index]
            self._fresh = (belief.eta, float(value))
        return self._fresh[1]

    def grouped_rows(self, belief: SparseBelief) -> Floats:
        """D(s, a) of a belief by support, for a choice that has a `grouped_kind`."""
        R = belief.totals.size
        if self._kept is None or self._totals is None:
            self._kept, self._totals = np.empty(R), np.full(R, -1.0)
            self._space = barker_space(belief.n_states)
        if belief.eta != self._eta:
            self._totals[:] = -1.0
            self._space[3][:] = 0
            self._eta = belief.eta
        information_rows(
            *(grouped_kind(self.choice), belief.pool, belief.totals.ravel(), belief.n_states, belief.eta),
            *(self.diagonal, self._space, self._totals, self._kept),
        )
        return self._kept.reshape(belief.totals.shape)

    def _compiled(self, belief: ModelBelief, diagonal: float) -> Floats:
        """As `posterior_information_rows`, without its checks: a belief's counts need none, and they cost more."""
        S, A, _ = belief.counts.shape
        counts = belief.counts.reshape(S * A, S)
        totals = belief.totals.ravel()
        if self._kept is None or self._totals is None or belief.eta != self._eta:
            changed = np.arange(S * A)
            self._kept = np.empty(S * A)
        else:
            changed = np.flatnonzero(totals != self._totals)
        if changed.size:
            empirical = self.choice.reference == "empirical"
            self._kept[changed] = barker_information_rows(counts[changed], belief.eta, diagonal, empirical)
        self._totals = totals.copy()
        self._eta = belief.eta
        return self._kept.reshape(S, A)

    def _at_model(self, belief: ModelBelief, data: Floats, model: Floats) -> Floats:
        alpha = belief.alpha
        mean = alpha / alpha.sum(axis=-1, keepdims=True)
        total = data.sum(axis=-1, keepdims=True)
        p = np.where(total > 0, data / np.maximum(total, 1.0), mean) if self.choice.reference == "empirical" else mean
        # Not by `discrepancy`: these rows need no checks, nothing overflows (`SMALLEST`), and whoever chose the literal
        # operator was told by its documentation that it cannot vanish on sparse rows.
        operator = get_operator(self.choice.operator)
        value = operator.form(operator.flow(p, positive_rows(model)), get_kernel(self.choice.kernel))
        return np.minimum(value, LARGEST)


def grouped_kind(choice: InformationChoice) -> int:
    """Number of the information in `steering._compiled.sparse_moments`; 0 if outcomes cannot be grouped for it."""
    if choice.operator != "barker" or choice.expectation != "exact" or choice.reference == "draw":
        return NOTHING
    return BARKER if choice.reference == "mean" else BARKER_EMPIRICAL


def positive_rows(model: Floats) -> Floats:
    """Rows without zeros: drawn ones underflow with small concentrations, and the literal operator divides by them."""
    q = np.maximum(model, SMALLEST)
    rows: Floats = q / q.sum(axis=-1, keepdims=True)
    return rows
