"""Hang and memory oracles: a target that went over a limit which others kept."""

from __future__ import annotations

from collections.abc import Iterator

from irfuzz.execute.run_types import Exit
from irfuzz.oracle.dispute import Dispute
from irfuzz.oracle.excuses import verdict_on
from irfuzz.oracle.runs_to_judge import Case
from irfuzz.oracle.verdict import Symptom, Verdict
from irfuzz.oracle.witnesses_and_blame import plainest


def judge_hang(case: Case) -> Iterator[Verdict]:
    """A verdict on each target that took longer than the time limit.

    It is a suspect if an excuse applies, such as that no two components kept the limit (``docs/oracles.md``). The
    targets of one component share one verdict, which blames the plainest.
    """
    return _over(case, "hang", Exit.HANG, Symptom.HANG)


def judge_memory(case: Case) -> Iterator[Verdict]:
    """A verdict on each target that took more than the memory limit; excuses and blame are those of ``judge_hang``."""
    return _over(case, "memory", Exit.MEMORY, Symptom.MEMORY)


def _over(case: Case, oracle: str, exit_kind: Exit, symptom: Symptom) -> Iterator[Verdict]:
    """A finding if two components kept the limit with ease; the interpreted reference is no evidence."""
    over = [r.target for r in case.results if r.exit is exit_kind]
    for target, others in plainest(over):
        result = next(r for r in case.results if r.target is target)
        dispute = Dispute(case, symptom, target, tuple(r.target for r in case.ran), result=result)
        evidence = {"seconds": round(result.seconds, 3)}
        yield verdict_on(
            dispute, oracle, others, evidence, stage=result.stage.value, message=result.error[:500]
        )  # fmt: skip
