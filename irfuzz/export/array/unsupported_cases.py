"""Reasons why NumPy's lowering refuses a call: ONNX does not define it, contradicts itself, or says too little."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import onnx_ir as ir

from irfuzz.export.array.support.ngram_counts import grams_of
from irfuzz.export.array.support.recurrences import ACTIVATIONS
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
    """A refusal of first inputs that are known not to be floating-point: ONNX leaves open how integers round.

    Args:
        what: names what rounds, in a sentence after "ONNX does not say how"; ``{dtype}`` in it becomes the name of the
            element type, and ``{mode}`` or any other attribute its value.
    """

    def refuse(ctx: EmitterContext, node: ir.Node, given: Mapping[str, Any]) -> str:
        dtype = _whole(ctx, node)
        return f"ONNX does not say how {what.format(dtype=dtype, **given)}" if dtype else ""

    return refuse


def gemm(ctx: EmitterContext, node: ir.Node, given: Mapping[str, Any]) -> str:
    """Gemm of integers with ``alpha`` or ``beta`` other than 1; empty for floats, and if the element type is not known.

    The reason names both factors and the type, as ``alpha = 0.5, beta = 1.0 on INT32``.
    """
    dtype = _whole(ctx, node)
    return "alpha = {alpha}, beta = {beta} on {0}".format(dtype, **given) if dtype and factors(given) else ""


def factors(given: Mapping[str, Any]) -> bool:
    """Whether a Gemm has factors other than 1.

    Args:
        given: its attributes with their defaults, ``alpha`` and ``beta`` among them.
    """
    return given["alpha"] != 1 or given["beta"] != 1


def resize(ctx: EmitterContext, node: ir.Node, given: Mapping[str, Any]) -> str:
    """Resize from opset 11: every mode but ``nearest`` sums up weighted elements, and ONNX does not say how such sums
    of integers round.

    Empty for ``nearest`` and for floats.
    """
    if given["mode"] == "nearest":
        return ""
    return rounding_of("{mode} resizing rounds {dtype}")(ctx, node, given)


def upsample(ctx: EmitterContext, node: ir.Node, given: Mapping[str, Any]) -> str:
    """Upsample, and Resize of opset 10, in a mode other than ``nearest`` and ``linear``: no other had a definition. The
    reason names the mode.
    """
    return "" if given["mode"] in ("nearest", "linear") else f"mode {given['mode']!r}"


def attention(ctx: EmitterContext, node: ir.Node, given: Mapping[str, Any]) -> str:
    """Attention, from opset 23, whose ``softmax_precision`` is another type than float32; an attribute that is absent
    counts as float32. The reason names the type.
    """
    precision = given.get("softmax_precision", ir.DataType.FLOAT)
    return "" if precision == ir.DataType.FLOAT else f"softmax_precision {ir.DataType(precision).name}"


def pool(ctx: EmitterContext, node: ir.Node, given: Mapping[str, Any]) -> str:
    """AveragePool, LpPool and MaxPool with both ``ceil_mode`` and ``auto_pad = VALID``: windows would hang over a frame
    that is not there, and ONNX's text and shape inference count them differently.
    """
    both = given.get("ceil_mode") and given["auto_pad"] == "VALID"
    return "ONNX's text and its shape inference differ on ceil_mode with auto_pad = VALID" if both else ""


def conv_transpose(ctx: EmitterContext, node: ir.Node, given: Mapping[str, Any]) -> str:
    """ConvTranspose before opset 11, if its pads follow from the size of the result (``output_shape``, or an
    ``auto_pad`` of SAME).

    ONNX then put the odd padding on the other side than its text says. From opset 11 on nothing is refused.
    """
    generated = given.get("output_shape") or given["auto_pad"].startswith("SAME")
    odd = ctx.opset < 11 and generated
    return "before opset 11 ONNX put the odd padding on the other side than it says" if odd else ""


def batch_norm(ctx: EmitterContext, node: ir.Node, given: Mapping[str, Any]) -> str:
    """BatchNormalization in training, until opset 14 defined it; empty from opset 14 on.

    Before it these are refused: ``is_test = 0`` (an attribute up to opset 6), ``spatial = 0`` (up to opset 8), and more
    than one output that has a name.
    """
    if ctx.opset >= 14:
        return ""
    if not given.get("is_test", 1):
        return "training before opset 14"
    if not given.get("spatial", 1):
        return "statistics for each activation (spatial = 0)"
    return "training outputs before opset 14" if len([v for v in node.outputs if v.name]) > 1 else ""


def rms_norm(ctx: EmitterContext, node: ir.Node, given: Mapping[str, Any]) -> str:
    """RMSNormalization (opset 23) whose first two inputs, X and scale, are known to have different element types:
    ONNX's function body has no type then.
    """
    kinds = [ctx.dtype(value) for value in node.inputs[:2]]
    mixed = None not in kinds and kinds[0] != kinds[1]
    return "ONNX's function body has no type where X and scale have different ones" if mixed else ""


def dropout(ctx: EmitterContext, node: ir.Node, given: Mapping[str, Any]) -> str:
    """Dropout before opset 7 with ``is_test = 0``, its default then: the result is random. Newer opsets have no such
    attribute, and nothing of theirs is refused here.
    """
    return "" if given.get("is_test", 1) else "the result is random without is_test"


def quantize(ctx: EmitterContext, node: ir.Node, given: Mapping[str, Any]) -> str:
    """QuantizeLinear, if ``output_dtype`` (from opset 21) is a floating-point type of at least 16 bits. The reason
    names that type; integers and an absent attribute pass.
    """
    output = ir.DataType(given.get("output_dtype", 0))
    return f"output_dtype {output.name}" if output in _REAL else ""


def max_unpool(ctx: EmitterContext, node: ir.Node, given: Mapping[str, Any]) -> str:
    """MaxUnpool with its third input, ``output_shape``: ONNX does not say in which shape the indices then count."""
    shaped = ctx.input(node, 2) is not None
    return "ONNX does not say in which shape indices count where output_shape is given" if shaped else ""


def recurrent(ctx: EmitterContext, node: ir.Node, given: Mapping[str, Any]) -> str:
    """GRU, LSTM and RNN with activations that ONNX does not define, or whose numbers it does not give.

    Names are compared without regard to case. Affine and ScaledTanh pass only if both ``activation_alpha`` and
    ``activation_beta`` are given; the reason names the first activation that does not pass.
    """
    for name in (name.lower() for name in given.get("activations", ())):
        if name not in ACTIVATIONS:
            original = next(n for n in given["activations"] if n.lower() == name)
            return f"activation {original!r}"
        if name in _WITHOUT_DEFAULT and not (given.get("activation_alpha") and given.get("activation_beta")):
            return f"activation {name!r} without alpha and beta"
    return ""


def scan(ctx: EmitterContext, node: ir.Node, given: Mapping[str, Any]) -> str:
    """Scan before opset 9: opset 8 had batches, which this lowering does not compute. Empty from opset 9 on."""
    return "the batches of opset 8" if ctx.opset < 9 else ""


def tfidf(ctx: EmitterContext, node: ir.Node, given: Mapping[str, Any]) -> str:
    """TfIdfVectorizer with a pool of strings, with an n-gram that is in the pool twice, or with two n-grams at one
    place of the result: ONNX does not say which of them counts.
    """
    if "pool_int64s" not in given:
        return "a pool of strings"
    grams, places = grams_of(given["pool_int64s"], given["ngram_counts"]), given["ngram_indexes"]
    twice = len(set(grams)) < len(grams) or len(set(places)) < len(places)
    return "ONNX does not say which of equal n-grams or places counts" if twice else ""
