"""Severity: on both sides of each of its rules."""

from __future__ import annotations

import numpy as np
import pytest

from irfuzz.findings.failing_case import FailingCase
from irfuzz.findings.fault_severity import Severity, rating, rating_of, unusual_inputs
from irfuzz.findings.finding import Finding
from irfuzz.oracle.verdict import Symptom, Verdict

pytestmark = pytest.mark.unit


@pytest.mark.parametrize(
    ("symptom", "default", "unusual", "expected"),
    [
        (Symptom.DIFFERENCE, True, "", Severity.HIGH),
        (Symptom.DIFFERENCE, False, "", Severity.MEDIUM),
        (Symptom.DIFFERENCE, True, "no elements", Severity.MEDIUM),
        (Symptom.DIFFERENCE, False, "no elements", Severity.LOW),
        (Symptom.CRASH, True, "", Severity.HIGH),
        (Symptom.REJECTION, True, "", Severity.MEDIUM),
        (Symptom.REJECTION, False, "", Severity.LOW),
        (Symptom.REJECTION, False, "no elements", Severity.LOW),
        (Symptom.LENIENCY, True, "", Severity.LOW),
    ],
)
def test_rules(symptom: Symptom, default: bool, unusual: str, expected: Severity) -> None:
    rated = rating(symptom, default_settings=default, unusual=unusual)
    assert rated.severity is expected
    assert ("not the default" in str(rated)) is not default
    assert (unusual in str(rated)) or not unusual


def test_it_is_said_why() -> None:
    assert str(rating(Symptom.WRONG_SHAPE)) == "high: wrong results without an error, at default settings"
    assert str(rating(Symptom.REJECTION)) == "medium: a valid model is refused, at default settings"


@pytest.mark.parametrize(
    ("target", "also", "default"),
    [
        ("onnxruntime:all", (), True),
        ("onnxruntime:basic", ("onnxruntime:all",), True),
        ("onnxruntime:basic", ("onnxruntime:extended",), False),
        ("onnxruntime@1.20.1:all", (), True),
        ("onnxruntime:disabled", (), True),
        ("torch:compile", (), True),
    ],
)
def test_default_settings_of_a_runtime_with_levels(target: str, also: tuple[str, ...], default: bool) -> None:
    case = FailingCase(b"", {"x": np.ones(1, np.float32)})
    verdict = Verdict("o", Symptom.DIFFERENCE, target, also=also)
    assert (rating_of(Finding(verdict, case, case)).severity is Severity.HIGH) == default


@pytest.mark.parametrize(
    ("value", "told"),
    [
        (np.ones(1, np.float32), ""),
        (np.array([np.inf], np.float32), "NaN or infinities"),
        (np.zeros((0, 2), np.int8), "no elements"),
        ([np.array([np.nan]), np.zeros(0)], "no elements and NaN or infinities"),
        (None, ""),
        (np.array(["nan"], object), ""),
    ],
)
def test_unusual_inputs(value: object, told: str) -> None:
    assert unusual_inputs({"x": value}) == told
