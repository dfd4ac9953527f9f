"""The widest range of each input with which a call that is warned of is safe (RANUM's precondition)."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TypeAlias

import onnx_ir as ir

from irfuzz.analyze.abstract_domain.number_formats import NumberFormat, format_of
from irfuzz.analyze.initial_ranges import Ranges, start_range
from irfuzz.analyze.numeric_range_analysis import Alarm, analyze
from irfuzz.ir.program import Program

Which: TypeAlias = tuple[str, int | None]
"""A fault of a call: its kind and the operand that decides."""

STEPS = 24
"""Halvings of a range, which leave a seven-millionth of it."""


@dataclass(frozen=True, slots=True)
class Precondition:
    """An input's range with which a call is safe, the others staying as they are.

    Attributes:
        input: its name.
        low: smallest element.
        high: largest element.
    """

    input: str
    low: float
    high: float


def preconditions(
    program: Program, warning: Alarm, ranges: Ranges, *, domain: str = "irfuzz", seconds: float = 1.0
) -> tuple[Precondition, ...]:
    """For each input that a warning depends on, what is left of its range when one end is moved no more than needed.

    Towards its upper end, its lower end, or the number of it that is nearest to 0: whichever keeps most. Nothing else
    is warned of in the call then that was not warned of before. Inputs of which no part of the range is proved safe,
    and those that time does not suffice for, are left out.

    Args:
        program: that was analysed; it stays as it is.
        warning: one of its warnings.
        ranges: that it was analysed with.
        domain: likewise.
        seconds: for all inputs together.
    """
    until = time.monotonic() + seconds
    found: list[Precondition] = []
    before = _faults(program, warning, ranges, domain)[0] - {_which(warning)}
    for name in warning.inputs:
        bounds = start_range(program, name, ranges)
        if bounds is None or bounds.low >= bounds.high:
            continue
        form = format_of(_dtype(program, name))
        kept: list[tuple[float, float]] = []
        for towards in dict.fromkeys((bounds.high, bounds.low, min(max(0.0, bounds.low), bounds.high))):
            part = _keep(program, warning, ranges, domain, before, name, (bounds.low, bounds.high), towards, until)
            if part is not None:
                part = _inwards(part, form)
            if part is not None and part[0] <= part[1]:
                kept.append(part)
        if kept:
            found.append(Precondition(name, *max(kept, key=lambda part: part[1] - part[0])))
        if time.monotonic() > until:
            break
    return tuple(found)


def _which(warning: Alarm) -> Which:
    return warning.fault.kind, warning.fault.operand


def _faults(program: Program, warning: Alarm, ranges: Ranges, domain: str) -> tuple[set[Which], set[Which]]:
    """What is warned of in the call, and what is unproved there."""
    found = analyze(program, ranges, domain=domain, outputs=[warning.output])
    warned, unproved = (
        {_which(w) for w in alarms if w.output == warning.output} for alarms in (found.warnings, found.unjudged)
    )
    return warned, unproved


def _inwards(part: tuple[float, float], form: NumberFormat) -> tuple[float, float]:
    """The ends as numbers of the input's type, within what was proved."""
    if not form.floating:
        return float(math.ceil(part[0])), float(math.floor(part[1]))
    if not form.code:
        return part
    return form.above(part[0]) + 0.0, form.below(part[1]) + 0.0  # no -0


def _dtype(program: Program, name: str) -> ir.DataType | None:
    fact = program.tensor(program.value(name))
    return None if fact is None else fact.dtype


def _keep(
    program: Program,
    warning: Alarm,
    ranges: Ranges,
    domain: str,
    before: set[Which],
    name: str,
    bounds: tuple[float, float],
    towards: float,
    until: float,
) -> tuple[float, float] | None:
    """The largest part of a range, shrunk towards a number in it, that is proved safe."""

    def safe(low: float, high: float) -> bool:
        given: Mapping[str, tuple[float, float]] = {**ranges.given, name: (low, high)}
        warned, unproved = _faults(program, warning, replace(ranges, given=given), domain)
        return warned <= before and _which(warning) not in unproved

    if not safe(towards, towards):
        return None
    low = inner_low = towards
    high = inner_high = towards
    outer_low, outer_high = bounds
    for _ in range(STEPS):
        if time.monotonic() > until:
            break
        low, high = _between(inner_low, outer_low), _between(inner_high, outer_high)
        if safe(low, high):
            inner_low, inner_high = low, high
        else:
            outer_low, outer_high = low, high
    return inner_low, inner_high


def _between(inner: float, outer: float) -> float:
    """Half way; on a scale of magnitudes if the two ends are far apart."""
    if abs(inner - outer) <= 1e6:
        return inner + (outer - inner) / 2
    far, near = (outer, inner) if abs(outer) > abs(inner) else (inner, outer)
    if near * far <= 0:
        return 1.0 if far > 1 else -1.0 if far < -1 else far / 2
    return (abs(near) ** 0.5) * (abs(far) ** 0.5) * (1 if far > 0 else -1)
