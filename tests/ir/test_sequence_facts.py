"""Facts of sequences and optionals: length, element type and what the shapes have in common, against real runs."""

from __future__ import annotations

import numpy as np
import onnx
import onnx_ir as ir
import onnxruntime as ort
import pytest
from onnx import parser

from irfuzz.facts import Fact, OptionalFact, SequenceFact, TensorFact
from irfuzz.ir.evaluation.fact_check import contradiction
from irfuzz.ir.program import Program

F, I64, BOOL = ir.DataType.FLOAT, ir.DataType.INT64, ir.DataType.BOOL
X = np.arange(12, dtype=np.float32).reshape(3, 4)


def number(value: int) -> TensorFact:
    return TensorFact(I64, (), float(value), float(value), (value,))


BODY = "b (float[?, 4] i) => (float[?] o) {o = ReduceSum <keepdims = 0> (i, one)}"
MIXED = SequenceFact(TensorFact(F, (None, None)), 2)

CASES: list[tuple[str, Fact]] = [
    ("v = SequenceConstruct(x, x)", SequenceFact(TensorFact(F, (3, 4)), 2)),
    ("y = Shape(x) v = SequenceConstruct(y, y)", SequenceFact(TensorFact(I64, (2,)), 2)),
    ("v = SequenceEmpty <dtype = 7> ()", SequenceFact(TensorFact(I64, None), 0)),
    ("e = SequenceEmpty() v = SequenceInsert(e, x)", SequenceFact(TensorFact(F, (3, 4)), 1)),
    (
        "s = SequenceConstruct(x) t = Transpose(x) v = SequenceInsert(s, t)",
        SequenceFact(TensorFact(F, (None, None)), 2),
    ),
    ("s = SequenceConstruct(x, x, x) v = SequenceErase(s)", SequenceFact(TensorFact(F, (3, 4)), 2)),
    ("v = SplitToSequence(x)", SequenceFact(TensorFact(F, (1, 4)), 3)),
    ("v = SplitToSequence <axis = -1, keepdims = 0> (x)", SequenceFact(TensorFact(F, (3,)), 4)),
    ("v = SplitToSequence <axis = 1> (x, two)", SequenceFact(TensorFact(F, (3, 2)), 2)),
    ("v = SplitToSequence(x, two)", SequenceFact(TensorFact(F, (None, 4)), 2)),
    ("t = Relu(x) v = SplitToSequence(t, nine)", SequenceFact(TensorFact(F, (3, 4)), 1)),
    ("v = SplitToSequence <axis = 1> (x, uneven)", SequenceFact(TensorFact(F, (3, None)), 2)),
    ("s = SplitToSequence(x) p = SequenceAt(s, two) v = Identity(p)", TensorFact(F, (1, 4))),
    ("s = SplitToSequence(x) v = SequenceLength(s)", number(3)),
    ("s = SplitToSequence(x) v = ConcatFromSequence <axis = 0> (s)", TensorFact(F, (3, 4))),
    ("s = SplitToSequence(x) v = ConcatFromSequence <axis = -1, new_axis = 1> (s)", TensorFact(F, (1, 4, 3))),
    ("s = SplitToSequence(x, two) v = ConcatFromSequence <axis = 0> (s)", TensorFact(F, (None, 4))),
    (f"s = SplitToSequence(x) v = SequenceMap <body = {BODY}> (s)", SequenceFact(TensorFact(F, (1,)), 3)),
    ("v = Optional(x)", OptionalFact(TensorFact(F, (3, 4)))),
    ("o = Optional(x) v = OptionalGetElement(o)", TensorFact(F, (3, 4))),
    ("s = SequenceConstruct(x, x) o = Optional(s) v = OptionalGetElement(o)", SequenceFact(TensorFact(F, (3, 4)), 2)),
    ("v = Optional <type = float[3, 4]> ()", OptionalFact(TensorFact(F, (3, 4)))),
    ("o = Optional <type = float[3, 4]> () v = OptionalHasElement(o)", TensorFact(BOOL, ())),
    ("s = SequenceConstruct(x, x) v = Identity(s)", SequenceFact(TensorFact(F, (3, 4)), 2)),
]


def program_of(body: str, opset: int = 17) -> Program:
    text = f"""<ir_version: 8, opset_import: ["" : {opset}]>
    g (float[3, 4] x) => (float[3, 4] k) <int64 two = {{2}}, int64 nine = {{9}},
    int64[2] uneven = {{1, 3}}, int64[1] one = {{1}}>
    {{ {body} k = Relu(x) }}"""
    return Program.from_proto(parser.parse_model(text))


def run(program: Program) -> object:
    """The value ``v`` on ONNXRuntime without optimisation."""
    proto = program.to_proto()
    value = program.value("v")
    assert value is not None
    copy = onnx.ModelProto()
    copy.CopyFrom(proto)
    from irfuzz.ir.fact_type_conversion import proto_of_fact

    copy.graph.output.append(onnx.ValueInfoProto(name="v", type=proto_of_fact(program.fact(value))))
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    session = ort.InferenceSession(copy.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return session.run(["v"], {"x": X})[0]


@pytest.mark.parametrize(("body", "expected"), CASES)
def test_what_is_known_of_a_sequence_is_what_comes(body: str, expected: Fact) -> None:
    program = program_of(body)
    value = program.value("v")
    assert value is not None
    assert program.fact(value) == expected
    assert contradiction(expected, run(program)) is None


def test_a_wrong_length_is_a_contradiction() -> None:
    assert contradiction(SequenceFact(TensorFact(F, (3, 4)), 2), [X, X]) is None
    assert "sequence of 3, got 2" in str(contradiction(SequenceFact(TensorFact(F, (3, 4)), 3), [X, X]))


def test_optionals_of_opset_18_may_be_tensors_or_missing() -> None:
    program = program_of("v = OptionalHasElement(x)", 18)
    value = program.value("v")
    assert value is not None
    assert program.fact(value) == TensorFact(BOOL, (), 1.0, 1.0, (True,))
    assert bool(run(program)) is True


def test_a_sequence_that_grows_in_a_loop_has_no_length() -> None:
    program = program_of(
        """s = SequenceConstruct(x) t = Constant <value = bool {1}> ()
        v = Loop <body = b (int64 i, bool c, seq(float[3, 4]) a) => (bool d, seq(float[3, 4]) e)
          {d = Identity(c) e = SequenceInsert(a, x)}> (two, t, s)"""
    )
    value = program.value("v")
    assert value is not None
    fact = program.fact(value)
    assert fact == SequenceFact(TensorFact(F, (3, 4)))
    assert len(run(program)) == 3  # type: ignore[arg-type]
