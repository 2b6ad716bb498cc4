"""The figures of the page on the Stein library: ``python docs/figures/stein_figures.py [DIRECTORY]``.

Each figure is a function that computes its data and one that only draws; all random numbers are seeded.
"""

from __future__ import annotations

import sys
import warnings
from pathlib import Path

import numpy as np

import steering.stein as stein

#: Colours that people with any colour vision can tell apart (Okabe and Ito).
COLOURS = {"difference": "#D55E00", "barker": "#0072B2", "gibbs": "#009E73"}
STATES, ETA = 15, 1.0


def sparse_row(visits: int) -> np.ndarray:
    """Counts of a row as in DeepSea: two next states out of 15, probabilities 14/15 and 1/15."""
    counts = np.zeros(STATES)
    counts[8], counts[6] = round(visits * 14 / 15), visits - round(visits * 14 / 15)
    return counts


def floor_data() -> dict[str, np.ndarray]:
    """Discrepancy of the counts to the posterior mean model, by number of visits."""
    visits = np.unique(np.geomspace(15, 1e6, 25).astype(int))
    data: dict[str, np.ndarray] = {"visits": visits}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", stein.SteinSupportWarning)
        for name in COLOURS:
            rows = np.array([sparse_row(int(n)) for n in visits])
            models = (rows + ETA) / (rows + ETA).sum(1, keepdims=True)
            data[name] = np.asarray(stein.discrepancy_from_counts(rows, models, name))
    return data


def tail_data(draws: int = 4000) -> dict[str, np.ndarray]:
    """Discrepancy of the posterior mean to posterior draws after 1000 visits."""
    rng = np.random.default_rng(0)
    alpha = ETA + sparse_row(1000)
    q = rng.dirichlet(alpha, size=draws)
    p = alpha / alpha.sum()
    return {name: np.sort(np.asarray(stein.discrepancy(p, q, name))) for name in COLOURS}


def numbering_data(orders: int = 2000) -> dict[str, np.ndarray]:
    """One pair (p, q) under random renumberings of the states."""
    rng = np.random.default_rng(0)
    p, q = rng.dirichlet(np.ones(STATES)), rng.dirichlet(np.ones(STATES))
    order = np.array([rng.permutation(STATES) for _ in range(orders)])
    return {name: np.asarray(stein.discrepancy(p[order], q[order], name)) for name in COLOURS}


def information_data() -> dict[str, np.ndarray]:
    """Posterior information of the sparse row by number of visits, exact, and Monte Carlo with its error."""
    visits = np.unique(np.geomspace(1, 1e4, 15).astype(int))
    alpha = ETA + np.array([sparse_row(int(n)) for n in visits])
    mean, error = stein.posterior_information(alpha, draws=300, rng=0, return_error=True)
    return {
        "visits": visits,
        "barker": np.asarray(stein.posterior_information(alpha)),
        "gibbs": np.asarray(stein.posterior_information(alpha, operator="gibbs")),
        "mean": np.asarray(mean),
        "error": np.asarray(error),
    }


def draw_floor(axes, data) -> None:
    """V-statistics against visits, both axes logarithmic."""
    for name, colour in COLOURS.items():
        axes.loglog(data["visits"], data[name], color=colour, label=name)
    axes.set(xlabel="visits of the row", ylabel="V-statistic to the posterior mean", title="Sparse row: who vanishes?")
    axes.legend(frameon=False)


def draw_tail(axes, data) -> None:
    """Share of posterior draws above each value."""
    for name, colour in COLOURS.items():
        values = data[name]
        axes.loglog(values, 1.0 - np.arange(len(values)) / len(values), color=colour, label=name)
    axes.set(
        xlabel="discrepancy to a posterior draw",
        ylabel="share of draws above",
        title="After 1000 visits: no mean for difference",
    )
    axes.legend(frameon=False)


def draw_numbering(axes, data) -> None:
    """Histogram over renumberings."""
    bins = np.geomspace(min(v.min() for v in data.values()) / 2, max(v.max() for v in data.values()) * 2, 60)
    for name, colour in COLOURS.items():
        axes.hist(data[name], bins=bins, color=colour, label=name, alpha=0.8)
    axes.set(
        xscale="log", yscale="log", xlabel="discrepancy", ylabel="renumberings", title="One pair (p, q), renumbered"
    )
    axes.legend(frameon=False)


def draw_information(axes, data) -> None:
    """Exact curves and Monte Carlo points."""
    for name in ("barker", "gibbs"):
        axes.loglog(data["visits"], data[name], color=COLOURS[name], label=f"{name}, exact")
    axes.errorbar(
        data["visits"],
        data["mean"],
        2 * data["error"],
        fmt=".",
        color="black",
        label="barker, 300 draws, ± 2 standard errors",
    )
    axes.set(xlabel="visits of the row", ylabel="expected discrepancy", title="Posterior Stein information")
    axes.legend(frameon=False, fontsize=8)


FIGURES = {
    "stein_sparse": (floor_data, draw_floor),
    "stein_tail": (tail_data, draw_tail),
    "stein_numbering": (numbering_data, draw_numbering),
    "stein_information": (information_data, draw_information),
}


def main(directory: Path) -> list[Path]:
    """Draw all figures into a directory; returns the files."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    paths = []
    for name, (data, draw) in FIGURES.items():
        figure, axes = plt.subplots(figsize=(5.2, 3.4), layout="constrained")
        draw(axes, data())
        axes.spines[["top", "right"]].set_visible(False)
        paths.append(directory / f"{name}.png")
        figure.savefig(paths[-1], dpi=110, metadata={"Software": None})
        plt.close(figure)
    return paths


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent)
