"""Conjugate beliefs: Dirichlet rows, Normal-Gamma rewards, and both together with priors that can be learned."""

from steering.beliefs.dirichlet import DirichletRows
from steering.beliefs.model import ModelBelief
from steering.beliefs.normal_gamma import NormalGammaCells

__all__ = ["DirichletRows", "ModelBelief", "NormalGammaCells"]
