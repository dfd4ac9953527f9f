"""What proves a suspect, and what is the same suspect still."""

from __future__ import annotations

from dataclasses import replace

import onnx.parser
import pytest

from irfuzz.findings.failing_case import FailingCase
from irfuzz.findings.finding import Finding
from irfuzz.findings.suspect_reproduction_predicate import SuspectDispute
from irfuzz.ir.program import Program
from irfuzz.oracle.verdict import Symptom, Verdict

pytestmark = pytest.mark.unit

TEXT = '<ir_version: 8, opset_import: ["": 17]> g (float[2] x) => (float[2] y) { y = Relu(x) }'
PROGRAM = Program.from_proto(onnx.parser.parse_model(TEXT))
SUSPECT = Verdict(
    "o", Symptom.NAN_INF, "numpy:eager", ("onnxruntime:all", "onnxruntime:disabled"), suspect=True, doubt="alone",
    excuse="no-witnesses",
)  # fmt: skip
REFUSED = replace(SUSPECT, symptom=Symptom.REJECTION, message="Fail: no kernel for 5", excuse="few-accept")


def _dispute(verdict: Verdict) -> SuspectDispute:
    case = FailingCase(PROGRAM, {})
    return SuspectDispute.of(Finding(verdict, case, case))


@pytest.mark.parametrize(
    ("verdict", "settled"),
    [
        (replace(SUSPECT, suspect=False), True),
        (SUSPECT, False),
        (replace(SUSPECT, suspect=False, symptom=Symptom.DIFFERENCE), True),
        (replace(SUSPECT, suspect=False, symptom=Symptom.WRONG_SHAPE), False),
        (replace(SUSPECT, suspect=False, target="onnxruntime:disabled", also=("onnxruntime:all",)), True),
        (replace(SUSPECT, suspect=False, target="torch:eager"), False),
    ],
    ids=["the same", "in doubt", "a difference", "a shape", "the majority is wrong", "somebody else"],
)
def test_what_settles_a_dispute_about_values(verdict: Verdict, settled: bool) -> None:
    assert _dispute(SUSPECT).settled_by(verdict, PROGRAM) == settled


@pytest.mark.parametrize(
    ("verdict", "settled"),
    [
        (replace(REFUSED, suspect=False, message="Fail: no kernel for 7"), True),
        (replace(REFUSED, suspect=False, message="Fail: no memory"), False),
        (replace(REFUSED, suspect=False, target="onnxruntime:all"), False),
    ],
    ids=["the same words", "other words", "a witness that refuses"],
)
def test_a_refusal_is_settled_by_the_same_refusal(verdict: Verdict, settled: bool) -> None:
    assert _dispute(REFUSED).settled_by(verdict, PROGRAM) == settled


def test_a_suspect_is_the_same_with_the_same_doubt() -> None:
    dispute = _dispute(SUSPECT)
    assert dispute.still_open(replace(SUSPECT, doubt="in other words"), PROGRAM)
    assert not dispute.still_open(replace(SUSPECT, excuse="undefined"), PROGRAM)
    assert not dispute.still_open(replace(SUSPECT, suspect=False), PROGRAM)
    assert not dispute.still_open(replace(SUSPECT, symptom=Symptom.DIFFERENCE), PROGRAM)
    assert not dispute.still_open(replace(SUSPECT, target="torch:eager"), PROGRAM)
