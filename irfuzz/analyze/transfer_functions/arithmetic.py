"""Arithmetic on one cell: the related partition of the result, from the partitions of the operands."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import onnx_ir as ir

from irfuzz.analyze.abstract_domain import interval
from irfuzz.analyze.abstract_domain.affine_relations import (
    DOUBLE,
    LinearForm,
    Symbol,
    bounds_of,
    combined,
    computed,
    times,
)
from irfuzz.analyze.abstract_domain.interval import INF, Range, hull, meet, rounded
from irfuzz.analyze.abstract_domain.magnitude_relations import least_magnitude
from irfuzz.analyze.abstract_domain.norm_relations import covers
from irfuzz.analyze.abstract_domain.number_formats import NumberFormat
from irfuzz.analyze.abstract_domain.partitioned_tensor import Partition, Tensor, constant_of
from irfuzz.analyze.abstract_domain.reduction_relations import is_reduction, unspread
from irfuzz.analyze.transfer_functions.analysis_context import AnalysisContext, Inputs, operand
from irfuzz.analyze.transfer_functions.elementwise_rule_application import Rule, apply


def neg(ctx: AnalysisContext, node: ir.Node, parts: Sequence[Partition], form: NumberFormat) -> Partition:
    """Neg: exact, so the form is negated and keeps its error.

    Integers keep no form, and a range that holds the lowest one, which has no opposite in its type, becomes the whole
    type.
    """
    (part,) = parts
    made = ctx.related(node, parts, rounded(interval.neg(part.range), form, 0))
    if not form.floating:
        return made
    exact = times(part.form, -1.0)
    return Partition(
        made.range, made.symbol, LinearForm(exact.terms, exact.constant, part.form.error, part.form.single)
    )


def plus(sign: float) -> Rule:
    """The rule for Add and Sub (section 3.2.1): linear forms, and the sign of differences that are known.

    Without affine forms, for integers, and if forms get too long or may overflow, no form is kept.

    Args:
        sign: 1.0 for Add, -1.0 for Sub.
    """

    def rule(ctx: AnalysisContext, node: ir.Node, parts: Sequence[Partition], form: NumberFormat) -> Partition:
        a, b = parts
        direct = rounded(interval.add(a.range, b.range if sign > 0 else interval.neg(b.range)), form)
        if sign < 0 and ctx.grid.symbols.relations:
            direct = _difference(a, b, direct)
        if not ctx.grid.symbols.affine or not form.floating:
            return ctx.related(node, parts, direct)
        exact = combined(a.form, b.form, sign)
        real = None if exact is None else exact.range()
        if exact is None or real is None or real.low < form.lowest or real.high > form.biggest:
            return ctx.related(node, parts, direct)
        rounding = computed(exact, real, form, fresh=a.form.error == 0 and b.form.error == 0)
        bounds = bounds_of(rounding, (a.form, b.form), sign, direct)
        made = ctx.related(node, parts, bounds)
        return Partition(meet(made.range, bounds), made.symbol, rounding)

    return rule


def _difference(a: Partition, b: Partition, direct: Range) -> Range:
    """Differences whose sign is known: an element and the largest or smallest along an axis, these two, or itself."""
    if a.symbol is b.symbol and not direct.nan:
        return Range(0.0, 0.0)
    ends = [unspread(p.symbol) for p in (a, b)]
    if {end.kind for end in ends} == {"ReduceMax", "ReduceMin"} and ends[0].args == ends[1].args:
        above = ends[0].kind == "ReduceMax"
        return meet(direct, Range(0.0 if above else -INF, INF if above else 0.0, direct.nan, loose=direct.loose))
    if _is_extreme_of(b.symbol, a.symbol, "ReduceMax") or _is_extreme_of(a.symbol, b.symbol, "ReduceMin"):
        return meet(direct, Range(-INF, 0.0, direct.nan, loose=direct.loose))
    if _is_extreme_of(b.symbol, a.symbol, "ReduceMin") or _is_extreme_of(a.symbol, b.symbol, "ReduceMax"):
        return meet(direct, Range(0.0, INF, direct.nan, loose=direct.loose))
    return direct


def _is_extreme_of(extreme: Symbol, symbol: Symbol, kind: str) -> bool:
    """``extreme`` is a reduction of ``symbol``, spread over it again."""
    return is_reduction(unspread(extreme), kind, symbol)


def multiply(ctx: AnalysisContext, node: ir.Node, parts: Sequence[Partition], form: NumberFormat) -> Partition:
    """Mul: squares are not negative; times a number it stays linear.

    A square is a product of two operands of one symbol. Two operands of equal sign give results that rounding cannot
    make negative; other products are bounded by intervals.
    """
    a, b = parts
    if a.symbol is b.symbol and ctx.grid.symbols.relations:
        return ctx.related(node, parts, rounded(interval.square(a.range), form, low=0.0 if form.floating else -INF))
    direct = rounded(interval.mul(a.range, b.range), form, low=_sign_floor(a.range, b.range, form))
    return (
        _scaled(ctx, node, parts, a, constant_of(b), direct, form)
        or _scaled(ctx, node, parts, b, constant_of(a), direct, form)
        or ctx.related(node, parts, direct)
    )


def _sign_floor(a: Range, b: Range, form: NumberFormat) -> float:
    return 0.0 if form.floating and ((a.low >= 0 and b.low >= 0) or (a.high <= 0 and b.high <= 0)) else -INF


def _scaled(
    ctx: AnalysisContext,
    node: ir.Node,
    parts: Sequence[Partition],
    part: Partition,
    factor: float | None,
    direct: Range,
    form: NumberFormat,
) -> Partition | None:
    if factor is None or not math.isfinite(factor) or not form.floating or not ctx.grid.symbols.affine:
        return None
    exact = times(part.form, factor)
    if not direct.finite:
        return None
    rounding = computed(exact, direct, form, fresh=part.form.error == 0)
    made = ctx.related(node, parts, bounds_of(rounding, (part.form, part.form), 1.0, direct))
    return Partition(made.range, made.symbol, rounding)


def divide(ctx: AnalysisContext, node: ir.Node, parts: Sequence[Partition], form: NumberFormat) -> Partition:
    """Div: by a number it stays linear; a share of a sum of what is not negative is at most 1; integers truncate."""
    a, b = parts
    if not form.floating:
        return ctx.related(node, parts, _integer_quotient(a.range, b.range, form))
    relations = ctx.grid.symbols.relations
    if relations and a.symbol is b.symbol and not b.range.zero and b.range.finite:
        return ctx.related(node, parts, Range(1.0, 1.0))
    total = unspread(b.symbol)
    direct = rounded(
        interval.div(a.range, b.range, form, least_magnitude(total) if relations else 0.0),
        form,
        low=0.0 if a.range.low >= 0 and b.range.low >= 0 and not b.range.zero else -INF,
    )
    if relations and is_reduction(total, "ReduceSum", a.symbol) and a.range.low >= 0 and b.range.low > 0:
        direct = meet(direct, Range(0.0, 1.0 + 4 * form.eps, direct.nan))
    if relations and covers(b.symbol, a.symbol, form):
        direct = meet(direct, Range(0.0 if a.range.low >= 0 else -1.0, 1.0, direct.nan))
    constant = constant_of(b)
    made = None
    if constant:
        made = _scaled(ctx, node, parts, a, 1 / constant, direct, form)
        if made is not None and form.eps <= DOUBLE and abs(math.frexp(constant)[0]) != 0.5:
            # The factor is a rounded one, which in double precision is as large an error as that of the quotient.
            made = replace(made, form=replace(made.form, single=False))
    return made or ctx.related(node, parts, direct)


def _integer_quotient(a: Range, b: Range, form: NumberFormat) -> Range:
    ends = [0.0]
    for low, high in interval.sides(b, 1.0):
        ends += [math.trunc(x / y) for x in (a.low, a.high) for y in (low, high)]
    if b.zero:
        return Range(form.lowest, form.biggest, loose=a.loose or b.loose)
    slack = 1.0 if a.magnitude > 2.0**52 else 0.0
    return rounded(Range(min(ends) - slack, max(ends) + slack, loose=a.loose or b.loose), form)


def power(ctx: AnalysisContext, node: ir.Node, parts: Sequence[Partition], form: NumberFormat) -> Partition:
    """Pow: exact monotonicity for a constant exponent, the corners else; NaN for roots of negative numbers.

    Exponents 1 and 2 are the number itself and its square. Of floating-point numbers a base that may be 0 with a
    negative exponent gives infinities, and negative bases with exponents that may not be whole give NaN.
    """
    a, b = parts
    exponent = constant_of(b)
    if exponent == 2.0:
        # onnxruntime and PyTorch multiply; what library functions miss is below one unit.
        return ctx.related(node, parts, rounded(interval.square(a.range), form, 2, 0.0 if form.floating else -INF))
    if exponent == 1.0:
        return ctx.related(node, parts, rounded(a.range, form))
    return ctx.related(node, parts, _power(a.range, b.range, form))


def _power(a: Range, b: Range, form: NumberFormat) -> Range:
    loose = a.loose or b.loose
    if not form.floating:
        ends = [_pow(x, y) for x in (a.low, a.high) for y in (b.low, b.high)]
        if a.low >= 0 and b.low >= 0:
            return rounded(Range(min(0.0, *ends), max(1.0, *ends), loose=loose), form)
        return Range(form.lowest, form.biggest, loose=loose)
    integer = b.point and float(b.low).is_integer()
    nan = a.nan or b.nan or (a.low < 0 and not integer)
    base = a if integer else Range(max(a.low, 0.0), max(a.high, 0.0), loose=loose)
    points = {base.low, base.high, *((0.0, form.smallest) if base.low <= 0 <= base.high else ())}
    points |= {p for p in (1.0, -1.0, -form.smallest) if base.low <= p <= base.high}
    exponents = {b.low, b.high} | ({0.0} if b.low <= 0 <= b.high else set())
    ends = [_pow(x, y) for x in points for y in exponents]
    if base.zero and b.low < 0:
        ends += [INF] + ([-INF] if integer and b.low % 2 == 1 and a.low <= 0 else [])
    if a.low < 0 and not integer:
        # Among the exponents there may be whole numbers, odd ones too.
        ends += [
            sign * _pow(x, y)
            for x in {abs(a.low), abs(min(a.high, -form.smallest))}
            for y in exponents
            for sign in (1, -1)
        ]
    low = 0.0 if a.low >= 0 or (integer and b.low % 2 == 0) else -INF
    return rounded(Range(max(min(ends), low), max(ends), nan, loose=loose), form, 16 + 2 * min(b.magnitude, 1e3), low)


def _pow(x: float, y: float) -> float:
    try:
        found = x**y
    except ZeroDivisionError:
        return INF
    except OverflowError:
        return -INF if x < 0 and y % 2 == 1 else INF
    return found if isinstance(found, float | int) and not math.isnan(found) else 0.0


def modulo(ctx: AnalysisContext, node: ir.Node, parts: Sequence[Partition], form: NumberFormat) -> Partition:
    """Mod: between 0 and the divisor, or with the sign of the dividend (fmod).

    Floating-point remainders may be NaN if the divisor may be 0 or the dividend infinite; integers may then be anything
    that their type holds.
    """
    a, b = (p.range for p in parts)
    reach = min(b.magnitude, form.biggest)
    loose = a.loose or b.loose
    nan = form.floating and (a.nan or b.nan or b.zero or a.magnitude == INF)
    if ctx.attr(node, "fmod"):
        bounds = Range(
            -min(reach, a.magnitude) if a.low < 0 else 0.0,
            min(reach, a.magnitude) if a.high > 0 else 0.0,
            nan,
            loose=loose,
        )
    else:
        bounds = Range(-reach if b.low < 0 else 0.0, reach if b.high > 0 else 0.0, nan, loose=loose)
    return ctx.related(
        node, parts, bounds if not b.zero or form.floating else Range(form.lowest, form.biggest, loose=loose)
    )


def extreme(larger: bool) -> Rule:
    """The rule for Max and Min of any number of operands; a single operand is returned as it is.

    Args:
        larger: the rule is that of Max, else that of Min.
    """
    choose = interval.maximum if larger else interval.minimum

    def rule(ctx: AnalysisContext, node: ir.Node, parts: Sequence[Partition], form: NumberFormat) -> Partition:
        bounds = parts[0].range
        for part in parts[1:]:
            bounds = choose(bounds, part.range)
        if len(parts) == 1:
            return parts[0]
        # Whatever the others are, it is at least (at most) each bound that does not come from a missing range.
        loose = bounds.low == -INF or bounds.high == INF or all(p.range.loose for p in parts) or bounds.loose
        return ctx.related(node, parts, Range(bounds.low, bounds.high, bounds.nan, loose=loose))

    return rule


def total(mean: bool) -> Rule:
    """The rule for Sum and Mean of any number of operands, each partial sum rounded.

    Sums of two keep linear forms as Add does; others are bounded by intervals.

    Args:
        mean: divide the sum by the number of operands.
    """
    add = plus(1.0)

    def rule(ctx: AnalysisContext, node: ir.Node, parts: Sequence[Partition], form: NumberFormat) -> Partition:
        if len(parts) == 2 and not mean:
            return add(ctx, node, parts, form)
        bounds = parts[0].range
        for part in parts[1:]:
            bounds = rounded(interval.add(bounds, part.range), form)
        if mean:
            bounds = rounded(interval.scaled(bounds, 1 / len(parts)), form, 2)
        return ctx.related(node, parts, bounds)

    return rule


def prelu(ctx: AnalysisContext, node: ir.Node, parts: Sequence[Partition], form: NumberFormat) -> Partition:
    """PRelu: ``x`` if it is at least 0, else ``slope * x``; the hull of both sides, by intervals and without a linear
    form.
    """
    x, slope = parts
    below = interval.mul(
        Range(min(x.range.low, 0.0), min(x.range.high, 0.0), x.range.nan, loose=x.range.loose), slope.range
    )
    above = Range(max(x.range.low, 0.0), max(x.range.high, 0.0), x.range.nan, loose=x.range.loose)
    return ctx.related(node, parts, rounded(hull([above, below]), form))


def clip(ctx: AnalysisContext, node: ir.Node, inputs: Inputs) -> list[Tensor]:
    """Clip; limits are attributes before opset 11. If they cross, runtimes give either.

    A partition that already lies within the limits stays itself, with its relations.

    Args:
        ctx: of the analysis.
        node: with ``min`` and ``max`` as attributes, if they are no inputs.
        inputs: data, minimum, maximum; absent limits are infinite.
    """
    data = operand(inputs)
    form = ctx.format(node)

    def limit(index: int, name: str, absent: float) -> Range:
        tensor = inputs[index] if index < len(inputs) else None
        if tensor is not None:
            return tensor.range
        found = ctx.attr(node, name, absent)
        return Range(float(found), float(found))

    least, most = limit(1, "min", -INF), limit(2, "max", INF)
    # Limits of the same range are not the same limits.
    limits = tuple((t.parts[0].symbol if t.whole else node.outputs[0]) if t is not None else None for t in inputs[1:])

    def rule(ctx: AnalysisContext, node: ir.Node, parts: Sequence[Partition], form: NumberFormat) -> Partition:
        r = parts[0].range
        low, high = min(max(r.low, least.low), most.low), min(max(r.high, least.high), most.high)
        if least.high > most.low:
            low, high = min(low, most.low), max(high, least.high)
        bounded = least.low > -INF and most.high < INF
        bounds = Range(low, high, r.nan, loose=r.loose and not bounded)
        if low == r.low and high == r.high and least.high <= low and most.low >= high:
            return parts[0]
        return ctx.related(node, parts, bounds, *limits)

    del form
    return [apply(ctx, node, [data], rule)]
