"""The record of one agent: every step, when it planned, and at some plans what it believed.

A track looks after each plan, as any watcher, and draws from a stream of its own, so looking does not change the run:
its steps are those of `steering.run` with the same seed, to the bit. What the page can compute from the steps (visits,
regret, posterior rows and rewards) is not kept.
"""

from __future__ import annotations

import copy
import threading
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steering._types import Floats, Ints
from steering.agents import Agent, describe_agent
from steering.agents.base import ModelBasedAgent
from steering.agents.steering import KERNEL, Steering
from steering.agents.stein_information import InformationChoice, SteinInformation
from steering.beliefs import Belief, ModelBelief, SparseBelief
from steering.envs import Environment
from steering.errors import NotAvailable
from steering.lab.packing import rounded, small_unsigned
from steering.lab.schedule import Schedule, best_paid
from steering.mdp.simulator import Simulator
from steering.runs.loop import simulate
from steering.runs.oracle import world_of
from steering.runs.runner import problem_of
from steering.runs.seeds import environment_streams, stream
from steering.session.knowledge import knowledge_of

MOST_FRAMES = 200
PAIR_FRAMES = 75_000
"""Pairs x frames of one agent, so that a page of two agents stays below 3 MB."""
MODEL_FRAMES = 1_000_000
"""Transitions x frames of an agent that solves models for its belief about Q, so that looking costs seconds."""
DRAWN_ENTRIES = 1_000_000
"""Entries S A S up to which a belief about Q comes from posterior draws; beyond, one draw takes seconds."""
POLICY_CELLS = 3_000_000
"""Actions of policies that one agent's record holds; beyond that only those of the frames are kept."""


class Stopped(Exception):
    """Somebody started another run: this one is not wanted any more."""


@dataclass(frozen=True)
class Frame:
    """What an agent believed at a plan: Q with its spread and the Stein information, each (S, A), and its prior."""

    time: int
    q: NDArray[np.float32]
    spread: NDArray[np.float32]
    information: NDArray[np.float32]
    eta: float
    prior: tuple[float, float, float, float]


class Track:
    """The growing record of one agent under one seed; `run` fills it, `since` reads it, from any thread."""

    def __init__(self, environment: Environment, agent: Agent, steps: int, seed: int) -> None:
        self.environment, self.agent, self.steps, self.seed = environment, agent, steps, seed
        self.name = describe_agent(agent)
        mdp = environment.table
        self.simulator = Simulator(mdp, world_of(environment).tables, steps, environment_streams(seed))
        self.frames: list[Frame] = []
        self.plans: list[int] = []
        self.policies: list[tuple[int, NDArray[Any]]] = []
        self.done = 0
        self.error: str | None = None
        self.finished = False
        best = best_paid(mdp.rewards, mdp.allowed)
        self._schedule = Schedule(steps, frames_of(agent, mdp.n_states, mdp.n_actions), best)
        self._rng = stream(seed, "reporting")
        self._information = SteinInformation(InformationChoice("barker", KERNEL, "mean", "exact", 1))
        self._stop = threading.Event()
        self._lock = threading.Lock()

    def run(self) -> None:
        """Make all steps, or fewer if `stop` is called; what goes wrong is kept in `error`."""
        try:
            agent, seed = self.agent, self.seed
            agent.start(problem_of(self.environment), stream(seed, "planning"), stream(seed, "acting"))
            simulate(agent, self.simulator, self.environment, self)
            self.done = self.steps
        except Stopped:
            pass
        except Exception as error:
            self.error = f"{type(error).__name__}: {error}"
        self.finished = True

    def stop(self) -> None:
        """End the run at its next plan."""
        self._stop.set()

    def look(self, agent: Agent, state: int, now: int) -> None:
        """Keep the policy and, at times, the belief of a plan made at time `now`."""
        if self._stop.is_set():
            raise Stopped
        frame = self._frame(agent, now) if self._schedule.due(now, self.simulator) else None
        with self._lock:
            self.done = now
            self.plans.append(now)
            if frame is not None:
                self.frames.append(frame)
            self._keep_policy(agent, now, frame is not None)

    def _keep_policy(self, agent: Agent, now: int, due: bool) -> None:
        if agent.policy is None or np.ndim(agent.policy) != 2:
            return
        policy = small_unsigned(agent.policy, agent.problem.n_actions)
        if self.policies and np.array_equal(self.policies[-1][1], policy):
            return
        if due or (len(self.policies) + 1) * policy.size <= POLICY_CELLS:
            self.policies.append((now, policy))

    def _frame(self, agent: Agent, now: int) -> Frame:
        try:
            q, spread = believed_values(agent, self._rng)
        except NotAvailable:
            q = spread = np.full(self.environment.mask.shape, np.nan)
        information = stein_information(agent, self._information, self._rng)
        eta, prior = believed(agent)
        return Frame(now, rounded(q), rounded(spread), rounded(information), eta, prior)

    def since(self, steps: int, plans: int, frames: int, policies: int) -> tuple[dict[str, Any], dict[str, Any]]:
        """Header and arrays of everything after so many steps, plans, frames and policies."""
        with self._lock:
            finished, done = self.finished, self.done
            new, kept = self.frames[frames:], self.policies[policies:]
            times = self.plans[plans:]
        sim, mdp = self.simulator, self.environment.table
        header = {
            "name": self.name,
            "from": steps,
            "to": done,
            "finished": finished,
            "error": self.error,
            "eta": [frame.eta for frame in new],
            "prior": [frame.prior for frame in new],
        }
        shape = (len(new), mdp.n_states, mdp.n_actions)
        arrays: dict[str, Any] = {
            "states": small_unsigned(sim.states[steps:done], mdp.n_states),
            "actions": small_unsigned(sim.actions[steps:done], mdp.n_actions),
            "successors": small_unsigned(sim.successors[steps:done], mdp.n_states),
            "rewards": sim.rewards[steps:done],
            "plans": np.array(times, dtype=np.uint32),
            "frames": np.array([frame.time for frame in new], dtype=np.uint32),
            "policyTimes": np.array([time for time, _ in kept], dtype=np.uint32),
            "policies": np.array([policy for _, policy in kept]) if kept else np.zeros((0, 1, 1), np.uint8),
        }
        for name in ("q", "spread", "information"):
            arrays[name] = np.array([getattr(frame, name) for frame in new], dtype=np.float32).reshape(shape)
        return header, arrays


def frames_of(agent: Agent, n_states: int, n_actions: int) -> int:
    """How many beliefs of an agent are kept at most."""
    pairs = n_states * n_actions
    most = min(MOST_FRAMES, PAIR_FRAMES // pairs)
    if isinstance(agent, ModelBasedAgent):
        most = min(most, MODEL_FRAMES // (pairs * n_states))
    return max(most, 6)


def believed_values(agent: Agent, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Q with its spread, (S, A); of an episode the first step stands for all of them.

    An agent that would solve many drawn models for that tells Q of its mean model in a large world, and no spread.
    """
    by_draws = isinstance(agent, ModelBasedAgent) and type(agent).q_posterior is ModelBasedAgent.q_posterior
    if by_draws and agent.problem.mask.size * agent.problem.n_states > DRAWN_ENTRIES:
        assert isinstance(agent, ModelBasedAgent)
        if agent.problem.horizon is not None:
            raise NotAvailable("values of an episode in so large a world are not worked out.")
        known = knowledge_of(copy.deepcopy(agent.belief), agent.problem)
        return np.where(agent.problem.mask, known.Q, np.nan), np.full(known.Q.shape, np.nan)
    mean, std = agent.q_posterior(rng)
    return mean[0], std[0]


def believed(agent: Agent, belief: Belief | None = None) -> tuple[float, tuple[float, float, float, float]]:
    """Concentration and reward prior of an agent whose posterior follows from its steps; NaN where there is none.

    They are those of its own belief, or of a copy that is given.
    """
    options = getattr(agent, "options", None)
    nothing = float("nan")
    if not isinstance(agent, ModelBasedAgent) or getattr(options, "selection", "none") == "posterior":
        return nothing, (nothing, nothing, nothing, nothing)
    belief = belief or agent.belief
    mean, weight, shape, rate = belief.prior
    return float(belief.eta), (float(mean), float(weight), float(shape), float(rate))


def stein_information(agent: Agent, information: SteinInformation, rng: np.random.Generator) -> Floats:
    """Stein information of every pair: the agent's own, or that of its posterior rows; NaN for agents without any."""
    if isinstance(agent, Steering):
        return np.asarray(agent.D, dtype=np.float64)
    if not isinstance(agent, ModelBasedAgent):
        return np.full(agent.problem.mask.shape, np.nan)
    return information_of(agent.belief, information, rng)


def information_of(belief: Belief, information: SteinInformation, rng: np.random.Generator) -> Floats:
    """Stein information of every row of a belief."""
    if isinstance(belief, SparseBelief):
        return information.grouped_rows(belief)
    assert isinstance(belief, ModelBelief)
    return information.rows(belief, belief.counts, belief.counts, rng)


class You:
    """A person who acts, under the same seed and so the same noise as the agents."""

    def __init__(self, environment: Environment, steps: int, seed: int) -> None:
        self.environment, self.steps = environment, steps
        mdp = environment.table
        self.simulator = Simulator(mdp, world_of(environment).tables, steps, environment_streams(seed))
        self.simulator.begin_episode()

    def act(self, action: int) -> dict[str, Any]:
        """Take one action, refused where it is not allowed; says what came of it."""
        sim, horizon = self.simulator, self.environment.horizon
        state = sim.state
        if sim.time >= self.steps:
            raise NotAvailable(f"your {self.steps} steps are over; start again to play on.")
        allowed: Ints = np.flatnonzero(self.environment.mask[state])
        if action not in allowed:
            raise NotAvailable(f"action {action} is not allowed here; choose from {', '.join(map(str, allowed))}.")
        successor, reward = sim.step(action)
        if horizon is not None and sim.time % horizon == 0:
            sim.begin_episode()
        return {"state": state, "action": action, "successor": successor, "reward": reward, "now": sim.state}
