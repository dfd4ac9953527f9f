"""A reader of a weight enters, the axes along which its neurons and what feeds them lie leave."""

from __future__ import annotations

import onnx_ir as ir

_OUT_FIRST = frozenset({"Conv", "ConvInteger", "QLinearConv"})
_RECURRENT = frozenset({"LSTM", "GRU", "RNN"})


def neuron_axes(node: ir.Node, index: int, rank: int) -> tuple[int, int]:
    """The axis of a layer's own neurons and the axis of the neurons before it, of the weight at an input.

    A filter of a convolution is a neuron. Where there is one axis, and where nothing is known of the operator, both are
    what the numbers of elements allow: the first, and the last.
    """
    op = node.op_type
    if rank < 2:
        return 0, 0
    if op in _OUT_FIRST:
        return 0, 1
    if op == "ConvTranspose":
        return 1, 0
    if op in _RECURRENT:
        return 1, rank - 1
    if op == "MatMul":
        return (rank - 1, rank - 2) if index == 1 else (rank - 2, rank - 1)
    if op == "Gemm" and index < 2:
        attr = node.attributes.get("transB" if index == 1 else "transA")
        turned = attr is not None and attr.value == 1
        outer = 1 if index == 1 else 0
        return (1 - outer, outer) if turned else (outer, 1 - outer)
    return 0, rank - 1
