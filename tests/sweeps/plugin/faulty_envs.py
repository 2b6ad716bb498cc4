"""Environments that fail in every way a run can fail, registered when this module is imported."""

import os
import signal
import sys
import time
from pathlib import Path

import gymnasium
from gymnasium.spaces import Discrete

NAME = "Faulty-v0"
VALUES = {
    "nonumber": (0, float("nan")),
    "infinite": (0, float("-inf")),
    "huge": (0, 1e101),
    "nothing": (0, None),
    "half": (0.5, 0.0),
    "beyond": (2, 0.0),
    "negative": (-1, 0.0),
    "text": ("left", 0.0),
}
"""Faults that are an observation and a reward."""


class Faulty(gymnasium.Env):
    """Two states, two actions; after `after` steps comes the fault."""

    def __init__(self, fault="none", after=3, marker=""):
        self.observation_space = Discrete(2)
        self.action_space = Discrete(2)
        self.fault, self.after, self.marker = fault, after, marker
        self.steps = 0

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return 0, {}

    def step(self, action):
        self.steps += 1
        if self.steps == self.after:
            self._fail()
            if self.fault in VALUES:
                observation, reward = VALUES[self.fault]
                return observation, reward, False, False, {}
        return int(self.np_random.integers(2)), float(action), False, False, {}

    def _fail(self):
        if self.fault == "once":  # fails the first time only, whichever process it is in
            if Path(self.marker).exists():
                return
            Path(self.marker).touch()
            os.kill(os.getpid(), signal.SIGKILL)
        if self.fault == "crash":
            raise RuntimeError("the ship has sunk")
        if self.fault == "hang":
            while True:
                time.sleep(1)
        if self.fault == "memory":
            kept = []
            while True:
                kept.append(bytearray(16 << 20))
        if self.fault == "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        if self.fault == "exit":
            os._exit(7)
        if self.fault == "quit":
            sys.exit(3)
        if self.fault == "fork":
            os.fork()
        if self.fault == "orphan" and os.fork() == 0:  # a copy that never comes back
            with open(self.marker, "a") as file:
                file.write(f"{os.getpid()}\n")
            while True:
                time.sleep(1)
        if self.fault == "spaces":
            self.action_space = Discrete(3)
        if self.fault == "print":
            print("hello from Python")
            os.write(1, b"hello from C\n")
        if self.fault == "slow":
            time.sleep(0.2)


if NAME not in gymnasium.registry:
    gymnasium.register(id=NAME, entry_point="faulty_envs:Faulty")
