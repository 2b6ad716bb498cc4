"""An MDP of your own: a machine that wears out, to be run, serviced or replaced.

States 0 (new) to 4 (broken). Running earns less the more worn the machine is and wears it by one step with probability
1/2; service costs 0.5 and takes one step of wear away; a new machine costs 3. A broken machine cannot run: that action
is masked, with no fake reward.
"""

from __future__ import annotations

import numpy as np

import steering
from steering.mdp import policy_iteration

RUN, SERVICE, REPLACE = 0, 1, 2
ACTIONS = ("run", "service", "replace")


def machine(wear: int = 5) -> steering.TabularMDP:
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
    mdp = machine()
    best = policy_iteration(mdp, 0.95)
    print("optimal:", [ACTIONS[action] for action in best.policy])
    env = steering.make_env(mdp, discount=0.95)
    for agent in ("q_learning", "psrl", "ids:planning=mean"):
        results = steering.run(env, agent, steps=2000, seeds=5)
        print(f"{agent:18s} regret {results.regret(kind='expected').mean():7.1f}")


if __name__ == "__main__":
    main()
