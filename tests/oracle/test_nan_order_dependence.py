"""The same numbers turned around: who does with NaN what it did elsewhere, and which programs can be turned at all."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
import pytest

from irfuzz.execute.run_types import Exit, RunResult, Stage, Value
from irfuzz.ir.program import Program
from irfuzz.oracle.numeric.nan_order_dependence import MOST_NODES, contradicts_itself
from irfuzz.oracle.runs_to_judge import Case

pytestmark = pytest.mark.unit

NAN = np.nan
X = np.array([NAN, 1, 2, 3], np.float32)
GONE = np.array([0, 1, 2, 3], np.float32)
RELU = "g (float[4] x) => (float[4] y) { y = Relu(x) }"
Parse: TypeAlias = Callable[..., Program]
Run: TypeAlias = Callable[..., RunResult]


def turned(
    program: Program, run: Run, fed: np.ndarray, given: dict[str, np.ndarray], after: dict[str, Any], **how: Any
) -> tuple[bool, list[tuple[dict[str, Value], Program]]]:
    """Whether ``c`` contradicts itself, against ``a`` and ``b``; and what was run again."""
    asked: list[tuple[dict[str, Value], Program]] = []

    def rerun(inputs: Any, other: Program | None = None, /) -> list[RunResult]:
        assert other is not None
        asked.append((dict(inputs), other))
        return [y if isinstance(y, RunResult) else run(name, y) for name, y in after.items()]

    inputs: dict[str, Value] = {"x": fed}
    case = Case(program, inputs, [run(name, y) for name, y in given.items()], rerun=rerun)
    leaf = case.leaves()[0]
    names = how.get("witnesses", ["a", "b"])
    return contradicts_itself(case, leaf, case.target("c"), [case.target(n) for n in names]), asked


@pytest.mark.parametrize(
    ("after", "contradicts"),
    [
        ({"a": X[::-1], "b": X[::-1], "c": GONE[::-1]}, False),  # it forgets NaN wherever it is
        ({"a": X[::-1], "b": X[::-1], "c": X[::-1]}, True),  # it forgets only one that comes first
        ({"a": X, "b": X, "c": X}, True),  # the output stays as it is
        ({"a": X, "b": X, "c": GONE}, False),
        ({"a": GONE, "b": GONE, "c": X}, False),  # of no order of the witness's own
        ({"c": X[::-1]}, False),
        ({"a": X[::-1]}, False),
        ({"a": X[::-1], "c": X[::-1][:3]}, False),
        ({"a": X[::-1][:3], "c": X[::-1]}, False),
    ],
)
def test_what_is_done_with_nan_in_another_place(
    parse: Parse, run: Run, after: dict[str, np.ndarray], contradicts: bool
) -> None:
    found, asked = turned(parse(RELU), run, X, {"a": X, "b": X, "c": GONE}, after)
    assert found == contradicts
    fed = asked[0][0]["x"]
    assert isinstance(fed, np.ndarray)
    assert np.array_equal(fed, X[::-1], equal_nan=True)


@pytest.mark.parametrize("ending", [{"exit": Exit.CRASH}, {"stage": Stage.COMPILE}])
def test_runs_that_did_not_end_well_say_nothing(parse: Parse, run: Run, ending: dict[str, Any]) -> None:
    after = {"a": X[::-1], "c": run("c", X[::-1], **ending)}
    assert not turned(parse(RELU), run, X, {"a": X, "b": X, "c": GONE}, after)[0]


def test_it_takes_a_witness_and_a_way_to_run_again(parse: Parse, run: Run) -> None:
    given, after = {"a": X, "b": X, "c": GONE}, {"a": X[::-1], "c": X[::-1]}
    assert turned(parse(RELU), run, X, given, after)[0]
    assert turned(parse(RELU), run, X, given, after, witnesses=["b", "a"])[0]
    assert not turned(parse(RELU), run, X, given, after, witnesses=[])[0]
    assert not turned(parse(RELU), run, X, given, after, witnesses=["b"])[0]
    case = Case(parse(RELU), {"x": X}, [run(name, y) for name, y in given.items()])
    assert not contradicts_itself(case, case.leaves()[0], case.target("c"), [case.target("a")])


def chain(count: int, last: str = "Relu(t0)") -> str:
    steps = " ".join(f"t{i} = Abs(t{i + 1})" for i in reversed(range(count - 1)))
    return f"g (float[4] x) => (float[4] y) {{ t{count - 1} = Identity(x) {steps} y = {last} }}"


@pytest.mark.parametrize(
    ("text", "can"),
    [
        (RELU, True),
        (chain(MOST_NODES), True),  # of which the first node only hands on
        (chain(MOST_NODES + 1), False),
        ("g (float[4] x) => (float[1] y) { y = ReduceMax(x) }", True),
        ("g (float[4] x) => (float[4] y) { y = Softmax(x) }", False),
        ("g (float[4] x) => (float[4] y) <float[4] c = {1, 2, 3, 4}> { y = Add(x, c) }", True),
        ("g (float[4] x) => (float[4] y) <float[1] c = {1}> { y = Add(x, c) }", True),
        ("g (float[4] x) => (float[4] y) <float c = {1}> { y = Add(x, c) }", True),
        ("g (float[4] x) => (float[2,4] y) <float[2,1] c = {1, 2}> { y = Add(x, c) }", True),
        ("g (float[2,1] x) => (float[2,4] y) <float[4] c = {1, 2, 3, 4}> { y = Add(x, c) }", True),
        ("g (float[1] x) => (float[1] y) { y = Relu(x) }", False),
        ("g (float x) => (float y) { y = Relu(x) }", False),
        ("g (int32[4] x) => (int32[4] y) { y = Abs(x) }", False),
    ],
)
def test_which_programs_can_be_turned(parse: Parse, run: Run, text: str, can: bool) -> None:
    assert MOST_NODES == 8
    program = parse(text)
    shape = [d if isinstance(d, int) else 1 for d in program.graph.inputs[0].shape]
    fed = np.ones(shape, program.tensor(program.graph.inputs[0]).dtype.numpy())
    shape = [d if isinstance(d, int) else 1 for d in program.graph.outputs[0].shape]
    right, wrong = np.ones(shape, fed.dtype), np.full(shape, 3, fed.dtype)
    _, asked = turned(program, run, fed, {"a": right, "b": right, "c": wrong}, {})
    assert bool(asked) == can


def test_constants_are_turned_with_what_is_fed(parse: Parse, run: Run) -> None:
    program = parse(
        "g (float[4] x) => (float[4] y) <float[4] c = {1, 2, 3, 4}, int64[4] k = {1, 2, 3, 4}>"
        " { f = Cast<to=1>(k) d = Add(x, c) y = Add(d, f) }"
    )
    _, asked = turned(program, run, X, {"a": X, "b": X, "c": GONE}, {})
    other = asked[0][1]
    names = {v.name: other.const_array(v) for v in other.graph.initializers.values()}
    assert names["c"] is not None
    assert names["k"] is not None
    assert names["c"].tolist() == [4, 3, 2, 1]
    assert names["k"].tolist() == [1, 2, 3, 4]
    assert program.const_array(program.graph.initializers["c"]).tolist() == [1, 2, 3, 4]
