"""Where cells run: in this process, in local processes, or on the machines of a dask cluster.

All of them are one small interface, `Executor`, and give the same results.
"""

from steering.sweeps.executors.base import Executor, Limits, Setup, check_choice, make_executor, make_setup

__all__ = ["Executor", "Limits", "Setup", "check_choice", "make_executor", "make_setup"]
