"""Runs the slow targets of a job: each is started when its first turn comes, and left out if that takes too long."""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Callable, Sequence

import numpy as np
import onnx.parser

from irfuzz.campaign.corpus.testcase import Testcase
from irfuzz.campaign.targets.slow_sampling import Sampling
from irfuzz.errors import UsageError
from irfuzz.execute.run_types import Exit, RunResult, Target
from irfuzz.execute.runner import Runner
from irfuzz.ir.program import Program

WARM_UP = 0.1
"""Largest part of a campaign that one target's warm-up may take."""

CUT_SHORT = "slow runs cut short"
"""Name of a count: runs that took a tenth of the campaign, of which nothing is known but that."""

_PLAIN = '<ir_version: 8, opset_import: ["": 13]> warm_up (float[2] x) => (float[2] y) { y = Add(x, x) }'
"""What a target runs first, so that its own program is not charged with imports and compilers that are loaded."""


def quick_and_slow(targets: Sequence[Target]) -> tuple[tuple[Target, ...], tuple[Target, ...]]:
    """The targets that run every program, and those that are sampled; if all are slow, somebody asked for that.

    Returns:
        Both in the order of ``targets``. If all are slow they count as quick, and none is sampled.
    """
    quick = tuple(t for t in targets if not t.slow)
    return (quick, tuple(t for t in targets if t.slow)) if quick else (tuple(targets), ())


def longest(seconds: float) -> float:
    """Seconds that a slow target may take with anything in a campaign of so many: a tenth of them."""
    return WARM_UP * seconds


class SlowTargets:
    """The slow targets of a job.

    Args:
        runner: of the job; a target is added to it when it starts.
        sampling: says whose turn it is.
        seconds: of the campaign.
        counts: of the job.
        drop: is told of a target that is left out from now on, and why.
        started: is told of a target that is ready, with its version.
    """

    def __init__(
        self,
        runner: Runner,
        sampling: Sampling,
        seconds: float,
        counts: Counter[str],
        drop: Callable[[Target, str], None],
        started: Callable[[Target], None],
    ) -> None:
        self._runner = runner
        self._sampling = sampling
        self._longest = longest(seconds)
        self._counts = counts
        self._drop = drop
        self._started = started
        self._ready: dict[str, Target] = {}

    def run(self, testcase: Testcase) -> list[RunResult]:
        """What the target whose turn it is did with a program; nothing if it is nobody's, or one only starts."""
        target = self._sampling.turn(testcase.features, lambda one: self._takes(one, testcase.program))
        if target is None:
            return []
        if not self._sampling.is_warm(target):
            self._warm_up(target)
            return []
        target = self._ready[target.name]
        began = time.monotonic()
        results = self._runner.run(testcase.program, testcase.inputs, [target], tag=testcase.tag)
        took = time.monotonic() - began
        self._sampling.ran(target, took)
        if results[0].exit is Exit.HANG and took >= 0.9 * self._longest:
            self._counts[CUT_SHORT] += 1
            return []
        return results

    def leave_out(self, target: Target) -> None:
        """A slow target has no turn any more; nothing happens if it has none."""
        self._sampling.drop(target)

    def _takes(self, target: Target, program: Program) -> bool:
        """Whether a target knows the program's version; what it said of a newer one would be about that."""
        ready = self._ready.get(target.name)
        if ready is None:
            return True
        versions = ((program.opset, ready.opset), (program.model.ir_version or 0, ready.ir))
        return all(not newest or version <= newest for version, newest in versions)

    def _warm_up(self, target: Target) -> None:
        """Start a target's worker and let it run a plain program; leave it out if it cannot, or takes too long."""
        began = time.monotonic()
        why = ""
        try:
            target = self._ready[target.name] = self._runner.add(target)
            if time.monotonic() - began <= self._longest:
                plain = Program.from_proto(onnx.parser.parse_model(_PLAIN))
                self._runner.run(plain, {"x": np.ones(2, np.float32)}, [target])
        except UsageError as error:
            why = str(error).splitlines()[0]
        took = time.monotonic() - began
        self._sampling.warmed_up(target, took)
        if took > self._longest and not math.isinf(self._longest):
            why = (
                f"its warm-up took {took:.0f} s, more than a tenth of the campaign ({self._longest:.0f} s); "
                "give more --time"
            )
        if why:
            self._sampling.drop(target)
            self._drop(target, why)
        else:
            self._started(target)
