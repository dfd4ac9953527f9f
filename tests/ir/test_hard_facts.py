"""Facts in places where ONNX, exporters and runtimes bend the rules: each holds for what a run gives."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import onnx.parser
import onnx.reference
import pytest

from irfuzz.errors import InvalidProgram
from irfuzz.facts import TensorFact
from irfuzz.ir.evaluation.fact_check import contradiction
from irfuzz.ir.program import Program

HEAD = '<ir_version: 8, opset_import: ["": 18]> g '


def run(text: str, **inputs: Any) -> tuple[Program, dict[str, Any]]:
    """The program and what ONNX's reference evaluator gives for its outputs."""
    proto = onnx.parser.parse_model(text)
    evaluator = onnx.reference.ReferenceEvaluator(proto)
    return Program.from_proto(proto), dict(zip(evaluator.output_names, evaluator.run(None, inputs), strict=True))


def fact(program: Program, name: str) -> TensorFact:
    value = program.value(name)
    found = program.tensor(value)
    assert found is not None
    return found


X = np.array([1, 2, 3], np.float32)


@pytest.mark.parametrize(
    ("body", "inputs", "bounds"),
    [
        ("{c = Constant <value_float = 5.0> () s = Sigmoid(x) y = Clip(s, c)}", {}, (5.0, 5.0)),
        ("{c = Constant <value_float = -5.0> () r = Relu(x) y = Clip(r, , c)}", {}, (-5.0, -5.0)),
        ("{c = Constant <value_float = 5.0> () y = Clip(x, c, m)}", {}, (None, None)),
        ("{c = Constant <value_float = 5.0> () y = Clip(x, m, c)}", {}, (None, None)),
        ("{c = Constant <value_float = 2.0> () r = Relu(x) y = Clip(r, , c)}", {}, (0.0, 2.0)),
    ],
)
def test_limits_of_clip_beat_what_is_known_of_its_data(body: str, inputs: dict, bounds: tuple) -> None:
    program, outputs = run(HEAD + f"(float[3] x, float m) => (float[3] y) {body}", x=X, m=np.float32(3))
    found = fact(program, "y")
    assert contradiction(found, outputs["y"]) is None
    assert (found.low, found.high) == bounds


def test_the_extreme_of_no_elements_is_not_bounded_by_them() -> None:
    head = '<ir_version: 9, opset_import: ["": 20]> g '
    text = head + "(float[N] x) => (float y) {s = Sigmoid(x) y = ReduceMax<keepdims=0>(s)}"
    program, outputs = run(text, x=np.zeros(0, np.float32))
    assert contradiction(fact(program, "y"), outputs["y"]) is None


def test_a_name_does_not_survive_a_type_that_its_size_may_not_fit() -> None:
    text = (
        HEAD
        + "(float[N] x) => (int64[1] y, int64[1] z) {s = Shape(x) e = Cast<to=2>(s) z = Cast<to=7>(e) y = Sub(s, z)}"
    )
    program, outputs = run(text, x=np.zeros(300, np.float32))
    assert outputs["y"].tolist() == [256]
    assert fact(program, "y").value is None
    assert fact(program, "z").value is None


@pytest.mark.parametrize(("dtype", "name", "high"), [(16, "bfloat16", None), (10, "float16", 1023.0)])
def test_a_bound_survives_only_a_type_that_holds_it(dtype: int, name: str, high: float | None) -> None:
    text = HEAD + f"(float[3] x, float h) => ({name}[3] y) {{c = Constant <value_float = 1023.0> () "
    text += "l = Constant <value_float = -1023.0> () "
    program = Program.from_proto(onnx.parser.parse_model(text + f"d = Clip(x, l, c) y = Cast<to={dtype}>(d)}}"))
    assert fact(program, "y").high == high


def test_reversing_an_empty_axis_gives_nothing() -> None:
    text = HEAD + (
        "(float[N, 0] x, int64[1] k) => (float[A, B] y) {m = Constant <value_ints = [-1]> () st = Concat<axis=0>(k, m) "
        "e = Constant <value_ints = [10, -9223372036854775807]> () ax = Constant <value_ints = [0, 1]> () "
        "sp = Constant <value_ints = [1, -1]> () y = Slice(x, st, e, ax, sp)}"
    )
    program, outputs = run(text, x=np.zeros((3, 0), np.float32), k=np.array([1]))
    assert contradiction(fact(program, "y"), outputs["y"]) is None


def test_zeros_of_both_signs_are_not_taken_for_each_other() -> None:
    body = "{a = Constant <value_floats = [0.0]> () b = Constant <value_floats = [-0.0]> () "
    body += "o = Constant <value_floats = [1.0]> () "
    text = (
        HEAD
        + "(bool c) => (float[1] y, float[1] p, float[1] q) "
        + body
        + "w = Where(c, a, b) y = Div(o, w) p = Div(o, a) q = Div(o, b)}"
    )
    with np.errstate(divide="ignore"):
        program, outputs = run(text, c=np.array(False))
    assert outputs["q"].tolist() == [-np.inf]
    for name, array in outputs.items():
        assert contradiction(fact(program, name), array) is None
    assert fact(program, "p").value == (np.inf,)


def test_another_sign_of_a_zero_reaches_what_is_computed_from_it() -> None:
    text = HEAD + "(float[1] x) => (float[1] y) {o = Constant <value_floats = [1.0]> () y = Div(o, z)}"
    proto = onnx.parser.parse_model(text)
    proto.graph.initializer.append(onnx.numpy_helper.from_array(np.array([0.0], np.float32), "z"))
    program = Program.from_proto(proto)
    zero = program.value("z")
    assert zero is not None
    program.set_constant(zero, np.array([-0.0], np.float32))
    assert contradiction(fact(program, "y"), np.array([-np.inf], np.float32)) is None


def test_names_that_outputs_have_in_several_places_are_not_believed() -> None:
    text = HEAD + "(float[N, 3] x, int64[2] s) => (float[D, D] y, float[N, E] z) {y = Reshape(x, s) z = Reshape(x, s)}"
    program, outputs = run(text, x=np.zeros((2, 3), np.float32), s=np.array([3, 2]))
    assert outputs["y"].shape == (3, 2)
    assert fact(program, "y").shape == (None, None)
    assert fact(program, "z").shape == ("N", "E")


def test_names_inside_a_function_are_its_own() -> None:
    text = (
        '<ir_version: 10, opset_import: ["": 18, "my": 1]> g (float[N, 3] x, float[?, 3] z) => (float[A, 3] y, '
        "float[B, 3] w) "
        '{y = my.f(x) w = my.f(z)} <domain: "my", opset_import: ["": 18]> f (X) => (Y) <float[N, 3] t> {t = '
        "Relu(X) Y = Neg(t)}"
    )
    program = Program.from_proto(onnx.parser.parse_model(text))
    assert fact(program, "y").shape == ("N", 3)
    assert fact(program, "w").shape == ("B", 3)


@pytest.mark.parametrize("op", ["Tanh", "Softsign", "Sigmoid"])
def test_functions_that_end_at_one_may_round_past_it(op: str) -> None:
    program, _ = run(HEAD + f"(float[3] x) => (float[3] y) {{y = {op}(x)}}", x=X)
    assert contradiction(fact(program, "y"), np.full(3, 1.0000002, np.float32)) is None
    assert contradiction(fact(program, "y"), np.full(3, 1.0001, np.float32)) is not None


def test_an_input_that_is_an_output_keeps_its_name_and_type() -> None:
    program, _ = run(HEAD + "(float[3] x) => (float[3] x, float[3] y) {y = Neg(x)}", x=X)
    value = program.value("x")
    assert value is not None
    node = program.insert("Relu", [value])
    program.replace_uses(value, node.outputs[0], outputs=True)
    proto = program.to_proto()
    onnx.checker.check_model(proto, full_check=True)
    assert [v.name for v in proto.graph.input] == ["x"]
    (_, y) = onnx.reference.ReferenceEvaluator(proto).run(None, {"x": -X})
    assert y.tolist() == [0.0, 0.0, 0.0]


def test_a_long_rotation_of_sequences_in_a_loop_forgets_their_shapes() -> None:
    count = 12
    names = [f"s{i}" for i in range(count)]
    made = " ".join(f"{n} = SequenceConstruct({'x' if i < count - 1 else 'z'})" for i, n in enumerate(names))
    given = ", ".join(f"seq(float[?, 3]) i{i}" for i in range(count))
    # Each turn hands every sequence on to its neighbour, so the last one's reaches the first after eleven turns.
    turned = " ".join(f"o{i} = Identity(i{(i + 1) % count})" for i in range(count))
    left = ", ".join(f"seq(float[?, 3]) o{i}" for i in range(count))
    text = HEAD + (
        f"(float[2, 3] x, float[5, 3] z, int64 n) => (float[A, 3] y) {{{made} t = Constant <value = bool {{1}}> "
        f"() zero = Constant <value_int = 0> () "
        f"{', '.join(f'r{i}' for i in range(count))} = Loop <body = b (int64 k, bool c, {given}) => (bool d, {left}) "
        f"{{d = Identity(c) {turned}}}> (n, t, {', '.join(names)}) y = SequenceAt(r0, zero)}}"
    )
    program = Program.from_proto(onnx.parser.parse_model(text))
    assert contradiction(fact(program, "y"), np.zeros((5, 3), np.float32)) is None


@pytest.mark.parametrize(
    "body",
    [
        "{s = Shape(x) z = Gather<axis = 5>(s, i) y = Identity(x)}",
        "{s = Shape(x) zero = Constant <value_ints = [0]> () z = Gather<axis = 3>(s, zero) y = Identity(x)}",
        "{s = Shape(x) z = Concat<axis = 1073741824000>(s, m) y = Identity(x)}",
        "{z = ArgMax<axis = 7>(x) y = Identity(x)}",
    ],
)
@pytest.mark.parametrize("shape", ["[2, 3]", "[?, 3]", "[]", ""])
def test_an_axis_that_is_none_ends_in_a_message_or_in_nothing_known(body: str, shape: str) -> None:
    text = HEAD + f"(float{shape} x, int64[1] i, int64[K] m) => (float{shape} y) {body}"
    told, known = "", None
    try:
        known = fact(Program.from_proto(onnx.parser.parse_model(text)), "z").value
    except InvalidProgram as error:
        told = str(error).lower()
    assert known is None
    assert not told or any(word in told for word in ("axis", "rank", "concat"))


def test_pads_as_torch_writes_them_are_known() -> None:
    """Padding amounts, filled up with zeros, reversed by a negative step and read column by column."""
    body = """{
        n = Constant <value_ints = [2]> ()
        given = Constant <value_ints = [1, 2]> ()
        rest = ConstantOfShape <value = int64[1] {0}> (n)
        all = Concat <axis = 0> (given, rest)
        pairs_of = Constant <value_ints = [-1, 2]> ()
        pairs = Reshape(all, pairs_of)
        axis = Constant <value_ints = [0]> ()
        last = Constant <value_ints = [-1]> ()
        least = Constant <value_ints = [-9223372036854775807]> ()
        reversed = Slice(pairs, last, least, axis, last)
        columns = Transpose <perm = [1, 0]> (reversed)
        pads = Reshape(columns, last)
        y = Pad(x, pads)
    }"""
    program, outputs = run(HEAD + f"(float[2, 3] x) => (float[A, B] y, int64[4] pads) {body}", x=np.ones((2, 3), "f"))
    assert fact(program, "pads").value == (0, 1, 0, 2) == tuple(outputs["pads"].tolist())
    assert fact(program, "y").shape == (2, 6) == outputs["y"].shape


def test_a_window_of_nan_and_padding_may_be_below_everything() -> None:
    """ONNXRuntime gives the lowest float there is for some of them, so a lower bound of the data is none here."""
    text = (
        HEAD
        + "(float[1, 1, 3] x) => (float[1, 1, 3] z) {y = Sigmoid(x) z = MaxPool <kernel_shape=[3], pads=[1,1]> (y)}"
    )
    program = Program.from_proto(onnx.parser.parse_model(text))
    assert fact(program, "y").low == 0
    assert fact(program, "z").low is None
    assert fact(program, "z").high == fact(program, "y").high
