"""Operators that compute in a narrower type than their inputs have."""

from __future__ import annotations

import numpy as np
import onnx
import pytest

from irfuzz.ir.program import Program
from irfuzz.oracle.dataflow.output_uncertainty_sources import path_to
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


def test_a_function_may_be_followed_to_the_letter() -> None:
    """The one that ONNX gives for windows computes in single precision and casts to what is asked for."""
    program = Program.from_proto(
        onnx.parser.parse_model(
            '<ir_version: 10, opset_import: ["" : 21]> g (int64 n) => (double[k] y)'
            " { y = HammingWindow <output_datatype = 11> (n) }"
        )
    )
    path = path_to(program, program.graph.outputs[0], {"n": np.array(4)}, load_specs())
    assert {d.name for d in path.dtypes} == {"float64", "float32"}
