"""Gymnasium both ways: its FrozenLake for our agents, and our DeepSea for anybody's agent."""

from __future__ import annotations

import gymnasium

import steering
from steering.envs import register_all


def main() -> None:
    lake = steering.make_env("gym:FrozenLake-v1,is_slippery=false", discount=0.95)
    for agent in ("q_learning", "psrl:concentration=learned"):
        results = steering.run(lake, agent, steps=2000, seeds=3)
        print(f"{agent:28s} reward {results.rewards.sum(axis=1).mean():6.1f}")

    register_all()
    sea = gymnasium.make("steering/DeepSea-v0", n=8)
    state, _ = sea.reset(seed=0)
    total = 0.0
    for _ in range(200):
        state, reward, terminated, truncated, _ = sea.step(1)
        total += float(reward)
        if terminated or truncated:
            state, _ = sea.reset()
    sea.close()
    print(f"always right on DeepSea 8: {total:.1f} in 200 steps, now in state {state}")


if __name__ == "__main__":
    main()
