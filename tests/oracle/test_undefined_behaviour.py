"""Each test that an ``[undefined]`` table names, on both sides of its edges, and if a call is not known."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from irfuzz.execute.run_types import Value
from irfuzz.ir.evaluation.exact_integer_evaluation import ExactIntegers
from irfuzz.ir.program import Program
from irfuzz.oracle.dataflow.operand_values_and_bounds import FedCall
from irfuzz.oracle.dataflow.undefined_behaviour import BEFORE_A_RUN, TESTS, can_be_met
from irfuzz.spec import load_specs

pytestmark = pytest.mark.unit

Parse = Callable[..., Program]
NAN, INF = np.nan, np.inf


def call_of(program: Program, fed: dict[str, Value], opset: int, *, all_used: bool = True) -> FedCall:
    """The last node of a program."""
    node = program.nodes()[-1]
    spec = load_specs().get(node.op_type, opset)
    assert spec is not None
    used = set(node.outputs if all_used else node.outputs[:1])
    return FedCall(program, node, spec, fed, used, ExactIntegers(program, fed))


def arrays(dtype: Any, **given: Any) -> dict[str, Value]:
    return {name: np.array(value, dtype) for name, value in given.items()}


SINGLE, INT32, INT64 = np.float32, np.int32, np.int64
SHIFT = '(uint8[2] x, uint8[2] z) => (uint8[2] y) { y = BitShift<direction="LEFT">(x, z) }'
TO_INT8 = "(float[2] x) => (int8[2] y) { y = Cast<to=3>(x) }"
TO_UINT8 = "(float[2] x) => (uint8[2] y) { y = Cast<to=2>(x) }"
TO_TEXT = "({}[2] x) => (string[2] y) {{ y = Cast<to=8>(x) }}"
DIV = "({0}[2] x, {0}[2] z) => ({0}[2] y) {{ y = Div(x, z) }}"
POW = "({0}[2] x, {0}[2] z) => ({0}[2] y) {{ y = Pow(x, z) }}"
L2 = "({}[{}] x) => ({}[1] y) {{ y = ReduceL2(x) }}"
CLIP = "(float[2] x, float l, float h) => (float[2] y) { y = Clip(x, l, h) }"
RNN = "(float[2,1,3] x, float[1,4,3] w, float[1,4,4] r) => (float[2,1,1,4] y) {{ y = RNN<{}hidden_size=4>(x, w, r) }}"
EINSUM = '({} x, {} z) => (float[N] y) {{ y = Einsum<equation="{}">(x, z) }}'
SUM = "({1}[{0}] x) => ({1}[1] y) <{1} l = {{0}}, {1} h = {{1}}> {{ b = Clip(x, l, h) y = ReduceMax(b) }}"
QCONV = (
    "(uint8[1,1,2,2] x, float s, uint8 z, uint8[2,1,1,1] w, int32[2] b) => (uint8[1,2,2,2] y)"
    " {{ y = QLinearConv(x, s, z, w, s, z, s, z{}) }}"
)
QWIDE = (
    "(uint8[1,{0},1,1] x, float s, uint8 z, uint8[9,{0},1,1] w) => (uint8[1,9,1,1] y)"
    " {{ y = QLinearConv(x, s, z, w, s, z, s, z) }}"
)
MATMUL = (
    "({1}[1,{0}] x, {1}[{0},1] z) => (int32[1,1] y) <{1} l = {{0}}, {1} h = {{1}}> "
    "{{ a = Clip(x, l, h) b = Clip(z, l, h) y = MatMulInteger(a, b) }}"
)
SCATTER = "(float[{0}] x, int64[{1}] i, float[{1}] u) => (float[{0}] y) {{ y = ScatterElements{2}(x, i, u) }}"
SCATTER_ND = "(float[3,2] x, int64[2,1] i, float[2,2] u) => (float[3,2] y) { y = ScatterND(x, i, u) }"
NORM = "(float[{}] x) => (float[{}] y) {{ y = LpNormalization{}(x) }}"
PAD = '(float[3,2] x, int64[N] p{}) => (float[A,B] y) {{ y = Pad<mode="{}">(x, p{}) }}'
DROP = "(float[2] x, float r) => (float[2] y) { y = Dropout(x, r) }"
OLD_DROP = "(float[2] x) => (float[2] y) {{ y = Dropout<ratio={}>(x) }}"
ROI = "(float[1,1,4,4] x, float[1,4] r, int64[1] b) => (float[1,1,1,1] y) { y = RoiAlign(x, r, b) }"
ATTEND = "(float[1,1,2,2] q, float[{0}] m) => (float[1,1,2,2] y) {{ y = Attention{1}(q, q, q, m{2}) }}"
BERNOULLI = "(float[2] x) => (float[2] y) { y = Bernoulli(x) }"
SUPPRESS = "(float[1,2,4] b, float[1,1,2] x) => (int64[N,3] y) { y = NonMaxSuppression(b, x) }"
UNPOOL = "(float[1,1,2] x, int64[1,1,2] i) => (float[1,1,4] y) { y = MaxUnpool<kernel_shape=[2], strides=[2]>(x, i) }"


@pytest.mark.parametrize(
    ("test", "text", "fed", "opset", "met"),
    [
        ("shift_beyond_width", SHIFT, arrays(np.uint8, x=[1, 1], z=[0, 7]), 18, False),
        ("shift_beyond_width", SHIFT, arrays(np.uint8, x=[1, 1], z=[0, 8]), 18, True),
        ("shift_beyond_width", SHIFT, {}, 18, True),
        ("cast_out_of_range", TO_INT8, arrays(SINGLE, x=[127.9, -128.9]), 18, False),
        ("cast_out_of_range", TO_INT8, arrays(SINGLE, x=[0, 128]), 18, True),
        ("cast_out_of_range", TO_INT8, arrays(SINGLE, x=[0, -129]), 18, True),
        ("cast_out_of_range", TO_INT8, {}, 18, True),
        ("cast_out_of_range", TO_UINT8, arrays(SINGLE, x=[255.9, -0.9]), 18, False),
        ("cast_out_of_range", TO_UINT8, arrays(SINGLE, x=[0, -1]), 18, True),
        ("cast_out_of_range", "(int64[2] x) => (int8[2] y) { y = Cast<to=3>(x) }",
         arrays(INT64, x=[999, 0]), 18, False),
        ("cast_out_of_range", "(float[2] x) => (float16[2] y) { y = Cast<to=10>(x) }",
         arrays(SINGLE, x=[1e9, 0]), 18, False),
        ("cast_out_of_range", "(float[2] x) => (bool[2] y) { y = Cast<to=9>(x) }",
         arrays(SINGLE, x=[1e9, 0]), 18, False),
        ("cast_out_of_range", "(float[2] x) => (int4[2] y) { y = Cast<to=22>(x) }",
         arrays(SINGLE, x=[7.9, 0]), 21, False),
        ("cast_out_of_range", "(float[2] x) => (int4[2] y) { y = Cast<to=22>(x) }", arrays(SINGLE, x=[8, 0]), 21, True),
        ("float_to_text", TO_TEXT.format("float"), {}, 18, True),
        ("float_to_text", TO_TEXT.format("int32"), {}, 18, False),
        ("float_to_text", TO_INT8, {}, 18, False),
        ("integer_zero_divisor", DIV.format("float"), arrays(SINGLE, z=[0, 1]), 18, False),
        ("integer_zero_divisor", DIV.format("int32"), arrays(INT32, z=[0, 1]), 18, True),
        ("integer_zero_divisor", DIV.format("int32"), arrays(INT32, z=[-1, 1]), 18, False),
        ("integer_zero_divisor", DIV.format("int32"), {}, 18, True),
        ("negative_exponent", POW.format("int32"), arrays(INT32, z=[0, 1]), 18, False),
        ("negative_exponent", POW.format("int32"), arrays(INT32, z=[-1, 1]), 18, True),
        ("negative_exponent", POW.format("float"), arrays(SINGLE, z=[-1, 1]), 18, False),
        ("power_beyond_type", POW.format("float"), {}, 18, False),
        ("power_beyond_type", POW.format("int32"), {}, 18, True),
        ("root_rounded", L2.format("int64", 4, "int64"), arrays(INT64, x=[2**25, 0, 0, 0]), 18, True),
        ("root_rounded", L2.format("int64", 3, "int64"), arrays(INT64, x=[2**25, 0, 0]), 18, False),
        ("root_rounded", L2.format("int64", 4, "int64"), arrays(INT64, x=[-(2**25), 0, 0, 0]), 18, True),
        ("root_rounded", L2.format("float", 4, "float"), arrays(SINGLE, x=[2**30, 0, 0, 0]), 18, False),
        ("root_rounded", L2.format("int64", "N", "int64"), {}, 18, True),
        ("low_above_high", CLIP, arrays(SINGLE, l=1, h=1), 18, False),
        ("low_above_high", CLIP, arrays(SINGLE, l=2, h=1), 18, True),
        ("low_above_high", CLIP, {}, 18, True),
        ("optional_activation", RNN.format(""), {}, 18, False),
        ("optional_activation", RNN.format('activations=["Relu"], '), {}, 18, False),
        ("optional_activation", RNN.format('activations=["Relu", "Affine"], '), {}, 18, True),
        ("letter_of_two_sizes", EINSUM.format("float[2]", "float[2]", "i,i->i"), {}, 18, False),
        ("letter_of_two_sizes", EINSUM.format("float[2]", "float[1]", "i,i->i"), {}, 18, True),
        ("letter_of_two_sizes", EINSUM.format("float[2]", "float[N]", "i,j->i"), {}, 18, True),
        ("letter_of_two_sizes", EINSUM.format("float[2,3]", "float[4,2]", "...i,i...->i"), {}, 18, True),
        ("letter_of_two_sizes", EINSUM.format("float[2,3]", "float[3,4]", "...i,i...->i"), {}, 18, False),
        ("sum_overflows", SUM.format(127, "int8"), {}, 18, False),
        ("sum_overflows", SUM.format(128, "int8"), {}, 18, True),
        ("sum_overflows", SUM.format(255, "uint8"), {}, 18, False),
        ("sum_overflows", SUM.format(256, "uint8"), {}, 18, True),
        ("sum_overflows", SUM.format("N", "int8"), {}, 18, True),
        ("sum_overflows", SUM.format(999, "float"), {}, 18, False),
        ("squares_overflow", SUM.format(127, "int8"), {}, 18, False),
        ("squares_overflow", SUM.format(128, "int8"), {}, 18, True),
        ("product_overflows", SUM.format(999, "int8"), {}, 18, False),
        ("sum_overflows", "(int32[2] x) => (int32[1] y) { y = ReduceSum(x) }", {}, 18, True),
        ("products_overflow", MATMUL.format(11, "int8"), {}, 18, False),
        ("products_overflow", MATMUL.format(12, "int8"), {}, 18, True),
        ("products_overflow", MATMUL.format(15, "uint8"), {}, 18, False),
        ("products_overflow", MATMUL.format(16, "uint8"), {}, 18, True),
        ("products_overflow", "(float[1,99] x, float[99,1] z) => (float[1,1] y) { y = MatMul(x, z) }", {}, 18, False),
        ("products_overflow", MATMUL.format("N", "int8"), {}, 18, True),
        ("bias_overflows", QCONV.format(""), {}, 18, False),
        ("bias_overflows", QCONV.format(", b"), arrays(INT32, b=[2**31 - 1 - 255**2, -1000]), 18, False),
        ("bias_overflows", QCONV.format(", b"), arrays(INT32, b=[2**31 - 255**2, 0]), 18, True),
        ("bias_overflows", QCONV.format(", b"), arrays(INT32, b=[-(2**31), 0]), 18, True),
        ("bias_overflows", QCONV.format(", b"), {}, 18, True),
        ("bias_overflows", QWIDE.format(33025), {}, 18, False),
        ("bias_overflows", QWIDE.format(33026), {}, 18, True),
        ("repeated_along_axis", SCATTER.format(3, 2, ""), arrays(INT64, i=[0, 1]), 18, False),
        ("repeated_along_axis", SCATTER.format(3, 2, ""), arrays(INT64, i=[1, -2]), 18, True),
        ("repeated_along_axis", SCATTER.format(3, 2, '<reduction=\"add\">'), arrays(INT64, i=[1, 1]), 18, False),
        ("repeated_along_axis", SCATTER.format(3, 2, '<reduction=\"none\">'), arrays(INT64, i=[1, 1]), 18, True),
        ("repeated_along_axis", SCATTER.format(3, 2, ""), {}, 18, True),
        ("repeated_along_axis", SCATTER.format("N", 2, ""), arrays(INT64, i=[0, 1]), 18, True),
        ("repeated_along_axis", SCATTER.format("3,3", "1,2", ""), arrays(INT64, i=[[1, 1]]), 18, False),
        ("repeated_along_axis", SCATTER.format("3,3", "1,2", "<axis=1>"), arrays(INT64, i=[[1, 1]]), 18, True),
        ("repeated_along_axis", SCATTER.format("3,3", "1,2", "<axis=-1>"), arrays(INT64, i=[[1, 1]]), 18, True),
        ("repeated_rows", SCATTER_ND, arrays(INT64, i=[[0], [1]]), 18, False),
        ("repeated_rows", SCATTER_ND, arrays(INT64, i=[[1], [-2]]), 18, True),
        ("repeated_rows", SCATTER_ND, {}, 18, True),
        ("repeated_indices", UNPOOL, arrays(INT64, i=[[[0, 3]]]), 18, False),
        ("repeated_indices", UNPOOL, arrays(INT64, i=[[[3, 3]]]), 18, True),
        ("repeated_indices", UNPOOL, {}, 18, True),
        ("region_ends_first", ROI, arrays(SINGLE, r=[[1, 1, 1, 1]]), 18, False),
        ("region_ends_first", ROI, arrays(SINGLE, r=[[1, 1, 2, 0.5]]), 18, True),
        ("region_ends_first", ROI, arrays(SINGLE, r=[[1, 1, NAN, 2]]), 18, True),
        ("region_ends_first", ROI, {}, 18, True),
        ("zero_norm", NORM.format("2,2", "2,2", ""), {}, 18, True),
        ("zero_norm", NORM.format("2,2", "2,2", ""), arrays(SINGLE, x=[[0, 1], [0, 2]]), 18, False),
        ("zero_norm", NORM.format("2,2", "2,2", "<axis=0>"), arrays(SINGLE, x=[[0, 1], [0, 2]]), 18, True),
        ("zero_norm", NORM.format("2,2", "2,2", "<axis=-2>"), arrays(SINGLE, x=[[0, 1], [0, 2]]), 18, True),
        ("zero_norm", NORM.format("2,2", "2,2", "<axis=1>"), arrays(SINGLE, x=[[0, 1], [0, 2]]), 18, False),
        ("zero_norm", NORM.format("2,2", "2,2", ""), arrays(SINGLE, x=[[1e-20, 0], [1, 2]]), 18, True),
        ("zero_norm", NORM.format("0,2", "0,2", ""), {"x": np.zeros((0, 2), SINGLE)}, 18, False),
        ("equal_scores", SUPPRESS, arrays(SINGLE, x=[[[2, 1]]]), 18, False),
        ("equal_scores", SUPPRESS, arrays(SINGLE, x=[[[2, 2]]]), 18, True),
        ("equal_scores", SUPPRESS, {}, 18, True),
        ("masked_row", ATTEND.format("2,2", "", ""), arrays(SINGLE, m=[[0, 0], [9999, -1e5]]), 23, False),
        ("masked_row", ATTEND.format("2,2", "", ""), arrays(SINGLE, m=[[0, 0], [1e4, -1e5]]), 23, True),
        ("masked_row", ATTEND.format("2,2", "<is_causal=1>", ""), arrays(SINGLE, m=[[0, -1e5], [0, 0]]), 23, False),
        ("masked_row", ATTEND.format("2,2", "<is_causal=1>", ""), arrays(SINGLE, m=[[-1e5, 0], [0, 0]]), 23, True),
        ("masked_row", ATTEND.format("2,2", "", ""), {}, 23, True),
        ("masked_row", ATTEND.format("2,0", "", ""), {"m": np.zeros((2, 0), SINGLE)}, 23, True),
        ("no_elements", "(float[0] x) => (float y) { y = ReduceMean<keepdims=0>(x) }", {}, 18, True),
        ("no_elements", "(float[1] x) => (float y) { y = ReduceMean<keepdims=0>(x) }", {}, 18, False),
        ("no_elements", "(float[N] x) => (float y) { y = ReduceMean<keepdims=0>(x) }", {}, 18, False),
        ("ratio_beyond", DROP, arrays(SINGLE, r=0), 18, False),
        ("ratio_beyond", DROP, arrays(SINGLE, r=0.99), 18, False),
        ("ratio_beyond", DROP, arrays(SINGLE, r=1), 18, True),
        ("ratio_beyond", DROP, arrays(SINGLE, r=-0.01), 18, True),
        ("ratio_beyond", DROP, {}, 18, True),
        ("ratio_beyond", OLD_DROP.format("0.0"), {}, 10, False),
        ("ratio_beyond", OLD_DROP.format("1.0"), {}, 10, True),
        ("ratio_beyond", OLD_DROP.format("-0.5"), {}, 10, True),
        ("ratio_beyond", "(float[2] x) => (float[2] y) { y = Dropout(x) }", {}, 18, False),
        ("reflected_beyond", PAD.format("", "reflect", ""), arrays(INT64, p=[2, 0, 0, 1]), 18, False),
        ("reflected_beyond", PAD.format("", "reflect", ""), arrays(INT64, p=[3, 0, 0, 0]), 18, True),
        ("reflected_beyond", PAD.format("", "reflect", ""), arrays(INT64, p=[0, 0, 0, 2]), 18, True),
        ("reflected_beyond", PAD.format("", "constant", ""), arrays(INT64, p=[9, 0, 0, 9]), 18, False),
        ("reflected_beyond", PAD.format("", "reflect", ""), {}, 18, True),
        ("reflected_beyond", PAD.format("", "reflect", ""), arrays(INT64, p=[0, 0]), 18, True),
        ("reflected_beyond", PAD.format(", int64[1] a", "reflect", ', "", a'),
         arrays(INT64, p=[0, 2], a=[0]), 18, False),
        ("reflected_beyond", PAD.format(", int64[1] a", "reflect", ', "", a'),
         arrays(INT64, p=[0, 2], a=[1]), 18, True),
        ("reflected_beyond", PAD.format(", int64[1] a", "reflect", ', "", a'), arrays(INT64, p=[0, 0]), 18, True),
        ("reflected_beyond", '(float[2] x) => (float[A] y) { y = Pad<mode="reflect", pads=[1, 1]>(x) }', {}, 10, False),
        ("reflected_beyond", '(float[2] x) => (float[A] y) { y = Pad<mode="reflect", pads=[0, 2]>(x) }', {}, 10, True),
        ("reflected_beyond", "(float[2] x) => (float[A] y) { y = Pad<pads=[0, 2]>(x) }", {}, 10, False),
        ("no_probability", BERNOULLI, arrays(SINGLE, x=[0, 1]), 18, False),
        ("no_probability", BERNOULLI, arrays(SINGLE, x=[0, 1.5]), 18, True),
        ("no_probability", BERNOULLI, arrays(SINGLE, x=[-0.5, 1]), 18, True),
        ("no_probability", BERNOULLI, arrays(SINGLE, x=[NAN, 1]), 18, True),
        ("no_probability", BERNOULLI, {}, 18, True),
        ("all_zero", BERNOULLI, arrays(SINGLE, x=[0, 0]), 18, True),
        ("all_zero", BERNOULLI, arrays(SINGLE, x=[0, 1]), 18, False),
        ("all_zero", BERNOULLI, {}, 18, True),
        ("nan_elements", BERNOULLI, arrays(SINGLE, x=[0, NAN]), 18, True),
        ("nan_elements", BERNOULLI, arrays(SINGLE, x=[0, INF]), 18, False),
        ("nan_elements", POW.format("int32"), arrays(INT32, x=[0, 1]), 18, False),
        ("not_finite", BERNOULLI, arrays(SINGLE, x=[0, INF]), 18, True),
        ("not_finite", BERNOULLI, arrays(SINGLE, x=[0, 1]), 18, False),
        ("", BERNOULLI, {}, 18, True),
    ],
)  # fmt: skip
def test_what_can_be_met(parse: Parse, test: str, text: str, fed: dict[str, Value], opset: int, met: bool) -> None:
    found = TESTS[test](call_of(parse(f"g {text}", opset), fed, opset))
    assert type(found) is bool or isinstance(found, np.bool_)
    assert found == met


@pytest.mark.parametrize(
    ("text", "fed", "met"),
    [
        ("(string[2] x) => (string[2] y) { y = StringNormalizer(x) }", ["a", "z"], False),
        ("(string[2] x) => (string[2] y) { y = StringNormalizer(x) }", ["a", "ä"], True),
        ("(string[2] x) => (string[2] y) { y = StringNormalizer(x) }", None, True),
        ("(int64[2] x) => (string[2] y) { t = Cast<to=8>(x) y = StringNormalizer(t) }", None, False),
        ("(string[2] x) => (string[2] y) { t = Cast<to=8>(x) y = StringNormalizer(t) }", None, True),
        ("(string[2] x) => (string[2] y) { t = Identity(x) y = StringNormalizer(t) }", None, True),
    ],
)
def test_letters_beyond_ascii(parse: Parse, text: str, fed: list[str] | None, met: bool) -> None:
    call = call_of(parse(f"g {text}"), {} if fed is None else {"x": np.array(fed, object)}, 18)
    assert TESTS["foreign_letters"](call) == met


def test_places_of_equal_elements_matter_to_whoever_reads_them(parse: Parse) -> None:
    program = parse("g (float[3] x, int64[1] k) => (float[1] v, int64[1] i) { v, i = TopK(x, k) }")
    assert TESTS["positions_read"](call_of(program, {}, 18))
    assert not TESTS["positions_read"](call_of(program, {}, 18, all_used=False))


@pytest.mark.parametrize(
    ("before", "fed", "met"),
    [
        ("", [0.5, 2], False),
        ("", [NAN, 2], True),
        ("s = Sub(x, x) d = Div(s, s) ", [0.5, 2], True),
    ],
)
def test_a_clip_of_nan_gives_no_probability(parse: Parse, before: str, fed: list[float], met: bool) -> None:
    source = "d" if before else "x"
    program = parse(
        f"g (float[2] x) => (float[2] y) <float l = {{0}}, float h = {{1}}> "
        f"{{ {before} c = Clip({source}, l, h) y = Bernoulli(c) }}"
    )
    inputs: dict[str, Value] = {"x": np.array(fed, SINGLE)}
    node = program.nodes()[-1]
    spec = load_specs().get("Bernoulli", 18)
    assert spec is not None
    used = {v for n in program.nodes() for v in n.outputs}
    assert TESTS["no_probability"](FedCall(program, node, spec, inputs, used, ExactIntegers(program, inputs))) == met


@pytest.mark.parametrize(
    ("text", "fed", "names"),
    [
        ("(float[2] x) => (float[2] y) { y = Relu(x) }", {}, []),
        ("(int32[2] x, float s, int32 z) => (float[2] y) { y = DequantizeLinear(x, s, z) }",
         {"z": np.array(5, INT32)}, ["broken_rule_by_elements"]),
        ("(int32[2] x, float s, int32 z) => (float[2] y) { y = DequantizeLinear(x, s, z) }",
         {"z": np.array(0, INT32)}, []),
    ],
)  # fmt: skip
def test_names_of_what_can_be_met(parse: Parse, text: str, fed: dict[str, Value], names: list[str]) -> None:
    assert list(can_be_met(call_of(parse(f"g {text}"), fed, 18), None)) == names


def test_what_concerns_the_call_itself_is_declared() -> None:
    declared = {u.name for spec in load_specs().all() for u in spec.undefined}
    assert declared >= BEFORE_A_RUN - {"broken_rule"}


def fake(array: Any = None, dtype: Any = None, **attributes: Any) -> Any:
    """A call of which little is known: every operand is this array, every type this one."""
    return SimpleNamespace(
        input=lambda place: None,
        array=lambda place: array,
        dtype=lambda value: dtype,
        bounds=lambda place: (-INF, INF),
        node=SimpleNamespace(outputs=[None]),
        program=SimpleNamespace(attrs=lambda node: attributes),
    )


@pytest.mark.parametrize(
    "name",
    ["cast_out_of_range", "float_to_text", "zero_norm", "equal_scores", "region_ends_first", "foreign_letters",
     "shift_beyond_width"],
)  # fmt: skip
def test_what_is_not_known_may_be_met(name: str) -> None:
    assert TESTS[name](fake()) is True


@pytest.mark.parametrize(
    ("array", "attributes", "met"),
    [
        ([[0, 1], [0, 1]], {}, False),
        ([[0, 1], [0, 1]], {"axis": 1}, False),
        ([[0, 1], [0, 1]], {"axis": 5}, False),
        ([[0, 1], [0, 1]], {"axis": -3}, False),
        ([[0, 1], [0, 1]], {"axis": 0}, True),
        ([[0, 1], [0, 1]], {"axis": -2}, True),
        ([[0, 0], [1, 1]], {}, True),
        ([[0, 0], [1, 1]], {"axis": 2}, True),
        ([], {}, False),
    ],
)
def test_norms_of_zero_along_an_axis(array: Any, attributes: dict[str, int], met: bool) -> None:
    assert TESTS["zero_norm"](fake(np.array(array, SINGLE), **attributes)) is met
