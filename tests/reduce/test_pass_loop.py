"""Whole reductions: how small real models get, for how many tries, and that no program is too odd."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

from irfuzz.errors import InvalidProgram
from irfuzz.execute import target_table
from irfuzz.execute.run_types import Value
from irfuzz.execute.runner import Runner
from irfuzz.facts import TensorFact
from irfuzz.generate.input_values import make_inputs
from irfuzz.ir.program import Program
from irfuzz.ir.verifier import verify
from irfuzz.oracle import judge
from irfuzz.oracle.verdict import Symptom
from irfuzz.reduce import Still, reduce_case, session
from irfuzz.reduce import pass_loop as reduce_module
from tests.reduce.conftest import checked, feeds, has, ops, parse, run, values_of

WRONG = "tests/reduce/wrong.py"


def seed(root: Path, name: str) -> tuple[Program, dict[str, Value]]:
    program = Program.from_bytes((root / "seeds" / f"{name}.onnx").read_bytes())
    return program, make_inputs(program, 1)


@pytest.mark.parametrize(
    ("name", "still"),
    [
        ("resnet", feeds("Conv", "BatchNormalization")),
        ("resnet", feeds("Add", "Relu")),
        ("resnet", feeds("GlobalAveragePool", "Flatten")),
        ("resnet", checked(lambda p, i: {"Conv", "Gemm"} <= set(ops(p)))),
        ("transformer", feeds("Softmax", "MatMul")),
        ("lstm", feeds("LSTM", "Squeeze")),
    ],
)
def test_two_nodes_of_a_real_model(root: Path, name: str, still: Still) -> None:
    program, inputs = seed(root, name)
    before = program.to_bytes()
    small = reduce_case(program, inputs, still, values_of=values_of, seconds=300)
    assert small.complete
    assert len(small.program.graph) <= 3
    assert small.tries < 100
    assert program.to_bytes() == before
    assert still(small.program, small.inputs)


def test_a_fault_of_the_values(root: Path) -> None:
    program, inputs = seed(root, "resnet")
    still = checked(lambda p, i: "Gemm" in ops(p) and max(v.max() for v in run(p, i).values()) > 1)
    small = reduce_case(program, inputs, still, values_of=values_of, seconds=300)
    assert (ops(small.program), small.complete, small.settled) == (["Gemm"], True, True)
    assert small.tries < 150
    nodes = reduce_case(program, inputs, still, values_of=values_of, tries=small.tries - 1)
    assert (ops(nodes.program), nodes.complete, nodes.settled) == (["Gemm"], False, True), "plainer values were missing"
    assert all(v.size <= 4 for v in small.inputs.values())  # type: ignore[union-attr]


@contextlib.contextmanager
def runner(root: Path, faulty: str) -> Iterator[Runner]:
    with contextlib.chdir(root):
        targets = target_table.resolve([faulty, f"{WRONG}:Right", "onnxruntime:disabled"])
        with Runner(targets) as one:
            yield one


@pytest.mark.planted
@pytest.mark.backend
@pytest.mark.parametrize(
    ("fault", "symptom", "left"),
    [
        ("FusesAddRelu", Symptom.DIFFERENCE, ["Add", "Relu"]),
        ("NoStridedConv", Symptom.REJECTION, ["Conv"]),
        ("OverflowsSums", Symptom.DIFFERENCE, None),
    ],
)
def test_a_planted_fault(
    root: Path, fault: str, symptom: Symptom, left: list[str] | None, capsys: pytest.CaptureFixture[str]
) -> None:
    """Found by the oracle in a 54-node model, and reduced through the same runner and the same oracle."""
    program, inputs = seed(root, "resnet")
    with runner(root, f"{WRONG}:{fault}") as workers:

        def still(candidate: Program, given: Mapping[str, Value]) -> bool:
            results = workers.run(candidate, given)
            again = lambda other, moved=None: workers.run(moved or candidate, other)  # noqa: E731
            found = judge(candidate, given, results, rerun=again)
            return any(v.symptom is symptom and v.target == f"{WRONG}:{fault}" and not v.suspect for v in found)

        assert still(program, inputs)
        small = reduce_case(program, inputs, checked(still), values_of=values_of, seconds=300)
    with capsys.disabled():
        sizes = f"{len(program.graph)} -> {len(small.program.graph)} nodes, {len(program.to_bytes())} -> "
        print(f"\n{fault}: {sizes}{len(small.program.to_bytes())} bytes, {small.tries} tries", end="")
    assert ops(small.program) == left if left else len(small.program.graph) == 1
    assert small.tries < 150
    assert len(small.program.to_bytes()) < 400


def test_tries_are_counted_and_bounded(root: Path) -> None:
    program, inputs = seed(root, "resnet")
    calls: list[int] = []

    def still(candidate: Program, given: Mapping[str, Value]) -> bool:
        calls.append(1)
        return "Gemm" in ops(candidate)

    for most in (0, 1, 7):
        calls.clear()
        small = reduce_case(program, inputs, still, values_of=values_of, tries=most)
        assert (len(calls), small.tries, small.complete, small.settled) == (most, most, False, False)
        assert "Gemm" in ops(small.program)


def test_no_time_is_no_try(root: Path) -> None:
    program, inputs = seed(root, "lenet5")
    small = reduce_case(program, inputs, lambda p, i: pytest.fail("called"), seconds=0)
    assert (small.program.to_bytes(), small.complete) == (program.to_bytes(), False)
    assert small.inputs.keys() == inputs.keys()


@pytest.mark.parametrize(("each", "most"), [(0.0, 500), (0.21, 500), (0.24, 0), (10.0, 0)])
def test_a_candidate_that_would_end_too_late_is_not_begun(
    root: Path, monkeypatch: pytest.MonkeyPatch, each: float, most: int
) -> None:
    monkeypatch.setattr(session.time, "monotonic", lambda: 100.0)
    program, inputs = seed(root, "lenet5")
    small = reduce_case(program, inputs, has("Gemm"), values_of=values_of, seconds=0.21, each=each)
    assert (small.tries > 0) == (most > 0)
    assert small.complete == (most > 0)


def test_what_a_candidate_took_that_still_fails_counts_for_the_next(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [100.0]
    monkeypatch.setattr(session.time, "monotonic", lambda: now[0])
    program, inputs = seed(root, "lenet5")

    def still(candidate: Program, given: Mapping[str, Value]) -> bool:
        now[0] += 4.0
        return True

    assert reduce_case(program, inputs, still, values_of=values_of, seconds=10).tries == 2  # the third ends at 12


def test_what_never_fails_again_stays() -> None:
    program = parse("g (float[2,3] x) => (float[2,3] y) { a = Abs(x)  y = Neg(a) }")
    inputs = {"x": np.ones((2, 3), np.float32)}
    small = reduce_case(program, inputs, checked(lambda p, i: False), values_of=values_of)
    assert (small.program.to_bytes(), small.complete) == (program.to_bytes(), True)
    assert small.inputs["x"] is inputs["x"]


def test_a_predicate_that_finds_a_candidate_invalid_says_no() -> None:
    def still(program: Program, inputs: Mapping[str, Value]) -> bool:
        raise InvalidProgram("not for me")

    program = parse("g (float[2] x) => (float[2] y) { a = Abs(x)  y = Neg(a) }")
    assert len(reduce_case(program, {"x": np.ones(2, np.float32)}, still).program.graph) == 2


@pytest.mark.parametrize("axis", [-4, 5])
def test_a_rule_that_is_broken_on_purpose_stays_broken(axis: int) -> None:
    """Facts are those of the valid program, as the mutator leaves them."""
    program = parse(
        "g (float[2, 3] x, float[3] z) => (float[3, 2] y, float[3] v)"
        "{ a = Abs(x)  b = Neg(a)  s = Softmax<axis: int = 1>(b)  t = Sqrt(s)  u = Transpose(t)  y = Exp(u)"
        "  v = Sin(z) }"
    )
    (softmax,) = (node for node in program.graph if node.op_type == "Softmax")
    program.set_attr(softmax, "axis", axis, infer=False)
    broken = [*map(str, verify(program))]
    assert len(broken) == 1

    def still(candidate: Program, inputs: Mapping[str, Value]) -> bool:
        assert [*map(str, verify(candidate))] == broken
        return True  # whatever breaks the rule

    x = np.ones((2, 3), np.float32)
    small = reduce_case(program, {"x": x, "z": x[0]}, still)
    assert ops(small.program) == ["Neg", "Softmax"]  # what reads something else is inferred anew, and invalid
    assert small.settled


def test_no_candidate_is_tried_twice(root: Path) -> None:
    program, inputs = seed(root, "lenet5")
    seen: set[tuple[Any, ...]] = set()

    def still(candidate: Program, given: Mapping[str, Value]) -> bool:
        key = (candidate.to_bytes(), *((n, v.tobytes(), v.shape) for n, v in given.items()))  # type: ignore[union-attr]
        assert key not in seen
        seen.add(key)
        return {"Tanh", "Gemm"} <= set(ops(candidate))

    assert reduce_case(program, inputs, still, values_of=values_of).tries == len(seen)


ODD = {
    "an input is an output": (
        "g (float[2] x) => (float[2] x, float[2] y) { y = Neg(x) }", {"x": np.ones(2, np.float32)},
    ),
    "an initializer is an output": ("g () => (float[2] w) <float[2] w = {1,2}> { }", {}),
    "one value is two outputs": (
        "g (float[2] x) => (float[2] y, float[2] z) { y = Neg(x)  z = Identity(y) }", {"x": np.ones(2, np.float32)},
    ),
    "no inputs": ("g () => (float[2] y) { y = Constant<value = float[2] {1,2}>() }", {}),
    "named sizes": (
        "g (float[N,M] x, float[M,N] z) => (float[N,N] y) { y = MatMul(x, z) }",
        {"x": np.ones((2, 3), np.float32), "z": np.ones((3, 2), np.float32)},
    ),
    "zero elements": ("g (float[0,3] x) => (float[0,3] y) { y = Relu(x) }", {"x": np.ones((0, 3), np.float32)}),
    "a scalar": ("g (float x) => (float y) { a = Exp(x)  y = Neg(a) }", {"x": np.array(1, np.float32)}),
    "a sequence": (
        (
            "g (float[2] x) => (seq(float[2]) y, float[2] z)"
            " { y = SequenceConstruct(x, x)  i = Constant<value_int = 1>()  z = SequenceAt(y, i) }"
        ),
        {"x": np.ones(2, np.float32)},
    ),
    "a sequence enters": (
        "g (seq(float[2]) s) => (float[2] y) { i = Constant<value_int = 1>()  a = SequenceAt(s, i)  y = Neg(a) }",
        {"s": [np.ones(2, np.float32), np.zeros(2, np.float32)]},
    ),
    "an optional": (
        "g (optional(float[2]) o) => (bool b) { b = OptionalHasElement(o) }", {"o": np.ones(2, np.float32)},
    ),
    "another domain": (
        "g (float[2] x) => (float[2] y) { a = own.Twice(x)  y = Neg(a) }", {"x": np.ones(2, np.float32)},
    ),
    "control flow": (
        (
            "g (bool c, float[2] x) => (float[2] y) { a = Neg(x)  b = If (c) <then_branch = t () => (float[2] p)"
            " { p = Exp(a) }, else_branch = e () => (float[2] q) { q = Abs(x) }>  y = Neg(b) }"
        ),
        {"c": np.array(True), "x": np.ones(2, np.float32)},
    ),
    "strings": (
        "g (string[2] x) => (string[2] y) { a = Identity(x)  y = StringNormalizer(a) }",
        {"x": np.array(["a", "b"], object)},
    ),
    "many outputs": (
        "g (float[4] x) => (float[2] y, float[2] z) { y, z = Split(x) }", {"x": np.ones(4, np.float32)},
    ),
    "outputs left out": (
        (
            "g (float[1,1,2] x) => (float[1,1,3] h) <float[1,3,2] w = {1,2,3,4,5,6},"
            " float[1,3,3] r = {1,2,3,4,5,6,7,8,9}> { , h = RNN<hidden_size = 3>(x, w, r) }"
        ),
        {"x": np.ones((1, 1, 2), np.float32)},
    ),
}  # fmt: skip
"""By what is odd: a program, and inputs."""

TWICE = '<domain: "own", opset_import: ["" : 17]> Twice (x) => (y) { y = Add(x, x) }'


@pytest.mark.parametrize("name", ODD)
@pytest.mark.parametrize("known", [True, False])
def test_odd_programs(name: str, known: bool) -> None:
    """Whatever is asked for, nothing is raised and nothing invalid is tried."""
    text, inputs = ODD[name]
    program = parse(text, functions=TWICE if "own" in text else "")
    first = ops(program)[-1:]
    values = values_of if known and "optional" not in text else None
    for still in (checked(lambda p, i: True), has(*first), checked(lambda p, i: False)):
        small = reduce_case(program, inputs, still, values_of=values)
        assert small.complete
        assert still(small.program, small.inputs) or small.program.to_bytes() == program.to_bytes()
        assert len(small.program.graph) <= len(program.graph)


@pytest.mark.conformance
def test_a_sample_of_onnx_own_cases() -> None:
    """Every operator that ONNX publishes a case for is still there at the end, in a valid program."""
    from onnx.backend.test.case.node import collect_testcases

    sampled = 0
    for case in list(collect_testcases())[::60]:
        program = Program.from_proto(case.model)
        given = case.data_sets[0][0]
        values = [np.asarray(onnx.numpy_helper.to_array(v) if isinstance(v, onnx.TensorProto) else v) for v in given]
        if not all(isinstance(program.fact(v), TensorFact) for v in program.graph.inputs):
            continue
        inputs = {v.name or "": array for v, array in zip(program.graph.inputs, values, strict=True)}
        still = has(*ops(program))
        small = reduce_case(program, inputs, still, tries=15)
        assert still(small.program, small.inputs), case.name
        assert len(small.program.graph) <= len(program.graph)
        sampled += 1
    assert sampled >= 25


def test_passes_are_in_one_table() -> None:
    passes = (*reduce_module.STRUCTURE, *reduce_module.DATA, *reduce_module.LOOKS)
    assert len(passes) == len(set(passes))
    assert all(one.__doc__ for one in passes)
