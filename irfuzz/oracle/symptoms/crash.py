"""Crash oracle: a target whose process died, ended itself or answered rubbish, whatever the others did."""

from __future__ import annotations

from collections.abc import Iterator

from irfuzz.execute.run_types import Exit, RunResult
from irfuzz.oracle.dispute import Dispute
from irfuzz.oracle.excuses import verdict_on
from irfuzz.oracle.message_normalization import names_of, normalise_message
from irfuzz.oracle.runs_to_judge import Case
from irfuzz.oracle.verdict import Symptom, Verdict
from irfuzz.oracle.witnesses_and_blame import plainest

NAME = "crash"

_SYMPTOMS = {Exit.CRASH: Symptom.CRASH, Exit.EXITED: Symptom.CRASH, Exit.PROTOCOL: Symptom.PROTOCOL}


def judge_crash(case: Case) -> Iterator[Verdict]:
    """No input excuses a dead process: a finding even if the program is invalid, and without a witness.

    Targets that ended in the same way with the same message, but for names and numbers, share one verdict for each
    component: its plainest target is blamed and the others are named in ``also``.

    Args:
        case: every target that died, or gave no answer that the protocol knows, is judged.
    """
    kinds: dict[tuple[Exit, str], list[RunResult]] = {}
    for result in case.results:
        if result.exit in _SYMPTOMS:
            kinds.setdefault((result.exit, normalise_message(result.error, names_of(case.program))), []).append(result)
    for (exit_kind, _), results in kinds.items():
        for target, others in plainest([r.target for r in results]):
            result = next(r for r in results if r.target is target)
            witnesses = tuple(r.target for r in case.ran)
            yield verdict_on(
                Dispute(case, _SYMPTOMS[exit_kind], target, witnesses), NAME, others,
                exit=exit_kind.value, stage=result.stage.value, message=result.error[:500],
            )  # fmt: skip
