"""How bad a finding is for those who use the component, by what they would see of it."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

from irfuzz.oracle.verdict import Symptom, Verdict


class Severity(StrEnum):
    """Three levels, the worst first."""

    HIGH = "high"
    """A wrong answer that nobody notices, or a process that dies."""
    MEDIUM = "medium"
    """A wrong answer that is near, or whose type or shape gives it away, and what never ends or fills the memory."""
    LOW = "low"
    """An error message instead of an answer, or an answer instead of an error message."""


_BY_SYMPTOM: Mapping[Symptom, Severity] = {
    Symptom.CRASH: Severity.HIGH,
    Symptom.NAN_INF: Severity.HIGH,
    Symptom.DIFFERENCE: Severity.HIGH,
    Symptom.WRONG_DTYPE: Severity.MEDIUM,
    Symptom.WRONG_SHAPE: Severity.MEDIUM,
    Symptom.HANG: Severity.MEDIUM,
    Symptom.MEMORY: Severity.MEDIUM,
    Symptom.PROTOCOL: Severity.MEDIUM,
    Symptom.REJECTION: Severity.LOW,
    Symptom.LENIENCY: Severity.LOW,
}

NEAR = 10.0
"""A difference of less than so many times what is accepted is near."""


def severity_of(verdict: Verdict) -> Severity:
    """How bad what a verdict tells is.

    Args:
        verdict: of a finding or suspect; whether it is proven does not count.
    """
    if verdict.symptom is Symptom.DIFFERENCE and verdict.ratio is not None and verdict.ratio < NEAR:
        return Severity.MEDIUM
    return _BY_SYMPTOM[verdict.symptom]
