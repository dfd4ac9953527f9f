# pyright: basic
"""Counts of n-grams."""

from __future__ import annotations

import numpy as np


def tfidf(x, grams, size, skips, dtype, weights=None, binary=0):
    """ONNX TfIdfVectorizer of (tokens) or (rows, tokens): how often each n-gram is found, at its place of ``size``.

    ``grams`` are places and tokens; up to ``skips`` tokens may lie between two of an n-gram's, each time as many.
    """
    rows = []
    for row in x.reshape((-1, x.shape[-1])).tolist():
        counts = [0] * size
        for place, gram in grams:
            for step in range(1, skips + 2 if len(gram) > 1 else 2):
                starts = range(len(row) - step * (len(gram) - 1))
                counts[place] += sum(tuple(row[s : s + step * len(gram) : step]) == gram for s in starts)
        rows.append(counts)
    result = np.array(rows, dtype).reshape((*x.shape[:-1], size))
    result = (result > 0).astype(dtype) if binary else result
    return result if weights is None else result * np.array(weights, dtype)
