"""Unsafe conditions (DEBAR, table 2, and those of other operators): what can go wrong in a call, by its ranges."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import onnx_ir as ir

from irfuzz.analyze.abstract_domain.interval import INF, Range
from irfuzz.analyze.abstract_domain.number_formats import NumberFormat, format_of
from irfuzz.analyze.abstract_domain.partitioned_tensor import Tensor
from irfuzz.analyze.transfer_functions.analysis_context import AnalysisContext, Inputs
from irfuzz.analyze.transfer_functions.losses import nothing_counts
from irfuzz.analyze.transfer_functions.normalizations import equal_limit, grouped
from irfuzz.analyze.transfer_functions.reductions_and_pooling import counted, reduced_axes

CONSTANT_NAN = "a constant without NaN"
"""What a call needs whose operand is a constant that holds NaN."""


@dataclass(frozen=True, slots=True)
class Fault:
    """One way in which a call can go wrong.

    Attributes:
        kind: ``domain``, ``division``, ``overflow``, ``crash`` or ``empty``.
        operand: index of the input that decides; ``None`` for the result.
        range: of that operand.
        needs: the condition under which it cannot happen.
        low, high: the numbers that the operand may have without it; between them 0 if ``nonzero``.
        nonzero: 0 is excluded.
        advice: how such faults are mended.
        loose: it rests on an input of which nothing is said.
        needed: with the numbers that it excludes the call always goes wrong.
    """

    kind: str
    operand: int | None
    range: Range
    needs: str
    low: float
    high: float
    advice: str
    nonzero: bool = False
    loose: bool = False
    needed: bool = True

    @property
    def avoidable(self) -> bool:
        """Some inputs do without it: not if a constant is NaN, from which computed NaN follow.

        After an avoidable fault the analysis goes on as if it had not occurred.
        """
        return self.needs != CONSTANT_NAN

    @property
    def certain(self) -> bool:
        """Every number of the range is at fault: it lies below ``low`` or above ``high``, or is 0 alone and 0 is
        excluded.
        """
        r = self.range
        beyond = r.high < self.low or r.low > self.high
        return beyond or (self.nonzero and r.low == 0 == r.high)


Check = Callable[[AnalysisContext, ir.Node, Inputs, NumberFormat], Iterator[Fault]]


def _given(inputs: Inputs, index: int) -> Tensor | None:
    return inputs[index] if index < len(inputs) else None


def _fault(
    kind: str, index: int, r: Range, needs: str, low: float, high: float, advice: str, *, nonzero: bool = False
) -> Fault:
    return Fault(kind, index, r, needs, low, high, advice, nonzero, r.loose)


def exponential(ctx: AnalysisContext, node: ir.Node, inputs: Inputs, form: NumberFormat) -> Iterator[Fault]:
    """Exp: ``upper > log Mf``, Mf being the largest finite number of the output's type; at most one fault,
    an overflow.
    """
    r = _range(inputs, 0)
    most = math.log(form.biggest)
    if r.high > most:
        advice = "subtract the maximum first, or limit the argument with Clip"
        yield _fault("overflow", 0, r, f"argument <= {most:.6g}", -INF, most, advice)


def logarithm(ctx: AnalysisContext, node: ir.Node, inputs: Inputs, form: NumberFormat) -> Iterator[Fault]:
    """Log: ``lower < mf``, mf being the smallest positive number of the type; no fault if the range starts at an
    excluded 0.
    """
    r = _range(inputs, 0)
    if r.low < form.smallest and not (r.nonzero and r.low >= 0):
        advice = "add an epsilon or Clip the argument from below; LogSoftmax instead of Log(Softmax)"
        yield _fault("domain", 0, r, f"argument >= {form.smallest:.6g}", form.smallest, INF, advice)


def square_root(ctx: AnalysisContext, node: ir.Node, inputs: Inputs, form: NumberFormat) -> Iterator[Fault]:
    """Sqrt: ``lower <= -mf``, mf being the smallest positive number of the type; at most one fault, of the domain."""
    r = _range(inputs, 0)
    if r.low <= -form.smallest:
        yield _fault("domain", 0, r, "argument >= 0", 0.0, INF, "Clip or Relu the argument before Sqrt")


def divisor(index: int) -> Check:
    """The check of RealDiv and Reciprocal: ``lower < mf and upper > -mf``; for integers the process may end.

    Signed integers are also checked for the lowest number divided by -1, which overflows.

    Args:
        index: of the divisor among the inputs: 1 for Div and Mod, 0 for Reciprocal.
    """

    def check(ctx: AnalysisContext, node: ir.Node, inputs: Inputs, form: NumberFormat) -> Iterator[Fault]:
        r = _range(inputs, index)
        if r.zero:
            kind = "division" if form.floating else "crash"
            advice = "add an epsilon to the divisor, or keep it away from 0 with Max, Clip or Where"
            yield _fault(kind, index, r, "divisor != 0", -INF, INF, advice, nonzero=True)
        if not form.floating and index == 1 and form.lowest < 0:
            a = _range(inputs, 0)
            if a.low <= form.lowest and r.low <= -1 <= r.high:
                yield _fault(
                    "crash",
                    0,
                    a,
                    f"dividend > {form.lowest:.0f} where the divisor is -1",
                    form.lowest + 1,
                    INF,
                    "limit the dividend",
                )

    return check


def modulus(ctx: AnalysisContext, node: ir.Node, inputs: Inputs, form: NumberFormat) -> Iterator[Fault]:
    """Mod: by 0, and for signed integers the lowest number by -1, as ``divisor`` checks them."""
    yield from divisor(1)(ctx, node, inputs, form)


def power(ctx: AnalysisContext, node: ir.Node, inputs: Inputs, form: NumberFormat) -> Iterator[Fault]:
    """Pow: roots of negative numbers, and 0 to a negative power.

    Integers have neither fault; exponents of an integer type count as whole numbers.
    """
    if not form.floating:
        return
    base, exponent = _range(inputs, 0), _range(inputs, 1)
    integer = exponent.point and float(exponent.low).is_integer()
    # A type of integers has none but integer exponents.
    raised = _given(inputs, 1)
    integer = integer or (raised is not None and not format_of(raised.dtype).floating)
    if base.low < 0 and not integer:
        needs = "base >= 0 for an exponent that is no integer"
        yield replace(_fault("domain", 0, base, needs, 0.0, INF, "Abs or Clip the base"), needed=False)
    if base.zero and exponent.low < 0:
        yield _fault(
            "division",
            0,
            base,
            "base != 0 for a negative exponent",
            -INF,
            INF,
            "add an epsilon to the base",
            nonzero=True,
        )


def inside(low: float, high: float, text: str) -> Check:
    """The check of Acos, Asin, Acosh and Atanh: the argument's domain.

    Args:
        low: least argument that is fine.
        high: largest one.
        text: the condition, for people.
    """

    def check(ctx: AnalysisContext, node: ir.Node, inputs: Inputs, form: NumberFormat) -> Iterator[Fault]:
        r = _range(inputs, 0)
        if r.low < low or r.high > high:
            yield _fault("domain", 0, r, text, low, high, "Clip the argument to its domain")

    return check


def variance(ctx: AnalysisContext, node: ir.Node, inputs: Inputs, form: NumberFormat) -> Iterator[Fault]:
    """BatchNormalization: variance + epsilon has to be above 0.

    In training mode the variance is measured, so only epsilon is looked at (``positive_epsilon``).
    """
    if ctx.attr(node, "training_mode"):
        yield from positive_epsilon(ctx, node, inputs, form)
        return
    r = _range(inputs, 4)
    epsilon = float(ctx.attr(node, "epsilon"))
    if r.low + epsilon < form.smallest:
        yield _fault(
            "domain",
            4,
            r,
            f"variance > -{epsilon:.6g}",
            -epsilon + form.smallest,
            INF,
            "a positive epsilon, and a variance that is not negative",
        )


def positive_epsilon(ctx: AnalysisContext, node: ir.Node, inputs: Inputs, form: NumberFormat) -> Iterator[Fault]:
    """Normalisations that measure the variance: without an epsilon constant data divides by 0.

    Whatever the data are, a positive epsilon is no fault.
    """
    epsilon = float(ctx.attr(node, "epsilon", 1e-5))
    if epsilon < form.smallest:
        yield _fault("division", 0, _range(inputs, 0), "epsilon > 0", -INF, INF, "give a positive epsilon")


def grouped_variance(ctx: AnalysisContext, node: ir.Node, inputs: Inputs, form: NumberFormat) -> Iterator[Fault]:
    """GroupNormalization: its function body takes the root of mean(x * x) - mean(x) ** 2 + epsilon.

    Rounding makes that negative for nearly equal elements that are large for epsilon.
    """
    yield from positive_epsilon(ctx, node, inputs, form)
    data = _given(inputs, 0)
    if data is None or form.smallest > float(ctx.attr(node, "epsilon", 1e-5)):
        return
    limit = equal_limit(*grouped(ctx, node, data))
    if data.range.magnitude > limit:
        needs = f"mean(x * x) - mean(x) ** 2 > -epsilon after rounding, as where |x| <= {limit:.6g}"
        advice = "compute it from InstanceNormalization, in a wider type, or with a larger epsilon"
        yield replace(_fault("domain", 0, data.range, needs, -limit, limit, advice), needed=False)


def moments(ctx: AnalysisContext, node: ir.Node, inputs: Inputs, form: NumberFormat) -> Iterator[Fault]:
    """MeanVarianceNormalization of nearly equal elements.

    Its function body takes the root of mean(x * x) - mean(x) ** 2, which rounding may make negative; and onnxruntime
    1.31.1 does not add the 1e-9 that keeps the divisor from 0.
    """
    needs = "elements that differ, so that mean(x * x) > mean(x) ** 2 after rounding"
    fault = _fault("domain", 0, _range(inputs, 0), needs, -INF, INF, "LayerNormalization, or an epsilon")
    yield replace(fault, needed=False)


def norm_zero(ctx: AnalysisContext, node: ir.Node, inputs: Inputs, form: NumberFormat) -> Iterator[Fault]:
    """LpNormalization: a norm of 0, because all elements may be 0 or, for ``p`` of 2, because their squares may
    underflow to 0.
    """
    r = _range(inputs, 0)
    if r.zero:
        yield _fault("division", 0, r, "some element != 0 along the axis", -INF, INF, "add an epsilon", nonzero=True)
        return
    least = min(abs(r.low), abs(r.high))
    if not (r.low <= 0 <= r.high) and int(ctx.attr(node, "p", 2)) == 2 and least * least < form.smallest:
        limit = math.sqrt(form.smallest)
        low, high = (limit, INF) if r.low > 0 else (-INF, -limit)
        yield _fault("division", 0, r, f"|elements| >= {limit:.6g}: smaller squares are 0", low, high, "scale them")


def response(ctx: AnalysisContext, node: ir.Node, inputs: Inputs, form: NumberFormat) -> Iterator[Fault]:
    """LRN: what is raised to -beta has to be above 0.

    Only the attributes are looked at: ``bias``, ``alpha`` and ``beta``.
    """
    bias, alpha, beta = (float(ctx.attr(node, n)) for n in ("bias", "alpha", "beta"))
    if beta > 0 and (bias <= 0 or alpha < 0):
        needs = "bias > 0 and alpha >= 0, so that bias + alpha / size * (sum of squares) > 0"
        fault = _fault("division", 0, _range(inputs, 0), needs, -INF, INF, "give a positive bias")
        yield replace(fault, needed=False)


def log_sum(ctx: AnalysisContext, node: ir.Node, inputs: Inputs, form: NumberFormat) -> Iterator[Fault]:
    """ReduceLogSum: the sum has to be positive, which is asked of every element; integer types are not checked."""
    r = _range(inputs, 0)
    if form.floating and r.low < form.smallest and not (r.nonzero and r.low >= 0):
        yield _fault("domain", 0, r, f"elements >= {form.smallest:.6g}", form.smallest, INF, "add an epsilon")


def long_softmax(ctx: AnalysisContext, node: ir.Node, inputs: Inputs, form: NumberFormat) -> Iterator[Fault]:
    """Softmax and LogSoftmax: the sum of exponentials overflows half precision; a row of infinities gives NaN."""
    data = _given(inputs, 0)
    if data is None or data.shape is None or not data.shape:
        return
    size = data.shape[ctx.attr(node, "axis", -1)]
    if isinstance(size, int) and size > form.biggest:
        yield _fault(
            "overflow",
            0,
            data.range,
            f"at most {form.biggest:.0f} elements along the axis",
            -INF,
            INF,
            "compute it in single precision",
        )
    if data.range.high == INF or data.range.low == -INF:
        yield _fault(
            "domain",
            0,
            data.range,
            "finite elements",
            form.lowest,
            form.biggest,
            "mask with a large negative number instead of -inf",
        )


def mean_loss(ctx: AnalysisContext, node: ir.Node, inputs: Inputs, form: NumberFormat) -> Iterator[Fault]:
    """SoftmaxCrossEntropyLoss and NegativeLogLikelihoodLoss: a mean of labels that all are ignored or weigh nothing.

    One fault each for labels and weights, as ``nothing_counts`` finds them.
    """
    for index, r, needs in nothing_counts(ctx, node, inputs):
        advice = "sum the losses and divide by at least 1, or leave such batches out"
        yield replace(_fault("division", index, r, needs, -INF, INF, advice), needed=False)


def cast_range(ctx: AnalysisContext, node: ir.Node, inputs: Inputs, form: NumberFormat) -> Iterator[Fault]:
    """Cast to an integer type: what it does not hold is undefined.

    Only casts from floating point are checked, and those to Booleans are always fine.
    """
    data = _given(inputs, 0)
    if data is None or form.floating or not format_of(data.dtype).floating or ctx.dtype(node) == ir.DataType.BOOL:
        return
    r = data.range
    if r.nan or r.low <= form.lowest - 1 or r.high >= form.biggest + 1:
        needs = f"{form.lowest:.6g} <= argument <= {form.biggest:.6g}, no NaN"
        yield _fault("domain", 0, r, needs, form.lowest, form.biggest, "Clip before Cast")


def nonzero(index: int, needs: str, advice: str) -> Check:
    """The check of an input that is not to be 0, such as the scale of QuantizeLinear.

    Args:
        index: of the input; an absent one is fine.
        needs: the condition, for people.
        advice: how to mend it.
    """

    def check(ctx: AnalysisContext, node: ir.Node, inputs: Inputs, form: NumberFormat) -> Iterator[Fault]:
        r = _range(inputs, index)
        if r.zero:
            yield _fault("division", index, r, needs, -INF, INF, advice, nonzero=True)

    return check


def empty(ctx: AnalysisContext, node: ir.Node, inputs: Inputs, form: NumberFormat) -> Iterator[Fault]:
    """ReduceMean, ReduceMax and ReduceMin of no elements: a reduced axis has size 0 while the result has elements.

    Nothing is said of data or axes that are not known.
    """
    data = _given(inputs, 0)
    if data is None or data.shape is None:
        return
    axes = reduced_axes(ctx, node, inputs)
    if axes and counted(data, axes)[1] == 0 and all(d != 0 for i, d in enumerate(data.shape) if i not in axes):
        yield _fault(
            "empty", 0, data.range, "at least one element along the axes", -INF, INF, "do not reduce empty tensors"
        )


def _range(inputs: Inputs, index: int) -> Range:
    tensor = _given(inputs, index)
    return Range(1.0, 1.0) if tensor is None else tensor.range


CHECKS: Mapping[str, Check] = {
    "Acos": inside(-1.0, 1.0, "-1 <= argument <= 1"),
    "Acosh": inside(1.0, INF, "argument >= 1"),
    "Asin": inside(-1.0, 1.0, "-1 <= argument <= 1"),
    "Atanh": inside(-1.0 + 2.0**-53, 1.0 - 2.0**-53, "-1 < argument < 1"),
    "BatchNormalization": variance,
    "Cast": cast_range,
    "CastLike": cast_range,
    "Div": divisor(1),
    "Exp": exponential,
    "GroupNormalization": grouped_variance,
    "InstanceNormalization": positive_epsilon,
    "LRN": response,
    "LayerNormalization": positive_epsilon,
    "Log": logarithm,
    "LogSoftmax": long_softmax,
    "LpNormalization": norm_zero,
    "MeanVarianceNormalization": moments,
    "Mod": modulus,
    "NegativeLogLikelihoodLoss": mean_loss,
    "Pow": power,
    "QuantizeLinear": nonzero(1, "scale != 0", "keep the scale above a small constant"),
    "RMSNormalization": positive_epsilon,
    "Range": nonzero(2, "delta != 0", "keep the step away from 0"),
    "Reciprocal": divisor(0),
    "ReduceLogSum": log_sum,
    "ReduceMax": empty,
    "ReduceMean": empty,
    "ReduceMin": empty,
    "Softmax": long_softmax,
    "SoftmaxCrossEntropyLoss": mean_loss,
    "Sqrt": square_root,
}
"""By operator; the ranges of its inputs decide. Overflow of any operator is seen in its result (``overflow``)."""


def overflow(node: ir.Node, inputs: Inputs, result: Tensor, form: NumberFormat) -> Fault | None:
    """A result that may be infinite or NaN though no operand is; NaN of infinite operands, or of a constant NaN.

    Args:
        node: without inputs an infinity is meant, and no fault.
        inputs: its operands.
        result: what it computes.
        form: of the result; integers have no such fault.

    Returns:
        The fault, ``None`` if there is none.
    """
    if not form.floating:
        return None
    if any(t is not None and not t.range.finite for t in inputs):
        return _nan(inputs, result, form)
    r = result.range
    if r.finite:
        return None
    if not node.inputs and not r.nan:
        return None  # an infinity that is written down is meant: the mask of an attention
    loose = r.loose or any(t is not None and t.range.loose for t in inputs)
    needs = f"|result| <= {form.biggest:.6g}"
    return Fault(
        "overflow",
        None,
        r,
        needs,
        form.lowest,
        form.biggest,
        "scale the operands, or compute in a wider type",
        loose=loose,
    )


def _nan(inputs: Inputs, result: Tensor, form: NumberFormat) -> Fault | None:
    """NaN from operands of which some may be infinite or are NaN; from computed NaN nothing new comes."""
    r = result.range
    if not r.nan:
        return None
    for index, t in enumerate(inputs):
        if t is not None and t.range.nan:
            if t.array is None:
                return None
            advice = "replace the NaN in the constant"
            return Fault("domain", index, t.range, CONSTANT_NAN, -INF, INF, advice, needed=False)
    needs = "no infinite operand where that gives NaN (inf - inf, 0 * inf, inf / inf)"
    advice = "use a large finite number instead of an infinity, or choose with Where"
    return Fault("domain", None, r, needs, form.lowest, form.biggest, advice, loose=r.loose)


def mended(ctx: AnalysisContext, tensor: Tensor | None, index: int, seen: Sequence[Fault]) -> Tensor | None:
    """An operand without the numbers that the faults need.

    Args:
        ctx: of the analysis.
        tensor: the operand; it stays as it is. ``None`` for an absent one, which is returned.
        index: of the operand among the inputs.
        seen: faults of the call; those of other operands, those that are not needed and those that always occur change
            nothing.
    """
    for fault in seen:
        if tensor is None or fault.operand != index or not fault.needed:
            continue
        r = tensor.range
        low, high = max(r.low, fault.low), min(r.high, fault.high)
        if low > high:  # it always goes wrong
            continue
        kept = Range(low, high, r.nan, r.nonzero or fault.nonzero, r.loose)
        tensor = ctx.grid.plain(tensor.dtype, tensor.shape, kept)
    return tensor
