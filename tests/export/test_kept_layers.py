"""Layers of a Keras file are written as these layers as long as they fit what they are given."""

from __future__ import annotations

import json

import onnx
import onnx.parser
import pytest

from irfuzz.export import keras
from irfuzz.ir.program import Program

pytestmark = pytest.mark.unit

DENSE = {"module": "keras.layers", "class_name": "Dense", "config": {"units": 2}, "registered_name": None}
ABOUT = {
    "schema": 1,
    "layer": DENSE,
    "call": {"args": [{"tensor": 0}], "kwargs": {}},
    "inputs": [["float32", [None, 3]]],
    "weights": 1,
}


def program(about: object = ABOUT, x: str = "float[4,3]", w: str = "w", more: str = "") -> Program:
    text = f"""<ir_version: 8, opset_import: ["" : 17, "keras" : 1]>
    net ({x} x) => (y) <float[3,2] w = {{1, 2, 3, 4, 5, 6}}> {{
        {more}
        h = keras.Dense(x, {w})
        y = Relu(h)
    }}
    <domain: "keras", opset_import: ["" : 17]> Dense (a, k) => (m) {{ m = MatMul(a, k) }}"""
    model = onnx.parser.parse_model(text)
    model.functions[0].doc_string = about if isinstance(about, str) else json.dumps(about)
    return Program.from_proto(model)


def is_kept(given: Program) -> bool:
    return "layer_of_file(" in keras.lower(given).source.partition("def forward")[2]


def test_a_layer_is_written_as_the_layer_with_its_weights() -> None:
    lowered = keras.lower(program())
    line = next(text for text in lowered.source.splitlines() if "layer_of_file('" in text)
    assert '"class_name": "Dense"' in line
    assert line.endswith("[x], [w])[0]  # Dense")
    assert lowered.arrays["w"].tolist() == [[1, 2], [3, 4], [5, 6]]


@pytest.mark.parametrize(("x", "kept"), [("float[4,3]", True), ("float[9,3]", True), ("float[2,4,3]", False)])
def test_inputs_of_another_rank_get_what_the_body_says(x: str, kept: bool) -> None:
    assert is_kept(program(x=x)) is kept


def test_an_input_of_another_size_gets_what_the_body_says() -> None:
    assert is_kept(program({**ABOUT, "inputs": [["float32", [None, 3]]]}))
    assert not is_kept(program({**ABOUT, "inputs": [["float32", [None, 5]]]}))
    assert not is_kept(program({**ABOUT, "inputs": [["float64", [None, 3]]]}))


def test_computed_weights_get_what_the_body_says() -> None:
    assert not is_kept(program(w="n", more="n = Neg(w)"))


@pytest.mark.parametrize("about", ["", "a layer", "{}", json.dumps({**ABOUT, "schema": 2})])
def test_other_functions_are_inlined(about: str) -> None:
    assert not is_kept(program(about))
