"""What makes a program a seed: every input moves an output, every output moves, and ranges and samples are told."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import onnx
import onnx.reference
import onnx_ir as ir
import pytest

from irfuzz.campaign.corpus import seed_candidate_check
from irfuzz.campaign.corpus.seed_candidate_check import SAMPLES, TRIES, examine
from irfuzz.errors import InvalidProgram, UsageError
from irfuzz.execute import quickest_installed_runtime
from irfuzz.facts import TensorFact
from irfuzz.generate.input_planning import TrialRun
from irfuzz.ir.program import Program

pytestmark = pytest.mark.unit


def program(body: str, signature: str = "(float[2] x) => (float[2] y)") -> Program:
    text = f'<ir_version: 8, opset_import: ["" : 17]> g {signature} {{ {body} }}'
    return Program.from_bytes(onnx.parser.parse_model(text).SerializeToString())


@pytest.fixture
def reference(monkeypatch: pytest.MonkeyPatch) -> None:
    """The reference evaluator runs what is examined."""
    monkeypatch.setattr(quickest_installed_runtime, "PREFERRED", ("reference",))


@pytest.mark.usefixtures("reference")
def test_what_is_told_of_a_seed() -> None:
    whole = program(
        "h = Mul (x, w) y = Pow (h, n) z = Cast <to = 7> (n)",
        "(float[k, 2] x, int64[1] n, float[2] w) => (float[k, 2] y, int64[1] z) <float[2] w = {1, 2}>",
    )
    seed = examine(whole, max_bytes=1 << 20, ranges={"x": (1.0, 2.0), "n": (1.0, 3.0)})
    assert (seed.digest, seed.nodes, seed.opset, seed.ir_version) == (whole.digest, 3, 17, 8)
    assert seed.operators == ("Cast", "Mul", "Pow")
    assert [dict(one) for one in seed.inputs] == [
        {"name": "x", "dtype": "float32", "shape": ["k", 2], "low": 1.0, "high": 2.0},
        {"name": "n", "dtype": "int64", "shape": [1], "low": 1, "high": 3},
    ]
    assert [dict(one) for one in seed.outputs] == [
        {"name": "y", "dtype": "float32", "shape": ["k", 2]},
        {"name": "z", "dtype": "int64", "shape": [1]},
    ]
    assert {name: array.shape for name, array in seed.samples.items()} == {"x": (SAMPLES, 2, 2), "n": (SAMPLES, 1)}
    assert seed.samples["x"].min() >= 1
    assert seed.samples["n"].max() <= 3


@pytest.mark.usefixtures("reference")
def test_a_model_of_exactly_the_largest_size_is_one() -> None:
    whole = program("y = Neg (x)")
    size = len(whole.to_bytes())
    assert examine(whole, max_bytes=size, ranges={}).model == whole.to_bytes()
    with pytest.raises(InvalidProgram, match=f"has {size} bytes; a seed has at most {size - 1}"):
        examine(whole, max_bytes=size - 1, ranges={})


@pytest.mark.parametrize(
    ("whole", "ranges", "told"),
    [
        (program("y = Neg (w)", "(float[2] w) => (float[2] y) <float[2] w = {1, 2}>"), {}, "has no inputs"),
        (program("y = SequenceLength (s)", "(seq(float[2]) s) => (int64 y)"), {}, "input 's' is no tensor"),
    ],
)
def test_what_cannot_be_a_seed_at_once(whole: Program, ranges: dict[str, Any], told: str) -> None:
    with pytest.raises(InvalidProgram, match=told):
        examine(whole, max_bytes=1 << 20, ranges=ranges)


def test_a_range_of_no_input_is_named() -> None:
    with pytest.raises(UsageError, match="--range z: no such input; the model has x"):
        examine(program("y = Neg (x)"), max_bytes=1 << 20, ranges={"x": (0.0, 1.0), "z": (0.0, 1.0)})


class Evaluator:
    """Runs programs in this process, and counts how often; it fails from a run on."""

    def __init__(self, fails_at: int = 1 << 30) -> None:
        self.runs, self._fails_at = 0, fails_at

    def __call__(self, whole: Program, inputs: Mapping[str, Any]) -> TrialRun:
        self.runs += 1
        if self.runs >= self._fails_at:
            return TrialRun("it breaks", 0.0, {})
        evaluator = onnx.reference.ReferenceEvaluator(whole.to_proto())
        values = evaluator.run(None, dict(inputs))
        return TrialRun("", 0.0, dict(zip(evaluator.output_names, values, strict=True)))


def draws(*names: str, size: int = 2) -> list[dict[str, Any]]:
    return [{name: np.full(size, n + 1, np.float32) for name in names} for n in range(TRIES)]


TWO = "(float[2] x, float[2] w) => (float[2] y, float[2] z)"


@pytest.mark.parametrize(
    ("body", "signature", "names", "told"),
    [
        (
            "y = Neg (x) z = Sub (x, x)",
            "(float[2] x) => (float[2] y, float[2] z)",
            ("x",),
            "output 'z' is the same for",
        ),
        ("y = Neg (x) z = Abs (x)", TWO, ("x", "w"), "no output moves with input 'w', whatever of 8 values"),
        ("y = Sub (x, x)", "(float[2] x) => (float[2] y)", ("x",), "no output moves with input 'x'"),
        ("y = Neg (x) z = Neg (w)", TWO, ("x", "w"), None),
    ],
)
def test_every_input_moves_an_output_and_every_output_moves(
    body: str, signature: str, names: tuple[str, ...], told: str | None
) -> None:
    whole, runtime = program(body, signature), Evaluator()
    given = draws(*names)
    if told is None:
        seed_candidate_check._check_moves(whole, given, runtime)  # type: ignore[arg-type]
        assert runtime.runs == 1 + 2, "one other value of each is enough"
        return
    with pytest.raises(InvalidProgram, match=told):
        seed_candidate_check._check_moves(whole, given, runtime)  # type: ignore[arg-type]


@pytest.mark.parametrize(("fails_at", "told"), [(1, r"cannot be run \(it breaks\)"), (2, "does not run on all inputs")])
def test_it_runs_on_all_inputs(fails_at: int, told: str) -> None:
    with pytest.raises(InvalidProgram, match=told):
        seed_candidate_check._check_moves(program("y = Neg (x)"), draws("x"), Evaluator(fails_at))  # type: ignore[arg-type]


ONE, NAN = np.ones(2, np.float32), np.full(2, np.nan, np.float32)


@pytest.mark.parametrize(
    ("one", "other", "equal"),
    [
        (ONE, ONE.copy(), True),
        (ONE, 2 * ONE, False),
        (ONE, np.ones(1, np.float32), False),
        (ONE, np.ones((1, 2), np.float32), False),
        (NAN, NAN.copy(), True),
        (np.zeros(2), -np.zeros(2), True),
        (None, None, True),
        (None, ONE, False),
        (ONE, None, False),
        ([ONE, NAN], [ONE, NAN.copy()], True),
        ([ONE], [ONE, ONE], False),
        ([np.zeros(2), np.zeros(3)], None, False),
        (None, [np.zeros(2), np.zeros(3)], False),
        ([], [], True),
        ([None], [None], True),
        (np.zeros(2), np.zeros((1, 2)), False),
        (np.zeros(2, np.float32), np.zeros(2), True),
        ([ONE, ONE], [ONE, NAN], False),
        (np.array(["a"], object), np.array(["a"], object), True),
        (np.array(["a"], object), np.array(["b"], object), False),
    ],
)
def test_when_values_are_equal(one: Any, other: Any, equal: bool) -> None:
    assert seed_candidate_check._equal(one, other) is equal


def test_what_is_told_of_a_value() -> None:
    floats = TensorFact(ir.DataType.FLOAT, (2, "n", None))
    assert seed_candidate_check._value("v", floats) == {"name": "v", "dtype": "float32", "shape": [2, "n", ""]}
    texts = TensorFact(ir.DataType.STRING, (1,))
    assert seed_candidate_check._value("v", texts) == {"name": "v", "dtype": "string", "shape": [1]}
    assert seed_candidate_check._value("v", None) == {"name": "v", "dtype": "unknown", "shape": []}
    fact = program("y = SequenceConstruct (x)", "(float[2] x) => (seq(float[2]) y)")
    value = fact.model.graph.outputs[0]
    assert seed_candidate_check._value("v", fact.fact(value)) == {"name": "v", "dtype": "sequence", "shape": []}


@pytest.mark.parametrize(
    ("dtype", "given", "told"),
    [
        (ir.DataType.FLOAT, (0.5, 1.5), (0.5, 1.5)),
        (ir.DataType.INT64, (0.5, 1.5), (0, 1)),
        (ir.DataType.BOOL, (0.0, 1.0), (0, 1)),
        (ir.DataType.FLOAT, None, (-2.0, 7.0)),
        (ir.DataType.INT64, None, (-2, 7)),
    ],
)
def test_the_range_of_an_input(
    dtype: ir.DataType, given: tuple[float, float] | None, told: tuple[float, float]
) -> None:
    drawn = [{"v": np.array([1, 7])}, {"v": np.array([-2, 3])}]
    entry = seed_candidate_check._input("v", TensorFact(dtype, (2,)), drawn, given)  # type: ignore[arg-type]
    assert (entry["low"], entry["high"]) == told
    assert isinstance(entry["low"], type(told[0]))


def test_texts_have_no_range() -> None:
    entry = seed_candidate_check._input("v", TensorFact(ir.DataType.STRING, (1,)), [], (0.0, 1.0))
    assert set(entry) == {"name", "dtype", "shape"}
