"""What targets did with one input enters, where they disagree leaves, by derived bounds or by given ones."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from irfuzz._native import difference, distances
from irfuzz.errors import UsageError
from irfuzz.execute.runner import Runner
from irfuzz.execute.types import Exit, RunResult, Target, Value
from irfuzz.oracle.case import Case
from irfuzz.oracle.derived import OF_VALUES
from irfuzz.oracle.judge import judge
from irfuzz.oracle.shapes import describe
from irfuzz.oracle.types import Symptom, Verdict

if TYPE_CHECKING:
    from irfuzz.ir.program import Program

_ALONE = "no two independent witnesses"
"""How the numeric oracle says that two targets differ and nobody else can tell who is right."""


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
        base: whom it was compared with.
        output: graph output; empty where a target did not run through.
        distance: the largest absolute difference, infinite where it is one of kind.
        bound: what was allowed.
        what: one line.
        undecided: it differs, but where ONNX leaves open what is right.
    """

    sample: int
    target: str
    base: str
    output: str
    distance: float
    bound: float
    what: str
    undecided: bool = False


def ends(number: int, ran: Sequence[RunResult], main: Target) -> Iterator[Disagreement]:
    """Targets that do not run through what another runs.

    Raises:
        UsageError: none runs through.
    """
    ran_through = [r.target.name for r in ran if r.exit is Exit.OK]
    if not ran_through:
        first = ran[0]
        raise UsageError(f"no target runs the model on sample {number}; {first.target.name}: {first.error}")
    against = main.name if main.name in ran_through else ran_through[0]
    for r in ran:
        if r.exit is not Exit.OK:
            what = f"{r.exit} at {r.stage}: {r.error}"
            yield Disagreement(number, r.target.name, against, "", math.inf, 0.0, what)


def beyond(number: int, ran: Sequence[RunResult], main: Target, tolerance: Tolerance) -> Iterator[Disagreement]:
    """Outputs beyond fixed bounds."""
    judge_result = next((r for r in ran if r.target.name == main.name), None)
    if judge_result is None or judge_result.exit is not Exit.OK:
        judge_result = next(r for r in ran if r.exit is Exit.OK)
    against = judge_result.target.name
    for r in ran:
        if r is judge_result or r.exit is not Exit.OK:
            continue
        for name, expected in judge_result.outputs.items():
            what, far = _apart(name, r.outputs.get(name), expected, tolerance)
            if what:
                atol = tolerance.atols.get(name, tolerance.atol)
                yield Disagreement(number, r.target.name, against, name, far, atol, what)


def _apart(name: str, got: Value, expected: Value, tolerance: Tolerance) -> tuple[str, float]:
    """What is wrong with an output, empty where nothing, and the largest difference."""
    if not isinstance(got, np.ndarray) or not isinstance(expected, np.ndarray):
        same = _same_nested(got, expected)
        return ("", 0.0) if same else (f"{name} is {describe(got)}, expected {describe(expected)}", math.inf)
    if got.dtype != expected.dtype or got.shape != expected.shape:
        return f"{name} is {describe(got)}, expected {describe(expected)}", math.inf
    if got.dtype.kind in "OUSc":
        return ("", 0.0) if np.array_equal(got, expected) else (f"{name} differs", math.inf)
    rtol = tolerance.rtols.get(name, tolerance.rtol)
    atol = tolerance.atols.get(name, tolerance.atol)
    apart = distances([got], [expected], rtol=rtol, atol=atol)[0]
    count = int(apart["beyond"]) + int(apart["mismatched"])
    if not count:
        return "", 0.0
    far = math.inf if apart["mismatched"] else float(apart["max_abs"])
    return f"{count} of {got.size} elements of {name} beyond atol {atol:g} + rtol {rtol:g} * |expected|", far


def _same_nested(a: Value, b: Value) -> bool:
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(_same_nested, a, b))
    if isinstance(a, np.ndarray) and isinstance(b, np.ndarray):
        return a.dtype == b.dtype and np.array_equal(a, b, equal_nan=a.dtype.kind == "f")
    return a is None and b is None


def judged(
    runner: Runner, program: Program, inputs: Mapping[str, Value], number: int, ran: Sequence[RunResult], main: Target
) -> Iterator[Disagreement]:
    """Outputs that differ by more than the numeric oracle's derived bounds."""
    names = {t.name for t in runner.targets}
    live = [r.target for r in ran if r.target.name in names]  # what was saved cannot run again

    def rerun(other: Mapping[str, Value], moved: Program | None = None, /) -> Sequence[RunResult]:
        return runner.run(program if moved is None else moved, other, live)

    for verdict in judge(program, inputs, ran, rerun=rerun, shadow=runner.shadow):
        if verdict.symptom not in OF_VALUES:
            continue
        doubt = str(verdict.evidence.get("suspect", ""))
        against = main.name if main.name in verdict.witnesses else next(iter(verdict.witnesses), main.name)
        target = verdict.target
        if target == main.name and _ALONE in doubt:
            target, against = against, target  # nobody can tell who is right: the base is taken for it
        evidence = verdict.evidence
        place = evidence.get("element", verdict.output)
        what = f"{place}: {evidence.get('got', '')}, expected {evidence.get('expected', '')}"
        if doubt:
            what += f" ({doubt})"
        distance = math.inf if verdict.distance is None else verdict.distance
        undecided = verdict.suspect and _ALONE not in doubt
        if _ALONE in doubt and (left_open := _left_open(Case(program, inputs, ran), verdict)):
            undecided = True
            what += f", and {left_open}"
        yield Disagreement(
            number, target, against, verdict.output, distance, verdict.bound or 0.0, what, undecided=undecided
        )


def _left_open(case: Case, verdict: Verdict) -> str:
    """Why two targets may both be right; empty where no reason is known."""
    value = case.program.value(verdict.output)
    if value is None or verdict.symptom not in (Symptom.NAN_INF, Symptom.DIFFERENCE):
        return ""
    path = case.path(value)
    specials = path.specials or verdict.symptom is Symptom.NAN_INF
    opens = [o.what for o in path.open if specials or not o.specials_only]
    return f"undefined behaviour ({', '.join(opens)})" if opens else path.blur()


def farthest_of(ran: Sequence[RunResult], main: Target) -> dict[str, float]:
    """Largest difference of any output to the base's, by target."""
    base = next((r for r in ran if r.target.name == main.name and r.exit is Exit.OK), None)
    found: dict[str, float] = {}
    for r in ran:
        if base is None or r is base or r.exit is not Exit.OK:
            continue
        found[r.target.name] = 0.0
        for name, a in base.outputs.items():
            b = r.outputs.get(name)
            if not isinstance(a, np.ndarray) or not isinstance(b, np.ndarray) or a.dtype.kind in "OUSc":
                continue
            far = math.inf
            if a.shape == b.shape and a.dtype == b.dtype:
                apart = difference(a, b)
                far = math.inf if apart.mismatched else apart.max_abs
            found[r.target.name] = max(found[r.target.name], far)
    return found
