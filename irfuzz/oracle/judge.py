"""Judges a program's runs on all targets: the disagreements, one for each fault."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from irfuzz.execute.run_types import RunResult, Target, TargetRole, Value
from irfuzz.oracle.converter_verdicts import OF_VALUES, judge_apart
from irfuzz.oracle.message_normalization import normalise_message
from irfuzz.oracle.numeric.perturbation import Rerun
from irfuzz.oracle.oracle_table import Oracle, oracles
from irfuzz.oracle.runs_to_judge import Case, Distrust, Shadower
from irfuzz.oracle.verdict import Symptom, Verdict
from irfuzz.oracle.witnesses_and_blame import rank, trusts_all

if TYPE_CHECKING:
    from irfuzz.execute.float64_shadow_runs import ShadowRun
    from irfuzz.ir.program import Program
    from irfuzz.spec import Specs

_ORDER = tuple(Symptom)


def judge(
    program: Program,
    inputs: Mapping[str, Value],
    results: Sequence[RunResult],
    *,
    specs: Specs | None = None,
    rerun: Rerun | None = None,
    shadow: Shadower | None = None,
    quick: Shadower | None = None,
    expected_invalid: bool = False,
    table: Mapping[str, Oracle] | None = None,
    distrust: Distrust = trusts_all,
) -> list[Verdict]:
    """Decide who is wrong.

    Args:
        program: what was run.
        inputs: values by graph input name.
        results: one for each target, in any order.
        specs: operator specs, for declared undefined behaviour; the shipped ones if omitted.
        rerun: runs the same program on the same targets with other inputs, or with other weights. Called only if
            outputs differ by more than rounding explains: once on the same inputs and five times on inputs (or,
            if these are integers, weights) moved by rounding errors.
        shadow: runs the program in float64 (``Runner.shadow``). Called at most once, and only if outputs differ by
            more than a cheap floor; without it the targets' own spread decides.
        quick: runs it at a lower price, with bounds that are never larger (``Runner.quick_shadow``). Called at most
            once, before ``shadow``, which is not called then if all targets are within them.
        expected_invalid: the program breaks a rule of ONNX on purpose; rejections are then right, and differences are
            suspect at most.
        table: oracles by name; built-ins and those of entry points if omitted.
        distrust: says whom a known fault makes wrong about the program: its values prove nothing against others.

    Returns:
        At most one verdict for a symptom and a component's fault, on the plainest target that shows it (``also``
        names the others), findings first: deterministic, and independent of the order of ``results``.
    """
    once = None if shadow is None else _Once(shadow)
    first = None if quick is None else _Once(quick)

    def judge_all(results: Sequence[RunResult], rerun: Rerun | None) -> list[Verdict]:
        case = Case(
            program, inputs, results, specs=specs, rerun=rerun, shadow=once, quick=first,
            expected_invalid=expected_invalid, distrust=distrust,
        )  # fmt: skip
        found = [v for oracle in (oracles() if table is None else table).values() for v in oracle(case)]
        if expected_invalid:
            found = [replace(v, invalid=True) for v in found]
        return _merged(case, found)

    if all(r.target.role is TargetRole.RUNTIME for r in results):
        return judge_all(results, rerun)
    targets = {r.target.name: r.target for r in results}
    return sorted(judge_apart(results, rerun, judge_all), key=lambda v: _place(v, targets[v.target]))


class _Once:
    """A shadow that runs once, however many groups of targets are judged."""

    def __init__(self, shadow: Shadower) -> None:
        self._shadow = shadow
        self._run: ShadowRun | None = None

    def __call__(self, program: Program, inputs: Mapping[str, Value]) -> ShadowRun:
        if self._run is None:
            self._run = self._shadow(program, inputs)
        return self._run


def _merged(case: Case, found: Sequence[Verdict]) -> list[Verdict]:
    """One verdict for each fault, findings before suspects, then by symptom and target."""
    faults: dict[tuple[str, ...], list[Verdict]] = {}
    for verdict in found:
        component = case.target(verdict.target).component
        told = "" if verdict.symptom in OF_VALUES else normalise_message(verdict.message)
        faults.setdefault((verdict.symptom, component, told), []).append(verdict)
    kept = [_worst(case, group) for group in faults.values()]
    proven = {case.target(v.target).component for v in kept if not v.suspect and v.symptom in OF_VALUES}
    special = {(v.target, v.output) for v in kept if not v.suspect and v.symptom is Symptom.NAN_INF}
    kept = [
        v
        for v in kept
        if v.symptom not in OF_VALUES
        # What else looks odd about a component whose values are proven wrong is most likely the same fault.
        or not (
            (v.suspect and case.target(v.target).component in proven)
            or (v.symptom is Symptom.DIFFERENCE and (v.target, v.output) in special)
        )
    ]
    return sorted(kept, key=lambda v: _place(v, case.target(v.target)))


def _place(verdict: Verdict, target: Target) -> tuple[bool, int, tuple[str, bool, int, str], str]:
    return verdict.suspect, _ORDER.index(verdict.symptom), rank(target), verdict.output


def _worst(case: Case, verdicts: Sequence[Verdict]) -> Verdict:
    """Of one fault's verdicts the plainest target's, on the output where it is worst; the other targets are named."""
    first = min(verdicts, key=lambda v: (v.suspect, rank(case.target(v.target))))
    same = [v for v in verdicts if v.target == first.target and v.suspect == first.suspect]
    worst = min(same, key=lambda v: (-_ratio(v), v.output, v.oracle))
    others = {name for v in verdicts for name in v.blamed} - {worst.target}
    return replace(worst, also=tuple(t.name for t in sorted(map(case.target, others), key=rank)))


def _ratio(verdict: Verdict) -> float:
    if verdict.distance is None:
        return 0.0
    return verdict.distance / verdict.bound if verdict.bound else math.inf
