"""How far floating-point results may be apart without a shadow: floors, moves, and who stands with whom."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from irfuzz.oracle import judge
from irfuzz.oracle.numeric.dtype_thresholds import FACTOR, QUANTISATION_MOST, QUANTISATION_STEP, smallest
from irfuzz.oracle.numeric.perturbation import WIDE
from irfuzz.oracle.numeric.witness_spread_comparison import (
    PART_OF_ONE,
    apart,
    floor,
    moved_by,
    quantised_by,
    scale_of,
)

pytestmark = pytest.mark.unit

EPS = 2.0**-23
SINGLE = np.dtype(np.float32)
NONE: Any = None


def path(**fields: Any) -> Any:
    plain = {
        "dtypes": frozenset({SINGLE}), "roundings": 4, "fed": 0.0, "ops": frozenset({"Add"}), "absorbed": 0.0,
        "quantised": 0, "step": 0.0, "exact": False, "jumps": (),
    }  # fmt: skip
    return SimpleNamespace(**{**plain, **fields})


def leaf(dtype: Any = np.float32) -> Any:
    return SimpleNamespace(label="y", value=None, values={"a": np.zeros(2, dtype)})


def case(top: float = 8.0, **nudges: Any) -> Any:
    moves = SimpleNamespace(**{"again": {}, "small": [], "inner": [], "wide": [], "measured": True, **nudges})
    return SimpleNamespace(magnitude=lambda leaf: top, nudges=lambda: moves, fact=lambda value: None)


@pytest.mark.parametrize(
    ("far", "groups"),
    [
        (FACTOR, None),
        (math.nextafter(FACTOR, math.inf), [["a"], ["b"]]),
        (0.0, None),
    ],
)
def test_targets_are_linked_up_to_the_factor(far: float, groups: Any) -> None:
    found = apart(NONE, {"a": np.array([1.0, 0.0]), "b": np.array([1.0, far])}, 1.0)
    assert (found if found is None else found[0]) == groups


def test_who_stands_between_two_links_them() -> None:
    values = {n: np.array([v]) for n, v in (("a", 0.0), ("b", 500.0), ("c", 180.0), ("d", 90.0))}
    found = apart(NONE, values, 1.0)
    assert found is not None
    groups, far = found
    assert sorted(map(sorted, groups)) == [["a", "c", "d"], ["b"]]
    assert (far["a", "b"], far["b", "a"], far["a", "c"], far["d", "c"]) == (500, 500, 180, 90)
    assert len(far) == 12
    assert apart(NONE, {n: v for n, v in values.items() if n != "b"}, 1.0) is None


def test_distances_are_in_units_and_an_infinite_unit_decides_nothing() -> None:
    values = {"a": np.array([0.0, 0.0]), "b": np.array([201.0, 7.0])}
    assert apart(NONE, values, 2.0) is not None
    assert apart(NONE, values, 2.5) is None
    assert apart(NONE, values, np.array([np.inf, 1.0])) is None
    assert apart(NONE, values, np.array([1.0, np.inf])) is not None


@pytest.mark.parametrize(
    ("before", "after", "moved"),
    [
        ([1.0, 2.0], None, [0, 0]),
        ([1.0, 2.0], [1.5, -2.0], [0.5, 4]),
        ([1.0, 2.0], [1.0], [np.inf, np.inf]),
        ([np.nan, np.inf, -np.inf], [np.nan, np.inf, np.inf], [0, 0, np.inf]),
        ([np.nan, 1.0, np.inf], [1.0, np.nan, 1.0], [np.inf, np.inf, np.inf]),
    ],
)
def test_how_far_elements_moved(before: list[float], after: list[float] | None, moved: list[float]) -> None:
    given = None if after is None else np.array(after, np.float32)
    assert moved_by(np.array(before), given).tolist() == moved


@pytest.mark.parametrize(
    ("quantised", "step", "top", "wanted"),
    [
        (0, 0.0, 10.0, 0.0),
        (1, 0.0, 10.0, QUANTISATION_STEP * 10),
        (3, 0.0, 10.0, 3 * QUANTISATION_STEP * 10),
        (99, 0.0, 10.0, QUANTISATION_MOST * 10),
        (1, 5.0, 10.0, 10.0),
    ],
)
def test_what_quantising_adds(quantised: int, step: float, top: float, wanted: float) -> None:
    assert quantised_by(path(quantised=quantised, step=step), top) == pytest.approx(wanted)


@pytest.mark.parametrize(
    ("fields", "measured", "wanted"),
    [
        ({}, True, EPS * 8 * 2),
        ({"roundings": 9}, True, EPS * 8 * 3),
        ({"fed": 100.0}, True, EPS * 8 * 2),
        ({"fed": 100.0}, False, EPS * 100),
        ({"fed": 1.0}, False, EPS * 8 * 2),
        ({"absorbed": 1e6}, True, EPS * 1e6),
        ({"dtypes": frozenset({SINGLE, np.dtype(np.float16)})}, True, 2.0**-10 * 8 * 2),
        ({"dtypes": frozenset()}, True, EPS * 8 * 2),
        ({"quantised": 1}, True, QUANTISATION_STEP * 8 / FACTOR),
    ],
)
def test_the_floor(fields: dict[str, Any], measured: bool, wanted: float) -> None:
    assert floor(case(), leaf(), path(**fields), measured=measured) == pytest.approx(wanted)


def test_the_floor_of_small_outputs() -> None:
    assert floor(case(0.0), leaf(), path(), measured=True) == smallest(SINGLE)
    assert floor(case(0.0), leaf(ml_dtypes.bfloat16), path(dtypes=frozenset()), measured=True) == smallest(
        np.dtype(ml_dtypes.bfloat16)
    )
    near_one = path(ops=frozenset({"Elu"}))
    assert floor(case(0.0), leaf(), near_one, measured=True) == pytest.approx(EPS * PART_OF_ONE)


BEFORE = np.array([1.0, 2.0, 4.0])


def scaled(name: str = "torch:eager", jumps: tuple[str, ...] = (), **nudges: Any) -> Any:
    quantised = 1 if jumps else 0
    fields = path(jumps=jumps, quantised=quantised)
    return scale_of(case(0.0, **nudges), leaf(), fields, {name: BEFORE})


def moves(name: str, *by: float) -> dict[str, dict[str, np.ndarray]]:
    return {name: {"y": BEFORE + by}}


def test_the_scale_is_the_largest_move_and_no_less_than_the_median() -> None:
    name = "torch:eager"
    found = scaled(small=[moves(name, 0.25, 0, 0), moves(name, 0.125, 0.5, 0)], wide=[moves(name, 0, 0, WIDE * 2.0)])
    assert found.unit.tolist() == [0.25, 0.5, 2.0]
    assert not found.clean, "only a shadow can tell"
    assert found.measured
    assert not found.unsteady
    assert scaled(small=[moves(name, 0.25, 0.5, 0)]).unit.tolist() == [0.25, 0.5, 0.25]


@pytest.mark.parametrize(("name", "unit"), [("torch:eager", 1.0), ("onnxruntime:all", 0.5)])
def test_moves_inside_count_where_nothing_is_fused(name: str, unit: float) -> None:
    found = scaled(name, small=[moves(name, 0.5, 0.5, 0.5)], inner=[moves(name, 1, 1, 1)])
    assert found.unit.tolist() == [unit] * 3


def test_who_differs_from_run_to_run_is_no_measure() -> None:
    name = "torch:eager"
    again, small = moves(name, 1, 0, 0), [moves(name, 0.5, 0.5, 0.5)]
    found = scaled(again=again, small=small, wide=[moves(name, 1, 1, 1)])
    assert found.unsteady == {name}
    assert not found.measured
    assert found.unit.max() < 1e-30
    tiny = FACTOR * floor(case(0.0), leaf(), path(), measured=True)
    assert scaled(again={name: {"y": np.array([tiny, 0.0, 0.0]) + BEFORE * 0}}).unsteady == {name}


@pytest.mark.parametrize(
    ("jumps", "nudges", "measured"),
    [
        ((), {}, False),
        ((), {"small": [moves("torch:eager", 0, 0.1, 0)]}, True),
        ((), {"wide": [moves("torch:eager", 0, 0.1, 0)]}, True),
        ((), {"small": [moves("torch:eager", 0, 0.1, 0)], "measured": False}, False),
        (("QuantizeLinear",), {}, True),
        (("QuantizeLinear",), {"measured": False}, False),
        (("QuantizeLinear", "Floor"), {}, False),
    ],
)
def test_what_counts_as_measured(jumps: tuple[str, ...], nudges: dict[str, Any], measured: bool) -> None:
    assert scaled(jumps=jumps, **nudges).measured == measured


def test_what_is_exact_has_the_floor_alone() -> None:
    small = [moves("torch:eager", 1, 1, 1)]
    found = scale_of(case(small=small), leaf(), path(exact=True), {"torch:eager": BEFORE})
    assert found.measured
    assert found.unit.tolist() == pytest.approx([EPS * 8 * 2] * 3)


@pytest.mark.parametrize(("off", "suspects"), [(50, []), (150, [True]), (1000, [False])])
def test_a_finding_exceeds_the_factor_over_the_spread_of_two(parse, run, off: float, suspects: list[bool]) -> None:
    """The witnesses differ by two units; what exceeds a hundred units and not a hundred times their spread is none."""
    program = parse("g (float[3] x) => (float[3] y) { a = Add(x, x)  y = Neg(a) }")
    x = np.array([1.0, 2.0, 4.0], np.float32)

    def rerun(fed: Any, *_: Any) -> list[Any]:
        y = -2 * fed["x"]
        unit = np.float32(EPS * 8 * math.sqrt(2))
        return [run("a", y), run("b", y + 2 * unit), run("c", y - off * unit)]

    assert [v.suspect for v in judge(program, {"x": x}, rerun({"x": x}), rerun=rerun)] == suspects


def test_what_could_not_be_measured_has_the_floor_of_the_inputs() -> None:
    """Terms may have cancelled."""
    name, fed = "torch:eager", path(fed=100.0)
    moved = [moves(name, 0, 0, 1e-9)]
    for small, unit in ((moved, EPS * 8 * 2), ([], EPS * 100)):
        found = scale_of(case(small=small), leaf(), fed, {name: BEFORE})
        assert found.measured == bool(small)
        assert found.unit.max() == pytest.approx(unit)
