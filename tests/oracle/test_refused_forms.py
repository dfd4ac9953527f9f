"""A form that a target refuses: a gap where it says so, a fault where it broke or refuses what it is to optimise."""

from __future__ import annotations

import numpy as np
import onnx
import pytest

from irfuzz.execute.run_types import Exit, RunResult, Stage
from irfuzz.execute.target_table import resolve
from irfuzz.ir.program import Program
from irfuzz.oracle.equivalent_form_comparison import compare_forms
from irfuzz.spec import load_specs

MODEL = '<ir_version: 10, opset_import: ["" : 21]> g (float[2] x) => (float[2] y) { y = Relu(x) }'
FUSION = "Fail: [ONNXRuntimeError] : 1 : FAIL : Exception during initialization: Unexpected data type for Clip"
ASSERT = 'RuntimeError: 0 INTERNAL ASSERT FAILED at "torch/csrc/jit/ir/alias_analysis.cpp":623, please report a bug'


@pytest.mark.parametrize(
    ("exit", "error", "optimised", "answer"),
    [
        (Exit.REJECTED, FUSION, False, "refused"),
        (Exit.REJECTED, FUSION, True, "different"),
        (Exit.REJECTED, "IndexError: index 7 is out of bounds for axis 0", True, "refused"),
        (Exit.REJECTED, ASSERT, False, "different"),
        (Exit.UNSUPPORTED, "NotImplemented: no kernel", True, "refused"),
        (Exit.CRASH, "SIGSEGV", False, "different"),
    ],
)
def test_what_a_refused_form_is(exit: Exit, error: str, optimised: bool, answer: str) -> None:  # noqa: A002
    program = Program.from_proto(onnx.parser.parse_model(MODEL))
    (target,) = resolve(["reference"])
    given = {"x": np.array([1, -1], np.float32)}
    one = RunResult(target, Stage.RUN, Exit.OK, {"y": np.array([1, 0], np.float32)})
    other = RunResult(target, Stage.COMPILE, exit, error=error)
    found = compare_forms(
        program, program, given, (one, other), specs=load_specs(), bitwise=True, optimised=optimised
    )  # fmt: skip
    assert found.answer == answer
    if answer == "different":
        assert found.symptom == ("crash" if exit is Exit.CRASH else "rejection")
        assert found.reason == error
