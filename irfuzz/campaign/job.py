"""One fuzzing process: the campaign's database enters, mutants run and are judged, counts and findings go back to it."""

from __future__ import annotations

import signal
import sys
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import FrameType

from irfuzz.campaign import lineage, schedule
from irfuzz.campaign.config import Config, Layout
from irfuzz.campaign.corpus import Corpus, Entry
from irfuzz.campaign.triage import Case, Triage
from irfuzz.choices import Choices
from irfuzz.errors import IrfuzzError, Unsupported
from irfuzz.execute.runner import Runner
from irfuzz.execute.table import resolve
from irfuzz.execute.types import Exit, RunResult, Target, Value
from irfuzz.generate.inputs import make_inputs
from irfuzz.generate.ranges import seed_ranges
from irfuzz.ir.program import Program
from irfuzz.isolate import Limits
from irfuzz.isolate.linux import signal_at_parents_death
from irfuzz.mutate.engine import Engine
from irfuzz.mutate.trace import Trace
from irfuzz.mutate.types import Edit, Relation
from irfuzz.oracle import judge
from irfuzz.search.novelty import Seen
from irfuzz.spec import load_specs
from irfuzz.store.database import Database, ProgramRow

REFRESH = 200
"""Iterations between two looks at what other jobs have added."""


class Job:
    """The loop of one process.

    Args:
        out: the campaign's folder; its database holds settings and seeds already.
        number: which job this is, from 0. Its programs depend on the campaign's seed and on this number alone, up to
            what the other jobs add to the corpus meanwhile.
    """

    def __init__(self, out: Path, number: int) -> None:
        self.layout = Layout(out)
        self.number = number
        self.database = Database(self.layout.database)
        self.config = Config.from_json(self.database.settings()["config"])
        self.iteration, self.programs, counts = self.database.tally(number)
        self.counts: Counter[str] = Counter(counts)
        self.corpus = Corpus(self.database)
        self.seen = Seen()
        self.engine = Engine(
            load_specs(),
            self.config.mutators,
            max_nodes=self.config.max_nodes,
            seen=self.seen,
            donors=self.corpus,
        )
        self.ranges = seed_ranges()
        self.stop = False

    def run(self) -> None:
        """Work until told to stop."""
        targets = resolve(self.config.targets)
        limits = Limits(seconds=self.config.timeout, memory_bytes=self.config.memory)
        self.layout.inflight(self.number).parent.mkdir(parents=True, exist_ok=True)
        with Runner(targets, limits, required=self.config.targets is not None) as runner:
            triage = Triage(self.layout, self.database, runner, self.config)
            self._absorb()
            while not self.stop:
                self.step(runner, triage)
                self.iteration += 1
                self.database.set_tally(self.number, self.iteration, self.programs, self.counts)
        self.database.close()

    def step(self, runner: Runner, triage: Triage) -> None:
        """One program: mutate, run, judge, remember."""
        if self.iteration % REFRESH == 0:
            self._absorb()
        choices = Choices.from_seed(f"{self.config.seed}/{self.number}/{self.iteration}")
        entry = self.corpus.pick(choices)
        program = self.corpus.program(entry)
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
        try:
            ranges = self.ranges.get(entry.row.seed)
            inputs = make_inputs(program, choices.seed(), ranges=ranges, special=choices.boolean(0.1))
        except Unsupported:
            self.counts["no inputs"] += 1
            return
        wanted = schedule.turn(runner.targets, self.iteration, self.config.every)
        invalid = any(edit.relation is Relation.INVALID for edit in edits)
        results = self._execute(runner, program, inputs, wanted)
        verdicts = judge(program, inputs, results, expected_invalid=invalid)
        self.programs += 1
        self._count(results)
        if verdicts:
            # Whoever has not spoken yet is heard as a witness before anything is believed.
            left = schedule.remaining(runner.targets, wanted)
            if left:
                results = [*results, *self._execute(runner, program, inputs, left)]
            trace = lineage.dump(self._trace(entry, edits, program.to_bytes()))
            case = Case(program, inputs, results, invalid, trace, entry.row.seed, self.number, self.iteration)
            triage.look(case, self.counts)
        if edits and not invalid:
            self._remember(entry, edits, program, results)

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

    def _remember(
        self, entry: Entry, edits: Sequence[Edit], program: Program, results: Sequence[RunResult]
    ) -> None:
        """Add a program to the corpus where it shows something new and something runs it."""
        features = self.seen.add_program(program)
        if not features or not any(r.exit is Exit.OK for r in results):
            return
        data = program.to_bytes()
        row = ProgramRow(
            digest=program.digest,
            model=data,
            seed=entry.row.seed,
            parent=entry.row.digest,
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


def main(argv: Sequence[str]) -> int:
    """Entry point of the process: ``python -m irfuzz.campaign.job OUT NUMBER``."""
    signal_at_parents_death(signal.SIGTERM)
    job = Job(Path(argv[0]), int(argv[1]))

    def ask_to_stop(signum: int, frame: FrameType | None) -> None:
        job.stop = True

    signal.signal(signal.SIGTERM, ask_to_stop)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the terminal's Ctrl-C is for the campaign, which then asks us to stop
    started = time.monotonic()
    try:
        job.run()
    except IrfuzzError as error:
        print(f"irfuzz job {job.number}: {type(error).__name__}: {error}", file=sys.stderr)
        return 2 if time.monotonic() - started < 5 and job.programs == 0 else 3
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
