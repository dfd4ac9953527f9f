"""Every converter and tool runs a program that it can, fails on one that it cannot, and is blamed for its faults."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import onnx
import pytest

from irfuzz.execute.adapters.tool_made_model_runs import Baseline
from irfuzz.execute.adapters.tool_table import OPTIMIZER_PASSES
from irfuzz.execute.run_types import Exit, RunResult, Stage, TargetRole
from irfuzz.execute.runner import Runner
from irfuzz.execute.target_table import describe, resolve
from irfuzz.ir.program import Program
from irfuzz.isolate import Limits, Worker
from irfuzz.oracle import Symptom, Verdict, judge
from tests.execute.test_edge_targets import CONVERTED

pytestmark = pytest.mark.backend

LIMITS = Limits(seconds=120.0)


@dataclass(frozen=True)
class Case:
    """A program that a target fails on."""

    text: str
    inputs: dict[str, Any]
    exit: Exit
    stage: Stage
    says: str
    opset: int = 17


def model(text: str, opset: int = 17) -> onnx.ModelProto:
    domains = ', "a.b" : 1' if "a.b." in text else ""
    return onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["" : {opset}{domains}]> {text}')


F = np.float32
X = np.array([[1, -2, 3]], F)
GOOD = """g (float[1,3] x) => (float[1,2] y)
   <float[3,2] w = {1, 2, 3, 4, 5, 6}, float[2] b = {0.5, -100}> {
   m = MatMul(x, w)
   s = Add(m, b)
   y = Relu(s)
}"""
GOOD_Y = np.array([[10.5, 0]], F)

UNKNOWN = Case(
    "g (float[2] x) => (float[2] y) { y = a.b.Foo(x) }", {"x": np.zeros(2, F)},
    Exit.UNSUPPORTED, Stage.RUN, "does not run the model before it.*a.b.Foo",
)  # fmt: skip
CAPTURING = """g (float[2] x, bool c) => (float[2] y) <float[2] d = {1, 2}> {
   y = If(c) <then_branch = t () => (float[2] p) { p = Add(x, d) },
              else_branch = e () => (float[2] q) { q = Sub(x, d) }>
}"""
OPTIONAL = "g (optional(float[2]) x) => (float[2] y) { y = OptionalGetElement(x) }"
BOTH_BRANCHES = Case(
    CAPTURING, {"x": X[0, :2], "c": np.array(True)}, Exit.REJECTED, Stage.RUN, "refuses the model that it made"
)
SEQUENCE = """g (float[4] x) => (float[2] y) <int64 i = {1}, int64 n = {2}> {
   s = SplitToSequence(x, n)
   y = SequenceAt(s, i)
}"""

FAILING: dict[str, Case] = {
    "onnx2torch": Case(
        "g (float[3] x) => (uint16[3] y) { y = Cast <to = 4> (x) }", {"x": np.ones(3, F)},
        Exit.UNSUPPORTED, Stage.CONVERT, "Conversion to .4. is not implemented",  # raised from a KeyError
    ),
    "torch-onnx:dynamo": Case(
        "g (float[3] x) => (uint8[3] y, float s, uint8 z) { y, s, z = DynamicQuantizeLinear(x) }", {"x": np.ones(3, F)},
        Exit.REJECTED, Stage.CONVERT, "Required parameter 'dim' is not provided",
    ),
    "torch-onnx:script": Case(
        "g (string[2] x) => (string[2] y) { y = Identity(x) }", {"x": np.array(["a", "b"], object)},
        Exit.UNSUPPORTED, Stage.CONVERT, "element type STRING",
    ),
    "tf2onnx": Case(
        """g (float[4] x) => (seq(float[2]) y) <int64 n = {2}> { y = SplitToSequence(x, n) }""", {"x": np.ones(4, F)},
        Exit.UNSUPPORTED, Stage.CONVERT, "no sequences",
    ),
    "keras-onnx:from-keras": Case(
        "g (float[1,2] x) => (float[1,2] y) { y = Identity(x) }", {"x": X[:, :2]},
        Exit.REJECTED, Stage.CONVERT, "graph input 'input_0' not exist",
    ),
    "keras-onnx:export": Case(
        """g (float[2,1,1] x) => (float[2,1,1,1] y)
           <float[1,3,1] w = {1, 2, 3}, float[1,3,1] r = {1, 2, 3}, float[1,1,1] h = {0.5}> {
           y = GRU <hidden_size = 1> (x, w, r, , , h)
        }""", {"x": np.ones((2, 1, 1), F)},
        Exit.REJECTED, Stage.CONVERT, "an input that the Keras model has not",
    ),
    "keras-onnx:saved-model": Case(
        "g (float[1,2] x) => (int64[1,1] y) { y = ArgMax <axis = 1> (x) }", {"x": X[:, :2]},
        Exit.UNSUPPORTED, Stage.CONVERT, "leaves TensorFlow's Bitcast as it is",
    ),
    "onnx-version-converter:up": Case(
        "g (float[2] x) => (float[2] y) { y = Foo(x) }", {"x": np.ones(2, F)},
        Exit.REJECTED, Stage.CONVERT, "no registered schema",
    ),
    "onnx-version-converter:down": Case(
        "g (float[2,3] x) => (float[2,3] y) <float[3] s = {1, 2, 3}> { y = LayerNormalization(x, s) }",
        {"x": np.ones((2, 3), F)}, Exit.UNSUPPORTED, Stage.CONVERT, "No Previous Version of LayerNormalization",
    ),
    "onnx-compose:prefix": BOTH_BRANCHES,
    "onnx-compose:merge": Case(
        "g (float[2] x) => (float[2] y) { y = Relu(x) }", {"x": np.ones(2, F)},
        Exit.UNSUPPORTED, Stage.CONVERT, "no single value divides the model",
    ),
    "onnx-inliner:local": UNKNOWN,
    "onnx-inliner:schema": Case(
        "g (float[2,3] x) => (float[2,3] y) <float[3] s = {1, 2, 3}> { y = LayerNormalization(x, s) }",
        {"x": np.ones((2, 3), F)}, Exit.REJECTED, Stage.CONVERT, "Type unknown for s",
    ),
    "onnx-shape-inference:plain": Case(
        "g (float[2] x, int64[2] i) => (float[2] y) { y = Add(x, i) }", {"x": np.ones(2, F), "i": np.ones(2, np.int64)},
        Exit.REJECTED, Stage.CONVERT, "InferenceError",
    ),
    "onnx-shape-inference:data": Case(
        "g (float[2] x, int64[2] i) => (float[2] y) { y = Add(x, i) }", {"x": np.ones(2, F), "i": np.ones(2, np.int64)},
        Exit.REJECTED, Stage.CONVERT, "InferenceError",
    ),
    **{
        f"onnxoptimizer:{variant}": Case(
            OPTIONAL, {"x": X[0, :2]}, Exit.REJECTED, Stage.RUN, "does not have type information"
        )
        for variant in ("all", "fixed-point", *OPTIMIZER_PASSES)
    },
    "onnxsim": UNKNOWN,
    "onnxslim": Case(OPTIONAL, {"x": X[0, :2]}, Exit.REJECTED, Stage.CONVERT, "UnboundLocalError"),
    "onnxscript:optimize": UNKNOWN,
    "onnxscript:rewrite": UNKNOWN,
    "onnx-graphsurgeon:cleanup": Case(OPTIONAL, {"x": X[0, :2]}, Exit.REJECTED, Stage.CONVERT, "UnboundLocalError"),
    "onnx-graphsurgeon:fold": Case(
        """g (float[2] x) => (float[2] y) <float[2] w = {1, 2}, int64 i = {0}> {
            s = SequenceConstruct(w)
            v = SequenceAt(s, i)
            y = Add(x, v)
        }""",
        {"x": np.ones(2, F)}, Exit.REJECTED, Stage.CONVERT, "AttributeError: 'list' object has no attribute 'nbytes'",
    ),
    **{
        f"onnxruntime-saved:{level}": Case(
            UNKNOWN.text, UNKNOWN.inputs, Exit.UNSUPPORTED, Stage.CONVERT, "has no a.b.Foo"
        )
        for level in ("basic", "extended", "all")
    },
    **{f"onnxruntime-transformers:{kind}": UNKNOWN for kind in ("bert", "gpt2", "bart")},
    "onnxruntime-shapes": Case(
        SEQUENCE, {"x": np.ones(4, F)}, Exit.REJECTED, Stage.CONVERT, "make_sequence_value_info"
    ),
    **{
        f"onnxruntime-quantization:{way}": Case(
            "g (float16[2] x) => (float16[2] y) { y = Softmax(x) }", {"x": X[0, :2].astype(np.float16)},
            Exit.REJECTED, Stage.RUN, "refuses the model that it made.*'tensor\\(float16\\)' of input parameter",
        )
        for way in ("qdq", "qdq-per-channel", "qoperator")
    },
    **dict.fromkeys(("onnxruntime-quantization:dynamic", "onnxruntime-quantization:matmul-nbits"), Case(
        UNKNOWN.text, UNKNOWN.inputs, Exit.UNSUPPORTED, Stage.RUN, "onnxruntime-quantization has no a.b.Foo"
    )),
    "onnxruntime-float16": UNKNOWN,
    "onnxconverter-float16": Case(
        SEQUENCE, {"x": np.ones(4, F)}, Exit.REJECTED, Stage.RUN, "refuses the model that it made"
    ),
}  # fmt: skip
"""A failing program for each; those of a known fault are wrong once that is mended, and then are to be replaced."""

GAPS: dict[str, list[tuple[str, Any, str]]] = {
    "onnx2torch": [("g (float[2] x) => (float[2] y) { y = Selu <gamma = 2.0>(x) }", F, "gamma parameter must be")],
    "tf2onnx": [
        ("g (uint32[2] x) => (uint32[2] y) { y = BitwiseXor(x, x) }", np.uint32, "TensorFlow's BitwiseXor as it is"),
        ("g (float16[2] x) => (float16[2] y) { y = Hardmax(x) }", np.float16, "only rank1 is supported"),
    ],
    "torch-onnx:script": [
        ("g (float[2] x) => (uint16[2] y) { y = Cast <to = 4>(x) }", F, "not a valid JitScalarType"),
        ("g (uint32[2] x) => (uint32[2] y) { y = BitwiseXor(x, x) }", np.uint32, "aten::view"),
        ("g (uint16[2] x) => (bool[2] y) { y = Greater(x, x) }", np.uint16, "UInt16 is an unexpected tensor scalar"),
    ],
}
"""What converters say that they lack: programs, the type of x, and the words."""

NAMES = [a.target.name for a in describe() if a.target.role is not TargetRole.RUNTIME and not a.target.environment]


@pytest.fixture(scope="module")
def runners() -> Iterator[dict[str, Runner]]:
    made: dict[str, Runner] = {}
    yield made
    for runner in made.values():
        runner.close()


def run(runners: dict[str, Runner], name: str, program: onnx.ModelProto, inputs: dict[str, Any]) -> RunResult:
    """One worker a component, for all of this module's tests of it."""
    component = name.partition(":")[0]
    if component == "onnxoptimizer":  # the one that no extra of the suite's environment brings
        pytest.importorskip(component)
    if component not in runners:
        for other in runners.values():
            other.close()
        runners.clear()
        runners[component] = Runner(resolve([n for n in NAMES if n.partition(":")[0] == component]), LIMITS)
        runners[component].__enter__()
    runner = runners[component]
    (target,) = [t for t in runner.targets if t.name == name]
    (result,) = runner.run(program.SerializeToString(), inputs, [target])
    assert result.target.version
    return result


def test_each_target_is_tested_and_at_least_twenty_are_there() -> None:
    assert set(NAMES) == set(FAILING) | set(CONVERTED)
    usable = [a for a in describe() if not a.why_not and not a.target.environment]
    assert len(usable) >= 20


@pytest.mark.parametrize("name", FAILING)
def test_a_program_that_it_can_and_one_that_it_cannot(runners: dict[str, Runner], name: str) -> None:
    result = run(runners, name, model(GOOD), {"x": X})
    assert (result.exit, result.stage) == (Exit.OK, Stage.RUN), result.error
    assert list(result.outputs) == ["y"]
    off = 1e-3 if "float16" in name else 2e-2 if "quantization" in name else 1e-6
    np.testing.assert_allclose(result.outputs["y"], GOOD_Y, rtol=off)  # type: ignore[arg-type]
    assert result.outputs["y"].dtype == F  # type: ignore[union-attr]
    case = FAILING[name]
    result = run(runners, name, model(case.text, case.opset), case.inputs)
    assert (result.exit, result.stage) == (case.exit, case.stage), result.error
    assert re.search(case.says, result.error), result.error
    assert result.outputs == {}
    for text, dtype, says in GAPS.get(name, []):
        result = run(runners, name, model(text, 18), {"x": np.array([1, 3], dtype)})
        assert (result.exit, result.stage) == (Exit.UNSUPPORTED, Stage.CONVERT), result.error
        assert says in result.error


# ---- blame ----------------------------------------------------------------------------------


def judged(text: str, inputs: dict[str, Any], *names: str) -> tuple[list[RunResult], list[Verdict]]:
    program = Program.from_proto(model(text))
    with Runner(resolve(["reference", "onnxruntime:disabled", *names]), LIMITS) as runner:
        results = runner.run(program, inputs)
        verdicts = judge(program, inputs, results, rerun=lambda x, p=None: runner.run(p or program, x))
    return results, verdicts


def test_a_converter_that_computes_something_else_is_blamed() -> None:
    text = "g (float[3] x) => (float[3] y) <int64 axis = {0}> { y = CumSum(x, axis) }"
    _, (verdict,) = judged(text, {"x": X[0]}, "onnx2torch")
    assert (verdict.symptom, verdict.target, verdict.suspect) == (Symptom.DIFFERENCE, "onnx2torch", False)
    assert set(verdict.witnesses) == {"reference", "onnxruntime:disabled"}


def test_a_tool_is_blamed_for_the_invalid_model_that_it_made() -> None:
    results, (verdict,) = judged(CAPTURING, BOTH_BRANCHES.inputs, "onnx-compose:prefix", "onnx-graphsurgeon:cleanup")
    assert [r.exit for r in results] == [Exit.OK, Exit.OK, Exit.REJECTED, Exit.OK]
    assert (verdict.symptom, verdict.target, verdict.suspect) == (Symptom.REJECTION, "onnx-compose:prefix", False)


def test_a_constant_without_a_numpy_type_is_a_gap_of_folding(runners: dict[str, Runner]) -> None:
    text = "g (float[1] x) => (float[1] y) <float w = {1}> { a = Cast <to = 16>(w) b = Cast <to = 1>(a) y = Add(x, b) }"
    result = run(runners, "onnx-graphsurgeon:fold", model(text), {"x": np.ones(1, F)})
    assert (result.exit, result.stage) == (Exit.UNSUPPORTED, Stage.CONVERT), result.error


def test_what_the_baseline_does_not_run_is_nobodys_fault() -> None:
    text = "g (bfloat16[2] x) => (bfloat16[2] y) { y = Add(x, x) }"
    program = Program.from_proto(model(text))
    import ml_dtypes

    inputs = {"x": np.ones(2, ml_dtypes.bfloat16)}
    with Runner(resolve(["reference", "onnx-inliner:local"]), LIMITS) as runner:
        results = runner.run(program, inputs)
        assert [(r.exit, r.stage) for r in results] == [(Exit.OK, Stage.RUN), (Exit.UNSUPPORTED, Stage.RUN)]
        assert judge(program, inputs, results) == []


def test_half_precision_is_not_judged_by_its_numbers() -> None:
    text = "g (float[3] x) => (float[3] y) <float big = {70000.0}> { a = Mul(x, big) y = Exp(a) }"
    results, verdicts = judged(text, {"x": np.array([1e-4, 2e-4, 3e-4], F)}, "onnxruntime-float16")
    assert all(r.exit is Exit.OK for r in results)
    assert not np.array_equal(results[0].outputs["y"], results[2].outputs["y"])  # type: ignore[arg-type]
    assert verdicts == []


def test_a_model_that_two_tools_make_runs_once(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[bool] = []
    call = Worker.call

    def counted(self: Worker, *args: Any, fresh: bool = False, **more: Any) -> Any:
        asked.append(fresh)
        return call(self, *args, fresh=fresh, **more)

    baseline = Baseline(LIMITS)
    monkeypatch.setattr(Worker, "call", counted)
    one, two = (model(f"g (float[2] x) => (float[2] y) {{ y = {op}(x) }}").SerializeToString() for op in ("Neg", "Abs"))
    about, x, other = [{"name": "x"}], np.array([1, -2], F), np.array([-1, 2], F)
    try:
        ran = [
            baseline._run(data, about, [value], fresh=fresh)
            for data, value, fresh in (
                (one, x, False),
                (one, x, False),
                (two, x, False),
                (one, other, False),
                (one, x, True),
            )
        ]
    finally:
        baseline.close()
    assert asked == [False, False, False, True]
    assert [r.outputs["y"].tolist() for r in ran] == [[-1, 2], [-1, 2], [1, 2], [1, -2], [-1, 2]]  # type: ignore[union-attr]


def test_texts_of_a_model_are_no_reason_to_take_one_run_for_another() -> None:
    text = model("g (string[1] x) => (string[1] y) { y = Identity(x) }").SerializeToString()
    baseline = Baseline(LIMITS)
    try:
        for word in ("one", "two"):
            ran = baseline._run(text, [{"name": "x"}], [np.array([word], object)], fresh=False)
            assert ran.outputs["y"].tolist() == [word]  # type: ignore[union-attr]
        assert not baseline._results
    finally:
        baseline.close()


def test_equal_bytes_of_another_shape_are_run_of_their_own() -> None:
    text = model("g (float[M,N] x) => (float[N,M] y) { y = Transpose(x) }").SerializeToString()
    baseline = Baseline(LIMITS)
    try:
        for shape in ((2, 3), (3, 2), (6, 1)):
            ran = baseline._run(text, [{"name": "x"}], [np.zeros(shape, F)], fresh=False)
            assert ran.outputs["y"].shape == shape[::-1]  # type: ignore[union-attr]
    finally:
        baseline.close()


@pytest.mark.parametrize(
    ("text", "inputs", "y"),
    [
        (
            "g (seq(float[2]) s) => (float[2] y) <int64 k = {-1}> { y = SequenceAt(s, k) }",
            {"s": [np.array([1, 2], F), np.array([3, 4], F)]},
            [3, 4],
        ),
        (
            "g (optional(float[2]) s) => (bool y) { y = OptionalHasElement(s) }",
            {"s": None},
            False,
        ),
    ],
    ids=["sequence", "empty optional"],
)
def test_sequences_and_optionals_go_into_models_that_tools_make(text: str, inputs: dict[str, Any], y: Any) -> None:
    with Runner(resolve(["onnx-inliner:local"]), LIMITS) as runner:
        (result,) = runner.run(Program.from_proto(model(text, 18)), inputs)
    assert result.outputs["y"].tolist() == y, result  # type: ignore[union-attr]
