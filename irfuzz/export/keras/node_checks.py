"""What a Keras model needs to know of nodes, or a refusal with the reason."""

from __future__ import annotations

import numpy as np
import onnx_ir as ir

from irfuzz.export.source.emitter_context import EmitterContext


def shape_of(ctx: EmitterContext, node: ir.Node, value: ir.Value | None) -> tuple[int, ...]:
    """Sizes of a value of a node, ``()`` for a scalar.

    Args:
        ctx: of the program.
        node: whose operator an error names.
        value: an input or output of the node.

    Raises:
        Unsupported: a size is not known, or the value is absent (``None``).
    """
    shape = None if value is None else ctx.shape(value)
    if shape is None:
        raise ctx.unsupported(node, "a shape that is not known")
    return shape


def floats_only(ctx: EmitterContext, node: ir.Node) -> None:
    """Refuse other element types of any input: Keras would give a floating one of its own choice.

    Raises:
        Unsupported: an input is not floating, or of an unknown type. Absent inputs pass.
    """
    for value in node.inputs:
        if value is not None and not ctx.is_float(value):
            raise ctx.unsupported(node, f"Keras has no exact arithmetic here for {_kind(ctx, value)}")


def numbers_only(ctx: EmitterContext, node: ir.Node) -> None:
    """Refuse booleans, and other types in which Keras has no arithmetic.

    Raises:
        Unsupported: an input is not of float32, float64, int32 or int64, or of an unknown type. Absent inputs pass.
    """
    for value in node.inputs:
        if value is not None and not ctx.is_plain(value):
            raise ctx.unsupported(node, f"Keras has no exact arithmetic here for {_kind(ctx, value)}")


def _kind(ctx: EmitterContext, value: ir.Value) -> str:
    dtype = ctx.dtype(value)
    return "an unknown element type" if dtype is None else dtype.name


def float_data(ctx: EmitterContext, node: ir.Node) -> None:
    """Refuse other element types of the first input; the others may be sizes, indices or conditions.

    Raises:
        Unsupported: the first input is not floating, or of an unknown type.
    """
    if not ctx.is_float(node.inputs[0]):
        raise ctx.unsupported(node, "Keras layers compute in floating numbers")


def one_type(ctx: EmitterContext, node: ir.Node) -> None:
    """Refuse inputs of different element types, which Keras would promote. Absent inputs do not count.

    Raises:
        Unsupported: two inputs differ, an unknown type counting as one of its own.
    """
    if len({ctx.dtype(v) for v in node.inputs if v is not None}) != 1:
        raise ctx.unsupported(node, "inputs of different element types")


def single(ctx: EmitterContext, node: ir.Node) -> None:
    """Refuse float64, in which constants that Keras spells out differ from ONNX's, which are float32.

    Raises:
        Unsupported: the first input is of any type but float32, or of an unknown one.
    """
    if ctx.dtype(node.inputs[0]) != ir.DataType.FLOAT:
        raise ctx.unsupported(node, "constants that differ in another element type than float32")


def wanted(node: ir.Node) -> list[ir.Value]:
    """The outputs that somebody reads, in order: those that a node or the graph's own outputs use. Outputs without a
    name are not among them.
    """
    return [v for v in node.outputs if v.name and (v.uses() or v.is_graph_output())]


def held(ctx: EmitterContext, node: ir.Node, *places: int) -> list[np.ndarray | None]:
    """Arrays of inputs that a layer is to hold; ``None`` for those that are absent.

    Args:
        ctx: of the program.
        node: it.
        *places: of the inputs from 0; the result has an entry for each.

    Raises:
        Unsupported: one of these inputs is computed.
    """
    arrays: list[np.ndarray | None] = []
    for place in places:
        value = ctx.input_value(node, place)
        array = ctx.constant(value)
        if value is not None and array is None:
            raise ctx.unsupported(node, f"input {place} is computed, and a Keras layer holds its weights itself")
        arrays.append(array)
    return arrays
