"""The paper, reproduced: every figure, theory checks, and a verdict on every empirical claim, by one command.

`reproduce` runs what is missing through the sweep engine, draws the figures and writes a report; `verdicts` judges the
claims again from the tables that it published; `run_study` answers a question of ours. A *chapter* is one figure, one
group of theory checks or one study: a folder of `chapters/` and a line in `contents`. All verdicts are made in `rule`.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from steering.paper.run import Reproduction, reproduce, verdicts
    from steering.paper.study import run_study

__all__ = ["Reproduction", "reproduce", "run_study", "verdicts"]


def __getattr__(name: str) -> Any:
    if name in __all__:
        module = "study" if name == "run_study" else "run"
        return getattr(importlib.import_module(f"steering.paper.{module}"), name)
    raise AttributeError(f"module 'steering.paper' has no attribute '{name}'")
