"""Hang and memory oracles: a target that went over a limit which others kept."""

from __future__ import annotations

from collections.abc import Iterator

from irfuzz.execute.types import Exit
from irfuzz.oracle.case import Case
from irfuzz.oracle.types import Symptom, Verdict
from irfuzz.oracle.witnesses import REFERENCE, components, plainest

SLOWEST_WITNESS = 1.0
"""Seconds: where the quickest independent component needs longer than this, the program is simply large."""


def judge_hang(case: Case) -> Iterator[Verdict]:
    """Over the time limit."""
    return _over(case, "hang", Exit.HANG, Symptom.HANG)


def judge_memory(case: Case) -> Iterator[Verdict]:
    """Over the memory limit."""
    return _over(case, "memory", Exit.MEMORY, Symptom.MEMORY)


def _over(case: Case, oracle: str, exit_kind: Exit, symptom: Symptom) -> Iterator[Verdict]:
    """A finding where two components kept the limit with ease; the interpreted reference is no evidence."""
    over = [r.target for r in case.results if r.exit is exit_kind]
    for target, others in plainest(over):
        result = next(r for r in case.results if r.target is target)
        judges = components([r.target for r in case.ran])
        quickest = min((r.seconds for r in case.ran), default=0.0)
        why = ""
        if not judges:
            why = "no target went through"
        elif target.component == REFERENCE:
            why = "the reference evaluator is interpreted"
        elif quickest > SLOWEST_WITNESS:
            why = f"the quickest witness needs {quickest:.3g} s"
        elif len(judges) < 2:
            why = f"only {next(iter(judges))} went through"
        evidence: dict[str, str | int | float] = {"stage": result.stage.value, "seconds": round(result.seconds, 3)}
        if result.error:
            evidence["message"] = result.error[:500]
        if others:
            evidence["also"] = ", ".join(t.name for t in others)
        if why:
            evidence["suspect"] = why
        yield Verdict(
            oracle, symptom, target.name, tuple(r.target.name for r in case.ran), suspect=bool(why), evidence=evidence
        )
