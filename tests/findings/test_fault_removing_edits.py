"""What a fault needs is found by changing it, and only if the target is right then."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import onnx.parser
import pytest

from irfuzz.execute.run_types import Value
from irfuzz.findings.causes.fault_removing_edits import conditions_of
from irfuzz.ir.program import Program

pytestmark = pytest.mark.unit


def _program(text: str) -> Program:
    return Program.from_proto(onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["": 18]> {text}'))


def _ones(*shape: int, kind: type = np.float32) -> np.ndarray:
    return np.ones(shape, kind)


def test_a_scalar_is_a_condition_if_one_element_in_a_row_is_right() -> None:
    program, x = _program("g (float x) => (float y) { y = Softsign(x) }"), {"x": _ones()}
    asked: list[tuple[int, ...]] = []

    def is_right(candidate: Program, inputs: Mapping[str, Value]) -> bool:
        (data,) = inputs.values()
        assert isinstance(data, np.ndarray)
        asked.append(data.shape)
        fact = candidate.tensor(candidate.graph.outputs[0])
        assert fact is not None
        assert fact.shape == data.shape
        return data.ndim > 0

    assert conditions_of(program, x, is_right) == ("input of rank 0",)
    assert asked == [(1,)]
    assert conditions_of(program, x, lambda *_: False) == ()
    assert (
        conditions_of(_program("g (float[1] x) => (float[1] y) { y = Softsign(x) }"), {"x": _ones(1)}, is_right) == ()
    )


def test_a_broadcast_is_a_condition_if_whole_tensors_are_right() -> None:
    program = _program("g (float[2,1] a, float[1,3] b) => (float[2,3] y) { y = Mul(a, b) }")
    inputs = {"a": np.array([[1], [2]], np.float32), "b": np.array([[1, 2, 3]], np.float32)}

    def is_right(candidate: Program, given: Mapping[str, Value]) -> bool:
        assert given["a"].tolist() == [[1, 1, 1], [2, 2, 2]]  # type: ignore[union-attr] - tensors
        return {v.shape for v in given.values() if isinstance(v, np.ndarray)} == {(2, 3)}

    assert conditions_of(program, inputs, is_right) == ("Mul broadcasts",)
    alike = _program("g (float[2] a, float[2] b) => (float[2] y) { y = Mul(a, b) }")
    assert conditions_of(alike, {"a": _ones(2), "b": _ones(2)}, lambda *_: True) == ()
    product = _program("g (float[1,4] a, float[4,3] b) => (float[1,3] y) { y = MatMul(a, b) }")
    assert conditions_of(product, {"a": _ones(1, 4), "b": _ones(4, 3)}, lambda *_: True) == ()


@pytest.mark.parametrize(
    ("operator", "given"),
    [("ReduceSum", "ReduceSum (x, w)"), ("ReduceSum", "ReduceSum (x)"), ("ReduceMax", "ReduceMax (x)")],
)
def test_axes_that_are_not_given_are_a_condition_if_all_axes_are_right(operator: str, given: str) -> None:
    weights = "<int64[2] w = {0, 1}> " if "w" in given else ""
    program = _program(f"g (float[2,3] x) => (float[1,1] y) {weights}{{ y = {given} }}")

    def is_right(candidate: Program, _: Mapping[str, Value]) -> bool:
        (node,) = candidate.nodes()
        axes = node.inputs[1]
        return axes is not None and np.asarray(candidate.const_array(axes)).tolist() == [0, 1]

    assert conditions_of(program, {"x": _ones(2, 3)}, is_right) == (() if weights else ("axes not given",))


def test_axes_are_an_attribute_in_old_versions() -> None:
    text = '<ir_version: 8, opset_import: ["": 13]> g (float[2,3] x) => (float[1,1] y) { y = ReduceMax (x) }'
    program = Program.from_proto(onnx.parser.parse_model(text))

    def is_right(candidate: Program, _: Mapping[str, Value]) -> bool:
        (node,) = candidate.nodes()
        return [*node.attributes["axes"].as_ints()] == [0, 1]

    assert conditions_of(program, {"x": _ones(2, 3)}, is_right) == ("axes not given",)


def test_a_zero_point_that_is_not_given_is_a_condition() -> None:
    program = _program("g (int8[2] x) => (float[2] y) <float s = {1}> { y = DequantizeLinear (x, s) }")

    def is_right(candidate: Program, _: Mapping[str, Value]) -> bool:
        (node,) = candidate.nodes()
        zero = candidate.const_array(node.inputs[2]) if len(node.inputs) > 2 and node.inputs[2] is not None else None
        return zero is not None and zero.dtype == np.int8 and zero.shape == ()

    assert conditions_of(program, {"x": _ones(2, kind=np.int8)}, is_right) == ("zero point not given",)
