"""One fuzzing process: a campaign's database enters, mutants run and are judged, counts and findings go back to it."""

from __future__ import annotations

import errno
import json
import os
import signal
import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Any, TypeVar

from irfuzz.campaign import audit, comparable, journal, lineage, schedule
from irfuzz.campaign.case import Case
from irfuzz.campaign.config import STOP_AT, TARGETS, Config, Layout
from irfuzz.campaign.corpus import Corpus
from irfuzz.campaign.faults import INTERNAL, Faults, kind_of, text_of
from irfuzz.campaign.hunt import Hunt
from irfuzz.campaign.made import Made
from irfuzz.campaign.sampling import Sampling
from irfuzz.campaign.seed_inputs import SeedSamples
from irfuzz.campaign.steering import Steering
from irfuzz.campaign.stuck import Stuck
from irfuzz.campaign.support import Support
from irfuzz.campaign.triage import Triage
from irfuzz.choices import Choices
from irfuzz.errors import InternalError, IrfuzzError, Unsupported, UsageError
from irfuzz.execute.runner import Runner
from irfuzz.execute.table import resolve
from irfuzz.execute.together import Task
from irfuzz.execute.types import Exit, RunResult
from irfuzz.generate.inputs import make_inputs
from irfuzz.generate.ranges import seed_ranges
from irfuzz.ir.program import Program
from irfuzz.isolate import Limits
from irfuzz.isolate.linux import signal_at_parents_death, stay_on_core
from irfuzz.isolate.types import StartError
from irfuzz.memory import settle
from irfuzz.mutate.convert_opset import NEWEST, newest_for
from irfuzz.mutate.table import is_steered
from irfuzz.mutate.trace import Trace
from irfuzz.mutate.types import Edit, Relation
from irfuzz.oracle import judge
from irfuzz.search.novelty import Seen
from irfuzz.search.strategies.types import Plan
from irfuzz.store.database import Database, ProgramRow
from irfuzz.store.packed_model import is_packed

REFRESH = 200
"""Iterations between two looks at what other jobs have added."""

HOPELESS = 30
"""After so many iterations in a row that failed by our own fault the job gives up."""

ROUND = 16
"""At most so many programs are made, then run, then judged: mutation, the targets and the oracles then each find their
code and tables in the caches, and processes take turns and the database is written once for all of them."""

ROUND_SECONDS = 0.5
"""A round is not meant to take longer: slow targets get rounds of few programs, or of one."""

ROUND_BYTES = 16 << 20
"""Models and inputs of a round, beyond which no program is added."""

_T = TypeVar("_T")

_FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EROFS})


class Job:
    """The loop of one process.

    Args:
        out: the campaign's folder; its database holds settings and seeds already.
        number: which job this is, from 0. Its programs depend on the campaign's seed and on this number alone, up to
            what the other jobs add to the corpus meanwhile.
        skip: leave out the program at which this job died.
    """

    def __init__(self, out: Path, number: int, *, skip: bool = False) -> None:
        self.layout = Layout(out)
        self.number = number
        self.database = Database(self.layout.database)
        self.config = Config.from_json(self.database.settings()["config"])
        self.iteration, self.programs, counts = self.database.tally(number)
        self.counts: Counter[str] = Counter(counts)
        self._skip = self._alone_until = -1
        if skip:
            self._learn(journal.read(self.layout.inflight(number)))
        self._journal = journal.Journal(self.layout.inflight(number))
        self._journal.makes(self.iteration)
        self._most = 1
        self._at = self.iteration
        self._failed = 0
        self._new: list[ProgramRow] = []
        self.corpus = Corpus(self.database, self.config.sprouts)
        self.seen = Seen()
        self.steering = Steering(self.config, self.corpus, self.seen, NEWEST)
        self.steering.recall(self.database, number)
        self.ranges = seed_ranges()
        self._hunt = Hunt(self.config.hunt)
        self._samples = SeedSamples(self.database, self.layout)
        self._alone: Sequence[tuple[int, int]] = ()
        self._stuck = Stuck()
        self._support = Support(empty=True)
        settle()
        self.stop = False
        self._sampling = Sampling((), 0.0, self.counts)
        self._faults = Faults(self.layout.internal, self.database.blobs)
        self._parent: Program | None = None
        self._mutant: Program | None = None

    def run(self) -> None:
        """Work until told to stop, or until this job alone has run as many programs as the campaign is to run.

        Raises:
            UsageError: a target cannot be used, or the folder can no longer be written.
            InternalError: one iteration after the other fails by our own fault.
        """
        stay_on_core(self.number, self.config.jobs)
        targets = resolve(self.config.targets, slow=self.config.slow_share > 0)
        limits = Limits(seconds=self.config.timeout, memory_bytes=self.config.memory)
        watch = self.config.python_coverage
        with Runner(targets, limits, required=self.config.targets is not None, lines=watch) as runner:
            self._tell(runner)
            self._sampling = Sampling(runner.targets, self.config.slow_share, self.counts)
            newest = newest_for((t.opset, t.ir) for t in runner.targets)
            if newest < NEWEST:
                self.steering.limit(newest)
            triage = Triage(self.layout, self.database, runner, self.config, lambda: self.stop)
            self._absorb()
            enough = int(self.database.settings().get(STOP_AT) or 1 << 62)
            while not self.stop and self.programs < enough:
                self._round(runner, triage, enough - self.programs)
        self.steering.tell(self.database, self.number, now=True)
        try:
            self._support.save()
        except UsageError as error:
            _say(self.number, str(error))  # `irfuzz targets --json` knows less; the campaign is none the worse
        self._journal.close()
        self.database.close()

    def _learn(self, busy: journal.Busy) -> None:
        """What to leave out after a death; where several programs ran, they run one by one first to tell which."""
        if busy.iteration < 0 and len(busy.models) > 1:
            self._alone_until = max(busy.models) + 1
            return
        self._skip = max(self.iteration, busy.iteration if busy.iteration >= 0 else max(busy.models, default=-1))
        self._alone_until = self._skip + 1

    def _tell(self, runner: Runner) -> None:
        """Let the campaign know which targets have started."""
        used = {target.name: target.version for target in runner.targets}
        absent = {a.target.name: a.why_not.splitlines()[0] for a in runner.absent}
        self.database.set(TARGETS, json.dumps({"used": used, "absent": absent}))

    def _round(self, runner: Runner, triage: Triage, most: int) -> None:
        """The next programs, ``most`` at most: make, run and judge them, and store how far this job has come."""
        began = time.monotonic()
        made = self._make_some(min(most, self._most))
        if self.stop:
            return  # nothing has run yet, and it can be made again
        results = iter(self._run(runner, made))
        each = (time.monotonic() - began) / len(made)
        self._most = max(1, min(ROUND, 2 * len(made), int(ROUND_SECONDS / each)))
        for row in made:
            self._at = self.iteration
            self._journal.judges(self._at)
            slow: bool | None = None  # by our own fault
            if isinstance(row, Made):
                found = next(results)
                if found is not None:
                    slow = self._guarded(partial(self._judge, runner, triage, row, found))
            elif row is not None:
                slow = False
                self.counts[row] += 1
            self._failed = self._failed + 1 if slow is None else 0
            self.iteration += 1
            if slow or self.stop or self._failed >= HOPELESS:
                self._store()  # what took long is not to be lost
            if self._failed >= HOPELESS:
                raise InternalError(f"{self._failed} iterations in a row failed; see {self.layout.internal}")
            if self.stop:
                return
        triage.work(self.counts)
        self._store()

    def _make_some(self, most: int) -> list[Made | str | None]:
        """The programs of the next iterations, or what is to be counted instead; ``None`` for a fault of our own.

        What they are does not depend on how many there are: the corpus grows between rounds that begin at multiples of
        ``REFRESH`` only, and what is new about a program is counted as soon as it is made.
        """
        if self.iteration < self._alone_until:
            most = 1
        made: list[Made | str | None] = []
        size = 0
        for iteration in range(self.iteration, min(self.iteration + most, (self.iteration // REFRESH + 1) * REFRESH)):
            self._at = iteration
            self._journal.makes(iteration)
            row = "skipped after a death" if iteration == self._skip else self._guarded(self._make)
            made.append(row)
            size += row.size() if isinstance(row, Made) else 0
            if size > ROUND_BYTES or self.stop:
                break
        return made

    def _make(self) -> Made | str:
        """One program and its inputs."""
        if self._at % REFRESH == 0:
            self._absorb()
        self._parent = self._mutant = None
        choices = Choices.from_seed(f"{self.config.seed}/{self.number}/{self._at}")
        entry = self.steering.parent(choices)
        parent = program = self._parent = self.corpus.program(entry)
        edits: tuple[Edit, ...] = ()
        mutant, plan = None, Plan(0)
        alone = None  # the first job begins with the seeds as they are, on each of their samples
        if self.number or self._at >= len(self._alone):
            mutant, plan = self.steering.mutate(entry, program, choices)
            if mutant is None:
                return "unmutated"
            program, edits = mutant.program, mutant.edits
        else:
            place, alone = self._alone[self._at]
            entry = self.corpus.seed(place)
            program = self.corpus.program(entry)
        self._mutant = program
        try:
            ranges = self.ranges.get(entry.seed)
            seed = choices.seed()
            inputs = make_inputs(program, seed, ranges=ranges, special=choices.boolean(0.1))
            given = self._samples.give(entry.seed, program, alone, seed, choices, ranges)
        except Unsupported:
            return "no inputs"
        invalid = any(edit.relation is Relation.INVALID for edit in edits)
        # Who accepts what is invalid shows only beside all the others.
        quick = self._sampling.quick
        wanted = quick if invalid else schedule.turn(quick, self._at, self.config.every)
        wanted = self._stuck.spared(entry.seed, program, wanted, self.counts) or wanted
        features, keep = (0, False) if mutant is None or invalid else self.steering.count(entry, mutant, plan)
        hunt = ""
        if given is not None:
            inputs = given
        elif not invalid:
            inputs, hunt = self._hunt.steer(program, inputs, seed, ranges, choices)
            self.counts["steered"] += bool(hunt)
        model = self.database.programs.whole(program)
        return Made(entry, parent, edits, program, model, inputs, invalid, tuple(wanted), features, keep, hunt)

    def _run(self, runner: Runner, made: Sequence[Made | str | None]) -> Sequence[list[RunResult] | None]:
        """What became of each program; ``None`` where that could not be found out by our own fault."""
        rows = [(self.iteration + place, row) for place, row in enumerate(made) if isinstance(row, Made)]
        if not rows:
            return []
        tasks = [
            Task(r.program, r.inputs, r.targets, f"{self.number}/{at}", None if is_packed(r.model) else r.model)
            for at, r in rows
        ]

        def run(first: int, last: int) -> list[list[RunResult]]:
            self._journal.runs([(at, row.model) for at, row in rows[first:last]])
            return runner.run_all(tasks[first:last])

        if len(rows) > 1:
            try:
                return run(0, len(rows))
            except Exception:  # noqa: BLE001 - whose fault it is shows when each runs alone
                self.counts["rounds run one by one"] += 1
        found: list[list[RunResult] | None] = []
        for place, (at, row) in enumerate(rows):
            self._at, self._parent, self._mutant = at, row.parent, row.program
            found += self._guarded(partial(run, place, place + 1)) or [None]
        return found

    def _guarded(self, work: Callable[[], _T]) -> _T | None:
        """What ``work`` gives; a fault of our own costs this iteration only."""
        try:
            return work()
        except UsageError:
            raise  # the disk is full, or a worker no longer starts: no program's fault
        except OSError as error:
            if error.errno in _FULL:
                raise UsageError(f"--out {self.layout.out}: cannot be written: {error.strerror}") from error
            self._own_fault(error)
        except Exception as error:  # noqa: BLE001 - whatever we have overlooked must not end a night's campaign
            self._own_fault(error)
        return None

    def _own_fault(self, error: Exception) -> None:
        self.counts[INTERNAL] += 1
        models = {"parent.onnx": self._bytes_of(self._parent), "mutant.onnx": self._bytes_of(self._mutant)}
        about = {"job": self.number, "iteration": self._at, "seed": self.config.seed}
        place = self._faults.keep(text_of(error), kind_of(error), about=about, models=models)
        if place is not None:
            _say(self.number, f"iteration {self._at}: {type(error).__name__}; kept in {place}")

    def _judge(self, runner: Runner, triage: Triage, made: Made, results: Sequence[RunResult]) -> bool:
        """Look for disagreements and remember what is new; whether there were any, which takes long."""
        program, inputs = made.program, made.inputs
        self._parent, self._mutant = made.parent, program
        slow = () if made.invalid else self._sampling.turn(made.features)
        if slow:
            more = runner.run(program, inputs, slow, tag=f"{self.number}/{self._at}")
            self._sampling.ran(more)
            results = [*results, *more]
        verdicts = judge(program, inputs, results, shadow=runner.shadow, expected_invalid=made.invalid)
        self.programs += 1
        self.counts["declared invalid"] += made.invalid
        self._count(results)
        if not made.invalid:
            comparable.count(results, self.counts)
        self._stuck.saw(made.entry.seed, program, results)
        if verdicts:
            # Whoever has not spoken yet is heard as a witness before anything is believed.
            left = schedule.remaining(self._sampling.quick, made.targets)
            left = self._stuck.spared(made.entry.seed, program, left, self.counts)
            if left:
                results = [*results, *runner.run(program, inputs, left, tag=f"{self.number}/{self._at}")]
                verdicts = judge(program, inputs, results, shadow=runner.shadow, expected_invalid=made.invalid)
            trace = lineage.dump(self._trace(made))
            case = Case(
                program, inputs, results, made.invalid, trace, made.entry.seed, self.number, self._at, made.hunt
            )  # fmt: skip
            triage.look(case, verdicts, self.counts)
        ran_new = not made.invalid and self.steering.ran(made, results)
        if (made.keep or ran_new) and any(r.exit is Exit.OK for r in results):
            self._remember(made)
        if not made.invalid:
            self._support.saw(program, results)
        if self._at % audit.EVERY == 0 and not made.invalid:
            self.counts["facts checked"] += audit.audit(runner, program, inputs)
        return bool(verdicts or slow)

    def _count(self, results: Sequence[RunResult]) -> None:
        self.counts["runs"] += len(results)
        for result in results:
            if result.exit is not Exit.OK:
                self.counts[f"{result.target.name} {result.exit}"] += 1

    def _remember(self, made: Made) -> None:
        """Add a program that shows something new, and that something runs, to the corpus."""
        trace, model = self._trace(made), made.model
        if is_packed(model):
            model = self.database.programs.mutant(made.program)
            if not self.database.programs.is_whole(model) and is_steered(trace.edits):
                self.counts["large weights not kept"] += 1  # nothing would make them again
                return
        self._new.append(
            ProgramRow(
                digest=made.program.digest,
                model=model,
                seed=made.entry.seed,
                parent=made.entry.digest,
                trace=lineage.dump(trace),
                features=made.features,
                job=self.number,
                iteration=self._at,
            )
        )

    def _store(self) -> None:
        """Let the database know how far this job has come."""
        new, self._new = self._new, []
        self.steering.tell(self.database, self.number)
        self.counts["corpus"] += self.database.record(self.number, self.iteration, self.programs, self.counts, new)

    def _trace(self, made: Made) -> Trace:
        data = made.program if is_packed(made.model) else made.model
        return lineage.extend(self.corpus.trace(made.entry), made.edits, self.corpus.donors(), data)

    def _bytes_of(self, program: Program | None) -> bytes | None:
        """The program's bytes, or none if it cannot be written: a fault of irfuzz is being reported already."""
        try:
            return None if program is None else self.database.programs.whole(program)
        except Exception:  # noqa: BLE001 - see above
            return None

    def _absorb(self) -> None:
        for program in self.corpus.refresh():
            self.steering.add(program)
        self._alone = self._samples.alone(self.corpus.seeds())


def _say(job: int, text: str) -> None:
    sys.stderr.write(f"irfuzz job {job}: {text}\n")
    sys.stderr.flush()


def main(argv: Sequence[str], make: Callable[..., Any] = Job) -> int:
    """Entry point of the process: ``python -m irfuzz.campaign.job OUT NUMBER PARENT [skip]``; ``make`` is a ``Job``.

    Returns:
        0 when asked to end, 2 where the user can do something (the last line says what), 3 for a fault of our own.
    """
    out, number, parent = Path(argv[0]), int(argv[1]), int(argv[2])
    job: Any = None
    asked = False

    def ask_to_stop(signum: int, frame: FrameType | None) -> None:
        nonlocal asked
        if os.getppid() != parent:
            os._exit(1)  # the campaign was killed: nobody waits, and the next one wants the folder
        asked = True
        if job is not None:
            job.stop = True

    signal.signal(signal.SIGTERM, ask_to_stop)
    # The terminal's Ctrl-C is for the campaign, which then asks us to stop.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal_at_parents_death(signal.SIGTERM)
    if os.getppid() != parent:
        return 1
    try:
        job = make(out, number, skip="skip" in argv[3:])
        job.stop = asked
        job.run()
    except StartError as error:
        _say(number, str(error))
        _say(number, str(error).splitlines()[0])
        return 3  # it had started before: the campaign tries again
    except UsageError as error:
        _say(number, " ".join(str(error).split()))
        return 2
    except IrfuzzError as error:
        _say(number, f"{type(error).__name__}: {' '.join(str(error).split())}")
        return 3
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
