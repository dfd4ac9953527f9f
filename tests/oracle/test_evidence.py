"""Excuses hold as far as their evidence goes: what the shadow, the witnesses and the program tell makes them fall."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from irfuzz.execute.float64_shadow_runs import Shadow
from irfuzz.isolate import Limits
from irfuzz.oracle import Symptom, judge
from irfuzz.oracle.excuses import MAJORITY

HALF, DOUBLE = np.float16, np.float64


@pytest.fixture(scope="module", params=["torch", "numpy"])
def shade(request: pytest.FixtureRequest) -> Iterator[Shadow]:
    pytest.importorskip(request.param)
    made = Shadow(Limits(seconds=60), request.param)
    yield made
    made.close()


def wrong(value, **at):
    """A copy with other elements: ``_0=7.0`` puts 7 into the first place."""
    copy = np.array(value)
    for place, element in at.items():
        copy.reshape(-1)[int(place[1:])] = element
    return copy


# ---- types and shapes ------------------------------------------------------------------------


UNDEFINED = "g (float[3] x) => (int64[3] y) { y = Cast<to=7>(x) }"


@pytest.mark.unit
def test_no_value_excuses_a_wrong_type(parse, run):
    x = np.array([1e30, 2.0, 3.0], np.float32)  # beyond int64: the values are nobody's fault
    y = np.array([0, 2, 3])
    (verdict,) = judge(parse(UNDEFINED), {"x": x}, [run("a", y), run("b", y), run("c", y.astype(np.int32))])
    assert (verdict.symptom, verdict.target, verdict.suspect) == (Symptom.WRONG_DTYPE, "c", False)
    (verdict,) = judge(parse(UNDEFINED), {"x": x}, [run("a", y), run("b", y), run("c", wrong(y, _0=5))])
    assert (verdict.symptom, verdict.suspect) == (Symptom.DIFFERENCE, True)
    assert "float_out_of_range" in verdict.doubt


@pytest.mark.unit
def test_a_call_beyond_its_specification_excuses_a_type(parse, run):
    program = parse("g (float[1,1,1] x) => (float[1,1,1] y) { y = GlobalMaxPool(x) }")
    assert not judge(
        program, {"x": np.ones((1, 1, 1), np.float32)}, [run(n, np.ones((1, 1, 1), np.float32)) for n in "ab"]
    )
    program = parse("g (float[1,1] x) => (float[1,1] y) { y = GlobalMaxPool(x) }")  # no spatial axes
    one = np.ones((1, 1), np.float32)
    results = [run("a", one), run("b", one), run("c", one.astype(DOUBLE))]
    (verdict,) = judge(program, {"x": one}, results)
    assert verdict.suspect
    assert "no_spatial_axes" in verdict.doubt


@pytest.mark.unit
@pytest.mark.parametrize(("size", "suspect"), [("3", False), ("N", True)])
def test_undefined_values_excuse_only_a_shape_that_elements_decide(parse, run, size, suspect):
    node = "y = Neg(x)" if size == "3" else "i = Cast<to=7>(x)  y = ConstantOfShape(i)"
    shape, rows = ("float[3]", "3") if size == "3" else ("float[1]", "N")
    program = parse(f"g ({shape} x) => (float[{rows}] y) {{ {node} }}")
    x = np.full(3 if size == "3" else 1, 1e30, np.float32)
    three, four = np.zeros(3, np.float32), np.zeros(4, np.float32)
    (verdict,) = judge(program, {"x": x}, [run("a", three), run("b", three), run("c", four)])
    assert (verdict.symptom, verdict.suspect) == (Symptom.WRONG_SHAPE, suspect)


PLACES = "g (float[3] x) => (int64[1,M] y) { a = Mul(x, x)  b = Floor(a)  y = NonZero(b) }"


@pytest.mark.backend
@pytest.mark.parametrize(("last", "suspect"), [(0.3, False), (1.0000015, True)])
def test_a_computed_shape_is_decided_unless_rounding_changes_it(shade, parse, run, last, suspect):
    program, fed = parse(PLACES), {"x": np.array([2.0, 3.0, last], np.float32)}
    right = np.array([[0, 1]] if last < 0.5 else [[0, 1, 2]])
    results = [run("a", right), run("b", right), run("c", np.array([[0]]))]
    (verdict,) = judge(program, fed, results, shadow=shade.run)
    assert (verdict.symptom, verdict.target, verdict.suspect) == (Symptom.WRONG_SHAPE, "c", suspect)
    (verdict,) = judge(program, fed, results)  # nobody could try
    assert verdict.suspect


@pytest.mark.unit
@pytest.mark.parametrize(("edge", "suspect"), [(4.0, False), (np.float32(0.99999994), True)])
def test_without_a_shadow_moved_inputs_tell_whether_a_shape_is_decided(parse, run, edge, suspect):
    program = parse(
        "g (float[2] x) => (int64[1,M] y) <float[1] o = {1.0}> { m = Mul(x, o)  b = Floor(m)  y = NonZero(b) }"
    )

    def rerun(fed, *_):
        y = np.array(np.nonzero(np.floor(fed["x"])))
        return [run("a", y), run("b", y), run("c", y[:, :1])]

    fed = {"x": np.array([2.5, edge], np.float32)}
    found = judge(program, fed, [*rerun({"x": np.array([2.5, 4.0], np.float32)})], rerun=rerun)
    assert [v.suspect for v in found] == [suspect]


@pytest.mark.unit
@pytest.mark.parametrize(("got", "suspect"), [(np.int8, True), (np.float32, False), (np.int32, False)])
def test_small_types_excuse_the_types_that_they_are_handed_over_in(parse, run, got, suspect):
    program = parse("g (int4[2] x) => (int4[2] y) { y = Identity(x) }", 21)
    x = np.array([1, 2]).astype(program.tensor(program.graph.inputs[0]).dtype.numpy())
    (verdict,) = judge(program, {"x": x}, [run("a", x), run("b", x), run("c", x.astype(got))])
    assert (verdict.symptom, verdict.suspect) == (Symptom.WRONG_DTYPE, suspect)


# ---- NaN and infinities -----------------------------------------------------------------------


NAN, INF = np.nan, np.inf
X = np.array([1.0, NAN, -INF, 4.0], np.float32)


@pytest.mark.unit
@pytest.mark.parametrize(
    ("node", "kind", "right"),
    [
        ("y = IsNaN(x)", "bool", np.isnan(X)),
        ("y = IsInf(x)", "bool", np.isinf(X)),
        ("n = IsNaN(x)  y = Not(n)", "bool", ~np.isnan(X)),
        ("y = Cast<to=11>(x)", "double", X.astype(DOUBLE)),
        ("c = Constant<value=bool[4]{1,1,1,1}>()  y = Compress(x, c)", "float", X),
        ("s = SequenceConstruct(x)  i = Constant<value=int64{0}>()  y = SequenceAt(s, i)", "float", X),
    ],
)
def test_copies_casts_and_questions_are_judged_on_nan(parse, run, node, kind, right):
    program = parse(f"g (float[4] x) => ({kind}[4] y) {{ {node} }}")
    bad = ~right if right.dtype == bool else wrong(right, _1=7.0)
    results = [run("a", right), run("b", right), run("c", bad)]

    def rerun(*_):
        return results

    (verdict,) = judge(program, {"x": X}, results, rerun=rerun)
    assert (verdict.target, verdict.suspect) == ("c", right.dtype == bool and not _measured(node))


def _measured(node: str) -> bool:
    """Moves of the inputs are needed to judge what is computed from floats: one element at least can be moved."""
    return "Is" in node


@pytest.mark.unit
def test_what_integer_nan_is_nobody_says(parse, run):
    program = parse("g (float[4] x) => (int64[4] y) { y = Cast<to=7>(x) }")
    right = np.array([1, 0, 0, 4])
    results = [run("a", right), run("b", right), run("c", wrong(right, _1=5))]
    (verdict,) = judge(program, {"x": X}, results, rerun=lambda *_: results)
    assert verdict.suspect


@pytest.mark.backend
@pytest.mark.parametrize(
    ("node", "element", "got", "suspect"),
    [("Relu(x)", INF, 3e38, False), ("Relu(x)", NAN, 0.0, True), ("Relu(x)", NAN, 3e38, False),
     ("MaxPool<kernel_shape=[1]>(x)", -INF, 3e38, False), ("Softmax(x)", INF, 3e38, True),
     ("ReduceMax<keepdims=1>(x)", INF, 3e38, False)],
)  # fmt: skip
def test_order_says_what_becomes_of_an_infinity_and_not_of_nan(shade, parse, run, node, element, got, suspect):
    x = np.array([[[1.0, 2.0, element]]], np.float32)
    right = {"R": np.maximum(x, 0), "M": x, "S": np.array([[[0, 0, NAN]]], np.float32)}[node[0]]
    if node.startswith("ReduceMax"):
        right = np.full((1, 1, 1), element, np.float32)
    program = parse(f"g (float[1,1,3] x) => (float[1,1,{right.shape[-1]}] y) {{ y = {node} }}")
    results = [run("a", right), run("b", right), run("c", wrong(right, **{f"_{right.size - 1}": got}))]
    (verdict,) = judge(program, {"x": x}, results, shadow=shade.run)
    assert (verdict.target, verdict.suspect) == ("c", suspect)


ROUNDED = "g (float[3] x) => (float[3] y) { h = Cast<to=10>(x)  y = Cast<to=1>(h) }"


@pytest.mark.backend
@pytest.mark.parametrize(
    ("element", "got", "suspect"),
    [
        (INF, 5.0, False),  # infinite in every run of the shadow, as it was fed
        (7.0, INF, False),  # moderate, and the witnesses give it
        (70000.0, 70000.0, True),  # beyond half precision, which a component may not keep
        (65519.0, INF, True),  # a rounding decides
    ],
)
def test_an_infinity_is_decided_if_no_run_of_the_shadow_moves_it(shade, parse, run, element, got, suspect):
    x = np.array([1.0, 2.0, element], np.float32)
    with np.errstate(over="ignore"):
        right = x.astype(HALF).astype(np.float32)
    results = [run("a", right), run("b", right), run("c", wrong(right, _2=got))]
    (verdict,) = judge(parse(ROUNDED), {"x": x}, results, shadow=shade.run)
    assert (verdict.symptom, verdict.target, verdict.suspect) == (Symptom.NAN_INF, "c", suspect)


NORMALISED = """g (float[1,4] x) => (float[1,4] y) <float[1] e = {0.00001}> {
    m = ReduceMean<axes=[1]>(x)  d = Sub(x, m)  q = Mul(d, d)  v = ReduceMean<axes=[1]>(q)
    w = Add(v, e)  s = Sqrt(w)  n = Div(d, s)  y = Relu(n) }"""


def normalised(x):
    d = x - x.mean(axis=1, keepdims=True)
    return np.maximum(d / np.sqrt((d * d).mean(axis=1, keepdims=True) + 1e-5), 0).astype(np.float32)


@pytest.mark.backend
@pytest.mark.parametrize("bad", [9.0, NAN])
def test_a_variance_plus_an_epsilon_makes_no_nan(shade, parse, run, bad):
    x = np.array([[1.0, 2.0, 3.0, 5.0]], np.float32)
    right = normalised(x)
    results = [run("a", right), run("b", right), run("c", wrong(right, _3=bad))]
    (verdict,) = judge(parse(NORMALISED), {"x": x}, results, shadow=shade.run)
    assert (verdict.target, verdict.suspect) == ("c", False)


@pytest.mark.backend
def test_a_root_of_what_is_negative_may_be_hidden(shade, parse, run):
    program = parse("g (float[2] x) => (float[2] y) { s = Sqrt(x)  y = Relu(s) }")
    x = np.array([4.0, -4.0], np.float32)
    zero, kept = np.array([2.0, 0.0], np.float32), np.array([2.0, NAN], np.float32)
    results = [run("a", zero), run("b", zero), run("c", kept)]
    found = judge(program, {"x": x}, results, shadow=shade.run)
    assert all(v.suspect for v in found)


@pytest.mark.backend
@pytest.mark.parametrize(("x", "suspect"), [(100.0, False), (3e38, True)])
def test_a_moderate_result_that_the_witnesses_give_overflows_by_ones_own_fault(shade, parse, run, x, suspect):
    """Softplus as ``log(1 + exp(x))`` in single precision."""
    program = parse("g (float[2] x) => (float[2] y) { y = Softplus(x) }")
    fed = np.array([1.0, x], np.float32)
    right = np.logaddexp(0, fed.astype(DOUBLE)).astype(np.float32)
    results = [run("a", right), run("b", right), run("c", wrong(right, _1=INF))]
    (verdict,) = judge(program, {"x": fed}, results, shadow=shade.run)
    assert (verdict.symptom, verdict.target, verdict.suspect) == (Symptom.NAN_INF, "c", suspect)


@pytest.mark.backend
@pytest.mark.parametrize(("large", "suspect"), [(1e20, False), (1e30, True)])
def test_large_inputs_excuse_nobody_if_nothing_overflows(shade, parse, run, large, suspect):
    program = parse("g (float[2] x, float[2] c) => (float[2] y) { m = Mul(x, c)  d = Mul(m, m)  y = Tanh(d) }")
    fed = {"x": np.array([1e-20, 0.5 / large], np.float32), "c": np.full(2, large, np.float32)}
    fed["x"][0] = 1e38 / large if suspect else 1e-20
    with np.errstate(over="ignore"):
        right = np.tanh((fed["x"] * fed["c"]) ** 2).astype(np.float32)
    results = [run("a", right), run("b", right), run("c", wrong(right, _1=0.9))]
    (verdict,) = judge(program, fed, results, shadow=shade.run)
    assert (verdict.target, verdict.suspect) == ("c", suspect)


# ---- NaN where ONNX leaves it open ---------------------------------------------------------------


LIBRARIES = ("reference", "torch", "tensorflow")


@pytest.mark.unit
@pytest.mark.parametrize(
    ("node", "names", "suspect"),
    [
        ("Max(x, c)", LIBRARIES[:MAJORITY], False),
        ("Max(x, c)", LIBRARIES[: MAJORITY - 1], True),
        ("Max(x, c)", ("reference", "numpy", "torch"), True),  # numpy's kernels, twice
        ("Sign(x)", LIBRARIES, False),
        ("Relu(x)", LIBRARIES, False),
        ("ThresholdedRelu(x)", LIBRARIES, True),
    ],
)
def test_three_libraries_contradict_one_about_nan(parse, run, node, names, suspect):
    program = parse(f"g (float[4] x) => (float[4] y) <float[1] c = {{0.5}}> {{ y = {node} }}")
    right = np.where(np.isnan(X), X, np.float32(0.5))
    results = [*(run(n, right) for n in names), run("onnxruntime:disabled", wrong(right, _1=0.0))]
    (verdict,) = judge(program, {"x": X}, results, rerun=lambda *_: results)
    assert (verdict.target, verdict.suspect) == ("onnxruntime:disabled", suspect)


@pytest.mark.unit
@pytest.mark.parametrize(("consistent", "suspect"), [(True, True), (False, False)])
@pytest.mark.parametrize("node", ["Max(x, c)", "ReduceMax<axes=[1]>(x)"])
def test_a_kernel_that_does_two_things_with_nan_contradicts_itself(parse, run, node, consistent, suspect):
    keeps = node.startswith("Max")
    program = parse(f"g (float[1,8] x) => (float[1,{8 if keeps else 1}] y) <float[1] c = {{-9.0}}> {{ y = {node} }}")

    def right(x):
        return x if keeps else x.max(axis=1, keepdims=True)

    def other(x):
        """Loses NaN: everywhere, or only in its tail."""
        cleared = np.where(np.isnan(x), np.float32(-9), x)
        lost = cleared if consistent else np.concatenate([x[:, :6], cleared[:, 6:]], axis=1)
        return lost if keeps else lost.max(axis=1, keepdims=True)

    def rerun(fed, *_):
        return [run("reference", right(fed["x"])), run("torch", right(fed["x"])), run("c", other(fed["x"]))]

    x = np.arange(8, dtype=np.float32).reshape(1, 8)
    x[0, 7] = NAN
    (verdict,) = judge(program, {"x": x}, rerun({"x": x}), rerun=rerun)
    assert (verdict.target, verdict.suspect) == ("c", suspect)
