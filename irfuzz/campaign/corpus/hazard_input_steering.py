"""Steers inputs by the static analysis: away from a program's hazards, or into one."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import TypeAlias

import numpy as np

from irfuzz.analyze.abstract_domain.number_formats import format_of
from irfuzz.analyze.initial_ranges import Ranges, start_range
from irfuzz.analyze.numeric_range_analysis import Alarm, Analysis, analyze
from irfuzz.choices import Choices
from irfuzz.errors import UsageError
from irfuzz.facts import TensorFact
from irfuzz.generate.input_values import Value, make_inputs
from irfuzz.ir.program import Program
from irfuzz.oracle.verdict import Symptom, Verdict

SHARE, NODES = 0.2, 1.5
"""Largest share of the programs whose inputs are steered; of larger ones ``NODES`` over their number of nodes, for the
time of an analysis grows with it: 2% of a program's runs."""

MOST_NODES = 100
"""Larger programs are not steered."""

REACH = 1e4
"""How far inputs of which nothing is said go when they hunt for NaN."""

SAFE = ((-1.0, 1.0), (0.1, 1.0), (1.0, 2.0), (0.5, 0.6))
"""Ranges that are tried when numeric differences are hunted, in this order."""

Ends: TypeAlias = Mapping[str, tuple[float, float]]


class InputSteering:
    """Steers the inputs of one job's programs.

    Args:
        kind: one of ``config.HUNTS``.
    """

    def __init__(self, kind: str) -> None:
        self._kind = kind

    def steer(
        self, program: Program, inputs: Mapping[str, Value], seed: int, said: Ends | None, choices: Choices
    ) -> tuple[Mapping[str, Value], str]:
        """Other inputs for some programs, and what they are after; the given ones and no words for the others.

        Args:
            program: that is to run.
            inputs: of it, made with ``seed``.
            seed: of the inputs' contents.
            said: ranges of its inputs.
            choices: decide which programs are steered, where to, and how.
        """
        nodes = len(program.nodes())
        if self._kind == "none" or nodes > MOST_NODES or not choices.boolean(min(SHARE, NODES / max(nodes, 1))):
            return inputs, ""
        kind = choices.pick(("numeric", "nan")) if self._kind == "both" else self._kind
        free = _free(program, said or {})
        if not free:
            return inputs, ""
        ranges, why = (_away if kind == "numeric" else _into)(program, observed(inputs), free, choices)
        if not ranges:
            return inputs, why
        return make_inputs(program, seed, ranges={**(said or {}), **ranges}), why


def observed(inputs: Mapping[str, Value]) -> dict[str, tuple[float, float]]:
    """The smallest and largest element of each tensor of numbers that holds neither NaN nor an infinity.

    Args:
        inputs: values by graph input name; only read.

    Returns:
        Pairs by name. Sequences, strings, complex numbers and empty tensors are left out; booleans count as 0 and 1.
    """
    found: dict[str, tuple[float, float]] = {}
    for name, value in inputs.items():
        if not isinstance(value, np.ndarray) or value.dtype.kind in "OSUc" or not value.size:
            continue
        wide = value if value.dtype.kind in "iu" else value.astype(np.float64)
        low, high = float(wide.min()), float(wide.max())
        if math.isfinite(low) and math.isfinite(high):
            found[name] = (low, high)
    return found


def _free(program: Program, said: Ends) -> dict[str, tuple[float, float]]:
    """Inputs of floating point and how far they may go: indices, axes and sizes stay what they are."""
    found: dict[str, tuple[float, float]] = {}
    for value in program.graph.inputs:
        fact = program.fact(value)
        name = value.name or ""
        if name in program.graph.initializers or not isinstance(fact, TensorFact):
            continue
        if not fact.dtype.is_floating_point():
            continue
        bounds = start_range(program, name, Ranges({name: said[name]} if name in said else {}))
        if bounds is None:
            continue
        edge = min(REACH, format_of(fact.dtype).biggest) if bounds.loose else math.inf
        found[name] = (max(bounds.low, -edge), min(bounds.high, edge))
    return found


def _away(program: Program, seen: Ends, free: Ends, choices: Choices) -> tuple[Ends, str]:
    """Ranges in which no call of the program can give NaN or an infinity."""
    del choices
    warnings = _analysis(program, seen).warnings
    if not warnings:
        return {}, ""
    for low, high in SAFE:
        ranges = {n: (max(a, low), min(b, high)) for n, (a, b) in free.items() if max(a, low) <= min(b, high)}
        if ranges and not _analysis(program, {**seen, **ranges}).warnings:
            return ranges, f"numeric differences: inputs in [{low:g}, {high:g}], where no call can give NaN or Inf"
    return {}, ""


def _into(program: Program, seen: Ends, free: Ends, choices: Choices) -> tuple[Ends, str]:
    """Numbers for the inputs of one hazard that trigger it for sure, or else one of its corners."""
    found = _analysis(program, {**seen, **free})
    if not found.warnings and not found.unjudged:
        return {}, ""
    alarm = choices.pick(found.warnings or found.unjudged)
    names = [n for n in alarm.inputs if n in free]
    corners = choices.sample((0.0, 0.25, 0.5, 1.0, -1.0), 5)
    ranges: dict[str, tuple[float, float]] = {}
    for place, share in enumerate(corners if names else ()):
        tried = {n: (number, number) for n in names if (number := _at(free[n], share)) is not None}
        if place == 0:
            ranges = tried
        found = _analysis(program, {**seen, **tried}, alarm.output).warnings
        if any(w.output == alarm.output and w.fault.certain for w in found):
            ranges = tried
            break
    return ranges, f"NaN or Inf: {told(alarm)}" if ranges else ""


def _at(ends: tuple[float, float], share: float) -> float | None:
    """A number between the ends: 0 is the low one and 1 the high one, -1 is the number nearest to 0."""
    low, high = ends
    return min(max(0.0, low), high) if share < 0 else low * (1 - share) + high * share


def _analysis(program: Program, given: Ends, output: str = "") -> Analysis:
    names = {v.name for v in program.graph.inputs}
    known = {n: r for n, r in given.items() if n in names}
    try:
        return analyze(program, Ranges(known), outputs=[output] if output else None)
    except UsageError:  # a number that the type of an input cannot hold
        return Analysis()


def told(alarm: Alarm) -> str:
    """A warning on one line.

    Returns:
        Operator and node, the operand with the range that it may have, and what the operator needs of it.
    """
    r = alarm.fault.range
    return f"{alarm.op} {alarm.node}: {alarm.operand} in [{r.low:g}, {r.high:g}], needs {alarm.fault.needs}"


def why_special(program: Program, inputs: Mapping[str, Value], output: str) -> str:
    """Whether NaN or an infinity in an output is what the program computes, by the analysis of its inputs' ranges.

    Returns:
        The call that may give it; or that no call can; empty if that is not known.
    """
    ranges = observed(inputs)
    for name, value in inputs.items():
        if isinstance(value, np.ndarray) and value.size and name not in ranges and value.dtype.kind not in "OSUb":
            return f"input {name} holds NaN or an infinity"
    found = _analysis(program, ranges, output)
    alarms = [*found.warnings, *found.unjudged]
    if alarms:
        return f"may be legitimate: {told(alarms[0])}"
    bounds = found.ranges.get(output)
    if bounds is None or not bounds.finite or found.unknown:
        return ""
    return "not legitimate: no call that leads to it can give NaN or Inf for inputs in these ranges"


def marked(verdict: Verdict, program: Program, inputs: Mapping[str, Value], hunt: str) -> Verdict:
    """A verdict with what its inputs were steered to, and whether a NaN or an infinity of which it speaks is right."""
    more: dict[str, str] = {"hunt": hunt} if hunt else {}
    if verdict.symptom is Symptom.NAN_INF and verdict.output:
        why = why_special(program, inputs, verdict.output)
        if why:
            more["analysis"] = why
    return replace(verdict, evidence={**verdict.evidence, **more}) if more else verdict
