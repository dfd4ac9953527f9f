"""What an oracle says of a set of runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Self

Fact = str | int | float
"""What a reader is told, JSON-able."""


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
    """A component runs what is invalid on purpose and what others refuse."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """One disagreement.

    Attributes:
        oracle: name of the oracle that found it.
        symptom: what is wrong.
        target: name of the target that is blamed.
        witnesses: names of the targets that agree with each other against it.
        suspect: True if the evidence is too thin to call it a finding; ``doubt`` says why.
        output: name of the graph output, empty if the whole run is meant.
        distance: largest absolute difference, if the symptom is numeric.
        bound: what would still have been accepted.
        evidence: facts for readers (spreads, counts, ...); no code looks at them.
        doubt: why it is a suspect; empty for a finding.
        excuse: name of the excuse that the doubt comes of (``oracle.excuses``); empty if it comes of none.
        also: names of the other targets of the same component that show it.
        element: the element that shows it best, ``"y[0, 3]"``, with positions in sequences before the index.
        got: what the target gives there, or the dtype and shape that it gives.
        expected: what the witnesses give.
        exit: how the process of a target ended that died.
        stage: the stage at which a target refused, died or went over a limit.
        message: what it said then.
        operator: the one whose rule is broken, or that was rewritten.
        rule: the rule that decided, or that is broken.
        passes: names of the optimiser passes that make it.
        together: all of ``passes`` are needed; otherwise each of them makes it alone.
        place: ``optimiser``, ``kernel``, ``compilation`` or ``tool``; empty if it was not looked for.
        invalid: the program breaks a rule of ONNX on purpose: refusing it is right, dying of it is not.
        cut_out: the program is a part of its original, which as a whole is no proof.
        runs: how often the program ran in one process before it showed.
        limit: bytes of memory that were allowed in those runs; 0 if it showed in the first.
        ratio: distance over bound, if both are known and the bound is not 0.
    """

    oracle: str
    symptom: Symptom
    target: str
    witnesses: tuple[str, ...] = ()
    suspect: bool = False
    output: str = ""
    distance: float | None = None
    bound: float | None = None
    evidence: Mapping[str, Fact] = field(default_factory=dict[str, Fact])
    doubt: str = ""
    excuse: str = ""
    also: tuple[str, ...] = ()
    element: str = ""
    got: str = ""
    expected: str = ""
    exit: str = ""
    stage: str = ""
    message: str = ""
    operator: str = ""
    rule: str = ""
    passes: tuple[str, ...] = ()
    together: bool = True
    place: str = ""
    invalid: bool = False
    cut_out: bool = False
    runs: int = 1
    limit: int = 0
    ratio: float | None = field(init=False, default=None)

    def __post_init__(self) -> None:
        """Fill in the ratio."""
        if self.distance is not None and self.bound:
            object.__setattr__(self, "ratio", self.distance / self.bound)

    @property
    def blamed(self) -> tuple[str, ...]:
        """All targets that show it, the plainest first."""
        return (self.target, *self.also)

    @property
    def pass_text(self) -> str:
        """``A``, ``A + B`` if both passes are needed, ``A / B`` if either will do."""
        return (" + " if self.together else " / ").join(self.passes)

    def told(self) -> dict[str, Fact]:
        """All that readers are told of it, under the names that reports and ``finding.json`` use.

        Returns:
            What is empty is left out, but for ``got`` and ``expected`` if one of the two is there. First comes what was
            seen, then the oracle's evidence, then the rule, the other targets, doubts, passes and runs.
        """
        compared = bool(self.got or self.expected)
        seen = {name: getattr(self, name) for name in _TEXTS if getattr(self, name) or (compared and name in _BOTH)}
        rule = seen.pop("rule", "")
        after: dict[str, Fact] = {
            "rule": rule,
            "also": ", ".join(self.also),
            "suspect": self.doubt,
            "excuse": self.excuse,
            "invalid": _INVALID if self.invalid else "",
            "cut out": _CUT_OUT if self.cut_out else "",
            "place": self.place,
            "pass": self.pass_text,
            "runs": self.runs if self.runs > 1 else 0,
            "limit": self.limit,
        }
        return {**seen, **self.evidence, **{name: fact for name, fact in after.items() if fact}}

    def to_json(self) -> dict[str, Any]:
        """As ``finding.json`` has it; ``from_json`` is the inverse.

        Returns:
            JSON-able data; all texts of ``told`` stand under ``evidence``.
        """
        return {
            "oracle": self.oracle,
            "symptom": self.symptom.value,
            "target": self.target,
            "witnesses": list(self.witnesses),
            "suspect": self.suspect,
            "output": self.output,
            "distance": self.distance,
            "bound": self.bound,
            "evidence": self.told(),
            "ratio": self.ratio,
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """Read what ``to_json`` gave, numbers that JSON lacks as text.

        Raises:
            KeyError: a field is missing.
            ValueError: a field is not what it should be.
        """
        evidence = dict(data["evidence"])
        texts = {name: str(evidence.pop(name, "")) for name in _TEXTS}
        also, passes = str(evidence.pop("also", "")), str(evidence.pop("pass", ""))
        return cls(
            str(data["oracle"]),
            Symptom(data["symptom"]),
            str(data["target"]),
            tuple(data["witnesses"]),
            bool(data["suspect"]),
            str(data["output"]),
            None if data["distance"] is None else float(data["distance"]),
            None if data["bound"] is None else float(data["bound"]),
            doubt=str(evidence.pop("suspect", "")),
            excuse=str(evidence.pop("excuse", "")),
            also=tuple(also.split(", ")) if also else (),
            **texts,
            passes=tuple(name for part in passes.split(" + ") for name in part.split(" / ") if name),
            together=" / " not in passes,
            place=str(evidence.pop("place", "")),
            invalid=bool(evidence.pop("invalid", "")),
            cut_out=bool(evidence.pop("cut out", "")),
            runs=int(evidence.pop("runs", 1)),
            limit=int(evidence.pop("limit", 0)),
            evidence=evidence,
        )


_TEXTS = ("exit", "stage", "message", "operator", "element", "got", "expected", "rule")
"""Fields that readers are told under their own names."""

_BOTH = ("got", "expected")
"""Told if either is not empty."""

_INVALID = "the program breaks a rule of ONNX on purpose"
_CUT_OUT = "of the program in original/"
