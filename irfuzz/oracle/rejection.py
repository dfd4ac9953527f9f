"""Rejection oracle: a target refuses what others, or the same component at another level, accept and run."""

from __future__ import annotations

import re
from collections.abc import Iterator

from irfuzz.execute.types import Exit, RunResult, Stage
from irfuzz.oracle.case import Case
from irfuzz.oracle.message import names_of, normalise_message
from irfuzz.oracle.traits import DATA_SHAPED, SHAPE_ONLY
from irfuzz.oracle.types import Symptom, Verdict
from irfuzz.oracle.undefined import BEFORE_A_RUN
from irfuzz.oracle.witnesses import components, plainest, witnesses_of

NAME = "rejection"

DATA_DEPENDENT = re.compile(
    r"(?i)(?<!tuple index )(?<!list index )out of (?:data )?(?:bounds?|range)|index \S+ is out|indices element"
    r"|division by zero|ZeroDivisionError|divide by zero|zero-size array"
    r"|empty (?:tensor|sequence|set|reduction|input|list)"
    r"|singular|not positive definite|overflow|must be (?:non-?negative|positive)|float (?:NaN|infinity) to integer"
    r"|invalid value encountered|iteration|reduction (?:axis|over)|can't reduce"
)
"""Messages about element values: on other inputs the same program would be accepted, and ONNX often leaves it open."""

TRACED = frozenset({"torch", "tensorflow"})
"""Components that capture a program before they run it; XLA and torch.export want sizes to be known by then."""


def judge_rejection(case: Case) -> Iterator[Verdict]:
    """Where nobody accepts, the program is to blame.

    ``UNSUPPORTED`` is a gap and no rejection. Where another variant of the same component and version runs the program,
    an optimiser may have made what has no kernel: suspect, since a provider or an option may lack the kernel as well.
    """
    if case.expected_invalid or not case.ran:
        return
    accepting = [r.target for r in case.ran]
    judges = components(accepting)
    same = {(t.component, t.environment, t.kernels) for t in accepting}
    rejected = [
        r
        for r in case.results
        if r.exit is Exit.REJECTED
        or (
            # What cannot be brought over, or lacks a kernel, says nothing about targets with other kernels.
            r.exit is Exit.UNSUPPORTED
            and r.stage is not Stage.CONVERT
            and (r.target.component, r.target.environment, r.target.kernels) in same
        )
    ]
    names = names_of(case.program) if rejected else set[str]()
    groups: dict[str, list[RunResult]] = {}
    for result in rejected:
        groups.setdefault(normalise_message(result.error, names), []).append(result)
    rejecting = components([r.target for r in rejected]) - judges
    for results in groups.values():
        for target, others in plainest([r.target for r in results]):
            result = next(r for r in results if r.target is target)
            why = ""
            if result.exit is Exit.UNSUPPORTED:
                why = "says that it does not support what another variant of it runs"
            elif len(witnesses_of(accepting)) < 2:
                why = f"only {' and '.join(sorted(judges))} accepts it"
            elif len(rejecting - {target.component}) >= len(judges):
                why = "as many components reject it as accept it"
            elif (found := DATA_DEPENDENT.search(f"{result.error}\n{result.log}")) is not None:
                why = f"depends on element values ({found.group(0)!r})"
            elif sized := _sized_by_elements(case, result):
                why = f"sizes that elements decide ({', '.join(sized)}) are beyond what it has to compile"
            elif opens := _open(case, result.stage):
                why = f"undefined behaviour ({', '.join(opens)})"
            evidence: dict[str, str | int | float] = {"stage": result.stage.value, "message": result.error[:500]}
            if others:
                evidence["also"] = ", ".join(t.name for t in others)
            if why:
                evidence["suspect"] = why
            yield Verdict(
                NAME, Symptom.REJECTION, target.name, tuple(t.name for t in accepting), bool(why), evidence=evidence
            )


def _sized_by_elements(case: Case, result: RunResult) -> list[str]:
    """Operators whose elements decide sizes, where a framework refuses before it has seen elements."""
    if result.target.component not in TRACED or result.stage not in (Stage.CONVERT, Stage.COMPILE):
        return []
    return sorted({n.op_type for n in case.program.graph.all_nodes()} & (DATA_SHAPED - {"If", "Loop", "Scan"}))


def _open(case: Case, stage: Stage) -> list[str]:
    """Undefined behaviour that a target may have met at a stage; it runs what only a Shape reads, too."""
    measured = [v for n in case.program.graph if n.op_type in SHAPE_ONLY for v in n.inputs if v is not None]
    names = {o.what for v in (*case.program.graph.outputs, *measured) for o in case.path(v).open}
    return sorted(n for n in names if stage is Stage.RUN or n.partition(": ")[2] in BEFORE_A_RUN)
