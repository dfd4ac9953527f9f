"""One fuzzing process: a campaign's database enters, mutants run and are judged, counts and findings go back to it."""

from __future__ import annotations

import errno
import json
import os
import signal
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import FrameType

from irfuzz.campaign import audit, lineage, schedule
from irfuzz.campaign.config import STOP_AT, TARGETS, Config, Layout
from irfuzz.campaign.corpus import Corpus, Entry
from irfuzz.campaign.faults import INTERNAL, Faults, kind_of, text_of
from irfuzz.campaign.triage import Case, Triage
from irfuzz.choices import Choices
from irfuzz.errors import InternalError, IrfuzzError, Unsupported, UsageError
from irfuzz.execute.runner import Runner
from irfuzz.execute.table import resolve
from irfuzz.execute.types import Exit, RunResult, Target, Value
from irfuzz.generate.inputs import make_inputs
from irfuzz.generate.ranges import seed_ranges
from irfuzz.ir.program import Program
from irfuzz.isolate import Limits
from irfuzz.isolate.linux import signal_at_parents_death, stay_on_core
from irfuzz.isolate.types import StartError
from irfuzz.memory import settle
from irfuzz.mutate.convert_opset import NEWEST, newest_for
from irfuzz.mutate.engine import Engine
from irfuzz.mutate.table import FUZZING
from irfuzz.mutate.trace import Trace
from irfuzz.mutate.types import Edit, Relation
from irfuzz.oracle import judge
from irfuzz.search.novelty import Seen
from irfuzz.spec import load_specs
from irfuzz.store.database import Database, ProgramRow

REFRESH = 200
"""Iterations between two looks at what other jobs have added."""

HOPELESS = 30
"""After so many iterations in a row that failed by our own fault the job gives up."""

_FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EROFS})


class Job:
    """The loop of one process.

    Args:
        out: the campaign's folder; its database holds settings and seeds already.
        number: which job this is, from 0. Its programs depend on the campaign's seed and on this number alone, up to
            what the other jobs add to the corpus meanwhile.
        skip: leave out the next program, at which this job died.
    """

    def __init__(self, out: Path, number: int, *, skip: bool = False) -> None:
        self.layout = Layout(out)
        self.number = number
        self.database = Database(self.layout.database)
        self.config = Config.from_json(self.database.settings()["config"])
        self.iteration, self.programs, counts = self.database.tally(number)
        self.counts: Counter[str] = Counter(counts)
        if skip:
            self.iteration += 1
            self.counts["skipped after a death"] += 1
            self.database.set_tally(number, self.iteration, self.programs, self.counts)
        self.corpus = Corpus(self.database)
        self.seen = Seen()
        self.engine = self._make_engine(NEWEST)
        self.ranges = seed_ranges()
        settle()
        self.stop = False
        self._faults = Faults(self.layout.internal)
        self._parent: Program | None = None
        self._mutant: Program | None = None

    def run(self) -> None:
        """Work until told to stop, or until this job alone has run as many programs as the campaign is to run.

        Raises:
            UsageError: a target cannot be used, or the folder can no longer be written.
            InternalError: one iteration after the other fails by our own fault.
        """
        stay_on_core(self.number, self.config.jobs)
        targets = resolve(self.config.targets)
        limits = Limits(seconds=self.config.timeout, memory_bytes=self.config.memory)
        with Runner(targets, limits, required=self.config.targets is not None) as runner:
            self._tell(runner)
            newest = newest_for((t.opset, t.ir) for t in runner.targets)
            if newest < NEWEST:
                self.engine = self._make_engine(newest)
            triage = Triage(self.layout, self.database, runner, self.config, lambda: self.stop)
            self._absorb()
            failed = 0
            enough = int(self.database.settings().get(STOP_AT) or 1 << 62)
            while not self.stop and self.programs < enough:
                failed = 0 if self._guarded(runner, triage) else failed + 1
                self.iteration += 1
                self.database.set_tally(self.number, self.iteration, self.programs, self.counts)
                if failed >= HOPELESS:
                    raise InternalError(f"{failed} iterations in a row failed; see {self.layout.internal}")
        self.database.close()

    def _make_engine(self, max_opset: int) -> Engine:
        return Engine(
            load_specs(),
            self.config.mutators,
            max_nodes=self.config.max_nodes,
            seen=self.seen,
            donors=self.corpus,
            max_opset=max_opset,
            weights=FUZZING if self.config.mutators is None else None,
        )

    def _tell(self, runner: Runner) -> None:
        """Let the campaign know which targets have started."""
        used = {target.name: target.version for target in runner.targets}
        absent = {a.target.name: a.why_not.splitlines()[0] for a in runner.absent}
        self.database.set(TARGETS, json.dumps({"used": used, "absent": absent}))

    def _guarded(self, runner: Runner, triage: Triage) -> bool:
        """One iteration; a fault of our own costs this one only. True where there was none."""
        self._parent = self._mutant = None
        try:
            self.step(runner, triage)
        except UsageError:
            raise  # the disk is full, or a worker no longer starts: no program's fault
        except OSError as error:
            if error.errno in _FULL:
                raise UsageError(f"--out {self.layout.out}: cannot be written: {error.strerror}") from error
            self._own_fault(error)
        except Exception as error:  # noqa: BLE001 - whatever we have overlooked must not end a night's campaign
            self._own_fault(error)
        else:
            return True
        return False

    def _own_fault(self, error: Exception) -> None:
        self.counts[INTERNAL] += 1
        models = {"parent.onnx": _bytes_of(self._parent), "mutant.onnx": _bytes_of(self._mutant)}
        about = {"job": self.number, "iteration": self.iteration, "seed": self.config.seed}
        place = self._faults.keep(text_of(error), kind_of(error), about=about, models=models)
        if place is not None:
            _say(self.number, f"iteration {self.iteration}: {type(error).__name__}; kept in {place}")

    def step(self, runner: Runner, triage: Triage) -> None:
        """One program: mutate, run, judge, remember."""
        if self.iteration % REFRESH == 0:
            self._absorb()
        choices = Choices.from_seed(f"{self.config.seed}/{self.number}/{self.iteration}")
        entry = self.corpus.pick(choices)
        program = self._parent = self.corpus.program(entry)
        edits: tuple[Edit, ...] = ()
        if self.number or self.iteration >= self.corpus.seed_count:
            mutant = self.engine.mutate(program, choices, edits=choices.integer(1, self.config.edits))
            if mutant is None:
                self.counts["unmutated"] += 1
                return
            program, edits = mutant.program, mutant.edits
        else:
            entry = self.corpus.seed(self.iteration)  # the first job begins with the seeds as they are
            program = self.corpus.program(entry)
        self._mutant = program
        try:
            ranges = self.ranges.get(entry.seed)
            inputs = make_inputs(program, choices.seed(), ranges=ranges, special=choices.boolean(0.1))
        except Unsupported:
            self.counts["no inputs"] += 1
            return
        invalid = any(edit.relation is Relation.INVALID for edit in edits)
        # Who accepts what is invalid shows only beside all the others.
        wanted = runner.targets if invalid else schedule.turn(runner.targets, self.iteration, self.config.every)
        results = self._execute(runner, program, inputs, wanted)
        verdicts = judge(program, inputs, results, expected_invalid=invalid)
        self.programs += 1
        self.counts["declared invalid"] += invalid
        self._count(results)
        if verdicts:
            # Whoever has not spoken yet is heard as a witness before anything is believed.
            left = schedule.remaining(runner.targets, wanted)
            if left:
                results = [*results, *self._execute(runner, program, inputs, left)]
            trace = lineage.dump(self._trace(entry, edits, program.to_bytes()))
            case = Case(program, inputs, results, invalid, trace, entry.seed, self.number, self.iteration)
            triage.look(case, self.counts)
        if edits and not invalid:
            self._remember(entry, edits, program, results)
        if self.iteration % audit.EVERY == 0 and not invalid:
            self.counts["facts checked"] += audit.audit(runner, program, inputs)

    def _execute(
        self, runner: Runner, program: Program, inputs: Mapping[str, Value], targets: Sequence[Target]
    ) -> list[RunResult]:
        return runner.run(
            program, inputs, targets, inflight=self.layout.inflight(self.number), tag=f"{self.number}/{self.iteration}"
        )

    def _count(self, results: Sequence[RunResult]) -> None:
        self.counts["runs"] += len(results)
        for result in results:
            if result.exit is not Exit.OK:
                self.counts[f"{result.target.name} {result.exit}"] += 1

    def _remember(self, entry: Entry, edits: Sequence[Edit], program: Program, results: Sequence[RunResult]) -> None:
        """Add a program to the corpus where it shows something new and something runs it."""
        features = self.seen.add_mutant(program)
        if features < self.corpus.bar() or not any(r.exit is Exit.OK for r in results):
            return
        data = program.to_bytes()
        row = ProgramRow(
            digest=program.digest,
            model=data,
            seed=entry.seed,
            parent=entry.digest,
            trace=lineage.dump(self._trace(entry, edits, data)),
            features=features,
            job=self.number,
            iteration=self.iteration,
        )
        if self.database.add_program(row):
            self.counts["corpus"] += 1

    def _trace(self, entry: Entry, edits: Sequence[Edit], data: bytes) -> Trace:
        return lineage.extend(self.corpus.trace(entry), edits, self.corpus.donors(), data)

    def _absorb(self) -> None:
        for program in self.corpus.refresh():
            self.seen.add_program(program)


def _bytes_of(program: Program | None) -> bytes | None:
    """The program's bytes; what cannot even be written is left out, for it is a fault that is being told."""
    try:
        return None if program is None else program.to_bytes()
    except Exception:  # noqa: BLE001 - see above
        return None


def _say(job: int, text: str) -> None:
    sys.stderr.write(f"irfuzz job {job}: {text}\n")
    sys.stderr.flush()


def main(argv: Sequence[str]) -> int:
    """Entry point of the process: ``python -m irfuzz.campaign.job OUT NUMBER PARENT [skip]``.

    Returns:
        0 when asked to end, 2 where the user can do something (the last line says what), 3 for a fault of our own.
    """
    out, number, parent = Path(argv[0]), int(argv[1]), int(argv[2])
    job: Job | None = None
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
        job = Job(out, number, skip="skip" in argv[3:])
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
