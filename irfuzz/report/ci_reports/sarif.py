"""A campaign as SARIF 2.1.0, which GitHub's code scanning, Azure and editors show."""

from __future__ import annotations

import hashlib
import json
import shlex
from typing import Any
from urllib.parse import quote

from irfuzz import __version__
from irfuzz.findings.disposition import DecidedFinding, Disposition
from irfuzz.oracle.verdict import Symptom
from irfuzz.report.ci_reports.build_result import BuildResult, decision_text, lasting_name, place_of

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"

BASE = "CAMPAIGN"
"""The name under which paths are relative to the campaign's folder."""

RULES = {
    Symptom.CRASH: "A component's process dies",
    Symptom.HANG: "A component does not come back",
    Symptom.MEMORY: "A component runs out of memory",
    Symptom.REJECTION: "A component rejects a valid program that others run",
    Symptom.WRONG_DTYPE: "An output has a wrong element type",
    Symptom.WRONG_SHAPE: "An output has a wrong shape",
    Symptom.NAN_INF: "An output is NaN or infinite where others have numbers, or the other way around",
    Symptom.DIFFERENCE: "An output differs by more than rounding explains",
    Symptom.PROTOCOL: "A component gives no answer",
    Symptom.LENIENCY: "A component runs a program that breaks a rule of ONNX",
}
"""What each symptom means; the rules of the file."""


def as_sarif(result: BuildResult) -> str:
    """The text of a SARIF file.

    Symptoms are the rules. A result that fails the build has the level ``error``, one of which something is decided
    ``note`` and a suppression, another ``warning``. Its place is the finding's model, relative to the campaign's
    folder. ``partialFingerprints`` stay the same from night to night.

    Args:
        result: of the campaign.
    """
    order = {symptom: place for place, symptom in enumerate(RULES)}
    driver = {
        "name": "irfuzz",
        "semanticVersion": __version__,
        "rules": [_rule(symptom, text) for symptom, text in RULES.items()],
    }
    run = {
        "tool": {"driver": driver},
        "originalUriBaseIds": {BASE: {"uri": result.out.resolve().as_uri() + "/"}},
        "invocations": [{"executionSuccessful": result.internal_errors == 0}],
        "results": [_result(row, result, order[row.finding.verdict.symptom]) for row in result.rows],
        "properties": {"failOn": result.fail_on.value, "targets": dict(result.targets), "progress": result.progress},
    }
    return json.dumps({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}, indent=1) + "\n"


def _rule(symptom: Symptom, text: str) -> dict[str, Any]:
    name = "".join(word.capitalize() for word in symptom.value.split("-"))
    return {
        "id": symptom.value,
        "name": name,
        "shortDescription": {"text": f"{text}."},
        "defaultConfiguration": {"level": "error"},
    }


def _result(row: DecidedFinding, result: BuildResult, place: int) -> dict[str, Any]:
    finding, symptom = row.finding, row.finding.verdict.symptom
    folder = place_of(row, result.out)
    known = row.disposition is not Disposition.NEW
    accepted = {"kind": "external", "status": "accepted", "justification": _text(decision_text(row))}
    return {
        "ruleId": symptom.value,
        "ruleIndex": place,
        "level": "error" if row.fails else "note" if known else "warning",
        "message": {"text": _text(f"{finding.title}\nReplay: python {shlex.quote(f'{folder}/repro.py')}")},
        "locations": [_location(f"{folder}/model.onnx")],
        "relatedLocations": [_location(f"{folder}/report.md")],
        "partialFingerprints": {
            "irfuzzSignature/v1": hashlib.sha256(lasting_name(row).encode(errors="replace")).hexdigest()
        },
        "baselineState": "unchanged" if known else "new",
        "suppressions": [accepted] if known and not row.fails else [],
        "properties": {"signature": _text(finding.signature), "target": _text(finding.verdict.target)},
    }


def _text(said: str) -> str:
    """Text that every reader of JSON takes: halves of characters, which a component's bytes may give, are replaced."""
    return said.encode(errors="replace").decode()


def _location(path: str) -> dict[str, Any]:
    # GitHub refuses a place without a line, though a model has none.
    artifact = {"uri": quote(path, errors="replace"), "uriBaseId": BASE}
    return {"physicalLocation": {"artifactLocation": artifact, "region": {"startLine": 1}}}
