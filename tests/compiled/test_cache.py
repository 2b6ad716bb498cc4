"""The cache of compiled functions: damage, full disks and foreign folders cost time and never a result."""

import errno
import importlib.util
import os
import subprocess
import sys
import warnings
from pathlib import Path

import pytest

from steering._compiled import _cache, _jit
from steering.errors import NoCacheWarning

SOURCE = "def twice(x):\n    return 2 * x\n"


@pytest.fixture
def fresh(tmp_path, monkeypatch):
    """A function that makes the compiled function as a new process would, with a cache of its own."""
    monkeypatch.setattr(_jit, "_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(_jit, "_REASON", None)
    monkeypatch.setattr(_cache, "_said", set())
    path = tmp_path / "mine.py"
    path.write_text(SOURCE)

    def make():
        spec = importlib.util.spec_from_file_location("mine", path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return _jit.jit(module.twice)

    return make


def files(tmp_path):
    return sorted(path for path in (tmp_path / "cache").rglob("*") if path.suffix in (".nbi", ".nbc"))


def test_what_was_kept_is_loaded(fresh, tmp_path):
    assert fresh()(3) == 6
    assert len(files(tmp_path)) == 2
    again = fresh()
    assert again(3) == 6
    assert again.stats.cache_hits


@pytest.mark.parametrize("damage", ["empty", "cut", "flipped", "foreign"])
@pytest.mark.parametrize("kind", [".nbi", ".nbc"])
def test_a_damaged_file_is_compiled_anew_once_with_one_line(damage, kind, fresh, tmp_path):
    assert fresh()(3) == 6
    (path,) = (one for one in files(tmp_path) if one.suffix == kind)
    whole = path.read_bytes()
    flipped = bytes([*whole[:50], whole[50] ^ 1, *whole[51:]])
    path.write_bytes({"empty": b"", "cut": whole[: len(whole) // 2], "flipped": flipped, "foreign": b"x" * 99}[damage])
    with pytest.warns(NoCacheWarning, match="was damaged; it is compiled anew") as caught:
        assert fresh()(3) == 6
    assert len(caught) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        mended = fresh()
        assert mended(3) == 6
    assert mended.stats.cache_hits


def test_a_full_disk_of_the_cache_touches_no_result(fresh, monkeypatch):
    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(_cache.os, "replace", full)
    with pytest.warns(NoCacheWarning, match="No space left on device"):
        assert fresh()(3) == 6


def test_folders_that_are_not_used(tmp_path, monkeypatch):
    assert _cache.usable(str(tmp_path / "new")) is None
    (tmp_path / "file").touch()
    assert _cache.usable(str(tmp_path / "file" / "x")) is not None
    (tmp_path / "open").mkdir()
    os.chmod(tmp_path / "open", 0o777)
    assert _cache.usable(str(tmp_path / "open")) == "everybody may write there"
    monkeypatch.setattr(_cache.os, "geteuid", lambda: os.getuid() + 1)
    assert _cache.usable(str(tmp_path / "new")) == "it belongs to somebody else"


def test_numbas_own_variable_keeps_the_check_against_stale_code(tmp_path):
    """The directory has the hash of the sources below the one that was given."""
    line = "from steering._compiled import _jit; print(_jit._CACHE_DIR)"
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", line], capture_output=True, text=True, env=environment, check=True)
    place = Path(done.stdout.strip())
    assert place.parent == tmp_path / "steering"
    assert place.name == Path(_jit._cache_directory()).name
