"""A value's dtype, shape and structure as text, its tensors, and what contradicts a fact."""

from __future__ import annotations

import functools
from collections.abc import Iterator

import numpy as np
import onnx_ir as ir

from irfuzz.execute.run_types import Value
from irfuzz.facts import Fact, OpaqueFact, OptionalFact, SequenceFact, TensorFact

_TEXT = np.dtype(object)


@functools.cache
def numpy_dtype(dtype: ir.DataType) -> np.dtype:
    """The dtype in which targets hand over tensors of an ONNX element type (strings as objects).

    Types that numpy lacks, such as bfloat16, are those of ml_dtypes. An undefined type counts as a string.
    """
    if dtype in (ir.DataType.STRING, ir.DataType.UNDEFINED):
        return _TEXT
    return np.dtype(dtype.numpy())


def dtype_of(value: Value) -> str:
    """``"float32"``; of a sequence the dtypes of its elements, each once: ``"sequence of float32/int64"``.

    ``None``, which is an optional without a value, is ``"nothing"``, and text of every kind ``"string"``.
    """
    if value is None:
        return "nothing"
    if isinstance(value, list):
        return f"sequence of {'/'.join(sorted({dtype_of(v) for v in value}))}"
    return "string" if value.dtype.kind in "OUS" else value.dtype.name


def shape_of(value: Value) -> str:
    """``"[2,3]"``; of a sequence the shapes of its elements in order: ``"sequence([2,3], [4])"``.

    ``None``, which is an optional without a value, is ``"nothing"``; a scalar is ``"[]"``.
    """
    if value is None:
        return "nothing"
    if isinstance(value, list):
        return f"sequence({', '.join(shape_of(v) for v in value)})"
    return f"[{','.join(map(str, value.shape))}]"


def describe(value: Value) -> str:
    """Dtype, shape and structure: equal texts are comparable values.

    Returns:
        Such as ``"float32[2,3]"``, ``"sequence(float32[2], int64[])"`` or ``"nothing"`` for ``None``.
    """
    if isinstance(value, list):
        return f"sequence({', '.join(describe(v) for v in value)})"
    return dtype_of(value) + ("" if value is None else shape_of(value))


def leaves_of(label: str, value: Value) -> Iterator[tuple[str, np.ndarray]]:
    """The tensors in a value, with their places.

    Args:
        label: of the value; places are appended, as in ``y[2][0]``.
        value: an array, a list of values or ``None``.

    Returns:
        One pair for an array, those of each item for a list, in order, and none for ``None``.
    """
    if isinstance(value, list):
        for index, item in enumerate(value):
            yield from leaves_of(f"{label}[{index}]", item)
    elif value is not None:
        yield label, value


def contradictions(value: Value, fact: Fact | None) -> tuple[str, str]:
    """What dtype and what shape ``fact`` demands instead of what ``value`` has; empty if they fit.

    Args:
        value: what a target gave.
        fact: what inference says; ``None`` and an opaque one demand nothing.

    Returns:
        Two texts, dtype and shape. If the structure is wrong the second says ``a sequence`` or ``a tensor``.
    """
    if fact is None or isinstance(fact, OpaqueFact):
        return "", ""
    if isinstance(fact, OptionalFact):
        return ("", "") if value is None else contradictions(value, fact.elem)
    if isinstance(fact, SequenceFact):
        if not isinstance(value, list):
            return "", "a sequence"
        found = [contradictions(v, fact.elem) for v in value]
        return next((d for d, _ in found if d), ""), next((s for _, s in found if s), "")
    if not isinstance(value, np.ndarray):
        return "", "a tensor"
    return _dtype_conflict(value, fact), _shape_conflict(value, fact)


def _dtype_conflict(value: np.ndarray, fact: TensorFact) -> str:
    if fact.dtype is ir.DataType.UNDEFINED:
        return ""
    expected = numpy_dtype(fact.dtype)
    if value.dtype == expected or (expected == _TEXT and value.dtype.kind in "US"):
        return ""
    return "string" if expected == _TEXT else expected.name


def _shape_conflict(value: np.ndarray, fact: TensorFact) -> str:
    if fact.shape is None:
        return ""
    fits = len(fact.shape) == value.ndim and all(
        type(d) is not int or d == n for d, n in zip(fact.shape, value.shape, strict=True)
    )
    return "" if fits else f"[{','.join('?' if d is None else str(d) for d in fact.shape)}]"
