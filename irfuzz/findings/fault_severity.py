"""Says how grave a finding is for whoever uses the component."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import numpy as np

from irfuzz.findings.finding import Finding
from irfuzz.frontends.toml_file_reading import is_list
from irfuzz.oracle.verdict import Symptom


class Severity(StrEnum):
    """How grave a fault is."""

    HIGH = "high"
    """Wrong results that nothing tells of, or a process that dies, for ordinary inputs at default settings."""
    MEDIUM = "medium"
    """A valid model is refused; or what would be high, for unusual inputs or at settings that someone has to choose."""
    LOW = "low"
    """What would be medium, for unusual inputs or at such settings; or an invalid model that is not refused."""


@dataclass(frozen=True, slots=True)
class SeverityRating:
    """A severity and why.

    Attributes:
        severity: how grave the fault is.
        reasons: in words, what makes it so; never empty.
    """

    severity: Severity
    reasons: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.severity}: {', '.join(self.reasons)}"


_SILENT = "wrong results without an error"
_WORDS = {
    Symptom.CRASH: "the process dies",
    Symptom.HANG: "the process does not come back",
    Symptom.MEMORY: "the process runs out of memory",
    Symptom.PROTOCOL: "the process does not answer",
    Symptom.REJECTION: "a valid model is refused",
    Symptom.LENIENCY: "an invalid model is not refused",
}
_ORDER = (Severity.LOW, Severity.MEDIUM, Severity.HIGH)


def rating(symptom: Symptom, *, default_settings: bool = True, unusual: str = "") -> SeverityRating:
    """Rate a fault.

    Args:
        symptom: what is wrong.
        default_settings: whether it shows without a setting that someone has to choose.
        unusual: what is unusual about the inputs (``unusual_inputs``); empty if nothing is.
    """
    rank = {Symptom.REJECTION: 1, Symptom.LENIENCY: 0}.get(symptom, 2)
    reasons = [_WORDS.get(symptom, _SILENT)]
    if unusual:
        rank, reasons = rank - 1, [*reasons, f"for inputs with {unusual}"]
    if not default_settings:
        rank -= 1
    reasons.append("at default settings" if default_settings else "at settings that are not the default ones")
    return SeverityRating(_ORDER[max(0, rank)], tuple(reasons))


def rating_of(finding: Finding) -> SeverityRating:
    """Rate a finding by its symptom, its inputs and the targets that show it.

    Args:
        finding: with its case; inputs that cannot be read count as ordinary ones.
    """
    verdict = finding.verdict
    return rating(
        verdict.symptom,
        default_settings=_by_default((verdict.target, *verdict.also)),
        unusual=unusual_inputs(finding.case.inputs),
    )


def _by_default(targets: tuple[str, ...]) -> bool:
    """Only ONNXRuntime has targets beside the one that a session gets if nobody chooses: its optimisation levels."""
    levels = [t for t in targets if t.partition(":")[0].partition("@")[0] == "onnxruntime"]
    return not levels or any(t.partition(":")[2].partition("@")[0] == "all" for t in levels) or _in_all(levels)


def _in_all(levels: list[str]) -> bool:
    """Without optimisation a fault is one of a kernel, which every level runs."""
    return any(t.partition(":")[2].startswith("disabled") for t in levels)


def unusual_inputs(inputs: Mapping[str, Any]) -> str:
    """What of the inputs an ordinary program does not have, in words: empty tensors, NaN or infinities; mostly empty.

    Args:
        inputs: by name.
    """
    arrays = [a for value in inputs.values() for a in _arrays(value)]
    found: list[str] = []
    if any(a.size == 0 for a in arrays):
        found.append("no elements")
    if any(a.dtype.kind == "f" and not np.isfinite(a).all() for a in arrays):
        found.append("NaN or infinities")
    return " and ".join(found)


def _arrays(value: Any) -> list[np.ndarray]:
    if is_list(value):
        return [a for item in value for a in _arrays(item)]
    return [value] if isinstance(value, np.ndarray) else []
