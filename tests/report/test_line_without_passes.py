"""The line of a short script that shows what comes without the passes to blame."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from irfuzz.oracle.verdict import Symptom
from irfuzz.report.repro_scripts.short_script import _without

pytestmark = pytest.mark.unit


@pytest.mark.parametrize(
    ("symptom", "place", "end"),
    [
        (Symptom.DIFFERENCE, ((), (0, 3)), "[0, 3])"),
        (Symptom.NAN_INF, ((), (0, 3)), "[0, 3])"),
        (Symptom.NAN_INF, ((), ()), "[()])"),
        (Symptom.DIFFERENCE, None, ")"),
        (Symptom.WRONG_SHAPE, ((), (0, 3)), ".shape)"),
        (Symptom.WRONG_SHAPE, None, ".shape)"),
    ],
)
def test_an_element_of_values_and_else_the_shape(symptom: Symptom, place: Any, end: str) -> None:
    scene: Any = SimpleNamespace(symptom=symptom, place=place, passes=("A", "B"))
    assert _without(scene) == f"print(\"without A, B\", np.asarray(run(['A', 'B'])){end}"
