"""The paper, reproduced: every figure, theory checks, and a verdict on every empirical claim, by one command.

`reproduce` runs what is missing through the sweep engine, draws the figures and writes a report. A *chapter* is one
figure or one group of theory checks (`figures/`, one file each); a *claim* gets its verdict by one rule
(`claims/rule.py`).
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from steering.paper.run import Reproduction, reproduce

__all__ = ["Reproduction", "reproduce"]


def __getattr__(name: str) -> Any:
    if name in __all__:
        return getattr(importlib.import_module("steering.paper.run"), name)
    raise AttributeError(f"module 'steering.paper' has no attribute '{name}'")
