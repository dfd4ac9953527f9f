"""Real runs: noise of real components is silence, and planted faults are found and blamed."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np
import onnx
import onnx.helper as oh
import onnx.parser
import pytest

from irfuzz.execute.run_types import Exit, RunResult, Value
from irfuzz.execute.runner import Runner
from irfuzz.execute.target_table import resolve
from irfuzz.generate.input_values import make_inputs
from irfuzz.ir.program import Program
from irfuzz.oracle import MeasuringJudge, Symptom, Verdict, judge, signature

pytestmark = pytest.mark.backend

PLANTED = ("Right", "WrongRelu", "SinglePass", "WrongDtype", "Refusing", "Flaky")
HAS_ORT = importlib.util.find_spec("onnxruntime") is not None


@pytest.fixture(scope="module")
def runner() -> Iterator[Runner]:
    here = Path(__file__).parent
    names = ["reference", *(["onnxruntime:disabled", "onnxruntime:all"] if HAS_ORT else [])]
    names += [f"{here / 'planted.py'}:{name}" for name in PLANTED]
    with Runner(resolve(names)) as started:
        yield started


def layers(depth: int, width: int, activation: str | None, seed: int) -> Program:
    """A chain of matrix products, each followed by a bias and an activation."""
    generator = np.random.default_rng(seed)
    nodes, initializers, last = [], [], "x"
    for i in range(depth):
        for name, shape in ((f"w{i}", (width, width)), (f"b{i}", (width,))):
            array = (generator.standard_normal(shape) / np.sqrt(width)).astype(np.float32)
            initializers.append(onnx.numpy_helper.from_array(array, name))
        nodes.append(oh.make_node("MatMul", [last, f"w{i}"], [f"m{i}"]))
        nodes.append(oh.make_node("Add", [f"m{i}", f"b{i}"], [f"a{i}"]))
        last = f"a{i}"
        if activation is not None:
            nodes.append(oh.make_node(activation, [last], [f"r{i}"]))
            last = f"r{i}"
    kind = onnx.TensorProto.FLOAT
    nodes.append(oh.make_node("Identity", [last], ["y"]))
    graph = oh.make_graph(
        nodes,
        "g",
        [oh.make_tensor_value_info("x", kind, [4, width])],
        [oh.make_tensor_value_info("y", kind, [4, width])],
        initializers,
    )
    return Program.from_proto(oh.make_model(graph, opset_imports=[oh.make_opsetid("", 17)], ir_version=8))


def verdicts(runner: Runner, program: Program, seed: int, *wanted: str) -> tuple[list[Verdict], list[RunResult]]:
    """Run on the named targets (planted ones by class name) and judge, with reruns."""
    targets = [t for t in runner.targets if t.name in wanted or t.name.rpartition(":")[2] in wanted]
    assert len(targets) == len(wanted)
    inputs = make_inputs(program, seed)

    def rerun(moved: Mapping[str, Value], other: Program | None = None, /) -> list[RunResult]:
        return runner.run(other or program, moved, targets)

    results = rerun(inputs)
    return judge(program, inputs, results, rerun=rerun), results


INDEPENDENT = ("reference", "onnxruntime:disabled", "onnxruntime:all") if HAS_ORT else ("reference", "Right")


@pytest.mark.parametrize("depth", [1, 10, 30])
@pytest.mark.parametrize("activation", [None, "Relu", "Tanh"])
def test_noise_of_deep_products_is_silence(runner, depth, activation):
    found, results = verdicts(runner, layers(depth, 32, activation, depth), depth, *INDEPENDENT, "SinglePass")
    assert [r.exit for r in results] == [Exit.OK] * len(results)
    # They do differ, so there was something to excuse.
    assert any((np.asarray(r.outputs["y"]) != np.asarray(results[0].outputs["y"])).any() for r in results[1:])
    assert found == []


@pytest.mark.parametrize(
    ("planted", "symptom"),
    [
        ("WrongRelu", Symptom.DIFFERENCE),
        ("WrongDtype", Symptom.WRONG_DTYPE),
        ("Refusing", Symptom.REJECTION),
        ("Flaky", Symptom.DIFFERENCE),
    ],
)
@pytest.mark.planted
def test_a_planted_fault_is_found_and_blamed(runner, planted, symptom):
    program = layers(3, 16, "Relu", 4)
    witnesses = INDEPENDENT if HAS_ORT else ("reference", "Right")
    (verdict,), _ = verdicts(runner, program, 4, *witnesses, planted)
    assert verdict.target.endswith(planted)
    assert (verdict.symptom, verdict.suspect) == (symptom, False)
    assert set(verdict.witnesses) >= {"reference"}
    assert ("Relu" in signature(verdict, program)) or symptom is Symptom.REJECTION
    assert (verdict.evidence.get("unsteady") is not None) == (planted == "Flaky")


@pytest.mark.planted
def test_the_same_planted_program_without_its_operator_is_silence(runner):
    found, _ = verdicts(runner, layers(3, 16, "Tanh", 4), 4, *INDEPENDENT, "WrongRelu", "Refusing")
    assert found == []


@pytest.mark.skipif(not HAS_ORT, reason="onnxruntime is not installed")
def test_near_ties_and_near_halves_are_no_findings(runner, parse):
    program = parse(
        "g (float[4,8] x, float[8,8] w) => (int64[4,1] i, float[4,8] r) "
        "{ m = MatMul(x, w)  t = Tanh(m)  i = ArgMax<axis=1>(t)  s = Add(t, t)  r = Round(s) }"
    )
    for seed in range(5):
        found, _ = verdicts(runner, program, seed, "reference", "onnxruntime:disabled", "onnxruntime:all", "SinglePass")
        assert [v for v in found if not v.suspect] == []


def test_a_poor_formula_whose_steps_few_moves_meet_is_not_blamed(runner: Runner) -> None:
    # The function's body subtracts squares of nearly equal numbers; ONNX's evaluator runs it in single precision, where
    # moves of the inputs happen to leave the variance of the second row alone and change that of others a hundredfold.
    text = """<ir_version: 8, opset_import: ["" : 13]> g (float[4,2,2] x) => (float[4,2,2] y)
        { y = MeanVarianceNormalization <axes: ints = [-1]> (x) }"""
    program = Program.from_proto(onnx.parser.parse_model(text))
    pairs = [
        [0.52151614, 0.51662314], [0.5043901, 0.52615803], [0.538928, 0.55416477], [0.56957734, 0.50341713],
        [0.5094485, 0.5231696], [0.58476543, 0.5294759], [0.5251227, 0.50116354], [0.57028955, 0.5170961],
    ]  # fmt: skip
    x = {"x": np.array(pairs, np.float32).reshape(4, 2, 2)}
    results = runner.run(program, x)
    others = [r for r in results if not r.target.name.endswith(PLANTED)]
    found = MeasuringJudge(runner).judge(program, x, others)
    assert [v for v in found if not v.suspect] == []
    away = others[0].outputs["y"][0, 1, 0] + 1.0  # type: ignore[index,operator] - a tensor
    assert abs(away) > 1e-4, "what follows would show nothing"
