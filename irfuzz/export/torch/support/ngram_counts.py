# pyright: basic
"""Counts of n-grams of tokens."""

from __future__ import annotations

import torch


def tfidf(x, grams, size, skips, dtype, weights=None, binary=0):
    """ONNX TfIdfVectorizer of (tokens) or (rows, tokens): how often each n-gram is found, at its place of ``size``.

    ``grams`` are places and tokens; up to ``skips`` tokens may lie between two of an n-gram's, each time as many.
    Counts are of ``dtype``.
    """
    rows = (x if x.dim() == 2 else x.reshape(1, -1)).to(torch.int64)
    columns = [torch.zeros(rows.shape[0], dtype=dtype)] * size
    for place, gram in grams:
        count = columns[place]
        for step in range(1, 2 + (skips if len(gram) > 1 else 0)):
            room = rows.shape[1] - step * (len(gram) - 1)
            if room > 0:
                hits = [rows[:, i * step : i * step + room] == token for i, token in enumerate(gram)]
                count = count + torch.stack(hits).all(0).sum(1)
        columns[place] = count
    result = torch.stack(columns, 1)
    if binary:
        result = (result > 0).to(dtype)
    if weights is not None:
        result = result * torch.tensor(weights, dtype=dtype)
    return result if x.dim() == 2 else result.reshape(-1)
