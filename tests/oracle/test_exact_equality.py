"""Whole numbers, booleans and strings: who agrees with whom, with exact arithmetic, and with the shadow."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import ml_dtypes
import numpy as np
import onnx_ir as ir
import pytest

from irfuzz.execute.float64_shadow_runs import ShadowRun
from irfuzz.execute.run_types import Target
from irfuzz.facts import TensorFact
from irfuzz.oracle import judge
from irfuzz.oracle.symptoms import exact_equality
from irfuzz.oracle.witnesses_and_blame import Blame, Division, shadow_target, trusts_all, witnesses_of

pytestmark = pytest.mark.unit

ONE, TWO, THREE = (Target(name, name.partition(":")[0]) for name in ("ort:disabled", "ort:all", "other"))
INT64 = ir.DataType.INT64
RIGHT, WRONG = np.array([1, 2]), np.array([1, 3])


def division(*, firm: bool = False) -> Division:
    return Division((ONE,), (Blame((TWO,), firm=firm),))


def asked(reference: Any, values: Any = None, *, firm: bool = False, shadow: bool = True) -> Any:
    """Center and blamed once the shadow, which gave ``reference``, was heard."""
    reference = {} if reference is None else {"y": reference}
    run = ShadowRun(reference=reference, framework="numpy")
    case = SimpleNamespace(has_shadow=shadow, shadow=lambda: run, witnesses=witnesses_of)
    leaf = SimpleNamespace(label="y", values=values or {ONE.name: WRONG, TWO.name: RIGHT})
    found = exact_equality._with_shadow(case, leaf, division(firm=firm))  # type: ignore[arg-type]
    return found.center, [(b.group, b.firm) for b in found.blamed]


ASIS = ((ONE,), [((TWO,), False)])
TURNED = ((TWO,), [((ONE,), True)])


@pytest.mark.parametrize(
    ("reference", "more", "found"),
    [
        (RIGHT, {}, TURNED),
        (WRONG, {}, ((ONE,), [((TWO,), True)])),
        (np.array([7, 7]), {}, ASIS),
        (np.array([2.0, 3.0]), {}, ASIS),
        (RIGHT.astype(np.float64), {}, ASIS),
        (RIGHT.astype(np.int32), {}, TURNED),
        (np.array([[1, 2]]), {}, ASIS),
        (None, {}, ASIS),
        (RIGHT, {"shadow": False}, ASIS),
        (RIGHT, {"firm": True}, ((ONE,), [((TWO,), True)])),
    ],
)
def test_the_shadow_says_which_level_is_right(reference: Any, more: dict[str, bool], found: Any) -> None:
    assert asked(reference, **more) == found


def test_the_shadow_itself_is_in_no_group() -> None:
    shadow = shadow_target("numpy")
    found = exact_equality._without(Division((ONE, shadow), (Blame((TWO, shadow), firm=True),)), shadow)
    assert found == Division((ONE,), (Blame((TWO,), firm=True),))


@pytest.mark.parametrize(
    ("array", "truth", "equal", "rounded"),
    [
        ([1, 2], [1, 2], True, True),
        ([1, 3], [1, 2], False, False),
        ([2**23], [2**23 + 1], False, True),
        ([2**23 - 2], [2**23 - 1], False, False),
        ([2**40 + 2**17], [2**40], False, True),
        ([2**40 + 2**17 + 1], [2**40], False, False),
        ([-(2**40) - 2**17], [-(2**40)], False, True),
        ([1], [1, 1], False, False),
        (np.array([1], np.int32), [1], False, False),
        (np.array([True]), np.array([True]), True, False),
    ],
)
def test_equal_to_what_is_exact_or_to_its_rounding(array: Any, truth: Any, equal: bool, rounded: bool) -> None:
    given, exact = np.asarray(array), np.asarray(truth)
    assert exact_equality._equal(given, exact) == equal
    assert exact_equality._is_rounded(given, exact) == rounded


@pytest.mark.parametrize(
    ("got", "judged", "place", "distance"),
    [
        (np.array([[1, 5], [9, 4]]), np.array([[1, 2], [3, 4]]), (1, 0), 6.0),
        (np.array([9, 5]), np.array([1, 2]), (1,), 3.0),  # the first is not asked for
        (np.array([True, False]), np.array([True, True]), (1,), 1.0),
        (np.array(["a", "b"], object), np.array(["a", "c"], object), (1,), None),
        (np.array([1 + 1j, 2]), np.array([1 + 1j, 2 + 1j]), (1,), None),
    ],
)
def test_the_worst_element(got: np.ndarray, judged: np.ndarray, place: tuple[int, ...], distance: float | None) -> None:
    differs = np.asarray(got != judged)
    if got.tolist() == [9, 5]:
        differs[0] = False
    assert exact_equality._worst(got, judged, differs) == (place, distance)


def leaf_of(**values: Any) -> Any:
    return SimpleNamespace(label="y", values={n: np.asarray(v) for n, v in values.items()}, value=None)


def groups(undecided: list[bool], **values: Any) -> Any:
    case = SimpleNamespace(target=lambda name: Target(name, name), witnesses=witnesses_of)
    found = exact_equality._divide(case, leaf_of(**values), np.array(undecided))  # type: ignore[arg-type]
    return (
        None if found is None else ([t.name for t in found.center], [[t.name for t in b.group] for b in found.blamed])
    )


def test_who_answers_alike_where_it_is_decided() -> None:
    assert groups([False, False], a=[1, 2], b=[1, 2], c=[1, 3]) == (["a", "b"], [["c"]])
    assert groups([False, True], a=[1, 2], b=[1, 2], c=[1, 3]) is None
    assert groups([True, False], a=[1, 2], b=[1, 2], c=[1, 3]) == (["a", "b"], [["c"]])
    assert groups([False, False], a=[1, 2], b=[1, 4], c=[1, 3]) == (["a"], [["b"], ["c"]])


NO_MOVES = {"small": [], "wide": [], "measured": False}


@pytest.mark.parametrize(
    ("nudges", "shadow", "found"),
    [
        ({}, None, ([False, False], False)),
        ({"measured": True}, None, ([False, False], True)),
        ({"small": [{"a": {"y": np.array([1, 9])}}]}, None, ([False, True], False)),
        ({"wide": [{"a": {"y": np.array([9, 2])}}, {"a": {}}, {}]}, None, ([True, False], False)),
        ({"small": [{"a": {"y": np.array([1])}}]}, None, ([True, True], False)),
        ({}, ShadowRun(small={"y": np.array([0.0, 0.0])}), ([False, False], True)),
        ({}, ShadowRun(small={"y": np.array([0.0, 1.0])}), ([False, True], True)),
        ({}, ShadowRun(wide={"y": np.array([np.inf, 0.0])}), ([True, False], False)),
        ({}, ShadowRun(small={"y": np.array([1.0])}), ([False, False], True)),
        ({}, ShadowRun(), ([False, False], False)),
    ],
)
def test_elements_that_some_move_changes(nudges: dict[str, Any], shadow: Any, found: Any) -> None:
    moves = SimpleNamespace(**{**NO_MOVES, **nudges})
    case = SimpleNamespace(nudges=lambda: moves, has_shadow=shadow is not None, shadow=lambda: shadow)
    mask, measured = exact_equality._undecided(case, leaf_of(a=[1, 2]))  # type: ignore[arg-type]
    assert (mask.tolist(), measured) == found


def test_a_shadow_decides_between_levels_of_one_runtime(parse, run) -> None:
    """A product of whole numbers that exact arithmetic does not follow."""
    program = parse("g (int64[1,2] x, int64[2,1] w) => (int64[1,1] y) { y = MatMul(x, w) }")
    fed = {"x": np.array([[1, 2]]), "w": np.array([[3], [4]])}
    right, wrong = np.array([[11]]), np.array([[12]])
    results = [run("onnxruntime:disabled", wrong), run("onnxruntime:all", right)]
    shade = lambda *_: ShadowRun(reference={"y": right}, framework="numpy")  # noqa: E731
    (verdict,) = judge(program, fed, results, shadow=shade)
    assert (verdict.target, verdict.got, verdict.expected, verdict.distance) == ("onnxruntime:disabled", "12", "11", 1)
    assert verdict.evidence["elements"] == 1


@pytest.mark.parametrize("kind", ["float", "bfloat16"])
def test_floats_and_what_is_drawn_are_not_compared_exactly(parse, run, kind: str) -> None:
    dtype = np.float32 if kind == "float" else ml_dtypes.bfloat16
    y = np.array([1, 2], dtype)
    program = parse(f"g ({kind}[2] x) => ({kind}[2] y) {{ y = Neg(x) }}")
    found = judge(program, {"x": y}, [run("a", y), run("b", y), run("c", y + y)])
    assert {v.oracle for v in found} == {"numeric"}
    drawn = parse("g (float[2] x) => (bool[2] y) <float c = {0}> { r = RandomNormalLike(x)  y = Greater(r, c) }")
    both = [run("a", np.array([True, False])), run("b", np.array([True, True]))]
    assert judge(drawn, {"x": y.astype(np.float32)}, both) == []
    assert trusts_all(drawn, ONE) == ""


@pytest.mark.parametrize(
    ("wrong", "blamed"),
    [([1, 2j], []), ([1, -2j], ["c"]), ([1, complex(0, np.nan)], [])],
)
def test_complex_numbers_are_moved_and_so_equal_or_wrong(parse, run, wrong: list[complex], blamed: list[str]) -> None:
    program = parse("g (complex64[2] x) => (complex64[2] y) { y = Identity(x) }")
    right = np.array([1, 2j], np.complex64)
    results = [run("a", right), run("b", right), run("c", np.array(wrong, np.complex64))]
    found = judge(program, {"x": right}, results)
    assert [verdict.target for verdict in found] == blamed
    assert all(verdict.oracle == "exact" and verdict.element == "y[1]" for verdict in found)


def judged_exactly(truth: Any, blamed: tuple[Target, ...], *, firm: bool, center: Any = WRONG, fit: bool = True) -> Any:
    """What exact arithmetic makes of one group against another, which answers ``RIGHT``."""
    integers = SimpleNamespace(of=lambda value: truth, fit=fit)
    case = SimpleNamespace(
        integers=integers, sized=SimpleNamespace(value=lambda name: None), fact=lambda value: TensorFact(INT64, (2,))
    )
    values = {ONE.name: center, **{t.name: RIGHT for t in blamed}}
    leaf = SimpleNamespace(label="y", value=SimpleNamespace(name="y"), values=values)
    found = exact_equality._with_integers(case, leaf, Division((ONE,), (Blame(blamed, firm=firm),)))  # type: ignore[arg-type]
    return None if found is None else (found.center, [(b.group, b.firm) for b in found.blamed])


FAR = np.array([1, 2**40])


@pytest.mark.parametrize(
    ("truth", "blamed", "more", "found"),
    [
        (None, (THREE,), {"firm": True}, None),
        (np.array([7, 7]), (THREE,), {"firm": True}, None),
        (RIGHT, (THREE,), {"firm": True, "fit": False}, None),
        # Who was taken to be right is wrong; another component says so.
        (RIGHT, (THREE,), {"firm": False, "center": FAR}, ((THREE,), [((ONE,), True)])),
        (FAR, (THREE,), {"firm": True, "center": FAR}, ((ONE,), [((THREE,), True)])),
        (FAR, (THREE,), {"firm": False, "center": FAR}, ((ONE,), [((THREE,), True)])),
        # Two components against one: open, unless that was firm before.
        (FAR, (THREE, TWO), {"firm": False, "center": FAR}, ((ONE,), [((THREE, TWO), False)])),
        (FAR, (THREE, TWO), {"firm": True, "center": FAR}, ((ONE,), [((THREE, TWO), True)])),
        (RIGHT, (THREE, TWO), {"firm": True, "center": FAR}, ((THREE, TWO), [((ONE,), True)])),
    ],
)
def test_exact_arithmetic_turns_a_division(truth: Any, blamed: Any, more: dict[str, Any], found: Any) -> None:
    assert judged_exactly(truth, blamed, **more) == found


def test_what_irfuzz_writes_supports_nobody_alone() -> None:
    lowered = Target("torch:eager", "torch")
    assert judged_exactly(RIGHT, (lowered,), firm=False, center=FAR) == ((lowered,), [((ONE,), False)])


def test_long_texts_are_cut(parse, run) -> None:
    program = parse("g (string[1] x) => (string[1] y) { y = Identity(x) }")
    right, wrong = (np.array([letter * 100], object) for letter in "ab")
    (verdict,) = judge(program, {"x": right}, [run("a", right), run("b", right), run("c", wrong)])
    assert (verdict.got, verdict.expected, verdict.distance, verdict.bound) == ("b" * 80, "a" * 80, None, None)
    assert verdict.evidence["values"] == f"a={'a' * 40}, b={'a' * 40}, c={'b' * 40}"
