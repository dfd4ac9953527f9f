"""The inputs that the operator of a node always has."""

from __future__ import annotations

import onnx_ir as ir


def operand(node: ir.Node, index: int = 0) -> ir.Value:
    """An input that the operator always has."""
    value = node.inputs[index]
    assert value is not None
    return value


def pair(node: ir.Node) -> tuple[ir.Value, ir.Value]:
    """The first two."""
    return operand(node), operand(node, 1)
