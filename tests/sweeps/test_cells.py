"""Cells: keys, parts of a sweep, and what a key depends on."""

import subprocess
import sys

import numpy as np
import pytest

import steering
from steering.errors import InvalidOption
from steering.sweeps import cells
from steering.sweeps.cells import Part, parse_part
from steering.sweeps.sweep_file import read_sweep

BASE = {"environments": ["deepsea:4"], "agents": ["psrl"], "steps": 50, "seeds": 1}


def key(**changes):
    return read_sweep({**BASE, **changes}).plan.key(0).hex()


def test_the_key_is_the_same_in_another_process_with_other_hash_seed():
    code = f"from steering.sweeps.sweep_file import read_sweep; print(read_sweep({BASE!r}).plan.key(0).hex())"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == key()


def test_every_setting_changes_the_key():
    keys = [
        key(),
        key(environments=["deepsea:5"]),
        key(environments=["deepsea:4,discount=0.8"]),
        key(agents=["psrl:eta=2"]),
        key(steps=51),
        key(seeds=[1]),
        key(record={"points": 10}),
        key(record={"extra": ["value_gap"]}),
    ]
    assert len(set(keys)) == len(keys)
    assert key(agents=["psrl:eta=1.0,concentration=fixed"]) == key()


def test_another_revision_of_the_numbers_is_another_key(monkeypatch):
    old = key()
    monkeypatch.setattr(cells, "REVISION", cells.REVISION + 1)
    assert key() != old


def test_a_file_environment_is_keyed_by_its_content(tmp_path):
    from steering.mdp import io

    P = np.full((2, 2, 2), 0.5)
    path = tmp_path / "m.json"
    keys = []
    for reward in (0.0, 1.0):
        io.save(steering.TabularMDP(P, np.full((2, 2), reward)), path)
        keys.append(key(environments=[f"file:{path}"]))
    assert keys[0] != keys[1]


@pytest.mark.parametrize("of", [1, 2, 3, 7])
def test_parts_are_a_partition(of):
    parts = [{i for i in range(50) if i in Part(part, of)} for part in range(1, of + 1)]
    assert set.union(*parts) == set(range(50))
    assert sum(len(part) for part in parts) == 50


def slurm(index, count, first=None, last=None, step=None):
    """What SLURM tells a task of an array."""
    told = {"ID": index, "COUNT": count, "MIN": first, "MAX": last, "STEP": step}
    return {f"SLURM_ARRAY_TASK_{name}": str(value) for name, value in told.items() if value is not None}


@pytest.mark.parametrize(
    ("text", "environ", "expected"),
    [
        ("2/5", {}, (2, 5)),
        ("auto", slurm(3, 4), (4, 4)),
        ("auto", slurm(3, 3, 1, 3), (3, 3)),
        ("auto", slurm(5, 4, 1, 7, 2), (3, 4)),
        ("auto/8", {"JOB_COMPLETION_INDEX": "0"}, (1, 8)),
        ("auto/8", {"SLURM_ARRAY_TASK_ID": "7"}, (8, 8)),
        ("auto/16", slurm(3, 1, 3, 3), (4, 16)),  # one task submitted again: sbatch --array=3
        ("auto/16", slurm(9, 3, 1, 9), (10, 16)),  # some of them: sbatch --array=1,5,9
    ],
)
def test_parts_from_text_and_from_the_scheduler(text, environ, expected):
    assert parse_part(text, environ) == Part(*expected)


@pytest.mark.parametrize(
    ("text", "environ"),
    [("0/5", {}), ("6/5", {}), ("x", {}), ("1/", {}), ("auto", {}), ("auto", {"JOB_COMPLETION_INDEX": "1"}),
     ("auto", {"SLURM_ARRAY_TASK_ID": "3"}), ("auto/x", {"JOB_COMPLETION_INDEX": "1"}),
     ("auto", slurm(3, 1, 3, 3)), ("auto", slurm(1, 3, 1, 9)), ("auto", slurm(4, 4, 1, 7, 2)),
     ("auto/16", slurm(16, 16, 1, 16)), ("auto/16", {"JOB_COMPLETION_INDEX": "-1"})],
)  # fmt: skip
def test_parts_that_make_no_sense(text, environ):
    with pytest.raises(InvalidOption, match="part"):
        parse_part(text, environ)


@pytest.mark.parametrize(
    ("text", "environ", "says"),
    [
        ("auto/0", slurm(0, 1), "'auto/0'; the number of parts must be at least 1"),
        ("auto/-2", {"JOB_COMPLETION_INDEX": "0"}, "the number of parts must be at least 1"),
        ("auto/4", {"SLURM_ARRAY_TASK_ID": "x"}, "SLURM_ARRAY_TASK_ID is 'x', and --part auto needs a whole number"),
        ("auto/4", {"JOB_COMPLETION_INDEX": ""}, "JOB_COMPLETION_INDEX is '', and --part auto"),
        ("auto", slurm("x", 4), "SLURM_ARRAY_TASK_ID is 'x', and --part auto"),
        ("auto", slurm(1, "many"), "SLURM_ARRAY_TASK_COUNT is 'many', and --part auto"),
    ],
)
def test_what_is_wrong_with_a_part_is_said(text, environ, says):
    with pytest.raises(InvalidOption, match=says):
        parse_part(text, environ)
