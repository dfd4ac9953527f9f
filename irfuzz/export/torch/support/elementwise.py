# pyright: basic
"""Operators that compute element by element, with numpy's broadcasting."""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F  # noqa: N812 - as torch's own documentation calls it

from irfuzz.export.torch.support.dtype_conversions import (
    bits,
    cast,
    divide_int,
    exact_int,
    ordered,
    single,
    unbits,
    unordered,
)


def add(a, b):
    """ONNX Add; integers wrap."""
    return unbits(bits(a) + bits(b), a.dtype)


def sub(a, b):
    """ONNX Sub; integers wrap."""
    return unbits(bits(a) - bits(b), a.dtype)


def mul(a, b):
    """ONNX Mul; integers wrap."""
    return unbits(bits(a) * bits(b), a.dtype)


def div(a, b):
    """ONNX Div: integers are rounded toward zero."""
    return a / b if a.dtype.is_floating_point else divide_int(a, b)


def mod(a, b, fmod=0):
    """ONNX Mod: the sign of the divisor, or of the dividend with ``fmod``."""
    if a.dtype.is_floating_point:
        if fmod:
            return torch.fmod(a, b)
        rest = torch.remainder(a, b)
        return torch.where(rest == 0, torch.copysign(rest, b), rest)
    if a.dtype == torch.uint64:
        return sub(a, mul(divide_int(a, b), b))
    wide_a, wide_b = ordered(a), ordered(b)
    return (torch.fmod(wide_a, wide_b) if fmod else torch.remainder(wide_a, wide_b)).to(a.dtype)


def pow_(base, exponent):
    """ONNX Pow: the result has the type of ``base``; mixed types are computed in float64, integer powers wrap."""
    base_float, exponent_float = base.dtype.is_floating_point, exponent.dtype.is_floating_point
    if not base_float and not exponent_float:
        x, y = exact_int(base), exact_int(exponent)
        return torch.pow(*torch.broadcast_tensors(x, y)).to(base.dtype)
    x, y = base, exponent
    if base.dtype != exponent.dtype:
        x, y = base.double(), exponent.double()
    shape = torch.broadcast_shapes(x.shape, y.shape)
    # Never a 0-d exponent: torch computes some of these as sqrt or square, which differs at -inf and -0.
    x, y = x.expand(shape).reshape(-1), y.expand(shape).reshape(-1)
    return cast(torch.pow(x, y).reshape(shape), base.dtype)


def max_(*xs):
    """ONNX Max; NaN wins."""
    result = ordered(xs[0])
    for x in xs[1:]:
        result = torch.maximum(result, ordered(x))
    return unordered(result, xs[0].dtype)


def min_(*xs):
    """ONNX Min; NaN wins."""
    result = ordered(xs[0])
    for x in xs[1:]:
        result = torch.minimum(result, ordered(x))
    return unordered(result, xs[0].dtype)


def sum_(*xs):
    """ONNX Sum, from left to right."""
    result = single(xs[0])
    for x in xs[1:]:
        result = result + single(x)
    return result.to(xs[0].dtype)


def mean(*xs):
    """ONNX Mean of several tensors."""
    result = single(xs[0])
    for x in xs[1:]:
        result = result + single(x)
    return (result / len(xs)).to(xs[0].dtype)


def less(a, b):
    """ONNX Less."""
    return ordered(a) < ordered(b)


def less_or_equal(a, b):
    """ONNX LessOrEqual."""
    return ordered(a) <= ordered(b)


def greater(a, b):
    """ONNX Greater."""
    return ordered(a) > ordered(b)


def greater_or_equal(a, b):
    """ONNX GreaterOrEqual."""
    return ordered(a) >= ordered(b)


def abs_(x):
    """ONNX Abs; the least signed integer stays itself."""
    return x if x.dtype in (torch.uint8, torch.uint16, torch.uint32, torch.uint64) else torch.abs(x)


def sign(x):
    """ONNX Sign; NaN stays NaN (torch gives 0)."""
    if x.dtype.is_floating_point:
        return torch.where(torch.isnan(x), x, torch.sign(x))
    if x.dtype in (torch.uint8, torch.uint16, torch.uint32, torch.uint64):
        return (x != 0).to(x.dtype)
    return torch.sign(x)


def clip(x, low=None, high=None):
    """ONNX Clip: min(max(x, low), high), so ``high`` wins if the bounds cross; NaN stays."""
    result = ordered(x)
    if low is not None:
        result = torch.maximum(result, ordered(low))
    if high is not None:
        result = torch.minimum(result, ordered(high))
    return unordered(result, x.dtype)


def clip_to(x, low, high):
    """ONNX Clip before opset 11, whose bounds are numbers."""
    return clip(x, torch.tensor(low, dtype=x.dtype), torch.tensor(high, dtype=x.dtype))


def leaky_relu(x, alpha):
    """ONNX LeakyRelu: ``alpha * x`` below zero."""
    return torch.where(x < 0, (single(x) * alpha).to(x.dtype), x)


def thresholded_relu(x, alpha):
    """ONNX ThresholdedRelu: x above ``alpha``, else 0 (also for NaN)."""
    return torch.where(single(x) > alpha, x, torch.zeros_like(x))


def prelu(x, slope):
    """ONNX PRelu: ``slope * x`` below zero; ``slope`` broadcasts to x."""
    if x.dtype in (torch.uint8, torch.uint16, torch.uint32, torch.uint64):
        return x
    return torch.where(x < 0, x * slope, x)


def prelu_channels(x, slope):
    """ONNX PRelu before opset 7: one slope, or one for each channel."""
    return prelu(x, slope if slope.numel() == 1 else slope.reshape(-1, *(1,) * (x.dim() - 2)))


def begin_at(b, a, axis):
    """``b`` with axes of size 1 added at its end, so that its own stand at ``axis`` of ``a``."""
    return b.reshape(b.shape + (1,) * (a.dim() - axis % a.dim() - b.dim()))


def elu(x, alpha):
    """ONNX Elu: alpha * (exp(x) - 1) below zero."""
    w = single(x)
    return torch.where(w < 0, alpha * torch.expm1(w), w).to(x.dtype)


def celu(x, alpha):
    """ONNX Celu: max(0, x) + min(0, alpha * (exp(x / alpha) - 1))."""
    w = single(x)
    return (torch.clamp(w, min=0) + torch.clamp(alpha * torch.expm1(w / alpha), max=0)).to(x.dtype)


def selu(x, alpha, gamma):
    """ONNX Selu: gamma * (alpha * exp(x) - alpha) up to zero, gamma * x above."""
    w = single(x)
    return torch.where(w > 0, gamma * w, gamma * (alpha * torch.expm1(w))).to(x.dtype)


def hard_sigmoid(x, alpha, beta):
    """ONNX HardSigmoid: alpha * x + beta between 0 and 1."""
    return torch.clamp(single(x) * alpha + beta, 0, 1).to(x.dtype)


def hard_swish(x):
    """ONNX HardSwish: x * HardSigmoid(x, 1/6, 0.5); 1/6 is the float32 attribute of its function body."""
    w = single(x)
    return (w * torch.clamp(w * 0.1666666716337204 + 0.5, 0, 1)).to(x.dtype)


def softplus(x):
    """ONNX Softplus: log(exp(x) + 1) (torch's own is linear beyond a threshold)."""
    w = single(x)
    return torch.logaddexp(w, torch.zeros_like(w)).to(x.dtype)


def softsign(x):
    """ONNX Softsign: x / (1 + |x|)."""
    w = single(x)
    return (w / (1 + torch.abs(w))).to(x.dtype)


def mish(x):
    """ONNX Mish: x * tanh(softplus(x))."""
    w = single(x)
    return (w * torch.tanh(torch.logaddexp(w, torch.zeros_like(w)))).to(x.dtype)


def swish(x, alpha):
    """ONNX Swish: x * sigmoid(alpha * x)."""
    w = single(x)
    return (w * torch.sigmoid(alpha * w)).to(x.dtype)


def gelu(x, approximate):
    """ONNX Gelu: x/2 * (1 + erf(x / sqrt 2)), or its tanh form."""
    w = single(x)
    if approximate == "tanh":
        # The constants of the operator's function body, which are float32: the root of 2 / pi, and 0.044715.
        inner = 0.7978845447087116 * (w + 0.04471499845385551 * w * w * w)
        return (0.5 * w * (1 + torch.tanh(inner))).to(x.dtype)
    return (0.5 * w * (1 + torch.erf(w / math.sqrt(2)))).to(x.dtype)


def shrink(x, bias, lambd):
    """ONNX Shrink: x + bias below -lambd, x - bias above lambd, else 0; computed in float64 for integers."""
    w = single(x) if x.dtype.is_floating_point else x.double()
    return torch.where(w < -lambd, w + bias, torch.where(w > lambd, w - bias, torch.zeros_like(w))).to(x.dtype)


def softmax(x, axis):
    """ONNX Softmax from opset 13, along one axis."""
    return torch.softmax(single(x), axis).to(x.dtype)


def log_softmax(x, axis):
    """ONNX LogSoftmax from opset 13, along one axis."""
    return torch.log_softmax(single(x), axis).to(x.dtype)


def hardmax(x, axis):
    """ONNX Hardmax from opset 13: 1 at the first greatest element along ``axis``, else 0."""
    if x.numel() == 0:
        return torch.zeros_like(x)
    return torch.zeros_like(x).scatter(axis, torch.argmax(x, axis, keepdim=True), 1)


def as_rows(function, x, axis):
    """Softmax and its kin before opset 13: ``function`` along everything from ``axis`` on."""
    axis = axis + x.dim() if axis < 0 else axis
    return function(x.reshape(math.prod(x.shape[:axis]), math.prod(x.shape[axis:])), 1).reshape(x.shape)


def is_inf(x, negative=1, positive=1):
    """ONNX IsInf, of either sign as asked."""
    return ((x == float("inf")) & bool(positive)) | ((x == -float("inf")) & bool(negative))


def shift(x, amount, direction):
    """ONNX BitShift: logical on unsigned types, arithmetic on signed; beyond the width only the sign's fill is left."""
    width = x.dtype.itemsize * 8
    value, count = exact_int(x), exact_int(amount)
    over = (count >= width) | (count < 0)
    count = torch.where(over, 0, count)
    if direction == "LEFT":
        return torch.where(over, 0, value << count).to(x.dtype)
    if x.dtype == torch.uint64:
        # An arithmetic shift of int64 brings sign bits in from the left: mask them.
        mask = torch.where(count == 0, -1, (1 << (64 - torch.clamp(count, min=1))) - 1)
        return torch.where(over, 0, (value >> count) & mask).to(x.dtype)
    return torch.where(over, torch.where(value < 0, -1, 0), value >> count).to(x.dtype)


def bit_and(a, b):
    """ONNX BitwiseAnd."""
    return unbits(bits(a) & bits(b), a.dtype)


def bit_or(a, b):
    """ONNX BitwiseOr."""
    return unbits(bits(a) | bits(b), a.dtype)


def bit_xor(a, b):
    """ONNX BitwiseXor."""
    return unbits(bits(a) ^ bits(b), a.dtype)


def bit_not(x):
    """ONNX BitwiseNot."""
    return unbits(~bits(x), x.dtype)


def relu(x):
    """ONNX Relu for any element type."""
    return x if x.dtype in (torch.uint8, torch.uint16, torch.uint32, torch.uint64) else F.relu(x)
