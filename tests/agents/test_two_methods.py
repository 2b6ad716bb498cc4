"""An agent is `act` and `observe`; everything else has a default."""

import numpy as np
import pytest

import steering
from helpers import SteppedMDP, masked_mdp, problem_of
from steering.agents import Agent
from steering.envs import make_env
from steering.errors import InvalidOption, NotAvailable, SteeringError
from steering.mdp.simulator import Simulator, tables_of
from steering.runs.loop import simulate, step_by_step
from steering.runs.seeds import environment_streams, stream


class Uniform(Agent):
    """Two methods and nothing else."""

    def act(self, state, step=0):
        return self.acting_rng.choice(np.flatnonzero(self.problem.mask[state]))

    def observe(self, state, action, reward, next_state, step=0):
        self.last = (state, action, reward, next_state, step)


class Asks(Uniform):
    """Wants a plan after every reward above 1, and keeps the (state, step) of its plans."""

    def _reset(self):
        self.made, self.wants = [], False

    def plan(self, state=0, step=0):
        self.made.append((state, step))
        self.wants = False

    def observe(self, state, action, reward, next_state, step=0):
        self.wants = reward > 1

    def wants_plan(self):
        return self.wants


@pytest.mark.parametrize("horizon", [None, 5, 1])
@pytest.mark.parametrize("kind", [Uniform, Asks])
def test_both_loops_give_the_same_bits(kind: type[Agent], horizon: int | None) -> None:
    env = make_env(masked_mdp(3), horizon=horizon)
    fast, slow = kind(), kind()
    for agent in (fast, slow):
        agent.start(problem_of(env), stream(4, "planning"), stream(4, "acting"))
    sim = Simulator(env.table, tables_of(env.table), 143, environment_streams(4))
    simulate(fast, sim, env)
    columns = step_by_step(slow, SteppedMDP(env.table, 143, 4), env, 143)
    for x, y in zip((sim.states, sim.actions, sim.rewards), columns, strict=True):
        np.testing.assert_array_equal(x, y)
    if isinstance(fast, Asks):
        assert fast.made == slow.made
        assert len(fast.made) > 143 // env.replan_every or horizon == 1


def test_it_runs_with_regret_and_a_name() -> None:
    agent = Uniform()
    assert (agent.name, agent.plans, agent.options, Asks.plans) == ("uniform", False, None, True)
    results = steering.run("deepsea:4", agent, steps=300, seeds=3)
    assert results.agent == "uniform"
    assert (results.regret() > 0).all()


def test_what_it_does_not_have_is_said_in_one_sentence() -> None:
    for record, words in {"value_gap": "no policy", "q_posterior": "no belief", "diagnostics": "no policy"}.items():
        with pytest.raises(NotAvailable, match=words):
            steering.run("deepsea:4", Uniform(), steps=50, seeds=1, record=record)


def test_a_policy_makes_value_gaps_available() -> None:
    class Left(Uniform):
        def _reset(self):
            self.policy = np.zeros((self.problem.layers, self.problem.n_states), dtype=int)

    gaps = steering.run("deepsea:4", Left(), steps=50, seeds=2, record="value_gap").value_gaps
    assert gaps.shape[0] == 2
    assert (gaps > 0).all()

    class Flat(Uniform):
        def _reset(self):
            self.policy = np.zeros(self.problem.n_states, dtype=int)

    with pytest.raises(NotAvailable, match=r"shape \(4,\)"):
        steering.run("deepsea:4", Flat(), steps=50, seeds=2, record="value_gap")


@pytest.mark.parametrize("bad", [2, -1, 0.5, "left", None])
def test_actions_that_are_not_allowed_are_refused(bad: object) -> None:
    class Bad(Uniform):
        def act(self, state, step=0):
            return bad

    with pytest.raises(InvalidOption, match="agent 'bad' chose action"):
        steering.run("deepsea:4", Bad(), steps=5, seeds=1)


def test_an_interact_without_a_step_is_refused() -> None:
    class Idle(Uniform):
        def interact(self, simulator, steps, step=0):
            pass

    with pytest.raises(SteeringError, match="made no step"):
        steering.run("deepsea:4", Idle(), steps=5, seeds=1)
