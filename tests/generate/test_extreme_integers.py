"""Inputs of integer programs hold the largest integer; where a float or a limit stands, they are as ever."""

from __future__ import annotations

import numpy as np
import onnx
import pytest

from irfuzz.generate.graph_inputs.extreme_integers import inputs_with_extremes
from irfuzz.generate.input_values import make_inputs
from irfuzz.ir.program import Program

HEAD = '<ir_version: 10, opset_import: ["" : 21]>'


@pytest.mark.parametrize("seed", range(6))
def test_integers_are_extreme(seed: int) -> None:
    text = f"{HEAD} g (int64[3] x) => (int64[3] y) <int64 c = {{10}}> {{ y = Mod <fmod = 1> (x, c) }}"
    given = inputs_with_extremes(Program.from_proto(onnx.parser.parse_model(text)), seed)
    assert np.max(given["x"]) >= np.iinfo(np.int64).max - 1


@pytest.mark.parametrize(
    "text",
    [
        "g (float[3, 4] x, int64[2] i) => (float[2, 4] y) { y = Gather <axis = 0> (x, i) }",
        "g (int64[2] i) => (float[2] y) <float[3] w = {1, 2, 3}> { y = Gather <axis = 0> (w, i) }",
    ],
)
def test_others_are_as_ever(text: str) -> None:
    program = Program.from_proto(onnx.parser.parse_model(f"{HEAD} {text}"))
    for name, value in make_inputs(program, 3).items():
        np.testing.assert_array_equal(inputs_with_extremes(program, 3)[name], value)
