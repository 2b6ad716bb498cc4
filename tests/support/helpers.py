"""What several folders of tests share: an MDP that is stepped, random MDPs, and every agent with its options."""

from __future__ import annotations

import numpy as np

from steering.agents import list_agents
from steering.agents.psrl import PSRL, PSRLOptions
from steering.mdp import TabularMDP
from steering.mdp.simulator import Simulator, tables_of
from steering.runs.runner import problem_of
from steering.runs.seeds import environment_streams

__all__ = ["AGENTS", "MODEL_BASED", "STEERING", "FollowsPolicy", "SteppedMDP", "masked_mdp", "problem_of"]


class SteppedMDP:
    """A TabularMDP one step at a time (`reset`, `step`, `state`), with the noise that the compiled simulator uses."""

    def __init__(self, mdp: TabularMDP, steps: int, seed: int) -> None:
        self._mdp = mdp
        self._simulator = Simulator(mdp, tables_of(mdp), steps, environment_streams(seed))

    @property
    def state(self) -> int:
        return self._simulator.state

    def reset(self) -> int:
        self._simulator.begin_episode()
        return self.state

    def step(self, action: int) -> tuple[int, float, bool]:
        assert self._mdp.mask[self.state, action], "a masked action was taken"
        policy = np.full((1, self._mdp.n_states), action)
        _, _, rewards, successors = self._simulator.follow(policy, 1)
        return int(successors[0]), float(rewards[0]), False


def masked_mdp(seed: int, S: int = 4, A: int = 3) -> TabularMDP:
    """A random MDP with noise, a random start and about a third of the actions not allowed."""
    rng = np.random.default_rng(seed)
    P = rng.dirichlet(np.full(S, 0.7), size=(S, A))
    mask = rng.random((S, A)) < 0.65
    mask[np.arange(S), rng.integers(A, size=S)] = True
    return TabularMDP(P, rng.normal(size=P.shape), rng.uniform(0, 1, P.shape), mask, rng.dirichlet(np.ones(S)))


AGENTS = [
    "q_learning",
    "q_learning:timescale=40,learning_rate=0.5",
    "bayesian_q",
    "bayesian_q:mixture=sampling,samples=20",
    "ube",
    "ube:moments=sampled,samples=10",
    "ube:concentration=learned,reward_scale=learned",
    "mm",
    "mm:moments=sampled,samples=10,divide_by_discount=true",
    "mm:eta=0.01,concentration=learned",
    "psrl",
    "psrl:eta=0.001",
    "psrl:concentration=learned,reward_scale=learned",
    "ids",
    "ids:information=gain,planning=mean",
    "ids:planning=mean,concentration=learned,reward_scale=learned",
]
STEERING = [
    "steering",
    "steering:objective=ratio",
    "steering:objective=ratio,planning=mean",
    "steering:preset=paper",
    "steering:preset=paper-sound",
    "steering:preset=paper-sound,selection=posterior",
    "steering:planning=sampled,operator=gibbs,reference=draw",
    "steering:eta=0.01,operator=min,expectation=draws,draws=3,reference=empirical",
]
FIELD = [
    "ucrl2b",
    "ucrl2b:bound=l1,criterion=average",
    "ucrl2b:model=posterior,concentration=learned,reward_scale=learned,replan=learned",
    "ucbvi",
    "ucbvi:bound=hoeffding,scale=0.1",
    "ucbvi:bound=simplified,model=posterior,replan=learned",
    "mbie_eb:scale=0.1",
    "rmax",
    "rmax:m=1,model=posterior,replan=doubling",
    "opsrl",
    "opsrl:quantile=0.7,samples=6,eta_mass=true,prior_mass=0.001",
    "rlsvi",
    "rlsvi:noise=simple,scale=0.1,replan=learned",
    "eubrl",
    "eubrl:concentration=learned,reward_scale=learned,replan=learned",
    "k_learning",
    "k_learning:temperature=0.1,replan=learned",
    "vapor:iterations=5",
    "vapor:iterations=5,scale=0.1,replan=learned",
    "ucb_q",
    "ucb_q:scale=0.01",
    "beb",
    "vbrb:scale=0.1",
    "bamcp:simulations=5,depth=4",
    "bamcp:simulations=5,depth=4,epsilon=0,replan=learned",
    "psrl:replan=tsde",
    "psrl:replan=doubling",
]
AGENTS += STEERING + FIELD
AGENTS += [row["name"] for row in list_agents() if not any(spec.startswith(row["name"]) for spec in AGENTS)]
"""Every agent that is registered, with every kind of option at least once."""

MODEL_BASED = [
    f"{spec}{',' if ':' in spec else ':'}replan=learned"
    for spec in [*STEERING, "psrl", "ids", "ube", "mm:zeta=0.5", "ids:planning=mean,concentration=learned"]
]
"""Model-based agents that decide themselves when to plan."""


class FollowsPolicy(PSRL):
    """An agent that follows a given policy (layers, S), whatever it sees."""

    def __init__(self, policy: np.ndarray) -> None:
        super().__init__(PSRLOptions())
        self._given = np.asarray(policy, dtype=np.int64)

    def plan(self, state: int = 0, step: int = 0) -> None:
        self.policy = self._given.copy()
