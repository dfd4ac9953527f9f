"""Comparisons, conditions and casts on one cell: the partition of the result, from those of the operands."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import onnx_ir as ir

from irfuzz.analyze.abstract_domain.affine_relations import LinearForm, combined
from irfuzz.analyze.abstract_domain.interval import Range, hull, rounded
from irfuzz.analyze.abstract_domain.number_formats import NumberFormat
from irfuzz.analyze.abstract_domain.partitioned_tensor import ConditionTest, Partition, Tensor
from irfuzz.analyze.transfer_functions.analysis_context import AnalysisContext, Inputs, operand, whole
from irfuzz.analyze.transfer_functions.elementwise_rule_application import Rule, apply


def compare(op: str) -> Rule:
    """The rule for comparisons: decided if the ranges are apart; true elements tell of their operands.

    Args:
        op: one of ``>``, ``>=``, ``<``, ``<=`` and ``==``.

    Returns:
        A rule whose partitions are [1, 1] if it always holds, [0, 0] if it never does, else [0, 1], and whose test is
        ``a - b op 0`` unless that form gets too long.
    """

    def rule(ctx: AnalysisContext, node: ir.Node, parts: Sequence[Partition], form: NumberFormat) -> Partition:
        a, b = parts
        made = ctx.related(node, parts, _decided(op, a.range, b.range))
        exact = combined(a.form, b.form, -1.0)
        tests = () if exact is None else (ConditionTest(LinearForm(exact.terms, exact.constant, exact.error), op),)
        return Partition(made.range, made.symbol, made.form, tests)

    return rule


def _decided(op: str, a: Range, b: Range) -> Range:
    always, never = {
        ">": (a.low > b.high, a.high <= b.low),
        ">=": (a.low >= b.high, a.high < b.low),
        "<": (a.high < b.low, a.low >= b.high),
        "<=": (a.high <= b.low, a.low > b.high),
        "==": (a.point and b.point and a.low == b.low, a.low > b.high or a.high < b.low),
    }[op]
    nan = a.nan or b.nan
    return Range(1.0 if always and not nan else 0.0, 0.0 if never else 1.0)


def conjunction(ctx: AnalysisContext, node: ir.Node, parts: Sequence[Partition], form: NumberFormat) -> Partition:
    """And: both hold if it is true, so the result has the tests of both operands; its range is the smaller
    of theirs.
    """
    made = ctx.related(node, parts, Range(min(p.range.low for p in parts), min(p.range.high for p in parts)))
    return Partition(made.range, made.symbol, made.form, tuple(t for p in parts for t in p.tests))


_OPPOSITE = {">": "<=", ">=": "<", "<": ">=", "<=": ">", "==": "!=", "!=": "=="}


def negation(ctx: AnalysisContext, node: ir.Node, parts: Sequence[Partition], form: NumberFormat) -> Partition:
    """Not: the opposite of a single test (of a NaN-free one: NaN fails both).

    Several tests hold together, and their opposite is no test, so the result of more than one has none.
    """
    (part,) = parts
    made = ctx.related(node, parts, Range(1.0 - part.range.high, 1.0 - part.range.low))
    tests = tuple(opposite(t) for t in part.tests) if len(part.tests) == 1 else ()
    return Partition(made.range, made.symbol, made.form, tests)


def opposite(test: ConditionTest) -> ConditionTest:
    """What holds if a test fails: the same form with the opposite comparison, so that ``form > 0`` becomes
    ``form <= 0``.

    It is not true of NaN, which fails either.
    """
    return ConditionTest(test.form, _OPPOSITE[test.op])


def where(ctx: AnalysisContext, node: ir.Node, parts: Sequence[Partition], form: NumberFormat) -> Partition:
    """Where: each branch under its condition; one that is never chosen does not count.

    What the condition tests narrows the range of the branch whose elements it tests, as in ``Where(x > 0, x, 1)``.
    Without relations the result is the hull of both.
    """
    condition, yes, no = parts
    if not ctx.grid.symbols.relations:
        return ctx.related(node, parts, hull([yes.range, no.range]))
    found: list[Range] = []
    if condition.range.high > 0:
        found.append(under(yes, condition.tests))
    if condition.range.low < 1:
        found.append(under(no, tuple(opposite(t) for t in condition.tests) if len(condition.tests) == 1 else ()))
    return ctx.related(node, parts, hull(found))


def taken(condition: Tensor) -> list[tuple[str, tuple[ConditionTest, ...]]]:
    """The branches of If that may be taken, and what holds in each of them of the condition's one element.

    Args:
        condition: its range says which of them may be; tests of a condition that may have several elements are not
            used.

    Returns:
        Names of the attributes, ``then_branch`` first, each with its tests.
    """
    bounds = condition.range
    tests = condition.parts[0].tests if condition.single else ()
    found: list[tuple[str, tuple[ConditionTest, ...]]] = []
    if bounds.high > 0 or bounds.low >= 1:
        found.append(("then_branch", tests))
    if bounds.low < 1:
        found.append(("else_branch", tuple(opposite(t) for t in tests) if len(tests) == 1 else ()))
    return found


def tested(ctx: AnalysisContext, tensor: Tensor, tests: Sequence[ConditionTest]) -> Tensor:
    """A tensor if tests of a condition of one element hold: of its own one element, or of its extremes.

    It is another symbol there: what is computed of it in one branch is not what the other computes.
    """
    if not tests or not tensor.whole or not ctx.grid.symbols.relations:
        return tensor
    (part,) = tensor.parts
    bounds = under(part, tests) if tensor.single else _between(part, tests)
    return tensor if bounds == part.range else ctx.grid.plain(tensor.dtype, tensor.shape, bounds)


_EXTREMES = {"ReduceMin": (">", ">=", "=="), "ReduceMax": ("<", "<=", "==")}
"""What is said of an extreme and holds for all elements then."""


def _between(part: Partition, tests: Sequence[ConditionTest]) -> Range:
    """The range of elements whose smallest or largest is tested."""
    bounds = part.range
    for test in tests:
        if len(test.form.terms) != 1:
            continue
        ((extreme, _),) = test.form.terms
        if extreme.kind not in _EXTREMES or not extreme.args or extreme.args[0] is not part.symbol:
            continue
        found = _implied(Partition(extreme.range, extreme, LinearForm(((extreme, 1.0),))), test)
        if found is None or found[0] not in _EXTREMES[extreme.kind]:
            continue
        told = under(Partition(extreme.range, extreme, LinearForm(((extreme, 1.0),))), (test,))
        low = max(bounds.low, told.low) if extreme.kind == "ReduceMin" else bounds.low
        high = min(bounds.high, told.high) if extreme.kind == "ReduceMax" else bounds.high
        nonzero = bounds.nonzero or (told.nonzero and (low >= 0 or high <= 0))
        bounds = Range(low, max(low, high), bounds.nan, nonzero, bounds.loose)
    return bounds


def under(part: Partition, tests: Sequence[ConditionTest]) -> Range:
    """The range of a partition if tests hold of the same elements: those whose form is a multiple of its own.

    Args:
        part: with range [-1, 1] and the test ``x > 0`` it gives [0, 1] without 0.
        tests: hold all at once; those of other elements are ignored.
    """
    bounds = part.range
    for test in tests:
        found = _implied(part, test)
        if found is None:
            bounds = _under_magnitude(part, bounds, test)
            continue
        op, limit, slack = found
        if op in (">", ">=") and limit - slack > bounds.low:
            bounds = Range(
                min(limit - slack, bounds.high),
                bounds.high,
                bounds.nan,
                (op == ">" and limit == 0 and not slack) or bounds.nonzero,
                bounds.loose,
            )
        elif op in ("<", "<=") and limit + slack < bounds.high:
            bounds = Range(
                bounds.low,
                max(limit + slack, bounds.low),
                bounds.nan,
                (op == "<" and limit == 0 and not slack) or bounds.nonzero,
                bounds.loose,
            )
        elif op == "!=" and limit == 0 and not slack:
            bounds = Range(bounds.low, bounds.high, bounds.nan, nonzero=True, loose=bounds.loose)
        elif op == "==" and not slack:
            bounds = Range(limit, limit) if bounds.low <= limit <= bounds.high else bounds
        if op in (">", "<") and limit == 0 and not slack:
            bounds = Range(bounds.low, bounds.high, bounds.nan, nonzero=True, loose=bounds.loose)
    return bounds


def _under_magnitude(part: Partition, bounds: Range, test: ConditionTest) -> Range:
    """A range if a test is of the magnitude of the same elements: ``Abs(x) >= 1e-6`` keeps x from 0."""
    if len(test.form.terms) != 1:
        return bounds
    ((size, _),) = test.form.terms
    if size.kind != "Abs" or size.args[-1] is not part.symbol or size.range.low < 0:
        return bounds  # the smallest integer has no magnitude in its type
    found = _implied(Partition(size.range, size, LinearForm(((size, 1.0),))), test)
    if found is None:
        return bounds
    op, limit, slack = found
    low, high = bounds.low, bounds.high
    least, most = limit - slack, max(limit + slack, 0.0)
    if op in ("<", "<=", "=="):
        low, high = min(max(low, -most), high), max(min(high, most), low)
    nonzero = (op in (">", ">=", "==") and least > 0) or (op in (">", "!=") and least == 0 == slack)
    if op in (">", ">=") and least > 0:
        if low > -least:
            low = min(max(low, least), high)
        elif high < least:
            high = max(min(high, -least), low)
    return Range(low, high, bounds.nan, nonzero or bounds.nonzero, bounds.loose)


def _implied(part: Partition, test: ConditionTest) -> tuple[str, float, float] | None:
    """``part op limit`` with the error of the forms, if the test says that."""
    if len(part.form.terms) != len(test.form.terms) or not part.form.terms:
        return None
    wanted = dict(part.form.terms)
    ratio = None
    for symbol, factor in test.form.terms:
        if symbol not in wanted:
            return None
        here = wanted[symbol] / factor
        if ratio is not None and here != ratio:
            return None
        ratio = here
    assert ratio is not None
    # test.form = (part.form - part.constant) / ratio + test.constant, compared with 0
    limit = part.form.constant - test.form.constant * ratio
    op = test.op if ratio > 0 else {">": "<", "<": ">", ">=": "<=", "<=": ">="}.get(test.op, test.op)
    return op, limit, part.form.error + abs(ratio) * test.form.error


_ROUNDED = (ir.DataType.INT64, ir.DataType.UINT64)
"""Integers of which not every one is a double."""


def cast(ctx: AnalysisContext, node: ir.Node, inputs: Inputs) -> list[Tensor]:
    """Cast and CastLike: to floating point rounds; to integers truncates, and is anything beyond their range.

    A cast to the same type changes nothing. Casts of finite numbers to double precision keep the range and the linear
    form (those from 64-bit integers excepted, which may round).
    """
    data = operand(inputs)
    source = data.dtype

    def rule(ctx: AnalysisContext, node: ir.Node, parts: Sequence[Partition], form: NumberFormat) -> Partition:
        (part,) = parts
        r = part.range
        if ctx.dtype(node) == source:
            return part
        if ctx.dtype(node) == ir.DataType.BOOL:
            bounds = Range(0.0 if r.zero else 1.0, 0.0 if r.point and r.low == 0 else 1.0)
        elif form.floating:
            bounds = rounded(r, form, 1.0)
        elif r.nan or r.low <= form.lowest - 1 or r.high >= form.biggest + 1:
            bounds = Range(form.lowest, form.biggest, loose=r.loose)
        else:
            bounds = Range(float(math.trunc(r.low)), float(math.trunc(r.high)), loose=r.loose)
        made = ctx.related(node, parts, bounds, ctx.dtype(node))
        # Widening, and integers that the type holds, change nothing: what is known of the operand holds on.
        exact = form.floating and r.finite and ctx.dtype(node) == ir.DataType.DOUBLE and source not in _ROUNDED
        # What was rounded once in the narrow type was not in the wide one.
        kept = replace(part.form, single=part.form.error == 0) if exact else made.form
        return Partition(bounds if not exact else r, made.symbol, kept, part.tests)

    return [apply(ctx, node, [data], rule)]


def bits(ctx: AnalysisContext, node: ir.Node, parts: Sequence[Partition], form: NumberFormat) -> Partition:
    """Operators on bits (BitShift, BitwiseAnd and their like): the result is bounded by the integer type alone."""
    return ctx.related(node, parts, whole(form))


def logical(ctx: AnalysisContext, node: ir.Node, parts: Sequence[Partition], form: NumberFormat) -> Partition:
    """Or and Xor: false or true; what the operands test is not kept, as neither says which of them holds."""
    return ctx.related(node, parts, Range(0.0, 1.0))
