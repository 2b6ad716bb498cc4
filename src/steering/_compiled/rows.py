"""Compiled passes over sparse rows: sorted keys to rows, and transitions given twice to one."""

from __future__ import annotations

import numpy as np

from steering._compiled._jit import jit


@jit
def merge_sorted(key, p, mean, std):
    """Merge equal keys (sorted) in place, with the mean and deviation of the mixture; returns how many are left."""
    n = key.shape[0]
    left = 0
    i = 0
    while i < n:
        j = i + 1
        total = p[i]
        while j < n and key[j] == key[i]:
            total += p[j]
            j += 1
        if j > i + 1:
            center = 0.0
            variance = 0.0
            if total > 0.0:
                for k in range(i, j):
                    center += p[k] / total * mean[k]
                for k in range(i, j):
                    variance += p[k] / total * (std[k] ** 2 + (mean[k] - center) ** 2)
            mean[left] = center
            std[left] = np.sqrt(variance)
        else:
            mean[left] = mean[i]
            std[left] = std[i]
        key[left] = key[i]
        p[left] = total
        left += 1
        i = j
    return left


@jit
def split_keys(key, p, S, pairs):
    """Successors and rows of sorted keys row * S + successor: (offsets, successors, sums of rows)."""
    n = key.shape[0]
    offsets = np.zeros(pairs + 1, np.int64)
    successors = np.empty(n, np.int32)
    sums = np.zeros(pairs)
    for k in range(n):
        row = key[k] // S
        successors[k] = key[k] - row * S
        offsets[row + 1] += 1
        sums[row] += p[k]
    for row in range(pairs):
        offsets[row + 1] += offsets[row]
    return offsets, successors, sums
