"""A verdict with the program, inputs and runs that it is about enters, the row that is stored and written leaves."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from irfuzz.execute.types import Exit, RunResult, Value
from irfuzz.findings.answers import answer_text
from irfuzz.ir.program import Program
from irfuzz.oracle import title
from irfuzz.oracle.types import Verdict
from irfuzz.report.repro import place_of
from irfuzz.store.database import FindingRow, Status
from irfuzz.store.tensors import pack


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a finding comes from.

    Attributes:
        model: bytes of the program before it was made small.
        inputs: of it, packed.
        trace: JSON: how it was made; empty where that is not known.
        job: which job of a campaign made it.
        iteration: and when.
    """

    model: bytes
    inputs: bytes
    trace: str = ""
    job: int = 0
    iteration: int = 0


def row_of(
    verdict: Verdict,
    program: Program,
    inputs: Mapping[str, Value],
    results: Sequence[RunResult],
    key: str,
    status: Status,
    origin: Origin,
) -> FindingRow:
    """The row of a finding; ``key`` is its signature."""
    return FindingRow(
        signature=key,
        symptom=verdict.symptom,
        target=verdict.target,
        suspect=verdict.suspect,
        title=title(verdict, program),
        verdict=json.dumps(verdict.to_json()),
        runs=json.dumps([_run_json(r, verdict) for r in results]),
        trace=origin.trace,
        model=program.to_bytes(),
        inputs=pack(inputs),
        original_model=origin.model,
        original_inputs=origin.inputs,
        status=status,
        job=origin.job,
        iteration=origin.iteration,
    )


def _run_json(result: RunResult, verdict: Verdict) -> dict[str, object]:
    target = result.target
    place = place_of(verdict.element, verdict.output)
    answer = answer_text(result.outputs, verdict.output, verdict.symptom, place) if verdict.output else ""
    return {
        "target": target.name,
        "component": target.component,
        "version": target.version,
        "environment": target.environment,
        "requirement": target.requirement,
        "options": dict(target.options),
        "stage": result.stage,
        "exit": result.exit,
        "error": result.error[:500],
        "answer": answer or ("'answers'" if result.exit is Exit.OK and not verdict.output else ""),
    }
