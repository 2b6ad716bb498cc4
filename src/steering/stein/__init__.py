"""Stein discrepancies for discrete, conditional and Gaussian models: exact, fast, safe on sparse rows.

Usable alone: importing it loads no other packages than NumPy and SciPy. Start with `discrepancy` and
`discrepancy_from_counts`; the mathematics and the conditions under which a discrepancy is zero only for p = q are in
`steering.stein.operators`, and with figures in ``docs/stein.md``.
"""

from __future__ import annotations

from steering.stein.continuous import ksd, ksd_gaussian, normal_gamma_information
from steering.stein.dictionary import Dictionary
from steering.stein.discrepancy import discrepancy, discrepancy_from_counts, stein_kernel
from steering.stein.errors import (
    DivergentExpectation,
    InfiniteVarianceWarning,
    InvalidDistribution,
    RareOutcomeWarning,
    SteinSupportWarning,
)
from steering.stein.fit import FitTest, goodness_of_fit, transition_goodness_of_fit
from steering.stein.joint import joint_discrepancy, joint_population
from steering.stein.kernels import GramKernel, TwoParameter, get_kernel, kernel_names, register_kernel
from steering.stein.operators import Operator, Reversible, get_operator, operator_names, register_operator
from steering.stein.posterior import posterior_information, posterior_information_rows
from steering.stein.sparse import SparseRows, discrepancy_sparse, sparse_rows
from steering.stein.table_fit import independence_test, table_goodness_of_fit
from steering.stein.thinning import thin
from steering.stein.value_kernels import MixedKernel, ValueKernel
from steering.stein.vector_samples import vector_discrepancy_from_samples
from steering.stein.vectors import hamming_graph, vector_discrepancy, vector_discrepancy_from_counts

__all__ = [
    "Dictionary",
    "DivergentExpectation",
    "FitTest",
    "GramKernel",
    "InfiniteVarianceWarning",
    "InvalidDistribution",
    "MixedKernel",
    "Operator",
    "RareOutcomeWarning",
    "Reversible",
    "SparseRows",
    "SteinSupportWarning",
    "TwoParameter",
    "ValueKernel",
    "discrepancy",
    "discrepancy_from_counts",
    "discrepancy_sparse",
    "get_kernel",
    "get_operator",
    "goodness_of_fit",
    "hamming_graph",
    "independence_test",
    "joint_discrepancy",
    "joint_population",
    "kernel_names",
    "ksd",
    "ksd_gaussian",
    "normal_gamma_information",
    "operator_names",
    "posterior_information",
    "posterior_information_rows",
    "register_kernel",
    "register_operator",
    "sparse_rows",
    "stein_kernel",
    "table_goodness_of_fit",
    "thin",
    "transition_goodness_of_fit",
    "vector_discrepancy",
    "vector_discrepancy_from_counts",
    "vector_discrepancy_from_samples",
]
