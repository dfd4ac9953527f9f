"""Faulty kernels of arithmetic, activations and reductions, made of the right ones."""

from __future__ import annotations

import numpy as np
from wrong_layers import Attrs, Inputs, Outputs, Right

# ---- products -------------------------------------------------------------------------------


def in_bfloat16(right: Right, inputs: Inputs, attrs: Attrs) -> Outputs:
    """Rounds the operands of a product to bfloat16."""
    rounded = [((x.view(np.uint32) + 0x8000) & 0xFFFF0000).view(np.float32) for x in map(np.ascontiguousarray, inputs)]
    return right(*rounded, **attrs)


def in_half(right: Right, inputs: Inputs, attrs: Attrs) -> Outputs:
    """Computes in half precision."""
    halves = [x.astype(np.float16) for x in inputs if x is not None]
    return tuple(y.astype(np.float32) for y in right(*halves, **attrs))


def first_of_the_batch(right: Right, inputs: Inputs, attrs: Attrs) -> Outputs:
    """A product of batches uses the first right operand for all."""
    a, b = inputs
    return right(a, np.broadcast_to(b[:1], b.shape), **attrs) if b.ndim > 2 else right(a, b, **attrs)


def repeats_first_row(right: Right, inputs: Inputs, attrs: Attrs) -> Outputs:
    """A product of more than one row gives the first row again and again."""
    (y,) = right(*inputs, **attrs)
    return (np.broadcast_to(y[..., :1, :], y.shape).copy(),)


def last_term_lost(right: Right, inputs: Inputs, attrs: Attrs) -> Outputs:
    """A product stops one term early."""
    a, b, *rest = inputs
    a = a.copy()
    a[..., -1] = 0
    return right(a, b, *rest, **attrs)


def c_forgotten(right: Right, inputs: Inputs, attrs: Attrs) -> Outputs:
    """Gemm leaves its third operand out."""
    return right(*inputs[:2], **attrs)


def c_of_first_column(right: Right, inputs: Inputs, attrs: Attrs) -> Outputs:
    """Gemm adds the first number of C to all columns."""
    a, b, *c = inputs
    return right(a, b, *[np.full_like(x, x.reshape(-1)[0]) for x in c], **attrs)


def alpha_twice(right: Right, inputs: Inputs, attrs: Attrs) -> Outputs:
    """Gemm scales by alpha twice."""
    return right(*inputs, **{**attrs, "alpha": attrs["alpha"] ** 2})


def einsum_keys_shifted(right: Right, inputs: Inputs, attrs: Attrs) -> Outputs:
    """Einsum reads its second operand from the second row on."""
    a, b = inputs
    return right(a, np.roll(b, -1, axis=-2) if "bhjd->bhij" in str(attrs["equation"]) else b, **attrs)


# ---- arithmetic -----------------------------------------------------------------------------


def broadcasts_first_number(right: Right, inputs: Inputs, attrs: Attrs) -> Outputs:
    """Where a vector is broadcast, its first number is taken for all."""
    shape = np.broadcast_shapes(*(x.shape for x in inputs))
    fill = [x.dtype.kind == "f" and x.ndim == 1 < len(shape) for x in inputs]
    made = [np.full_like(x, x.reshape(-1)[0]) if f else x for x, f in zip(inputs, fill, strict=True)]
    return right(*made, **attrs)


def broadcasts_from_the_left(right: Right, inputs: Inputs, attrs: Attrs) -> Outputs:
    """Aligns a vector with the axis before the last, where it fits."""
    a, b = inputs
    if b.ndim == 1 and a.ndim > 1 and a.shape[-2] == b.shape[0]:
        return right(a, b[:, None], **attrs)
    return right(a, b, **attrs)


def operands_swapped(right: Right, inputs: Inputs, attrs: Attrs) -> Outputs:
    """Takes the second operand for the first."""
    return right(inputs[1], inputs[0], **attrs)


def coarse_reciprocal(right: Right, inputs: Inputs, attrs: Attrs) -> Outputs:
    """Multiplies by a reciprocal with an error of 2 percent."""
    a, b = inputs
    if a.dtype.kind != "f":
        return right(a, b, **attrs)
    return ((a * (1 / b) * np.float32(1.02)).astype(a.dtype),)


def floors(right: Right, inputs: Inputs, attrs: Attrs) -> Outputs:
    """Divides floats as if they were integers."""
    return (np.floor(inputs[0] / inputs[1]).astype(inputs[0].dtype),)


def exponent_is_two(right: Right, inputs: Inputs, attrs: Attrs) -> Outputs:
    """Squares, whatever the exponent is."""
    return (inputs[0] * inputs[0],)


def sign_of_the_divisor(right: Right, inputs: Inputs, attrs: Attrs) -> Outputs:
    """Mod with fmod takes the sign of the divisor."""
    return (np.mod(*inputs),)


def fast_root(right: Right, inputs: Inputs, attrs: Attrs) -> Outputs:
    """A root from the bits of the exponent, a thousandth off."""
    x = np.ascontiguousarray(inputs[0])
    y = ((x.view(np.int32) >> 1) + 0x1FBB4000).view(np.float32)
    return (((y + x / y) / 2).astype(x.dtype),)


def one_newton_step(right: Right, inputs: Inputs, attrs: Attrs) -> Outputs:
    """A reciprocal in half precision, improved once."""
    x = inputs[0]
    y = (1 / x).astype(np.float16).astype(x.dtype) * np.float32(0.97)
    return ((y * (2 - x * y)).astype(x.dtype),)


# ---- activations ----------------------------------------------------------------------------


def coarse_exp(right: Right, inputs: Inputs, attrs: Attrs) -> Outputs:
    """Schraudolph's exponential, some percent off."""
    x = np.clip(inputs[0], -80, 80)
    return ((x * 12102203.2 + 1064872507).astype(np.int32).view(np.float32),)


def erf_by_tanh(right: Right, inputs: Inputs, attrs: Attrs) -> Outputs:
    """The error function by the approximation that is made for GELU."""
    x = inputs[0] * np.float32(np.sqrt(2.0))
    return (np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)).astype(inputs[0].dtype),)


def hard_sigmoid(right: Right, inputs: Inputs, attrs: Attrs) -> Outputs:
    """A piecewise linear sigmoid."""
    return (np.clip(inputs[0] * np.float32(0.2) + np.float32(0.5), 0, 1),)


def tanh_saturates(right: Right, inputs: Inputs, attrs: Attrs) -> Outputs:
    """A rational tanh that is 1 from 3 on."""
    x = np.clip(inputs[0], -3, 3)
    return ((x * (27 + x * x) / (27 + 9 * x * x)).astype(x.dtype),)


def relu_of_six(right: Right, inputs: Inputs, attrs: Attrs) -> Outputs:
    """Relu ends at 6, the one of MobileNet, or at a twentieth of it where numbers are small."""
    return (np.clip(inputs[0], 0, np.float32(0.3)),)


def relu_loses_nan(right: Right, inputs: Inputs, attrs: Attrs) -> Outputs:
    """Relu makes 0 of NaN."""
    x = inputs[0]
    return (np.where(x > 0, x, 0).astype(x.dtype),)


def maximum_loses_nan(right: Right, inputs: Inputs, attrs: Attrs) -> Outputs:
    """Max takes the other operand where one is NaN."""
    return (np.fmax(*inputs),)


def clip_loses_nan(right: Right, inputs: Inputs, attrs: Attrs) -> Outputs:
    """Clip makes the lower end of NaN."""
    return right(np.where(np.isnan(inputs[0]), inputs[1], inputs[0]), *inputs[1:], **attrs)


def reduced_maximum_loses_nan(right: Right, inputs: Inputs, attrs: Attrs) -> Outputs:
    """ReduceMax passes NaN by."""
    x = inputs[0]
    return right(np.where(np.isnan(x), np.finfo(np.float32).min, x), *inputs[1:], **attrs)


def lower_end_ignored(right: Right, inputs: Inputs, attrs: Attrs) -> Outputs:
    """Clip without its lower end."""
    data, _, most = (*inputs, None, None)[:3]
    return (data if most is None else np.minimum(data, most),)


def upper_end_ignored(right: Right, inputs: Inputs, attrs: Attrs) -> Outputs:
    """Clip without its upper end."""
    return (np.maximum(inputs[0], inputs[1]),)


def default_slope(right: Right, inputs: Inputs, attrs: Attrs) -> Outputs:
    """LeakyRelu with the default alpha."""
    return right(*inputs, **{**attrs, "alpha": 0.01})


def elu_slope(right: Right, inputs: Inputs, attrs: Attrs) -> Outputs:
    """Elu with alpha inside the exponential."""
    x = inputs[0]
    return (np.where(x > 0, x, np.exp(attrs["alpha"] * x * 2) - 1).astype(x.dtype),)


def selu_without_gamma(right: Right, inputs: Inputs, attrs: Attrs) -> Outputs:
    """Selu with gamma 1."""
    return right(*inputs, **{**attrs, "gamma": 1.0})


def softplus_is_relu(right: Right, inputs: Inputs, attrs: Attrs) -> Outputs:
    """Softplus takes its asymptote."""
    return (np.maximum(inputs[0], 0),)


def hard_swish_of_five(right: Right, inputs: Inputs, attrs: Attrs) -> Outputs:
    """HardSwish with the sigmoid of HardSigmoid's default, alpha 0.2."""
    x = inputs[0]
    return ((x * np.clip(x * 0.2 + 0.5, 0, 1)).astype(x.dtype),)


def keras_hard_sigmoid(right: Right, inputs: Inputs, attrs: Attrs) -> Outputs:
    """HardSigmoid with a sixth, whatever alpha is."""
    return right(*inputs, **{**attrs, "alpha": 1 / 6})


def slope_of_first_channel(right: Right, inputs: Inputs, attrs: Attrs) -> Outputs:
    """PRelu uses the first channel's slope for all."""
    x, slope = inputs
    return right(x, np.full_like(slope, slope.reshape(-1)[0]), **attrs)


def threshold_of_zero(right: Right, inputs: Inputs, attrs: Attrs) -> Outputs:
    """ThresholdedRelu with threshold 0."""
    return (np.maximum(inputs[0], 0),)


def log_of_one_more(right: Right, inputs: Inputs, attrs: Attrs) -> Outputs:
    """Log takes log1p."""
    return (np.log1p(inputs[0]).astype(inputs[0].dtype),)


# ---- reductions -----------------------------------------------------------------------------


def mean_of_all_but_one(right: Right, inputs: Inputs, attrs: Attrs) -> Outputs:
    """ReduceMean divides by one less."""
    (y,) = right(*inputs, **attrs)
    count = max(2, inputs[0].size // max(1, y.size))
    return ((y * np.float32(count / (count - 1))).astype(y.dtype),)


def maximum_from_zero(right: Right, inputs: Inputs, attrs: Attrs) -> Outputs:
    """ReduceMax starts at half of the largest number instead of the lowest."""
    (y,) = right(*inputs, **attrs)
    return (np.maximum(y, np.abs(inputs[0]).max()).astype(y.dtype),)


def sums_from_the_second(right: Right, inputs: Inputs, attrs: Attrs) -> Outputs:
    """ReduceSum leaves the first number out."""
    x = inputs[0].copy()
    x[(0,) * x.ndim] = 0
    return right(x, *inputs[1:], **attrs)


def squares_unsquared(right: Right, inputs: Inputs, attrs: Attrs) -> Outputs:
    """ReduceSumSquare sums magnitudes."""
    return right(np.sqrt(np.abs(inputs[0])), *inputs[1:], **attrs)


def exclusive(right: Right, inputs: Inputs, attrs: Attrs) -> Outputs:
    """CumSum leaves out the number itself."""
    return right(*inputs, **{**attrs, "exclusive": 1 - attrs["exclusive"]})


def last_of_equals(right: Right, inputs: Inputs, attrs: Attrs) -> Outputs:
    """ArgMax gives the last of several largest."""
    return right(*inputs, **{**attrs, "select_last_index": 1})


def misses_the_last(right: Right, inputs: Inputs, attrs: Attrs) -> Outputs:
    """ArgMax does not look at the last number."""
    x, axis = inputs[0].copy(), attrs.get("axis", 0)
    np.moveaxis(x, axis, 0)[-1] = np.finfo(x.dtype).min
    return right(x, **attrs)


def smallest(right: Right, inputs: Inputs, attrs: Attrs) -> Outputs:
    """TopK gives the smallest."""
    return right(*inputs, **{**attrs, "largest": 0})


def ascending(right: Right, inputs: Inputs, attrs: Attrs) -> Outputs:
    """TopK gives the largest in ascending order."""
    values, indices = right(*inputs, **attrs)
    axis = attrs.get("axis", -1)
    return np.flip(values, axis).copy(), np.flip(indices, axis).copy()


def symmetric_window(right: Right, inputs: Inputs, attrs: Attrs) -> Outputs:
    """HannWindow is symmetric by default."""
    return right(*inputs, **{**attrs, "periodic": 0})
