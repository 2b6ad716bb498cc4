"""Run one agent on one environment for many seeds.

A run is a function of (environment, agent, settings, seed): nothing else enters, and what is recorded does not change
it. Environments with a table run on the compiled simulator; a Gymnasium environment without one is stepped live.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steering import mdp as planners
from steering._version import __version__
from steering.agents import Agent, Problem, describe_agent, make_agent
from steering.envs import Environment, LiveGym, make_env
from steering.errors import InvalidOption, NotAvailable
from steering.experiments.seeds import checked_seeds, environment_streams, stream
from steering.mdp import TabularMDP
from steering.mdp.simulator import Simulator, Tables, tables_of
from steering.results import QSnapshots, RunResults

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Progress = Callable[[int, int], None]

LEARNING_BLOCK = 1024
"""Steps that an agent without plans makes at once; any value gives the same numbers."""

RECORDS = ("value_gap", "q_posterior")


@dataclass(frozen=True)
class Oracle:
    """The optimal policy of the true MDP and what it is worth."""

    policy: Ints
    V: Floats
    Q: Floats
    expected: Floats
    """Expected reward of each step, (T,)."""


def run(
    env: Any,
    agent: str | Agent,
    *,
    steps: int = 5000,
    seeds: int | Iterable[int] = 10,
    windows: int = 10,
    record: Iterable[str] = (),
    snapshots: int = 20,
    progress: Progress | None = None,
    **options: Any,
) -> RunResults:
    """Run an agent on an environment, once for each seed.

    Parameters
    ----------
    env
        Anything `make_env` takes: text such as ``"deepsea:15"``, a `TabularMDP`, an `Environment`, a Gymnasium
        environment.
    agent
        Text such as ``"psrl"`` or ``"ids:planning=mean"``, or an agent.
    steps
        Number of steps T of each run.
    seeds
        A number K (seeds 0, ..., K - 1) or the seeds themselves.
    windows
        Number of equal windows in which visits are counted.
    record
        More to keep: ``"value_gap"`` (V* - V_policy at every plan) and ``"q_posterior"`` (at most `snapshots` beliefs
        about Q, each at the first plan after evenly spaced times).
    progress
        Called as progress(finished seeds, all seeds).
    options
        Options of the agent, as for `make_agent`.

    Returns
    -------
    RunResults

    Examples
    --------
    >>> results = run("deepsea:4", "psrl", steps=200, seeds=3)
    >>> results.regret_curve().shape
    (3, 200)
    """
    environment = make_env(env)
    learner = make_agent(agent, **options)
    wanted = _checked_record(record, environment)
    checked_count("steps", steps)
    checked_count("windows", windows)
    checked_count("snapshots", snapshots)
    chosen = checked_seeds(seeds)
    edges = np.linspace(0, steps, min(windows, steps) + 1).round().astype(np.int64)
    problem = Problem(
        environment.n_states,
        environment.n_actions,
        np.ascontiguousarray(environment.mask),
        float(environment.discount),
        environment.horizon,
        environment.max_iterations,
    )
    world = _World(environment, steps)
    times = np.unique(np.linspace(0, steps, snapshots + 1).astype(np.int64)[:-1]) if "q_posterior" in wanted else None
    runs = []
    for done, seed in enumerate(chosen):
        runs.append(_one_run(world, learner, problem, seed, edges, "value_gap" in wanted, times))
        if progress is not None:
            progress(done + 1, len(chosen))
    return _collect(environment, learner, chosen, world, runs, edges, times)


class _World:
    """What all seeds share: simulator tables and the oracle (absent for an environment that is only stepped)."""

    def __init__(self, environment: Environment, steps: int) -> None:
        self.environment = environment
        self.steps = steps
        self.tables: Tables | None = None
        self.oracle: Oracle | None = None
        if environment.mdp is not None:
            self.tables = tables_of(environment.mdp)
            self.oracle = solve_oracle(environment.mdp, environment.discount, environment.horizon, steps)


@dataclass
class _Run:
    rewards: Floats
    expected: Floats | None
    oracle: Floats | None
    visits: Floats
    seconds: float
    gap_times: list[int]
    gaps: list[float]
    q_times: list[int]
    q_mean: list[Floats]
    q_std: list[Floats]


def solve_oracle(mdp: TabularMDP, discount: float, horizon: int | None, steps: int) -> Oracle:
    """Optimal policy with layers (1 or H), its V and Q with layers, and its expected reward in every step."""
    if horizon is None:
        solution = planners.policy_iteration(mdp, discount)
        expected = planners.expected_reward_curve(mdp, solution.policy, steps)
        return Oracle(solution.policy[None], solution.V[None], solution.Q[None], expected)
    finite = planners.backward_induction(mdp, horizon, discount)
    occupancy = planners.occupancy_finite(mdp, finite.policy, horizon)
    episode = np.einsum("hsa,sa->h", occupancy, mdp.rewards)
    return Oracle(finite.policy, finite.V, finite.Q, np.resize(episode, steps))


def _one_run(
    world: _World, agent: Agent, problem: Problem, seed: int, edges: Ints, want_gaps: bool, times: Ints | None
) -> _Run:
    began = time.perf_counter()
    agent.start(problem, stream(seed, "planning"), stream(seed, "acting"))
    mdp = world.environment.mdp
    if mdp is None or world.tables is None:
        states, actions, rewards = _step_live(world.environment, agent, world.steps, seed)
        kept = _Run(rewards, None, None, np.empty(0), 0.0, [], [], [], [], [])
    else:
        kept = _Run(np.empty(0), None, None, np.empty(0), 0.0, [], [], [], [], [])
        simulator = Simulator(mdp, world.tables, world.steps, environment_streams(seed))
        reporter = stream(seed, "reporting")

        def look(now: int) -> None:
            if want_gaps:
                kept.gap_times.append(now)
                kept.gaps.append(_value_gap(world, agent, simulator.state))
            last = kept.q_times[-1] if kept.q_times else -1
            if times is not None and ((last < times) & (times <= now)).any():
                mean, std = agent.q_posterior(reporter)
                kept.q_times.append(now)
                kept.q_mean.append(mean)
                kept.q_std.append(std)

        simulate(agent, simulator, world.environment, look if want_gaps or times is not None else None)
        states, actions = simulator.states, simulator.actions
        kept.rewards = simulator.rewards
        kept.expected = mdp.rewards[states, actions]
        kept.oracle = _oracle_rewards(world, seed)
    kept.visits = _count_visits(states, actions, edges, problem)
    kept.seconds = time.perf_counter() - began
    return kept


def simulate(
    agent: Agent, simulator: Simulator, environment: Environment, look: Callable[[int], None] | None = None
) -> None:
    """Alternate plans and blocks of steps until the simulator's records are full; `look` is called after each plan."""
    horizon = environment.horizon
    if horizon is not None:
        block = horizon
    elif agent.plans or look is not None:
        block = environment.replan_every
    else:
        block = LEARNING_BLOCK
    if horizon is None:
        simulator.begin_episode()
    while simulator.time < simulator.steps:
        if horizon is not None:
            simulator.begin_episode()
        agent.plan(simulator.state)
        if look is not None:
            look(simulator.time)
        agent.interact(simulator, min(block, simulator.steps - simulator.time))


def _step_live(environment: Environment, agent: Agent, steps: int, seed: int) -> tuple[Ints, Ints, Floats]:
    """The same alternation, one step at a time, on an environment that can only be stepped."""
    assert environment.make_gym is not None
    live = LiveGym(environment.make_gym, int(stream(seed, "live").integers(2**31)), episodic=environment.episodic)
    try:
        return step_by_step(agent, live, environment, steps)
    finally:
        live.close()


def step_by_step(agent: Agent, live: Any, environment: Environment, steps: int) -> tuple[Ints, Ints, Floats]:
    """Plan, act and observe for `steps` steps on anything with `reset()`, `step(action)` and `state` (see `LiveGym`).

    Returns the states, actions and rewards. With the same noise it gives the same numbers as `simulate`.
    """
    states, actions = np.zeros(steps, dtype=np.int64), np.zeros(steps, dtype=np.int64)
    rewards = np.zeros(steps)
    horizon = environment.horizon
    block = horizon or (environment.replan_every if agent.plans else LEARNING_BLOCK)
    state = 0
    for t in range(steps):
        step = t % block
        if step == 0:
            if horizon is not None or t == 0:
                state = live.reset()
            agent.plan(state)
        layer = step if horizon is not None else 0
        action = agent.act(state, layer)
        successor, reward, restarted = live.step(action)
        states[t], actions[t], rewards[t] = state, action, reward
        agent.observe(state, action, float(reward), successor, layer)
        # After a time limit of the environment the run goes on elsewhere; that jump is not a transition of the MDP.
        state = live.state if restarted else successor
    return states, actions, rewards


def _oracle_rewards(world: _World, seed: int) -> Floats:
    """Rewards of the oracle under the same noise as the agent of this seed."""
    environment, oracle = world.environment, world.oracle
    assert environment.mdp is not None
    assert world.tables is not None
    assert oracle is not None
    simulator = Simulator(environment.mdp, world.tables, world.steps, environment_streams(seed))
    if environment.horizon is None:
        simulator.begin_episode()
        simulator.follow(oracle.policy, world.steps)
        return simulator.rewards
    while simulator.time < world.steps:
        simulator.begin_episode()
        simulator.follow(oracle.policy, min(environment.horizon, world.steps - simulator.time))
    return simulator.rewards


def _value_gap(world: _World, agent: Agent, state: int) -> float:
    environment, oracle = world.environment, world.oracle
    assert environment.mdp is not None
    assert oracle is not None
    if environment.horizon is None:
        V = planners.evaluate(environment.mdp, agent.policy[0], environment.discount)
    else:
        V = planners.evaluate_finite(environment.mdp, agent.policy, environment.horizon, environment.discount)[0]
    return float(oracle.V[0, state] - V[state])


def _count_visits(states: Ints, actions: Ints, edges: Ints, problem: Problem) -> Floats:
    cells = states * problem.n_actions + actions
    size = problem.n_states * problem.n_actions
    counts = [np.bincount(cells[low:high], minlength=size) for low, high in itertools.pairwise(edges)]
    return np.array(counts, dtype=np.float64).reshape(-1, problem.n_states, problem.n_actions)


def _collect(
    environment: Environment,
    agent: Agent,
    seeds: tuple[int, ...],
    world: _World,
    runs: list[_Run],
    edges: Ints,
    times: Ints | None,
) -> RunResults:
    known = world.oracle is not None
    snapshots = None
    if times is not None and world.oracle is not None:
        optimal = world.oracle.Q.copy()
        optimal[:, ~environment.mask] = np.nan
        snapshots = QSnapshots(
            np.array(runs[0].q_times),
            np.array([one.q_mean for one in runs]),
            np.array([one.q_std for one in runs]),
            optimal,
        )
    return RunResults(
        environment=environment.name,
        agent=describe_agent(agent),
        seeds=seeds,
        discount=environment.discount,
        horizon=environment.horizon,
        rewards=np.array([one.rewards for one in runs]),
        expected_rewards=np.array([one.expected for one in runs]) if known else None,
        oracle_rewards=np.array([one.oracle for one in runs]) if known else None,
        oracle_expected=world.oracle.expected if world.oracle is not None else None,
        visits=np.array([one.visits for one in runs]),
        windows=edges,
        seconds=np.array([one.seconds for one in runs]),
        gap_times=np.array(runs[0].gap_times) if runs[0].gaps else None,
        value_gaps=np.array([one.gaps for one in runs]) if runs[0].gaps else None,
        q_posterior=snapshots,
        settings={
            "replan_every": environment.replan_every,
            "max_iterations": environment.max_iterations,
            "version": __version__,
        },
    )


def _checked_record(record: Iterable[str], environment: Environment) -> set[str]:
    wanted = {record} if isinstance(record, str) else set(record)
    for name in wanted:
        if name not in RECORDS:
            raise InvalidOption(f"record has '{name}'; choose from: {', '.join(RECORDS)}.")
    if wanted and environment.mdp is None:
        raise NotAvailable(f"'{environment.name}' gives only samples, so {sorted(wanted)[0]} cannot be recorded.")
    return wanted


def checked_count(name: str, value: Any) -> None:
    """Refuse what is not a whole number of at least 1."""
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < 1:
        raise InvalidOption(f"{name} is {value!r}; it must be a whole number of at least 1.")
