"""``negative-axes``: axes and indices are counted from the other end, which means the same."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np
import onnx_ir as ir

from irfuzz.choices import Choices
from irfuzz.ir.program import Program
from irfuzz.mutate.editing.mutation_sites import node_at
from irfuzz.mutate.editing.node_inserter import Inserter
from irfuzz.mutate.mutator_context import Context
from irfuzz.mutate.mutator_protocol import Profile, Relation, Skipped
from irfuzz.spec import has_trait, trait_values

MIN_OPSET = 13
"""Before, operators took negative axes one after the other."""


@dataclass(frozen=True, slots=True)
class _Place:
    """Something that can be counted from the other end.

    Attributes:
        what: for people.
        values: as they stand.
        sizes: for each the number of things that are counted, ``None`` if it has no other name.
        write: puts other values in their place.
    """

    what: str
    values: Sequence[int]
    sizes: Sequence[int | None]
    write: Callable[[list[int]], None]

    def free(self) -> list[int]:
        """Indices of the values that have another name."""
        return [
            i
            for i, (value, size) in enumerate(zip(self.values, self.sizes, strict=True))
            if size is not None and -size <= value < size
        ]


@dataclass(frozen=True, slots=True)
class NegativeAxes:
    """Writes ``axis - rank`` for an axis, ``index - size`` for an index, or the reverse."""

    context: Context
    name: ClassVar[str] = "negative-axes"
    version: ClassVar[int] = 1
    relation: ClassVar[Relation] = Relation.EQUIVALENT
    profile: ClassVar[Profile] = Profile(weight=0.5)

    def sites(self, program: Program) -> list[str]:
        """Nodes with an axis, axes, or a constant index that can be counted from the other end; none below opset 13."""
        if program.opset < MIN_OPSET:
            return []
        return [program.site_of(node) for node in program.graph if _looks_right(node) and _places(program, node)]

    def apply(self, program: Program, site: str, choices: Choices) -> str | Skipped:
        """Draw the place, and whether one or all of its values are written anew: ``axis`` as ``axis - rank``, or the
        reverse.

        A constant is replaced for this node only. What the program computes stays the same.
        """
        node = node_at(program, site)
        places = _places(program, node) if program.opset >= MIN_OPSET and _looks_right(node) else []
        if not places:
            return Skipped("nothing that has another name")
        place = choices.pick(places)
        free = place.free()
        turned = free if choices.boolean() else [choices.pick(free)]
        values = list(place.values)
        for i in turned:
            size = place.sizes[i]
            assert size is not None
            values[i] += size if values[i] < 0 else -size
        place.write(values)
        program.prune()
        few = values if len(values) <= 8 else f"{values[:8]} and more"
        return f"{node.op_type} at {site} has {place.what} {few}"


def _looks_right(node: ir.Node) -> bool:
    return node.domain in ("", "ai.onnx") and (has_trait(node, "axis_from_end") or has_trait(node, "axes_input"))


def _places(program: Program, node: ir.Node) -> list[_Place]:
    """All places of a node with at least one value that has another name."""
    first = program.tensor(node.inputs[0] if node.inputs else None)
    if first is None or first.rank is None:
        return []
    found: list[_Place] = []
    shape = first.shape or ()
    reduces = has_trait(node, "reduces")
    if reduces and 0 in shape:
        return []  # onnxruntime 1.31.1 does not reduce an empty tensor along an axis counted from its end
    axis = node.attributes.get("axis")
    if has_trait(node, "axis_from_end") and axis is not None and axis.type is ir.AttributeType.INT:
        found.append(_Place("axis", [axis.as_int()], [len(shape)], lambda new: program.set_attr(node, "axis", new[0])))
    axes = node.attributes.get("axes")
    if reduces and axes is not None and axes.type is ir.AttributeType.INTS:
        given = list(axes.as_ints())
        found.append(_Place("axes", given, [len(shape)] * len(given), lambda new: program.set_attr(node, "axes", new)))
    index = trait_values("axes_input").get(node.op_type)
    if index is not None and (array := _ints(program, node, index)) is not None:
        # The axes of Unsqueeze, alone among them, count in the result.
        rank = len(shape) + (array.size if node.op_type == "Unsqueeze" else 0)
        found.append(_of_input(program, node, index, "axes", array, [rank] * array.size))
    if has_trait(node, "indices_along_axis") and (array := _ints(program, node, 1)) is not None:
        along = axis.as_int() if axis is not None else 0
        size = shape[along] if -len(shape) <= along < len(shape) else None
        if type(size) is int:
            found.append(_of_input(program, node, 1, "indices", array, [size] * array.size))
    # No other operator has starts and ends.
    if node.op_type == "Slice":
        found += _of_slice(program, node, shape)
    return [place for place in found if place.free()]


def _of_slice(program: Program, node: ir.Node, shape: Sequence[object]) -> list[_Place]:
    """Starts and ends, which count from the end of their axis if they are negative."""
    starts, axes, steps = (_ints(program, node, index) for index in (1, 3, 4))
    if starts is None or (axes is None and len(node.inputs) > 3 and node.inputs[3] is not None):
        return []
    if steps is None and len(node.inputs) > 4 and node.inputs[4] is not None:
        return []
    if starts.ndim != 1 or (axes is not None and axes.shape != starts.shape):
        return []  # of no valid Slice
    along = range(starts.size) if axes is None else axes.tolist()
    if any(not -len(shape) <= axis < len(shape) for axis in along):
        return []
    sizes = [size if type(size := shape[axis]) is int else None for axis in along]
    found = [_of_input(program, node, 1, "starts", starts, sizes)]
    ends = _ints(program, node, 2)
    # With negative steps an end of -1 - size means "beyond the first", and -size the first itself: as for others.
    if ends is not None and ends.shape == starts.shape:
        found.append(_of_input(program, node, 2, "ends", ends, sizes))
    return found


def _ints(program: Program, node: ir.Node, index: int) -> np.ndarray | None:
    """The elements of a constant input of signed integers."""
    value = node.inputs[index] if index < len(node.inputs) else None
    fact = program.tensor(value)
    if value is None or fact is None or fact.dtype not in (ir.DataType.INT32, ir.DataType.INT64):
        return None
    array = program.const_array(value)
    return array if array is not None and array.size else None


def _of_input(
    program: Program, node: ir.Node, index: int, what: str, array: np.ndarray, sizes: Sequence[int | None]
) -> _Place:
    return _Place(what, array.ravel().tolist(), sizes, partial(_write_input, program, node, index, array))


def _write_input(program: Program, node: ir.Node, index: int, array: np.ndarray, values: list[Any]) -> None:
    new = np.array(values, array.dtype).reshape(array.shape)
    program.set_input(node, index, Inserter(program, node).constant(new, "turned"))
