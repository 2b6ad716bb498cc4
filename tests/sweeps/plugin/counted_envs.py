"""An environment that takes a set time and leaves a line in a file for every run, registered on import."""

import os
import time

import gymnasium
from gymnasium.spaces import Discrete

NAME = "Counted-v0"


class Counted(gymnasium.Env):
    """Two states, two actions; the first reset of a run writes its seed to `log` and sleeps `ms`."""

    def __init__(self, log="", ms=100):
        self.observation_space = Discrete(2)
        self.action_space = Discrete(2)
        self.log, self.ms = log, ms

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        if seed is not None and self.log:
            descriptor = os.open(self.log, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
            os.write(descriptor, b"%d\n" % seed)
            os.close(descriptor)
            time.sleep(self.ms / 1000)
        return 0, {}

    def step(self, action):
        return int(self.np_random.integers(2)), float(action), False, False, {}


if NAME not in gymnasium.registry:
    gymnasium.register(id=NAME, entry_point="counted_envs:Counted")
