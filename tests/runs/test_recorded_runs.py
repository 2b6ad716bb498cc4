"""A change that moves the numbers of a run raises REVISION; this notices when that was forgotten."""

import json

import pytest
from recorded_runs import AGENTS, PLACE, numbers

from steering._version import REVISION

RECORDED = json.loads(PLACE.read_text())


def test_the_record_is_of_this_revision_and_of_all_agents() -> None:
    assert RECORDED["revision"] == REVISION
    assert sorted(RECORDED["runs"]) == sorted(AGENTS)


@pytest.mark.parametrize("agent", AGENTS)
def test_numbers_are_those_of_this_revision(agent: str) -> None:
    assert numbers(agent) == RECORDED["runs"][agent], (
        "the numbers of runs moved: raise REVISION in _version.py and record them with "
        "`python tests/support/recorded_runs.py`, or undo the change"
    )
