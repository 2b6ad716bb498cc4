"""Run one agent on one environment for many seeds.

A run is a function of (environment, agent, settings, seed): nothing else enters, and what is recorded does not change
it. Environments with a table run on the compiled simulator; a Gymnasium environment without one is stepped live.
"""

from __future__ import annotations

import itertools
import os
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from steering import mdp as planners
from steering._checks import whole
from steering._types import Floats, Ints
from steering._version import REVISION, __version__
from steering.agents import Agent, Problem, describe_agent, make_agent
from steering.envs import Environment, LiveGym, make_env
from steering.errors import InvalidOption, SteeringError
from steering.mdp import TabularMDP
from steering.mdp.simulator import Simulator, Tables, tables_of
from steering.runs.recording import Oracle, Recorder, Wanted, collect
from steering.runs.results import RunResults
from steering.runs.seeds import checked_seeds, environment_streams, stream

Progress = Callable[[int, int], None]

BYTES_PER_STEP = 56
"""What a run keeps of each step: states, actions, rewards and what the oracle gets."""

LEARNING_BLOCK = 1024
"""Steps that an agent without plans makes at once; any value gives the same numbers."""


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
        More to keep: ``"value_gap"`` (V* - V_policy at every plan), ``"q_posterior"`` (`snapshots` beliefs about Q,
        evenly spaced) and ``"diagnostics"`` (what each plan rests on; STEERING has them).
    snapshots
        Number of beliefs about Q to keep with ``record="q_posterior"``.
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
    whole("steps", steps, 1)
    whole("windows", windows, 1)
    whole("snapshots", snapshots, 1)
    wanted = Wanted.checked(record, environment, steps, snapshots)
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
    refuse_too_long(steps, len(chosen))
    world = _World(environment, steps)
    runs: list[_Run] = []
    try:
        for seed in chosen:
            runs.append(_one_run(world, learner, problem, seed, edges, wanted))
            if progress is not None:
                progress(len(runs), len(chosen))
    except KeyboardInterrupt:
        if not runs:
            raise
        finished = _collect(environment, learner, chosen[: len(runs)], world, runs, edges)
        raise Interrupted(finished) from None
    return _collect(environment, learner, chosen, world, runs, edges)


class Interrupted(KeyboardInterrupt):
    """Ctrl-C during `run`; `results` holds the seeds that were finished."""

    def __init__(self, results: RunResults) -> None:
        super().__init__(f"{len(results.seeds)} seeds were finished")
        self.results = results


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
    recorder: Recorder | None


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


def _one_run(world: _World, agent: Agent, problem: Problem, seed: int, edges: Ints, wanted: Wanted) -> _Run:
    began = time.perf_counter()
    agent.start(problem, stream(seed, "planning"), stream(seed, "acting"))
    environment = world.environment
    if environment.mdp is None or world.tables is None or world.oracle is None:
        states, actions, rewards = _step_live(environment, agent, world.steps, seed)
        expected = oracle = recorder = None
    else:
        simulator = Simulator(environment.mdp, world.tables, world.steps, environment_streams(seed))
        recorder = Recorder(wanted, environment, world.oracle, stream(seed, "reporting"))
        simulate(agent, simulator, environment, recorder if wanted.names else None)
        states, actions, rewards = simulator.states, simulator.actions, simulator.rewards
        expected = environment.mdp.rewards[states, actions]
        oracle = _oracle_rewards(world, seed)
    visits = _count_visits(states, actions, edges, problem)
    return _Run(rewards, expected, oracle, visits, time.perf_counter() - began, recorder)


def simulate(agent: Agent, simulator: Simulator, environment: Environment, recorder: Recorder | None = None) -> None:
    """Alternate plans and blocks of steps until the simulator is full; the recorder looks after each plan.

    A block ends where the agent wants a plan, or at the latest moment, of which `latest_plan` speaks.
    """
    while (now := simulator.time) < simulator.steps:
        step = step_of_episode(now, environment)
        if begins_episode(now, environment):
            simulator.begin_episode()
        if not agent.keeps_plan():
            agent.plan(simulator.state, step)
        if recorder is not None:
            recorder.look(agent, simulator.state, now)
        latest = latest_plan(now, environment, regular=agent.plans or recorder is not None)
        agent.interact(simulator, min(latest, simulator.steps) - now, step)
        if simulator.time == now:
            raise SteeringError(f"agent '{agent.name}' made no step in `interact`; it must make at least one.")


def step_of_episode(now: int, environment: Environment) -> int:
    """Step of an episode at time `now`; 0 in the continuing setting."""
    return 0 if environment.horizon is None else now % environment.horizon


def begins_episode(now: int, environment: Environment) -> bool:
    """Whether the state is drawn from the start distribution at time `now`."""
    return now == 0 or (environment.horizon is not None and now % environment.horizon == 0)


def latest_plan(now: int, environment: Environment, *, regular: bool) -> int:
    """Time of the next plan after one at `now`, at the latest: the next episode, or `replan_every` steps later.

    An agent without plans is called less often, unless somebody looks at it at regular times.
    """
    if environment.horizon is not None:
        return now - now % environment.horizon + environment.horizon
    return now + (environment.replan_every if regular else LEARNING_BLOCK)


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
    state = latest = 0
    for t in range(steps):
        step = step_of_episode(t, environment)
        if begins_episode(t, environment):
            state = live.reset()
        if t == latest or agent.wants_plan():
            if not agent.keeps_plan():
                agent.plan(state, step)
            latest = latest_plan(t, environment, regular=agent.plans)
        action = agent.checked(state, agent.act(state, step))
        successor, reward, restarted = live.step(action)
        states[t], actions[t], rewards[t] = state, action, reward
        agent.observe(state, action, float(reward), successor, step)
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


def _count_visits(states: Ints, actions: Ints, edges: Ints, problem: Problem) -> Floats:
    cells = states * problem.n_actions + actions
    size = problem.n_states * problem.n_actions
    counts = [np.bincount(cells[low:high], minlength=size) for low, high in itertools.pairwise(edges)]
    return np.array(counts, dtype=np.float64).reshape(-1, problem.n_states, problem.n_actions)


def _collect(
    environment: Environment, agent: Agent, seeds: tuple[int, ...], world: _World, runs: list[_Run], edges: Ints
) -> RunResults:
    known = world.oracle is not None
    recorders = [one.recorder for one in runs if one.recorder is not None]
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
        settings={
            "replan_every": environment.replan_every,
            "max_iterations": environment.max_iterations,
            "version": __version__,
            "revision": REVISION,
        },
        **(collect(recorders) if recorders else {}),
    )


def refuse_too_long(steps: int, runs: int) -> None:
    """Refuse records that this machine cannot hold, before hours are spent on them."""
    needed = BYTES_PER_STEP * steps * runs
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    if needed > memory:
        raise InvalidOption(
            f"{steps} steps x {runs} runs take {needed / 1e9:,.0f} GB to keep, and this machine has "
            f"{memory / 1e9:,.0f} GB; use fewer steps or runs."
        )
