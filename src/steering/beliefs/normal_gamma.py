"""Normal-Gamma beliefs about normal rewards with unknown mean and precision.

Prior: tau ~ Gamma(alpha, rate beta), mean | tau ~ Normal(mu, 1 / (lambda tau)). After n rewards with average r and
sum of squared deviations q (sufficient statistics, kept for every cell),

    lambda' = lambda + n,                    mu'   = (lambda mu + n r) / lambda',
    alpha'  = alpha + n / 2,                 beta' = beta + q / 2 + lambda n (r - mu)^2 / (2 lambda').

The marginal of the mean is Student-t with 2 alpha' degrees of freedom, centre mu' and
scale^2 = beta' / (alpha' lambda'); its variance beta' / (lambda' (alpha' - 1)) exists for alpha' > 1. The next reward
is Student-t with scale^2 = beta' (lambda' + 1) / (alpha' lambda').
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import gammaln

from steering._checks import moderate
from steering._types import Floats
from steering.beliefs.dirichlet import checked_index
from steering.errors import InvalidOption

Prior = tuple[float, float, float, float]

PAPER_PRIOR: Prior = (0.0, 4.0, 3.0, 3.0)


def prior_spread(normal_gamma: Sequence[float]) -> float:
    """Standard deviation of a mean reward under a prior with alpha above 1, sqrt(beta / (lambda (alpha - 1)))."""
    _, lam, alpha, beta = normal_gamma
    return float(np.sqrt(beta / (lam * (alpha - 1.0))))


class NormalGammaCells:
    """Independent Normal-Gamma beliefs, one for every cell of an array.

    Parameters
    ----------
    shape
        Shape of the array of cells, for example (S, A, S).
    prior
        (mu, lambda, alpha, beta) of every cell; the paper's (0, 4, 3, 3) by default.

    Examples
    --------
    >>> cells = NormalGammaCells((1,), prior=(0.0, 1.0, 2.0, 2.0))
    >>> cells.observe(0, 3.0)
    >>> float(cells.mu[0])
    1.5
    """

    def __init__(self, shape: tuple[int, ...], prior: Sequence[float] = PAPER_PRIOR) -> None:
        self.prior = checked_prior(prior)
        self.counts: Floats = np.zeros(shape)
        self.average: Floats = np.zeros(shape)
        self.scatter: Floats = np.zeros(shape)

    @property
    def lam(self) -> Floats:
        """lambda', the number of observations the mean is worth."""
        return self.prior[1] + self.counts

    @property
    def mu(self) -> Floats:
        """mu', the posterior mean of the mean reward."""
        mu: Floats = (self.prior[1] * self.prior[0] + self.counts * self.average) / self.lam
        return mu

    @property
    def shape(self) -> Floats:
        """alpha', the shape of the precision."""
        return self.prior[2] + 0.5 * self.counts

    @property
    def rate(self) -> Floats:
        """beta', the rate of the precision."""
        mu0, lambda0, _, beta0 = self.prior
        pull = 0.5 * lambda0 * self.counts * (self.average - mu0) ** 2 / self.lam
        rate: Floats = beta0 + 0.5 * self.scatter + pull
        return rate

    def observe(self, cell: int | tuple[int, ...], reward: float) -> None:
        """Add one reward of one cell."""
        index = checked_index("cell", (cell,) if isinstance(cell, int) else tuple(cell), self.counts.shape)
        if not np.isfinite(reward):
            raise InvalidOption(f"the reward of cell {index} is {reward}; it must be a finite number.")
        self.counts[index] += 1.0
        step = reward - self.average[index]
        self.average[index] += step / self.counts[index]
        self.scatter[index] += step * (reward - self.average[index])

    def observe_moments(self, counts: ArrayLike, average: ArrayLike, scatter: ArrayLike) -> None:
        """Add batches given by their size, average and sum of squared deviations, cell by cell."""
        n, mean, squares = (
            np.broadcast_to(np.asarray(x, dtype=np.float64), self.counts.shape) for x in (counts, average, scatter)
        )
        if (n < 0).any() or (squares < 0).any() or not np.isfinite([n, mean, squares]).all():
            raise InvalidOption("a batch needs finite counts, averages and scatter, the first and last not negative.")
        total = self.counts + n
        safe = np.maximum(total, 1.0)
        gap = mean - self.average
        self.scatter = self.scatter + np.where(n > 0, squares + gap**2 * self.counts * n / safe, 0.0)
        self.average = self.average + np.where(n > 0, gap * n / safe, 0.0)
        self.counts = total

    def variance_of_mean(self) -> Floats:
        """Posterior variance of the mean reward, beta' / (lambda' (alpha' - 1)); needs alpha' > 1."""
        if (self.shape <= 1).any():
            raise InvalidOption(
                f"the variance of the mean reward does not exist for a prior shape of {self.prior[2]:g}; "
                "use alpha above 1 or observe more."
            )
        variance: Floats = self.rate / (self.lam * (self.shape - 1))
        return variance

    def expected_variance(self) -> Floats:
        """Posterior mean of the reward's variance 1 / tau, beta' / (alpha' - 1); needs alpha' > 1."""
        return self.variance_of_mean() * self.lam

    def draw_means(self, rng: np.random.Generator, size: int | None = None) -> Floats:
        """Posterior draws of the mean rewards; with `size` a leading axis of that length."""
        shape = self.shape if size is None else np.broadcast_to(self.shape, (size, *self.shape.shape))
        tau = rng.standard_gamma(shape) / self.rate
        draws: Floats = self.mu + rng.standard_normal(shape.shape) / np.sqrt(self.lam * tau)
        return draws

    def log_predictive(self, reward: ArrayLike) -> Floats:
        """Log density of the next reward of every cell."""
        # Student-t written out: scipy.stats takes longer to import than the rest of the package.
        scale = np.sqrt(self.rate * (self.lam + 1) / (self.shape * self.lam))
        away = (np.asarray(reward, dtype=np.float64) - self.mu) / scale
        df = 2 * self.shape
        tail = 0.5 * (df + 1) * np.log1p(away**2 / df)
        density: Floats = gammaln(0.5 * (df + 1)) - gammaln(0.5 * df) - 0.5 * np.log(np.pi * df) - np.log(scale) - tail
        return density

    def log_marginal(self) -> float:
        """Log density of all observed rewards, the product of their one-step predictives."""
        _, lambda0, alpha0, beta0 = self.prior
        cells = (
            gammaln(self.shape)
            - gammaln(alpha0)
            + alpha0 * np.log(beta0)
            - self.shape * np.log(self.rate)
            + 0.5 * np.log(lambda0 / self.lam)
            - 0.5 * self.counts * np.log(2 * np.pi)
        )
        return float(cells.sum())


def checked_prior(prior: Sequence[float]) -> Prior:
    """Return (mu, lambda, alpha, beta) as floats, or say which of them is out of range."""
    try:
        mu, lam, alpha, beta = (float(x) for x in prior)
    except (TypeError, ValueError, OverflowError):
        raise InvalidOption(f"normal_gamma is {prior}; give four numbers (mu, lambda, alpha, beta).") from None
    for name, value in (("lambda", lam), ("alpha", alpha), ("beta", beta)):
        if not (np.isfinite(value) and value > 0):
            raise InvalidOption(f"normal_gamma has {name} = {value}; it must be a positive number.")
    if not np.isfinite(mu):
        raise InvalidOption(f"normal_gamma has mu = {mu}; it must be a finite number.")
    for name, value in (("mu", mu), ("lambda", lam), ("alpha", alpha), ("beta", beta)):
        moderate(f"{name} of normal_gamma", value)
    return mu, lam, alpha, beta
