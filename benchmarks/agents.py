"""Time of a run of every agent, against the floor of its random numbers and against the public baseline code.

Run with one thread::

    OMP_NUM_THREADS=1 python -m benchmarks agents

A run is a whole call of `steering.run`, DeepSea 15, one seed of 5000 steps, a plan every 16 steps: set-up, the oracle's
rewards, visit counts and results included. Times are CPU seconds of the process. The *floor* is the time that NumPy
needs only to draw what PSRL draws: at each of its plans two gamma draws and one normal draw for every (s, a, s'), with
the shape parameters that the belief had at that plan. Cases take turns within every repeat, the ratio of a case is the
median over repeats of its time divided by the other's in the same repeat. The seconds of the public code are recorded
figures, measured once on the same kind of machine with the same number of steps; a factor against them is only as good
as that.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import steering
from steering.agents.psrl import PSRL, PSRLOptions

ENVIRONMENT = "deepsea:15"
STEPS = 5000
REPEATS = 15
AGENTS = (
    "q_learning",
    "bayesian_q",
    "ube",
    "mm",
    "psrl",
    "ids",
    "ids:planning=mean",
    "ids:information=gain,planning=mean",
    "steering",
    "steering:objective=ratio",
    "psrl:replan=tsde",
    "ucrl2b",
    "ucbvi",
    "mbie_eb",
    "rmax",
    "opsrl",
    "rlsvi",
    "eubrl",
    "k_learning",
    "ucb_q",
    "beb",
    "vbrb",
    "vapor",
    "bamcp",
)
PUBLIC_SECONDS = {"q_learning": 0.51, "bayesian_q": 4.22, "psrl": 2.16, "ube": 2.37, "mm": 2.11}
"""One run of the public baseline code, DeepSea 15, 5000 steps, one thread."""

TARGETS: dict[tuple[str, str], tuple[str, float]] = {
    ("psrl", "x_floor"): ("<=", 2.5),
    ("ube", "x_psrl"): ("<=", 1.0),
    ("mm", "x_psrl"): ("<=", 1.0),
    ("bayesian_q", "x_faster_than_public"): (">=", 40.0),
    ("q_learning", "ms"): ("<=", 10.0),
    ("steering", "x_psrl"): ("<=", 3.0),
    ("steering:objective=ratio", "x_psrl"): ("<=", 6.0),
    ("ucrl2b", "x_psrl"): ("<=", 6.0),
    **{
        (name, "x_psrl"): ("<=", 3.0)
        for name in ("psrl:replan=tsde", "ucbvi", "mbie_eb", "rmax", "opsrl", "rlsvi", "eubrl", "k_learning", "ucb_q")
    },
    **{(name, "x_psrl"): ("<=", 3.0) for name in ("beb", "vbrb")},
}


class _Recorded(PSRL):
    """PSRL that keeps the shape parameters of every plan."""

    def _reset(self) -> None:
        super()._reset()
        self.shapes: list[tuple[np.ndarray, np.ndarray]] = []

    def plan(self, state: int = 0, step: int = 0) -> None:
        self.shapes.append((self.belief.alpha.copy(), self.belief.shape.copy()))
        super().plan(state, step)


def floor(environment: Any) -> Callable[[], float]:
    """Return a function that draws PSRL's random numbers of one run and gives the seconds it took."""
    agent = _Recorded(PSRLOptions())
    steering.run(environment, agent, steps=STEPS, seeds=1)
    cells = agent.belief.alpha.shape
    gammas, precisions, normals = np.empty(cells), np.empty(cells), np.empty(cells)
    rng = np.random.Generator(np.random.PCG64(0))

    def draw() -> float:
        begin = time.process_time()
        for alpha, shape in agent.shapes:
            rng.standard_gamma(alpha, out=gammas)
            rng.standard_gamma(shape, out=precisions)
            rng.standard_normal(out=normals)
        return time.process_time() - begin

    return draw


def _timed(environment: Any, agent: Any) -> Callable[[], float]:
    def call() -> float:
        begin = time.process_time()
        steering.run(environment, agent, steps=STEPS, seeds=1)
        return time.process_time() - begin

    return call


def measure() -> dict[str, list[float]]:
    """Seconds of every case in every repeat, cases in turn."""
    environment = steering.make_env(ENVIRONMENT)
    cases = {name: _timed(environment, steering.make_agent(name)) for name in AGENTS}
    cases["floor"] = floor(environment)
    for case in cases.values():
        case()  # compiles
    seconds: dict[str, list[float]] = {name: [] for name in cases}
    for _ in range(REPEATS):
        for name, case in cases.items():
            seconds[name].append(case())
    return seconds


def _ratio(ours: list[float], other: list[float]) -> float:
    return statistics.median(a / b for a, b in zip(ours, other, strict=True))


def _verdict(row: dict[str, Any], key: str, sign: str, limit: float) -> str:
    met = row[key] <= limit if sign == "<=" else row[key] >= limit
    return f"{key} {sign} {limit:g}: {'met' if met else 'MISSED'}"


def main() -> list[dict[str, Any]]:
    """Measure every agent; return and print the rows of the table."""
    seconds = measure()
    rows: list[dict[str, Any]] = []
    for name, times in seconds.items():
        median = statistics.median(times)
        row: dict[str, Any] = {
            "case": "random numbers of psrl only" if name == "floor" else name,
            "ms": 1e3 * median,
            "x_floor": _ratio(times, seconds["floor"]),
            "x_psrl": _ratio(times, seconds["psrl"]),
        }
        if name in PUBLIC_SECONDS:
            row["x_faster_than_public"] = PUBLIC_SECONDS[name] / median
        row["target"] = "; ".join(
            _verdict(row, key, *target) for (case, key), target in TARGETS.items() if case == name
        )
        rows.append(row)
    print(f"{ENVIRONMENT}, {STEPS} steps, median of {REPEATS} repeats")
    print_table(rows)
    return rows


def print_table(rows: list[dict[str, Any]]) -> None:
    """Print rows as a Markdown table, so that it can go to the documentation as it is."""
    columns = list(dict.fromkeys(key for row in rows for key in row))
    print("| " + " | ".join(columns) + " |")
    print("|" + "---|" * len(columns))
    for row in rows:
        print("| " + " | ".join(_cell(row.get(key, "")) for key in columns) + " |")


def _cell(value: Any) -> str:
    if not isinstance(value, float):
        return str(value)
    return f"{value:.0f}" if abs(value) >= 100 else f"{value:.3g}"


if __name__ == "__main__":
    main()
