"""Writes out the padding, dimensions, groups or dilations of a convolution or pooling."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import onnx_ir as ir

from irfuzz.choices import Choices
from irfuzz.mutate.editing.drawn_constant_limit import MOST_DRAWN
from irfuzz.mutate.editing.mutation_sites import tensor_fact
from irfuzz.mutate.editing.node_inserter import Inserter
from irfuzz.rewrite.node_operands import attrs_of, operand, pair, shape_of, spatial_axes
from irfuzz.rewrite.rewrite_rule import Exactness, Rewrite
from irfuzz.rewrite.rule_builders import rewrite_nodes

if TYPE_CHECKING:
    from irfuzz.ir.program import Program

_MOST_GROUPS = 16


def kernel_of(program: Program, node: ir.Node) -> list[int]:
    """The sizes of the window along the spatial axes: the attribute ``kernel_shape``, or those of the weights without
    it.
    """
    given = attrs_of(node).get("kernel_shape")
    return list(given) if given is not None else list(shape_of(program, node.inputs[1])[2:])


def pads_of(program: Program, node: ir.Node) -> list[int]:
    """The padding at the starts and ends of the spatial axes, ``auto_pad`` resolved (ONNX Operators.md, Conv).

    Args:
        program: knows the sizes of the image.
        node: a convolution or pooling.

    Returns:
        First the amounts in front of each axis, then those behind it, as in the attribute ``pads``.
    """
    attrs, count = attrs_of(node), spatial_axes(program, node)
    auto = attrs.get("auto_pad", "NOTSET")
    if auto == "VALID":
        return [0] * (2 * count)
    if auto == "NOTSET":
        return list(attrs.get("pads", [0] * (2 * count)))
    sizes = shape_of(program, node.inputs[0])[2:]
    strides, dilations = attrs.get("strides", [1] * count), attrs.get("dilations", [1] * count)
    starts, ends = [], []
    for size, kernel, stride, dilation in zip(sizes, kernel_of(program, node), strides, dilations, strict=True):
        total = max((-(-size // stride) - 1) * stride + (kernel - 1) * dilation + 1 - size, 0)
        small, large = total // 2, total - total // 2
        starts.append(small if auto == "SAME_UPPER" else large)
        ends.append(large if auto == "SAME_UPPER" else small)
    return [*starts, *ends]


def _padded(program: Program, node: ir.Node) -> bool:
    return any(pads_of(program, node))


def _unpadded(inserter: Inserter, node: ir.Node, filler: ir.Value | None = None) -> ir.Value:
    """The node without padding, on an input that has it already."""
    program, x = inserter.program, operand(node)
    pads, count = pads_of(program, node), spatial_axes(program, node)
    attrs = {k: v for k, v in attrs_of(node).items() if k not in ("auto_pad", "pads")}
    whole = inserter.ints([0, 0, *pads[:count], 0, 0, *pads[count:]])
    wide = inserter.value("Pad", x, whole, *([] if filler is None else [filler]))
    return inserter.node(node.op_type, [wide, *node.inputs[1:]], attrs).outputs[0]


def _explicit(inserter: Inserter, node: ir.Node, choices: Choices) -> ir.Value:
    return _unpadded(inserter, node)


def _explicit_max(inserter: Inserter, node: ir.Node, choices: Choices) -> ir.Value:
    return _unpadded(inserter, node, inserter.scalar(-np.inf, inserter.fact(operand(node)).dtype))


def _padded_with_least(inserter: Inserter, node: ir.Node, choices: Choices) -> ir.Value:
    """The smallest element of all is no larger than any in a window, and unlike -inf it is an ordinary number."""
    x = operand(node)
    least = inserter.reduce("ReduceMin", x, list(range(inserter.fact(x).rank or 0)), keepdims=False)
    return _unpadded(inserter, node, least)


def _poolable(program: Program, node: ir.Node) -> bool:
    attrs = attrs_of(node)
    # A dilated window may stand in the padding alone, and its maximum is nobody's element.
    if program.opset < 11 or attrs.get("ceil_mode", 0) or max(attrs.get("dilations", [1])) > 1:
        return False
    if not _padded(program, node):
        return False
    return tensor_fact(program, node.outputs[0]).dtype in (ir.DataType.FLOAT, ir.DataType.DOUBLE)


def _raised(inserter: Inserter, node: ir.Node, choices: Choices) -> ir.Value:
    """One more spatial axis of size 1, in front of the others or behind them."""
    program, count = inserter.program, spatial_axes(inserter.program, node)
    x, w = pair(node)
    first = choices.boolean()
    at = 2 if first else 2 + count

    def more(items: Sequence[int], extra: int) -> list[int]:
        return [extra, *items] if first else [*items, extra]

    attrs, pads = attrs_of(node), pads_of(program, node)
    made = {
        "group": attrs.get("group", 1),
        "strides": more(attrs.get("strides", [1] * count), 1),
        "dilations": more(attrs.get("dilations", [1] * count), 1),
        "pads": [*more(pads[:count], 0), *more(pads[count:], 0)],
        "kernel_shape": more(kernel_of(program, node), 1),
    }
    given = [inserter.unsqueeze(x, [at]), inserter.unsqueeze(w, [at]), *node.inputs[2:]]
    return inserter.squeeze(inserter.node("Conv", given, made).outputs[0], [at])


def _grouped(program: Program, node: ir.Node) -> bool:
    return 2 <= attrs_of(node).get("group", 1) <= _MOST_GROUPS


def _per_group(inserter: Inserter, node: ir.Node, choices: Choices) -> ir.Value:
    program = inserter.program
    x, w = pair(node)
    bias = node.inputs[2] if len(node.inputs) > 2 else None
    attrs = attrs_of(node)
    groups = attrs.pop("group")
    wide, high = shape_of(program, x)[1] // groups, shape_of(program, w)[0] // groups
    parts: list[ir.Value] = []
    for g in range(groups):
        given = [
            inserter.slice(x, [1], [g * wide], [(g + 1) * wide]),
            inserter.slice(w, [0], [g * high], [(g + 1) * high]),
        ]
        if bias is not None:
            given.append(inserter.slice(bias, [0], [g * high], [(g + 1) * high]))
        parts.append(inserter.node("Conv", given, attrs).outputs[0])
    return inserter.value("Concat", *parts, axis=1)


def _dilated(program: Program, node: ir.Node) -> bool:
    """Dilated, and not so far that the kernel with zeros could not be held."""
    dilations, weights = attrs_of(node).get("dilations", [1]), shape_of(program, node.inputs[1])
    if max(dilations) == 1 or len(weights) != len(dilations) + 2:
        return False
    sizes = [(k - 1) * d + 1 for k, d in zip(weights[2:], dilations, strict=True)]
    return math.prod((*weights[:2], *sizes)) <= MOST_DRAWN


def _dilated_computed(program: Program, node: ir.Node) -> bool:
    return _dilated(program, node) and program.opset >= 11 and program.const_array(node.inputs[1]) is None


def _dilated_constant(program: Program, node: ir.Node) -> bool:
    return _dilated(program, node) and program.const_array(node.inputs[1]) is not None


def _zero_spread(inserter: Inserter, node: ir.Node, choices: Choices) -> ir.Value:
    """As ``_zero_filled``, for weights that are computed: along each axis zeros are put behind every tap."""
    program, count = inserter.program, spatial_axes(inserter.program, node)
    attrs = attrs_of(node)
    dilations = attrs.pop("dilations")
    kernel, shape = operand(node, 1), list(shape_of(program, node.inputs[1]))
    for axis, dilation in enumerate(dilations, 2):
        if dilation == 1:
            continue
        apart = [*shape[: axis + 1], 1, *shape[axis + 1 :]]
        ends = [dilation - 1 if d == axis + 1 else 0 for d in range(len(apart))]
        spread = inserter.pad(inserter.reshape(kernel, apart), [0] * len(apart), ends)
        taps, shape[axis] = shape[axis], (shape[axis] - 1) * dilation + 1
        whole = inserter.reshape(spread, [*shape[:axis], taps * dilation, *shape[axis + 1 :]])
        kernel = inserter.slice(whole, [axis], [0], [shape[axis]])
    attrs |= {"kernel_shape": shape[2:], "dilations": [1] * count}
    return inserter.node("Conv", [node.inputs[0], kernel, *node.inputs[2:]], attrs).outputs[0]


def _zero_filled(inserter: Inserter, node: ir.Node, choices: Choices) -> ir.Value:
    """The kernel with zeros where the dilated one looks away; an infinite input would become NaN there."""
    program, count = inserter.program, spatial_axes(inserter.program, node)
    attrs, weights = attrs_of(node), program.const_array(node.inputs[1])
    assert weights is not None
    dilations = attrs.pop("dilations")
    sizes = [(k - 1) * d + 1 for k, d in zip(weights.shape[2:], dilations, strict=True)]
    filled = np.zeros((*weights.shape[:2], *sizes), weights.dtype)
    filled[(slice(None), slice(None), *(slice(None, None, d) for d in dilations))] = weights
    attrs["kernel_shape"] = sizes
    attrs["dilations"] = [1] * count
    return inserter.node(
        "Conv", [node.inputs[0], inserter.constant(filled, "kernel"), *node.inputs[2:]], attrs
    ).outputs[0]


def _biased(program: Program, node: ir.Node) -> bool:
    return len(node.inputs) > 2 and node.inputs[2] is not None


def _bias_apart(inserter: Inserter, node: ir.Node, choices: Choices) -> ir.Value:
    bias = operand(node, 2)
    plain = inserter.node("Conv", list(node.inputs[:2]), attrs_of(node)).outputs[0]
    count = spatial_axes(inserter.program, node)
    return inserter.value("Add", plain, inserter.reshape(bias, [-1, *[1] * count]))


def _pointwise(program: Program, node: ir.Node) -> bool:
    attrs = attrs_of(node)
    return (
        set(kernel_of(program, node)) == {1}
        and set(attrs.get("strides", [1])) == {1}
        and attrs.get("group", 1) == 1
        and not _padded(program, node)
        and not _biased(program, node)
    )


def _as_product(inserter: Inserter, node: ir.Node, choices: Choices) -> ir.Value:
    program = inserter.program
    x, w = pair(node)
    batch, channels, *sizes = shape_of(program, x)
    flat = inserter.reshape(x, [batch, channels, -1])
    product = inserter.value("MatMul", inserter.reshape(w, shape_of(program, w)[:2]), flat)
    return inserter.reshape(product, [batch, shape_of(program, w)[0], *sizes])


def _lower(program: Program, node: ir.Node) -> bool:
    return spatial_axes(program, node) in (1, 2)


def _since_11(program: Program, node: ir.Node) -> bool:
    return program.opset >= 11 and _padded(program, node)


_BOUNDED = Exactness.BOUNDED
REWRITES: tuple[Rewrite, ...] = (
    rewrite_nodes(
        "conv-explicit-pad", _BOUNDED, "padded Conv -> Conv(Pad(x))", ("Conv",), _explicit, _since_11, eagle=2
    ),
    rewrite_nodes(
        "max-pool-explicit-pad", Exactness.BITWISE, "padded MaxPool -> MaxPool(Pad(x, -inf))", ("MaxPool",),
        _explicit_max, _poolable, eagle=2,
    ),
    rewrite_nodes(
        "max-pool-least-pad", Exactness.BITWISE, "padded MaxPool -> MaxPool(Pad(x, ReduceMin(x)))", ("MaxPool",),
        _padded_with_least, _poolable, eagle=2,
    ),
    rewrite_nodes("conv-one-dimension-more", _BOUNDED, "n-D Conv -> (n+1)-D Conv", ("Conv",), _raised, _lower, eagle=3),
    rewrite_nodes(
        "conv-per-group", _BOUNDED, "grouped (depthwise) Conv -> Concat(Conv of each group)", ("Conv",), _per_group,
        _grouped, eagle=4,
    ),
    rewrite_nodes(
        "conv-zero-filled", _BOUNDED, "dilated Conv -> Conv with zeros in the kernel", ("Conv",), _zero_filled,
        _dilated_constant, eagle=6,
    ),
    rewrite_nodes(
        "conv-zero-spread", _BOUNDED, "dilated Conv of computed weights -> Conv of them with zeros put in", ("Conv",),
        _zero_spread, _dilated_computed, needs=("Pad", "Slice"), eagle=6,
    ),
    rewrite_nodes("conv-bias-apart", _BOUNDED, "Conv(x, w, b) -> Conv(x, w) + b", ("Conv",), _bias_apart, _biased),
    rewrite_nodes("pointwise-as-product", _BOUNDED, "1x1 Conv -> MatMul(w, x)", ("Conv",), _as_product, _pointwise),
)  # fmt: skip
