"""When it is known that an operator makes no NaN of ordinary numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from irfuzz.oracle.dataflow.masked_nan import SAFE

pytestmark = pytest.mark.unit


class Call:
    """A call with operands as a test says: their elements if these are known, and their bounds."""

    def __init__(self, *operands: Any) -> None:
        self._operands = operands

    def array(self, place: int) -> np.ndarray | None:
        known = self._operands[place] if place < len(self._operands) else None
        return np.array(known, np.float32) if isinstance(known, list) else None

    def bounds(self, place: int) -> tuple[float, float]:
        given = self._operands[place] if place < len(self._operands) else (-np.inf, np.inf)
        return (min(given), max(given))


@pytest.mark.parametrize(
    ("name", "operands", "safe"),
    [
        ("below_one", [(1, 9)], True),
        ("below_one", [(0.5, 9)], False),
        ("beyond_one", [(-1, 1)], True),
        ("beyond_one", [(-1, 1.5)], False),
        ("beyond_one", [(-1.5, 1)], False),
        ("negative", [(0, np.inf)], True),
        ("negative", [(-1, 1)], False),
        ("zero_divisor", [[0], [-1, 1]], True),
        ("zero_divisor", [[1], [0, 1]], False),
        ("zero_divisor", [(0, 1), (1, 2)], True),
        ("zero_divisor", [(0, 1), (-2, -1)], True),
        ("zero_divisor", [(0, 1), (0, 1)], False),
        ("zero_divisor", [(0, 1), (-1, 0)], False),
        ("fractional_power", [(-2, 2), [2, 3]], True),
        ("fractional_power", [(-2, 2), [2, 0.5]], False),
        ("fractional_power", [(0, 2), [2, 0.5]], True),
        ("fractional_power", [(0, 2), (0, 1)], True),
        ("fractional_power", [(-2, 2), (0, 1)], False),
    ],
)
def test_what_makes_nan_is_known_not_to_be_met(name: str, operands: list[Any], safe: bool) -> None:
    call: Any = Call(*operands)
    assert SAFE[name](call) is safe
