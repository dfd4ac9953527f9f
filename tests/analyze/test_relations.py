"""Relations that hold for some programs and not for their neighbours: runtimes stay within what is said."""

from __future__ import annotations

import itertools
from collections.abc import Mapping

import numpy as np
import onnx
import pytest
from onnx import parser

from irfuzz.analyze.initial_ranges import Ranges
from irfuzz.analyze.numeric_range_analysis import Analysis, analyze
from irfuzz.ir.program import Program

pytestmark = pytest.mark.backend

ELEMENT = {1: np.float32, 9: np.bool_, 11: np.float64}

Given = Mapping[str, tuple[float, float]]

CASES: Mapping[str, tuple[str, Given]] = {
    "maximum-of-rows-spread-over-columns": (
        """
        g (float[4,4] x) => (float[4,4] y) { m = ReduceMax<axes=[1],keepdims=0>(x)
        y = Sub(x, m) }
        """,
        {"x": (-10, 10)},
    ),
    "sum-of-rows-spread-over-columns": (
        """
        g (float[4,4] x) => (float[4,4] y) { a = Constant<value=int64[1]{1}>()
        m = ReduceSum<keepdims=0>(x,a)
        y = Div(x, m) }
        """,
        {"x": (1, 100)},
    ),
    "exponentials-less-maximum-of-other-axis": (
        """
        g (float[4,4] x) => (float[4] y) { a = Constant<value=int64[1]{1}>()
        m = ReduceMax<axes=[1],keepdims=0>(x)
        d = Sub(x, m)
        e=Exp(d)
        y = ReduceSum<keepdims=0>(e,a) }
        """,
        {"x": (-10, 10)},
    ),
    "quotient-of-the-same-numbers-as-integers-and-floats": (
        """
        g (float[1] x) => (int64[1] y, float[1] z) { a = Constant<value=int64[1]{7}>()
        b = Constant<value=int64[1]{2}>()
        c = Constant<value=float[1]{7.0}>()
        d = Constant<value=float[1]{2.0}>()
        y = Div(a,b)
        w = Div(c,d)
        z=Sub(w,x) }
        """,
        {"x": (0, 0)},
    ),
    "sums-of-three-ones-and-of-five": (
        """
        g (float[1] x) => (float s, float t) { a = Constant<value=float[3]{1.0,1.0,1.0}>()
        b = Constant<value=float[5]{1.0,1.0,1.0,1.0,1.0}>()
        s = ReduceSum<keepdims=0>(a)
        t=ReduceSum<keepdims=0>(b) }
        """,
        {},
    ),
    "softmax-of-two-ones-and-of-five": (
        """
        g (float[1] x) => (float[2] s, float[5] t) { a = Constant<value=float[2]{1.0,1.0}>()
        b = Constant<value=float[5]{1.0,1.0,1.0,1.0,1.0}>()
        s = Softmax(a)
        t=Softmax(b) }
        """,
        {},
    ),
    "products-of-three-ones-and-of-five": (
        """
        g (float[1] x) => (float s, float t) { a = Constant<value=float[3]{1.0,1.0,1.0}>()
        b = Constant<value=float[5]{1.0,1.0,1.0,1.0,1.0}>()
        s = MatMul(a,a)
        t=MatMul(b,b) }
        """,
        {},
    ),
    "one-name-in-both-branches": (
        """
        g (bool c, bool d, float[2] x) => (float[2] y) {
        p = If (c) <then_branch = g1 () => (float[2] o1) { w = Constant<value=float[2]{1.0,2.0}>()
        o1 = Identity(w) }, else_branch = g2 () => (float[2] o2) { w = Constant<value=float[2]{100.0,200.0}>()
        o2 = Identity(w) }>
        y = Add(p, x) }
        """,
        {"x": (0, 1)},
    ),
    "limits-of-the-same-range": (
        """
        g (float[4] x, float a, float b) => (float[4] y) { p = Clip(x,a)
        q = Clip(x,b)
        y = Sub(p,q) }
        """,
        {"x": (-10, 10), "a": (0, 1), "b": (0, 1)},
    ),
    "slices-of-one-axis-and-of-two": (
        """
        g (float[N,2] x) => (float y) { s = Constant<value=int64[2]{1,1}>()
        e = Constant<value=int64[2]{3,3}>()
        s1 = Constant<value=int64[1]{1}>()
        e1 = Constant<value=int64[1]{3}>()
        p = Slice(x,s,e)
        q=Slice(x,s1,e1)
        u=ReduceSum<keepdims=0>(p)
        v=ReduceSum<keepdims=0>(q)
        y=Sub(u,v) }
        """,
        {"x": (-10, 10)},
    ),
    "a-row-once-and-three-times": (
        """
        g (float[N,2] x) => (float y) { s = Constant<value=int64[1]{0}>()
        t = Constant<value=int64[3]{0,0,0}>()
        p = Gather(x,s)
        q=Gather(x,t)
        u=ReduceSum<keepdims=0>(p)
        v=ReduceSum<keepdims=0>(q)
        y=Sub(u,v) }
        """,
        {"x": (-10, 10)},
    ),
    "sums-in-single-and-in-double-precision": (
        """
        g (float[64] x) => (double[64] y) { c = Constant<value=float {0.1}>()
        d=Cast<to=11>(c)
        p=Add(x,c)
        q=Cast<to=11>(p)
        r=Cast<to=11>(x)
        s=Add(r,d)
        y=Sub(q,s) }
        """,
        {"x": (-10, 10)},
    ),
    "halves-of-the-smallest-numbers": (
        """
        g (float[64] x) => (float[64] y) { c = Constant<value=float {0.5}>()
        d = Constant<value=float {2.0}>()
        p=Mul(x,c)
        q=Mul(p,d)
        y=Sub(q,x) }
        """,
        {"x": (0, 1e-44)},
    ),
    "loop-that-ends-before-its-count": (
        """
        g (float x) => (float y) { t = Constant<value=int64 {5}>()
        c=Constant<value=bool {1}>()
        z=Constant<value=float {0.0}>()
        one=Constant<value=float {1.0}>()
        r = Loop(t,c,z) <body = b (int64 i, bool ci, float s) => (bool co, float o) { co = Constant<value=bool
        {0}>()
        o = Add(s, one) }>
        y = Add(r, x) }
        """,
        {"x": (0, 0)},
    ),
    "state-that-grows-in-a-loop": (
        """
        g (float[1] x) => (float[N] y, float q) { t = Constant<value=int64 {20}>()
        c=Constant<value=bool {1}>()
        z=Constant<value=float {0.0}>()
        y, q = Loop(t,c,x,z) <body = b (int64 i, bool ci, float[N] s, float m) => (bool co, float[M] o, float p) {
        co = Identity(ci)
        o = Concat<axis=0>(s, x)
        p = ReduceSum<keepdims=0>(s) }> }
        """,
        {"x": (0, 1)},
    ),
}


def outside(text: str, given: Given, opset: int = 17) -> tuple[list[str], Analysis]:
    """Outputs that ONNXRuntime computed outside of their range, over corners and draws; and the analysis."""
    ort = pytest.importorskip("onnxruntime")
    model = parser.parse_model(f'<ir_version: 8, opset_import: ["" : {opset}]> {text}')
    found = analyze(Program.from_proto(model), Ranges(given))
    session = ort.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    names = [o.name for o in model.graph.output]
    rng = np.random.default_rng(0)
    wrong: set[str] = set()
    for turn in range(40):
        results = session.run(
            names, {i.name: _drawn(i, given.get(i.name, (0, 1)), turn, rng) for i in model.graph.input}
        )
        for name, result in zip(names, results, strict=True):
            bounds, elements = found.ranges[name], np.asarray(result, np.float64)
            numbers = elements[~np.isnan(elements)]
            inside = bool(np.all((numbers >= bounds.low) & (numbers <= bounds.high)))
            if not inside or (numbers.size < elements.size and not bounds.nan):
                wrong.add(name)
    return sorted(wrong), found


def _drawn(value: onnx.ValueInfoProto, ends: tuple[float, float], turn: int, rng: np.random.Generator) -> np.ndarray:
    kind = value.type.tensor_type
    shape = [d.dim_value or 4 for d in kind.shape.dim]
    drawn = rng.uniform(*ends, shape)
    if turn % 2:
        drawn = np.where(rng.random(shape) < 0.5, *ends)
    return np.asarray(drawn > 0.5 if kind.elem_type == onnx.TensorProto.BOOL else drawn).astype(ELEMENT[kind.elem_type])


@pytest.mark.parametrize("name", CASES)
def test_runtimes_stay_inside(name: str) -> None:
    text, given = CASES[name]
    wrong, found = outside(text, given)
    assert not wrong, {n: found.ranges[n] for n in wrong}
    # After a warning nothing would be promised.
    assert not found.warnings
    assert not found.unjudged


def test_values_that_take_many_turns_through_a_loop_stay_inside() -> None:
    count = 12
    states = [f"s{i}" for i in range(count)]
    moves = " ".join(f"o{i} = Identity({s})" for i, s in enumerate(states[:-1], 1))
    text = f"""
    g (float x) => (float y) <int64 t = {{40}}, bool c = {{1}}, float z = {{0}}, float one = {{1}}> {{
      {", ".join(f"r{i}" for i in range(count))} = Loop(t, c, {", ".join(["z"] * count)}) <body = b
        (int64 i, bool go, {", ".join(f"float {s}" for s in states)})
        => (bool on, {", ".join(f"float o{i}" for i in range(count))})
        {{ on = Identity(go) o0 = Add(s0, one) {moves} }}>
      y = Add(r{count - 1}, x)
    }}"""
    wrong, found = outside(text, {"x": (0, 0)})
    assert not wrong, found.ranges["y"]


@pytest.mark.parametrize(("axes", "keepdims"), [*itertools.product(("[0]", "[1]"), (0, 1))])
def test_what_is_known_of_the_largest_along_an_axis_stays_known(axes: str, keepdims: int) -> None:
    text = (
        f"g (float[4,4] x) => (float[4,4] y) {{ m = ReduceMax<axes = {axes}, keepdims = {keepdims}>(x) y = Sub(x, m) }}"
    )
    wrong, found = outside(text, {"x": (-10, 10)})
    assert not wrong
    assert found.ranges["y"].high == (20 if axes == "[1]" and not keepdims else 0)


SPREAD = "g (float[2,4,300] x) => (float[2,4,300] y) <float[4] s = {1,1,1,1}, float[4] b = {0,0,0,0}>"


def test_rounding_makes_the_variance_of_equal_elements_negative_in_groups() -> None:
    text = f"{SPREAD} {{ y = GroupNormalization<num_groups = 2>(x, s, b) }}"
    _, found = outside(text, {"x": (999.9, 1000.2)}, 21)
    (warning,) = found.warnings
    assert warning.fault.kind == "domain"
    _, found = outside(text, {"x": (-0.01, 0.01)}, 21)
    assert not found.warnings


def test_normalised_equal_elements_deviate_by_what_their_products_are_rounded_by() -> None:
    text = """g (float[7,4,1] x) => (float[7,4,1] y)
    <float[4] s = {-2, 1, 2, 2.29}, float[4] b = {-1.3, -1.2, 2.6, 2.763}> { y = InstanceNormalization(x, s, b) }"""
    wrong, found = outside(text, {"x": (-88, 200)})
    assert not wrong
    assert 2.763 + 1e-3 < found.ranges["y"].high < 3


BRANCHES = {
    "own-element": "g (float x) => (float y) { c = Greater(x, z)",
    "smallest": "g (float[4] x) => (float[4] y) { m = ReduceMin<keepdims = 0>(x) c = Greater(m, z)",
    "not-that-one": "g (float[4] x) => (float[4] y) { m = ReduceMax<keepdims = 0>(x) c = Greater(m, z)",
}


@pytest.mark.parametrize(("name", "faults"), [("own-element", []), ("smallest", []), ("not-that-one", ["a"])])
def test_branches_are_followed_under_their_condition(name: str, faults: list[str]) -> None:
    head, body = BRANCHES[name].split(" {", 1)
    kind = "float" if name == "own-element" else "float[4]"
    text = f"""{head} <float z = {{0}}> {{ {body} y = If(c) <
      then_branch = t () => ({kind} a) {{ a = Log(x) }}, else_branch = e () => ({kind} b) {{ b = Abs(x) }}> }}"""
    wrong, found = outside(text, {"x": (-3, 3)})
    assert [w.output for w in found.warnings] == faults
    assert not wrong or faults


def test_the_other_branch_is_followed_under_the_opposite() -> None:
    text = """g (float x) => (float y) <float z = {0}> { c = Greater(x, z) y = If(c) <
      then_branch = t () => (float a) { a = Neg(x) }, else_branch = e () => (float b) { b = Log(x) }> }"""
    _, found = outside(text, {"x": (-3, 3)})
    (warning,) = found.warnings
    assert (warning.output, warning.fault.range.high) == ("b", 0)


def test_warnings_in_loops_name_the_inputs_of_their_states() -> None:
    text = """g (float x, float w) => (float y) <int64 t = {40}, bool c = {1}, float one = {1}> {
      y = Loop(t, c, x) <body = b (int64 i, bool go, float s) => (bool on, float o) {
        on = Identity(go) q = Div(one, w) o = Log(s) }> }"""
    _, found = outside(text, {"x": (-3, 3), "w": (-1, 1)})
    assert {w.output: w.inputs for w in found.warnings} == {"q": ("w",), "o": ("w", "x")}


@pytest.mark.parametrize("pool", ["MaxPool<kernel_shape = [2]>", "GlobalMaxPool"])
def test_the_largest_of_nothing_but_nan_is_the_lowest_number(pool: str) -> None:
    text = f"g (float[1,1,2] x) => (float[1,1,1] y) <float[1,1,2] n = {{nan, nan}}> {{ s = Add(x, n) y = {pool}(s) }}"
    wrong, _ = outside(text, {"x": (0, 1)})
    assert not wrong


def test_what_lies_beyond_a_crop_is_a_number_of_its_type() -> None:
    text = """g (float16[1,1,4] x) => (float16[1,1,4] y) <float[6] roi = {0, 0, -1, 0, 0, 2}, float[3] s = {1, 1, 1}> {
      y = Resize<coordinate_transformation_mode = "tf_crop_and_resize", extrapolation_value = 0.4991>(x, roi, s) }"""
    model = parser.parse_model(f'<ir_version: 8, opset_import: ["" : 17]> {text}')
    found = analyze(Program.from_proto(model), Ranges({"x": (1, 2)}))
    assert found.ranges["y"].low <= float(np.float16(0.4991)) < 0.4991


@pytest.mark.parametrize(("kind", "kept"), [("int32", True), ("uint32", True), ("int64", False), ("uint64", False)])
def test_integers_of_64_bits_are_rounded_in_double_precision(kind: str, kept: bool) -> None:
    """Not every one of them is a double, so that the range of the doubles is a rounding wider."""
    text = f"""<ir_version: 8, opset_import: ["": 17]> g ({kind}[1] x) => (double[1] y) {{ y = Cast<to=11>(x) }}"""
    most = 2.0**30 if kept else 2.0**60
    found = analyze(Program.from_proto(parser.parse_model(text)), Ranges({"x": (0, most)}))
    assert (found.ranges["y"].high == most) == kept
