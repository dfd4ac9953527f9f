"""Constants however a model spells them: which values they are, and their elements as onnxruntime computes them."""

from __future__ import annotations

import itertools

import numpy as np
import onnx
import onnx_ir as ir
import onnxruntime
import pytest
from onnx import parser

from irfuzz.ir.evaluation.constant_values import MAX_DEPTH, MAX_FOLDED, computed_constants
from irfuzz.ir.program import Program

HEAD = '<ir_version: 8, opset_import: ["" : 17]>'
STORED = "<float[2, 3] w = {1.5, -2, 0.1, 4, 5, 6}, int64[2] s = {3, 2}, int8[2, 3] q = {1, -2, 127, -128, 0, 5}>"

SPELLINGS = {
    "Constant": "c = Constant <value = float[2] {1, 2}> ()",
    "ConstantOfShape": "c = ConstantOfShape <value = float[1] {0.5}> (s)",
    "ConstantOfShape of zeros": "c = ConstantOfShape (s)",
    "Reshape": "c = Reshape(w, s)",
    "Reshape that keeps a size": "k = Constant <value = int64[2] {0, -1}> () c = Reshape(w, k)",
    "Reshape by computed sizes": "a = Constant <value = int64[1] {-1}> () t = Concat <axis = 0> (s, a) "
    "c = Reshape(w, t)",
    "Transpose": "c = Transpose <perm = [1, 0]> (w)",
    "Transpose without perm": "c = Transpose(w)",
    "Cast": "c = Cast <to = 11> (w)",
    "Cast of integers": "c = Cast <to = 1> (q)",
    "Cast that wraps": "k = Constant <value = int64[2] {300, -1}> () c = Cast <to = 2> (k)",
    "Identity": "c = Identity(w)",
    "Neg": "c = Neg(w)",
    "Add": "c = Add(w, w)",
    "Sub": "k = Constant <value = float[3] {0.3, 1, 2}> () c = Sub(w, k)",
    "Mul": "k = Constant <value = float[3] {0.3, 1, 2}> () c = Mul(w, k)",
    "Div": "k = Constant <value = float[3] {0.3, 0, 2}> () c = Div(w, k)",
    "Unsqueeze and Squeeze": "k = Constant <value = int64[1] {1}> () u = Unsqueeze(w, k) c = Squeeze(u, k)",
    "Squeeze of all": "k = Constant <value = float[1, 1] {2}> () c = Squeeze(k)",
    "Expand": "k = Constant <value = int64[3] {4, 1, 3}> () c = Expand(w, k)",
    "DequantizeLinear": "k = Constant <value = float {0.1}> () c = DequantizeLinear(q, k)",
    "DequantizeLinear with a zero point": "k = Constant <value = float {0.1}> () z = Constant <value = int8 {-3}> () "
    "c = DequantizeLinear(q, k, z)",
    "DequantizeLinear by channel": "k = Constant <value = float[2] {0.1, 2}> () "
    "z = Constant <value = int8[2] {-3, 1}> () c = DequantizeLinear <axis = 0> (q, k, z)",
}

OTHERS = {
    "of an input": "c = Mul(x, w)",
    "of an input by way of a reshape": "f = Reshape(x, s) c = Identity(f)",
    "Exp, which libraries round differently": "c = Exp(w)",
    "Cast to an integer, which is open beyond its range": "c = Cast <to = 7> (w)",
    "division of integers": "c = Div(s, s)",
    "drawn at random": "c = RandomNormal <shape = [2]> ()",
}


def program_of(text: str) -> Program:
    return Program.from_proto(
        parser.parse_model(f"{HEAD} g (float[2, 3] x) => (float[2, 3] y) {STORED} {{ {text} y = Relu(x) }}")
    )


def run(program: Program, name: str) -> np.ndarray:
    value = program.value(name)
    assert value is not None
    program.add_output(value)
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(program.to_bytes(), options, providers=["CPUExecutionProvider"])
    (found,) = session.run([name], {"x": np.zeros((2, 3), np.float32)})
    return np.asarray(found)


@pytest.mark.parametrize("text", SPELLINGS.values(), ids=SPELLINGS)
def test_every_spelling_has_the_elements_that_a_runtime_computes(text: str) -> None:
    program = program_of(text)
    value = program.value("c")
    found = program.const_array(value)
    assert value in computed_constants(program)
    assert found is not None
    expected = run(program, "c")
    assert found.dtype == expected.dtype
    assert found.shape == expected.shape
    assert np.array_equal(found, expected)


@pytest.mark.parametrize("text", OTHERS.values(), ids=OTHERS)
def test_what_is_computed_from_an_input_or_left_open_has_none(text: str) -> None:
    program = program_of(text)
    assert program.const_array(program.value("c")) is None


def test_what_no_input_reaches_is_a_constant_even_if_its_elements_are_not_known() -> None:
    program = program_of("a = Exp(w) b = RandomNormal <shape = [2]> () c = Mul(x, a)")
    names = {value.name for value in computed_constants(program)}
    assert names == {"a", "b"}


def test_a_body_that_reads_an_input_computes_no_constant() -> None:
    text = """t = Constant <value = bool {1}> ()
      c = If (t) < then_branch = a () => (float[2, 3] u) { u = Neg(w) },
                   else_branch = b () => (float[2, 3] v) { v = Neg(VALUE) } >"""
    for read, constant in (("w", True), ("x", False)):
        program = program_of(text.replace("VALUE", read))
        assert (program.value("c") in computed_constants(program)) is constant


@pytest.mark.parametrize(("elements", "known"), [(MAX_FOLDED, True), (MAX_FOLDED + 1, False)])
def test_larger_ones_are_not_computed(elements: int, known: bool) -> None:
    program = program_of(f"k = Constant <value = int64[1] {{{elements}}}> () c = ConstantOfShape(k)")
    assert (program.const_array(program.value("c")) is not None) is known
    assert program.value("c") in computed_constants(program)


@pytest.mark.parametrize(("nodes", "known"), [(MAX_DEPTH, True), (MAX_DEPTH + 1, False)])
def test_longer_chains_are_not_computed(nodes: int, known: bool) -> None:
    names = ["w", *(f"t{i}" for i in range(nodes - 1)), "c"]
    program = program_of(" ".join(f"{b} = Neg({a})" for a, b in itertools.pairwise(names)))
    assert (program.const_array(program.value("c")) is not None) is known


def test_a_program_that_breaks_a_rule_on_purpose_has_no_elements() -> None:
    program = program_of("c = Reshape(w, s)")
    value = program.value("s")
    assert value is not None
    value.const_value = ir.Tensor(np.array([7, 2], np.int64))
    assert program.const_array(program.value("c")) is None


def test_the_opset_that_has_axes_as_attributes() -> None:
    text = """<ir_version: 7, opset_import: ["" : 11]> g (float[2] x) => (float[2] y)
      <float[2] w = {1, 2}> { u = Unsqueeze <axes = [0, 2]> (w) c = Squeeze <axes = [2]> (u) y = Relu(x) }"""
    program = Program.from_proto(parser.parse_model(text))
    found = program.const_array(program.value("c"))
    assert found is not None
    assert found.shape == (1, 2)
    onnx.checker.check_model(program.to_proto())
