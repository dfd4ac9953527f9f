"""Shares a job's time between fuzzing and triage, by what triage yields, and that of triage between targets."""

from __future__ import annotations

from collections import Counter

LEAST, MOST = 0.1, 0.4
"""Parts of a job's time that go into triage if nothing comes of it, and if every case is a new finding."""

GRACE = 40.0
"""Seconds of triage that are always allowed, so that a short campaign reports what it finds."""

RESUMED = 0.6
"""Most of its time until then that a job gives to what has waited since it last ran: new programs come meanwhile."""

KEPT = 0.3
"""Part of that time which is kept for targets that have not had their equal part of it."""

KNOWN = 0.5
"""Of a finding that a known issue explains, in the yield; a new one counts as 1."""

WEIGHT = 0.1
"""Of the latest case in the yield, beside all those before it."""


class TriageBudget:
    """Shares the time for triage between targets, and says how much there is.

    A case that turns out to be a repetition or no fault at all has taken the time of hundreds of programs. So the more
    of the cases are new findings, the more of the time triage gets, and what comes in faster waits.

    If one target disagrees in every tenth program and another in every thousandth, whoever comes first would get
    all. The last ``KEPT`` of the time is for those that have had less than their part.

    Args:
        targets: names of those of the campaign; variants of one version are one.
        resumed: cases wait from an earlier run, so ``GRACE`` is not given at once.
    """

    def __init__(self, targets: tuple[str, ...], *, resumed: bool = False) -> None:
        self._parts = max(1, len({version_of(name) for name in targets}))
        self._spent: Counter[str] = Counter()
        self._yield = 0.5
        self._earned, self._until = GRACE, 0.0
        self._resumed = resumed

    @property
    def share(self) -> float:
        """Part of the job's time that goes into triage now."""
        return LEAST + (MOST - LEAST) * self._yield

    def passes(self, elapsed: float) -> None:
        """So many seconds have gone by since the job began.

        Args:
            elapsed: in all, not since the last call; triage earns its share of what is new.
        """
        self._earned += self.share * max(0.0, elapsed - self._until)
        self._until = elapsed

    def allows(self, target: str, part: float = 1.0) -> bool:
        """Whether there is time for a case on a target, out of that part of all the time for triage."""
        whole = part * (min(self._earned, RESUMED * self._until) if self._resumed else self._earned)
        spent = self._spent.total()
        return spent <= (1 - KEPT) * whole or (
            spent <= whole and self._spent[version_of(target)] <= whole / self._parts
        )

    def took(self, target: str, seconds: float) -> None:
        """Take note of what a case came to in time.

        Args:
            target: its name; all variants of one version share what they took.
            seconds: that triage spent on it.
        """
        self._spent[version_of(target)] += seconds  # type: ignore[assignment] - Counter adds up floats as well

    def came_to(self, worth: float) -> None:
        """Take note of what a case was worth.

        Args:
            worth: 1 for a new finding, ``KNOWN`` for one that a known issue explains, 0 for anything else. It counts a
                tenth in a moving mean; the higher that is, the more time triage gets.
        """
        self._yield += WEIGHT * (worth - self._yield)


def version_of(target: str) -> str:
    """What the variants of one version of a component have in common: ``onnxruntime@1.20.1``.

    Args:
        target: its name; what stands behind the first colon is left out.
    """
    return target.partition(":")[0]
