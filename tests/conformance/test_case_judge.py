"""What a target that did not give values counts as."""

from __future__ import annotations

import onnx.parser
import pytest

from irfuzz.conformance.case_judge import CaseJudge
from irfuzz.conformance.case_types import CaseRun
from irfuzz.conformance.target_results import CaseStatus
from irfuzz.execute.run_types import Exit, RunResult, Stage, Target, TargetRole
from irfuzz.execute.runner import Runner
from irfuzz.ir.program import Program

pytestmark = pytest.mark.unit

MODEL = '<ir_version: 8, opset_import: ["" : 17]> g (float[1] x) => (float[1] y) { y = Neg(x) }'
ME = Target(name="me", component="me")


@pytest.mark.parametrize(
    ("role", "end", "error", "status"),
    [
        (TargetRole.CONVERTER, Exit.REJECTED, "ConversionError: output 'y' is [2]", CaseStatus.WRONG),
        (TargetRole.CONVERTER, Exit.REJECTED, "ValueError: ConversionError: no", CaseStatus.REFUSES),
        (TargetRole.CONVERTER, Exit.UNSUPPORTED, "ConversionError: ", CaseStatus.REFUSES),
        (TargetRole.CONVERTER, Exit.REJECTED, "onnxruntime refuses the model that it made", CaseStatus.REFUSES),
        (TargetRole.TOOL, Exit.REJECTED, "onnxruntime refuses the model that it made", CaseStatus.WRONG),
        (TargetRole.TOOL, Exit.REJECTED, "QuantizationError: far off", CaseStatus.WRONG),
        (TargetRole.TOOL, Exit.CRASH, "", CaseStatus.DIES),
    ],
)
def test_what_is_made_wrongly_is_no_refusal(role: TargetRole, end: Exit, error: str, status: CaseStatus) -> None:
    target = Target(name="me", component="me", role=role)
    case = CaseRun(Program.from_proto(onnx.parser.parse_model(MODEL)), {})
    judge = CaseJudge(Runner([ME]), case)
    assert judge.verdict(RunResult(target, Stage.CONVERT, end, error=error), []).status is status
