"""Faults that the benchmark does not have: each is warned of, its mended twin is not, and what is called safe is."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import onnx
import pytest
from onnx import numpy_helper, parser

from irfuzz.analyze.initial_ranges import Ranges
from irfuzz.analyze.numeric_range_analysis import analyze
from irfuzz.analyze.safe_input_ranges import preconditions
from irfuzz.analyze.warning_examination import judge
from irfuzz.ir.program import Program
from irfuzz.report.command_reports.numeric_analysis import as_text

pytestmark = pytest.mark.unit

Given = Mapping[str, tuple[float, float]]
CONSTANTS = {
    "zero": np.array(0, np.float32),
    "two": np.array([2, 2]),
    "first": np.array([0, 1]),
    "last": np.array([-1, -2]),
    "ends": np.array([0, 3]),
    "rows": np.array([[1], [2]]),
    **{f"at{i}": np.array([i]) for i in range(8)},
    "inf": np.array(np.inf, np.float32),
    "low": np.array(-np.inf, np.float32),
    "nan": np.array(np.nan, np.float32),
    "one": np.array(1, np.float32),
    "three": np.array(3, np.float64),
    "third": np.array(1 / 3, np.float64),
}


def program(body: str, *, opset: int = 17) -> Program:
    """A program in ONNX's text format, with what it reads of ``CONSTANTS``."""
    model = parser.parse_model(f'<ir_version: 8, opset_import: ["":{opset}]> g {body}')
    read = {name for node in model.graph.node for name in node.input}
    model.graph.initializer.extend(numpy_helper.from_array(a, n) for n, a in CONSTANTS.items() if n in read)
    onnx.checker.check_model(model)
    return Program.from_proto(model)


def warned(body: str, given: Given, *, opset: int = 17) -> list[tuple[str, str]]:
    return [(w.op, w.fault.kind) for w in analyze(program(body, opset=opset), Ranges(given)).warnings]


@pytest.mark.parametrize(
    ("body", "given", "faults"),
    [
        pytest.param(
            "(float[4] x, float[4] m) => (float[4] y) { n = Sub(one, m) p = Mul(n, low) y = Add(x, p) }",
            {"x": (-1, 1), "m": (0, 1)},
            [("Mul", "domain")],
            id="nothing-times-infinity",
        ),
        pytest.param(
            "(float[4] x) => (float[4] y) { p = Add(x, inf) y = Sub(p, inf) }",
            {"x": (-1, 1)},
            [("Sub", "domain")],
            id="infinity-less-infinity",
        ),
        pytest.param(
            "(float[4] x) => (float[4] y) { p = Add(x, inf) y = Div(p, inf) }",
            {"x": (-1, 1)},
            [("Div", "domain")],
            id="infinity-by-infinity",
        ),
        pytest.param(
            "(float[2,4] x, bool[2,4] m) => (float[2,4] y)"
            " { p = Where(m, x, low) q = ReduceMax<axes=[1]>(p) d = Sub(p, q) y = Exp(d) }",
            {"x": (-1, 1)},
            [("Sub", "domain")],
            id="everything-masked",
        ),
        pytest.param(
            "(float[2,4] x, bool[2,4] m) => (float[2,4] y) { p = Where(m, x, low) y = Exp(p) }",
            {"x": (-1, 1)},
            [],
            id="masked-and-meant",
        ),
        pytest.param(
            "(float[4] x) => (float[4] y) { p = Add(x, nan) y = Mul(p, p) }",
            {"x": (-1, 1)},
            [("Add", "domain")],
            id="constant-nan",
        ),
        pytest.param(
            "(double[4] x) => (double[4] y) { a = Div(x, three) b = Mul(x, third) d = Sub(b, a) y = Sqrt(d) }",
            {"x": (0, 30)},
            [("Sqrt", "domain")],
            id="a-third-and-its-rounded-factor",
        ),
        pytest.param(
            "(float[2,3,8] x, float[3] s, float[3] b, float[3] m, float[3] v)"
            " => (float[2,3,8] y, float[3] n, float[3] w)"
            " { y, n, w = BatchNormalization<epsilon=0.0,training_mode=1>(x, s, b, m, v) }",
            {"x": (-1, 1), "s": (1, 1), "b": (0, 0), "m": (0, 0), "v": (1, 1)},
            [("BatchNormalization", "division")],
            id="training-without-epsilon",
        ),
        pytest.param(
            "(float[1,4,2,2] x) => (float[1,4,2,2] y) { y = LRN<size=3,bias=0.0>(x) }",
            {"x": (0, 1)},
            [("LRN", "division")],
            id="lrn-without-bias",
        ),
        pytest.param(
            "(float[1,4,2,2] x) => (float[1,4,2,2] y) { y = LRN<size=3>(x) }", {"x": (0, 1)}, [], id="lrn-with-bias"
        ),
        pytest.param(
            "(float[2,4] x) => (float[2,4] y) { y = LpNormalization(x) }",
            {"x": (1e-30, 1e-25)},
            [("LpNormalization", "division")],
            id="squares-that-are-nothing",
        ),
        pytest.param(
            "(float[2,4] x) => (float[2,4] y) { y = LpNormalization(x) }", {"x": (1e-3, 1)}, [], id="squares-that-are"
        ),
        pytest.param(
            "(float[2,3] x, int64[2] t) => (float y) { y = SoftmaxCrossEntropyLoss<ignore_index=1>(x, t) }",
            {"x": (-5, 5), "t": (0, 2)},
            [("SoftmaxCrossEntropyLoss", "division")],
            id="all-labels-ignored",
        ),
        pytest.param(
            "(float[2,3] x, int64[2] t) => (float y) { y = SoftmaxCrossEntropyLoss<ignore_index=-1>(x, t) }",
            {"x": (-5, 5), "t": (0, 2)},
            [],
            id="no-label-ignored",
        ),
        pytest.param(
            "(float[2,3] x, int64[2] t, float[3] w) => (float y) { y = NegativeLogLikelihoodLoss(x, t, w) }",
            {"x": (-5, 0), "t": (0, 2), "w": (0, 1)},
            [("NegativeLogLikelihoodLoss", "division")],
            id="weights-of-nothing",
        ),
        pytest.param(
            "(float[2,3] x, int64[2] t, float[3] w) => (float y) { y = NegativeLogLikelihoodLoss(x, t, w) }",
            {"x": (-5, 0), "t": (0, 2), "w": (0.1, 1)},
            [],
            id="weights",
        ),
    ],
)
def test_faults_and_mended_twins(body: str, given: Given, faults: list[tuple[str, str]]) -> None:
    assert warned(body, given) == faults


A, B = {"a": (1, 2), "u": (0, 1)}, {"a": (0, 0), "u": (1, 2)}
CUT = "z = Slice(c, {0}, {1}) y = Log(z) }}"


@pytest.mark.parametrize(
    ("body", "given", "low", "high", "faulty"),
    [
        pytest.param("(float[4] a) => (float[n] y) { c = Pad(a, two, zero)", {"a": (1, 2)}, 2, 6, False, id="pad"),
        pytest.param(
            "(float[4] a) => (float[n] y) { c = Pad(a, two, zero)", {"a": (1, 2)}, 2, 7, True, id="pad-beyond"
        ),
        pytest.param(
            "(float[4] a) => (float[n] y) { c = Pad(a, two, zero)", {"a": (1, 2)}, 1, 6, True, id="pad-before"
        ),
        pytest.param(
            "(float[4] a, float[2] u) => (float[n] y) { c = ScatterElements(a, first, u)", A, 2, 4, False, id="rest"
        ),
        pytest.param(
            "(float[4] a, float[2] u) => (float[n] y) { c = ScatterElements(a, first, u)", A, 1, 4, True, id="put"
        ),
        pytest.param(
            "(float[4] a, float[2] u) => (float[n] y) { c = ScatterElements(a, last, u)", B, 2, 4, False, id="from-end"
        ),
        pytest.param(
            "(float[4] a, float[2] u) => (float[n] y) { c = ScatterElements(a, ends, u)", B, 0, 4, True, id="apart"
        ),
        pytest.param("(float[4] a, float[2] u) => (float[n] y) { c = ScatterND(a, rows, u)", B, 1, 3, False, id="rows"),
        pytest.param(
            "(float[4] a, float[2] u) => (float[n] y) { c = ScatterND(a, rows, u)", B, 1, 4, True, id="rows-beyond"
        ),
    ],
)
def test_pad_and_scatter_cut_partitions(body: str, given: Given, low: int, high: int, faulty: bool) -> None:
    assert bool(warned(f"{body} {CUT.format(f'at{low}', f'at{high}')}", given)) is faulty


@pytest.mark.parametrize(("low", "faulty"), [(0.1, False), (0.0, True)])
def test_means_over_open_sizes_stay_positive(low: float, faulty: bool) -> None:
    body = "(float[N,M] x) => (float[N,1] y) { m = ReduceMean<axes=[1]>(x) y = Log(m) }"
    assert bool(warned(body, {"x": (low, 1)})) is faulty


@pytest.mark.parametrize(
    ("body", "given", "name"),
    [
        pytest.param(
            "(float[4] x) => (float[4] y) { t = Softplus(x) y = Reciprocal(t) }",
            {"x": (-200, 20)},
            "x",
            id="not-0-but-so-small-that-its-reciprocal-is-infinite",
        ),
        pytest.param("(float16[4] x) => (float16[4] y) { y = Exp(x) }", {"x": (-20, 20)}, "x", id="half-precision"),
        pytest.param("(float[4] x) => (float[4] y) { y = Reciprocal(x) }", {"x": (0, 1e-30)}, "x", id="small"),
    ],
)
def test_a_precondition_leaves_no_warning_at_the_call(body: str, given: Given, name: str) -> None:
    model = program(body)
    (warning,) = analyze(model, Ranges(given)).warnings
    (found,) = preconditions(model, warning, Ranges(given))
    assert found.input == name
    assert given[name][0] <= found.low < found.high <= given[name][1]
    assert analyze(model, Ranges({**given, name: (found.low, found.high)})).warnings == []
    narrow = np.float16 if "float16" in body else np.float32
    assert (float(narrow(found.low)), float(narrow(found.high))) == (found.low, found.high)


def test_preconditions_are_told_as_they_were_proved() -> None:
    body = "(float[4] m) => (float[4] y) { n = Sub(one, m) y = Mul(n, low) }"
    report = judge(program(body), Ranges({"m": (0, 1)}), witness_seconds=0)
    assert f"safe with m in [0, {1 - 2**-24!r}]" in as_text(report, "model.onnx")


@pytest.mark.parametrize(
    ("written", "faults"), [("-inf", []), ("inf", []), ("1.0", []), ("nan", [("Constant", "overflow")])]
)
def test_an_infinity_that_is_written_down_is_meant(written: str, faults: list[tuple[str, str]]) -> None:
    node = onnx.helper.make_node(
        "Constant", [], ["c"], value=numpy_helper.from_array(np.array(float(written), np.float32))
    )
    model = parser.parse_model(
        '<ir_version: 8, opset_import: ["":17]> g (float[2] x) => (float[2] y) { y = Max(x, c) }'
    )
    model.graph.node.insert(0, node)
    found = analyze(Program.from_proto(model), Ranges({"x": (-1, 1)})).warnings
    assert [(w.op, w.fault.kind) for w in found] == faults
