"""Which values of a program are constants, however they are spelled, and what the elements of the computed ones are.

A model writes a constant as an initializer, as a Constant node, as a ConstantOfShape, as arithmetic, casts and reshapes
of other constants, or as the DequantizeLinear of a stored tensor. All of these are the same in every run.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import onnx_ir as ir

from irfuzz.facts import TensorFact
from irfuzz.ir.subgraphs import reads_of
from irfuzz.ir.value import fact_of

if TYPE_CHECKING:
    from irfuzz.ir.program_view import ProgramView

Attrs: TypeAlias = "dict[str, Any]"
Fold: TypeAlias = "Callable[[Attrs, list[np.ndarray]], np.ndarray | None]"
"""From a node's attributes and inputs to its first output; ``None`` if it is not computed here."""

MAX_FOLDED = 1 << 16
"""Most elements of a tensor that is computed: what asks for elements asks for many tensors of a large model."""

MAX_DEPTH = 8
"""Longest chain of nodes that is computed; exporters write two or three."""


def computed_constants(program: ProgramView) -> set[ir.Value]:
    """Values of the main graph that nodes compute from constants alone, those of Constant nodes included.

    A weight that is drawn at random is among them: no input of the graph changes it.
    """
    graph = program.graph
    varying: set[ir.Value] = set(graph.inputs)
    found: set[ir.Value] = set()
    for node in graph:
        if varying.isdisjoint(reads_of(node)):
            found.update(node.outputs)
        else:
            varying.update(node.outputs)
    return found


def folded(program: ProgramView, value: ir.Value, depth: int = MAX_DEPTH) -> np.ndarray | None:
    """The elements of a value that few nodes compute exactly from constants; ``None`` for every other value.

    Moves, conversions and single roundings alone are computed, so that the elements are those of every runtime.
    """
    node = value.producer()
    if node is None or not depth or node.domain not in ("", "ai.onnx"):
        return None
    fold = FOLDS.get(node.op_type)
    fact = fact_of(value)
    if fold is None or not isinstance(fact, TensorFact) or value is not node.outputs[0]:
        return None
    size, dtype = fact.size(), fact.dtype
    if size is None or size > MAX_FOLDED or dtype not in _NUMBERS:
        return None
    arrays: list[np.ndarray] = []
    for given in node.inputs:
        if given is None or (known := fact_of(given)) is None or not _is_number(known):
            return None
        tensor = program.constant_of(given)
        array = folded(program, given, depth - 1) if tensor is None else tensor.numpy()
        if array is None:
            return None
        arrays.append(array)
    attrs = program.attrs(node)
    if len(attrs) != len(node.attributes):
        return None  # some are references to those of a function
    try:
        with np.errstate(all="ignore"):
            found = fold(attrs, arrays)
    except (ValueError, KeyError):
        return None  # a program that breaks a rule on purpose
    if found is None or found.dtype != dtype.numpy() or found.shape != fact.static_shape:
        return None
    return found


def _is_number(fact: object) -> bool:
    return isinstance(fact, TensorFact) and fact.dtype in _NUMBERS


_NUMBERS = frozenset(
    d
    for d in ir.DataType
    if d.name in {"FLOAT", "DOUBLE", "INT8", "INT16", "INT32", "INT64", "UINT8", "UINT16", "UINT32", "UINT64", "BOOL"}
)
"""Types that numpy computes with as every runtime does; half precision is computed in single by some."""


def _cast(attrs: Attrs, given: list[np.ndarray]) -> np.ndarray | None:
    """To a wider type, or between integers; what a float beyond an integer type becomes is open."""
    to = ir.DataType(attrs["to"])
    array = given[0]
    if to not in _NUMBERS or (array.dtype.kind == "f" and to.numpy().kind in "iu"):
        return None
    return array.astype(to.numpy())


def _filled(attrs: Attrs, given: list[np.ndarray]) -> np.ndarray | None:
    tensor = attrs.get("value")
    element = np.zeros(1, np.float32) if tensor is None else tensor.numpy().reshape(-1)
    sizes = given[0].tolist()
    return np.full(sizes, element[0], element.dtype) if math.prod(sizes) <= MAX_FOLDED else None


def _reshaped(attrs: Attrs, given: list[np.ndarray]) -> np.ndarray | None:
    if len(given) != 2:
        return None
    array, sizes = given[0], given[1].tolist()
    if not attrs.get("allowzero"):
        sizes = [array.shape[i] if not size and i < array.ndim else size for i, size in enumerate(sizes)]
    return array.reshape(sizes)


def _axes(attrs: Attrs, given: list[np.ndarray]) -> tuple[int, ...] | None:
    if len(given) > 1:
        return tuple(given[1].reshape(-1).tolist())
    return tuple(attrs["axes"]) if "axes" in attrs else None


def _squeezed(attrs: Attrs, given: list[np.ndarray]) -> np.ndarray | None:
    return np.squeeze(given[0], _axes(attrs, given))


def _unsqueezed(attrs: Attrs, given: list[np.ndarray]) -> np.ndarray | None:
    axes = _axes(attrs, given)
    return None if axes is None else np.expand_dims(given[0], axes)


def _transposed(attrs: Attrs, given: list[np.ndarray]) -> np.ndarray | None:
    return np.ascontiguousarray(np.transpose(given[0], attrs.get("perm")))


def _expanded(attrs: Attrs, given: list[np.ndarray]) -> np.ndarray | None:
    del attrs
    sizes = np.broadcast_shapes(given[0].shape, tuple(given[1].tolist()))
    return np.array(np.broadcast_to(given[0], sizes)) if math.prod(sizes) <= MAX_FOLDED else None


def _joined(attrs: Attrs, given: list[np.ndarray]) -> np.ndarray | None:
    return np.concatenate(given, attrs["axis"])


def _divided(attrs: Attrs, given: list[np.ndarray]) -> np.ndarray | None:
    del attrs
    return np.divide(*given) if given[0].dtype.kind == "f" else None  # integers: towards zero, and not by it


def _dequantised(attrs: Attrs, given: list[np.ndarray]) -> np.ndarray | None:
    """With one scale, or one for each place along an axis."""
    array, scale = given[0], given[1]
    if attrs.get("block_size") or attrs.get("output_dtype") or (scale.size != 1 and scale.ndim != 1):
        return None
    shape = [1] * array.ndim
    if scale.size != 1:
        shape[attrs.get("axis", 1)] = -1
    zero = given[2].astype(np.int64).reshape(shape) if len(given) > 2 else 0
    return ((array.astype(np.int64) - zero).astype(scale.dtype) * scale.reshape(shape)).astype(scale.dtype)


# Each operator's own arithmetic, in the versions that it has.
FOLDS: Mapping[str, Fold] = {
    "Add": lambda attrs, given: np.add(*given),
    "Cast": _cast,
    "Concat": _joined,
    "ConstantOfShape": _filled,
    "DequantizeLinear": _dequantised,
    "Div": _divided,
    "Expand": _expanded,
    "Identity": lambda attrs, given: given[0],
    "Mul": lambda attrs, given: np.multiply(*given),
    "Neg": lambda attrs, given: np.negative(given[0]),
    "Reshape": _reshaped,
    "Squeeze": _squeezed,
    "Sub": lambda attrs, given: np.subtract(*given),
    "Transpose": _transposed,
    "Unsqueeze": _unsqueezed,
}
"""Operators whose result is exact, or rounded once, by name; the versions that one of these does not fit give None."""
