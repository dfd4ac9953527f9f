"""Scales a layer's images to pixels between 0 and 1 and back."""

from __future__ import annotations

from typing import TYPE_CHECKING

import onnx_ir as ir

from irfuzz.choices import Choices
from irfuzz.facts import TensorFact
from irfuzz.mutate.editing.mutation_sites import tensor_fact
from irfuzz.mutate.editing.node_inserter import Inserter
from irfuzz.rewrite.node_operands import FLOATS, operand
from irfuzz.rewrite.rewrite_rule import Exactness, Rewrite
from irfuzz.rewrite.rule_builders import rewrite_nodes, rewrite_values

if TYPE_CHECKING:
    from irfuzz.ir.program import Program

_D = ir.DataType
_WHITE = 255.0
_ROUND_SINCE = 11

LINEAR = frozenset(
    {
        *("Abs", "AveragePool", "Conv", "ConvTranspose", "DepthToSpace", "Expand", "Flatten", "Gather"),
        *("GlobalAveragePool", "GlobalMaxPool", "LeakyRelu", "MatMul", "MaxPool", "Neg", "ReduceL1", "ReduceL2"),
        *("ReduceMax", "ReduceMean", "ReduceMin", "ReduceSum", "Relu", "Reshape", "Slice", "SpaceToDepth", "Squeeze"),
        *("Tile", "Transpose", "Unsqueeze", "CumSum", "GlobalLpPool", "LpPool", "Trilu"),
    }
)
"""Operators f with f(s * x) = s * f(x) for positive s, where nothing is added to them."""

PICKING = frozenset(
    {
        *("DepthToSpace", "Expand", "Flatten", "Gather", "Max", "MaxPool", "Min", "ReduceMax", "ReduceMin", "Reshape"),
        *("Slice", "SpaceToDepth", "Squeeze", "Tile", "Transpose", "Unsqueeze"),
    }
)
"""Operators whose results are elements of theirs, chosen by place or by order."""

_ALIKE = frozenset({"Max", "Min"})
"""Those all of whose inputs are pixels."""


def _scalable(program: Program, node: ir.Node) -> bool:
    first = node.inputs[0]
    if first is None or tensor_fact(program, first).dtype not in FLOATS or len(node.outputs) > 1:
        return False
    return not (node.op_type in ("Conv", "ConvTranspose") and len(node.inputs) > 2 and node.inputs[2] is not None)


def _scaled(inserter: Inserter, node: ir.Node, choices: Choices) -> ir.Value:
    first = operand(node)
    white = inserter.scalar(_WHITE, inserter.fact(first).dtype)
    attrs = inserter.program.attrs(node)
    layer = inserter.node(node.op_type, [inserter.value("Div", first, white), *node.inputs[1:]], attrs)
    return inserter.value("Mul", layer.outputs[0], white)


def _normalised(inserter: Inserter, value: ir.Value) -> ir.Value:
    return inserter.value("Div", inserter.cast(value, _D.FLOAT), inserter.scalar(_WHITE, _D.FLOAT))


def _brought_back(inserter: Inserter, value: ir.Value) -> ir.Value:
    """Division and product are off by less than 0.0001, so rounding finds the pixel itself."""
    white = inserter.value("Mul", value, inserter.scalar(_WHITE, _D.FLOAT))
    return inserter.cast(inserter.value("Round", white), _D.UINT8)


def _image(program: Program, node: ir.Node) -> bool:
    attrs = program.attrs(node)
    if program.opset < _ROUND_SINCE or len(node.outputs) > 1 or max(attrs.get("dilations", [1])) > 1:
        return False
    looked = node.inputs if node.op_type in _ALIKE else node.inputs[:1]
    return all(v is not None and tensor_fact(program, v).dtype is _D.UINT8 for v in looked)


def _on_floats(inserter: Inserter, node: ir.Node, choices: Choices) -> ir.Value:
    count = len(node.inputs) if node.op_type in _ALIKE else 1
    given = [_normalised(inserter, v) for v in node.inputs[:count] if v is not None]
    layer = inserter.node(node.op_type, [*given, *node.inputs[count:]], inserter.program.attrs(node))
    return _brought_back(inserter, layer.outputs[0])


def _byte(fact: TensorFact) -> bool:
    return fact.dtype is _D.UINT8


def _there_and_back(inserter: Inserter, value: ir.Value, choices: Choices) -> ir.Value:
    return _brought_back(inserter, _normalised(inserter, value))


REWRITES: tuple[Rewrite, ...] = (
    rewrite_nodes(
        "scale-image", Exactness.BOUNDED, "f(x) -> f(x / 255) * 255", LINEAR, _scaled, _scalable, eagle=9
    ),
    rewrite_nodes(
        "image-as-floats", Exactness.BITWISE, "f(x) of bytes -> bytes(f(floats(x) / 255) * 255)", PICKING, _on_floats,
        _image, eagle=9,
    ),
    rewrite_values(
        "normalise-and-back", Exactness.BITWISE, "bytes x -> bytes(floats(x) / 255 * 255)", _there_and_back, _byte,
        since=_ROUND_SINCE, eagle=9,
    ),
)  # fmt: skip
