"""Figures of runs are made and written as all figures are: `steering._figures`."""

from __future__ import annotations

from steering._figures import FORMATS, new_figure, save_figure

__all__ = ["FORMATS", "new_figure", "save_figure"]
