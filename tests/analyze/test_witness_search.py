"""Witnesses really trigger what was warned of, and preconditions make it safe."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import onnx
import pytest
from onnx import numpy_helper

from benchmarks.numeric.programs import PAIRS, Pair
from irfuzz.analyze.failing_inputs import fault_gradient
from irfuzz.analyze.failing_inputs.fault_gradient import Gradients
from irfuzz.analyze.failing_inputs.witness_search import WitnessSearch
from irfuzz.analyze.initial_ranges import Ranges
from irfuzz.analyze.numeric_range_analysis import analyze
from irfuzz.analyze.safe_input_ranges import preconditions
from irfuzz.analyze.warning_examination import judge
from irfuzz.execute.adapters.generated_source import TORCH
from irfuzz.execute.runner import Runner
from irfuzz.execute.target_table import resolve
from irfuzz.ir.program import Program
from irfuzz.report.command_reports.numeric_analysis import as_json, as_text

pytestmark = pytest.mark.backend
pytest.importorskip("onnxruntime")

QUICK = [p for p in PAIRS if p.faulty.name in {
    "box-area", "branch", "degree", "gaussian-loss", "half-exponential", "integer-division", "log-softmax",
    "matmul-overflow", "quantisation-scale", "root", "softmax-regression", "standardise", "tensorfuzz", "unit-vector",
}]  # fmt: skip


@pytest.fixture(scope="module")
def runner() -> Iterator[Runner]:
    with Runner(resolve(["onnxruntime:disabled"])) as opened:
        yield opened


@pytest.mark.parametrize("pair", QUICK, ids=lambda p: p.faulty.name)
def test_true_warnings_have_witnesses_within_the_ranges(runner: Runner, pair: Pair) -> None:
    program, ranges = Program.from_proto(pair.faulty.model()), Ranges(pair.faulty.ranges)
    for warning in analyze(program, ranges).warnings:
        witness = WitnessSearch(runner, seconds=20.0).find(program, warning, ranges)
        assert witness is not None, warning.output
        for name, array in witness.inputs.items():
            if array.dtype != bool:
                low, high = pair.faulty.ranges[name]
                assert array.min() >= low - 1e-3 * abs(low)
                assert array.max() <= high + 1e-3 * abs(high)
        (again,) = runner.run_fresh(witness.probe.program, witness.inputs)
        if warning.fault.kind == "crash":
            assert again.exit != "ok"
        elif np.asarray(again.outputs[witness.probe.output]).dtype.kind == "f":
            assert not np.isfinite(np.asarray(again.outputs[witness.probe.output])).all()


@pytest.mark.parametrize("name", ["log-softmax", "integer-division", "poisson-loss", "half-exponential"])
def test_preconditions_are_safe_and_no_wider_than_they_must_be(name: str) -> None:
    (pair,) = (p for p in PAIRS if p.faulty.name == name)
    program, ranges = Program.from_proto(pair.faulty.model()), Ranges(pair.faulty.ranges)
    (warning,) = analyze(program, ranges).warnings
    found = preconditions(program, warning, ranges, seconds=30.0)
    assert found
    for condition in found:
        inside = Ranges({**ranges.given, condition.input: (condition.low, condition.high)})
        assert not analyze(program, inside).warnings
        low, high = ranges.given[condition.input]
        assert (condition.low, condition.high) != (low, high)


def test_a_safe_program_has_no_witness(runner: Runner) -> None:
    (pair,) = (p for p in PAIRS if p.faulty.name == "gap")
    program, ranges = Program.from_proto(pair.faulty.model()), Ranges({"a": (2, 3), "b": (0, 1)})
    assert not analyze(program, ranges).warnings
    (warning,) = analyze(program, Ranges(pair.faulty.ranges)).warnings
    assert WitnessSearch(runner, seconds=0.5).find(program, warning, ranges) is None


def distance_to_a_point() -> tuple[Program, Ranges]:
    """The logarithm of the squared distance to one point of 40 dimensions: no corner and no draw comes near."""
    point = np.random.default_rng(0).integers(-64, 64, 40).astype(np.float32) / 256
    return made(
        """<ir_version: 8, opset_import: ["" : 17]>
        g (float[40] x) => (float y) { d = Sub(x, point) s = Mul(d, d) t = ReduceSum<keepdims=0>(s) y = Log(t) }""",
        point=point,
    )


def root_of_a_sum() -> tuple[Program, Ranges]:
    """Below 0 only where nearly each of 40 inputs is at that end of its range that the sign of its weight asks for."""
    weights = np.random.default_rng(1).choice([-1.0, 1.0], 40).astype(np.float32)
    return made(
        """<ir_version: 8, opset_import: ["" : 17]>
        g (float[40] x) => (float y) { s = MatMul(x, weights) t = Add(s, bias) y = Sqrt(t) }""",
        weights=weights,
        bias=np.float32(38),
    )


def made(text: str, **constants: np.ndarray | np.float32) -> tuple[Program, Ranges]:
    model = onnx.parser.parse_model(text)
    model.graph.initializer.extend(numpy_helper.from_array(np.asarray(a), n) for n, a in constants.items())
    return Program.from_proto(model), Ranges({"x": (-1.0, 1.0)})


def test_gradients_lead_where_corners_and_draws_do_not(runner: Runner) -> None:
    pytest.importorskip("torch")
    examples = [distance_to_a_point(), root_of_a_sum()]
    warnings = [w for program, ranges in examples for w in analyze(program, ranges).warnings]
    assert [w.op for w in warnings] == ["Log", "Sqrt"]
    with Gradients(warnings) as gradients:
        for (program, ranges), warning in zip(examples, warnings, strict=True):
            witness = WitnessSearch(runner, seconds=20.0, gradients=gradients).find(program, warning, ranges)
            assert witness is not None
            assert witness.way == "gradient"
            assert np.abs(witness.inputs["x"]).max() <= 1
            (again,) = runner.run_fresh(witness.probe.program, witness.inputs)
            assert not np.isfinite(np.asarray(again.outputs["y"])).all()
            assert WitnessSearch(runner, seconds=0.3).find(program, warning, ranges) is None


def test_each_fault_of_an_integer_division_has_a_witness_of_its_own(runner: Runner) -> None:
    text = """<ir_version: 8, opset_import: ["" : 17]> g (int32[3] x, int32[3] d) => (int32[3] y) { y = Div(x, d) }"""
    program, ranges = Program.from_proto(onnx.parser.parse_model(text)), Ranges({})
    by_zero, beyond = analyze(program, ranges).warnings
    assert (by_zero.operand, beyond.operand) == ("d", "x")
    for warning, ending in ((by_zero, {"rejected"}), (beyond, {"crash"})):
        witness = WitnessSearch(runner, seconds=20.0).find(program, warning, ranges)
        assert witness is not None
        (again,) = runner.run_fresh(witness.probe.program, witness.inputs)
        assert again.exit in ending
    assert witness is not None
    assert (witness.inputs["d"] == -1).any()
    assert (witness.inputs["x"] == -(2**31)).any()


def test_without_pytorch_the_report_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fault_gradient, "TORCH", replace(TORCH, preload=("absent_framework",)))
    program, ranges = root_of_a_sum()
    report = judge(program, ranges, witness_seconds=0.2)
    assert "absent_framework" in report.unguided
    assert "without gradients" in as_text(report, "model")
    assert as_json(report, "model")["unguided"] == report.unguided
    assert [j.witness for j in report.judged] == [None]
    (pair,) = (p for p in PAIRS if p.faulty.name == "log-softmax")
    report = judge(Program.from_proto(pair.faulty.model()), Ranges(pair.faulty.ranges), witness_seconds=20.0)
    assert not report.unguided
    assert "witness (by a corner of the ranges)" in as_text(report, "model")
    assert as_json(report, "model")["warnings"][0]["witness"]["way"] == "corner"
