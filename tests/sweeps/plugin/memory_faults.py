"""Allocations that fail in workers, once or always, at a place that the environment variables name; see test_memory."""

import os
import sys

from steering.runs import runner
from steering.sweeps import compute
from steering.sweeps.store import schema

PLACES = {
    "receive": (compute.json, "loads"),
    "environment": (compute, "make_env"),
    "agent": (compute, "make_agent"),
    "run": (runner.Runs, "_one"),
    "rows": (schema, "rows_of"),
    "shard": (schema, "to_shards"),
    "send": (compute.Outcome, "pack"),
}
HERE = os.getpid()


def failing(function, marker):
    """The function, which first fails: in every call, or once in all processes if there is a marker."""

    def call(*arguments, **options):
        if os.getpid() == HERE:  # the nursery, which warms up
            return function(*arguments, **options)
        if marker:
            try:
                os.close(os.open(marker, os.O_WRONLY | os.O_CREAT | os.O_EXCL))
            except FileExistsError:
                return function(*arguments, **options)
        raise MemoryError("no room")

    return call


main = getattr(sys.modules["__main__"], "__spec__", None)
if "MEMORY_FAULT" in os.environ and main is not None and main.name.endswith("nursery"):
    module, name = PLACES[os.environ["MEMORY_FAULT"]]
    setattr(module, name, failing(getattr(module, name), os.environ.get("MEMORY_MARKER")))
