"""What rewrites ask of a node: the inputs that its operator always has, their shapes, and its attributes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import onnx_ir as ir

from irfuzz.mutate.editing.mutation_sites import tensor_fact

if TYPE_CHECKING:
    from irfuzz.ir.program import Program

FLOATS = (ir.DataType.FLOAT, ir.DataType.DOUBLE)
"""Types in which a rewrite may round otherwise; half precision would round what others sum in single precision."""


def operand(node: ir.Node, index: int = 0) -> ir.Value:
    """An input that the operator always has, by its index.

    Ask only for those: an input that is left out is an error here.
    """
    value = node.inputs[index]
    assert value is not None
    return value


def pair(node: ir.Node) -> tuple[ir.Value, ir.Value]:
    """The first two inputs, both of which the operator must always have, such as image and weights of Conv."""
    return operand(node), operand(node, 1)


def shape_of(program: Program, value: ir.Value | None) -> tuple[int, ...]:
    """The sizes of a tensor; none if they are not all known, or it is left out.

    A scalar has none either, so ask ``Program.tensor`` if that matters.
    """
    return (() if value is None else tensor_fact(program, value).static_shape) or ()


def spatial_axes(program: Program, node: ir.Node) -> int:
    """How many axes of an image follow its batch and channels: two less than the rank of the node's first input, which
    must be of static shape.
    """
    return len(shape_of(program, node.inputs[0])) - 2


def attrs_of(node: ir.Node) -> dict[str, Any]:
    """The attributes that are given, but for references to those of a function; a new mapping from names to their
    Python values.

    Defaults of the operator are not filled in.
    """
    return {name: attr.value for name, attr in node.attributes.items() if not attr.is_ref()}
