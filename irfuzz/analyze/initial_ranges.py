"""What a program's values start as, from the user's ranges and from initialisers (DEBAR, section 3.3)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import onnx_ir as ir

from irfuzz.analyze.abstract_domain.interval import TOP, Range
from irfuzz.analyze.abstract_domain.number_formats import NumberFormat, format_of
from irfuzz.analyze.abstract_domain.partitioned_tensor import Tensor
from irfuzz.analyze.transfer_functions.analysis_context import AnalysisContext, any_finite, measured
from irfuzz.errors import UsageError
from irfuzz.facts import tensors_in
from irfuzz.ir.input_domain import input_domain
from irfuzz.ir.program import Program

_VARIANCE = re.compile(r"var(iance)?s?\b|(_|^)(running|moving)_var", re.IGNORECASE)
_COUNT = re.compile(r"(^|[^a-z])(count|step|num)s?\b", re.IGNORECASE)

FROM_ZERO = 32.0
"""How far training may take what starts at 0, which says nothing of its scale. A logit of 32 is a certainty of
1 - 1e-14, and its exponential is no overflow yet."""

GROWN = 1.0
"""How far training takes at least what starts on both sides of 0: initial weights are small."""


@dataclass(frozen=True, slots=True)
class Ranges:
    """What is said of inputs and parameters.

    Attributes:
        given: lowest and highest element by the name of an input or initialiser.
        architecture: parameters may still be trained, so that only their range is known (section 4.3).
    """

    given: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    architecture: bool = False


def input_range(
    value: ir.Value, dtype: ir.DataType | None, low: float | None, high: float | None, ranges: Ranges
) -> Range:
    """What an input may be: as the user says, as its metadata or fact says, else every finite number of its type.

    Args:
        value: the input.
        dtype: its element type; unknown ones and strings give ``TOP``.
        low: least element by shape inference, ``None`` if unknown.
        high: largest element, likewise.
        ranges: what the user says.

    Raises:
        UsageError: the user's range holds no finite number of the type.
    """
    form = format_of(dtype)
    given = ranges.given.get(value.name or "")
    if given is not None:
        return _within(value.name or "", given, form)
    domain = input_domain(value)
    if domain is not None:
        return Range(domain.low, domain.high)
    if low is not None and high is not None:
        return Range(max(low, form.lowest), min(high, form.biggest))
    if dtype == ir.DataType.BOOL:
        return Range(0.0, 1.0)
    if dtype is None or dtype == ir.DataType.STRING:
        return TOP
    return any_finite(form)


def _within(name: str, given: tuple[float, float], form: NumberFormat) -> Range:
    """The numbers of a type that lie in a range."""
    low, high = max(given[0], form.lowest), min(given[1], form.biggest)
    if not low <= high:
        raise UsageError(f"range of {name!r}: [{given[0]:g}, {given[1]:g}] holds no finite number of its type")
    return Range(low, high)


def start_input(ctx: AnalysisContext, value: ir.Value, ranges: Ranges) -> Tensor:
    """An input as an abstract tensor of one partition, with the range that ``input_range`` gives it.

    Args:
        ctx: of the analysis.
        value: the input; of one of unknown type nothing is known.
        ranges: what the user says.

    Raises:
        UsageError: the user's range holds no finite number of its type.
    """
    fact = tensors_in(ctx.view.fact(value))
    if fact is None:
        return ctx.grid.plain(None, None, TOP)
    bounds = input_range(value, fact.dtype, fact.low, fact.high, ranges)
    symbol = ctx.grid.symbols.make("input", (value.name,), bounds)
    return ctx.grid.one(fact.dtype, fact.shape, ctx.grid.part(symbol))


def start_initializer(ctx: AnalysisContext, value: ir.Value, array: np.ndarray | None, ranges: Ranges) -> Tensor:
    """An initialiser: its elements, or in an architecture the range that training may give them.

    Args:
        ctx: of the analysis.
        value: the initialiser.
        array: its elements; ``None`` gives anything unless the user says a range.
        ranges: a range that the user gives comes before either.

    Raises:
        UsageError: the user's range holds no finite number of its type.
    """
    fact = tensors_in(ctx.view.fact(value))
    dtype = fact.dtype if fact is not None else value.dtype
    shape = fact.shape if fact is not None else None
    name = value.name or ""
    given = ranges.given.get(name)
    if given is None and (array is None or not (ranges.architecture and _trainable(ctx, name, array, dtype))):
        if array is None:
            return ctx.grid.plain(dtype, shape, TOP)
        return ctx.constant(array, dtype, value)
    if given is not None:
        bounds = _within(name, given, format_of(dtype))
    else:
        bounds = trained(name, measured(array), dtype)  # type: ignore[arg-type]
    return ctx.grid.one(dtype, shape, ctx.grid.part(ctx.grid.symbols.make("parameter", (value,), bounds)))


def start_range(program: Program, name: str, ranges: Ranges) -> Range | None:
    """The range with which an input or a trainable parameter starts; ``None`` if there is none of that name.

    Args:
        program: it stays as it is.
        name: of an input or initialiser of the main graph.
        ranges: what the user says; the range of an input is limited to its type.
    """
    for value in program.graph.inputs:
        fact = tensors_in(program.fact(value))
        if value.name == name and fact is not None:
            return input_range(value, fact.dtype, fact.low, fact.high, ranges)
    value = program.graph.initializers.get(name)
    if value is None or value.const_value is None:
        return None
    if name in ranges.given:
        return Range(*ranges.given[name])
    return trained(name, measured(value.const_value.numpy()), value.const_value.dtype)


def _trainable(ctx: AnalysisContext, name: str, array: np.ndarray, dtype: ir.DataType | None) -> bool:
    """What the model says is a parameter; if it says nothing, floating-point tensors that have a dimension.

    Scalars are then epsilons and factors that nothing trains.
    """
    if dtype is None or not dtype.is_floating_point():
        return False
    return array.ndim > 0 if ctx.parameters is None else name in ctx.parameters


def trained(name: str, r: Range, dtype: ir.DataType | None) -> Range:
    """DEBAR's rules (section 4.3): variances are not negative, counts at least 1, and what starts at 0 leaves it.

    Wider than the paper's, which has [-1, 1] for what starts at 0 and the initial range for all others: see
    ``FROM_ZERO`` and ``GROWN``.

    Args:
        name: of the parameter; it tells variances (``running_var``) and counts (``num_steps``).
        r: of its elements now, which a parameter keeps that is of one sign.
        dtype: its element type, whose largest number ends the ranges of variances and counts.
    """
    form = format_of(dtype)
    if _VARIANCE.search(name):
        return Range(0.0, form.biggest, loose=True)
    if _COUNT.search(name):
        return Range(1.0, form.biggest, loose=True)
    if r.low == 0 == r.high:
        return Range(-FROM_ZERO, FROM_ZERO)
    if r.low < 0 < r.high:
        return Range(min(r.low, -GROWN), max(r.high, GROWN), r.nan, loose=r.loose)
    return r
