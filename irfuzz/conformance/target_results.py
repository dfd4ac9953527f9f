"""What came of the cases on a target, and its JSON, which results are kept as and printed in."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from irfuzz.errors import UsageError

SCHEMA = 1
"""Version of the JSON."""

TOO_MANY_REFUSED = 0.6
"""A target that refuses more of the cases in its types than this share is listed, and does not count as a runtime."""


class CaseStatus(StrEnum):
    """What a target made of a case."""

    RIGHT = "right"
    WRONG = "wrong"
    DIES = "dies"
    """Its process ended, also alone in a new process."""
    HANGS = "hangs"
    REFUSES = "refuses"
    """It says that it lacks something, or raises an error of its own."""
    UNDECIDED = "undecided"
    """It differs, but the oracle doubts that this is its fault; or nobody else computes the case."""


FAULTS = frozenset({CaseStatus.WRONG, CaseStatus.DIES, CaseStatus.HANGS})
"""What nothing excuses."""


@dataclass(frozen=True, slots=True)
class CaseOutcome:
    """What a target made of a case.

    Attributes:
        case: its name.
        operator: that it is about.
        types: element types of its values, as ONNX calls them.
        digest: of the case (``CaseRun.digest``).
        status: what came of it.
        detail: the symptom with what was expected and given, the component's own words, or why it is undecided.
        known: ids of the known issues that explain a fault, by the rules of the irfuzz that judged it.
    """

    case: str
    operator: str
    types: tuple[str, ...]
    digest: str
    status: CaseStatus
    detail: str = ""
    known: tuple[str, ...] = ()

    def told(self) -> str:
        """The detail, and what explains it."""
        return "; ".join(filter(None, [self.detail, f"known: {', '.join(self.known)}" if self.known else ""]))

    def to_json(self) -> dict[str, Any]:
        """Keys are the attributes."""
        return {
            "case": self.case,
            "operator": self.operator,
            "types": list(self.types),
            "digest": self.digest,
            "status": self.status.value,
            "detail": self.detail,
            "known": list(self.known),
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> CaseOutcome:
        """The inverse of ``to_json``.

        Raises:
            KeyError: a key is missing.
            ValueError: there is no such status.
        """
        return cls(
            str(data["case"]), str(data["operator"]), tuple(map(str, data["types"])), str(data["digest"]),
            CaseStatus(data["status"]), str(data["detail"]), tuple(_names(data.get("known", []))),
        )  # fmt: skip


def _names(data: Any) -> list[str]:
    if not isinstance(data, list) or not all(isinstance(name, str) for name in data):  # pyright: ignore[reportUnknownVariableType]
        raise ValueError(f"known: expected a list of names, got {data!r}")
    return data  # pyright: ignore[reportUnknownVariableType]


@dataclass(frozen=True, slots=True)
class TargetResults:
    """What a target in one version made of the cases.

    Attributes:
        target: its name.
        version: of its component.
        outcomes: in the order of the cases' names.
        of: how many cases there were to choose from.
        sampled: a sample of them was asked for.
    """

    target: str
    version: str
    outcomes: tuple[CaseOutcome, ...]
    of: int
    sampled: bool = False

    def counts(self) -> Counter[CaseStatus]:
        """How many cases ended how."""
        return Counter(outcome.status for outcome in self.outcomes)

    def by_operator(self) -> dict[str, Counter[CaseStatus]]:
        """The same for each operator, by name."""
        found: dict[str, Counter[CaseStatus]] = {}
        for outcome in self.outcomes:
            found.setdefault(outcome.operator, Counter())[outcome.status] += 1
        return dict(sorted(found.items()))

    def in_types(self) -> tuple[int, int]:
        """How many cases have no element type but those of some case that was not refused; how many of them were."""
        known = {name for o in self.outcomes if o.status is not CaseStatus.REFUSES for name in o.types}
        inside = [outcome for outcome in self.outcomes if known.issuperset(outcome.types)]
        return len(inside), sum(outcome.status is CaseStatus.REFUSES for outcome in inside)

    @property
    def counts_as_runtime(self) -> bool:
        """Whether it refuses few enough of the cases in its types."""
        inside, refused = self.in_types()
        return inside > 0 and refused <= TOO_MANY_REFUSED * inside

    def coverage_note(self) -> str:
        """What part of the cases this is; empty if it is all of them."""
        if len(self.outcomes) >= self.of:
            return ""
        return f"sample, {len(self.outcomes)} cases" if self.sampled else f"{len(self.outcomes)} of {self.of} cases"

    def to_json(self) -> dict[str, Any]:
        """As results are kept and printed; ``from_json`` is the inverse."""
        inside, refused = self.in_types()
        counts = self.counts()
        return {
            "target": self.target,
            "version": self.version,
            "of": self.of,
            "sampled": self.sampled,
            "counts": {status.value: counts[status] for status in CaseStatus},
            "in_types": {"cases": inside, "refused": refused},
            "counts_as_runtime": self.counts_as_runtime,
            "cases": [outcome.to_json() for outcome in self.outcomes],
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> TargetResults:
        """Read what ``to_json`` gave.

        Raises:
            KeyError: a key is missing.
            ValueError: a value is not what it should be.
        """
        outcomes = tuple(CaseOutcome.from_json(case) for case in data["cases"])
        return cls(str(data["target"]), str(data["version"]), outcomes, int(data["of"]), bool(data["sampled"]))


def document(results: Sequence[TargetResults], **more: Any) -> dict[str, Any]:
    """The JSON of some targets' results.

    Args:
        results: of the targets.
        more: further keys.
    """
    return {"schema": SCHEMA, **more, "targets": [one.to_json() for one in results]}


def results_in(data: Mapping[str, Any], place: str) -> list[TargetResults]:
    """The results in a JSON document that ``document`` made.

    Args:
        data: what the JSON says.
        place: of the document, for messages.

    Raises:
        UsageError: it is no such document, or of another schema.
    """
    if data.get("schema") != SCHEMA:
        raise UsageError(
            f"{place}: schema is {data.get('schema')!r}; expected {SCHEMA}, as `irfuzz conform --json` writes it"
        )
    try:
        return [TargetResults.from_json(one) for one in data["targets"]]
    except (KeyError, TypeError, ValueError) as error:
        raise UsageError(f"{place}: no results of `irfuzz conform`: {error!r}") from None


def ordered(outcomes: Iterable[CaseOutcome]) -> tuple[CaseOutcome, ...]:
    """Outcomes in the order of their cases' names."""
    return tuple(sorted(outcomes, key=lambda outcome: outcome.case))
