"""A press that wears: a year of days decided by a session that first reads the log of the last 200 days.

``python examples/maintenance.py`` follows one year; ``--seeds 50`` compares with the rule in the log, Q-learning, PSRL
and the oracle, which knows the press. docs/tutorial_maintenance.md tells the story.
"""

from __future__ import annotations

import argparse
import csv
import sys
import tempfile
from pathlib import Path

import numpy as np

from steering import Session, TabularMDP
from steering.mdp import policy_iteration
from steering.runs.statistics import interval_of_mean

STATES = [*(f"wear {level}" for level in range(10)), "broken", "in repair"]
ACTIONS = ["run", "service", "replace"]
LOG_DAYS, YEAR = 200, 365
FIRST_SEED = 100  # seeds 0 to 7 were looked at when the default of replan_every was chosen; they are not compared
AGENTS = {
    "session (steering)": "steering",
    "session, persistence=0": "steering:persistence=0",
    "PSRL": "psrl",
    "PSRL, learned priors": "psrl:concentration=learned,reward_scale=learned",
    "Q-learning": "q_learning:epsilon=0.1",
}


def press() -> TabularMDP:
    """The truth, which only the oracle knows: where each action leads and what it earns, in 100 euros a day."""
    P, r = np.zeros((12, 3, 12)), np.zeros((12, 3))
    broken, repair = 10, 11
    for wear in range(10):
        failure = 0.01 + 0.012 * max(wear - 3, 0) ** 1.6
        for more, chance in ((0, 0.45), (1, 0.4), (2, 0.15)):
            P[wear, 0, min(wear + more, 9)] += chance * (1 - failure)
        P[wear, 0, broken] += failure
        r[wear, 0] = 10.0 - 0.5 * wear
        for less, chance in ((1, 0.2), (3, 0.6), (4, 0.2)):
            P[wear, 1, max(wear - less, 0)] += chance
        r[wear, 1] = 3.0
        P[wear, 2, 0] = 1.0
        r[wear, 2] = -40.0
    P[broken, 0, broken], r[broken, 0] = 1.0, -15.0
    P[broken, 1, repair], r[broken, 1] = 1.0, -25.0
    P[broken, 2, 0], r[broken, 2] = 1.0, -60.0
    P[repair, 0, [repair, 5]], r[repair, 0] = (0.5, 0.5), -10.0
    P[repair, 1, [repair, 2]], r[repair, 1] = (0.4, 0.6), -14.0
    P[repair, 2, 0], r[repair, 2] = 1.0, -50.0
    return TabularMDP(P, r)


def rule(state: str) -> str:
    """What was done so far: run until it is nearly worn out, then buy a new one; repair what broke."""
    if state in ("wear 8", "wear 9"):
        return "replace"
    return "service" if state == "broken" else "run"


class Plant:
    """The press as it is met: one day after the other; the same luck for whoever decides."""

    def __init__(self, mdp: TabularMDP, seed: int) -> None:
        self.mdp, self.seed, self.day = mdp, seed, 0

    def step(self, state: str, action: str) -> tuple[float, str]:
        """What the day earned and where it led."""
        luck = np.random.default_rng([self.seed, self.day])
        self.day += 1
        s, a = STATES.index(state), ACTIONS.index(action)
        follows = int(np.searchsorted(np.cumsum(self.mdp.P[s, a]), luck.random()))
        return float(self.mdp.rewards[s, a] + luck.normal()), STATES[min(follows, 11)]


def write_log(plant: Plant, path: Path) -> str:
    """The log of the last 200 days under the rule; returns the state it ends in."""
    state = "wear 0"
    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["state", "action", "reward", "next_state"])
        for _ in range(LOG_DAYS):
            action = rule(state)
            reward, follows = plant.step(state, action)
            writer.writerow([state, action, round(reward, 2), follows])
            state = follows
    return state


def year_with(agent: str, seed: int, *, show: bool = False) -> float:
    """What a year earns that is decided by a session."""
    plant = Plant(press(), seed)
    with tempfile.TemporaryDirectory() as place:
        state = write_log(plant, Path(place) / "log.csv")
        options = {"states": STATES, "actions": ACTIONS, "agent": agent, "seed": seed, "sync": False}
        with Session.create(Path(place) / "press", log=Path(place) / "log.csv", **options) as session:
            total = 0.0
            for day in range(YEAR):
                suggestion = session.ask(state, why=show)
                if show and day % 60 == 0:
                    print(f"day {day}, {state}: {suggestion.why}")
                reward, state = plant.step(state, str(suggestion.action))
                session.tell(suggestion.id, reward=reward, next_state=state)
                total += reward
            if show:
                print(f"earned {total:.0f}; from now on best: {session.recommend()}")
                print(session.forecast(state, 30)[["step", "total", "total_low", "total_high"]].tail(1).to_string())
    return total


def year_by(decide: dict[str, str], seed: int) -> float:
    """What a year earns under a fixed policy."""
    plant = Plant(press(), seed)
    with tempfile.TemporaryDirectory() as place:
        state, total = write_log(plant, Path(place) / "log.csv"), 0.0
    for _ in range(YEAR):
        reward, state = plant.step(state, decide[state])
        total += reward
    return total


def compare(seeds: int) -> None:
    """A year for each seed and each way to decide, with 95 % intervals."""
    years = range(FIRST_SEED, FIRST_SEED + seeds)
    best = policy_iteration(press(), 0.99).policy
    rows = {
        "oracle": [year_by({s: ACTIONS[a] for s, a in zip(STATES, best, strict=True)}, n) for n in years],
        "rule of the log": [year_by({state: rule(state) for state in STATES}, n) for n in years],
    }
    rows |= {name: [year_with(agent, seed) for seed in years] for name, agent in AGENTS.items()}
    ours = np.array(rows["session (steering)"])
    print(f"{'a year earns (100 euros)':28s} {'mean':>7s}  95 % interval    session minus this, 95 % interval")
    for name, values in rows.items():
        earned = interval_of_mean([np.array(values)], 0.95)
        text = f"{name:28s} {earned.mean:7.0f}  {earned.low:.0f} to {earned.high:.0f}"
        if name != "session (steering)":
            more = interval_of_mean([ours - np.array(values)], 0.95)
            text = f"{text:54s} {more.mean:6.0f} ({more.low:.0f} to {more.high:.0f})"
        print(text)


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0], allow_abbrev=False)
    parser.add_argument("--seeds", type=int, default=0, help="compare over so many years")
    chosen, _ = parser.parse_known_args(arguments)
    if chosen.seeds:
        compare(chosen.seeds)
    else:
        year_with("steering", 0, show=True)


if __name__ == "__main__":
    main(sys.argv[1:])
