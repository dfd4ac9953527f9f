"""The limits of what a job draws: those that the user sets, and what targets were seen to refuse."""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import onnx_ir as ir

from irfuzz.campaign.targets.narrow_targets import NarrowTargets
from irfuzz.campaign.targets.refusal_learning import EXPLORED, RefusalMemory, learnt_of
from irfuzz.mutate.drawing_limits import DrawingLimits

if TYPE_CHECKING:
    from irfuzz.campaign.config import Config
    from irfuzz.choices import Choices
    from irfuzz.execute.run_types import RunResult, Target
    from irfuzz.ir.program import Program
    from irfuzz.store.database import Database

REFUSALS = "refusals"
"""Key of the setting with what a probe learnt; with `` of job N`` behind it, of that with what a job did."""

LEFT_OUT = "seeds beyond the limits"
"""Name of a count: seeds that were not run as they are."""

TELL = 5.0
"""Seconds between two times that a job stores what it learnt, and that it reads what others did."""

MEANT = "drawn for"
"""Begin of the names of counts: programs that were drawn for a narrow target."""


def limits_of(config: Config, memory: RefusalMemory | None = None) -> DrawingLimits:
    """What a campaign may draw.

    Args:
        config: of the campaign.
        memory: of what targets refuse; obeyed if it is given.
    """
    dtypes = frozenset(ir.DataType[name.upper()] for name in config.dtypes)
    ops = None if config.ops is None else frozenset(config.ops)
    if memory is None:
        return DrawingLimits(ops, dtypes, config.max_rank)
    return DrawingLimits(ops, dtypes, config.max_rank, memory.refuses)


def recalled(database: Database) -> RefusalMemory:
    """What a campaign has learnt by now, by the probe and in all of its jobs.

    Args:
        database: of the campaign.
    """
    memory = RefusalMemory()
    for key, text in sorted(database.settings().items()):
        if key.startswith(REFUSALS) and text:
            memory.absorb(json.loads(text))
    return memory


class DrawnCalls:
    """What one job may draw, and what it learns of it.

    Args:
        config: of the campaign. If it says that targets are learnt of, all but a few programs are drawn by what they
            take; else a part of them by what narrow targets take (``narrow_targets``).

    Attributes:
        limits: to be obeyed; they change with ``decide`` and ``settle``.
        meant: narrow targets that the next program is drawn for.
    """

    def __init__(self, config: Config) -> None:
        self._memory = RefusalMemory()
        self._wholly = config.learn
        self._beside = config.jobs > 1
        self._narrow = NarrowTargets((), self._memory)
        self._turn: tuple[Target, ...] = ()
        self.meant: tuple[Target, ...] = ()
        self.limits = limits_of(config, self._memory if config.learn else None)
        self.limits.gentle = not config.learn
        self._told = self._heard = 0.0

    def begin(self, database: Database, targets: Sequence[Target]) -> None:
        """Go on from what the campaign has learnt.

        Args:
            database: of the campaign.
            targets: that started; ``learnt_of`` says which of them have to take what is drawn, ``NarrowTargets`` which
                may be narrow.
        """
        self._database = database
        if not self._wholly:
            self._narrow = NarrowTargets(targets, self._memory)
        if self.moving:
            self._memory.absorb(recalled(database).state())
            self._heard = time.monotonic()
        if self._wholly:
            self._memory.test(learnt_of(targets))
        self._narrow.recall()
        self._next()

    @property
    def moving(self) -> bool:
        """Whether limits may move soon, so that ``settle`` is worth calling often."""
        return self._wholly or bool(self._narrow) or self._narrow.undecided

    def decide(self, choices: Choices) -> None:
        """Whether the next program is drawn as if nothing had been refused.

        Args:
            choices: of the iteration; nothing is drawn from them unless something is learnt.
        """
        if self._wholly:
            self.limits.exploring = choices.boolean(EXPLORED)
        elif self._turn:
            self.limits.exploring = not choices.boolean(self._narrow.share)
            self.meant = () if self.limits.exploring else self._turn

    def as_given(self) -> None:
        """The next program is one of the user's or was drawn before, and runs as it is, whatever targets take."""
        if not self._wholly:
            self.limits.exploring, self.meant = True, ()

    def saw(self, program: Program, runs: Iterable[RunResult], counts: Counter[str]) -> bool:
        """Take note of runs of a valid program.

        Args:
            program: that ran.
            runs: on all of its targets.
            counts: of the job.

        Returns:
            Whether a target refused it that has to take what is drawn.
        """
        if self._wholly:
            return self._memory.saw(program, runs, counts)
        self._narrow.saw(program, runs)
        return False

    def settle(self) -> bool:
        """Learn from what was seen, at a time that does not depend on how programs travel; whether limits moved.

        Now and then what other jobs have learnt is learnt, too: each of them would have to be refused the same.
        """
        heard = self._beside and self.moving and time.monotonic() - self._heard > TELL
        if heard:
            self._heard = time.monotonic()
            self._memory.absorb(recalled(self._database).state())
        learnt = self._memory.settle()
        if self._wholly:
            return learnt or heard
        if heard:
            self._narrow.recall()
        self._narrow.settle()
        return self._next()

    def _next(self) -> bool:
        """For which narrow target programs are drawn from here on; whether there is one."""
        target = self._narrow.turn()
        if target is None:
            return False
        self._turn = (target,)
        self.limits.refused = self._memory.table(target).refuses
        return True

    def tell(self, database: Database, number: int, *, now: bool = False) -> None:
        """Store what was learnt, now and then or ``now``.

        Args:
            database: of the campaign.
            number: of the job.
            now: even if the last time was only seconds ago.
        """
        if not self._memory.changed or not (now or time.monotonic() - self._told > TELL):
            return
        self._told = time.monotonic()
        database.set(f"{REFUSALS} of job {number}", json.dumps(self._memory.state(), separators=(",", ":")))
