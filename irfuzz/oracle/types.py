"""What an oracle says of a set of runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

INVALID = "invalid"
"""Evidence of a program that breaks a rule of ONNX on purpose: refusing it is right, dying of it is not."""


class Symptom(StrEnum):
    """What a user sees go wrong."""

    CRASH = "crash"
    HANG = "hang"
    MEMORY = "memory"
    REJECTION = "rejection"
    WRONG_DTYPE = "wrong-dtype"
    WRONG_SHAPE = "wrong-shape"
    NAN_INF = "nan-inf"
    DIFFERENCE = "difference"
    PROTOCOL = "protocol"
    LENIENCY = "leniency"
    """A component runs what is invalid on purpose and what others refuse; never more than a suspect."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """One disagreement.

    Attributes:
        oracle: name of the oracle that speaks.
        symptom: what is wrong.
        target: name of the target that is blamed.
        witnesses: names of the targets that agree with each other against it.
        suspect: True where the evidence is too thin to call it a finding.
        output: name of the graph output, empty where the whole run is meant.
        distance: largest absolute difference, where the symptom is numeric.
        bound: what would still have been accepted.
        evidence: short readable facts (messages, shapes, worst elements), JSON-able.
        ratio: distance over bound, where both are known and the bound is not 0.
    """

    oracle: str
    symptom: Symptom
    target: str
    witnesses: tuple[str, ...] = ()
    suspect: bool = False
    output: str = ""
    distance: float | None = None
    bound: float | None = None
    evidence: Mapping[str, str | int | float] = field(default_factory=dict)
    ratio: float | None = field(init=False, default=None)

    def __post_init__(self) -> None:
        """Fill in the ratio."""
        if self.distance is not None and self.bound:
            object.__setattr__(self, "ratio", self.distance / self.bound)
