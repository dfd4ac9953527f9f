"""Runs a program on every input and target and collects what disagrees, as far as time and Ctrl-C allow."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from irfuzz import stop_request
from irfuzz.errors import UsageError
from irfuzz.execute.adapters.mapped_weights import mapped_model
from irfuzz.execute.request_batching import Task
from irfuzz.execute.run_types import Exit, RunResult, Target, Value
from irfuzz.execute.runner import Runner
from irfuzz.ir.program import Program
from irfuzz.isolate import Limits
from irfuzz.localize.comparison.accepted_difference_shadow_skipping import SparingShadow
from irfuzz.localize.comparison.failed_run_disagreements import Allowed, ends, lacks, starved
from irfuzz.localize.comparison.graph_output_distances import Measures
from irfuzz.localize.comparison.sample_disagreements import Disagreement, Tolerance, beyond, judged
from irfuzz.localize.comparison.saved_output_targets import SavedOutputs
from irfuzz.oracle.dispute import Dispute
from irfuzz.oracle.message_normalization import names_of
from irfuzz.oracle.runs_to_judge import Case, Distrust
from irfuzz.oracle.symptoms.refusal_justification import broken_by_optimiser
from irfuzz.oracle.symptoms.rejection import refusals
from irfuzz.oracle.witnesses_and_blame import trusts_all

MOST, SECONDS = 32, 1.0
"""At most so many inputs travel at once, and no more than are done in about so many seconds."""

WITNESS_SECONDS = 10.0
"""What a witness may take with one input: it is slow where it is of no use."""

Progress = Callable[[str, int, int], None]
"""Is told what is under way, how much of it is done, and of how much (0: not known)."""


@dataclass(frozen=True, slots=True)
class CheckSetting:
    """How a comparison is to be made.

    Attributes:
        base: name of the target that the others are compared with; the first one that runs if empty.
        tolerance: fixed bounds; ``None`` for derived ones.
        fail_fast: stop at the first sample on which targets disagree.
        keep: keep all outputs.
        labelled: name of an output that is kept in any case.
        saved: what other targets computed before.
        drawn: nobody gave the inputs.
        witnesses: targets that are asked only about samples on which the others differ or fewer than two run.
        allowed: the limits of one run, for messages.
        seconds: for the whole; ``None`` for no limit.
        locating: seconds for looking for nodes.
        known_faults: operators by component that are known to be wrong; looked at first.
        distrust: says whom a known fault makes wrong about the program: it bears no witness.
    """

    base: str = ""
    tolerance: Tolerance | None = None
    fail_fast: bool = False
    keep: bool = False
    labelled: str = ""
    saved: Sequence[SavedOutputs] = ()
    drawn: bool = False
    witnesses: Sequence[Target] = ()
    allowed: Allowed = field(default_factory=Allowed)
    seconds: float | None = None
    locating: float = 20.0
    known_faults: Mapping[str, frozenset[str]] = field(default_factory=dict[str, frozenset[str]])
    distrust: Distrust = trusts_all


class Clock:
    """The time that a check has; when it is over, workers end, and what waits for them raises ``Interrupted``."""

    def __init__(self, seconds: float | None) -> None:
        self._end = None if seconds is None else time.monotonic() + seconds
        self._timer = None if seconds is None else threading.Timer(seconds, stop_request.stop)
        if self._timer is not None:
            self._timer.daemon = True
            self._timer.start()

    @property
    def over(self) -> bool:
        """Whether no time is left; never if there is no limit."""
        return self._end is not None and time.monotonic() >= self._end

    def stop(self) -> None:
        """Leave workers alone from now on, and let new ones start again if the time was up."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer.join()
        if self.over:
            stop_request.resume()


@contextmanager
def clock(seconds: float | None) -> Generator[Clock]:
    """A clock that runs inside the ``with``, and is stopped at its end.

    Args:
        seconds: from now; ``None`` for no limit.
    """
    made = Clock(seconds)
    try:
        yield made
    finally:
        made.stop()


class SampleComparison:
    """Runs sample after sample and collects.

    Attributes:
        own: all targets by name, those of saved outputs and witnesses included.
        done: samples that were compared.
        found: what disagrees.
        absent: reasons by target of those that cannot run the program.
        nowhere: reasons by number of the samples that no target runs.
        outputs: by target and output, if they are kept.
        measures: of every output.
        farthest: largest difference to the base and its sample, by target.
        base: the target that the others are compared with; empty before one ran.
        asked: names of the witnesses that were asked.
        through: how many samples each target ran.
        compared: samples that told something.
    """

    def __init__(
        self, runner: Runner, program: Program, samples: Sequence[Mapping[str, Value]], setting: CheckSetting
    ) -> None:
        self._runner = runner
        self._program = program
        self._samples = samples
        self._setting = setting
        self._names = names_of(program)
        self._live = list(runner.targets)
        self._waiting = list(setting.witnesses)
        self.own: dict[str, Target] = {t.name: t for t in (*runner.targets, *(one.target for one in setting.saved))}
        if setting.base and setting.base not in self.own:
            raise UsageError(f"base {setting.base!r} is not one of the targets: {', '.join(self.own)}")
        self.base = setting.base
        self.done = 0
        self.found: list[Disagreement] = []
        self.absent: dict[str, str] = {}
        self.nowhere: dict[int, str] = {}
        self.outputs: dict[str, dict[str, list[Value]]] = {}
        self.measures = Measures(len(samples))
        self.farthest: dict[str, tuple[float, int]] = {}
        self.asked: list[Target] = []
        self.through: dict[str, int] = {}
        self.compared = 0
        self._sparing = SparingShadow(runner)

    @property
    def keeps(self) -> bool:
        """Whether all outputs of all targets are kept, as the setting says."""
        return self._setting.keep

    @property
    def differs(self) -> bool:
        """Whether targets are known to disagree by now; undecided differences do not count."""
        return any(not d.undecided for d in self.found)

    def run(self, progress: Progress, over: Callable[[], bool]) -> None:
        """Take all samples, or as many as there is time for; what is found stands in the attributes.

        It ends early if ``fail_fast`` is set and targets disagree, or if no target is left that can run the program.

        Args:
            progress: see ``Progress``.
            over: whether the time is up.
        """
        # Of a large model the session takes longer than the runs that it serves.
        least = MOST if mapped_model(self._program) is not None and not self._setting.fail_fast else 1
        size, count = least, len(self._samples)
        while self.done < count and not over():
            progress("inputs", self.done, count)
            part = self._samples[self.done : self.done + size]
            began = time.monotonic()
            for inputs, row in zip(part, self._rows(part), strict=True):
                self._take(self.done, inputs, row)
                self.done += 1
                progress("inputs", self.done, count)
                if (self._setting.fail_fast and self.differs) or over():
                    return
            if not self._live:
                return
            fit = int(len(part) * SECONDS / max(time.monotonic() - began, 1e-6))
            size = 1 if self._setting.fail_fast else max(least, min(MOST, 4 * size, fit))

    def _rows(self, part: Sequence[Mapping[str, Value]]) -> list[list[RunResult]]:
        ran = self._runner.run_all([Task(self._program, i, self._live) for i in part])
        saved = self._setting.saved
        return [[*row, *(one.result(self.done + at) for one in saved)] for at, row in enumerate(ran)]

    def _take(self, number: int, inputs: Mapping[str, Value], row: Sequence[RunResult]) -> None:
        """Judge one sample, and ask a witness if there is a doubt."""
        ran = self._able(row)
        found = self._judged(number, inputs, ran)
        through = [r for r in ran if r.exit is Exit.OK]
        doubt = len(through) < 2 or any(not d.limit for d in found)
        if doubt and (more := self._witnessed(inputs)):
            ran = [*ran, *more]
            found = self._judged(number, inputs, ran)
        through = [r for r in ran if r.exit is Exit.OK]
        if not through and not found:
            self.nowhere[number] = "; ".join(f"{r.target.name}: {self._why(r)}" for r in ran)
            return
        self.found += found
        self.compared += len(through) > 1 or any(not d.limit for d in found)
        for name, far in self.measures.add(ran, self.base).items():
            self.farthest[name] = max(self.farthest.get(name, (-1.0, number)), (far, number), key=lambda f: f[0])
        for result in through:
            self.through[result.target.name] = self.through.get(result.target.name, 0) + 1
            for output, value in result.outputs.items():
                if self._setting.keep or output == self._setting.labelled:
                    self.outputs.setdefault(result.target.name, {}).setdefault(output, []).append(value)

    def _why(self, result: RunResult) -> str:
        return self._setting.allowed.named(result) or result.error

    def _able(self, row: Sequence[RunResult]) -> list[RunResult]:
        """The results of those that can run the program; others, and those beyond a limit, run no further sample."""
        able: list[RunResult] = []
        accepting = [r.target for r in row if r.exit is Exit.OK]
        for result in map(starved, row):
            why = "" if broken_by_optimiser(result, accepting) else lacks(result)
            if why:
                self.absent[result.target.name] = why
            else:
                able.append(result)
            if why or result.exit in (Exit.HANG, Exit.MEMORY):
                self._live = [t for t in self._live if t.name != result.target.name]
        return able

    def _judged(self, number: int, inputs: Mapping[str, Value], ran: Sequence[RunResult]) -> list[Disagreement]:
        through = [r.target for r in ran if r.exit is Exit.OK]
        if not self.base:
            self.base = next((t.name for t in through), "")

        refused: dict[str, Dispute] = {}
        if any(r.exit in (Exit.REJECTED, Exit.UNSUPPORTED) for r in ran):
            told = refusals(Case(self._program, inputs, ran))
            refused = {t.name: r.dispute for r in told for t in (r.dispute.target, *r.others)}
        found = list(ends(number, ran, self.base, self._setting.allowed, self._names, refused))
        main = self.own.get(self.base)
        if main is None or len(through) < 2:
            return found
        if self._setting.tolerance is not None:
            return [*found, *beyond(number, ran, main, self._setting.tolerance)]
        if self._sparing.accepts(ran, self.base):
            return found
        apart = list(
            judged(self._runner, self._program, inputs, number, ran, main, self._sparing, self._setting.distrust)
        )
        if not found and not apart:
            self._sparing.accept(ran, self.base)
        return [*found, *apart]

    def _witnessed(self, inputs: Mapping[str, Value]) -> list[RunResult]:
        """What the witnesses do with a sample; one that does not end in time is not asked again."""
        if self._waiting:
            limits = Limits(
                seconds=min(WITNESS_SECONDS, self._setting.allowed.seconds), memory_bytes=self._setting.allowed.memory
            )
            for target in self._waiting:
                started = self._runner.add(target, limits)
                self.own[started.name] = started
                self.asked.append(started)
            self._waiting = []
        able = [t for t in self.asked if t.name not in self.absent]
        ran = self._runner.run(self._program, inputs, able) if able else []
        kept = []
        for result in map(starved, ran):
            if why := lacks(result) or (result.exit in (Exit.HANG, Exit.MEMORY) and self._why(result)):
                self.absent[result.target.name] = str(why)
            else:
                kept.append(result)
        return kept

    def refused(self) -> str:
        """Why nothing could be compared, each reason once, separated by semicolons; empty if there is none."""
        limits = [f"{d.target}: {d.what}" for d in self.found if d.limit]
        absent: dict[str, list[str]] = {}
        for name, why in self.absent.items():
            _, lacks, what = why.rpartition(" has no ")
            absent.setdefault(f"no {what}" if lacks else why, []).append(name)
        lacking = (f"{', '.join(names)}: {why}" for why, names in absent.items())
        return "; ".join(filter(None, dict.fromkeys((*self.nowhere.values(), *limits, *lacking))))
