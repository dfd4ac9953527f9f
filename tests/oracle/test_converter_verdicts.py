"""Converters and tools are judged for what they do to a program, and never bear witness."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import onnx
import pytest

from irfuzz.execute.run_types import Exit, RunResult, Stage, Target, TargetRole
from irfuzz.ir.program import Program
from irfuzz.oracle import Symptom, judge
from irfuzz.oracle.converter_verdicts import _Shared, concerned

pytestmark = pytest.mark.unit

PROGRAM = Program.from_proto(
    onnx.parser.parse_model(
        '<ir_version: 8, opset_import: ["" : 17]> g (float[2] x) => (float[2] y) { a = Sin(x) y = Exp(a) }'
    )
)
X = {"x": np.array([0.5, 1.5], np.float32)}
RIGHT = np.exp(np.sin(X["x"]))
WRONG = RIGHT + np.float32(0.5)


def result(name: str, value: np.ndarray | None = RIGHT, **more: Any) -> RunResult:
    role = more.pop("role", TargetRole.RUNTIME)
    before = "" if role is TargetRole.RUNTIME else more.pop("before", "onnxruntime:disabled")
    approximate = more.pop("approximate", False)
    target = Target(name, name.partition(":")[0], role=role, before=before, approximate=approximate)
    ran = RunResult(target, Stage.RUN, Exit.OK, outputs={} if value is None else {"y": value}, seconds=0.01)
    return replace(ran, **more)


def tool(name: str, value: np.ndarray | None = RIGHT, **more: Any) -> RunResult:
    return result(name, value, role=TargetRole.TOOL, **more)


def verdicts(*results: RunResult) -> list[tuple[str, str, bool]]:
    def rerun(inputs: Mapping[str, Any], program: Program | None = None, /) -> list[RunResult]:
        return list(results)

    return [(v.symptom, v.target, v.suspect) for v in judge(PROGRAM, X, results, rerun=rerun)]


BASE = (result("reference"), result("onnxruntime:disabled"))


def test_what_a_tool_changes_is_its_fault() -> None:
    assert verdicts(*BASE, tool("sim"), tool("slim", WRONG)) == [(Symptom.DIFFERENCE, "slim", False)]
    assert verdicts(*BASE, tool("sim", RIGHT.astype(np.float64))) == [(Symptom.WRONG_DTYPE, "sim", False)]


def test_bits_that_differ_from_those_without_the_tool_are_judged() -> None:
    nothing = np.array([np.nan, 1.0], np.float32)
    zero, minus = np.array([0.0, 1.0], np.float32), np.array([-0.0, 1.0], np.float32)
    assert verdicts(result("reference", nothing), result("onnxruntime:disabled", nothing), tool("sim", nothing)) == []
    assert verdicts(result("reference", zero), result("onnxruntime:disabled", zero), tool("sim", minus)) == []
    assert verdicts(*BASE, tool("sim"), tool("sim:b", WRONG)) == [(Symptom.DIFFERENCE, "sim:b", False)]
    refused = tool("slim", None, exit=Exit.REJECTED, stage=Stage.CONVERT, error="KeyError: 'x'")
    assert verdicts(*BASE, tool("sim"), refused) == [(Symptom.REJECTION, "slim", False)]


def test_ten_tools_on_a_faulty_runtime_do_not_outvote_the_others() -> None:
    tools = [tool(f"tool{n}", WRONG) for n in range(10)]
    found = verdicts(result("reference"), result("torch:eager"), result("onnxruntime:disabled", WRONG), *tools)
    assert found == [(Symptom.DIFFERENCE, "onnxruntime:disabled", False)]


def test_without_the_model_before_it_a_tool_is_a_suspect() -> None:
    found = verdicts(result("reference"), result("torch:eager"), tool("sim", WRONG))
    assert found == [(Symptom.DIFFERENCE, "sim", True)]
    converter = result("onnx2torch", WRONG, role=TargetRole.CONVERTER, before="torch:eager")
    assert verdicts(*BASE, converter) == [(Symptom.DIFFERENCE, "onnx2torch", False)]


def test_a_converter_is_not_blamed_for_the_model_that_it_was_given() -> None:
    built = result("keras:tensorflow", WRONG)
    converter = result("keras-onnx:export", WRONG, role=TargetRole.CONVERTER, before="keras:tensorflow")
    assert verdicts(*BASE, built, converter) == [(Symptom.DIFFERENCE, "keras:tensorflow", False)]
    right = replace(built, outputs={"y": RIGHT})
    assert verdicts(*BASE, right, converter) == [(Symptom.DIFFERENCE, "keras-onnx:export", False)]


def test_numbers_of_half_precision_are_not_judged_but_types_are() -> None:
    assert verdicts(*BASE, tool("half", WRONG, approximate=True)) == []
    assert verdicts(*BASE, tool("half", np.array([np.nan, 1], np.float32), approximate=True)) == []
    found = verdicts(*BASE, tool("half", RIGHT.astype(np.float16), approximate=True))
    assert found == [(Symptom.WRONG_DTYPE, "half", False)]


def test_a_refusal_counts_where_two_runtimes_accept() -> None:
    refused = tool("sim", None, exit=Exit.REJECTED, stage=Stage.CONVERT, error="KeyError: 'x'")
    assert verdicts(*BASE, refused) == [(Symptom.REJECTION, "sim", False)]
    assert verdicts(BASE[0], refused, tool("slim")) == [(Symptom.REJECTION, "sim", True)]
    gap = tool("sim:a", None, exit=Exit.UNSUPPORTED, stage=Stage.CONVERT, error="not supported")
    assert verdicts(*BASE, gap, tool("sim:b")) == []


def test_a_dead_process_is_a_finding_and_a_slow_conversion_a_suspect() -> None:
    dead = tool("sim", None, exit=Exit.CRASH, stage=Stage.CONVERT, error="SIGSEGV")
    slow = tool("slim", None, exit=Exit.HANG, stage=Stage.CONVERT, error="gave no answer in time")
    assert verdicts(*BASE, dead, slow) == [(Symptom.CRASH, "sim", False), (Symptom.HANG, "slim", True)]


def test_who_concerns_whom() -> None:
    runtimes = [Target("onnxruntime:disabled", "onnxruntime"), Target("torch:eager", "torch")]
    build = Target("torch-onnx:script", "torch-onnx", role=TargetRole.CONVERTER, before="torch:eager")
    slim = Target("onnxslim", "onnxslim", role=TargetRole.TOOL, before="torch-onnx:script")
    fold = Target("fold", "graphsurgeon", role=TargetRole.TOOL, before="onnxruntime:disabled")
    every = (*runtimes, build, slim, fold)
    assert concerned(runtimes[0], every) == tuple(runtimes)
    assert concerned(slim, every) == (*runtimes, build, slim)
    assert concerned(fold, every) == (*runtimes, fold)


def test_reruns_are_made_once_and_each_component_sees_its_own() -> None:
    made: list[float] = []

    def rerun(inputs: Mapping[str, Any], program: Program | None = None, /) -> list[RunResult]:
        made.append(float(inputs["x"][0]))
        return [result(name, np.full(2, len(made), np.float32)) for name in ("a", "b", "c")]

    shared = _Shared(rerun)
    one, other = shared.of([result("a"), result("c")]), shared.of([result("b")])

    def seen(again: Any, number: float) -> list[tuple[str, float]]:
        return [(r.target.name, float(r.outputs["y"][0])) for r in again({"x": np.array([number])})]

    assert seen(one, 5) == [("a", 1), ("c", 1)]
    assert seen(one, 6) == [("a", 2), ("c", 2)]
    assert seen(other, 5) == [("b", 1)]
    assert seen(other, 6) == [("b", 2)]
    assert seen(other, 7) == [("b", 3)]
    assert made == [5, 6, 7]
