"""What is fed to a program and constant in it: magnitudes, special values and what underflow may take away."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from irfuzz.ir.program import Program
from irfuzz.oracle.dataflow.source_value_magnitudes import magnitude, sources_of
from irfuzz.oracle.numeric.dtype_thresholds import vanishing

pytestmark = pytest.mark.unit

LEAST = np.float32(vanishing(np.dtype(np.float32)))


@pytest.mark.parametrize(
    ("fed", "told"),
    [
        ([1, -3], {"fed": 3.0, "largest": 8.0, "specials": False, "nan": False, "subnormal": False}),
        ([0, 9], {"fed": 9.0, "largest": 9.0, "specials": False, "nan": False, "subnormal": False}),
        ([np.nan, 1], {"fed": 1.0, "largest": 8.0, "specials": True, "nan": True, "subnormal": False}),
        ([-np.inf, 1], {"specials": True, "nan": False}),
        ([np.inf, 1], {"specials": True, "nan": False}),
        ([LEAST, 1], {"subnormal": False}),
        ([np.nextafter(LEAST, np.float32(0)), 1], {"subnormal": True}),
        ([-LEAST / 2, 1], {"subnormal": True}),
        ([], {"fed": 0.0, "largest": 8.0, "subnormal": False}),
    ],
)
def test_sources(parse: Callable[..., Program], fed: list[float], told: dict[str, Any]) -> None:
    program = parse("g (float[N] x) => (float[N] y) <float c = {8}> { y = Add(x, c) }")
    values = [v for v in map(program.value, "xcy") if v is not None]
    found = sources_of(program, values, {"x": np.array(fed, np.float32)})
    assert {name: getattr(found, name) for name in told} == told


@pytest.mark.parametrize(
    ("array", "below", "largest"), [([1, -3], math.inf, 3.0), ([1, -3], 3.0, 1.0), ([1, math.inf], math.inf, 1.0)]
)
def test_magnitudes_under_a_limit(array: list[float], below: float, largest: float) -> None:
    assert magnitude(np.array(array), below) == largest
