"""Which bugs a node of a drawn program would trigger.

A trigger is what the bug needs: operators, attributes, types, shapes, and values as far as they are constants or inputs
of the graph. A value that is computed inside counts as not known, so that a trigger is rather missed than imagined.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import onnx_ir as ir

from benchmarks.drawn_bugs import attr, constant, fact, given, is_a, made_by, rank, source

Array = np.ndarray[Any, np.dtype[Any]]


@dataclass(frozen=True, slots=True)
class Drawn:
    """What a node stands in.

    Attributes:
        opset: of ONNX's own operators.
        inputs: of the graph, by name.
        outputs: names of the graph's.
    """

    opset: int
    inputs: Mapping[str, Any]
    outputs: frozenset[str]


Trigger = Callable[[ir.Node, Drawn], bool]

INTEGERS = tuple(d for d in ir.DataType if d.is_integer())
FLOATS = (ir.DataType.FLOAT, ir.DataType.DOUBLE, ir.DataType.FLOAT16, ir.DataType.BFLOAT16)


def known(node: ir.Node, index: int, drawn: Drawn) -> Array | None:
    """Elements of an input that is a constant or an input of the graph."""
    value = node.inputs[index] if index < len(node.inputs) else None
    held = constant(node, index)
    if held is None and value is not None and value.producer() is None:
        held = drawn.inputs.get(value.name or "")
    return held if isinstance(held, np.ndarray) else None


def sizes(node: ir.Node, index: int = 0) -> tuple[Any, ...]:
    """Sizes of an input as far as they are known; empty if not even the rank is."""
    found = fact(node.inputs[index]) if index < len(node.inputs) else None
    return () if found is None or found.rank is None else tuple(found.shape or ())


def empty(node: ir.Node, drawn: Drawn) -> bool:
    """Whether the first input has no elements."""
    held = known(node, 0, drawn)
    return 0 in sizes(node) or (held is not None and held.size == 0)


def has_nan(node: ir.Node, drawn: Drawn, *indices: int) -> bool:
    """Whether one of these inputs has a NaN."""
    held = [known(node, i, drawn) for i in indices]
    return any(h is not None and h.dtype.kind == "f" and bool(np.isnan(h).any()) for h in held)


def behind(node: ir.Node | None, through: tuple[str, ...], wanted: str) -> ir.Node | None:
    """The node of an operator from which a chain of these operators leads to a node."""
    for _ in range(4):
        node = None if node is None else source(node, 0)
        if node is None or node.op_type == wanted:
            return node
        if node.op_type not in through:
            return None
    return None


def other(node: ir.Node, *ops: str) -> tuple[ir.Node, int] | None:
    """What of two inputs is computed by one of these operators, and which the other one is."""
    for index in (0, 1):
        if made_by(node, index, *ops):
            made = source(node, index)
            return None if made is None else (made, 1 - index)
    return None


def siblings(value: ir.Value | None, op: str) -> int:
    """How many nodes of an operator read a value first."""
    return 0 if value is None else sum(use.idx == 0 and use.node.op_type == op for use in value.uses())


# ---- onnxruntime -----------------------------------------------------------------------------------------------------


def _einsum_lone(node: ir.Node, _: Drawn) -> bool:
    before, arrow, after = str(attr(node, "equation", "")).replace(" ", "").partition("->")
    kept = [letter for letter in before if letter in after]
    return len(node.inputs) == 1 and bool(arrow) and set(before) > set(after) and kept != list(after)


def _odd_scale(node: ir.Node, drawn: Drawn) -> bool:
    found = other(node, "Div")
    if found is None or not made_by(found[0], 1, "Sqrt"):
        return False
    scale, width = known(node, found[1], drawn), sizes(found[0])[-1:]
    return (
        scale is not None and behind(source(found[0], 1), ("Add",), "ReduceMean") is not None and scale.shape != width
    )


def _div_one(node: ir.Node, drawn: Drawn) -> bool:
    found = other(node, "Div")
    one = None if found is None else known(found[0], 0, drawn)
    return found is not None and one is not None and bool((one == 1).all()) and _passing(source(node, found[1]))


def _passing(node: ir.Node | None) -> bool:
    if node is None or node.op_type in ("Identity", "Dropout"):
        return node is not None
    same = fact(node.inputs[0]), fact(node.outputs[0])
    return node.op_type == "Cast" and None not in same and same[0].dtype == same[1].dtype  # type: ignore[union-attr]


def _product_of_rank_3(node: ir.Node, _: Drawn) -> bool:
    product = behind(node, ("Reshape", "Transpose"), "MatMul")
    return product is not None and rank(product.outputs[0]) > 2


def _between_quantised(*ops: str) -> Trigger:
    def stands(node: ir.Node, _: Drawn) -> bool:
        inner = source(node, 0)
        return inner is not None and inner.op_type in ops and made_by(inner, 0, "DequantizeLinear")

    return stands


def _softmax_int8(node: ir.Node, drawn: Drawn) -> bool:
    return _between_quantised("Softmax")(node, drawn) and is_a((ir.DataType.INT8,), node.outputs[0])


def _qdq_resize(node: ir.Node, drawn: Drawn) -> bool:
    inner = source(node, 0)
    return (
        _between_quantised("Resize")(node, drawn) and inner is not None and attr(inner, "mode") in ("linear", "cubic")
    )


def _ceil_count(node: ir.Node, drawn: Drawn) -> bool:
    return drawn.opset < 19 and attr(node, "ceil_mode") == 1 and attr(node, "count_include_pad") == 1


def _uneven_pads(node: ir.Node, drawn: Drawn) -> bool:
    pads = list(attr(node, "pads", []))
    half = len(pads) // 2
    return drawn.opset >= 19 and attr(node, "count_include_pad") == 1 and len(set(pads[half:])) > 1


def _all_minus_infinity(node: ir.Node, drawn: Drawn) -> bool:
    held, axes = known(node, 0, drawn), known(node, 1, drawn)
    if held is None or held.dtype.kind != "f" or not held.size:
        return False
    listed = attr(node, "axes") if axes is None else axes
    over = tuple(int(a) for a in listed) if listed is not None and len(listed) else None
    return bool(np.isneginf(held.max(axis=over)).any())


def _heads(node: ir.Node, index: int, name: str) -> Any:
    held = sizes(node, index)
    return held[1] if len(held) == 4 else attr(node, name, 0)


def _grouped(node: ir.Node, _: Drawn) -> bool:
    asked, held = _heads(node, 0, "q_num_heads"), _heads(node, 1, "kv_num_heads")
    return isinstance(asked, int) and isinstance(held, int) and asked > held > 1


def _one_query(node: ir.Node, _: Drawn) -> bool:
    asked, held = sizes(node, 0)[-2:-1], sizes(node, 1)[-2:-1]
    return attr(node, "is_causal") == 1 and asked == (1,) and held not in ((), (1,)) and not given(node, 4)


def _saturates(node: ir.Node, drawn: Drawn) -> bool:
    held = [known(node, i, drawn) for i in range(8)]
    if any(h is None for h in held):
        return False
    a, scale, zero, b, scales, zeros, out, shift = (np.asarray(h, np.float64) for h in held)
    try:
        sums = (a - zero) * scale @ ((b - zeros) * scales) / out + shift
    except ValueError:
        return False
    kind = np.iinfo(np.asarray(held[7]).dtype)
    return bool(((np.rint(sums) > kind.max) | (np.rint(sums) < kind.min)).any())


def _size_is_axis(node: ir.Node, drawn: Drawn) -> bool:
    wanted, held = known(node, 1, drawn), sizes(node)
    if wanted is None or not held:
        return False
    axes = [a % len(held) for a in attr(node, "axes", range(len(held)))]
    return any(int(w) == a != held[a] for a, w in zip(axes, wanted.ravel(), strict=False))


def _uneven_negative(node: ir.Node, drawn: Drawn) -> bool:
    above, below = known(node, 0, drawn), known(node, 1, drawn)
    if (
        above is None
        or below is None
        or above.dtype.kind != "i"
        or not (above.size and below.size)
        or (below == 0).any()
    ):
        return False
    try:
        return bool(((above % below != 0) & ((above < 0) != (below < 0))).any())
    except ValueError:
        return False


def _ties(node: ir.Node, drawn: Drawn) -> bool:
    held = known(node, 0, drawn)
    if held is None or held.ndim == 0 or held.dtype.kind not in "iuf":
        return False
    rows = np.moveaxis(held, attr(node, "axis", -1), -1).reshape(-1, held.shape[attr(node, "axis", -1)])
    return any(len(np.unique(row)) < len(row) for row in rows)


# ---- tools -----------------------------------------------------------------------------------------------------------


def _high_bias(node: ir.Node, drawn: Drawn) -> bool:
    found = other(node, "MatMul")
    bias = None if found is None else known(node, found[1], drawn)
    return found is not None and bias is not None and rank(found[0].inputs[0]) > 2 and bias.ndim > 2


def _twins(node: ir.Node, drawn: Drawn) -> bool:
    first = node.inputs[0] if node.inputs else None
    if first is None or not any(v.name in drawn.outputs for v in node.outputs):
        return False
    others = [use.node for use in first.uses() if use.node is not node and use.node.op_type == node.op_type]
    alike = [o for o in others if list(o.inputs) == list(node.inputs) and str(o.attributes) == str(node.attributes)]
    return any(v.name in drawn.outputs for twin in alike for v in twin.outputs)


def _elided(node: ir.Node, _: Drawn) -> bool:
    inner = source(node, 0)
    if inner is None or inner.op_type not in ("Add", "Sub", "Mul", "Div", "Max", "Min") or len(inner.inputs) < 2:
        return False
    found = other(inner, "Cast")
    integers = found is not None and is_a(INTEGERS, found[0].inputs[0]) and is_a(INTEGERS, node.outputs[0])
    return integers and found is not None and constant(inner, found[1]) is not None


def _pads(node: ir.Node) -> Array | None:
    pad = source(node, 0)
    return constant(pad, 1) if pad is not None and pad.op_type == "Pad" else None


def _pad_without_mode(node: ir.Node, _: Drawn) -> bool:
    pad = source(node, 0)
    return _pads(node) is not None and pad is not None and "mode" not in pad.attributes


def _negative_pads(node: ir.Node, _: Drawn) -> bool:
    pads = _pads(node)
    return pads is not None and bool((pads < 0).any())


def _grouped_before(node: ir.Node, _: Drawn) -> bool:
    inner = source(node, 0)
    return inner is not None and inner.op_type == "ConvTranspose" and attr(inner, "group", 1) > 1


def _shared_weights(node: ir.Node, _: Drawn) -> bool:
    inner = source(node, 0)
    weights = inner.inputs[1] if inner is not None and inner.op_type == "Conv" else None
    return weights is not None and weights.const_value is not None and len(weights.uses()) > 1


def _reversed(node: ir.Node, _: Drawn) -> bool:
    steps = constant(node, 4)
    return steps is not None and bool((steps < 0).any()) and sizes(node) == _out(node) != ()


def _out(node: ir.Node) -> tuple[Any, ...]:
    found = fact(node.outputs[0])
    return () if found is None or found.rank is None else tuple(found.shape or ())


def _body_with_weights(node: ir.Node, _: Drawn) -> bool:
    bodies = [attr(node, name) for name in ("then_branch", "else_branch")]
    return constant(node, 0) is not None and any(isinstance(b, ir.Graph) and b.initializers for b in bodies)


def _shared_open_shape(node: ir.Node, _: Drawn) -> bool:
    shape = constant(node, 1)
    held = node.inputs[1]
    return (
        made_by(node, 0, "Reshape") and shape is not None and -1 in shape and held is not None and len(held.uses()) > 1
    )


TRIGGERS: dict[str, tuple[tuple[str, ...], Trigger]] = {
    "ort-einsum-lone-reduction": (("Einsum",), _einsum_lone),
    "ort-simplified-layernorm-scale": (("Mul",), _odd_scale),
    "ort-reshape-fusion-shape-input": (("Reshape",), lambda n, _: made_by(n, 1, "Reshape")),
    "ort-div-mul-identity": (("Mul",), _div_one),
    "ort-matmul-bn-rank": (("BatchNormalization",), _product_of_rank_3),
    "ort-skip-layernorm-gamma-rank": (
        ("LayerNormalization",),
        lambda n, _: made_by(n, 0, "Add") and rank(n.inputs[1]) > 1,
    ),
    "ort-qlinear-softmax-int8": (("QuantizeLinear",), _softmax_int8),
    "ort-averagepool-ceil-count": (("AveragePool",), _ceil_count),
    "ort-averagepool-pads-19": (("AveragePool",), _uneven_pads),
    "ort-reducelogsumexp-minus-infinity": (("ReduceLogSumExp",), _all_minus_infinity),
    "ort-attention-causal-one-query": (("Attention",), _one_query),
    "ort-qdq-resize-linear": (("QuantizeLinear",), _qdq_resize),
    "ort-tile-scalar": (("Tile",), lambda n, _: rank(n.inputs[0]) == 0),
    "ort-lpnormalization-empty": (("LpNormalization",), empty),
    "ort-attention-grouped": (("Attention",), _grouped),
    "ort-attention-softcap-mask": (("Attention",), lambda n, _: attr(n, "softcap", 0) > 0 and given(n, 3)),
    "reference-scatternd-min": (
        ("ScatterND",),
        lambda n, _: attr(n, "reduction") in ("min", "max") and sizes(n, 1)[-1:] not in ((), (0,), (1,)),
    ),
    "reference-qlinearmatmul-saturation": (("QLinearMatMul",), _saturates),
    "reference-scatterelements-mul": (("ScatterElements",), lambda n, _: attr(n, "reduction") == "mul"),
    "reference-centercroppad-axis": (("CenterCropPad",), _size_is_axis),
    "reference-convinteger-zero-point": (("ConvInteger",), lambda n, _: given(n, 3) and sizes(n, 3) not in ((), (1,))),
    "reference-div-negative": (("Div",), _uneven_negative),
    "reference-hardmax-empty": (("Hardmax",), empty),
    "reference-resize-saturate": (
        ("Resize",),
        lambda n, _: attr(n, "mode") == "cubic" and is_a((ir.DataType.UINT8, ir.DataType.INT8), n.inputs[0]),
    ),
    "reference-topk-ties": (("TopK",), _ties),
    "reference-cumsum-int32": (("CumSum",), lambda n, _: is_a((ir.DataType.INT32,), n.inputs[0])),
    "reference-concatfromsequence-new-axis": (
        ("ConcatFromSequence",),
        lambda n, _: attr(n, "new_axis") == 1 and attr(n, "axis") != -1,
    ),
    "reference-erf-empty": (("Erf",), empty),
    "reference-softplus-scalar": (("Softplus",), lambda n, _: rank(n.inputs[0]) == 0),
    "reference-softmax-empty": (("Softmax",), empty),
    "reference-reversesequence-zero": (
        ("ReverseSequence",),
        lambda n, d: (lens := known(n, 1, d)) is not None and bool((lens == 0).any()),
    ),
    "reference-nonzero-scalar": (("NonZero",), lambda n, _: rank(n.inputs[0]) == 0),
    "reference-gather-empty": (("Gather",), lambda n, _: 0 in sizes(n, 1)),
    "reference-attention-causal-past": (("Attention",), lambda n, _: attr(n, "is_causal") == 1 and given(n, 4)),
    "onnxslim-matmul-add-bias-rank": (("Add",), _high_bias),
    "onnxslim-reducesum-no-axes": (
        ("Unsqueeze",),
        lambda n, _: (r := source(n, 0)) is not None and r.op_type == "ReduceSum" and not given(r, 1),
    ),
    "onnxslim-twins-outputs": ((), _twins),
    "onnxslim-cast-elision": (("Cast",), _elided),
    "onnxslim-pad-conv-pads": (("Conv",), _pad_without_mode),
    "onnxslim-shape-start-end": (("Shape",), lambda n, _: "start" in n.attributes or "end" in n.attributes),
    "onnxscript-pad-conv-negative": (("Conv",), _negative_pads),
    "onnxscript-convtranspose-bn-group": (("BatchNormalization",), _grouped_before),
    "onnxscript-conv-bn-shared": (("BatchNormalization",), _shared_weights),
    "onnxscript-slices-split": (("Slice",), lambda n, _: siblings(n.inputs[0], "Slice") > 1),
    "onnxscript-slice-reversed": (("Slice",), _reversed),
    "onnxscript-if-initializer": (("If",), _body_with_weights),
    "onnxscript-reshape-reshape-names": (("Reshape",), _shared_open_shape),
    "openvino-greater-nan": (("Greater", "GreaterOrEqual"), lambda n, d: has_nan(n, d, 0, 1)),
    "openvino-reducelogsumexp-nan": (("ReduceLogSumExp",), lambda n, d: has_nan(n, d, 0)),
    "openvino-reducemin-nan": (("ReduceMin",), lambda n, d: has_nan(n, d, 0)),
    "openvino-resize-antialias": (
        ("Resize",),
        lambda n, _: attr(n, "antialias") == 1 and attr(n, "mode") == "cubic",
    ),
    "version-converter-split": (
        ("Split",),
        lambda n, d: d.opset < 18 and not given(n, 1) and "split" not in n.attributes,
    ),
}
"""By the name of a bug: the operators of the node that is asked (any, if there are none), and the question."""


def triggered(node: ir.Node, drawn: Drawn) -> list[str]:
    """Names of the bugs that a node would trigger; none if its attributes are not valid, as some are on purpose."""
    return [
        name for name, (ops, asks) in TRIGGERS.items() if (not ops or node.op_type in ops) and _holds(asks, node, drawn)
    ]


def _holds(asks: Trigger, node: ir.Node, drawn: Drawn) -> bool:
    try:
        return asks(node, drawn)
    except (ValueError, IndexError):  # an axis beyond the rank
        return False
