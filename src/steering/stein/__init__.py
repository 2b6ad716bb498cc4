"""Stein discrepancies for discrete, conditional and Gaussian models: exact, fast, and safe on sparse
distributions.
"""

from __future__ import annotations

from steering.stein.discrepancy import discrepancy, discrepancy_from_counts, stein_kernel

__all__ = ["discrepancy", "discrepancy_from_counts", "stein_kernel"]
