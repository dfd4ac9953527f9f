"""A contradiction of a target with itself enters; it is made small, replayed and stored as a finding."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from irfuzz.campaign.contradiction import Contradiction
from irfuzz.campaign.places import place_bundle
from irfuzz.findings.codec import row_of
from irfuzz.findings.failing_case import FailingCase
from irfuzz.findings.finding import Finding, Run
from irfuzz.oracle.types import Symptom, Verdict
from irfuzz.report.bundle import write_shown
from irfuzz.report.contradiction import BEFORE, ORACLE
from irfuzz.store.database import Status

if TYPE_CHECKING:
    from irfuzz.campaign.equivalence import Equivalence
    from irfuzz.campaign.job import Job
    from irfuzz.campaign.testcase import Testcase

SYMPTOMS: Mapping[str, Symptom] = {
    "crash": Symptom.CRASH,
    "hang": Symptom.HANG,
    "rejection": Symptom.REJECTION,
    "shape": Symptom.WRONG_SHAPE,
    "difference": Symptom.DIFFERENCE,
}


def store(item: Contradiction, testcase: Testcase, engine: Equivalence, job: Job) -> str:
    """Make a contradiction small, replay it and keep it, unless its like is known; returns what to count."""
    database, config, layout = job.database, job.config, job.layout
    if database.count_again(_key(item)):
        return "repeated"
    small = engine.smallest(item, seconds=config.reduce)
    key = _key(small)
    if database.count_again(key):
        return "repeated"
    finding = contradiction_of(small, key, testcase.entry.seed, job.number, testcase.iteration)
    draft = layout.drafts / f"job{job.number}"
    shutil.rmtree(draft, ignore_errors=True)
    python = small.results[0].target.interpreter
    finding = write_shown(draft, finding, seconds=max(120.0, 12 * config.timeout), python=python)
    shutil.rmtree(draft, ignore_errors=True)
    number = database.add_finding(row_of(finding))
    if number is None:
        return "repeated"
    place_bundle(layout, replace(finding, number=number))
    return "findings" if finding.status is Status.CONFIRMED else "unreplayed"


def _key(item: Contradiction) -> str:
    """By which equal contradictions are one: the target, the rewrites, the operator and what is seen."""
    rules = ",".join(sorted({step.rewrite for step in item.chain}))
    return f"{ORACLE}|{item.comparison.symptom}|{item.target}|{rules}|{item.step.operator}"


def contradiction_of(item: Contradiction, key: str, seed: str, job: int = 0, iteration: int = 0) -> Finding:
    """A contradiction as a finding; its trace lists the rewrites."""
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
        runs=(Run.of(other, verdict, item.target), Run.of(one, verdict, before)),
        trace={"seed": {"name": seed}, "edits": edits},
        signature=key,
        title=f"{item.target} contradicts itself after {rules} of {item.step.operator}: {told}",
        job=job,
        iteration=iteration,
    )
