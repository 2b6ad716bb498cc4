"""Threads: runs of their own agents are the same as alone; one agent in two runs at once is refused."""

import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import steering
from steering.errors import SteeringError
from steering.runs import run


class Slow:
    """Holds a run at its first plan until it is let go."""

    def __init__(self):
        self.inside, self.go = threading.Event(), threading.Event()

    def look(self, agent, state, now):
        self.inside.set()
        assert self.go.wait(60)


def test_an_agent_in_two_threads_at_once_is_refused_with_the_way_out():
    from steering.runs.runner import Runs

    agent, slow = steering.make_agent("psrl"), Slow()
    first = Runs("deepsea:4", agent, steps=50, seeds=1, watchers=[slow])
    with ThreadPoolExecutor(1) as pool:
        going = pool.submit(lambda: [one.rewards for one in first])
        try:
            assert slow.inside.wait(60)
            with pytest.raises(SteeringError, match=r"'psrl' is in another run.*make_agent"):
                run("deepsea:4", agent, steps=50, seeds=1)
        finally:
            slow.go.set()
        (rewards,) = going.result()
    # Nothing was spoilt, and the agent is free again.
    np.testing.assert_array_equal(rewards, run("deepsea:4", agent, steps=50, seeds=1).rewards[0])


def test_an_agent_is_free_again_after_a_run_that_failed():
    agent = steering.make_agent("psrl")

    class Broken:
        def look(self, agent, state, now):
            raise RuntimeError("no")

    from steering.runs.runner import Runs

    with pytest.raises(RuntimeError, match="no"):
        list(Runs("deepsea:4", agent, steps=10, seeds=1, watchers=[Broken()]))
    run("deepsea:4", agent, steps=10, seeds=1)
