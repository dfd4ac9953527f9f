"""Compares what two versions of a target, or two targets, made of the same cases."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from irfuzz.conformance.target_results import CaseOutcome, CaseStatus, TargetResults
from irfuzz.errors import UsageError

_BADNESS = {
    CaseStatus.RIGHT: 0,
    CaseStatus.REFUSES: 1,
    CaseStatus.WRONG: 2,
    CaseStatus.HANGS: 3,
    CaseStatus.DIES: 4,
}
"""What is undecided is neither better nor worse than anything."""


@dataclass(frozen=True, slots=True)
class ChangedCase:
    """A case that came out differently.

    Attributes:
        before: what came of it.
        after: likewise.
    """

    before: CaseOutcome
    after: CaseOutcome

    @property
    def worse(self) -> bool:
        """It went from right to anything else, or from refused to a fault, and so on; never of what is undecided."""
        return self._known and _BADNESS[self.after.status] > _BADNESS[self.before.status]

    @property
    def better(self) -> bool:
        """The opposite of ``worse``."""
        return self._known and _BADNESS[self.after.status] < _BADNESS[self.before.status]

    @property
    def _known(self) -> bool:
        return self.before.status in _BADNESS and self.after.status in _BADNESS


@dataclass(frozen=True, slots=True)
class ResultComparison:
    """What changed of a target.

    Attributes:
        before: name and version.
        after: likewise.
        same: cases that both ran, and that are the same to the byte.
        changed: those that came out differently, the worse ones first.
        other: cases that only one ran, or that are not the same.
    """

    before: str
    after: str
    same: int
    changed: tuple[ChangedCase, ...]
    other: int

    @property
    def worse(self) -> tuple[ChangedCase, ...]:
        """The cases that became worse."""
        return tuple(case for case in self.changed if case.worse)

    def to_json(self) -> dict[str, Any]:
        """All of it as JSON-able data."""
        rows = [
            {
                "case": one.after.case,
                "operator": one.after.operator,
                "before": one.before.status.value,
                "after": one.after.status.value,
                "change": "worse" if one.worse else "better" if one.better else "other",
                "detail": one.after.detail or one.before.detail,
            }
            for one in self.changed
        ]
        return {"before": self.before, "after": self.after, "same": self.same, "other": self.other, "changed": rows}


def compare_results(old: Sequence[TargetResults], new: Sequence[TargetResults]) -> list[ResultComparison]:
    """What changed, for each target that both have; for the only ones of both, whatever their names.

    Args:
        old: results of targets, each once.
        new: likewise.

    Raises:
        UsageError: a target is there in two versions, or none is in both.
    """
    before, after = _by_name(old), _by_name(new)
    if len(before) == len(after) == 1:
        return [_compared(*before.values(), *after.values())]
    shared = [name for name in before if name in after]
    if not shared:
        raise UsageError(
            f"compare: no target is in both: {', '.join(before) or 'none'} against {', '.join(after) or 'none'}"
        )
    return [_compared(before[name], after[name]) for name in shared]


def _by_name(results: Sequence[TargetResults]) -> dict[str, TargetResults]:
    found: dict[str, TargetResults] = {}
    for one in results:
        name = _without_version(one.target)
        if name in found:
            versions = f"{found[name].version} and {one.version}"
            raise UsageError(f"compare: {name} is there in versions {versions}; give the file of one of them")
        found[name] = one
    return found


def _without_version(name: str) -> str:
    """``onnxruntime:all`` of ``onnxruntime@1.29.0:all``."""
    component, colon, variant = name.partition(":")
    return component.partition("@")[0] + colon + variant


def _compared(before: TargetResults, after: TargetResults) -> ResultComparison:
    old = {outcome.case: outcome for outcome in before.outcomes}
    new = {outcome.case: outcome for outcome in after.outcomes}
    same = [case for case in old if case in new and old[case].digest == new[case].digest]
    changed = [ChangedCase(old[case], new[case]) for case in same if old[case].status is not new[case].status]
    changed.sort(key=lambda one: (not one.worse, not one.better, one.after.case))
    other = len(old.keys() | new.keys()) - len(same)
    return ResultComparison(_called(before), _called(after), len(same), tuple(changed), other)


def _called(one: TargetResults) -> str:
    return f"{one.target} {one.version}".strip()
