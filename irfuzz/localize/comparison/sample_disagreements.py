"""Compares what targets did with one input, by derived bounds or by given ones."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from irfuzz._native import distances
from irfuzz.execute.run_types import Exit, RunResult, Target, Value
from irfuzz.execute.runner import Runner
from irfuzz.localize.comparison.accepted_difference_shadow_skipping import SparingShadow
from irfuzz.oracle.converter_verdicts import OF_VALUES
from irfuzz.oracle.excuses import ALONE
from irfuzz.oracle.judge_with_reruns import MeasuringJudge
from irfuzz.oracle.runs_to_judge import Case, Distrust
from irfuzz.oracle.value_structure import describe, leaves_of
from irfuzz.oracle.verdict import Symptom, Verdict
from irfuzz.oracle.witnesses_and_blame import trusts_all

if TYPE_CHECKING:
    from irfuzz.ir.program import Program


@dataclass(frozen=True, slots=True)
class Tolerance:
    """Fixed bounds instead of derived ones: ``|a - b| <= atol + rtol * |b|``, ``b`` of the base.

    Attributes:
        rtol: for every output.
        atol: for every output.
        rtols: by output, before ``rtol``.
        atols: by output, before ``atol``.
    """

    rtol: float = 1e-5
    atol: float = 1e-5
    rtols: Mapping[str, float] = field(default_factory=dict)
    atols: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Disagreement:
    """Two targets on one sample.

    Attributes:
        sample: its number.
        target: who is off, as far as that is known.
        base: whom it was compared with; empty if no other target ran.
        output: graph output; empty if a target did not run through.
        distance: the largest absolute difference, infinite if it is one of kind.
        bound: what was allowed.
        what: one line.
        undecided: it differs, but ONNX leaves open what is right there, or a limit of our own ended the run.
        symptom: what is wrong.
        also: other targets of the same component that show the same.
        message: what the component said, without what differs from input to input; empty for values.
        said: what it said itself; of values the shape or type that it gave, if that is wrong.
        limit: the limit of our own that ended the run, and its flag; empty if it was none.
        firm: the other targets, or the shadow, tell who is off; otherwise it is a convention.
    """

    sample: int
    target: str
    base: str
    output: str
    distance: float
    bound: float
    what: str
    undecided: bool = False
    symptom: Symptom = Symptom.DIFFERENCE
    also: tuple[str, ...] = ()
    message: str = ""
    said: str = ""
    limit: str = ""
    firm: bool = True


def beyond(number: int, ran: Sequence[RunResult], main: Target, tolerance: Tolerance) -> Iterator[Disagreement]:
    """Outputs beyond fixed bounds of the largest group that keeps them; of equal groups the base's is right.

    Args:
        number: of the sample.
        ran: what each target did; those that did not run through are left out.
        main: the base.
        tolerance: the bounds.
    """
    through = sorted((r for r in ran if r.exit is Exit.OK), key=lambda r: r.target.name != main.name)
    for name in through[0].outputs if through else ():
        groups: list[list[RunResult]] = []
        for r in through:
            for group in groups:
                if not _apart(name, r.outputs.get(name), group[0].outputs.get(name), tolerance)[0]:
                    group.append(r)
                    break
            else:
                groups.append([r])
        right = max(groups, key=len)
        for group in groups:
            for r in group if group is not right else ():
                what, far = _apart(name, r.outputs.get(name), right[0].outputs.get(name), tolerance)
                atol = tolerance.atols.get(name, tolerance.atol)
                yield Disagreement(
                    number, r.target.name, right[0].target.name, name, far, atol, what, firm=len(right) > len(group)
                )


def _apart(name: str, got: Value, expected: Value, tolerance: Tolerance) -> tuple[str, float]:
    """What is wrong with an output, empty if nothing, and the largest difference."""
    if isinstance(got, list) and describe(got) == describe(expected):
        pairs = zip(leaves_of(name, got), leaves_of(name, expected), strict=True)
        found = [_apart_tensors(name, label, a, b, tolerance) for (label, a), (_, b) in pairs]
        return max(found, key=lambda pair: (bool(pair[0]), pair[1]), default=("", 0.0))
    if not isinstance(got, np.ndarray) or not isinstance(expected, np.ndarray):
        same = got is None and expected is None
        return ("", 0.0) if same else (f"{name} is {describe(got)}, expected {describe(expected)}", math.inf)
    return _apart_tensors(name, name, got, expected, tolerance)


def _apart_tensors(
    output: str, name: str, got: np.ndarray, expected: np.ndarray, tolerance: Tolerance
) -> tuple[str, float]:
    """``_apart`` of a tensor called ``name`` in an output."""
    if got.dtype != expected.dtype or got.shape != expected.shape:
        return f"{name} is {describe(got)}, expected {describe(expected)}", math.inf
    if got.dtype.kind in "OUSc":
        return ("", 0.0) if np.array_equal(got, expected) else (f"{name} differs", math.inf)
    rtol = tolerance.rtols.get(output, tolerance.rtol)
    atol = tolerance.atols.get(output, tolerance.atol)
    apart = distances([got], [expected], rtol=rtol, atol=atol)[0]
    count = int(apart["beyond"]) + int(apart["mismatched"])
    if not count:
        return "", 0.0
    far = math.inf if apart["mismatched"] else float(apart["max_abs"])
    return f"{count} of {got.size} elements of {name} beyond atol {atol:g} + rtol {rtol:g} * |expected|", far


def judged(
    runner: Runner,
    program: Program,
    inputs: Mapping[str, Value],
    number: int,
    ran: Sequence[RunResult],
    main: Target,
    sparing: SparingShadow | None = None,
    distrust: Distrust = trusts_all,
) -> Iterator[Disagreement]:
    """Outputs that differ by more than the numeric oracle's derived bounds.

    Args:
        runner: has the targets that can run again.
        program: that ran.
        inputs: that it was fed.
        number: of the sample.
        ran: what each target did.
        main: the base.
        sparing: the shadow to ask; the runner's if omitted.
        distrust: says whom a known fault makes wrong about the program.
    """
    names_of_rows = [r.target.name for r in ran]
    shadow = sparing or SparingShadow(runner)
    hearing = MeasuringJudge(runner, distrust, shadow, shadow.quick)
    for verdict in hearing.judge(program, inputs, ran):
        if verdict.symptom not in OF_VALUES:
            continue
        doubt = verdict.doubt
        alone = ALONE in doubt
        against = main.name if main.name in verdict.witnesses else next(iter(verdict.witnesses), main.name)
        first = against if alone else ""
        blamed = [verdict.target, *(n for n in verdict.also if n in names_of_rows)]
        if alone and _outnumber(blamed, verdict.witnesses, main):
            # Nobody independent can tell who is right: the larger group is taken for it, of equals the base's.
            blamed, against = [n for n in names_of_rows if n in verdict.witnesses] or [against], verdict.target
        what = _told(verdict, doubt, first)
        undecided = verdict.suspect and not alone
        if alone and (left_open := _left_open(Case(program, inputs, ran), verdict)):
            undecided = True
            what += f", and {left_open}"
        distance = math.inf if verdict.distance is None else verdict.distance
        yield Disagreement(
            number, blamed[0], against, verdict.output, distance, verdict.bound or 0.0, what, undecided=undecided,
            symptom=verdict.symptom, also=tuple(blamed[1:]), said=verdict.got, firm=not alone,
        )  # fmt: skip


def _told(verdict: Verdict, doubt: str, other: str) -> str:
    """One line about the worst element; ``other`` is named if nobody knows which of two is right."""
    got, expected = verdict.got, verdict.expected
    values = f"{got} on {verdict.target}, {expected} on {other}" if other else f"{got}, expected {expected}"
    return f"{verdict.element or verdict.output}: {values}" + (f" ({doubt})" if doubt else "")


def _outnumber(blamed: Sequence[str], witnesses: Sequence[str], main: Target) -> bool:
    """Whether those that a verdict blames without proof are more than those it holds against them."""
    return len(blamed) > len(witnesses) or (len(blamed) == len(witnesses) and main.name in blamed)


def _left_open(case: Case, verdict: Verdict) -> str:
    """Why two targets may both be right; empty if no reason is known."""
    value = case.program.value(verdict.output)
    if value is None or verdict.symptom not in (Symptom.NAN_INF, Symptom.DIFFERENCE):
        return ""
    path = case.path(value)
    specials = path.specials or verdict.symptom is Symptom.NAN_INF
    opens = [o.what for o in path.open if specials or not o.specials_only]
    return f"undefined behaviour ({', '.join(opens)})" if opens else path.blur()
