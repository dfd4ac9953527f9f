"""Gives known sizes to a value whose sizes depend on elements (NonZero, Unique, Compress)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import onnx_ir as ir

from irfuzz.choices import Choices
from irfuzz.facts import Dim, TensorFact
from irfuzz.mutate.editing.node_inserter import Inserter
from irfuzz.mutate.editing.operator_type_portability import runs

if TYPE_CHECKING:
    from irfuzz.spec import Specs

_MOST = 8
"""Most places that are kept of an axis of open size."""


@dataclass(frozen=True, slots=True)
class Closing:
    """How open sizes are got rid of.

    Attributes:
        way: ``none`` (nothing is open), ``shape``, ``size``, ``reduce`` (sums over open axes) or ``pad`` (zeros behind
            the open axis, then its first ``count`` places).
        fact: the type of what comes out.
    """

    way: str
    fact: TensorFact
    count: int = 0


def draw_closing(
    specs: Specs, opset: int, fact: TensorFact, choices: Choices, *, sizes_only: bool = False
) -> Closing | None:
    """A way to known sizes; ``None`` if there is none.

    Args:
        specs: operator specs.
        opset: of the program.
        fact: the value's, of known rank; if none of its sizes is open, the way is ``none``.
        choices: the draw.
        sizes_only: allow only ways that read no elements, so that what is random stays out of sight.
    """
    shape = fact.shape or ()
    opened = [axis for axis, size in enumerate(shape) if size is None]
    if not opened and not sizes_only:
        return Closing("none", fact)
    ways = [name for name, op in (("shape", "Shape"), ("size", "Size")) if runs(specs, op, opset, fact.dtype)]
    if not sizes_only:
        if runs(specs, "ReduceSum", opset, fact.dtype):
            ways.append("reduce")
        if len(opened) == 1 and all(runs(specs, op, opset, fact.dtype) for op in ("Pad", "Slice", "Reshape")):
            ways.append("pad")
    if not ways:
        return None
    way = choices.weighted(ways, [3.0 if w == "pad" else 1.0 for w in ways])
    if way == "shape":
        return Closing(way, TensorFact(ir.DataType.INT64, (len(shape),)))
    if way == "size":
        return Closing(way, TensorFact(ir.DataType.INT64, ()))
    count = 1 if way == "reduce" else choices.integer(1, _MOST)
    closed: tuple[Dim, ...] = tuple(count if size is None else size for size in shape)
    return Closing(way, TensorFact(fact.dtype, closed), count)


def close(inserter: Inserter, value: ir.Value, closing: Closing) -> ir.Value:
    """Insert what ``closing`` says, and give back the value of known sizes.

    Padding with zeros comes first, so that the places to keep are there whatever the elements are; ONNX's inference
    cannot see that, and a Reshape to the same sizes says it.
    """
    if closing.way == "none":
        return value
    if closing.way == "shape":
        return inserter.value("Shape", value)
    if closing.way == "size":
        return inserter.value("Size", value)
    shape = inserter.fact(value).shape or ()
    opened = [axis for axis, size in enumerate(shape) if size is None]
    if closing.way == "reduce":
        return inserter.reduce("ReduceSum", value, opened) if opened else value
    for axis in opened:
        after = [closing.count if i == axis else 0 for i in range(len(shape))]
        value = inserter.pad(value, [0] * len(shape), after)
        value = inserter.slice(value, [axis], [0], [closing.count])
    return inserter.reshape(value, [size if type(size) is int else 0 for size in closing.fact.shape or ()])
