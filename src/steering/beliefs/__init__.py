"""Conjugate beliefs: Dirichlet rows, Normal-Gamma rewards, and both together with priors that can be learned."""

from typing import Any

from steering._checks import choose
from steering.beliefs.base import Belief
from steering.beliefs.dirichlet import DirichletRows
from steering.beliefs.grouped import SMALL_ENTRIES, GroupedRows, Rows
from steering.beliefs.model import ModelBelief
from steering.beliefs.normal_gamma import NormalGammaCells
from steering.beliefs.support import SparseBelief, draws_are_dense

DENSE_ENTRIES = 2**15
"""Entries S A S up to which a belief is dense unless something else is asked for."""

FORMS = ("auto", "dense", "sparse")


def make_belief(n_states: int, n_actions: int, form: str = "auto", *, draws: bool = False, **options: Any) -> Belief:
    """A belief about an MDP in the form that suits its size, or in the one that is asked for.

    Parameters
    ----------
    n_states, n_actions
        Size of the MDP.
    form
        "auto" (dense up to `DENSE_ENTRIES` entries S A S), "dense" or "sparse".
    draws
        Whether models will be drawn at every plan. With a fixed concentration above 0.05 draws fill whole tables, so
        that "auto" is dense while these are not large.
    options
        As for `Belief`: eta, normal_gamma, concentration, reward_scale.
    """
    choose("belief", form, FORMS)
    entries = n_states * n_actions * n_states
    most = SMALL_ENTRIES if draws and draws_are_dense(**options) else DENSE_ENTRIES
    dense = form == "dense" or (form == "auto" and entries <= most)
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
