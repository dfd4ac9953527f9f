"""Operators of which ONNX does not say what they make of NaN and infinity: those that read floats, or may."""

from __future__ import annotations

import onnx.parser
import pytest

from irfuzz.ir.program import Program
from irfuzz.oracle.dataflow.unspecified_nan_inf import OpenSpecials, open_specials

pytestmark = pytest.mark.unit

HEAD = '<ir_version: 8, opset_import: ["" : {}, "own" : 1]>\n'


def found(text: str, opset: int = 18) -> list[list[str]]:
    """What is open of NaN, of infinities, and what integers they are."""
    program = Program.from_proto(onnx.parser.parse_model(HEAD.format(opset) + text))
    open_ = open_specials(program, program.graph.all_nodes())
    return [sorted(names) for names in (open_.nan, open_.infinity, open_.converts)]


def read(kind: str, node: str) -> str:
    return f"g ({kind}[1,1,4] x) => (y) {{ y = {node} }}"


@pytest.mark.parametrize(
    ("kind", "node", "open_"),
    [
        ("float", "Neg(x)", [[], [], []]),
        ("float", "Relu(x)", [["Relu"], [], []]),
        ("bfloat16", "Relu(x)", [["Relu"], [], []]),
        ("int64", "Relu(x)", [[], [], []]),
        ("float", "Softmax(x)", [["Softmax"], ["Softmax"], []]),
        ("float", "Cast<to = 7>(x)", [[], [], ["Cast"]]),
        ("float", "Cast<to = 11>(x)", [[], [], []]),
        ("float", "Cast<to = 9>(x)", [[], [], []]),
        ("int32", "Cast<to = 7>(x)", [[], [], []]),
        ("int32", "Cast<to = 1>(x)", [[], [], []]),
    ],
)
def test_one_operator(kind: str, node: str, open_: list[list[str]]) -> None:
    assert found(read(kind, node)) == open_


def test_what_is_of_an_unknown_type_may_be_floats() -> None:
    text = "g (int64[4] x) => (y) { a = own.Mystery(x)  b = Softmax(a)  y = own.Second(b) }"
    assert found(text) == [["Second", "Softmax"], ["Second", "Softmax"], []]
    assert found("g (int64[4] x) => (y) { y = own.Mystery(x) }") == [[], [], []]
    assert found("g (int64[4] x) => (y) { y = Softmax(x) }".replace("Softmax", "Neg")) == [[], [], []]


def test_sequences_and_bodies_are_seen_into() -> None:
    assert found("g (seq(float[4]) x) => (y) { y = ConcatFromSequence<axis = 0>(x) }")[2] == []
    text = (
        "g (float[4] x, bool c) => (y) { y = If(c) <then_branch = t () => (p) { p = Relu(x) },"
        " else_branch = e () => (q) { q = Neg(x) }> }"
    )
    assert "Relu" in found(text)[0]


def test_nan_and_infinities_alone_are_asked_for_apart() -> None:
    open_ = OpenSpecials(frozenset({"Relu"}), frozenset({"Softmax"}))
    assert open_.of(nan=True) == {"Relu"}
    assert open_.of(nan=False) == {"Softmax"}
