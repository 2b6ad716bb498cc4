"""Stein discrepancies for discrete, conditional and Gaussian models: exact, fast, safe on sparse rows."""

from __future__ import annotations

from steering.stein.discrepancy import discrepancy, discrepancy_from_counts, stein_kernel
from steering.stein.posterior import posterior_information, posterior_information_rows

__all__ = [
    "discrepancy",
    "discrepancy_from_counts",
    "posterior_information",
    "posterior_information_rows",
    "stein_kernel",
]
