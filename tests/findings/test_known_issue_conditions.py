"""What conditions of known issues can ask of a node, and which nodes of a program are asked."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx.parser
import pytest

from irfuzz.errors import SpecError
from irfuzz.execute.run_types import Value
from irfuzz.findings.known_issue_conditions import MOST_ELEMENTS, KnownNode, known_nodes, node_condition
from irfuzz.ir.program import Program

pytestmark = pytest.mark.unit

HEAD = '<ir_version: 8, opset_import: ["" : 17, "own" : 1]>\n'
POOL = (
    "g (float[1,1,N] x) => (float[1,1,M] y) <float[2] w = {1, 2}> "
    '{ a = Relu(x) y = MaxPool<kernel_shape=[2], auto_pad="SAME_UPPER">(a) }'
)
BODY = (
    "g (bool c, float[1] x) => (float[1] y) <float[1] w = {3}> { y = If (c) "
    "<then_branch = t () => (float[1] a) { a = Add(x, w) }, else_branch = e () => (float[1] b) { b = Neg(x) }> }"
)
CALLS = (
    HEAD + "g (float[1] x) => (float[1] y) { y = own.twice<gain=2.0>(x) }\n"
    '<opset_import: ["" : 16], domain: "own"> twice <gain: float = 1.0, other: float = 2.0> (a) => (b) '
    "{ b = Add(a, a) }"
)


def program(text: str) -> Program:
    return Program.from_proto(onnx.parser.parse_model(text if text.startswith("<") else HEAD + text))


def last(text: str, fed: dict[str, Value] | None = None) -> dict[str, Any]:
    """What is known of the last node of the main graph."""
    given = program(text)
    return dict(known_nodes(given, [given.nodes()[-1]], fed)[0].names())


def test_attributes_with_their_defaults_and_inputs_by_name() -> None:
    names = last(POOL)
    wanted = {
        "opset": 17,
        "inside": False,
        "inputs": 1,
        "outputs": (True,),
        "captured_initializers": 0,
        "left_to_defaults": 0,
        "kernel_shape": (2,),
        "has:kernel_shape": True,
        "auto_pad": "SAME_UPPER",
        "has:auto_pad": True,
        "has:dilations": False,
        "ceil_mode": 0,
        "has:ceil_mode": False,
        "has:X": True,
        "X_from": "Relu",
        "dtype:X": "float",
        "shape:X": (1, 1, None),
        "rank:X": 3,
    }
    assert {name: names.get(name, "missing") for name in wanted} == wanted
    assert "X" not in names


def test_where_inputs_come_from_and_what_is_in_them() -> None:
    text = "g (float[2] x, float[2] z) => (float[2] y) <float[2] w = {1, 2}> { y = Sum(x, w, z) }"
    names = last(text, {"x": np.array([5, 6], np.float32)})
    assert names["data_0_from"] == "", "the first tells the rest"
    assert names["data_0"] == (5, 6)
    assert names["shape:data_0"] == ((2,), (2,), (2,))
    assert names["rank:data_0"] == 1
    stored = last("g (float[2] x) => (float[2] y) <float[2] w = {1, 2}> { y = Add(w, x) }")
    assert (stored["A_from"], stored["B_from"]) == ("initializer", "")
    assert stored["A"] == (1, 2)
    assert "B" not in stored
    assert stored["shape:A"] == (2,)


@pytest.mark.parametrize(("size", "known"), [(MOST_ELEMENTS, True), (MOST_ELEMENTS + 1, False)])
def test_elements_of_large_tensors_are_not_known(size: int, known: bool) -> None:
    text = f"g (float[{size}] x) => (float[{size}] y) {{ y = Relu(x) }}"
    assert ("X" in last(text, {"x": np.zeros(size, np.float32)})) == known
    given = program(f"g (float[{size}] x) => (float[{size}] y) {{ y = Add(x, x) }}")
    node = given.nodes()[-1]
    node.replace_input_with(1, given.constant(np.zeros(size, np.float32)))
    assert ("B" in known_nodes(given, [node])[0].names()) == known
    assert MOST_ELEMENTS == 4096


def test_optional_inputs_and_outputs() -> None:
    names = last('g (float[2] x, float h) => (float[2] y) { y = Clip(x, "", h) }')
    assert (names["has:input"], names["has:min"], names["has:max"], names["inputs"]) == (True, False, True, 3)
    rnn = (
        "g (float[2,1,3] x, float[1,4,3] w, float[1,4,4] r) => (float[1,1,4] h) "
        "{{ {}, h = RNN<hidden_size=4>(x, w, r) }}"
    )
    assert last(rnn.format('""'))["outputs"] == (False, True)
    assert last(rnn.format("y"))["outputs"] == (True, True)


def test_a_node_of_another_domain() -> None:
    given = program("g (float[1] x) => (float[1] y) { y = Relu(x) }")
    (node,) = given.nodes()
    assert KnownNode(node, 17, inside=False).op == "Relu"
    node.domain = "ai.onnx"
    assert KnownNode(node, 17, inside=False).op == "Relu"
    node.domain = "com.microsoft"
    assert KnownNode(node, 1, inside=False).op == "com.microsoft.Relu"


def test_nodes_of_bodies_stand_inside_and_are_not_fed() -> None:
    given = program(BODY)
    fed: dict[str, Value] = {"x": np.ones(1, np.float32)}
    found = known_nodes(given, None, fed)
    assert [(n.op, n.inside, n.opset) for n in found] == [("If", False, 17), ("Add", True, 17), ("Neg", True, 17)]
    assert found[0].names()["captured_initializers"] == 1
    assert [bool(n.fed) for n in found] == [True, False, False]
    assert [n.op for n in known_nodes(given, given.nodes())] == ["If", "Add", "Neg"]
    assert known_nodes(given, []) == []


def test_nodes_of_functions_count_if_none_are_chosen() -> None:
    given = program(CALLS)
    found = known_nodes(given)
    assert [(n.op, n.inside, n.opset) for n in found] == [("own.twice", False, 1), ("Add", True, 16)]
    assert found[0].defaults == {"gain", "other"}
    assert found[0].names()["left_to_defaults"] == 1
    assert [n.op for n in known_nodes(given, given.nodes())] == ["own.twice"]


def test_a_condition_holds_if_it_is_certain_of_one_node() -> None:
    given = program(POOL)
    nodes = known_nodes(given)
    for text, holds in (
        ("MaxPool: auto_pad == 'SAME_UPPER'", True),
        ("MaxPool: auto_pad == 'SAME_LOWER'", False),
        ("Relu: auto_pad == 'SAME_UPPER'", False),
        ("Relu/MaxPool: auto_pad == 'SAME_UPPER'", True),
        ("MaxPool: shape(X)[2] == 2", False),
        ("MaxPool: rank(X) == 3", True),
    ):
        assert node_condition(text, "here").holds(nodes) is holds, text


@pytest.mark.parametrize("text", ["MaxPool", "Max-Pool: True", ": True", "MaxPool/: True", "MaxPool: ("])
def test_what_is_no_condition_is_named(text: str) -> None:
    with pytest.raises(SpecError, match="here"):
        node_condition(text, "here")
    assert node_condition(" com.x.A_b / Relu : opset > 3", "here").ops == ("com.x.A_b", "Relu")
