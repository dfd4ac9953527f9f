"""A contradiction of a target with itself enters; it is made small, replayed and stored as a finding."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from irfuzz.campaign.contradiction import Contradiction
from irfuzz.campaign.places import place_bundle
from irfuzz.execute.types import RunResult
from irfuzz.findings.answers import answer_text
from irfuzz.oracle.types import Symptom, Verdict
from irfuzz.report.bundle import replays, write_bundle
from irfuzz.report.contradiction import BEFORE, ORACLE
from irfuzz.report.repro import place_of
from irfuzz.store.database import FindingRow, Status
from irfuzz.store.tensors import pack

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
    row = row_of(small, key, testcase.entry.seed, job.number, testcase.iteration)
    draft = layout.drafts / f"job{job.number}"
    shutil.rmtree(draft, ignore_errors=True)
    write_bundle(draft, row)
    python = small.results[0].target.interpreter
    shown, log = replays(draft, seconds=max(120.0, 12 * config.timeout), python=python)
    if not shown:
        runs = json.loads(row.runs)
        row = replace(row, status=Status.UNREPLAYED, runs=json.dumps([*runs, {"repro.py": log[-2000:]}]))
    number = database.add_finding(row)
    if number is not None:
        place_bundle(layout, replace(row, number=number))
    shutil.rmtree(draft, ignore_errors=True)
    return "repeated" if number is None else "findings" if shown else "unreplayed"


def _key(item: Contradiction) -> str:
    """By which equal contradictions are one: the target, the rewrites, the operator and what is seen."""
    rules = ",".join(sorted({step.rewrite for step in item.chain}))
    return f"{ORACLE}|{item.comparison.symptom}|{item.target}|{rules}|{item.step.operator}"


def row_of(item: Contradiction, key: str, seed: str, job: int = 0, iteration: int = 0) -> FindingRow:
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
    return FindingRow(
        signature=key,
        symptom=symptom,
        target=item.target,
        suspect=False,
        title=f"{item.target} contradicts itself after {rules} of {item.step.operator}: {told}",
        verdict=json.dumps(verdict.to_json()),
        runs=json.dumps([_run(other, item.target, verdict), _run(one, before, verdict)]),
        trace=json.dumps({"seed": {"name": seed}, "edits": edits}),
        model=item.form_bytes(),
        inputs=pack(item.inputs),
        original_model=item.program.to_bytes(),
        original_inputs=pack({name: value for name, value in item.inputs.items() if name in own}),
        status=Status.CONFIRMED,
        job=job,
        iteration=iteration,
    )


def _run(result: RunResult, name: str, verdict: Verdict) -> dict[str, object]:
    target = result.target
    place = place_of(verdict.element, verdict.output)
    answer = answer_text(result.outputs, verdict.output, verdict.symptom, place) if verdict.output else ""
    return {
        "target": name,
        "component": target.component,
        "version": target.version,
        "environment": target.environment,
        "requirement": target.requirement,
        "options": dict(target.options),
        "stage": result.stage,
        "exit": result.exit,
        "error": result.error[:500],
        "answer": answer,
    }
