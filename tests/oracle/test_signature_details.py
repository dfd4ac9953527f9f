"""What tells causes of wrong values apart, beside symptom, target and operators."""

from __future__ import annotations

from dataclasses import replace

import onnx.parser

from irfuzz.ir.program import Program
from irfuzz.oracle.fault_signature import signature, title
from irfuzz.oracle.signature_details import details
from irfuzz.oracle.verdict import Symptom, Verdict

VERDICT = Verdict("numeric", Symptom.DIFFERENCE, "onnxruntime:basic", output="y", got="1", expected="2")


def _program(body: str, kind: str = "float") -> Program:
    text = f'<ir_version: 8, opset_import: ["": 17]> g ({kind}[1, 4, 6, 6] x) => ({kind}[N, C, H, W] y) {{ {body} }}'
    return Program.from_proto(onnx.parser.parse_model(text))


def test_attributes_count_where_they_are_neither_required_nor_at_their_defaults() -> None:
    plain = _program("y = MaxPool <kernel_shape = [2, 2], ceil_mode = 0> (x)")
    odd = _program('y = MaxPool <kernel_shape = [2, 2], strides = [2, 1], auto_pad = "SAME_LOWER"> (x)')
    assert details(VERDICT, plain) == ""
    assert details(VERDICT, odd) == "MaxPool.auto_pad=SAME_LOWER;MaxPool.strides"


def test_floats_that_could_not_be_made_single_count_and_so_does_the_pass() -> None:
    program = _program("y = Relu (x)", "float16")
    assert details(VERDICT, program) == "float16"
    by = replace(VERDICT, place="optimiser", passes=("Pad_Fusion",))
    assert signature(by, program) == "difference|onnxruntime:basic|Relu|by=Pad_Fusion;float16"
    assert title(by, program) == "onnxruntime:basic gives 1 instead of 2 in Relu by Pad_Fusion"
    kernel = replace(VERDICT, place="kernel")
    assert details(kernel, program) == "by=kernel;float16"


def test_a_wrong_shape_tells_its_attributes_and_missing_elements_count() -> None:
    shape = replace(VERDICT, symptom=Symptom.WRONG_SHAPE)
    plain = _program("y = MaxPool <kernel_shape = [2, 2]> (x)")
    odd = _program('y = MaxPool <kernel_shape = [2, 2], auto_pad = "SAME_LOWER"> (x)')
    assert signature(shape, plain) == "wrong-shape|onnxruntime:basic|MaxPool|"
    assert signature(shape, odd) == "wrong-shape|onnxruntime:basic|MaxPool|MaxPool.auto_pad=SAME_LOWER"
    text = '<ir_version: 8, opset_import: ["": 17]> g (float[0, 2] x) => (float[0, 2] y) { y = Relu (x) }'
    assert details(VERDICT, Program.from_proto(onnx.parser.parse_model(text))) == "empty"
