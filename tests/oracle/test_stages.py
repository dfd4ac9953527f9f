"""Operators that compute in a narrower type than their inputs have."""

from __future__ import annotations

import numpy as np
import onnx
import pytest

from irfuzz.ir.program import Program
from irfuzz.oracle.path import path_to
from irfuzz.spec import load_specs


@pytest.mark.parametrize(
    ("call", "types"),
    [
        ("GroupNormalization <num_groups = 1> (x, s, s)", {"float64", "float32"}),
        ("GroupNormalization <num_groups = 1, epsilon = 0.5, stash_type = 11> (x, s, s)", {"float64"}),
        ("LayerNormalization <axis = 1> (x, s)", {"float64", "float32"}),
        ("LayerNormalization <axis = 1, epsilon = 0.5, stash_type = 16> (x, s)", {"float64", "bfloat16"}),
        ("LRN <size = 1> (x)", {"float64", "float32"}),  # alpha is "0.0001" in the text
        ("LeakyRelu <alpha = 0.01> (x)", {"float64"}),
        ("Add (x, s)", {"float64"}),
    ],
)
def test_a_result_is_no_better_than_its_stage(call: str, types: set[str]) -> None:
    program = Program.from_proto(
        onnx.parser.parse_model(
            '<ir_version: 10, opset_import: ["" : 21]>'
            f"g (double[2, 2] x, double[2] s) => (double[2, 2] y) {{ y = {call} }}"
        )
    )
    inputs = {"x": np.ones((2, 2)), "s": np.ones(2)}
    path = path_to(program, program.graph.outputs[0], inputs, load_specs())
    assert {d.name for d in path.dtypes} == types


@pytest.mark.parametrize("call", ["HammingWindow <output_datatype = 11> (n)", "ReduceL2 <keepdims = 0> (x)"])
def test_a_function_may_be_followed_to_the_letter(call: str) -> None:
    """The function that ONNX gives computes in single precision and casts to what is asked for."""
    head = '<ir_version: 10, opset_import: ["" : 21]> g (double[2] x, int64 n)'
    text = f"{head} => ({'double[k]' if 'n)' in call else 'double'} y) {{ y = {call} }}"
    program = Program.from_proto(onnx.parser.parse_model(text))
    inputs = {"x": np.ones(2), "n": np.array(4)}
    path = path_to(program, program.graph.outputs[0], inputs, load_specs())
    assert {d.name for d in path.dtypes} == {"float64", "float32"}
