"""Functions of one number: the range of their result, from that of the element."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from irfuzz.analyze.abstract_domain.interval import (
    INF,
    Range,
    absolute,
    clipped,
    div,
    hull,
    monotone,
    mul,
    neg,
    rounded,
)
from irfuzz.analyze.abstract_domain.number_formats import NumberFormat
from irfuzz.spec import trait_values

Attrs: TypeAlias = Callable[[str], Any]
Unary: TypeAlias = Callable[[Range, Attrs, NumberFormat], Range]

LIBRARY = 32.0
"""Units in the last place by which a library function may miss its exact value; runtimes' own are that good."""


def library(f: Callable[[float], float], low: float = -INF, high: float = INF) -> Unary:
    """A function that never decreases, with bounds that no implementation passes by more than its rounding.

    Args:
        f: computes it for a float, infinities included.
        low: least value; 0 is never passed, not even by rounding.
        high: largest value. If both are finite, the result is not loose.

    Returns:
        The range of results from that of arguments, for the table ``UNARY``.
    """

    def apply(r: Range, attrs: Attrs, form: NumberFormat) -> Range:
        exact = monotone(r, f)
        return rounded(
            Range(exact.low, exact.high, r.nan, loose=r.loose and not (low > -INF and high < INF)),
            form,
            LIBRARY,
            low if low == 0 else -INF,
        )

    return apply


def _exp(x: float) -> float:
    try:
        return math.exp(x)
    except OverflowError:
        return INF


def exp(r: Range, attrs: Attrs, form: NumberFormat) -> Range:
    """Exp: never negative; the error of the argument's reduction grows with it.

    Args:
        r: of the arguments; none above 0 gives results of at most 1 and its rounding.
        attrs: not used.
        form: of the result; what exceeds it is infinite.
    """
    exact = monotone(r, _exp)
    reach = LIBRARY + 2 * (abs(r.low) if r.low > -INF else 0) if r.high < 1 else LIBRARY + 2 * min(abs(r.high), 800)
    one = 1.0 if r.high <= 0 else INF
    return rounded(exact, form, reach, 0.0, one * (1 + form.eps) if one == 1.0 else INF)


def log(r: Range, attrs: Attrs, form: NumberFormat) -> Range:
    """Log: NaN below 0, negative infinity at 0.

    If the range starts at 0 but excludes it (``nonzero``), the logarithm of the smallest positive number of the format
    is the lower end.
    """
    low = form.smallest if r.nonzero and r.low == 0 else r.low
    exact = Range(_log(low), _log(r.high), r.nan or r.low < 0, loose=r.loose)
    return rounded(exact, form, LIBRARY)


def _log(x: float) -> float:
    return -INF if x <= 0 else INF if x == INF else math.log(x)


def sqrt(r: Range, attrs: Attrs, form: NumberFormat) -> Range:
    """Sqrt: NaN below 0. The root of the negative part counts as 0, and 0 stays excluded if it was."""
    exact = Range(math.sqrt(max(r.low, 0.0)), math.sqrt(max(r.high, 0.0)), r.nan or r.low < 0, r.nonzero, r.loose)
    return rounded(exact, form, 1.0, 0.0)


def reciprocal(r: Range, attrs: Attrs, form: NumberFormat) -> Range:
    """Reciprocal: 1 / x, exactly rounded.

    If the range holds 0, the result is unbounded with both infinities, as the zero may have either sign.
    """
    return rounded(div(Range(1.0, 1.0), r, form), form)


def _sigmoid(x: float) -> float:
    return 1 / (1 + _exp(-x)) if x >= 0 else _exp(x) / (1 + _exp(x))


def sigmoid(r: Range, attrs: Attrs, form: NumberFormat) -> Range:
    """Sigmoid; runtimes limit the argument, or flush what is small, so that the error is absolute at the ends."""
    exact = monotone(r, _sigmoid)
    low = exact.low * (1 - 4 * LIBRARY * form.eps) if exact.low > form.eps else 0.0
    high = min(exact.high, 1.0) * (1 + LIBRARY * form.eps) + LIBRARY * max(form.eps, _LIMITED)
    return Range(low, min(high, most_of("Sigmoid", form)), r.nan)


_LIMITED = 2.0**-23
"""onnxruntime's Sigmoid takes what is below -18 as -18."""


def tanh(r: Range, attrs: Attrs, form: NumberFormat) -> Range:
    """Tanh: within [-1, 1], but for what runtimes were measured to exceed that by (``most_of``)."""
    found = library(math.tanh, -1.0, 1.0)(r, attrs, form)
    most = most_of("Tanh", form)
    return clipped(found, -most, most)


def most_of(op: str, form: NumberFormat) -> float:
    """The largest number that a runtime computes of an operator whose formula is at most 1.

    It is measured (the trait ``excess``, by ``tests/spec/measure_excess.py``). If this machine's instructions do not
    show any, those of others may be one unit above; not in half precision, which is rounded from single.
    """
    measured = (by_type.get(form.name, 0.0) for by_type in trait_values("excess")[op].values())
    return 1.0 + max(*measured, form.eps if form.name in ("float", "double") else 0.0)


def _softplus(x: float) -> float:
    return max(x, 0.0) + math.log1p(_exp(-abs(x)))


def _elu(alpha: float) -> Callable[[float], float]:
    return lambda x: x if x > 0 else alpha * math.expm1(max(x, -1e4))


def elu(r: Range, attrs: Attrs, form: NumberFormat) -> Range:
    """Elu; with a negative alpha it is not monotone, and so the ends and 0 are looked at."""
    return _branches(r, form, lambda x: x, _elu(float(attrs("alpha"))))


def selu(r: Range, attrs: Attrs, form: NumberFormat) -> Range:
    """Selu: gamma * x from 0 on, gamma * alpha * (exp(x) - 1) below; the ends and 0 are looked at, so any sign of the
    attributes is fine.
    """
    alpha, gamma = float(attrs("alpha")), float(attrs("gamma"))
    return _branches(r, form, lambda x: gamma * x, lambda x: gamma * alpha * math.expm1(max(x, -1e4)))


def celu(r: Range, attrs: Attrs, form: NumberFormat) -> Range:
    """Celu: the negative side is that of x / alpha, times alpha; an alpha that is not positive gives
    anything, NaN too.
    """
    alpha = float(attrs("alpha"))
    if alpha <= 0:
        return _anything(r, form)
    return _branches(r, form, lambda x: x, lambda x: alpha * math.expm1(max(x / alpha, -1e4)))


def leaky_relu(r: Range, attrs: Attrs, form: NumberFormat) -> Range:
    """LeakyRelu: x from 0 on and alpha * x below, with alpha of any sign; widened for rounding."""
    alpha = float(attrs("alpha"))
    return _branches(r, form, lambda x: x, lambda x: alpha * x if x else 0.0)


def thresholded_relu(r: Range, attrs: Attrs, form: NumberFormat) -> Range:
    """ThresholdedRelu: 0 up to alpha, x above it.

    Nothing is computed, so nothing is rounded; a range above alpha stays as it is.
    """
    alpha = float(attrs("alpha"))
    if r.low > alpha:
        return r
    return Range(
        min(0.0, max(r.low, alpha)) if r.high > alpha else 0.0,
        max(r.high, 0.0) if r.high > alpha else 0.0,
        r.nan,
        loose=r.loose,
    )


def shrink(r: Range, attrs: Attrs, form: NumberFormat) -> Range:
    """Shrink: 0 between -lambd and lambd, moved towards it by bias beyond.

    The result is widened by the rounding of single precision even for doubles, as onnxruntime computes it so.
    """
    lambd, bias = float(attrs("lambd")), float(attrs("bias"))
    found = [Range(0.0, 0.0, r.nan, loose=r.loose)] if r.low <= lambd and r.high >= -lambd else []
    if r.high > lambd:
        found.append(Range(max(r.low, lambd) - bias, r.high - bias, r.nan, loose=r.loose))
    if r.low < -lambd:
        found.append(Range(r.low + bias, min(r.high, -lambd) + bias, r.nan, loose=r.loose))
    # onnxruntime computes it in single precision for doubles too; an integer's eps is 0.
    units = max(1.0, 2.0**-22 / form.eps) if form.eps else 1.0
    return rounded(hull(found), form, units) if found else _anything(r, form)


def _branches(r: Range, form: NumberFormat, above: Callable[[float], float], below: Callable[[float], float]) -> Range:
    """A function that is one monotone function from 0 on and another one, with the same value at 0, below."""
    ends = [0.0] if r.low <= 0 <= r.high else []
    ends += [above(x) for x in (r.low, r.high) if x >= 0]
    ends += [below(x) for x in (r.low, r.high) if x < 0]
    return rounded(Range(min(ends), max(ends), r.nan, loose=r.loose), form, LIBRARY)


def _anything(r: Range, form: NumberFormat) -> Range:
    return (
        Range(-INF, INF, nan=True, loose=r.loose) if form.floating else Range(form.lowest, form.biggest, loose=r.loose)
    )


def hard_sigmoid(r: Range, attrs: Attrs, form: NumberFormat) -> Range:
    """HardSigmoid: alpha * x + beta, rounded, then limited to [0, 1]; alpha may have any sign. NaN stays NaN."""
    line = rounded(_line(r, float(attrs("alpha")), float(attrs("beta"))), form, 2)
    return clipped(line, 0.0, 1.0)


def _line(r: Range, slope: float, shift: float) -> Range:
    ends = [slope * x + shift if slope else shift for x in (r.low, r.high)]
    return Range(min(ends), max(ends), r.nan, loose=r.loose)


def hard_swish(r: Range, attrs: Attrs, form: NumberFormat) -> Range:
    """HardSwish: x * clip(x / 6 + 1 / 2, 0, 1), which has its least value at -1.5; negative infinity gives NaN."""
    return _humped(r, form, lambda x: x * min(max(x / 6 + 0.5, 0.0), 1.0) if math.isfinite(x) else max(x, 0.0), -1.5)


def _gelu(x: float) -> float:
    return x * 0.5 * (1 + math.erf(x / math.sqrt(2))) if math.isfinite(x) else max(x, 0.0)


def gelu(r: Range, attrs: Attrs, form: NumberFormat) -> Range:
    """Gelu, exact or by tanh, which differ by less than 0.001: the range of the exact one is widened by that much for
    either.
    """
    found = _humped(r, form, _gelu, -0.7517915)
    return Range(found.low - 1e-3, found.high + 1e-3 if found.high < INF else INF, found.nan, loose=found.loose)


def mish(r: Range, attrs: Attrs, form: NumberFormat) -> Range:
    """Mish: x * tanh(softplus(x)), which has its least value near -1.19; negative infinity gives NaN."""
    return _humped(r, form, lambda x: x * math.tanh(_softplus(x)) if math.isfinite(x) else max(x, 0.0), -1.1924312)


def swish(r: Range, attrs: Attrs, form: NumberFormat) -> Range:
    """Swish: x * sigmoid(alpha * x), which has its least value near -1.28 / alpha.

    If alpha is not positive, the sigmoid counts as any number from 0 to 1.
    """
    alpha = float(attrs("alpha"))
    if alpha <= 0:
        return rounded(mul(r, Range(0.0, 1.0)), form, LIBRARY)
    return _humped(r, form, lambda x: x * _sigmoid(alpha * x) if math.isfinite(x) else max(x, 0.0), -1.2784645 / alpha)


def _humped(r: Range, form: NumberFormat, f: Callable[[float], float], bottom: float) -> Range:
    """A function that is near 0 on the left, falls to its least value at ``bottom`` and rises from there on."""
    ends = [f(r.low), f(r.high)]
    if r.low <= bottom <= r.high:
        ends.append(f(bottom) * (1 + 1e-6))
    found = rounded(Range(min(ends), max(ends), r.nan or r.low == -INF, loose=r.loose), form, 4 * LIBRARY)
    # Cancellation on the far left leaves something near 0, of either sign.
    slack = 16 * form.eps * (1 + abs(bottom))
    return Range(found.low - slack, found.high + slack if found.high < INF else INF, found.nan, loose=found.loose)


def softsign(r: Range, attrs: Attrs, form: NumberFormat) -> Range:
    """Softsign: x / (1 + |x|), which is NaN for infinities; within [-1, 1] but for rounding, and never loose."""
    ratio = monotone(r, lambda x: x / (1 + abs(x)) if math.isfinite(x) else math.copysign(1.0, x))
    return rounded(Range(ratio.low, ratio.high, r.nan or r.magnitude == INF), form, LIBRARY)


def periodic(f: Callable[[float], float]) -> Unary:
    """The function for Sin and Cos: exact ends only if the argument cannot turn; NaN for infinities.

    Ranges narrower than 1.5, of numbers below 10,000, are sampled, with the distance of two samples as slack; wider
    ones give [-1, 1].

    Args:
        f: ``math.sin`` or ``math.cos``.
    """

    def apply(r: Range, attrs: Attrs, form: NumberFormat) -> Range:
        wild = r.low == -INF or r.high == INF
        low, high = -1.0, 1.0
        if not wild and r.high - r.low < 1.5 and r.magnitude < 1e4:
            steps = [f(r.low + (r.high - r.low) * i / 64) for i in range(65)]
            slack = (r.high - r.low) / 64
            low, high = max(min(steps) - slack, -1.0), min(max(steps) + slack, 1.0)
        if f is math.sin and r.low >= 0 and r.high <= 3.1415:
            # Concave, and positive wherever the argument is.
            return Range(min(f(r.low), f(r.high)) * (1 - LIBRARY * form.eps), high + LIBRARY * form.eps, r.nan)
        slack = LIBRARY * form.eps
        return Range(low - slack, high + slack, r.nan or wild)

    return apply


def tan(r: Range, attrs: Attrs, form: NumberFormat) -> Range:
    """Tan: anything if a pole may lie between, exact ends if the argument stays within (-pi / 2, pi / 2).

    Other intervals between two poles count as if there were one.
    """
    edge = math.pi / 2 - 1e-3
    if -edge < r.low and r.high < edge:
        return rounded(monotone(r, math.tan), form, 4 * LIBRARY)
    return Range(form.lowest, form.biggest, r.nan or r.magnitude == INF, loose=r.loose)


def between(f: Callable[[float], float], low: float, high: float) -> Unary:
    """A function that is monotone with a domain: NaN outside of it.

    Args:
        f: is called only with numbers of the domain; it may fall (Acos) or rise.
        low: least argument.
        high: largest argument.
    """

    def apply(r: Range, attrs: Attrs, form: NumberFormat) -> Range:
        ends = f(min(max(r.low, low), high)), f(min(max(r.high, low), high))
        outside = r.low < low or r.high > high
        return rounded(Range(min(ends), max(ends), r.nan or outside, loose=r.loose), form, 4 * LIBRARY)

    return apply


def _atanh(x: float) -> float:
    return math.copysign(INF, x) if abs(x) >= 1 else math.atanh(x)


def cosh(r: Range, attrs: Attrs, form: NumberFormat) -> Range:
    """Cosh: even, so that of the absolute values is taken; never below 1 but for rounding, infinite if it overflows."""
    return rounded(monotone(absolute(r), _cosh), form, 100 * LIBRARY, 1.0 - form.eps)


def _cosh(x: float) -> float:
    try:
        return math.cosh(x)
    except OverflowError:
        return INF


def _sinh(x: float) -> float:
    try:
        return math.sinh(x)
    except OverflowError:
        return math.copysign(INF, x)


def sign(r: Range, attrs: Attrs, form: NumberFormat) -> Range:
    """Sign: -1, 0 or 1; 0 stays excluded if it was, and the result is not loose."""
    step = lambda x: (x > 0) - (x < 0)  # noqa: E731
    return Range(float(step(r.low)), float(step(r.high)), r.nan, r.nonzero)


def relu(r: Range, attrs: Attrs, form: NumberFormat) -> Range:
    """Relu; some runtimes give 0 for NaN, and ONNX does not define it.

    The result is exact, and may be NaN if the input may.
    """
    return Range(max(r.low, 0.0), max(r.high, 0.0), r.nan, loose=r.loose)


def negative(r: Range, attrs: Attrs, form: NumberFormat) -> Range:
    """Neg; the smallest integer has no opposite, so a range of integers that holds it becomes the whole type."""
    return rounded(neg(r), form, 0)


def magnitude(r: Range, attrs: Attrs, form: NumberFormat) -> Range:
    """Abs; the smallest integer has none in its type, so a range that holds it becomes the whole type.

    Exact otherwise.
    """
    return rounded(absolute(r), form, 0, 0.0)


def truth(r: Range, attrs: Attrs, form: NumberFormat) -> Range:
    """What gives a Boolean: 0 or 1, whatever the argument is (IsInf, IsNaN, Not).

    All arguments are only there for the common signature.
    """
    return Range(0.0, 1.0)


def same(r: Range, attrs: Attrs, form: NumberFormat) -> Range:
    """What gives its input: the range itself, with all that is said of it."""
    return r


def whole_number(f: Callable[[float], float]) -> Unary:
    """The function for Floor, Ceil and Round: exact, with infinities kept; 0 may occur in the result even if it was
    excluded.

    Args:
        f: rounds a finite float to a whole number and never decreases.
    """
    return lambda r, attrs, form: Range(_kept(f, r.low), _kept(f, r.high), r.nan, loose=r.loose)


def _kept(f: Callable[[float], float], x: float) -> float:
    return float(f(x)) if math.isfinite(x) else x


UNARY: Mapping[str, Unary] = {
    "Abs": magnitude,
    "Acos": between(math.acos, -1.0, 1.0),
    "Acosh": between(lambda x: math.acosh(x) if x < INF else INF, 1.0, INF),
    "Asin": between(math.asin, -1.0, 1.0),
    "Asinh": library(math.asinh),
    "Atan": library(math.atan),
    "Atanh": between(_atanh, -1.0, 1.0),
    "Ceil": whole_number(math.ceil),
    "Celu": celu,
    "Cos": periodic(math.cos),
    "Cosh": cosh,
    "Elu": elu,
    "Erf": library(math.erf, -1.0, 1.0),
    "Exp": exp,
    "Floor": whole_number(math.floor),
    "Gelu": gelu,
    "HardSigmoid": hard_sigmoid,
    "HardSwish": hard_swish,
    "Identity": same,
    "IsInf": truth,
    "IsNaN": truth,
    "LeakyRelu": leaky_relu,
    "Log": log,
    "Mish": mish,
    "Neg": negative,
    "Not": truth,
    "Reciprocal": reciprocal,
    "Relu": relu,
    "Round": whole_number(round),
    "Selu": selu,
    "Shrink": shrink,
    "Sigmoid": sigmoid,
    "Sign": sign,
    "Sin": periodic(math.sin),
    "Sinh": library(_sinh),
    "Softplus": library(_softplus, 0.0),
    "Softsign": softsign,
    "Sqrt": sqrt,
    "Swish": swish,
    "Tan": tan,
    "Tanh": tanh,
    "ThresholdedRelu": thresholded_relu,
}
"""Operators with one input that work on each element alone."""
