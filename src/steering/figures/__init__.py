"""Figures, each split in two: `data`, a table that can be checked, and `draw`, which only draws it."""
