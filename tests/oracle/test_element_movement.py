"""Operators that move elements: what was open stays open at its new place, and nothing else becomes so."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from irfuzz.oracle.onnx_rules import element_movement as movement
from irfuzz.oracle.onnx_rules.known_elements import Elements
from tests.oracle.rule_calls import NAN, OPEN, ask, same

pytestmark = pytest.mark.unit


@pytest.mark.parametrize(
    ("op", "data", "given", "attrs", "wanted"),
    [
        ("Transpose", (0,), ([[1, None], [NAN, 4]],), {}, [[1.0, NAN], [OPEN, 4.0]]),
        ("Reshape", (0,), ([1, None], np.array([2, 1])), {}, [[1.0], [OPEN]]),
        ("Gather", (0,), ([1, None, 3], np.array([2, 1])), {}, [3.0, OPEN]),
        ("Concat", None, ([1, None], [3]), {"axis": 0}, [1.0, OPEN, 3.0]),
    ],
)
def test_a_move_takes_along_what_is_open(op: str, data: Any, given: Any, attrs: dict[str, Any], wanted: Any) -> None:
    assert same(ask(movement.moved(data), *given, op=op, **attrs), wanted)


def test_a_move_needs_to_know_where_to() -> None:
    with pytest.raises(ValueError, match="not known"):
        ask(movement.moved(), [1, 2], Elements(np.array([0, 1]), np.array([True, False])), op="Gather")


def test_one_of_two_is_decided_by_the_condition_and_the_one_it_chooses() -> None:
    condition = Elements(np.array([True, False, True, False]), np.array([True, True, False, True]))
    assert same(ask(movement.where, condition, [1, 1, 1, 1], [None, 2, 3, None]), [1.0, 2.0, OPEN, OPEN])
    assert same(ask(movement.where, condition, [None, None, 1, 1], [5]), [OPEN, 5.0, OPEN, 5.0])


@pytest.mark.parametrize(
    ("k", "attrs", "wanted"),
    [
        ((), {}, [[1.0, OPEN], [0.0, 4.0]]),
        ((None,), {}, [[1.0, OPEN], [0.0, 4.0]]),
        ((), {"upper": 1}, [[1.0, OPEN], [0.0, 4.0]]),
        ((), {"upper": 0}, [[1.0, 0.0], [NAN, 4.0]]),
        ((np.array(1),), {}, [[0.0, OPEN], [0.0, 0.0]]),
        ((np.array([-1]),), {}, [[1.0, OPEN], [NAN, 4.0]]),
        ((np.array(-1),), {"upper": 0}, [[0.0, 0.0], [NAN, 0.0]]),
        ((np.array(2),), {}, [[0.0, 0.0], [0.0, 0.0]]),
    ],
)
@pytest.mark.parametrize("batch", [False, True])
def test_a_triangle(k: Any, attrs: dict[str, Any], wanted: Any, batch: bool) -> None:
    x = [[1, None], [NAN, 4]]
    found = ask(movement.trilu, [x, x] if batch else x, *k, **attrs)
    assert same(found, [wanted, wanted] if batch else wanted)


@pytest.mark.parametrize(
    ("x", "sizes", "attrs", "outputs", "wanted"),
    [
        ([1, None, 3, 4], (), {}, 2, [[1.0, OPEN], [3.0, 4.0]]),
        ([1, None, 3, 4], (None,), {}, 2, [[1.0, OPEN], [3.0, 4.0]]),
        ([1, None, 3, 4], (np.array([1, 3]),), {}, 2, [[1.0], [OPEN, 3.0, 4.0]]),
        ([1, None, 3, 4], (), {"split": [3, 1]}, 2, [[1.0, OPEN, 3.0], [4.0]]),
        ([1, None, 3, 4], (), {}, 3, None),
        ([1, None, 3, 4], (), {}, 1, [[1.0, OPEN, 3.0, 4.0]]),
        ([[1, 2], [3, 4]], (), {}, 2, [[[1.0, 2.0]], [[3.0, 4.0]]]),
        ([[1, 2], [3, 4]], (), {"axis": 1}, 2, [[[1.0], [3.0]], [[2.0], [4.0]]]),
    ],
)
def test_parts(x: Any, sizes: Any, attrs: dict[str, Any], outputs: int, wanted: Any) -> None:
    found = ask(movement.split, x, *sizes, more=(None,) * (outputs - 1), **attrs)
    assert found is None if wanted is None else len(found) == len(wanted) and all(map(same, found, wanted))
