"""What ONNX's rules decide: right and wrong answers of small programs, known from its text alone."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from irfuzz.ir.evaluation.exact_integer_evaluation import ExactIntegers
from irfuzz.oracle import Symptom, judge
from irfuzz.oracle.onnx_rules import DecidedValues
from irfuzz.oracle.onnx_rules.rule_table import RULES
from irfuzz.spec import trait_values

pytestmark = pytest.mark.unit

NAN, INF = np.nan, np.inf
MOST = 3.4028235e38
TINY = 1e-40

# fmt: off
# A node, x, the right answer, and wrong ones; the second row of x is fed to z.
DECIDED = [
    ("Greater(x, z)", [[NAN, 1, NAN, 2], [1, NAN, NAN, 2]], [0, 0, 0, 0], [1, 0, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]),
    ("Less(x, z)", [[NAN, 1], [1, NAN]], [0, 0], [1, 0], [0, 1]),
    ("GreaterOrEqual(x, z)", [[NAN, 2], [NAN, 2]], [0, 1], [1, 1], [0, 0]),
    ("LessOrEqual(x, z)", [[NAN, 2], [NAN, 2]], [0, 1], [1, 1], [0, 0]),
    ("Equal(x, z)", [[NAN, INF, 0.0], [NAN, INF, -0.0]], [0, 1, 1], [1, 1, 1], [0, 0, 1], [0, 1, 0]),
    ("IsNaN(x)", [INF, NAN], [0, 1], [1, 1], [0, 0]),
    ("IsInf<detect_negative=0>(x)", [INF, -INF, NAN], [1, 0, 0], [1, 1, 0], [1, 0, 1]),
    ("IsInf<detect_positive=0>(x)", [INF, -INF, NAN], [0, 1, 0], [1, 1, 0], [0, 1, 1]),
    ("Cast<to=9>(x)", [0.0, -0.0, NAN, 0.4], [0, 0, 1, 1], [0, 0, 0, 1], [0, 1, 1, 1]),
    ("Cast<to=6>(x)", [1.9, -1.9, 3], [1, -1, 3], [2, -1, 3], [1, -2, 3], [1, -1, 2]),
    ("Cast<to=6>(x)", [NAN, 7], [0, 7], [0, 8]),
    ("Cast<to=10>(x)", [1e6, -INF, NAN, 2], [INF, -INF, NAN, 2], [65504, -INF, NAN, 2], [INF, -INF, 0, 2]),
    ("ArgMax<axis=0>(x)", [2, 5, 5], [1], [2]),
    ("ArgMax<axis=0, select_last_index=1>(x)", [2, 5, 5], [2], [1]),
    ("ArgMin<axis=0>(x)", [-INF, 0, -INF], [0], [2], [1]),
    ("Hardmax<axis=0>(x)", [2, 2, 1], [1, 0, 0], [0, 1, 0], [1, 1, 0]),
    ("NonZero(x)", [0, NAN, -0.0, 1], [[1, 3]], [[1, 2]], [[0, 3]]),
    ("Sign(x)", [INF, -INF, 0], [1, -1, 0], [1, -1, 1], [NAN, -1, 0]),
    ("Round(x)", [0.5, 1.5, 2.5, NAN, -INF], [0, 2, 2, NAN, -INF], [1, 2, 2, NAN, -INF], [0, 2, 3, NAN, -INF]),
    ("Floor(x)", [1, -1, NAN, INF], [1, -1, NAN, INF], [0, -1, NAN, INF], [1, -2, NAN, INF], [1, -1, 0, INF]),
    ("Ceil(x)", [1, NAN, -INF], [1, NAN, -INF], [2, NAN, -INF], [1, -1, -INF]),
    ("Relu(x)", [INF, -INF, -1, NAN], [INF, 0, 0, NAN], [NAN, 0, 0, NAN], [MOST, 0, 0, NAN], [INF, 0, 0, 5]),
    ("Clip(x, a, b)", [INF, -INF, 0.5], [2, -1, 0.5], [INF, -1, 0.5], [2, NAN, 0.5], [2, -2, 0.5]),
    ("Clip(x, b, a)", [5, 0.5], [-1, -1], [-1, 2], [2, 2]),
    ("Max(x, z)", [[-INF, 1, NAN], [-5, INF, 3]], [-5, INF, NAN], [-INF, INF, NAN], [-5, 1, NAN], [-5, INF, 4]),
    ("Min(x, z)", [[-INF, NAN], [-5, 3]], [-INF, 3], [-5, 3], [-MOST, 3], [-INF, 2]),
    ("ReduceMax(x)", [-INF, -INF], [-INF], [-MOST], [NAN], [0]),
    ("ReduceMin(x)", [2, 8, NAN, 5], [NAN], [5], [8], [INF]),
    ("ReduceMin(x)", [2, 8, NAN, 5], [2], [5], [8], [INF]),
    ("ReduceSum(x)", [1, NAN, INF], [NAN], [INF], [1]),
    ("ReduceSum(x)", [INF, -INF, 1], [NAN], [INF], [0]),
    ("ReduceMean(x)", [INF, 2, 1], [INF], [NAN], [MOST]),
    ("ReduceL1(x)", [-INF, INF], [INF], [NAN]),
    ("ReduceL2(x)", [-INF, 2], [INF], [NAN], [-INF]),
    ("ReduceSumSquare(x)", [-INF, 2], [INF], [NAN], [-INF]),
    ("ReduceLogSum(x)", [-INF, 2], [NAN], [-INF]),
    ("ReduceLogSumExp(x)", [-INF, -INF], [-INF], [NAN], [0], [INF]),
    ("ReduceLogSumExp(x)", [-INF, INF], [INF], [NAN]),
    ("ReduceLogSumExp(x)", [1, NAN], [NAN], [1]),
    ("ReduceSum(x)", [], [0], [NAN]),
    ("ReduceLogSumExp(x)", [], [-INF], [0], [NAN]),
    ("ReduceMax(x)", [], [-INF], [0]),
    ("Softmax<axis=0>(x)", [-INF, 0, 0], [0, 0.5, 0.5], [NAN, NAN, NAN], [NAN, 0.5, 0.5], [0.25, 0.5, 0.5]),
    ("Softmax<axis=0>(x)", [NAN, 0], [NAN, NAN], [NAN, 1], [0, 1]),
    ("LogSoftmax<axis=0>(x)", [-INF, 3], [-INF, 0], [NAN, NAN], [-MOST, 0]),
    ("Sigmoid(x)", [INF, -INF, NAN], [1, 0, NAN], [NAN, 0, NAN], [1, NAN, NAN], [1, 0, 0]),
    ("Tanh(x)", [INF, -INF, NAN], [1, -1, NAN], [NAN, -1, NAN], [1, -1, 1]),
    ("Exp(x)", [INF, -INF, NAN], [INF, 0, NAN], [MOST, 0, NAN], [INF, NAN, NAN]),
    ("Log(x)", [INF, 0, -1], [INF, -INF, NAN], [INF, -88, NAN], [INF, -INF, 0]),
    ("Sqrt(x)", [INF, -1, NAN], [INF, NAN, NAN], [INF, 0, NAN], [NAN, NAN, NAN]),
    ("Elu<alpha=2.0>(x)", [INF, -INF, NAN], [INF, -2, NAN], [NAN, -2, NAN], [INF, NAN, NAN], [INF, -2, -2]),
    ("LeakyRelu(x)", [NAN, -INF, INF], [NAN, -INF, INF], [0, -INF, INF], [NAN, 0, INF]),
    ("PRelu(x, z)", [[NAN, -INF], [0.5, 0.5]], [NAN, -INF], [0, -INF], [NAN, 0]),
    ("Softplus(x)", [INF, -INF, NAN], [INF, 0, NAN], [NAN, 0, NAN], [INF, 0, 0]),
    ("Add(x, z)", [[INF, INF, NAN], [1, -INF, 1]], [INF, NAN, NAN], [INF, 0, NAN], [MOST, NAN, NAN]),
    ("Mul(x, z)", [[INF, INF, NAN], [0, -2, 0]], [NAN, -INF, NAN], [0, -INF, NAN], [NAN, -INF, 0]),
    ("Div(x, z)", [[1, INF, 0], [INF, -2, 0]], [0, -INF, NAN], [NAN, -INF, NAN], [0, -INF, 0]),
    ("Mod<fmod=1>(x, z)", [[-5, 5.5, INF, 3], [3, 2, 2, INF]], [-2, 1.5, NAN, 3], [1, 1.5, NAN, 3], [-2, 1.5, 0, 3]),
    ("QuantizeLinear(x, s, q)", [0.25, 0.75, INF], [10, 12, 255], [11, 12, 255], [10, 11, 255], [10, 12, 0]),
    ("QuantizeLinear(x, t, q)", [0.33, 100, -0.36], [13, 255, 6], [14, 255, 6], [13, 242, 6], [13, 255, 7]),
    ("Gather(x, i)", [NAN, 1, INF], [INF, NAN], [NAN, INF], [INF, 0]),
    ("Trilu(w)", [[1, 2], [NAN, INF]], [[1, 2], [0, INF]], [[1, 2], [NAN, INF]]),
    ("GlobalMaxPool(v)", [-INF, -INF], [[[-INF]]], [[[-MOST]]], [[[0]]]),
    ("MaxPool<kernel_shape=[2], pads=[1, 1]>(v)", [-INF, 4], [[[-INF, 4, 4]]], [[[-MOST, 4, 4]]], [[[0, 4, 4]]]),
]
# A node, x, and two answers of which ONNX prefers none.
OPEN = [
    ("ArgMax<axis=0>(x)", [1, NAN, 2], [1], [2]),
    ("Sign(x)", [NAN, 1], [NAN, 1], [0, 1]),
    ("Relu(x)", [NAN, 1], [NAN, 1], [0, 1]),
    ("Cast<to=6>(x)", [NAN, 1], [0, 1], [-(2**31), 1]),
    ("Cast<to=10>(x)", [0.1], [0.09998], [0.1]),
    ("Softmax<axis=0>(x)", [-INF, -INF], [NAN, NAN], [0.5, 0.5]),
    ("Softmax<axis=0>(x)", [INF, 0], [NAN, 0], [NAN, NAN]),
    ("Div(x, z)", [[1, 1], [-0.0, 0.0]], [-INF, INF], [INF, INF]),
    ("Clip(x, , b)", [-INF, 0], [-INF, 0], [-MOST, 0]),
    ("ReduceMean(x)", [], [NAN], [0]),
    ("Round(x)", [TINY], [0], [TINY]),
    ("Greater(x, z)", [[TINY], [0]], [1], [0]),
    ("Acosh(x)", [0.9999999], [NAN], [0]),
    ("QuantizeLinear(x, t, q)", [0.35], [13], [14]),
]
# fmt: on

KINDS = {"ArgMax": "int64", "ArgMin": "int64", "NonZero": "int64", "QuantizeLinear": "uint8", "IsNaN": "bool"} | (
    dict.fromkeys(("IsInf", "Greater", "Less", "GreaterOrEqual", "LessOrEqual", "Equal"), "bool")
)
CASTS = {"6": "int32", "9": "bool", "10": "float16"}
CONSTANTS = "float a = {-1.0}, float b = {2.0}, float s = {0.5}, float t = {0.1}, uint8 q = {10}, int64[2] i = {2, 0}"


def case_of(parse, node, x, right):
    """A program of one node, what is fed to it, and the type of its output; v is x as an image, w as it is."""
    fed, name = np.array(x, np.float32), node.partition("(")[2][0]
    if name == "x" and fed.ndim == 2:
        rows = {"x": fed[0], "z": fed[1]}
    else:
        rows = {name: fed.reshape(1, 1, -1) if name == "v" else fed}
    op, _, attributes = node.partition("(")[0].partition("<")
    kind = CASTS[attributes[3:-1]] if op == "Cast" else KINDS.get(op, "float")
    given = ", ".join(f"float{list(array.shape)} {name}" for name, array in rows.items())
    text = f"g ({given}) => ({kind}{list(np.shape(right))} y) <{CONSTANTS}> {{ y = {node} }}"
    return parse(text, 18), rows, np.dtype("float32" if kind == "float" else kind)


def one_by_one(table):
    """Each wrong answer with its case."""
    return [(node, x, right, wrong) for node, x, right, *others in table for wrong in others]


@pytest.mark.parametrize(("node", "x", "right", "wrong"), one_by_one(DECIDED))
def test_one_component_that_keeps_the_rules_convicts_one_that_does_not(parse, run, node, x, right, wrong):
    program, fed, dtype = case_of(parse, node, x, right)
    results = [run("reference", np.array(right, dtype)), run("onnxruntime:all", np.array(wrong, dtype))]
    (verdict,) = judge(program, fed, results, rerun=lambda *_: results)
    assert (verdict.target, verdict.suspect, verdict.rule) == ("onnxruntime:all", False, "ONNX's rules")
    assert verdict.symptom in (Symptom.DIFFERENCE, Symptom.NAN_INF)


@pytest.mark.parametrize(
    ("node", "x", "right", "wrong", "firm"),
    [
        ("Sigmoid", [NAN, 1], [NAN, 0.7310586], [0, 0.7310586], False),
        ("Log", [0, 1], [-INF, 0], [-88.02969, 0], False),
        ("Relu", [-1, 1], [0, 1], [-1, 1], True),
        ("Neg", [2, 1], [-2, -1], [INF, -1], True),
    ],
)
def test_of_shaders_what_has_to_do_with_nan_or_infinities_is_a_suspect(parse, run, node, x, right, wrong, firm):
    program = parse(f"g (float[2] x) => (float[2] y) {{ y = {node}(x) }}")
    results = [run(n, np.array(right, np.float32)) for n in ("reference", "onnxruntime:all")]
    results.append(run("webgpu:all", np.array(wrong, np.float32)))
    fed = {"x": np.array(x, np.float32)}
    (verdict,) = judge(program, fed, results, rerun=lambda *_: results)
    assert (verdict.target, verdict.rule) == ("webgpu:all", "ONNX's rules")
    assert (verdict.suspect, verdict.excuse) == ((False, "") if firm else (True, "shader-specials"))


@pytest.mark.parametrize(("node", "x", "one", "other"), OPEN)
def test_what_onnx_leaves_open_convicts_nobody(parse, run, node, x, one, other):
    program, fed, dtype = case_of(parse, node, x, one)
    results = [run("reference", np.array(one, dtype)), run("onnxruntime:all", np.array(other, dtype))]
    assert all(v.suspect for v in judge(program, fed, results, rerun=lambda *_: results))


TOP = "g (float[4] x) => (float[2] v, int64[2] y) <int64[1] k = {{2}}> {{ v, y = TopK{} (x, k) }}"


@pytest.mark.parametrize(
    ("attributes", "opset", "right", "wrong", "firm"),
    [
        ("", 11, [1, 2], [3, 2], True),
        ("", 11, [1, 2], [2, 1], True),
        ("<largest=0>", 11, [0, 1], [0, 3], True),
        ("<sorted=0>", 11, [1, 2], [2, 1], False),
        ("", 10, [1, 2], [2, 1], False),
    ],
)
def test_of_equal_elements_the_first_is_at_the_top(parse, run, attributes, opset, right, wrong, firm):
    program = parse(TOP.format(attributes), opset)
    fed = {"x": np.array([1, 3, 3, 3], np.float32)}
    both = [run(n, outputs={"v": fed["x"][y], "y": np.array(y)}) for n, y in (("reference", right), ("c", wrong))]
    assert [not v.suspect for v in judge(program, fed, both, rerun=lambda *_: both)] == [firm]


RESIZE = 'g (uint8[1,1,1,4] x) => (uint8[1,1,1,8] y) <float[4] s = {{1, 1, 1, 2}}> {{ y = Resize<mode="{}">(x, , s) }}'


@pytest.mark.parametrize(
    ("mode", "right", "wrong", "firm"),
    [
        ("cubic", [0, 58, 197, 255, 255, 197, 58, 0], [232, 58, 197, 23, 23, 197, 58, 232], True),
        ("cubic", [0, 58, 197, 255, 255, 197, 58, 0], [0, 59, 197, 255, 255, 197, 58, 0], False),
        ("linear", [0, 63, 191, 255, 255, 191, 63, 0], [0, 64, 191, 255, 255, 191, 64, 0], False),
        ("linear", [0, 63, 191, 255, 255, 191, 63, 0], [0, 66, 191, 255, 255, 191, 63, 0], True),
    ],
)
def test_how_interpolated_numbers_are_rounded_is_open_and_nothing_else(parse, run, mode, right, wrong, firm):
    program = parse(RESIZE.format(mode), 18)
    fed = {"x": np.array([[[[0, 255, 255, 0]]]], np.uint8)}
    both = [run(n, np.array([[[y]]], np.uint8)) for n, y in (("reference", right), ("onnxruntime:all", wrong))]
    assert [not v.suspect for v in judge(program, fed, both)] == [firm]


SIGMOID = "g (float[2] x) => (float[2] y) { y = Sigmoid(x) }"


def test_rules_that_nobody_keeps_convict_nobody(parse, run):
    fed = {"x": np.array([INF, NAN], np.float32)}
    results = [run("a", np.array([NAN, 0], np.float32)), run("b", np.array([1, 1], np.float32))]
    found = judge(parse(SIGMOID), fed, results, rerun=lambda *_: results)
    assert found
    assert all(v.suspect and v.rule != "ONNX's rules" for v in found)


def test_what_irfuzz_writes_is_no_second_reading(parse, run):
    program, fed = parse(SIGMOID), {"x": np.array([INF, NAN], np.float32)}
    right, wrong = np.array([1, NAN], np.float32), np.array([1, 0], np.float32)
    results = [run("torch:eager", right), run("tensorflow:eager", right), run("onnxruntime:all", wrong)]
    (verdict,) = judge(program, fed, results, rerun=lambda *_: results)
    assert verdict.suspect
    (verdict,) = judge(program, fed, [*results, run("numpy:eager", right)], rerun=lambda *_: results)
    assert (verdict.target, verdict.suspect) == ("onnxruntime:all", False)


def test_two_witnesses_and_the_rules_outweigh_two_that_agree(parse, run):
    program = parse("g (float[2] x) => (float[1] y) { y = ReduceLogSumExp(x) }", 18)
    fed = {"x": np.array([-INF, -INF], np.float32)}
    right, wrong = np.array([-INF], np.float32), np.array([NAN], np.float32)
    old = [run("reference", wrong), run("onnxruntime:all", wrong)]
    found = judge(program, fed, [*old, run("a", right)], rerun=lambda *_: old)
    assert [v.suspect for v in found] == [True, True]
    found = judge(program, fed, [*old, run("a", right), run("b", right)], rerun=lambda *_: old)
    assert [(v.target, v.suspect) for v in found] == [("onnxruntime:all", False), ("reference", False)]


def test_elements_stay_decided_on_their_way_and_open_ones_open(parse):
    program = parse(
        "g (float[2,2] x, bfloat16[2] h) => (bool[4] y, float[2,2] w, bfloat16[2] m)"
        " <int64[1] s = {-1}, float z = {0.5}> {"
        "  r = Relu(x)  t = Transpose<perm=[1,0]>(r)  f = Reshape(t, s)  y = Greater(f, z)"
        "  q = Less(x, z)  w = Where(q, z, x)  m = Neg(h) }",
        18,
    )
    fed = {"x": np.array([[NAN, 3], [0.25, -1]], np.float32), "h": np.array([INF, 2]).astype(ml_dtypes.bfloat16)}
    decided = DecidedValues(program, fed, ExactIntegers(program, fed))
    y, w, m = (decided.of(v) for v in program.graph.outputs)
    assert y.decided.tolist() == [False, True, True, True]
    assert y.values.tolist()[1:] == [False, True, False]
    assert w.known
    assert np.array_equal(w.values, [[NAN, 3], [0.5, 0.5]], equal_nan=True)
    assert m.values.tolist() == [-INF, -2]


def test_every_rule_is_of_an_operator():
    assert set(trait_values("decided").values()) == set(RULES)
