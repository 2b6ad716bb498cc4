"""Solving large sparse MDPs beside quantecon, mdpsolver and pymdptoolbox, as ratios measured in one run.

Run with one thread::

    OMP_NUM_THREADS=1 python -m benchmarks sparse

Every solver gets its own arrays ready made and solves from scratch to a relative error of 1e-6 at discount 0.99; all
must agree. Each method of a peer is timed, the fastest counts; times are CPU seconds of the process, the least of the
repeats, so that other work on the machine disturbs little. A peer that is not installed is left out, and so are methods
where they would take minutes (the functions say which). The second table is about growth: time and memory
from 1e4 to 1e6 states, with the exponent of time against the number of transitions, and that of the time of a round: a
larger problem may need more rounds, which is a property of the problem.
"""

from __future__ import annotations

import resource
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from scipy import sparse

from steering.envs import make_env
from steering.mdp import TabularMDP, solve

DISCOUNT = 0.99
RELATIVE = 1e-6
CASES = (
    ("grid, 10,000 states", "maze:100"),
    ("grid, 100,000 states", "maze:316"),
    ("random, 1,000 states", "garnet:1000,4,5"),
    ("random, 10,000 states", "garnet:10000,4,5"),
    ("chain, 1,000 states", "deepsea:1000"),
)
GROWTH = (
    tuple(f"maze:{side}" for side in (100, 200, 316, 600, 1000)),
    tuple(f"garnet:{states},4,5" for states in (10_000, 100_000, 1_000_000)),
)
INSTALL = "python -m pip install quantecon mdpsolver pymdptoolbox"

Method = tuple[Any, ...]
"""Name, function, and perhaps what prepares its argument."""


def seconds(function: Callable[..., Any], repeats: int, prepare: Callable[[], Any] | None = None) -> tuple[float, Any]:
    """Least CPU time of some calls, and what the last one gave; a slow function is called once.

    What `prepare` gives is handed to the function and takes no time: a solver that keeps its last solution must be new.
    """
    best, result = float("inf"), None
    for _ in range(repeats):
        given = () if prepare is None else (prepare(),)
        begin = time.process_time()
        result = function(*given)
        best = min(best, time.process_time() - begin)
        if best > 2.0:
            break
    return best, result


def quantecon_methods(mdp: TabularMDP) -> Iterator[Method]:
    from quantecon.markov import DiscreteDP

    states, actions = np.divmod(np.arange(mdp.n_states * mdp.n_actions), mdp.n_actions)
    Q = sparse.csr_matrix(mdp.transitions.matrix)
    problem = DiscreteDP(np.array(mdp.rewards).ravel(), Q, DISCOUNT, states, actions)
    scale = float(np.abs(solve(mdp, DISCOUNT).V).max())
    for name in ("modified_policy_iteration", "value_iteration"):
        yield name, lambda name=name: problem.solve(method=name, epsilon=RELATIVE * scale, max_iter=10**6).v
    # Its policy iteration goes round in circles on ties of grids and fills in on random MDPs: minutes.
    if mdp.n_states <= 1000:
        yield "policy_iteration", lambda: problem.solve(method="policy_iteration", max_iter=20).v


def mdpsolver_methods(mdp: TabularMDP) -> Iterator[Method]:
    import mdpsolver

    if mdp.n_states > 10_000:  # handing over the lists takes minutes, and it is behind already at a tenth of the size
        return
    scale = float(np.abs(solve(mdp, DISCOUNT).V).max())
    pairs = [(s, [mdp.row(s, a) for a in range(mdp.n_actions)]) for s in range(mdp.n_states)]
    P = [[row[1].tolist() for row in rows] for _, rows in pairs]
    columns = [[row[0].tolist() for row in rows] for _, rows in pairs]
    for name in ("mpi", "vi", "pi"):
        for update in ("standard", "gs"):
            if name == "pi" and (update == "gs" or mdp.n_states > 2000):
                continue

            def prepare() -> Any:
                model = mdpsolver.model()
                model.mdp(discount=DISCOUNT, rewards=mdp.rewards.tolist(), tranMatProbs=P, tranMatColumns=columns)
                return model

            def call(model: Any, name: str = name, update: str = update) -> Any:
                model.solve(algorithm=name, tolerance=RELATIVE * scale, update=update, parallel=False)
                return np.array(model.getValueVector())

            yield f"{name}, {update}", call, prepare


def mdptoolbox_methods(mdp: TabularMDP) -> Iterator[Method]:
    import mdptoolbox.mdp as toolbox

    if mdp.n_states > 1000:  # it compares whole matrices with 0 before it begins: minutes
        return
    P = [sparse.csr_matrix(mdp.transitions.matrix[a :: mdp.n_actions]) for a in range(mdp.n_actions)]
    R = np.array(mdp.rewards)
    scale = float(np.abs(solve(mdp, DISCOUNT).V).max())
    for name in ("PolicyIterationModified", "ValueIteration"):

        def call(name: str = name) -> Any:
            solver = getattr(toolbox, name)(P, R, DISCOUNT, epsilon=RELATIVE * scale, max_iter=10**5)
            solver.run()
            return np.array(solver.V)

        yield name, call


PEERS = {"quantecon": quantecon_methods, "mdpsolver": mdpsolver_methods, "mdptoolbox": mdptoolbox_methods}


def compare(case: str, text: str) -> dict[str, Any]:
    """One row: our time, the fastest of every peer's methods, and the ratio to the fastest of all."""
    mdp = make_env(text).table.to_sparse()
    solve(mdp, DISCOUNT, relative=RELATIVE)  # compiled before the clock runs
    ours, solution = seconds(lambda: solve(mdp, DISCOUNT, relative=RELATIVE), 5)
    exact = solve(mdp, DISCOUNT, "pi").V
    assert np.abs(solution.V - exact).max() <= RELATIVE * np.abs(exact).max()
    row: dict[str, Any] = {"case": case, "transitions": mdp.n_transitions, "ours_ms": 1e3 * ours}
    fastest = float("inf")
    for peer, methods in PEERS.items():
        best, how = float("inf"), "-"
        try:
            for name, call, *prepare in methods(mdp):
                took, V = seconds(call, 3, *prepare)
                error = np.abs(V - exact).max() / np.abs(exact).max()
                if error <= 10 * RELATIVE and took < best:
                    best, how = took, name
        except ImportError:
            how = f"not installed ({INSTALL})"
        except Exception as error:  # an old package may not work with today's NumPy
            how = f"failed: {type(error).__name__}" if best == float("inf") else how
        row[f"{peer}_ms"], row[f"{peer}_method"] = 1e3 * best, how
        fastest = min(fastest, best)
    row["ratio"] = ours / fastest
    return row


def growth(texts: tuple[str, ...]) -> list[dict[str, Any]]:
    """Time and peak memory of `solve` on worlds of growing size; the exponents are those of the whole range."""
    rows, sizes, times, rounds = [], [], [], []
    solve(make_env("maze:150").table, DISCOUNT, relative=RELATIVE)  # compiled before the clock runs
    for text in texts:
        began = time.process_time()
        mdp = make_env(text).table
        built = time.process_time() - began
        took, solution = seconds(lambda mdp=mdp: solve(mdp, DISCOUNT, relative=RELATIVE), 3)
        assert solution.converged
        sizes.append(mdp.n_transitions)
        times.append(took)
        rounds.append(solution.iterations)
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3
        rows.append(
            {"case": text, "states": mdp.n_states, "transitions": mdp.n_transitions, "build_s": built}
            | {"solve_s": took, "peak_mb": peak, "rounds": solution.iterations}
        )
    whole, one = (float(np.polyfit(np.log(sizes), np.log(taken), 1)[0]) for taken in (times, np.divide(times, rounds)))
    return [row | {"exponent": whole, "exponent_of_a_round": one} for row in rows]


def main() -> list[dict[str, Any]]:
    rows = [row for texts in GROWTH for row in growth(texts)]
    from benchmarks.agents import print_table

    print_table(rows)
    print()
    return [compare(case, text) for case, text in CASES]


if __name__ == "__main__":
    from benchmarks.agents import print_table

    print_table(main())
