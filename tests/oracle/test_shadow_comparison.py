"""When the shadow has a reference for an output, and which elements of NaN and infinity its moves leave undecided."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from irfuzz.execute.float64_shadow_runs import ShadowRun
from irfuzz.oracle.numeric.shadow_comparison import measure_of
from irfuzz.oracle.symptoms import nan_inf

pytestmark = pytest.mark.unit

FIRST = np.ones(2, np.float32)
ZEROS = {"y": np.zeros(2)}
ANOTHER = "the shadow gives another kind of output"


@pytest.mark.parametrize(
    ("run", "why"),
    [
        (ShadowRun(refused="no Mystery"), "no shadow: no Mystery"),
        (ShadowRun(), ANOTHER),
        (ShadowRun(reference={"y": np.ones(3)}), ANOTHER),
        (ShadowRun(reference={"y": np.ones(2, np.int64)}), ANOTHER),
        (ShadowRun(reference={"y": np.ones(2)}, small=ZEROS, wide=ZEROS), ""),
    ],
)
def test_what_the_shadow_has_to_give(run: ShadowRun, why: str) -> None:
    told: Any = SimpleNamespace(label="y", quantised=0)
    found = measure_of(run, told, FIRST, told, told)
    assert (found if isinstance(found, str) else "") == why


@pytest.mark.parametrize(
    ("small", "wide", "undecided"),
    [
        ({}, {}, [False, False]),
        ({"y": np.array([0, np.inf])}, {}, [False, True]),
        ({}, {"y": np.array([np.inf, 1])}, [True, False]),
        ({"y": np.array([np.inf, np.inf, 0])}, {}, [False, False]),  # of another shape
    ],
)
def test_elements_that_moves_of_the_shadow_leave_undecided(
    small: dict[str, np.ndarray], wide: dict[str, np.ndarray], undecided: list[bool]
) -> None:
    run = ShadowRun(small=small, wide=wide)
    nudges = SimpleNamespace(small=[], wide=[])
    case: Any = SimpleNamespace(nudges=lambda: nudges, has_shadow=True, shadow=lambda: run)
    leaf: Any = SimpleNamespace(label="y")
    assert nan_inf._undecided(case, leaf, {"a": np.zeros(2, np.int8)}).tolist() == undecided


@pytest.mark.parametrize(
    ("after", "undecided"),
    [(None, [False, False]), ([1, 2], [False, False]), ([1, np.nan], [False, True]), ([1, 2, 3], [True, True])],
)
def test_elements_that_moved_inputs_leave_undecided(after: list[float] | None, undecided: list[bool]) -> None:
    moved = {"a": {} if after is None else {"y": np.array(after)}}
    nudges = SimpleNamespace(small=[moved], wide=[])
    case: Any = SimpleNamespace(nudges=lambda: nudges, has_shadow=False)
    leaf: Any = SimpleNamespace(label="y")
    assert nan_inf._undecided(case, leaf, {"a": np.zeros(2, np.int8)}).tolist() == undecided
