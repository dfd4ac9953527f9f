"""When a component that refuses a program can be right: indices, a lack of elements, levels, bodies of functions."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx.parser
import pytest

from irfuzz.execute.run_types import Exit, RunResult, Stage, Target
from irfuzz.ir.program import Program
from irfuzz.oracle.runs_to_judge import Case
from irfuzz.oracle.symptoms.refusal_justification import (
    EMPTINESS,
    INDEX,
    body_of_error,
    broken_by_optimiser,
    indices_allowed,
    nothing_of_nothing,
)

pytestmark = pytest.mark.unit

HEAD = '<ir_version: 8, opset_import: ["" : 18, "own" : 1]>\n'
INNER = '<domain: "own", opset_import: ["" : 18]> F (a) => (b) { b = Sinh(a) }'


def parsed(text: str, functions: str = "") -> Program:
    return Program.from_proto(onnx.parser.parse_model(HEAD + text + functions))


@pytest.mark.parametrize(
    ("error", "index", "emptiness"),
    [
        ("index 7 is out of bounds for axis 0", True, False),
        ("IndexError: 3 Out Of Range", True, False),
        ("out of data bounds", True, False),
        ("indices element out of data", True, False),
        ("tuple index out of range", False, False),
        ("list index out of range", False, False),
        ("zero-size array to reduction", False, True),
        ("an EMPTY tensor", False, True),
        ("empty string", False, False),
    ],
)
def test_words_that_blame_an_index_or_a_lack_of_elements(error: str, index: bool, emptiness: bool) -> None:
    assert bool(INDEX.search(error)) == index
    assert bool(EMPTINESS.search(error)) == emptiness


GATHER = "g (float[3] x, int64[1] i) => (y) { y = Gather(x, i) }"


@pytest.mark.parametrize(
    ("text", "fed", "allowed"),
    [
        (GATHER, {"i": np.array([2])}, True),
        (GATHER, {"i": np.array([3])}, False),
        (GATHER, {"i": np.array([-3])}, True),
        (GATHER, {"i": np.array([-4])}, False),
        ("g (float[3] x) => (y) { y = Neg(x) }", {}, True),
        # Nobody knows where an index points to that comes of floats.
        ("g (float[3] x) => (y) { a = Exp(x)  i = Cast<to = 7>(a)  y = Gather(x, i) }", {}, False),
        ("g (float[3] x) => (y) <int64[1] i = {2}> { a = Exp(x)  y = Gather(a, i) }", {}, True),
        ("g (float[3] x) => (y) <int64[1] i = {2}> { y = own.Gather(x, i) }", {}, False),
        ("g (float[3] x) => (y) { y = own.Neg(x) }", {}, True),
        ("g (float[3] x, int64[1] i) => (y) { y = Gather<axis = 0>(x, i) }", {}, False),
    ],
)
def test_indices_that_are_known_to_be_allowed(text: str, fed: dict[str, Any], allowed: bool) -> None:
    given = {"x": np.array([1, 2, 3], np.float32), **fed}
    assert indices_allowed(Case(parsed(text), given, [])) == allowed


@pytest.mark.parametrize(
    ("text", "size", "nothing"),
    [
        ("y = Softmax(x)", 0, True),
        ("y = Softmax(x)", 1, False),
        ("y = ReduceMax<keepdims = 0>(x)", 0, False),
        ("a = Neg(x)  y = Softmax(a)", 0, True),
        ("a = Shape(x)  y = Neg(a)", 0, False),
        ("a = NonZero(x)  y = Neg(a)", 0, False),
    ],
)
def test_of_nothing_comes_nothing(text: str, size: int, nothing: bool) -> None:
    program = parsed(f"g (float[2,{size}] x) => (y) {{ {text} }}")
    assert nothing_of_nothing(Case(program, {"x": np.ones((2, size), np.float32)}, [])) == nothing


def target(name: str, **fields: Any) -> Target:
    return Target(name, fields.pop("component", "ort"), **fields)


@pytest.mark.parametrize(
    ("refuses", "accepts", "broken"),
    [
        (target("ort:all"), target("ort:disabled"), True),
        (target("ort:all"), target("ort:layout"), True),
        (target("ort:basic"), target("ort:disabled"), True),
        (target("ort:all"), target("ort:all"), False),
        (target("ort:disabled"), target("ort:all"), False),
        (target("ort:basic"), target("ort:extended"), False),
        (target("ort:all"), target("ort:eager"), False),
        (target("ort:eager"), target("ort:disabled"), False),
        (target("all"), target("ort:disabled"), False),
        (target("ort:all"), target("disabled"), False),
        (target("ort:all", options={"level": "all"}), target("ort:disabled", options={"level": "disabled"}), True),
        (target("ort:all", options={"threads": 2}), target("ort:disabled"), False),
        (target("ort:all"), target("ort:disabled", component="other"), False),
        (target("ort:all"), target("ort:disabled", environment="e"), False),
        (target("ort:all"), target("ort:disabled", version="2"), False),
        (target("ort:all"), target("ort:disabled", device="cuda"), False),
        (target("ort:all"), target("ort:disabled", kernels="k"), False),
    ],
)
def test_a_level_that_refuses_what_a_plainer_one_runs(refuses: Target, accepts: Target, broken: bool) -> None:
    result = RunResult(refuses, Stage.COMPILE, Exit.REJECTED)
    assert broken_by_optimiser(result, [target("x"), accepts]) == broken
    assert not broken_by_optimiser(RunResult(refuses, Stage.RUN, Exit.REJECTED), [accepts])
    assert not broken_by_optimiser(result, [])


NAMED = "Type Error: Type parameter (T) of Optype (Sinh) bound to different types"


@pytest.mark.parametrize(
    ("text", "message", "op"),
    [
        ("y = own.F(x)", NAMED, "F"),
        ("y = own.F(x)", NAMED.replace("Sinh", "Cosh"), ""),
        ("y = own.F(x)", "no kernel for operator Sinh", ""),
        ("y = own.F(x)", "type mismatch somewhere", ""),
        ("y = own.F(x)", "type mismatch in operator 'Sinh'", "F"),
        ("a = Sinh(x)  y = own.F(a)", NAMED, ""),
        # Bodies of ONNX's own functions.
        ("y = HardSwish(x)", NAMED.replace("Sinh", "HardSigmoid"), "HardSwish"),
        ("y = Neg(x)", NAMED, ""),
    ],
)
def test_a_type_error_about_a_body(text: str, message: str, op: str) -> None:
    assert body_of_error(parsed(f"g (float[3] x) => (float[3] y) {{ {text} }}", INNER), message) == op
