"""Compiled functions of a Markov chain without decisions."""

from __future__ import annotations

import numpy as np

from steering._compiled._jit import jit
from steering._types import Floats


@jit
def stationary_distribution(P: Floats) -> Floats:
    """Stationary distribution of an irreducible chain, shape (n,), by state reduction without subtractions.

    Removing the last state k sends what entered it on to where it leads, P_ij + P_ik P_kj / sum_{l<k} P_kl;
    going back, the weight of k is the flow into it over that sum (Grassmann, Taksar & Heyman 1985). The
    diagonal is never used.
    """
    n = P.shape[0]
    M = P.copy()
    for k in range(n - 1, 0, -1):
        leaving = 0.0
        for j in range(k):
            leaving += M[k, j]
        for i in range(k):
            if M[i, k] != 0.0:
                share = M[i, k] / leaving
                M[i, k] = share
                for j in range(k):
                    M[i, j] += share * M[k, j]
    weights = np.ones(n)
    for k in range(1, n):
        total = 0.0
        for i in range(k):
            total += weights[i] * M[i, k]
        weights[k] = total
        if total > 1e100:  # the weights of chains that climb can differ by more than the range of a float
            for i in range(k + 1):
                weights[i] /= total
    weights /= weights.sum()
    return weights
