"""Dirichlet beliefs about the rows of a transition table.

A row q = P(.|s, a) over S outcomes with prior Dirichlet(eta, ..., eta) and counts n has posterior Dirichlet(alpha),
alpha = eta + n. Write alpha_0 = sum of alpha and m = alpha / alpha_0. Then

    E q = m,     Cov(q_y, q_z) = (m_y [y = z] - m_y m_z) / (alpha_0 + 1),
    Cov(f'q, g'q) = (m'(f g) - m'f m'g) / (alpha_0 + 1),
    log p(n in order) = log Gamma(S eta) - log Gamma(S eta + n_0) + sum_y log Gamma(eta + n_y) - log Gamma(eta).

The last line is the probability of the observed sequence, that is the product of its one-step predictives.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import gammaln

from steering._checks import moderate
from steering._types import Floats
from steering.errors import InvalidOption

# Below this concentration all gammas of a row can underflow to zero together; then rows are drawn in logarithms.
LARGEST_ETA = 1e200
"""A concentration is never squared with anything large beside it, so it may be larger than other numbers."""
SMALL_CONCENTRATION = 0.05


class DirichletRows:
    """Independent Dirichlet beliefs about rows; the last axis runs over outcomes.

    Parameters
    ----------
    shape
        Shape of the table, for example (S, A, S).
    eta
        Prior concentration of every outcome (the paper's value is 1).

    Examples
    --------
    >>> rows = DirichletRows((1, 3), eta=1.0)
    >>> rows.observe_counts([[2, 0, 0]])
    >>> rows.mean()
    array([[0.6, 0.2, 0.2]])
    """

    def __init__(self, shape: tuple[int, ...], eta: float = 1.0) -> None:
        if len(shape) < 1 or min(shape) < 1:
            raise InvalidOption(f"a table of rows cannot have shape {shape}; every axis needs at least one entry.")
        self.eta = checked_concentration(eta)
        self.counts: Floats = np.zeros(shape)

    @property
    def alpha(self) -> Floats:
        """Posterior parameters eta + counts."""
        return self.counts + self.eta

    def observe(self, row: int | tuple[int, ...], outcome: int) -> None:
        """Add one observed outcome of one row."""
        index = (row,) if isinstance(row, int) else tuple(row)
        self.counts[checked_index("outcome", (*index, outcome), self.counts.shape)] += 1.0

    def observe_counts(self, counts: ArrayLike) -> None:
        """Add a whole table of counts; the same as its single observations in any order."""
        table = np.asarray(counts, dtype=np.float64)
        if not np.isfinite(table).all() or (table < 0).any():
            raise InvalidOption("counts must be finite and not negative.")
        if table.shape != self.counts.shape:
            raise InvalidOption(
                f"counts have shape {table.shape}; they must have that of the table, {self.counts.shape}."
            )
        self.counts += table

    def mean(self) -> Floats:
        """E q, the posterior mean rows."""
        alpha = self.alpha
        mean: Floats = alpha / alpha.sum(axis=-1, keepdims=True)
        return mean

    def variance(self) -> Floats:
        """Var q_y for every outcome."""
        m = self.mean()
        variance: Floats = m * (1 - m) / (self._strength() + 1)[..., None]
        return variance

    def covariance(self) -> Floats:
        """Cov(q_y, q_z) of every row: one more axis than the table."""
        m = self.mean()
        outer = -m[..., :, None] * m[..., None, :]
        diagonal = np.arange(m.shape[-1])
        outer[..., diagonal, diagonal] += m
        covariance: Floats = outer / (self._strength() + 1)[..., None, None]
        return covariance

    def covariance_of(self, f: ArrayLike, g: ArrayLike) -> Floats:
        """Cov(f'q, g'q) of two linear functions of a row; f and g broadcast against the table."""
        m = self.mean()
        centred = [np.asarray(x, dtype=np.float64) for x in (f, g)]
        centred = [x - (m * x).sum(axis=-1, keepdims=True) for x in centred]
        covariance: Floats = (m * centred[0] * centred[1]).sum(axis=-1) / (self._strength() + 1)
        return covariance

    def variance_of(self, f: ArrayLike) -> Floats:
        """Var(f'q) of a linear function of a row."""
        return self.covariance_of(f, f)

    def draw(self, rng: np.random.Generator, size: int | None = None) -> Floats:
        """Posterior draws of all rows; with `size` a leading axis of that length."""
        alpha = self.alpha
        if size is not None:
            alpha = np.broadcast_to(alpha, (size, *alpha.shape))
        return draw_rows(alpha, rng, smallest=self.eta)

    def log_marginal(self) -> float:
        """Log probability of the observed sequence of outcomes, all rows together."""
        S = self.counts.shape[-1]
        totals = self.counts.sum(axis=-1)
        rows = gammaln(S * self.eta) - gammaln(S * self.eta + totals)
        cells = gammaln(self.eta + self.counts) - gammaln(self.eta)
        return float(rows.sum() + cells.sum())

    def predictive(self) -> Floats:
        """Probability of the next outcome of every row; equal to the posterior mean."""
        return self.mean()

    def _strength(self) -> Floats:
        strength: Floats = self.alpha.sum(axis=-1)
        return strength


def checked_concentration(eta: float) -> float:
    """Return eta as a float, or say that it must be positive."""
    if not (np.isfinite(eta) and eta > 0):
        raise InvalidOption(f"eta is {eta}; a Dirichlet concentration must be a positive number (the paper uses 1).")
    moderate("eta", eta, LARGEST_ETA)
    return float(eta)


def checked_index(what: str, index: tuple[int, ...], shape: tuple[int, ...]) -> tuple[int, ...]:
    """Return an index, or say that it is outside a table; negative numbers do not count from the end."""
    if len(index) != len(shape) or not all(0 <= i < n for i, n in zip(index, shape, strict=True)):
        raise InvalidOption(f"{what} {index} is not in a table of shape {shape}; count from 0 along every axis.")
    return index


def draw_rows(alpha: Floats, rng: np.random.Generator, smallest: float) -> Floats:
    """Dirichlet draws for every row of alpha, safe for tiny concentrations.

    Gamma(a) draws with a below about 0.05 underflow together with a probability that matters and would give 0/0. There
    Gamma(a) = Gamma(a + 1) U^(1/a) is used in logarithms and the row is normalised relative to its largest entry.
    """
    if smallest >= SMALL_CONCENTRATION:
        draws = rng.standard_gamma(alpha)
    else:
        logs = np.log(rng.standard_gamma(alpha + 1.0)) - rng.standard_exponential(alpha.shape) / alpha
        draws = np.exp(logs - logs.max(axis=-1, keepdims=True))
    rows: Floats = draws / draws.sum(axis=-1, keepdims=True)
    return rows
