r"""Goodness of fit of counts to a pmf, and of transition counts to a transition model.

Null hypothesis: the samples come from q. The statistic is the V- or U-statistic of the discrepancy; large values speak
against q.

multinomial: draw counts from Multinomial(n, q) B times and compare. Under the null the observed statistic and the B
simulated ones are exchangeable, so ``P(p <= t) <= t`` exactly, for every n; ties count against rejection.

wild: multiply each sample by an independent random sign. Only sums of signs within an outcome matter,
``e_y = 2 Binomial(n_y, 1/2) - n_y``, so a replicate is ``e' kappa e / n^2``; it needs no draws from q. It holds its
level only where every outcome that q allows is expected often: signs cannot vary an outcome that was not seen. Measured
type-I error at 5 % for q = (14/15, 1/15): 0.20 at n q_y = 3, 0.13 at 5, 0.08 at 10, 0.05 at 20. Below `RARE` a
`RareOutcomeWarning` is given.

For transitions, rows are independent given how often each was visited: the statistic is ``sum_x n_x DSD_x / n``, and
replicates redraw each row given n_x. Row p-values come along, with Holm's correction for looking at many rows. A sample
of an outcome that q forbids cannot come from q: the p-value is then the least there is, whatever the statistic. The
number of replicates bounds the p-value from below by 1 / (B + 1).
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field
from typing import Literal, cast

import numpy as np
from numpy.typing import ArrayLike

from steering import _html
from steering._types import Floats
from steering.errors import InvalidOption
from steering.stein.checks import as_counts, as_generator, as_pmf, as_whole, counts_of, enough_samples
from steering.stein.discrepancy import KernelLike, stein_kernel
from steering.stein.errors import InvalidDistribution, RareOutcomeWarning
from steering.stein.joint import model_rows
from steering.stein.operators import Operator, get_operator

Method = Literal["multinomial", "wild"]

#: Expected count n q_y of an allowed outcome below which the wild bootstrap rejects true models too often.
RARE = 20.0


@dataclass(frozen=True, eq=False)
class FitTest:
    """Result of a test of fit.

    Attributes
    ----------
    statistic
        Observed value.
    p_value
        Share of replicates (the observed one included) at least as large.
    method, draws
        How the replicates were made, and how many.
    replicates
        Their values.
    rows
        For transitions: p-value of each row with samples (NaN elsewhere), Holm-corrected in `rows_corrected`.
    """

    statistic: float
    p_value: float
    method: str
    draws: int
    replicates: Floats = field(repr=False)
    rows: Floats | None = field(default=None, repr=False)
    rows_corrected: Floats | None = field(default=None, repr=False)

    def _repr_html_(self) -> str:
        values: dict[str, object] = {
            "statistic": self.statistic,
            "p-value": self.p_value,
            "method": f"{self.method}, {self.draws} draws",
        }
        if self.rows_corrected is not None:
            values["rows below 0.05 (Holm)"] = int((self.rows_corrected < 0.05).sum())
        return _html.table("Test of fit", values)


def goodness_of_fit(
    counts: ArrayLike | None = None,
    q: ArrayLike | None = None,
    operator: str | Operator = "barker",
    kernel: KernelLike = "exp-hamming",
    statistic: Literal["V", "U"] = "V",
    method: Method = "multinomial",
    draws: int = 999,
    rng: np.random.Generator | int = 0,
    *,
    samples: ArrayLike | None = None,
) -> FitTest:
    """Test whether samples, or counts of outcomes, come from the pmf q.

    Parameters
    ----------
    counts, q
        One vector each.
    operator, kernel, statistic
        As in `discrepancy_from_counts`.
    method
        ``"multinomial"`` (exact for every n) or ``"wild"`` (asymptotic; its level holds only where n q_y is at least 20
        for every outcome that q allows).
    draws
        Number B of replicates.
    rng
        Seed or generator; the default makes the result repeatable.
    samples
        Raw samples instead of counts: outcomes 0, 1, ..., in any order.

    Warns
    -----
    RareOutcomeWarning
        With ``method="wild"`` and an outcome that is expected fewer than 20 times.
    """
    table, model = as_counts(counts_of(counts, samples, q)), as_pmf(cast("ArrayLike", q), "q")
    if table.ndim != 1 or table.shape != model.shape:
        raise InvalidDistribution(
            f"counts {table.shape} and q {model.shape} must be two vectors of one length; use"
            " transition_goodness_of_fit for rows, table_goodness_of_fit for tables."
        )
    generator = fit_settings(method, draws, rng)
    n = sample_size(table, statistic)
    _warn_if_rare(method, n, model)
    kappa = stein_kernel(model, operator, kernel)
    observed = _forms(table[None, :], kappa, n, statistic)[0]
    replicates = _replicates(table, model, kappa, n, statistic, method, draws, generator)
    p_value = share_above(observed, replicates, bool((table[model == 0] > 0).any()))
    return FitTest(float(observed), p_value, method, draws, replicates)


def transition_goodness_of_fit(
    counts: ArrayLike | None = None,
    q: ArrayLike | None = None,
    operator: str | Operator = "barker",
    kernel: KernelLike = "exp-hamming",
    method: Method = "multinomial",
    draws: int = 999,
    rng: np.random.Generator | int = 0,
    *,
    samples: ArrayLike | None = None,
) -> FitTest:
    """Test whether transition counts (..., S) come from the rows of q, given how often each row was visited.

    Instead of counts, `samples` may be given: rows (inputs, then outcome). The statistic is ``sum_x n_x DSD_x / n``
    over rows with samples (V-statistics). Options are those of `goodness_of_fit`; a `RareOutcomeWarning` is given with
    ``method="wild"`` when an outcome of a visited row is expected fewer than 20 times in it.
    """
    table = as_counts(counts_of(counts, samples, q))
    model = model_rows(cast("ArrayLike", q), table)
    op = get_operator(operator)
    op.check(model)
    generator = fit_settings(method, draws, rng)
    total = sample_size(table, "V")
    visits = table.sum(-1)
    _warn_if_rare(method, visits[..., None], model)
    observed, replicates = 0.0, np.zeros(draws)
    rows = np.full(visits.shape, np.nan)
    for index in np.argwhere(visits > 0):
        x = tuple(int(i) for i in index)
        n = float(visits[x])
        kappa = stein_kernel(model[x], op, kernel)
        value = _forms(table[x][None, :], kappa, n, "V")[0]
        drawn = _replicates(table[x], model[x], kappa, n, "V", method, draws, generator)
        rows[x] = share_above(value, drawn, bool((table[x][model[x] == 0] > 0).any()))
        observed += n / total * float(value)
        replicates += n / total * drawn
    p_value = share_above(observed, replicates, bool((table[model == 0] > 0).any()))
    return FitTest(observed, p_value, method, draws, replicates, rows, holm(rows))


def holm(p_values: Floats) -> Floats:
    """Holm's step-down correction; NaN entries are left out."""
    out = np.full(p_values.shape, np.nan)
    flat = p_values.ravel()
    known = np.flatnonzero(~np.isnan(flat))
    order = known[np.argsort(flat[known], kind="stable")]
    steps = np.arange(len(order), 0, -1)
    out.ravel()[order] = np.minimum(np.maximum.accumulate(flat[order] * steps), 1.0)
    return out


def fit_settings(method: str, draws: int, rng: np.random.Generator | int) -> np.random.Generator:
    """Check method and draws; the generator."""
    if method not in ("multinomial", "wild"):
        raise InvalidOption(f"method must be 'multinomial' or 'wild', not '{method}'.")
    as_whole(draws, "draws", 1)
    return as_generator(rng)


def sample_size(counts: Floats, statistic: str) -> float:
    """Number of samples: enough for the statistic, and so many that the samplers can count to it."""
    n = float(counts.sum())
    enough_samples(n, statistic)
    if n >= 2.0**53:
        raise InvalidDistribution(f"counts add up to {n:g}, too many to draw as many again; give fewer than 2**53.")
    return n


def _warn_if_rare(method: str, n: Floats | float, q: Floats) -> None:
    expected = np.asarray(n * q)
    if method == "wild" and bool(((expected > 0) & (expected < RARE)).any()):
        warnings.warn(
            f"the wild bootstrap rejects true models too often where an outcome is expected fewer than {RARE:g} times,"
            " as here; use method='multinomial', which is exact.",
            RareOutcomeWarning,
            stacklevel=3,
        )


def _forms(e: Floats, kappa: Floats, n: float, statistic: str, counts: Floats | None = None) -> Floats:
    """V- or U-statistic of each row of counts (or of signed counts, with the true counts for the diagonal)."""
    total = np.einsum("bi,bi->b", e @ kappa, e)
    if statistic == "V":
        return np.asarray(total / n**2)
    own = (e if counts is None else counts) @ np.diagonal(kappa)
    return np.asarray((total - own) / (n * (n - 1.0)))


def _replicates(
    counts: Floats,
    q: Floats,
    kappa: Floats,
    n: float,
    statistic: str,
    method: str,
    draws: int,
    rng: np.random.Generator,
) -> Floats:
    if method == "multinomial":
        # as_pmf allows sums that miss one by a little; the sampler does not
        e = rng.multinomial(int(n), q / q.sum(), size=draws).astype(float)
        return _forms(e, kappa, n, statistic)
    e = 2.0 * rng.binomial(counts.astype(np.int64), 0.5, size=(draws, len(counts))) - counts
    return _forms(e, kappa, n, statistic, counts)


def share_above(observed: float, replicates: Floats, impossible: bool) -> float:
    """The p-value: the share of replicates and the observed value that is at least as large."""
    if impossible:
        return 1.0 / (len(replicates) + 1)
    # A replicate with the same counts must tie in spite of rounding.
    slack = 1e-12 * max(abs(float(observed)), float(np.abs(replicates).max()))
    return float((1 + np.count_nonzero(replicates >= observed - slack)) / (len(replicates) + 1))
