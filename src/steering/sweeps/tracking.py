"""Export learning curves to TensorBoard; needs the extra `tracking`."""

from __future__ import annotations

import hashlib
from pathlib import Path

from steering.errors import InvalidOption, NotAvailable
from steering.sweeps.store.load import CURVES, Results
from steering.sweeps.store.selection import select


def write_tensorboard(results: Results, directory: str | Path) -> int:
    """Write one TensorBoard run for each cell, with reward and regrets as scalars; returns the number of runs.

    Cells are chosen as for tables and figures (see `selection`). TensorBoard draws all event files of a place, so that
    a second export into it would double every curve: a place that is not empty is refused.
    """
    if Path(directory).exists() and (not Path(directory).is_dir() or any(Path(directory).iterdir())):
        raise InvalidOption(f"{directory} is not an empty directory; remove it or give another.")
    try:
        from tensorboardX import SummaryWriter
    except ImportError:
        raise NotAvailable("this needs tensorboardX; install it with: pip install 'steering-rl[tracking]'") from None
    runs = 0
    curves = results.curves
    for _, part in curves[curves["cell"].isin(select(results).finals.index)].groupby("cell"):
        first = part.iloc[0]
        name = f"{first['environment']}/{first['agent']}/seed-{first['seed']}-steps-{first['steps']}"
        writer = SummaryWriter(logdir=str(Path(directory) / _safe(name)))
        for row in part.itertuples():
            for curve in CURVES:
                value = getattr(row, curve)
                if value == value:
                    writer.add_scalar(curve, value, row.step)
        writer.close()
        runs += 1
    return runs


def _safe(name: str) -> str:
    """A folder name inside the target, whatever the texts of a stranger's results hold."""
    plain = "".join(c if c.isalnum() or c in "-_=." else "_" for c in name).strip(".")
    return f"{plain[:120]}-{hashlib.blake2b(name.encode(), digest_size=3).hexdigest()}"
