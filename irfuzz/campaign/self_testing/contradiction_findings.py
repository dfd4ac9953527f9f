"""What a target computes in one way and not in another, as a finding that goes through the pipeline."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from irfuzz.campaign.self_testing.contradiction_record import Contradiction
from irfuzz.campaign.self_testing.contradiction_reduction import smallest
from irfuzz.campaign.stored_findings.archive import CampaignArchive
from irfuzz.findings.failing_case import FailingCase
from irfuzz.findings.finding import Finding, TargetRun
from irfuzz.oracle.verdict import Symptom, Verdict
from irfuzz.report.repro_scripts.two_form_script import BEFORE, ORACLE

if TYPE_CHECKING:
    from irfuzz.campaign.corpus.testcase import Testcase
    from irfuzz.campaign.job import Job
    from irfuzz.campaign.self_testing.equivalent_form_testing import Equivalence

SYMPTOMS: Mapping[str, Symptom] = {
    "crash": Symptom.CRASH,
    "hang": Symptom.HANG,
    "rejection": Symptom.REJECTION,
    "shape": Symptom.WRONG_SHAPE,
    "difference": Symptom.DIFFERENCE,
}


def came_to(item: Contradiction, testcase: Testcase, engine: Equivalence, job: Job, archive: CampaignArchive) -> str:
    """Send a contradiction through the pipeline, unless its like is known; returns what to count.

    It was seen in fresh processes, and the fewest rewrites that make it are its blame.
    """

    def reduce(finding: Finding) -> Finding:
        small = smallest(engine, item, seconds=min(job.config.reduce, max(0.0, job.time()[1])))
        found = contradiction_of(small, testcase.entry.seed, job.number, testcase.iteration)
        if small.step.operator == item.step.operator:  # another way shows it, too, and it has that one's name
            archive.call(finding.signature, found.signature)
        return found

    seen = contradiction_of(item, testcase.entry.seed, job.number, testcase.iteration)
    return archive.take(seen, (archive.settle, reduce, archive.settle, archive.replay, archive.store))


def _key(item: Contradiction) -> str:
    """By which equal contradictions are one: the target, the rewrites, the operator and what is seen."""
    rules = ",".join(sorted({step.rewrite for step in item.chain}))
    return f"{ORACLE}|{item.comparison.symptom}|{item.target}|{rules}|{item.step.operator}"


def contradiction_of(item: Contradiction, seed: str, job: int = 0, iteration: int = 0) -> Finding:
    """A contradiction as a finding; its trace lists the rewrites.

    Args:
        item: confirmed and made small.
        seed: name of the seed from which its program comes.
        job: that saw it.
        iteration: in which.

    Returns:
        The rewritten form is the case and the program as it was the original; the blamed target's run of the latter
        stands for the witness.
    """
    comparison = item.comparison
    symptom = SYMPTOMS[comparison.symptom]
    rules = " and ".join(dict.fromkeys(step.rewrite for step in item.chain))
    said = symptom in (Symptom.CRASH, Symptom.HANG, Symptom.REJECTION)
    evidence = {"rewrite": rules, "site": item.step.site, "reason": "" if said else comparison.reason}
    before = item.target + BEFORE
    verdict = Verdict(
        ORACLE, symptom, item.target, (before,), output=comparison.output, distance=comparison.distance,
        bound=comparison.bound, evidence={k: v for k, v in evidence.items() if v}, element=comparison.element,
        got=comparison.got, expected=comparison.expected, operator=item.step.operator,
        message=comparison.reason if said else "",
    )  # fmt: skip
    told = f"{comparison.got} instead of {comparison.expected}" if comparison.got else comparison.symptom
    edits = [{"mutator": s.rewrite, "site": s.site, "detail": s.detail} for s in item.chain]
    one, other = item.results
    own = {v.name for v in item.program.graph.inputs}
    return Finding(
        verdict,
        FailingCase(item.form_bytes(), item.inputs),
        FailingCase(item.program, {name: value for name, value in item.inputs.items() if name in own}),
        item.results,
        runs=(TargetRun.of(other, verdict, item.target), TargetRun.of(one, verdict, before)),
        trace={"seed": {"name": seed}, "edits": edits},
        signature=_key(item),
        title=f"{item.target} contradicts itself after {rules} of {item.step.operator}: {told}",
        job=job,
        iteration=iteration,
    )
