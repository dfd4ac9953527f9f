# pyright: basic, reportArgumentType=none, reportCallIssue=none, reportOperatorIssue=none, reportOptionalOperand=none
"""Operators that compute element by element, with numpy's broadcasting."""

from __future__ import annotations

import math

import tensorflow as tf

from irfuzz.export.tensorflow.support.array_tensor_conversion import sizes_of
from irfuzz.export.tensorflow.support.dtype_conversions import UNSIGNED, cast, divide_int, exact_int, single
from irfuzz.export.tensorflow.support.reductions import arg_max


def rounded(function, x):
    """``function(x)``, of half types computed in float32 and rounded once."""
    return tf.cast(function(single(x)), x.dtype)


def acos(x):
    """ONNX Acos."""
    return rounded(tf.acos, x)


def acosh(x):
    """ONNX Acosh."""
    return rounded(tf.acosh, x)


def asin(x):
    """ONNX Asin."""
    return rounded(tf.asin, x)


def asinh(x):
    """ONNX Asinh."""
    return rounded(tf.asinh, x)


def atan(x):
    """ONNX Atan."""
    return rounded(tf.atan, x)


def atanh(x):
    """ONNX Atanh."""
    return rounded(tf.atanh, x)


def cos(x):
    """ONNX Cos."""
    return rounded(tf.cos, x)


def cosh(x):
    """ONNX Cosh."""
    return rounded(tf.cosh, x)


def erf(x):
    """ONNX Erf of floating types."""
    return rounded(bounded_erf, x)


def bounded_erf(w):
    """The error function; in float64 TensorFlow's own is NaN at infinities and very large numbers."""
    return tf.math.erf(tf.clip_by_value(w, -30.0, 30.0))


def exp(x):
    """ONNX Exp."""
    return rounded(tf.exp, x)


def log(x):
    """ONNX Log."""
    return rounded(tf.math.log, x)


def sigmoid(x):
    """ONNX Sigmoid."""
    return rounded(tf.sigmoid, x)


def sin(x):
    """ONNX Sin."""
    return rounded(tf.sin, x)


def sinh(x):
    """ONNX Sinh."""
    return rounded(tf.sinh, x)


def sqrt(x):
    """ONNX Sqrt."""
    return rounded(tf.sqrt, x)


def tan(x):
    """ONNX Tan."""
    return rounded(tf.tan, x)


def tanh(x):
    """ONNX Tanh."""
    return rounded(tf.tanh, x)


def reciprocal(x):
    """ONNX Reciprocal."""
    return tf.ones((), x.dtype) / x


def add(a, b):
    """ONNX Add; integers wrap."""
    return a + b


def sub(a, b):
    """ONNX Sub; integers wrap."""
    return a - b


def mul(a, b):
    """ONNX Mul; integers wrap."""
    return a * b


def div(a, b):
    """ONNX Div: integers are rounded toward zero."""
    return a / b if a.dtype.is_floating else divide_int(a, b)


def mod(a, b, fmod=0):
    """ONNX Mod: the sign of the divisor, or of the dividend with ``fmod``."""
    if not a.dtype.is_floating:
        rest = a - divide_int(a, b) * b
        if fmod or a.dtype in UNSIGNED:
            return rest
        zero = tf.zeros((), a.dtype)
        return tf.where(tf.not_equal(rest, zero) & tf.not_equal(rest < zero, b < zero), rest + b, rest)
    x, y = single(a), single(b)
    rest = tf.truncatemod(x, y)
    if not fmod:
        zero = tf.where(y < 0, tf.constant(-0.0, x.dtype), tf.constant(0.0, x.dtype))
        rest = tf.where(tf.equal(rest, 0), zero, tf.where(tf.not_equal(rest < 0, y < 0), rest + y, rest))
    return tf.cast(rest, a.dtype)


def pow_(base, exponent):
    """ONNX Pow: the result has the type of ``base``; mixed types are computed in float64, integer powers wrap."""
    if not base.dtype.is_floating and not exponent.dtype.is_floating:
        return tf.cast(power_int(exact_int(base), exact_int(exponent)), base.dtype)
    x, y = base, exponent
    if base.dtype != exponent.dtype:
        x, y = tf.cast(base, tf.float64), tf.cast(exponent, tf.float64)
    return cast(tf.pow(single(x), single(y)), base.dtype)


def power_int(x, y):
    """int64 powers modulo 2**64; negative ones are 0 but for bases 1 and -1."""
    result = tf.pow(x, tf.maximum(y, tf.constant(0, tf.int64)))
    odd = tf.equal(tf.bitwise.bitwise_and(y, tf.constant(1, tf.int64)), 1)
    unit = tf.where(tf.equal(tf.abs(x), 1), tf.where(odd, x, tf.ones_like(x)), tf.zeros_like(x))
    return tf.where(y < 0, unit, result)


def max_(*xs):
    """ONNX Max; NaN wins."""
    result = xs[0]
    for x in xs[1:]:
        result = greatest(result, x)
    return result


def min_(*xs):
    """ONNX Min; NaN wins."""
    result = xs[0]
    for x in xs[1:]:
        result = least(result, x)
    return result


def greatest(a, b):
    """The greater of two, NaN if either is."""
    if not a.dtype.is_floating:
        return tf.maximum(a, b)
    return tf.where(tf.math.is_nan(a) | tf.math.is_nan(b), a + b, tf.maximum(a, b))


def least(a, b):
    """The lesser of two, NaN if either is."""
    if not a.dtype.is_floating:
        return tf.minimum(a, b)
    return tf.where(tf.math.is_nan(a) | tf.math.is_nan(b), a + b, tf.minimum(a, b))


def sum_(*xs):
    """ONNX Sum, from left to right."""
    result = single(xs[0])
    for x in xs[1:]:
        result = result + single(x)
    return tf.cast(result, xs[0].dtype)


def mean(*xs):
    """ONNX Mean of several tensors."""
    result = single(xs[0])
    for x in xs[1:]:
        result = result + single(x)
    return tf.cast(result / len(xs), xs[0].dtype)


def less(a, b):
    """ONNX Less."""
    return a < b


def less_or_equal(a, b):
    """ONNX LessOrEqual."""
    return a <= b


def greater(a, b):
    """ONNX Greater."""
    return a > b


def greater_or_equal(a, b):
    """ONNX GreaterOrEqual."""
    return a >= b


def abs_(x):
    """ONNX Abs; the least signed integer stays itself."""
    return x if x.dtype in UNSIGNED else tf.abs(x)


def neg(x):
    """ONNX Neg; the least signed integer stays itself."""
    return tf.negative(x)


def sign(x):
    """ONNX Sign; NaN stays NaN."""
    if x.dtype in UNSIGNED:
        return tf.cast(tf.not_equal(x, tf.zeros((), x.dtype)), x.dtype)
    result = tf.sign(x)
    return tf.where(tf.math.is_nan(x), x, result) if x.dtype.is_floating else result


def clip(x, low=None, high=None):
    """ONNX Clip: min(max(x, low), high), so ``high`` wins if the bounds cross; NaN stays."""
    if low is not None:
        x = greatest(x, low)
    return x if high is None else least(x, high)


def clip_to(x, low, high):
    """ONNX Clip before opset 11, whose bounds are numbers."""
    return clip(x, tf.constant(low, x.dtype), tf.constant(high, x.dtype))


def relu(x):
    """ONNX Relu for any element type; NaN stays."""
    return x if x.dtype in UNSIGNED else tf.where(x < tf.zeros((), x.dtype), tf.zeros_like(x), x)


def leaky_relu(x, alpha):
    """ONNX LeakyRelu: ``alpha * x`` below zero."""
    w = single(x)
    return tf.where(w < 0, tf.cast(w * alpha, x.dtype), x)


def thresholded_relu(x, alpha):
    """ONNX ThresholdedRelu: x above ``alpha``, else 0 (also for NaN)."""
    return tf.where(single(x) > alpha, x, tf.zeros_like(x))


def prelu(x, slope):
    """ONNX PRelu: ``slope * x`` below zero; ``slope`` broadcasts to x."""
    return x if x.dtype in UNSIGNED else tf.where(x < tf.zeros((), x.dtype), x * slope, x)


def prelu_channels(x, slope):
    """ONNX PRelu before opset 7: one slope, or one for each channel."""
    if math.prod(sizes_of(slope)) != 1:
        slope = tf.reshape(slope, (-1, *(1,) * (len(x.shape) - 2)))
    return prelu(x, slope)


def begin_at(b, a, axis):
    """``b`` with axes of size 1 added at its end, so that its own stand at ``axis`` of ``a``."""
    rank = len(a.shape)
    return tf.reshape(b, (*sizes_of(b), *(1,) * (rank - axis % rank - len(b.shape))))


def elu(x, alpha):
    """ONNX Elu: alpha * (exp(x) - 1) below zero."""
    w = single(x)
    return tf.cast(tf.where(w < 0, alpha * tf.math.expm1(w), w), x.dtype)


def celu(x, alpha):
    """ONNX Celu: max(0, x) + min(0, alpha * (exp(x / alpha) - 1))."""
    w = single(x)
    zero = tf.zeros_like(w)
    return tf.cast(greatest(w, zero) + least(alpha * tf.math.expm1(w / alpha), zero), x.dtype)


def selu(x, alpha, gamma):
    """ONNX Selu: gamma * (alpha * exp(x) - alpha) up to zero, gamma * x above."""
    w = single(x)
    return tf.cast(tf.where(w > 0, gamma * w, gamma * (alpha * tf.math.expm1(w))), x.dtype)


def between(x, low, high):
    """Floats no less than ``low`` and no greater than ``high``; NaN stays."""
    return least(greatest(x, tf.constant(low, x.dtype)), tf.constant(high, x.dtype))


def hard_sigmoid(x, alpha, beta):
    """ONNX HardSigmoid: alpha * x + beta between 0 and 1."""
    return tf.cast(between(single(x) * alpha + beta, 0, 1), x.dtype)


def hard_swish(x):
    """ONNX HardSwish: x * HardSigmoid(x, 1/6, 0.5); 1/6 is the float32 attribute of its function body."""
    w = single(x)
    return tf.cast(w * between(w * 0.1666666716337204 + 0.5, 0, 1), x.dtype)


def log_one_plus_exp(w):
    """log(exp(w) + 1), without overflow."""
    return greatest(w, tf.zeros_like(w)) + tf.math.log1p(tf.exp(-tf.abs(w)))


def softplus(x):
    """ONNX Softplus: log(exp(x) + 1) (TensorFlow's own is linear beyond a threshold)."""
    return rounded(log_one_plus_exp, x)


def softsign(x):
    """ONNX Softsign: x / (1 + |x|)."""
    w = single(x)
    return tf.cast(w / (1 + tf.abs(w)), x.dtype)


def mish(x):
    """ONNX Mish: x * tanh(softplus(x))."""
    w = single(x)
    return tf.cast(w * tf.tanh(log_one_plus_exp(w)), x.dtype)


def swish(x, alpha):
    """ONNX Swish: x * sigmoid(alpha * x)."""
    w = single(x)
    return tf.cast(w * tf.sigmoid(alpha * w), x.dtype)


def gelu(x, approximate):
    """ONNX Gelu: x/2 * (1 + erf(x / sqrt 2)), or its tanh form."""
    w = single(x)
    if approximate == "tanh":
        # The constants of the operator's function body, which are float32: the root of 2 / pi, and 0.044715.
        inner = 0.7978845447087116 * (w + 0.04471499845385551 * w * w * w)
        return tf.cast(0.5 * w * (1 + tf.tanh(inner)), x.dtype)
    return tf.cast(0.5 * w * (1 + bounded_erf(w / math.sqrt(2))), x.dtype)


def shrink(x, bias, lambd):
    """ONNX Shrink: x + bias below -lambd, x - bias above lambd, else 0; computed in float64 for integers."""
    w = single(x) if x.dtype.is_floating else tf.cast(x, tf.float64)
    return tf.cast(tf.where(w < -lambd, w + bias, tf.where(w > lambd, w - bias, tf.zeros_like(w))), x.dtype)


def softmax(x, axis):
    """ONNX Softmax from opset 13, along one axis."""
    w = single(x)
    powers = tf.exp(w - tf.reduce_max(w, axis, keepdims=True))
    return tf.cast(powers / tf.reduce_sum(powers, axis, keepdims=True), x.dtype)


def log_softmax(x, axis):
    """ONNX LogSoftmax from opset 13, along one axis."""
    w = single(x)
    w = w - tf.reduce_max(w, axis, keepdims=True)
    return tf.cast(w - tf.math.log(tf.reduce_sum(tf.exp(w), axis, keepdims=True)), x.dtype)


def hardmax(x, axis):
    """ONNX Hardmax from opset 13: 1 at the first greatest element along ``axis``, else 0."""
    count, axis = sizes_of(x)[axis], axis % len(x.shape)
    if math.prod(sizes_of(x)) == 0:
        return tf.zeros_like(x)
    return tf.one_hot(arg_max(x, axis, keepdims=0), count, tf.ones((), x.dtype), tf.zeros((), x.dtype), axis)


def as_rows(function, x, axis):
    """Softmax and its kin before opset 13: ``function`` along everything from ``axis`` on."""
    sizes = sizes_of(x)
    axis = axis + len(sizes) if axis < 0 else axis
    rows = tf.reshape(x, (math.prod(sizes[:axis]), math.prod(sizes[axis:])))
    return tf.reshape(function(rows, 1), sizes)


def is_inf(x, negative=1, positive=1):
    """ONNX IsInf, of either sign as asked."""
    if negative and positive:
        return tf.math.is_inf(x)
    above, below = tf.math.is_inf(x) & (x > 0), tf.math.is_inf(x) & (x < 0)
    return (above & bool(positive)) | (below & bool(negative))


def shift(x, amount, direction):
    """ONNX BitShift: logical on unsigned types, arithmetic on signed; beyond the width only the sign's fill is left."""
    width = tf.constant(x.dtype.size * 8, amount.dtype)
    over = amount >= width if x.dtype in UNSIGNED else (amount >= width) | (amount < tf.zeros((), amount.dtype))
    count = tf.where(over, tf.zeros_like(amount), amount)
    if direction == "LEFT":
        return tf.where(over, tf.zeros_like(x), tf.bitwise.left_shift(x, count))
    fill = tf.zeros_like(x) if x.dtype in UNSIGNED else tf.where(x < 0, tf.constant(-1, x.dtype), tf.zeros_like(x))
    return tf.where(over, fill, tf.bitwise.right_shift(x, count))


def bit_and(a, b):
    """ONNX BitwiseAnd."""
    return tf.bitwise.bitwise_and(a, b)


def bit_or(a, b):
    """ONNX BitwiseOr."""
    return tf.bitwise.bitwise_or(a, b)


def bit_xor(a, b):
    """ONNX BitwiseXor."""
    return tf.bitwise.bitwise_xor(a, b)


def bit_not(x):
    """ONNX BitwiseNot."""
    return tf.bitwise.invert(x)
