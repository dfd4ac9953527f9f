# pyright: basic
"""Counts of n-grams."""

from __future__ import annotations

import math

import numpy as np


def grams_of(pool, starts):
    """N-grams of a pool in which those of each length begin at one of ``starts``."""
    ends = (*starts[1:], len(pool))
    return [
        tuple(pool[at : at + n])
        for n, (first, last) in enumerate(zip(starts, ends, strict=True), 1)
        for at in range(first, last, n)
    ]


def tfidf(
    x, *, max_gram_length, max_skip_count, min_gram_length, mode, ngram_counts, ngram_indexes, pool_int64s, weights=None
):  # fmt: skip
    """ONNX TfIdfVectorizer of (tokens) or (rows, tokens): how often each n-gram of the pool is found, at its place.

    Up to ``max_skip_count`` tokens may lie between two of an n-gram's, each time as many. "The i-th element in weights
    is the weight of the i-th n-gram in pool" (TfIdfVectorizer-9).
    """
    size = max(ngram_indexes) + 1
    of_place = np.ones(size, np.float32) if weights is None or mode == "TF" else np.zeros(size, np.float32)
    if weights is not None and mode != "TF":
        of_place[list(ngram_indexes)] = weights
    rows = []
    for row in x.reshape((math.prod(x.shape[:-1]), x.shape[-1])).tolist():
        counts = [0] * size
        for place, gram in zip(ngram_indexes, grams_of(pool_int64s, ngram_counts), strict=True):
            most = max_skip_count + 2 if len(gram) > 1 else 2
            for step in range(1, most if min_gram_length <= len(gram) <= max_gram_length else 1):
                starts = range(len(row) - step * (len(gram) - 1))
                counts[place] += sum(tuple(row[s : s + step * len(gram) : step]) == gram for s in starts)
        rows.append(counts)
    result = np.array(rows, np.float32).reshape((*x.shape[:-1], size))
    return ((result > 0).astype(np.float32) if mode == "IDF" else result) * of_place
