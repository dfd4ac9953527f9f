"""Rejection oracle: a target refuses what others, or the same component at another level, accept and run."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from irfuzz.execute.run_types import Exit, RunResult, Stage, Target
from irfuzz.oracle.dispute import Dispute
from irfuzz.oracle.excuses import verdict_on
from irfuzz.oracle.message_normalization import names_of, normalise_message
from irfuzz.oracle.runs_to_judge import Case
from irfuzz.oracle.symptoms.refusal_justification import body_of_error, broken_by_optimiser
from irfuzz.oracle.verdict import Symptom, Verdict
from irfuzz.oracle.witnesses_and_blame import components, plainest

NAME = "rejection"

OF_A_BODY = "the function body of the operator breaks a type constraint that the operator allows"


def judge_rejection(case: Case) -> Iterator[Verdict]:
    """If nobody accepts, the program is to blame.

    ``UNSUPPORTED`` is a gap and no rejection. If another variant of the same component and version runs the program,
    it is suspect, since a provider or an option may lack the kernel; if that is a plainer level of optimisation, the
    optimiser has made what has no kernel.
    """
    for refusal in refusals(case):
        result, body = refusal.result, refusal.body
        yield verdict_on(
            refusal.dispute, NAME, refusal.others, stage=result.stage.value, message=result.error[:500],
            operator=body, rule=OF_A_BODY if body else "",
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Refusal:
    """What a component refuses although others run it.

    Attributes:
        dispute: about its plainest target.
        result: what that said.
        others: its targets that say the same.
        body: operator whose function body it is about; empty if it is about none.
    """

    dispute: Dispute
    result: RunResult
    others: tuple[Target, ...]
    body: str = ""


def refusals(case: Case) -> Iterator[Refusal]:
    """What components refuse although others run it, one for each message.

    Messages are compared without names and numbers. What lacks a kernel (``UNSUPPORTED``) counts only if another target
    with the same kernels runs the program, and not if it could not be converted.

    Args:
        case: nothing is given if it is invalid on purpose, or if no target ran it.

    Returns:
        For each message and component its plainest target, with the dispute that excuses look at.
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
            body = body_of_error(case.program, result.error)
            against = rejecting - {target.component}
            optimised = not against and broken_by_optimiser(result, accepting)
            dispute = Dispute(
                case,
                Symptom.REJECTION,
                target,
                tuple(accepting),
                result=result,
                overruled=len(against) >= len(judges),
                proven=bool(body) or optimised,
            )
            yield Refusal(dispute, result, others, body)
