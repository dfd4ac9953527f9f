"""What a target that did not give values counts as."""

from __future__ import annotations

from pathlib import Path

import onnx
import onnx.parser
import pytest

from irfuzz.conformance.case_judge import CaseJudge
from irfuzz.conformance.case_types import CaseRun
from irfuzz.conformance.target_results import CaseStatus
from irfuzz.execute.run_types import Exit, RunResult, Stage, Target, TargetRole
from irfuzz.execute.runner import Runner
from irfuzz.execute.target_table import resolve
from irfuzz.ir.program import Program
from irfuzz.store.npz_tensors import unpack

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


DIES = '<ir_version: 8, opset_import: ["" : 17]> g (float[1,3] x) => (float[1,3] y) { y = LogSoftmax(x) }'


@pytest.mark.parametrize(
    ("component", "model", "end", "known"),
    [
        ("mnn", DIES, Exit.CRASH, ("263-mnn-logsoftmax-default",)),
        ("mnn", DIES, Exit.HANG, ()),
        ("mnn", DIES, Exit.UNSUPPORTED, ()),  # what is refused is no fault, and needs no explanation
        ("mnn", MODEL, Exit.CRASH, ()),
        ("opencv", DIES, Exit.CRASH, ()),
    ],
)
def test_known_issues_that_explain_a_fault_are_named(
    component: str, model: str, end: Exit, known: tuple[str, ...]
) -> None:
    target = Target(name=component, component=component, version="3.6.1")
    judge = CaseJudge(Runner([ME]), CaseRun(Program.from_proto(onnx.parser.parse_model(model)), {}))
    assert judge.verdict(RunResult(target, Stage.CONVERT, end, error="SIGSEGV"), []).known == known


@pytest.mark.backend
def test_a_wrong_shape_that_is_known_is_named(root: Path) -> None:
    folder = root / "docs" / "bugs" / "041-reference-loop-stacked"
    case = CaseRun(Program.from_proto(onnx.load(folder / "model.onnx")), unpack((folder / "inputs.npz").read_bytes()))
    with Runner(resolve(["reference", "onnxruntime:disabled", "torch:eager", "numpy:eager"])) as runner:
        mine, *others = runner.run(case.program, case.inputs)
        found = CaseJudge(runner, case).verdict(mine, others)
    assert (found.status, found.known) == (CaseStatus.WRONG, ("041-reference-loop-stacked",)), found.detail
