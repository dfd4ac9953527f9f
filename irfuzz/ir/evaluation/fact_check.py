"""How a fact is wrong, given the value that a run really gave."""

from __future__ import annotations

from typing import Any

import numpy as np

from irfuzz.facts import Fact, OptionalFact, SequenceFact, TensorFact
from irfuzz.ir.fact_type_conversion import render


def contradiction(fact: Fact, value: Any) -> str | None:
    """Why ``fact`` does not hold for ``value``.

    Args:
        fact: what inference said.
        value: array, list (sequence) or ``None`` (empty optional), as a target gave it.

    Returns:
        What was expected and what came, or ``None`` if the fact holds. Named sizes hold for every size.
    """
    if isinstance(fact, OptionalFact):
        return None if value is None or fact.elem is None else contradiction(fact.elem, value)
    if isinstance(fact, SequenceFact):
        if not isinstance(value, list):
            return f"expected a sequence, got {type(value).__name__}"
        if fact.length is not None and len(value) != fact.length:
            return f"expected a sequence of {fact.length}, got {len(value)} elements"
        found = (contradiction(fact.elem, item) for item in value) if fact.elem is not None else iter(())
        return next((reason for reason in found if reason is not None), None)
    if not isinstance(fact, TensorFact):
        return None
    if value is None or isinstance(value, list):
        return f"expected a tensor, got {'nothing' if value is None else 'a sequence'}"
    return _tensor(fact, np.asarray(value))


def _tensor(fact: TensorFact, array: np.ndarray) -> str | None:
    if fact.dtype.is_string() != (array.dtype.kind in "OUS"):
        return f"expected {fact.dtype.name}, got {array.dtype}"
    if not fact.dtype.is_string() and array.dtype != fact.dtype.numpy():
        return f"expected {fact.dtype.name}, got {array.dtype}"
    if fact.shape is not None and (
        len(fact.shape) != array.ndim
        or any(type(d) is int and d != s for d, s in zip(fact.shape, array.shape, strict=True))
    ):
        return f"expected shape {render(fact.shape)}, got {list(array.shape)}"
    if fact.value is not None:
        for place, (known, element) in enumerate(zip(fact.value, array.ravel().tolist(), strict=True)):
            # A name stands for whatever size it has in this run; NaN equals nothing.
            if known is not None and not isinstance(known, str) and known == known and known != element:
                return f"expected element {place} to be {known}, got {element}"
    if array.dtype.kind in "fiub" and array.size and (fact.low is not None or fact.high is not None):
        numbers = array.astype(np.float64)
        numbers = numbers[~np.isnan(numbers)]
        if numbers.size and fact.low is not None and numbers.min() < fact.low:
            return f"expected nothing below {fact.low}, got {numbers.min()}"
        if numbers.size and fact.high is not None and numbers.max() > fact.high:
            return f"expected nothing above {fact.high}, got {numbers.max()}"
    return None
