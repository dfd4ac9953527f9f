"""What NumPy's lowering does not compute, as reasons: ONNX leaves it open, contradicts itself, or says too little."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import onnx_ir as ir

from irfuzz.export.array.support.recurrences import ACTIVATIONS
from irfuzz.export.array.support.text import grams_of
from irfuzz.export.source.emitter_context import EmitterContext

_REAL = (ir.DataType.FLOAT, ir.DataType.DOUBLE, ir.DataType.FLOAT16, ir.DataType.BFLOAT16)

_WITHOUT_DEFAULT = ("affine", "scaledtanh")
"""Activations that are no operators of ONNX any more, so that their numbers are nowhere written down."""

Refusal = Callable[[EmitterContext, ir.Node, Mapping[str, Any]], str]


def _whole(ctx: EmitterContext, node: ir.Node) -> str:
    """The name of the first input's element type if that is not a floating-point one."""
    dtype = ctx.dtype(node.inputs[0])
    return "" if dtype is None or dtype in _REAL else dtype.name


def rounding_of(what: str) -> Refusal:
    """Of integers ONNX leaves the rounding open; ``{mode}`` and ``{dtype}`` are filled in."""

    def refuse(ctx: EmitterContext, node: ir.Node, given: Mapping[str, Any]) -> str:
        dtype = _whole(ctx, node)
        return f"ONNX does not say how {what.format(dtype=dtype, **given)}" if dtype else ""

    return refuse


def gemm(ctx: EmitterContext, node: ir.Node, given: Mapping[str, Any]) -> str:
    """Factors of integers that are not 1."""
    dtype = _whole(ctx, node)
    return "alpha = {alpha}, beta = {beta} on {0}".format(dtype, **given) if dtype and factors(given) else ""


def factors(given: Mapping[str, Any]) -> bool:
    """Whether a Gemm has any."""
    return given["alpha"] != 1 or given["beta"] != 1


def resize(ctx: EmitterContext, node: ir.Node, given: Mapping[str, Any]) -> str:
    """Weighted sums of integers."""
    if given["mode"] == "nearest":
        return ""
    return rounding_of("{mode} resizing rounds {dtype}")(ctx, node, given)


def upsample(ctx: EmitterContext, node: ir.Node, given: Mapping[str, Any]) -> str:
    """Modes that had no definition."""
    return "" if given["mode"] in ("nearest", "linear") else f"mode {given['mode']!r}"


def attention(ctx: EmitterContext, node: ir.Node, given: Mapping[str, Any]) -> str:
    """A softmax that rounds to less than float32."""
    precision = given.get("softmax_precision", ir.DataType.FLOAT)
    return "" if precision == ir.DataType.FLOAT else f"softmax_precision {ir.DataType(precision).name}"


def pool(ctx: EmitterContext, node: ir.Node, given: Mapping[str, Any]) -> str:
    """Windows that hang over a frame that is not there."""
    both = given.get("ceil_mode") and given["auto_pad"] == "VALID"
    return "ONNX's text and its shape inference differ on ceil_mode with auto_pad = VALID" if both else ""


def conv_transpose(ctx: EmitterContext, node: ir.Node, given: Mapping[str, Any]) -> str:
    """Pads that follow from the size of the result, as they were once."""
    generated = given.get("output_shape") or given["auto_pad"].startswith("SAME")
    odd = ctx.opset < 11 and generated
    return "before opset 11 ONNX put the odd padding on the other side than it says" if odd else ""


def batch_norm(ctx: EmitterContext, node: ir.Node, given: Mapping[str, Any]) -> str:
    """Training, until opset 14 defined it."""
    if ctx.opset >= 14:
        return ""
    if not given.get("is_test", 1):
        return "training before opset 14"
    if not given.get("spatial", 1):
        return "statistics for each activation (spatial = 0)"
    return "training outputs before opset 14" if len([v for v in node.outputs if v.name]) > 1 else ""


def rms_norm(ctx: EmitterContext, node: ir.Node, given: Mapping[str, Any]) -> str:
    """A scale of another type."""
    kinds = [ctx.dtype(value) for value in node.inputs[:2]]
    mixed = None not in kinds and kinds[0] != kinds[1]
    return "ONNX's function body has no type where X and scale have different ones" if mixed else ""


def dropout(ctx: EmitterContext, node: ir.Node, given: Mapping[str, Any]) -> str:
    """Training, when it was an attribute."""
    return "" if given.get("is_test", 1) else "the result is random without is_test"


def quantize(ctx: EmitterContext, node: ir.Node, given: Mapping[str, Any]) -> str:
    """Real numbers of few bits."""
    output = ir.DataType(given.get("output_dtype", 0))
    return f"output_dtype {output.name}" if output in _REAL else ""


def max_unpool(ctx: EmitterContext, node: ir.Node, given: Mapping[str, Any]) -> str:
    """Indices into another shape."""
    shaped = ctx.input(node, 2) is not None
    return "ONNX does not say in which shape indices count where output_shape is given" if shaped else ""


def recurrent(ctx: EmitterContext, node: ir.Node, given: Mapping[str, Any]) -> str:
    """Activations that ONNX does not define, or whose numbers it does not give."""
    for name in (name.lower() for name in given.get("activations", ())):
        if name not in ACTIVATIONS:
            original = next(n for n in given["activations"] if n.lower() == name)
            return f"activation {original!r}"
        if name in _WITHOUT_DEFAULT and not (given.get("activation_alpha") and given.get("activation_beta")):
            return f"activation {name!r} without alpha and beta"
    return ""


def scan(ctx: EmitterContext, node: ir.Node, given: Mapping[str, Any]) -> str:
    """Its first form."""
    return "the batches of opset 8" if ctx.opset < 9 else ""


def tfidf(ctx: EmitterContext, node: ir.Node, given: Mapping[str, Any]) -> str:
    """N-grams that stand twice in the pool, or two at one place."""
    if "pool_int64s" not in given:
        return "a pool of strings"
    grams, places = grams_of(given["pool_int64s"], given["ngram_counts"]), given["ngram_indexes"]
    twice = len(set(grams)) < len(grams) or len(set(places)) < len(places)
    return "ONNX does not say which of equal n-grams or places counts" if twice else ""
