"""The library stands alone: what importing it loads, and that its public names are what it says."""

from __future__ import annotations

import subprocess
import sys

import steering.stein as stein


def test_import_loads_no_heavy_package() -> None:
    code = (
        "import sys, steering.stein; "
        "print([m for m in ('numba', 'gymnasium', 'pandas', 'matplotlib', 'typer', 'pyarrow') if m in"
        " sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_every_public_name_exists_and_is_documented() -> None:
    assert stein.__all__ == sorted(stein.__all__)
    for name in stein.__all__:
        assert (getattr(stein, name).__doc__ or "").strip(), name
