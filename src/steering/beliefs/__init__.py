"""Conjugate beliefs: Dirichlet rows, Normal-Gamma rewards, and both together with priors that can be learned."""

from typing import Any

from steering._checks import choose
from steering.beliefs.base import Belief
from steering.beliefs.dirichlet import DirichletRows
from steering.beliefs.grouped import GroupedRows, Rows
from steering.beliefs.model import ModelBelief
from steering.beliefs.normal_gamma import NormalGammaCells
from steering.beliefs.support import SparseBelief

DENSE_ENTRIES = 2**15
"""Entries S A S up to which a belief is dense unless something else is asked for."""

FORMS = ("auto", "dense", "sparse")


def make_belief(n_states: int, n_actions: int, form: str = "auto", **options: Any) -> Belief:
    """A belief about an MDP in the form that suits its size, or in the one that is asked for.

    Parameters
    ----------
    n_states, n_actions
        Size of the MDP.
    form
        "auto" (dense up to `DENSE_ENTRIES` entries S A S), "dense" or "sparse".
    options
        As for `Belief`: eta, normal_gamma, concentration, reward_scale, evenness.
    """
    choose("belief", form, FORMS)
    entries = n_states * n_actions * n_states
    dense = form == "dense" or (form == "auto" and entries <= DENSE_ENTRIES)
    return (ModelBelief if dense else SparseBelief)(n_states, n_actions, **options)


__all__ = [
    "Belief",
    "DirichletRows",
    "GroupedRows",
    "ModelBelief",
    "NormalGammaCells",
    "Rows",
    "SparseBelief",
    "make_belief",
]
