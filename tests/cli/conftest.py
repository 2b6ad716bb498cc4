"""Tables of the tests are as wide as in a pipe, whatever the terminal that runs them says."""

from __future__ import annotations

import pytest

from steering.cli import common


@pytest.fixture(autouse=True)
def wide(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(common.out, "width", common.PIPE_WIDTH)
