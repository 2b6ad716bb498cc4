"""Figures of runs are made and written as all figures are: `steering._figures`."""

from __future__ import annotations

from steering._figures import FORMATS, figure_format, new_figure, save_figure

__all__ = ["FORMATS", "figure_format", "new_figure", "save_figure"]
