"""Who is right about a dtype and a shape: the declared fact, one component against it, and three against both."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from irfuzz.execute.run_types import RunResult
from irfuzz.ir.program import Program
from irfuzz.oracle.symptoms.dtype_shape_majority import MISSING, OVERRULING, accepted, divide_kinds, fits, kind_of

pytestmark = pytest.mark.unit

TWO, ROW = np.ones(2, np.float32), np.ones((1, 2), np.float32)
WIDE = TWO.astype(np.float64)


def given(run: Callable[..., RunResult], answers: dict[str, np.ndarray | None]) -> list[RunResult]:
    return [run(n, outputs={} if y is None else {"y": y}) for n, y in answers.items()]


@pytest.mark.parametrize(
    ("rows", "answers", "center", "blamed"),
    [
        ("2", {"a": TWO, "b": TWO}, None, None),
        ("2", {"a": TWO, "b": ROW}, ["a"], {"b": True}),
        ("2", {"a": TWO, "b": ROW, "c": ROW}, ["a"], {"b c": False}),
        ("2", {"a": TWO, "b": ROW, "c": WIDE}, ["a"], {"b": True, "c": True}),
        ("2", {"a": TWO, "b": ROW, "c": ROW, "d": ROW}, ["b", "c", "d"], {"a": True}),
        ("2", {"a": TWO, "e": TWO, "b": ROW, "c": ROW, "d": ROW}, ["a", "e"], {"b c d": False}),
        ("2", {"a:x": TWO, "a:y": ROW}, ["a:x"], {"a:y": False}),
        ("2", {"a": TWO, "b": None}, ["a"], {"b": True}),
        ("2", {"a": ROW, "b": ROW}, None, None),
        ("2", {"a": ROW, "b": ROW, "c": WIDE}, ["a", "b"], {"c": True}),
        ("N", {"a": TWO, "b": TWO[:1]}, ["a"], {"b": False}),
        ("N", {"a": TWO, "b": TWO[:1], "c": TWO}, ["a", "c"], {"b": True}),
    ],
)
def test_how_targets_divide(
    parse: Callable[..., Program],
    run: Callable[..., RunResult],
    rows: str,
    answers: dict[str, np.ndarray | None],
    center: list[str] | None,
    blamed: dict[str, bool] | None,
) -> None:
    assert OVERRULING == 3
    program = parse(f"g (float[{rows}] x) => (float[{rows}] y) {{ y = Neg(x) }}")
    fact = program.fact(program.graph.outputs[0])
    ran = given(run, answers)
    division = divide_kinds(ran, "y", fact)
    names = [r.target.name for r in accepted(ran, "y", fact)]
    if center is None:
        assert division is None
        assert names == list(answers)
        return
    assert division is not None
    assert [t.name for t in division.center] == center
    assert {" ".join(t.name for t in b.group): b.firm for b in division.blamed} == blamed
    assert names == [n for n in answers if n in center]


def test_what_fits(parse: Callable[..., Program], run: Callable[..., RunResult]) -> None:
    program = parse("g (float[2] x) => (float[2] y) { y = Neg(x) }")
    fact = program.fact(program.graph.outputs[0])
    right, wrong, none = given(run, {"a": TWO, "b": ROW, "c": None})
    assert [fits(r, "y", fact) for r in (right, wrong, none)] == [True, False, False]
    assert [kind_of(r, "y") for r in (right, wrong, none)] == ["float32[2]", "float32[1,2]", MISSING]
    assert [r.target.name for r in accepted([none, right], "y", fact)] == ["a"]
