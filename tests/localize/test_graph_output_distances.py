"""Figures of outputs, against numpy."""

from __future__ import annotations

import math

import numpy as np
import pytest

from irfuzz.execute.run_types import Exit, RunResult, Stage, Target, Value
from irfuzz.localize.comparison import graph_output_distances
from irfuzz.localize.comparison.graph_output_distances import Measures

pytestmark = pytest.mark.unit


def ran(name: str, exit_kind: Exit = Exit.OK, **outputs: Value) -> RunResult:
    return RunResult(Target(name, name), Stage.RUN, exit_kind, outputs)


def pairs(count: int, size: int) -> list[tuple[np.ndarray, np.ndarray]]:
    rng = np.random.default_rng(0)
    base = [rng.normal(0, 1, size).astype(np.float32) for _ in range(count)]
    return [(a, (a + rng.normal(0, 1e-3, size)).astype(np.float32)) for a in base]


def taken(rows: list[tuple[np.ndarray, np.ndarray]]) -> Measures:
    found = Measures(len(rows))
    for a, b in rows:
        found.add([ran("a", y=a), ran("b", y=b)], "a")
    return found


def test_figures_are_those_of_numpy() -> None:
    rows = pairs(3, 501)
    found = taken(rows)
    a, b = (np.concatenate(part).astype(np.float64) for part in zip(*rows, strict=True))
    far = np.abs(a - b)
    (range_,), (distance,) = found.ranges, found.distances
    assert (range_.count, range_.special, range_.empty) == (1503, 0, False)
    assert (range_.low, range_.high) == (a.min(), a.max())
    assert range_.mean == pytest.approx(a.mean())
    assert (distance.target, distance.count, distance.apart, distance.sampled) == ("b", 1503, 0, False)
    assert distance.largest == distance.atol == far.max()
    assert distance.mean == pytest.approx(far.mean())
    assert distance.median == pytest.approx(np.median(far))
    assert distance.percentile == pytest.approx(np.percentile(far, 99))
    assert distance.rtol == pytest.approx((far / np.abs(a)).max())


def test_smallest_tolerances_are_just_enough() -> None:
    ((a, b),) = pairs(1, 200)
    (d,) = taken([(a, b)]).distances
    wide, base = b.astype(np.float64), a.astype(np.float64)
    assert np.allclose(wide, base, rtol=0, atol=d.atol)
    assert not np.allclose(wide, base, rtol=0, atol=d.atol * (1 - 1e-9))
    assert np.allclose(wide, base, atol=0, rtol=d.rtol * (1 + 1e-12))
    assert not np.allclose(wide, base, atol=0, rtol=d.rtol * (1 - 1e-9))


@pytest.mark.parametrize(("size", "sampled"), [(8, False), (9, True)])
def test_percentiles_of_many_elements_are_of_evenly_spaced_ones(
    monkeypatch: pytest.MonkeyPatch, size: int, sampled: bool
) -> None:
    monkeypatch.setattr(graph_output_distances, "POOL", 8)
    (d,) = taken(pairs(1, size)).distances
    assert (d.sampled, d.count) == (sampled, size)


def test_blocks_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = pairs(2, 100)
    whole = taken(rows)
    monkeypatch.setattr(graph_output_distances, "BLOCK", 7)
    parts = taken(rows)
    assert parts.distances == whole.distances
    assert parts.ranges[0].low == whole.ranges[0].low
    assert parts.ranges[0].mean == pytest.approx(whole.ranges[0].mean)


def test_differences_of_kind_are_infinite() -> None:
    one = np.array([1, np.nan], np.float32)
    (d,) = taken([(one, np.ones(2, np.float32))]).distances
    assert (d.apart, d.count, d.largest, d.rtol) == (1, 1, math.inf, math.inf)
    (d,) = taken([(one, np.ones(3, np.float32))]).distances
    assert (d.apart, d.atol) == (3, math.inf)
    (d,) = taken([(np.array(["a", "b"], object), np.array(["a", "c"], object))]).distances
    assert (d.apart, d.count) == (1, 1)


@pytest.mark.parametrize(
    ("a", "b", "empty"),
    [
        ([np.nan], [np.nan], True), ([], [], True), ([np.nan], [1.0], False), ([np.inf], [np.inf], False),
        ([np.nan, 1.0], [np.nan, 1.0], False),
    ],
)  # fmt: skip
def test_an_output_is_empty_if_nobody_gives_a_number(a: list[float], b: list[float], empty: bool) -> None:
    (r,) = taken([(np.array(a, np.float32), np.array(b, np.float32))]).ranges
    assert r.empty is empty


def test_the_first_that_runs_stands_for_a_base_that_does_not() -> None:
    found = Measures(1)
    one = np.ones(2, np.float32)
    far = found.add([ran("a", Exit.REJECTED), ran("b", y=one), ran("c", y=one + 1)], "a")
    assert far == {"c": 1.0}
    assert Measures(1).add([ran("a", Exit.REJECTED)], "a") == {}
