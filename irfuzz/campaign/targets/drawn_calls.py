"""The limits of what a job draws: those that the user sets, and what targets were seen to refuse."""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import onnx_ir as ir

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
        config: of the campaign; nothing is learnt unless it says so.

    Attributes:
        limits: to be obeyed; they change with ``decide`` and ``settle``.
    """

    def __init__(self, config: Config) -> None:
        self._memory = RefusalMemory() if config.learn else None
        self._beside = config.jobs > 1
        self.limits = limits_of(config, self._memory)
        self._told = self._heard = 0.0

    def begin(self, database: Database, targets: Sequence[Target]) -> None:
        """Go on from what the campaign has learnt.

        Args:
            database: of the campaign.
            targets: that started; ``learnt_of`` says which of them have to take what is drawn.
        """
        if self._memory is not None:
            self._database = database
            self._memory.absorb(recalled(database).state())
            self._memory.test(learnt_of(targets))
            self._heard = time.monotonic()

    def decide(self, choices: Choices) -> None:
        """Whether the next program is one of the few that are drawn as if nothing had been refused.

        Args:
            choices: of the iteration; nothing is drawn from them unless it is learnt.
        """
        if self._memory is not None:
            self.limits.exploring = choices.boolean(EXPLORED)

    def saw(self, program: Program, runs: Iterable[RunResult], counts: Counter[str]) -> bool:
        """Take note of runs of a valid program.

        Args:
            program: that ran.
            runs: on all of its targets.
            counts: of the job.

        Returns:
            Whether a target refused it that has to take what is drawn.
        """
        return self._memory is not None and self._memory.saw(program, runs, counts)

    def settle(self) -> bool:
        """Learn from what was seen, at a time that does not depend on how programs travel; whether limits moved.

        Now and then what other jobs have learnt is learnt, too: each of them would have to be refused the same.
        """
        if self._memory is None:
            return False
        heard = self._beside and time.monotonic() - self._heard > TELL
        if heard:
            self._heard = time.monotonic()
            self._memory.absorb(recalled(self._database).state())
        return self._memory.settle() or heard

    def tell(self, database: Database, number: int, *, now: bool = False) -> None:
        """Store what was learnt, now and then or ``now``.

        Args:
            database: of the campaign.
            number: of the job.
            now: even if the last time was only seconds ago.
        """
        if self._memory is None or not self._memory.changed or not (now or time.monotonic() - self._told > TELL):
            return
        self._told = time.monotonic()
        database.set(f"{REFUSALS} of job {number}", json.dumps(self._memory.state(), separators=(",", ":")))
