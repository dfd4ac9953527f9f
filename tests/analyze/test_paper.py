"""What DEBAR's paper shows: listing 1, the tables of abstract operations, the unsafe conditions, the architectures."""

from __future__ import annotations

import math

import pytest
from onnx import parser

from benchmarks.numeric.case import Case
from benchmarks.numeric.programs import ARCHITECTURES, FURTHER, OTHERS
from irfuzz.analyze.abstract_domain.interval import Range
from irfuzz.analyze.initial_ranges import Ranges
from irfuzz.analyze.numeric_range_analysis import DOMAINS, Analysis, analyze
from irfuzz.ir.program import Program

pytestmark = pytest.mark.unit

LISTING = """
  bottom_left = Sub(center, offset)
  top_right = Add(center, offset)
  rectangle = Concat<axis=0>(bottom_left, top_right)
  bottom, left, top, right = Split<axis=0>(rectangle)
  width = Sub(right, left)
  height = Sub(top, bottom)
  area = Mul(width, height)
  y = Reciprocal(area)
"""


def program(inputs: str, output: str, body: str, constants: str = "") -> Program:
    text = f'<ir_version: 8, opset_import: ["" : 17]> g ({inputs}) => ({output}) {constants} {{ {body} }}'
    return Program.from_proto(parser.parse_model(text))


def listing(offset: tuple[float, float], domain: str) -> Analysis:
    made = program("float[2,100] center, float[2,100] offset", "float[1,100] y", LISTING)
    return analyze(made, Ranges({"center": (-1, 1), "offset": offset}), domain=domain)


@pytest.mark.parametrize(
    ("domain", "area"),
    # Sections 2.1 (intervals), 2.3 (smashing), 2.4 (both techniques) and 2.2 (expansion).
    [
        ("irfuzz", (0, 16)),
        ("debar", (0, 16)),
        ("expansion", (0, 16)),
        ("intervals", (-12, 36)),
        ("smashing", (-36, 36)),
    ],
)
def test_listing_1_has_the_areas_of_the_paper(domain: str, area: tuple[float, float]) -> None:
    found = listing((0, 2), domain).ranges["area"]
    assert found.low == pytest.approx(area[0], abs=1e-4)
    assert found.high == pytest.approx(area[1], rel=1e-5)
    assert area[0] != 0 or found.low == 0


@pytest.mark.parametrize(
    ("domain", "warned"), [("irfuzz", 0), ("debar", 0), ("expansion", 0), ("intervals", 1), ("smashing", 1)]
)
def test_listing_1_is_safe_for_offsets_from_1_on(domain: str, warned: int) -> None:
    assert len(listing((1, 2), domain).warnings) == warned


def ranges_of(
    body: str, inputs: str, output: str, given: dict[str, tuple[float, float]], constants: str = ""
) -> dict[str, Range]:
    return analyze(program(inputs, output, body, constants), Ranges(given)).ranges


def test_addition_aligns_partitions() -> None:
    """The example of section 3.2.1: a is cut behind 2, b behind 5; so is their sum, at both."""
    found = ranges_of(
        "a = Concat<axis=0>(a1, a2) b = Concat<axis=0>(b1, b2) c = Add(a, b) c1, c2, c3 = Split<axis=0>(c, sizes)",
        "float[3] a1, float[7] a2, float[6] b1, float[4] b2",
        "float[3] c1, float[3] c2, float[4] c3",
        {"a1": (1, 1), "a2": (2, 3), "b1": (4, 4), "b2": (5, 6)},
        "<int64[3] sizes = {3, 3, 4}>",
    )
    assert (found["c1"].low, found["c1"].high) == (5, 5)
    assert (found["c2"].low, found["c2"].high) == (6, 7)
    assert (found["c3"].low, found["c3"].high) == (7, 9)


def test_concatenation_and_split_keep_partitions() -> None:
    """Figures 1 and 2: what was put together comes apart as it was."""
    found = ranges_of(
        "c = Concat<axis=0>(a, b) top, bottom = Split<axis=0>(c) left, right = Split<axis=1>(bottom)",
        "float[2,4] a, float[2,4] b",
        "float[2,4] top, float[2,2] left, float[2,2] right",
        {"a": (0, 1), "b": (5, 6)},
    )
    assert (found["top"].low, found["top"].high) == (0, 1)
    assert (found["left"].low, found["right"].high) == (5, 6)


def test_relu_is_related_to_its_argument() -> None:
    """Section 3.1.3: x - relu(x) is at most 0, and relu(x) - x at least 0."""
    found = ranges_of("r = Relu(x) d = Sub(x, r) e = Sub(r, x)", "float[4] x", "float[4] d, float[4] e", {"x": (-3, 5)})
    assert (found["d"].low, found["d"].high) == (pytest.approx(-3), 0)
    assert (found["e"].low, found["e"].high) == (0, pytest.approx(3))


BIG = 3.4028234663852886e38


@pytest.mark.parametrize(
    ("body", "safe", "unsafe"),
    [
        ("y = Exp(x)", (-BIG, 88.7), (0, 88.8)),
        ("y = Log(x)", (2e-45, 1), (0, 1)),
        ("one = Constant<value = float {1.0}>() s = Add(x, one) y = Log(s)", (-0.99, 1), (-1, 1)),
        ("y = Div(x, x2)", (1e-3, 1), (0, 1)),
        ("y = Reciprocal(x)", (-1, -1e-3), (-1, 1)),
        ("y = Sqrt(x)", (0, 1), (-1e-3, 1)),
        ("s = Sqrt(x) y = Reciprocal(s)", (1e-3, 1), (0, 1)),
    ],
)
def test_unsafe_conditions_of_table_2(body: str, safe: tuple[float, float], unsafe: tuple[float, float]) -> None:
    made = program("float[4] x, float[4] x2", "float[4] y", body)
    assert not analyze(made, Ranges({"x": safe, "x2": safe})).warnings
    assert [w.output for w in analyze(made, Ranges({"x": unsafe, "x2": unsafe})).warnings] == ["y"]


def case_of(case: Case, domain: str = "irfuzz") -> Analysis:
    return analyze(Program.from_proto(case.model()), Ranges(case.ranges), domain=domain)


@pytest.mark.parametrize("pair", ARCHITECTURES, ids=lambda p: p.faulty.name)
@pytest.mark.parametrize("domain", ["irfuzz", "debar"])
def test_architectures_of_the_first_data_set(pair, domain: str) -> None:
    assert {w.output for w in case_of(pair.faulty, domain).warnings} == pair.faulty.faults
    if domain == "irfuzz":
        assert not case_of(pair.mended).warnings


@pytest.mark.parametrize("pair", OTHERS + FURTHER, ids=lambda p: p.faulty.name)
def test_faults_are_found_and_mended_twins_are_safe(pair) -> None:
    assert {w.output for w in case_of(pair.faulty).warnings} == pair.faulty.faults
    assert not case_of(pair.mended).warnings


def test_no_domain_misses_a_fault() -> None:
    for domain in DOMAINS:
        for pair in ARCHITECTURES + OTHERS:
            assert pair.faulty.faults <= {w.output for w in case_of(pair.faulty, domain).warnings}, (
                domain,
                pair.faulty.name,
            )


def test_loops_are_followed_until_stable() -> None:
    body = """
      y = Loop(n, go, x) <body = b (int64 i, bool c, float[2] s) => (bool d, float[2] t)
        { d = Identity(c) h = Tanh(s) t = Add(h, one) }>
      z = Log(y)
    """
    made = program("int64 n, float[2] x", "float[2] z", body, "<bool go = {1}, float one = {1.5}>")
    found = analyze(made, Ranges({"n": (0, 1000), "x": (1, 2)}))
    assert not found.warnings
    assert found.ranges["y"].low > 0.4
    assert found.ranges["y"].high < 2.6


def test_symbolic_sizes_are_analysed_from_1_on() -> None:
    found = ranges_of("s = ReduceSum<keepdims=0>(x) n = Shape(x)", "float[N] x", "float s", {"x": (1, 2)})
    assert found["s"].low == 1
    assert math.isfinite(found["s"].high)
    assert found["n"].low == 1
