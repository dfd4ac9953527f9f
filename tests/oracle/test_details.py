"""What tells causes of wrong values apart, beside symptom, target and operators."""

from __future__ import annotations

from dataclasses import replace

import onnx.parser

from irfuzz.ir.program import Program
from irfuzz.oracle.details import details, place_of, same_cause
from irfuzz.oracle.signature import signature, title
from irfuzz.oracle.types import Symptom, Verdict

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


def test_what_shows_with_fewer_attributes_is_the_same_cause() -> None:
    place = "difference|onnxruntime:basic|MaxPool"
    few, more = f"{place}|by=Pad_Fusion;MaxPool.strides", f"{place}|by=Pad_Fusion;MaxPool.pads;MaxPool.strides"
    assert place_of(more) == place
    assert same_cause(more, [few]) == few
    assert same_cause(few, [more]) is None
    assert same_cause(few, [f"{place}|by=kernel;MaxPool.strides"]) is None, "another pass is another cause"
    assert same_cause(few, [f"{place}|MaxPool.strides"]) is not None, "a pass that nobody looked for"
    assert same_cause(few, [f"{place}|by=Pad_Fusion;float16"]) is None
    assert same_cause(few, ["difference|onnxruntime:basic|AveragePool|by=Pad_Fusion"]) is None


def test_what_older_versions_stored_has_no_details() -> None:
    old = "difference|onnxruntime:basic|MaxPool"
    assert same_cause(f"{old}|by=Pad_Fusion;float16;MaxPool.strides", [old]) == old
    assert same_cause(f"{old}|", [f"{old}|by=kernel;float16"]) is None
    assert same_cause("rejection|a|b|c", ["rejection|a|b"]) is None, "messages are compared whole"
