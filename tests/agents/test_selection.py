"""The agent's selection of a whole block of samples is that of the paper, batch by batch."""

import numpy as np
import pytest

from steering import make_agent, run
from steering.agents.stein_information import positive_rows
from steering.stein import Dictionary


@pytest.mark.parametrize("batch", [1, 2, 3])
@pytest.mark.parametrize("preset", ["paper", "paper-sound"])
@pytest.mark.parametrize("env", ["deepsea:9", "priormdp:4,2"])
def test_a_block_is_selected_batch_by_batch(env: str, preset: str, batch: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Against `Dictionary.select` under the model of the last plan; early models are full of ties."""
    monkeypatch.setattr("steering.agents.steering.BATCH", batch)
    for steps in (20, 300):
        agent = make_agent("steering", preset=preset)
        run(env, agent, steps=steps, seeds=1)
        agent.plan()
        assert agent.dictionary is not None
        slow = Dictionary(positive_rows(agent.belief.P.copy()), operator=agent.options.operator)
        slow.counts[:] = agent.dictionary.counts
        slow.refresh()
        rng = np.random.default_rng(steps)
        samples = np.stack([rng.integers(n, size=50) for n in slow.q.shape])
        rows = [tuple(int(i) for i in sample) for sample in samples.T]
        chosen = [begin + slow.select(rows[begin : begin + batch]) for begin in range(0, 50, batch)]
        learnt = agent.belief.counts.copy()
        for state, action, successor in rows:
            agent.observe(state, action, 0.0, successor)
        agent.plan()
        np.testing.assert_array_equal(agent.dictionary.counts, slow.counts)
        kept = chosen if agent.options.selection == "posterior" else range(50)
        np.add.at(learnt, tuple(samples[:, kept]), 1.0)
        np.testing.assert_array_equal(agent.belief.counts, learnt)
