"""The version of the package, in one place."""

__version__ = "0.1.0"

REVISION = 10
"""Revision of the numbers: raised whenever a change alters the numbers of any run. It is part of the key of every cell,
so that a results directory never takes runs of an older algorithm for those of this one."""
