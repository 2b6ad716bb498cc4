"""The estimate of `--dry-run`, on machines made of arithmetic: a clock that only trials move."""

import pytest

from steering.sweeps import estimate as module
from steering.sweeps.estimate import BUDGET_SECONDS, Measured, estimate, run_trial, start_seconds
from steering.sweeps.sweep_file import read_sweep

CORES = 2


@pytest.fixture(autouse=True)
def _two_cores(monkeypatch):
    monkeypatch.setattr(module.os, "sched_getaffinity", lambda pid: range(CORES))


class Machine:
    """Runs cells in made-up times: `cell(config, steps)` seconds each, `setup` once for a group."""

    def __init__(self, cell, setup=0.0, compiling=0.0):
        self.cell, self.setup, self.compiling = cell, setup, compiling
        self.now = 0.0
        self.lengths = []

    def clock(self):
        return self.now

    def trial(self, config, steps, anew):
        setup = self.setup if anew else 0.0
        self.lengths.append(steps)
        self.now += self.cell(config, steps) + setup + self.compiling
        self.compiling = 0.0
        return Measured(self.cell(config, steps), setup)

    def estimate(self, sweep, workers=2):
        plan = read_sweep(sweep).plan
        return estimate(plan, range(len(plan)), workers, trial=self.trial, clock=self.clock, start=lambda: 3.0)

    def truth(self, sweep):
        """Seconds of one core."""
        groups = read_sweep(sweep).plan.groups
        return sum(len(g.seeds) * self.cell(g.config, g.config["steps"]) for g in groups)


def sweep(steps=100_000, seeds=50, environments=("deepsea:4", "riverswim:3"), agents=("psrl", "q_learning")):
    return {"environments": list(environments), "agents": list(agents), "steps": steps, "seeds": seeds}


def test_a_steady_pace_is_found_exactly_whatever_starting_costs():
    machine = Machine(lambda config, steps: 0.5 + 1e-4 * steps, compiling=100.0)
    found = machine.estimate(sweep())
    assert found.work == pytest.approx(machine.truth(sweep()))
    assert found.seconds == pytest.approx(found.work / CORES)
    assert max(machine.lengths) < 100_000  # it was extrapolated
    assert (found.pairs, found.tried, found.whole, found.steps) == (4, 4, 0, max(machine.lengths))
    assert found.basis == f"from runs of 4 pairs of environment and agent over up to {found.steps} steps"


@pytest.mark.parametrize("power", [0.5, 0.7, 1.0, 1.1])
def test_a_pace_that_changes_is_found_within_a_factor_of_two(power):
    """An agent that plans less and less takes T^0.5, say; the time of 200 steps is 22 times too much for that."""
    machine = Machine(lambda config, steps: 2e-3 * steps**power)
    found, truth = machine.estimate(sweep()), machine.truth(sweep())
    assert 0.5 < found.work / truth < 2.0
    assert (2e-3 * 200**0.5 / 200 * 100_000) / (2e-3 * 100_000**0.5) > 20


def test_short_cells_are_run_in_their_whole_length():
    machine = Machine(lambda config, steps: 1e-3 * steps**0.5)
    found = machine.estimate(sweep(steps=3000))
    assert found.work == pytest.approx(machine.truth(sweep(steps=3000)))
    assert found.basis == "from runs of 4 pairs of environment and agent over their whole length"
    assert set(machine.lengths) == {100, 200, 400, 800, 1600, 3000}


def test_what_a_group_shares_is_counted_once_for_each_worker():
    machine = Machine(lambda config, steps: 0.1, setup=7.0)
    one = sweep(steps=100, seeds=100, environments=["deepsea:4"], agents=["psrl"])
    assert machine.estimate(one, workers=0).work == pytest.approx(100 * 0.1 + 7.0)
    assert machine.estimate(one).work == pytest.approx(100 * 0.1 + 2 * 7.0)
    single = sweep(steps=100, seeds=1, environments=["deepsea:4"], agents=["psrl"])
    assert machine.estimate(single).work == pytest.approx(0.1 + 7.0)
    assert machine.estimate(single).seconds == pytest.approx(7.1 + 3.0)  # one cell, one worker, and its start


def test_more_workers_than_cores_are_no_help():
    machine = Machine(lambda config, steps: 1e-3 * steps)
    assert machine.estimate(sweep(), workers=64).seconds == pytest.approx(machine.truth(sweep()) / CORES)


def test_many_pairs_share_the_time_and_stand_for_those_without_a_trial():
    sizes = [f"deepsea:{n}" for n in range(3, 103)]
    machine = Machine(lambda config, steps: 1.0 + 1e-3 * steps)
    found = machine.estimate(sweep(environments=sizes))
    assert machine.now < 4 * BUDGET_SECONDS
    assert 0 < found.tried < found.pairs == 200
    assert found.work == pytest.approx(machine.truth(sweep(environments=sizes)), rel=1e-6)
    assert f"{found.tried} of 200 pairs" in found.basis


def test_a_trial_that_fails_is_named_and_guessed():
    machine = Machine(lambda config, steps: 1e-3 * steps)
    usual = machine.trial

    def trial(config, steps, anew):
        return "it sank" if config["environment"] == "riverswim:3" else usual(config, steps, anew)

    machine.trial = trial
    found = machine.estimate(sweep())
    assert found.failed == [("riverswim:3 with psrl", "it sank"), ("riverswim:3 with q_learning", "it sank")]
    assert found.work == pytest.approx(machine.truth(sweep()))


def test_real_trials_and_a_real_start():
    plan = read_sweep(sweep(steps=200, seeds=2)).plan
    for group in plan.groups:
        measured = run_trial(group.config, 50, True)
        assert isinstance(measured, Measured)
        assert measured.cell > 0
        assert measured.setup > 0
    assert start_seconds(plan.groups, ()) > 0
    assert "sunk" in run_trial(read_sweep(_sinking()).plan.groups[0].config, 50, True)


def _sinking():
    import faulty_envs  # noqa: F401
    from engine_helpers import faulty

    return sweep(steps=200, seeds=1, environments=[faulty("crash")], agents=["q_learning"])
