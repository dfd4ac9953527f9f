"""The axes of a weight along which a layer's neurons and what feeds them lie."""

from __future__ import annotations

import onnx_ir as ir

from irfuzz.spec import trait_values


def neuron_axes(node: ir.Node, index: int, rank: int) -> tuple[int, int]:
    """The axis of a layer's own neurons and the axis of the neurons before it, of the weight at an input.

    A filter of a convolution is a neuron. If there is one axis, and if nothing is known of the operator, both are
    what the numbers of elements allow: the first, and the last.
    """
    if rank < 2:
        return 0, 0
    own, before = trait_values("neuron_axes").get(node.op_type, (0, -1))
    # Only in a product of matrices either side may be the weights.
    if node.op_type in ("Gemm", "MatMul") and index < 2:
        own, before = (-1, -2) if index == 1 else (-2, -1)
        turned = node.attributes.get("transB" if index == 1 else "transA")
        if turned is not None and turned.value == 1:
            own, before = before, own
    return own % rank, before % rank
