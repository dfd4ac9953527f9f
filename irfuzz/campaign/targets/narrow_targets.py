"""Targets that lack something of most programs: a good part of what a campaign draws is kept to what they take.

Without that a runtime with kernels for half of ONNX's operators runs one mutant in five, and the hunt is for gaps. Only
targets that are used where they are named, converters, tools and classes of the user's can be such: the rest of what is
drawn is for the others, which are tested on all of ONNX.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from irfuzz.campaign.targets.operator_support import CLASS
from irfuzz.execute.run_types import Exit, RunResult, Target, TargetRole

if TYPE_CHECKING:
    from irfuzz.campaign.targets.refusal_learning import RefusalMemory
    from irfuzz.ir.program import Program

WINDOW = 40
"""Runs of valid programs after which it is asked whether a target lacked something of more than half of them."""

LEAST, MOST = 0.5, 0.75
"""Share of the programs that are drawn for narrow targets: their part of all components, within these bounds."""

REFERENCE = "reference"
"""The component that only bears witness."""


class NarrowTargets:
    """Which targets are narrow, and for which of them programs are drawn now.

    A target is narrow once it called a gap more than half of ``WINDOW`` programs, of which it ran some; from then on it
    stays so, for what is drawn for it is what it takes. What it called a gap teaches which calls it lacks; a
    rejection may be a fault, and teaches nothing.

    Args:
        targets: that started.
        memory: learns what narrow targets lack.
    """

    def __init__(self, targets: Sequence[Target], memory: RefusalMemory) -> None:
        self._memory = memory
        self._asked = tuple(t for t in targets if _may_be_narrow(t))
        self._components = {t.component for t in targets} - {REFERENCE}
        self._windows: dict[str, Counter[Exit]] = {t.name: Counter() for t in self._asked}
        self._judged: set[str] = set()
        self._narrow: tuple[Target, ...] = ()
        self._turns = 0

    def __bool__(self) -> bool:
        """Whether any target is narrow."""
        return bool(self._narrow)

    @property
    def undecided(self) -> bool:
        """Whether there is a target that has not run enough programs yet to tell."""
        return len(self._judged) < len(self._asked)

    @property
    def share(self) -> float:
        """How often a program is drawn for narrow targets."""
        part = len({t.component for t in self._narrow}) / max(1, len(self._components))
        return min(MOST, max(LEAST, part))

    def recall(self) -> None:
        """What the memory knows is narrow, too: another job, or this one in an earlier life, has seen it."""
        known = tuple(t for t in self._asked if self._memory.knows(t))
        if known:
            self._hold(known)

    def _hold(self, narrow: tuple[Target, ...]) -> None:
        self._narrow = narrow
        self._judged.update(t.name for t in narrow)
        self._memory.test(narrow)

    def saw(self, program: Program, runs: Iterable[RunResult]) -> None:
        """Take note of runs of a valid program; nothing changes before ``settle``.

        Args:
            program: that ran.
            runs: on all of its targets.
        """
        told = [run for run in runs if run.exit in (Exit.OK, Exit.UNSUPPORTED)]
        for run in told:
            if run.target.name in self._windows:
                self._windows[run.target.name][run.exit] += 1
        if self._narrow:
            self._memory.saw(program, told)

    def settle(self) -> None:
        """Decide on targets that have run enough since the last time."""
        found: list[Target] = []
        for target in self._asked:
            window = self._windows[target.name]
            if window.total() < WINDOW:
                continue
            lacked, ran = window[Exit.UNSUPPORTED], window[Exit.OK]
            if target not in self._narrow and lacked > ran > 0:
                found.append(target)
            self._judged.add(target.name)
            window.clear()
        if found:
            self._hold(tuple(t for t in self._asked if t in found or t in self._narrow))

    def turn(self) -> Target | None:
        """The narrow target whose turn it is; ``None`` if there is none."""
        if not self._narrow:
            return None
        self._turns += 1
        return self._narrow[self._turns % len(self._narrow)]


def _may_be_narrow(target: Target) -> bool:
    """Slow targets see a sample that depends on the clock, and what is drawn does not."""
    named = target.only_named or target.role is not TargetRole.RUNTIME or CLASS in target.options
    return named and not target.slow
