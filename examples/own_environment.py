"""An MDP of your own: a machine that wears out, to be run, serviced or replaced.

States 0 (new) to 4 (broken). Running earns less the more worn the machine is and wears it by one step with probability
1/2; service costs 0.5 and takes one step of wear away; a new machine costs 3. A broken machine cannot run: that action
is masked, with no fake reward.

On the command line, in this folder: steering run machine:8,discount=0.95 --agent psrl --import own_environment
"""

from __future__ import annotations

import numpy as np

import steering
from steering.mdp import policy_iteration

RUN, SERVICE, REPLACE = 0, 1, 2
ACTIONS = ("run", "service", "replace")


@steering.register_env("machine")
def machine(wear: int = 5) -> steering.TabularMDP:
    """A machine that wears out: run it, service it or replace it."""
    P = np.zeros((wear, 3, wear))
    reward = np.zeros((wear, 3))
    mask = np.ones((wear, 3), dtype=bool)
    for state in range(wear):
        P[state, RUN, state] += 0.5
        P[state, RUN, min(state + 1, wear - 1)] += 0.5
        reward[state, RUN] = 1.0 - state / wear
        P[state, SERVICE, max(state - 1, 0)] = 1.0
        reward[state, SERVICE] = -0.5
        P[state, REPLACE, 0] = 1.0
        reward[state, REPLACE] = -3.0
    mask[wear - 1, RUN] = False
    return steering.TabularMDP(P, reward, reward_std=0.1, mask=mask, action_names=ACTIONS)


def main() -> None:
    env = steering.make_env("machine", discount=0.95)
    best = policy_iteration(env.table, 0.95)
    print("optimal:", [ACTIONS[action] for action in best.policy])
    for agent in ("q_learning", "psrl", "ids:planning=mean"):
        results = steering.run(env, agent, steps=2000, seeds=5)
        print(f"{agent:18s} regret {results.regret(kind='expected').mean():7.1f}")


if __name__ == "__main__":
    main()
