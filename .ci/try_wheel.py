"""Try the wheel of a directory as a stranger would: a new environment without the dev extras, an empty folder.

A run, a sweep and the Stein library work, and a command that needs an extra names the command that installs it.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

ROOT = Path(__file__).parents[1]
SWEEP = 'environments = ["deepsea:4"]\nagents = ["psrl", "steering"]\nsteps = 50\nseeds = 3\n'
LIBRARY = """
import pathlib, steering
from steering import stein
assert pathlib.Path(steering.__file__).is_relative_to(pathlib.Path(r"{venv}")), steering.__file__
assert (pathlib.Path(steering.__file__).parent / "py.typed").exists()
assert stein.discrepancy([0.5, 0.5], [0.5, 0.5]) < 1e-12 < stein.discrepancy([0.9, 0.1], [0.5, 0.5])
assert len(steering.load("out").finals) == 6
steering.load("out").to_xarray()
"""


def main() -> None:
    """Install the one wheel of the directory given, and use it."""
    (wheel,) = Path(sys.argv[1]).resolve().glob("*.whl")
    with tempfile.TemporaryDirectory() as place:
        try_wheel(wheel, Path(place))
    print(f"{wheel.name}: run, sweep and the Stein library work without extras; missing extras name their command")


def try_wheel(wheel: Path, place: Path) -> None:
    """Install the wheel under `place` and use it there."""
    venv.create(place / "venv", with_pip=True)
    bin_ = place / "venv" / "bin"
    environment = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "VIRTUAL_ENV", "NUMBA_CACHE_DIR")}
    environment |= {"XDG_CACHE_HOME": str(place / "cache"), "COLUMNS": "200"}
    folder = place / "folder"
    folder.mkdir()
    (folder / "sweep.toml").write_text(SWEEP, encoding="utf-8")

    def call(*command: str | Path, code: int = 0, says: str = "") -> None:
        print(Path(command[0]).name, *(str(word).strip().partition("\n")[0] for word in command[1:]), flush=True)
        done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
        shown = done.stdout + done.stderr
        if done.returncode != code or says not in " ".join(shown.split()):
            sys.exit(f"{' '.join(map(str, command))}: exit code {done.returncode} (wanted: {code}, '{says}')\n{shown}")

    constraints = str(ROOT / "constraints.txt")
    call(bin_ / "pip", "install", "--quiet", "--disable-pip-version-check", "-c", constraints, str(wheel))
    call(bin_ / "pip", "check", says="No broken requirements")
    steering = bin_ / "steering"
    call(steering, "run", "deepsea:4", "--agent", "steering", "--agent", "psrl", "--steps", "50", "--seeds", "2")
    call(steering, "sweep", "sweep.toml", "--out", "out", "--workers", "2", says="6 of 6 cells done")
    call(steering, "summary", "out")
    library = LIBRARY.format(venv=place / "venv")
    call(bin_ / "python", "-c", library, code=1, says="pip install 'steering-rl[xarray]'")
    call(bin_ / "python", "-c", library.replace('steering.load("out").to_xarray()', ""))
    tensorboard = ("export", "out", "runs", "--format", "tensorboard")
    call(steering, *tensorboard, code=2, says="pip install 'steering-rl[tracking]'")
    dask = ("sweep", "sweep.toml", "--out", "other", "--scheduler", "local")
    call(steering, *dask, code=2, says="pip install 'steering-rl[dask]'")


if __name__ == "__main__":
    main()
