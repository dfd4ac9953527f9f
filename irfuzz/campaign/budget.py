"""What triage has taken so far enters; whether a target's next case may be looked at leaves."""

from __future__ import annotations

from collections import Counter

SHARE = 0.4
"""Largest part of a job's time that goes into triage; what comes in faster waits."""

GRACE = 60.0
"""Seconds of triage that are always allowed, so that a short campaign reports what it finds."""

KEPT = 0.3
"""Part of that time which is kept for targets that have not had their equal part of it."""


class Budget:
    """Shares the time for triage between targets.

    Where one target disagrees in every tenth program and another in every thousandth, whoever comes first would get
    all. The last ``KEPT`` of the time is for those that have had less than their part.

    Args:
        targets: names of those of the campaign; variants of one version are one.
    """

    def __init__(self, targets: tuple[str, ...]) -> None:
        self._parts = max(1, len({version_of(name) for name in targets}))
        self._spent: Counter[str] = Counter()

    def allows(self, target: str, elapsed: float) -> bool:
        """Whether there is time for a case on a target, so many seconds after the job began."""
        whole = GRACE + SHARE * elapsed
        spent = self._spent.total()
        return spent <= (1 - KEPT) * whole or (
            spent <= whole and self._spent[version_of(target)] <= whole / self._parts
        )

    def took(self, target: str, seconds: float) -> None:
        """Take note of what a case came to."""
        self._spent[version_of(target)] += seconds  # type: ignore[assignment] - Counter adds up floats as well


def version_of(target: str) -> str:
    """What the variants of one version of a component have in common: ``onnxruntime@1.20.1``."""
    return target.partition(":")[0]
