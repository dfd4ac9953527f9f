# pyright: basic
"""Functions of each element by itself; those of floats are computed in float64."""

from __future__ import annotations

import math

import numpy as np

from irfuzz.export.array.support.dtype_conversions import cast, doubled, is_real, whole, wide
from irfuzz.export.size_arithmetic.result_shapes import flat_sizes


def rounded(function, x):
    """A ``function`` of float64, of elements of any floating-point type, rounded to that type."""
    return cast(function(wide(x)), x.dtype)


def logistic(x):
    """1 / (1 + exp(-x)) of float64, exact on both sides."""
    small = np.exp(-np.abs(x))
    return np.where(x < 0, small, 1.0) / (1 + small)


def each(function, x):
    """A function of Python's numbers for each element of a float64 array."""
    return np.array([function(element) for element in x.reshape(-1).tolist()], np.float64).reshape(x.shape)


def erf(x):
    """ONNX Erf."""
    return cast(each(math.erf, wide(x)), x.dtype)


def div(a, b):
    """ONNX Div: integers are rounded toward zero."""
    if is_real(a.dtype):
        return a / b
    down = a // b
    return np.where((down * b != a) & ((a < 0) != (b < 0)), down + 1, down).astype(a.dtype)


def mod(a, b, fmod=0):
    """ONNX Mod: the sign of the divisor, or of the dividend with ``fmod``."""
    return cast((np.fmod if fmod else np.mod)(wide(a), wide(b)), a.dtype)


def pow_(base, exponent):
    """ONNX Pow: the result has the type of ``base``; integer powers wrap, a power below 1 is cut off."""
    if is_real(base.dtype) or is_real(exponent.dtype):
        # Never one exponent for all: numpy computes some of these as a root or a square, which differs at -inf and -0.
        x, y = (np.array(part) for part in np.broadcast_arrays(doubled(base), doubled(exponent)))
        return cast(np.power(x.reshape(-1), y.reshape(-1)).reshape(x.shape), base.dtype)
    x, y = whole(base), whole(exponent)
    below = np.where(x == 1, 1, np.where(x == -1, 1 - 2 * (y & 1), 0))
    return np.where(y < 0, below, np.power(x, np.maximum(y, 0))).astype(base.dtype)


def max_(*xs):
    """ONNX Max; NaN wins."""
    result = xs[0]
    for x in xs[1:]:
        result = np.maximum(result, x)
    return result


def min_(*xs):
    """ONNX Min; NaN wins."""
    result = xs[0]
    for x in xs[1:]:
        result = np.minimum(result, x)
    return result


def sum_(*xs):
    """ONNX Sum."""
    result = wide(xs[0])
    for x in xs[1:]:
        result = result + wide(x)
    return cast(result, xs[0].dtype)


def mean(*xs):
    """ONNX Mean of several arrays."""
    result = wide(xs[0])
    for x in xs[1:]:
        result = result + wide(x)
    return cast(result / len(xs), xs[0].dtype)


def sign(x):
    """ONNX Sign; NaN stays NaN."""
    return cast(np.sign(wide(x)), x.dtype)


def clip(x, low=None, high=None):
    """ONNX Clip: min(max(x, low), high), so ``high`` wins if the bounds cross; NaN stays."""
    low, high = (None if bound is None else np.array(bound, x.dtype).reshape(()) for bound in (low, high))
    result = x if low is None else np.maximum(x, low)
    return result if high is None else np.minimum(result, high)


def relu(x):
    """ONNX Relu."""
    return np.maximum(x, np.zeros((), x.dtype))


def leaky_relu(x, alpha):
    """ONNX LeakyRelu: ``alpha * x`` below zero."""
    w = wide(x)
    return cast(np.where(w < 0, alpha * w, w), x.dtype)


def thresholded_relu(x, alpha):
    """ONNX ThresholdedRelu: x above ``alpha``, else 0 (also for NaN)."""
    return np.where(wide(x) > alpha, x, np.zeros((), x.dtype))


def prelu(x, slope):
    """ONNX PRelu: ``slope * x`` below zero; ``slope`` broadcasts to x."""
    return cast(np.where(x < 0, wide(x) * wide(slope), wide(x)), x.dtype)


def prelu_channels(x, slope):
    """ONNX PRelu before opset 7: one slope, or one for each channel."""
    return prelu(x, slope if slope.size == 1 else slope.reshape((-1, *[1] * (x.ndim - 2))))


def begin_at(b, a, axis):
    """``b`` with axes of size 1 added at its end, so that its own stand at ``axis`` of ``a``."""
    return b.reshape((*b.shape, *[1] * (a.ndim - axis % a.ndim - b.ndim)))


def elu(x, alpha):
    """ONNX Elu: alpha * (exp(x) - 1) below zero."""
    w = wide(x)
    return cast(np.where(w < 0, alpha * np.expm1(w), w), x.dtype)


def celu(x, alpha):
    """ONNX Celu: max(0, x) + min(0, alpha * (exp(x / alpha) - 1))."""
    w = wide(x)
    return cast(np.maximum(w, 0) + np.minimum(alpha * np.expm1(w / alpha), 0), x.dtype)


def selu(x, alpha, gamma):
    """ONNX Selu: gamma * (alpha * exp(x) - alpha) up to zero, gamma * x above."""
    w = wide(x)
    return cast(gamma * np.where(w > 0, w, alpha * np.expm1(w)), x.dtype)


def hard_sigmoid(x, alpha, beta):
    """ONNX HardSigmoid: alpha * x + beta between 0 and 1."""
    return cast(np.clip(alpha * wide(x) + beta, 0, 1), x.dtype)


def hard_swish(x):
    """ONNX HardSwish: x * HardSigmoid(x, 1/6, 0.5); 1/6 is the float32 attribute of its function body."""
    w = wide(x)
    return cast(w * np.clip(w * float(np.float32(1 / 6)) + 0.5, 0, 1), x.dtype)


def soft_plus(w):
    """log(exp(w) + 1) of float64."""
    return np.maximum(w, 0) + np.log1p(np.exp(-np.abs(w)))


def softsign(x):
    """ONNX Softsign: x / (1 + |x|)."""
    w = wide(x)
    return cast(w / (1 + np.abs(w)), x.dtype)


def mish(x):
    """ONNX Mish: x * tanh(softplus(x))."""
    w = wide(x)
    return cast(w * np.tanh(soft_plus(w)), x.dtype)


def swish(x, alpha):
    """ONNX Swish: x * sigmoid(alpha * x)."""
    w = wide(x)
    return cast(w * logistic(alpha * w), x.dtype)


def gelu(x, approximate):
    """ONNX Gelu: x/2 * (1 + erf(x / sqrt 2)), or its tanh form with the float32 constants of its function body."""
    w = wide(x)
    if approximate == "tanh":
        slope, cube = math.sqrt(float(np.float32(2 / math.pi))), float(np.float32(0.044715))
        return cast(0.5 * w * (1 + np.tanh(slope * (w + cube * w**3))), x.dtype)
    return cast(0.5 * w * each(math.erfc, w * -math.sqrt(0.5)), x.dtype)


def shrink(x, bias, lambd):
    """ONNX Shrink: x + bias below -lambd, x - bias above lambd, else 0."""
    w = doubled(x)
    return cast(np.where(w < -lambd, w + bias, np.where(w > lambd, w - bias, 0.0)), x.dtype)


def soft_max(w, axis):
    """exp(w) over its sum along an axis, and the logarithm of that, of float64."""
    if w.size == 0:
        return w, w
    shifted = w - np.max(w, axis, keepdims=True)
    total = np.sum(np.exp(shifted), axis, keepdims=True)
    return np.exp(shifted) / total, shifted - np.log(total)


def softmax(x, axis):
    """ONNX Softmax from opset 13, along one axis."""
    return cast(soft_max(wide(x), axis)[0], x.dtype)


def softmax_rows(x, axis):
    """ONNX Softmax before opset 13, along everything from ``axis`` on."""
    return in_rows(softmax, x, axis)


def in_rows(function, x, axis):
    """``function`` along everything from ``axis`` on."""
    return function(x.reshape(flat_sizes(x.shape, axis)), 1).reshape(x.shape)


def log_softmax_rows(x, axis):
    """ONNX LogSoftmax before opset 13."""
    return in_rows(log_softmax, x, axis)


def hardmax_rows(x, axis):
    """ONNX Hardmax before opset 13."""
    return in_rows(hardmax, x, axis)


def log_softmax(x, axis):
    """ONNX LogSoftmax from opset 13, along one axis."""
    return cast(soft_max(wide(x), axis)[1], x.dtype)


def hardmax(x, axis):
    """ONNX Hardmax from opset 13: 1 at the first greatest element along ``axis``, else 0."""
    if x.size == 0:
        return x
    best = np.argmax(wide(x), axis, keepdims=True)
    steps = np.arange(x.shape[axis]).reshape((-1, *[1] * (x.ndim - 1 - axis % x.ndim)))
    return (steps == best).astype(x.dtype)


def is_inf(x, detect_negative=1, detect_positive=1):
    """ONNX IsInf, of either sign as asked."""
    return np.isinf(x) & np.where(x < 0, bool(detect_negative), bool(detect_positive))


def shift(x, amount, direction):
    """ONNX BitShift: zeros, or the sign of signed types shifted to the right, come in; all of them beyond the width."""
    if direction == "LEFT":
        return np.where(amount < x.dtype.itemsize * 8, np.left_shift(x, amount), 0).astype(x.dtype)
    return np.right_shift(x, np.minimum(amount, x.dtype.itemsize * 8 - 1)).astype(x.dtype) * (
        (amount < x.dtype.itemsize * 8) | (x < 0)
    ).astype(x.dtype)
