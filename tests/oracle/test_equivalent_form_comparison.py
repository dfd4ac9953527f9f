"""Two forms of a program on one target: which differences rounding explains, and which are left open."""

from __future__ import annotations

import math
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from irfuzz.execute.run_types import Exit, Stage
from irfuzz.oracle import equivalent_form_comparison
from irfuzz.oracle.equivalent_form_comparison import Answer, FormComparison, compare_forms
from irfuzz.oracle.numeric.dtype_thresholds import FACTOR, huge
from irfuzz.oracle.numeric.witness_spread_comparison import SpreadScale
from irfuzz.spec import load_specs

pytestmark = pytest.mark.unit

SPECS = load_specs()
RELU = "g (float[2] x) => (float[2] y) { y = Relu(x) }"
TANH = "g (float[2] x) => (float[2] y) { y = Tanh(x) }"
ADD = "g (float[2] x) => (float[2] y) { y = Add(x, x) }"
NAN, INF = math.nan, math.inf


@pytest.fixture
def compare(parse, run) -> Callable[..., FormComparison]:
    def make(text: str, mine: Any, its: Any, *, x: Any = (1, 2), bitwise: bool = True, **more: Any) -> FormComparison:
        program = parse(text)
        fed = {"x": np.array(x, more.pop("dtype", np.float32))}
        one, other = (run("t", outputs=v if isinstance(v, dict) else {"y": v}) for v in (mine, its))
        return compare_forms(program, program, fed, (one, other), specs=SPECS, bitwise=bitwise, **more)

    return make


def single(*numbers: float) -> np.ndarray:
    return np.array(numbers, np.float32)


def test_what_is_equal_is_the_same(compare) -> None:
    assert compare(RELU, single(1, NAN), single(1, NAN)) == FormComparison(Answer.SAME)
    assert compare(RELU, single(1, 0), single(1, 1)) != FormComparison(Answer.SAME)


def test_outputs_that_are_missing_or_of_another_kind(compare, fixed) -> None:
    missing = compare(RELU, single(1, 2), {})
    assert (missing.answer, missing.symptom, missing.reason) == ("different", "shape", "an output is missing")
    assert compare(RELU, {}, single(1, 2)).reason == "an output is missing"
    pair = "g (float[2] x) => (seq(float[2]) y) { y = SequenceConstruct(x, x) }"
    shorter = compare(pair, [single(1, 2)] * 2, [single(1, 2)])
    assert (shorter.answer, shorter.symptom, shorter.reason) == ("different", "shape", "expected 2 elements, got 1")
    assert compare(pair, [single(1, 2)] * 2, [single(1, 2)] * 2).answer == "same"
    fixed(0.001, 0.001)
    second = compare(pair, [single(1, 2)] * 2, [single(1, 2), single(1, 3)])
    assert (second.answer, second.element) == ("different", "y[1][1]")


@pytest.mark.parametrize(
    ("its", "got"),
    [
        (np.array([1, 2], np.float64), "float64[2]"),
        (single(1), "float32[1]"),
        (single(1, 2, 3), "float32[3]"),
    ],
)
def test_types_and_sizes(compare, its: np.ndarray, got: str) -> None:
    found = compare(RELU, single(1, 2), its)
    assert (found.answer, found.symptom, found.expected, found.got) == ("different", "shape", "float32[2]", got)
    assert found.reason == f"expected float32[2], got {got}"
    open_ = compare("g (float[2] x) => (int64[1,n] y) { y = NonZero(x) }", np.ones((1, 2), int), np.ones((1, 1), int))
    assert (open_.answer, open_.symptom) == ("undecided", "shape")


def test_what_does_not_round_is_the_same_to_the_bit(compare) -> None:
    found = compare(RELU, single(1, 2), single(1, 2.0000002))
    assert (found.answer, found.symptom, found.output, found.element) == ("different", "difference", "y", "y[1]")
    assert (found.expected, found.got, found.bound) == ("2.0", "2.0000002", None)
    assert found.distance == pytest.approx(2.4e-7, rel=0.01)
    assert found.reason == "y[1]: 2.0 as it was, 2.0000002 rewritten; nothing on the way rounds"
    assert compare(RELU, single(1, 2), single(1, 2.0000002), bitwise=False).answer == "same"
    assert compare(ADD, single(1, 2), single(1, 2.0000002)).answer == "same"
    whole = compare(ADD.replace("float", "int64"), np.array([2, 4]), np.array([2, 7]), dtype=np.int64, bitwise=False)
    assert (whole.answer, whole.distance, whole.element) == ("different", 3, "y[1]")
    assert "nothing on the way rounds" in whole.reason
    truth = compare("g (bool[2] x) => (bool[2] y) { y = Not(x) }", *np.array([[True, True], [True, False]]), dtype=bool)
    assert (truth.answer, truth.distance) == ("different", None)


@pytest.mark.parametrize(
    ("text", "mine", "its", "why"),
    [
        ("g (float[2] x) => (float[2] y) { y = RandomNormalLike(x) }", (1, 2), (3, 4), "RandomNormalLike draws"),
        ("g (float[2] x) => (float[2] y) { a = Exp(x)  y = Floor(a) }", (2, 7), (2, 8), "Floor jump"),
        (TANH, (1, 2), (1, 9), "how far rounding moves it could not be measured"),
        ("g (float[2] x) => (float[2] y) { a = Sin(x)  y = Relu(a) }", (NAN, 2), (1, 2), "NaN or Inf stands in"),
        (ADD, (1, huge(np.dtype(np.float32))), (1, 0), "magnitudes are close to an overflow"),
    ],
)
def test_what_is_left_open(compare, text: str, mine: Any, its: Any, why: str) -> None:
    found = compare(text, single(*mine), single(*its))
    assert (found.answer, found.symptom, found.output) == ("undecided", "difference", "y")
    assert why in found.reason


def test_magnitudes_just_below_those_that_may_overflow(compare) -> None:
    below = np.nextafter(np.float32(huge(np.dtype(np.float32))), np.float32(0))
    assert "could not be measured" in compare(ADD, single(1, below), single(1, 0)).reason
    assert "overflow" in compare(ADD, single(1, -below * 1.01), single(1, 0)).reason


@pytest.fixture
def fixed(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Sets the floor, and how far every element was seen to move."""

    def set_(least: float, unit: float = 0.0, **fields: Any) -> None:
        scale = SpreadScale(np.full(2, unit), **{"measured": True, "unsteady": frozenset(), **fields})
        monkeypatch.setattr(equivalent_form_comparison, "floor", lambda *_, measured: least)
        monkeypatch.setattr(equivalent_form_comparison, "scale_of", lambda *_: scale)

    return set_


UNIT = 0.5
ALLOWED = FACTOR * UNIT
BEYOND = float(np.nextafter(np.float32(ALLOWED), np.float32(INF)))


@pytest.mark.parametrize(("off", "answer"), [(ALLOWED, "same"), (BEYOND, "undecided"), (-ALLOWED, "same")])
def test_what_rounding_explains_in_any_case_needs_no_measurement(compare, fixed, off: float, answer: str) -> None:
    fixed(UNIT, measured=False)
    assert compare(TANH, single(0, 0), single(0, off), bitwise=False).answer == answer


@pytest.mark.parametrize(("off", "answer"), [(ALLOWED, "same"), (BEYOND, "different")])
@pytest.mark.parametrize(("least", "unit"), [(0.25, UNIT), (UNIT, 0.25)])
def test_the_bound_is_the_larger_of_floor_and_sensitivity(
    compare, fixed, off: float, answer: str, least: float, unit: float
) -> None:
    fixed(least, unit)
    found = compare(TANH, single(0, 0), single(0, off), bitwise=False)
    assert found.answer == answer
    if answer == "different":
        assert (found.element, found.bound, found.distance) == ("y[1]", ALLOWED, BEYOND)
        assert found.reason.endswith("a difference of 50 where 50 is allowed")


def test_the_element_that_is_off_most_is_told(compare, fixed) -> None:
    fixed(0.25, UNIT)
    assert compare(TANH, single(0, 0), single(60, 70), bitwise=False).element == "y[1]"
    assert compare(TANH, single(0, 0), single(70, 60), bitwise=False).element == "y[0]"
    fixed(0.25, INF)
    assert compare(TANH, single(0, 0), single(60, 70), bitwise=False).answer == "same"
    fixed(0.25, UNIT, unsteady=frozenset({"t"}))
    unsteady = compare(TANH, single(0, 0), single(60, 70), bitwise=False)
    assert (unsteady.answer, unsteady.reason) == ("undecided", "it differs from run to run")


STEPS = [
    ("g (float[2] x) => (float[2] y) { y = Floor(x) }", np.floor, (1.5, 2.5), (1.5, 3.0), "Floor"),
    (
        "g (float[2] x) => (bool[2] y) <float c = {2}> { y = Greater(x, c) }",
        lambda x: x > 2, (1.5, 2.5), (1.5, 2.00001), "Greater",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("text", "of", "far", "near", "op"), STEPS)
def test_steps_far_from_where_they_jump_move_nothing(
    compare, run, text: str, of: Any, far: Any, near: Any, op: str
) -> None:
    def rerun(fed: Any, program: Any = None) -> list[Any]:
        names = ["y"] if program is None else [v.name for v in program.graph.outputs]
        return [run("t", outputs={name: of(fed["x"]) if name == "y" else fed["x"] for name in names})]

    for x in (far, near):
        mine = of(single(*x))
        its = ~mine if mine.dtype == bool else mine + np.float32([0, 1])
        found = compare(text, mine, its, x=x, bitwise=False, rerun=rerun)
        assert (found.answer, found.reason if x is near else f"{op} jump") == (
            "different" if x is far else "undecided", f"{op} jump",
        )  # fmt: skip


@pytest.mark.parametrize(("proof", "open_"), [(None, True), (lambda *_: False, True), (lambda *_: True, False)])
def test_what_is_proven_to_be_finite_hides_nothing(compare, proof: Any, open_: bool) -> None:
    text = "g (float[2] x) => (float[2] y) { a = Exp(x)  b = Asin(a)  y = Relu(b) }"
    found = compare(text, single(0, 1), single(0, 9), x=(0, 1), bitwise=False, finite=proof)
    assert ("could not be measured" not in found.reason) == open_


@pytest.mark.parametrize(
    ("exit", "stage", "answer", "symptom", "reason"),
    [
        (Exit.HANG, Stage.RUN, "different", "hang", "the other form ran"),
        (Exit.EXITED, Stage.RUN, "different", "crash", "why"),
        (Exit.CRASH, Stage.RUN, "different", "crash", "why"),
        (Exit.REJECTED, Stage.COMPILE, "refused", "", "why"),
        (Exit.UNSUPPORTED, Stage.COMPILE, "refused", "", "why"),
        (Exit.MEMORY, Stage.RUN, "undecided", "", "memory: why"),
        (Exit.OK, Stage.COMPILE, "undecided", "", "ok: why"),
    ],
)
def test_how_the_other_form_ends(
    parse, run, exit: Exit, stage: Stage, answer: str, symptom: str, reason: str  # noqa: A002
) -> None:  # fmt: skip
    program = parse(RELU)
    results = run("t", single(1, 2)), run("t", single(1, 2), exit=exit, stage=stage, error="why")
    found = compare_forms(program, program, {"x": single(1, 2)}, results, specs=SPECS, bitwise=True)
    assert (found.answer, found.symptom, found.reason) == (answer, symptom, reason)


@pytest.mark.parametrize(
    ("text", "broke"),
    [
        ("please report this", True),
        ("Please report a bug", True),
        ("Internal error: x", True),
        ("internal compiler error", True),
        ("internal errors", False),
        ("SystemError: x", True),
        ("no kernel for Relu", False),
    ],
)
def test_words_of_a_component_that_broke(text: str, broke: bool) -> None:
    assert bool(equivalent_form_comparison.INTERNAL.search(text)) == broke


@pytest.mark.parametrize(
    ("jumps", "others", "steady", "answer"),
    [
        (("Floor",), (), True, "different"),
        (("Floor",), ("Floor",), True, "different"),
        (("Floor",), ("Floor",), False, "undecided"),
        ((), ("Floor",), True, "undecided"),
        ((), (), True, "undecided"),
    ],
)
def test_integers_differ_for_sure_if_the_steps_of_the_program_itself_are_far_from_their_jumps(
    monkeypatch: pytest.MonkeyPatch, jumps: Any, others: Any, steady: bool, answer: str
) -> None:
    monkeypatch.setattr(equivalent_form_comparison, "_doubt", lambda *_: "")
    paths: Any = tuple(
        SimpleNamespace(data_shaped=False, random=set(), dtypes={np.dtype(np.float32)}, ops={"Floor"}, jumps=j)
        for j in (jumps, others)
    )
    leaf: Any = SimpleNamespace(output="y", label="y")
    case: Any = None
    mine, its = np.array([1, 2]), np.array([1, 3])
    found = equivalent_form_comparison._compare(case, case, leaf, mine, its, paths, False, lambda: steady, (None, None))
    assert found.answer == answer
