"""Writes out the padding or dimensions of a pooling, and what padding takes off a transposed convolution."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import onnx_ir as ir

from irfuzz.choices import Choices
from irfuzz.mutate.editing.drawn_constant_limit import MOST_DRAWN
from irfuzz.mutate.editing.mutation_sites import tensor_fact
from irfuzz.mutate.editing.node_inserter import Inserter
from irfuzz.rewrite.node_operands import FLOATS, attrs_of, operand, shape_of, spatial_axes
from irfuzz.rewrite.rewrite_rule import Exactness, Rewrite
from irfuzz.rewrite.rule_builders import rewrite_nodes
from irfuzz.rewrite.rules.convolution import kernel_of, pads_of

if TYPE_CHECKING:
    from irfuzz.ir.program import Program


def _float(program: Program, node: ir.Node) -> bool:
    return tensor_fact(program, node.outputs[0]).dtype in FLOATS


# Rule 2: an average of a padded window, and a transposed convolution that padding crops.


def _counts(program: Program, node: ir.Node) -> np.ndarray:
    """How many elements of each window of an AveragePool are no padding, as ``[1, 1, *spatial]``."""
    attrs, count = attrs_of(node), spatial_axes(program, node)
    pads, kernel = pads_of(program, node), kernel_of(program, node)
    strides, dilations = attrs.get("strides", [1] * count), attrs.get("dilations", [1] * count)
    sizes, results = shape_of(program, node.inputs[0])[2:], shape_of(program, node.outputs[0])[2:]
    total = np.ones((1, 1, *[1] * count))
    for axis in range(count):
        starts = np.arange(results[axis]) * strides[axis] - pads[axis]
        taps = starts[:, None] + np.arange(kernel[axis]) * dilations[axis]
        inside = ((taps >= 0) & (taps < sizes[axis])).sum(axis=1)
        total = total * inside.reshape([-1 if d == axis + 2 else 1 for d in range(count + 2)])
    return total


def _averaged(program: Program, node: ir.Node) -> bool:
    """Padded, without the windows beyond the end that ``ceil_mode`` adds, and with an element in each window."""
    if program.opset < 11 or not _float(program, node) or attrs_of(node).get("ceil_mode", 0):
        return False
    results = shape_of(program, node.outputs[0])[2:]
    if any(r * k > MOST_DRAWN for r, k in zip(results, kernel_of(program, node), strict=False)):
        return False  # the places that are counted could not be held
    return any(pads_of(program, node)) and bool(_counts(program, node).min() > 0)


def _average_of_padded(inserter: Inserter, node: ir.Node, choices: Choices) -> ir.Value:
    """ONNX Operators.md, AveragePool: by default the padding is not counted, with ``count_include_pad`` it is."""
    program, x = inserter.program, operand(node)
    attrs, pads, count = attrs_of(node), pads_of(program, node), spatial_axes(program, node)
    counted = attrs.get("count_include_pad", 0)
    kept = {k: v for k, v in attrs.items() if k not in ("auto_pad", "pads", "count_include_pad")}
    wide = inserter.pad(x, [0, 0, *pads[:count]], [0, 0, *pads[count:]])
    mean = inserter.node("AveragePool", [wide], kept).outputs[0]
    if counted:
        return mean
    share = np.prod(kernel_of(program, node)) / _counts(program, node)
    return inserter.value("Mul", mean, inserter.constant(share.astype(inserter.fact(x).dtype.numpy()), "share"))


def _cropping(program: Program, node: ir.Node) -> list[int] | None:
    """What padding takes off a ConvTranspose at the starts and ends; ``None`` if texts and runtimes differ on it.

    An odd amount of automatic padding is such a case, and a given output shape.
    """
    attrs, count = attrs_of(node), spatial_axes(program, node)
    auto = attrs.get("auto_pad", "NOTSET")
    if "output_shape" in attrs or program.opset < 11:
        return None
    if auto in ("NOTSET", "VALID"):
        return list(attrs.get("pads", [0] * (2 * count))) if auto == "NOTSET" else [0] * (2 * count)
    strides, dilations = attrs.get("strides", [1] * count), attrs.get("dilations", [1] * count)
    more = attrs.get("output_padding", [0] * count)
    sizes, results = shape_of(program, node.inputs[0])[2:], shape_of(program, node.outputs[0])[2:]
    kernel = kernel_of(program, node)
    totals = [
        strides[i] * (sizes[i] - 1) + more[i] + (kernel[i] - 1) * dilations[i] + 1 - results[i] for i in range(count)
    ]
    return None if any(t < 0 or t % 2 for t in totals) else [t // 2 for t in totals] * 2


def _cropped(program: Program, node: ir.Node) -> bool:
    return _float(program, node) and any(_cropping(program, node) or ())


def _crop_apart(inserter: Inserter, node: ir.Node, choices: Choices) -> ir.Value:
    """ONNX Operators.md, ConvTranspose: padding shortens the output."""
    program, count = inserter.program, spatial_axes(inserter.program, node)
    crop = _cropping(program, node) or []
    attrs = {k: v for k, v in attrs_of(node).items() if k not in ("auto_pad", "pads")}
    whole = inserter.node("ConvTranspose", list(node.inputs), attrs).outputs[0]
    sizes = shape_of(program, node.outputs[0])[2:]
    ends = [start + size for start, size in zip(crop[:count], sizes, strict=True)]
    return inserter.slice(whole, list(range(2, count + 2)), crop[:count], ends)


# Rule 3: one more spatial axis of size 1.


def _lower(program: Program, node: ir.Node) -> bool:
    return spatial_axes(program, node) in (1, 2) and _float(program, node)


def _lower_transposed(program: Program, node: ir.Node) -> bool:
    return _lower(program, node) and _cropping(program, node) is not None


def _raised(inserter: Inserter, node: ir.Node, choices: Choices) -> ir.Value:
    """In front of the others or behind them."""
    program, count = inserter.program, spatial_axes(inserter.program, node)
    first = choices.boolean()
    at = 2 if first else 2 + count

    def more(items: Sequence[int], extra: int) -> list[int]:
        return [extra, *items] if first else [*items, extra]

    attrs = attrs_of(node)
    given = [inserter.unsqueeze(operand(node), [at]), *node.inputs[1:]]
    if node.op_type == "ConvTranspose":
        pads = _cropping(program, node) or [0] * (2 * count)
        given[1] = inserter.unsqueeze(operand(node, 1), [at])
    elif "kernel_shape" in attrs:
        pads = pads_of(program, node)
    else:
        pads = None
    made = {k: v for k, v in attrs.items() if k not in ("auto_pad", "pads")}
    made |= {k: more(attrs[k], 1) for k in ("strides", "dilations") if k in attrs}
    if "output_padding" in attrs:
        made["output_padding"] = more(attrs["output_padding"], 0)
    if pads is not None:
        made |= {"kernel_shape": more(kernel_of(program, node), 1)}
        made |= {"pads": [*more(pads[:count], 0), *more(pads[count:], 0)]}
    return inserter.squeeze(inserter.node(node.op_type, given, made).outputs[0], [at])


_BOUNDED = Exactness.BOUNDED
REWRITES: tuple[Rewrite, ...] = (
    rewrite_nodes(
        "average-pool-explicit-pad", _BOUNDED, "padded AveragePool -> AveragePool(Pad(x)), times what is counted",
        ("AveragePool",), _average_of_padded, _averaged, needs=("Pad",), eagle=2,
    ),
    rewrite_nodes(
        "conv-transpose-crop", _BOUNDED, "padded ConvTranspose -> Slice(ConvTranspose)", ("ConvTranspose",),
        _crop_apart, _cropped, needs=("Slice",), eagle=2,
    ),
    rewrite_nodes(
        "pool-one-dimension-more", _BOUNDED, "n-D pooling -> (n+1)-D pooling",
        ("AveragePool", "MaxPool", "GlobalAveragePool", "GlobalMaxPool"), _raised, _lower, eagle=3,
    ),
    rewrite_nodes(
        "conv-transpose-one-dimension-more", _BOUNDED, "n-D ConvTranspose -> (n+1)-D ConvTranspose",
        ("ConvTranspose",), _raised, _lower_transposed, eagle=3,
    ),
)  # fmt: skip
