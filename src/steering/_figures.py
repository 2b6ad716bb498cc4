"""Write figures to files whose bytes depend on what is drawn only."""

from __future__ import annotations

import io
from pathlib import Path

import matplotlib as mpl
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from steering._files import write_atomically
from steering.errors import NotAvailable

FORMATS = ("png", "svg", "pdf")


class Sheet(Figure):
    """A figure that a notebook shows by itself, whether or not pyplot was imported there."""

    def _repr_png_(self) -> bytes:
        content = io.BytesIO()
        self.savefig(content, format="png", dpi=100)
        return content.getvalue()


def new_figure(width: float = 7.2, height: float = 4.4) -> Figure:
    """An empty figure that draws off screen."""
    figure = Sheet(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def figure_format(path: str | Path) -> str:
    """The format that the ending of a file says, or a refusal."""
    kind = Path(path).suffix.lstrip(".").lower()
    if kind not in FORMATS:
        raise NotAvailable(f"figures cannot be written as '{Path(path).suffix}'; use .png, .svg or .pdf.")
    return kind


def save_figure(figure: Figure, path: str | Path) -> Path:
    """Write a figure, whole or not at all; the ending says the format (png, svg, pdf)."""
    target, kind = Path(path), figure_format(path)
    # No date and no random ids in the file: the same results give the same bytes.
    metadata = {"pdf": {"CreationDate": None}, "svg": {"Date": None}}.get(kind, {})
    content = io.BytesIO()
    with mpl.rc_context({"svg.hashsalt": "steering"}):
        figure.savefig(content, format=kind, dpi=150, metadata=metadata)
    write_atomically(target, content.getvalue())
    return target
