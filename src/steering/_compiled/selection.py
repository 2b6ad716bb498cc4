"""Compiled choice of samples for a dictionary (`steering.stein.dictionary`)."""

from __future__ import annotations

import numpy as np

from steering._compiled._jit import jit


@jit
def select_batches(cell, batch, lines, weights, rows, images, own, sums):
    """Of each batch the sample with the least ``kappa + 2 sim``; see `steering.stein.dictionary`.

    The same operations in the same order as `Dictionary.select` one by one, dot product of BLAS included: ties between
    samples that are alike are decided by the last digit, and must be decided alike.

    Parameters
    ----------
    cell : int64 (n,)
        Which of the m distinct samples each one is.
    batch : int
        Size of a batch.
    lines : int64 (m, k)
        Lines of `sums` that each distinct sample is part of.
    weights : float64 (k,)
        Weight of each of these lines.
    rows, images : float64 (m, S)
        Row of T, and the base kernel applied to it.
    own : float64 (m,)
        Similarity of each with itself.
    sums : float64 (lines, S)
        Changed in place by what is selected.

    Returns
    -------
    int64 (ceil(n / batch),), float
        Places of the selected samples, and the largest similarity seen in absolute value (infinite or NaN if one is).
    """
    n = cell.shape[0]
    chosen = np.empty((n + batch - 1) // batch, dtype=np.int64)
    near = np.empty(rows.shape[1])
    largest = 0.0
    for b in range(chosen.shape[0]):
        least = np.inf
        chosen[b] = b * batch
        for i in range(b * batch, min((b + 1) * batch, n)):
            c = cell[i]
            near[:] = 0.0
            for k in range(weights.shape[0]):
                line = lines[c, k]
                for z in range(near.shape[0]):
                    near[z] += weights[k] * sums[line, z]
            similar = np.dot(images[c], near)
            if not abs(similar + own[c]) <= largest:
                largest = abs(similar + own[c])
                if not largest < np.inf:
                    return chosen, largest
            if own[c] + 2.0 * similar < least:
                least = own[c] + 2.0 * similar
                chosen[b] = i
        for k in range(weights.shape[0]):
            for z in range(near.shape[0]):
                sums[lines[cell[chosen[b]], k], z] += rows[cell[chosen[b]], z]
    return chosen, largest
