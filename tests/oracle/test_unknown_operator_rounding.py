"""Operators that irfuzz has no specification for blur what stands behind them by the types that they deal with."""

from __future__ import annotations

import numpy as np
import onnx
import onnx_ir as ir
from onnx import helper, numpy_helper

from irfuzz.execute.run_types import Exit, RunResult, Stage, Target
from irfuzz.facts import TensorFact
from irfuzz.ir.program import Program
from irfuzz.oracle.dataflow.output_uncertainty_sources import path_to
from irfuzz.oracle.dataflow.unknown_operator_rounding import UNKNOWN_TERMS, quantises, terms_of_opaque
from irfuzz.oracle.judge import judge
from irfuzz.spec import load_specs

_T = onnx.TensorProto
F32 = ir.DataType.FLOAT


def program(weight: np.ndarray, domain: str = "org.example") -> Program:
    """A product by weights of some type; the last input is a scale."""
    node = helper.make_node("Mix", ["x", "w", "s"], ["y"], domain=domain)
    x = helper.make_tensor_value_info("x", _T.FLOAT, [2, weight.shape[0]])
    y = helper.make_tensor_value_info("y", _T.FLOAT, [2, weight.shape[1]])
    stored = [numpy_helper.from_array(weight, "w"), numpy_helper.from_array(np.array(0.25, np.float32), "s")]
    graph = helper.make_graph([node], "g", [x], [y], stored)
    imports = [helper.make_opsetid("", 17), helper.make_opsetid("org.example", 1)]
    return Program.from_proto(helper.make_model(graph, opset_imports=imports, ir_version=8))


INPUTS = {"x": np.ones((2, 4), np.float32)}
WIDE, NARROW = np.ones((4, 3), np.float32), np.ones((4, 3), np.int8)


def test_floats_with_eight_bits_are_quantised() -> None:
    made = program(NARROW)
    assert quantises(made, made.graph[0])
    path = path_to(made, made.graph.outputs[0], INPUTS, load_specs())
    assert (path.quantised, path.jumps, path.step) == (1, ("Mix",), 0.25)


def test_floats_alone_are_not() -> None:
    made = program(WIDE)
    assert not quantises(made, made.graph[0])
    path = path_to(made, made.graph.outputs[0], INPUTS, load_specs())
    assert (path.quantised, path.jumps, path.step) == (0, (), 0.0)


def test_nor_are_floats_with_wider_integers() -> None:
    made = program(NARROW.astype(np.int16))
    assert not quantises(made, made.graph[0])


def test_an_unknown_operator_sums_over_its_largest_operand() -> None:
    assert terms_of_opaque([None, TensorFact(F32, (2, 3))]) == UNKNOWN_TERMS
    assert terms_of_opaque([TensorFact(F32, ("n", 5000)), TensorFact(F32, (4096, 8))]) == 4096
    assert terms_of_opaque([TensorFact(F32, (0, 3))]) == UNKNOWN_TERMS


def _judged(made: Program, apart: float) -> list[bool]:
    """Whether each verdict on two levels of one runtime whose results are ``apart`` is a mere suspect."""
    right = np.ones((2, 3), np.float32)
    results = [
        RunResult(Target(f"onnxruntime:{level}", "onnxruntime"), Stage.RUN, Exit.OK, {"y": right + np.float32(off)})
        for level, off in (("disabled", 0.0), ("all", apart))
    ]
    return [v.suspect for v in judge(made, INPUTS, results)]


def test_levels_of_one_runtime_may_differ_by_a_step_of_quantisation() -> None:
    assert _judged(program(NARROW), 0.01) == []
    assert _judged(program(WIDE), 0.01) == [True]


def test_and_what_they_differ_by_beyond_is_suspect_at_most() -> None:
    assert _judged(program(NARROW), 10.0) == [True]
