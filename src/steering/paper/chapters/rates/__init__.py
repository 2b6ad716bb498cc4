"""How fast the Stein discrepancy falls (the paper's Lemma 4.2: E[DSD^2] = O(S^2 A / k), so the Stein information too).

Two checks. *Rows*: n samples of one known row, the posterior after them, and the discrepancy between the row and a
posterior draw; no agent is involved. One row has 8 outcomes of positive probability, the other is DeepSea's: 2 of 8.
*Runs*: the Stein information gain K_k of the k-th plan along runs of STEERING on DeepSea 8.
"""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd

from steering._types import Floats
from steering.paper import looks
from steering.paper.chapter import Chapter, Topic
from steering.paper.charts import Chart, chart, reference, series
from steering.paper.drawing import sheet
from steering.paper.fits import exponent
from steering.paper.rule import DECIDES, Claim, below
from steering.paper.scale import VARIANTS, Block, Scale, traced
from steering.paper.source import Source, stacked
from steering.paper.tables import Tables, band, fitted, groups, runs_by_x
from steering.stein import SteinSupportWarning, discrepancy

N = 8
SAMPLES = np.unique(np.geomspace(10, 10_000, 13).astype(int))
REPETITIONS = 200
OPERATORS = {"barker": "sound operator (barker)", "difference": "literal operator (difference)"}
COLOURS = {"barker": looks.SHADES["default"], "difference": looks.SHADES["literal"]}
ROWS = {"full": "8 of 8 outcomes possible", "sparse": "2 of 8 outcomes possible"}
SHOWN = 100
SLOPE = "slope -1"
SEED = 20230
SLACK = 0.1
"""A decay as 1/k is accepted when the fitted exponent is surely below -1 + this."""
SETTLED = 100
"""Number of samples of a row from which on its decay is fitted."""


def blocks(scale: Scale) -> list[Block]:
    """All variants on DeepSea 8."""
    return [traced(f"deepsea:{N}", tuple(VARIANTS.values()), scale.steps, tuple(range(scale.trace_seeds)))]


def row_discrepancies(operator: str, row: str) -> Floats:
    """DSD(p, q) between a row p and posterior draws q after n samples of it, (repetitions, numbers of samples)."""
    rng = np.random.Generator(np.random.PCG64(np.random.SeedSequence(SEED, spawn_key=(list(ROWS).index(row),))))
    p = rng.dirichlet(np.ones(N)) if row == "full" else np.eye(N)[0] / N + np.eye(N)[2] * (1 - 1 / N)
    counts = np.stack([rng.multinomial(n, p, size=REPETITIONS) for n in SAMPLES], axis=1)
    gammas = rng.standard_gamma(1.0 + counts)
    q = np.maximum(gammas / gammas.sum(axis=-1, keepdims=True), 1e-300)
    with warnings.catch_warnings():
        # That the literal operator does not vanish on sparse rows is what is shown here.
        warnings.simplefilter("ignore", SteinSupportWarning)
        value: Floats = np.asarray(discrepancy(p, q / q.sum(axis=-1, keepdims=True), operator=operator))
    return value


def data(source: Source, scale: Scale) -> Tables:
    """Discrepancies of rows and gains of plans: means with their bands, and where exponents are fitted every run."""
    tables: dict[str, list[pd.DataFrame]] = {"rows": [], "runs": [], "row_fits": [], "run_fits": []}
    for operator in OPERATORS:
        for row in ROWS:
            values = row_discrepancies(operator, row)
            fixed = {"operator": operator, "row": row}
            tables["rows"].append(band(fixed, SAMPLES, values))
            tables["row_fits"].append(fitted(fixed, SAMPLES, values, first=SETTLED))
    for variant, agent in VARIANTS.items():
        _, values = stacked(source.traces(blocks(scale), agent), "gain")
        plans = values.shape[1]
        at = np.unique(np.geomspace(1, plans, min(SHOWN, plans)).round().astype(int))
        fixed = {"panel": f"runs on DeepSea {N}", "agent": agent}
        tables["runs"].append(band(fixed, at, values[:, at - 1]))
        tables["run_fits"].append(fitted({"variant": variant}, np.arange(1, plans + 1), values, first=plans / 10))
    return {name: pd.concat(frames, ignore_index=True) for name, frames in tables.items()}


def slope_line(table: pd.DataFrame, height: float) -> tuple[list[float], list[float]]:
    """Ends of a line of slope -1 that begins at a height."""
    begin, end = float(table["x"].min()), float(table["x"].max())
    return [begin, end], [height, height * begin / end]


def charts(tables: Tables, scale: Scale) -> list[Chart]:
    """Rows and runs, each with a line of slope -1 that begins with the first point of the sound operator."""
    table, gained = tables["rows"], tables["runs"]
    dashes = {"full": "", "sparse": looks.DASHES["--"]}
    lines = [
        series(f"{OPERATORS[operator]}, {ROWS[row]}", part, COLOURS[operator], dashes[row])
        for operator, both in groups(table, "operator").items()
        for row, part in groups(both, "row").items()
    ]
    lines.append(reference(SLOPE, *slope_line(table, float(table["mean"].iloc[0]))))
    size = f"{REPETITIONS} repetitions in every size"
    over = f"95 % interval of the mean over {REPETITIONS} repetitions"
    rows = chart(None, "One row", xlabel="samples of the row", ylabel="DSD", size=size, band=over, log="xy")
    rows["panels"] = [{"title": "one row, sampled n times", "series": lines}]
    size = scale.remark(int(gained["seeds"].max()))
    runs = chart(gained, "Runs", xlabel="plan k", ylabel="Stein information gain of a plan", size=size, log="xy")
    runs["panels"][0]["series"].append(reference(SLOPE, *slope_line(gained, float(gained["mean"].iloc[0]))))
    return [rows, runs]


def claims(tables: Tables) -> list[Claim]:
    """Decay of the discrepancy of rows and of the gain along runs."""
    fast = below(-1 + SLACK)
    worst = {
        operator: fast.worst([exponent(*runs_by_x(one)) for one in groups(part, "row").values()])
        for operator, part in groups(tables["row_fits"], "operator").items()
    }
    return [
        Claim(
            "lemma-rate",
            "The squared DSD of the model falls as 1/k.",
            "Lemma 4.2",
            "fitted exponent of the discrepancy of a row in its number of samples, from 100 to 10,000; of a full "
            f"and a sparse row {DECIDES}; as fast as 1/k: below -{1 - SLACK:g}",
            fast,
            {"default": worst["barker"], "sound": worst["barker"], "literal": worst["difference"]},
        ),
        Claim(
            "lemma-gain",
            "The Stein information gain of episode k falls as 1/k.",
            "Lemma 4.3 (2), proof",
            f"fitted exponent in the number of the plan, last 90 % of the plans, DeepSea 8; below -{1 - SLACK:g}",
            fast,
            {v: exponent(*runs_by_x(part)) for v, part in groups(tables["run_fits"], "variant").items()},
        ),
    ]


def heading(scale: Scale) -> str:
    """Title of the figure."""
    means = f"95 % interval of the mean, left over {REPETITIONS} repetitions, right over {scale.trace_seeds} seeds"
    return f"Decay of the Stein discrepancy ({scale.name}; band: {means})"


CHAPTER = Chapter(
    name="rates",
    title="Theory: how fast the discrepancy falls",
    paper="Lemma 4.2",
    text="The lemma says that the squared discrepancy falls as 1/k. With the sound operator it does, row by row. The "
    "literal operator does not vanish on rows with impossible outcomes, whatever the number of samples.",
    needs=blocks,
    data=data,
    draw=lambda tables, scale: {"rates": sheet(*charts(tables, scale), title=heading(scale))},
    charts=charts,
    claims=claims,
    topic=Topic.THEORY,
)
