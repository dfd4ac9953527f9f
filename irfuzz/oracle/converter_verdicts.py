"""Which verdicts on a converter or tool, judged beside the runtimes, are about it and nobody else.

What it made runs on a runtime that may be a witness itself, so it supports nobody, and is blamed only for what that
runtime does not show without it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from irfuzz.execute.intermediate_values import same
from irfuzz.execute.run_types import Exit, RunResult, Stage, Target, TargetRole, Value
from irfuzz.oracle.numeric.perturbation import Rerun
from irfuzz.oracle.verdict import Symptom, Verdict
from irfuzz.oracle.witnesses_and_blame import components

if TYPE_CHECKING:
    from irfuzz.ir.program import Program

OF_VALUES = frozenset({Symptom.WRONG_DTYPE, Symptom.WRONG_SHAPE, Symptom.NAN_INF, Symptom.DIFFERENCE})

_NUMBERS = frozenset({Symptom.NAN_INF, Symptom.DIFFERENCE})

Judge = Callable[[Sequence[RunResult], "Rerun | None"], list[Verdict]]


def judge_apart(results: Sequence[RunResult], rerun: Rerun | None, judge_all: Judge) -> list[Verdict]:
    """The verdicts on the runtimes, as if there were no converters and tools, then those on each of these.

    Args:
        results: one for each target.
        rerun: of all targets.
        judge_all: judges some of the results.
    """
    own = [r for r in results if r.target.role is TargetRole.RUNTIME]
    shared = _Shared(rerun) if rerun is not None else None
    found = judge_all(own, shared and shared.of(own)) if own else []
    derived = [r for r in results if r.target.role is not TargetRole.RUNTIME]
    for component in sorted(components([r.target for r in derived])):
        mine = [r for r in derived if r.target.component == component]
        befores = {r.target.before for r in mine}
        # A converter may start from what another target built.
        beside = [r for r in derived if r.target.name in befores and r.target.component != component]
        judged = [*own, *beside, *mine]
        if all(_adds_nothing(r, judged) for r in mine):
            continue
        found += _about(mine, own, judge_all(judged, shared and shared.of(judged)))
    return found


def _adds_nothing(result: RunResult, judged: Sequence[RunResult]) -> bool:
    """Whether a converter or tool can be blamed for nothing: it has a gap, or gives what is computed without it."""
    if result.exit is Exit.UNSUPPORTED:
        return True
    before = next((r for r in judged if r.target.name == result.target.before and r is not result), None)
    return (
        before is not None
        and result.exit is before.exit is Exit.OK
        and before.stage is Stage.RUN
        and result.outputs.keys() == before.outputs.keys()
        and all(same(value, before.outputs[name]) for name, value in result.outputs.items())
    )


def concerned(blamed: Target, targets: Sequence[Target]) -> tuple[Target, ...]:
    """The targets on which a verdict on one of them depends: runtimes, its own component, and what that starts from."""
    if blamed.role is TargetRole.RUNTIME:
        return tuple(t for t in targets if t.role is TargetRole.RUNTIME)
    befores = {t.before for t in targets if t.component == blamed.component}
    return tuple(
        t for t in targets if t.role is TargetRole.RUNTIME or t.component == blamed.component or t.name in befores
    )  # fmt: skip


class _Shared:
    """Reruns of all targets, each made once: which inputs come in which order depends on the program alone."""

    def __init__(self, rerun: Rerun) -> None:
        self._rerun = rerun
        self._made: list[Sequence[RunResult]] = []

    def of(self, results: Sequence[RunResult]) -> Rerun:
        """The same reruns, with the results of some targets."""
        names = {r.target.name for r in results}
        count = 0

        def rerun(inputs: Mapping[str, Value], program: Program | None = None, /) -> Sequence[RunResult]:
            nonlocal count
            if count == len(self._made):
                self._made.append(self._rerun(inputs, program))
            count += 1
            return [r for r in self._made[count - 1] if r.target.name in names]

        return rerun


def _about(mine: Sequence[RunResult], own: Sequence[RunResult], verdicts: Sequence[Verdict]) -> Iterator[Verdict]:
    """The verdicts on one component that stand."""
    by_name = {r.target.name: r for r in mine}
    ran = [r for r in own if r.exit is Exit.OK and r.stage is Stage.RUN]
    for verdict in verdicts:
        result = by_name.get(verdict.target)
        if result is None or verdict.symptom is Symptom.LENIENCY:
            continue
        why = ""
        if verdict.symptom in OF_VALUES:
            if result.target.approximate and verdict.symptom in _NUMBERS:
                continue
            if _blamed(verdicts, verdict, result.target.before):
                continue  # it only carries on what is computed without it
            without = any(r.target.name == result.target.before for r in ran)
            if result.target.role is TargetRole.TOOL and not without:
                why = f"{result.target.before} has not run the model before it"
        elif verdict.symptom is Symptom.HANG:
            why = "a conversion may take long without being stuck"
        elif verdict.symptom is Symptom.REJECTION:
            if result.exit is Exit.UNSUPPORTED:
                continue  # its variants do different things
            if len(components([r.target for r in ran])) < 2:
                why = "no two runtimes accept it"
        if why and not verdict.suspect:
            yield replace(verdict, suspect=True, doubt=why)
        else:
            yield verdict


def _blamed(verdicts: Sequence[Verdict], verdict: Verdict, name: str) -> bool:
    """Whether a target is blamed for the same as ``verdict`` blames another for."""
    return any(
        other.output == verdict.output and other.symptom in OF_VALUES and name in other.blamed for other in verdicts
    )
