"""One estimate of memory before anything large is allocated: a sentence instead of a MemoryError."""

from __future__ import annotations

import os

from steering.errors import TooLarge

SHARE = 0.9
"""Part of the free memory that one object may take; the rest is for what is made on the way."""


def available() -> int:
    """Bytes that can still be allocated on this machine (all of its memory where the system does not say)."""
    try:
        with open("/proc/meminfo", encoding="ascii") as file:
            for line in file:
                if line.startswith("MemAvailable:"):
                    return int(line.split()[1]) * 1024
    except (OSError, ValueError):
        pass
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):
        return 2**62


def require(needed: float, what: str, advice: str) -> None:
    """Refuse in one sentence what does not fit into memory; asked before it is allocated.

    Parameters
    ----------
    needed
        Bytes.
    what
        What needs them, with a verb in the plural or singular left out: "a dense table of 100000 states".
    advice
        What to do instead, without a full stop.
    """
    free = available()
    if needed > SHARE * free:
        raise TooLarge(f"{what} needs {size_text(needed)} of memory, and {size_text(free)} are free; {advice}.")


def size_text(size: float) -> str:
    """Write a number of bytes for people."""
    for unit in ("bytes", "kB", "MB", "GB"):
        if size < 1000:
            return f"{size:.3g} {unit}"
        size /= 1000
    return f"{size:,.1f} TB"
