"""A whole campaign on this machine: starts jobs, watches them until time is up, and sums up."""

from __future__ import annotations

import json
import math
import signal
import threading
import time
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from types import FrameType, TracebackType
from typing import Any, Self

from irfuzz.campaign import inflight_journal
from irfuzz.campaign.config import SECONDS, STOP_AT, TARGETS, Config, Layout
from irfuzz.campaign.corpus.user_given_seed_inputs import remember
from irfuzz.campaign.job_processes import JobDeath, Processes
from irfuzz.campaign.monitoring.coverage_across_jobs import JointCoverage
from irfuzz.campaign.monitoring.internal_error_folders import INTERNAL, InternalErrorStore, kind_of, text_of
from irfuzz.campaign.output_folder_lock import OutputFolder
from irfuzz.campaign.output_folder_watch import PROBE_EVERY, OutputFolderLost, OutputFolderWatch
from irfuzz.campaign.stored_findings.folder_placement import bundle_folder, is_placed, move_bundle
from irfuzz.campaign.targets.start_reports import still_starting, still_unanswered, together
from irfuzz.errors import UsageError
from irfuzz.findings.codec import finding_of, with_cases
from irfuzz.findings.finding import Finding
from irfuzz.findings.suspect_finding_rank import ranked
from irfuzz.generate.input_spec import InputSpec
from irfuzz.ir.program import Program
from irfuzz.isolate.scratch_folder import remove_abandoned
from irfuzz.mutate.mutation_trace import Trace
from irfuzz.store.database import Database, ProgramRow, Status

POLL = 0.5
"""Seconds between two looks at the database."""

PATIENCE = 60.0
"""Seconds that a job gets to finish its program (and its triage) when enough programs have run, if there is time."""

PATIENCE_LATE = 5.0
"""Seconds that it gets beyond the campaign's time; a little more than ``OVERTIME``, in which it ends by itself."""

PATIENCE_ASKED = 1.0
"""The same when a person waits for the end; what is in flight then runs again when the campaign goes on."""


GIVEN = "given seeds"
"""Key of the setting with the digests of the seeds as they were given."""

NOTHING_SAID = InputSpec()


@dataclass(frozen=True, slots=True)
class CampaignProgress:
    """How far a campaign has come, over all its runs.

    Attributes:
        seconds: since this run began.
        programs: run and judged.
        programs_this_run: those of this run.
        rate: programs a second in this run.
        corpus: programs kept for further mutation.
        findings: confirmed ones.
        suspects: too thinly proven to be findings.
        unreplayed: seen, but not shown by their own ``repro.py``.
        internal_errors: faults of irfuzz itself in this run.
        last: seconds since the newest finding; ``None`` if there is none.
        counts: everything else, by name.
        coverage: share of each of COMET's criteria that the programs cover, and of the fusion patterns that they show,
            from 0 to 1 (docs/coverage.md).
        python_lines: lines of components written in Python that ran, by package, if they are counted.
    """

    seconds: float
    programs: int
    programs_this_run: int
    rate: float
    corpus: int
    findings: int
    suspects: int
    unreplayed: int
    internal_errors: int
    last: float | None
    counts: Mapping[str, int] = field(default_factory=dict[str, int])
    coverage: Mapping[str, float] = field(default_factory=dict[str, float])
    python_lines: Mapping[str, int] = field(default_factory=dict[str, int])

    def to_json(self) -> dict[str, Any]:
        """All of it as JSON-able data."""
        return asdict(self)


class Campaign:
    """One ``--out`` folder, held by one process at a time.

    Args:
        out: folder of the campaign; made if missing, continued if it holds one.
        config: settings; a continued campaign takes those given now.
        fleet: an agent of a fleet runs it; else what other agents have found is nothing that this folder leads to.

    Raises:
        UsageError: the folder cannot be used, or another process is using it.
    """

    def __init__(self, out: Path, config: Config, *, fleet: bool = False) -> None:
        self.config = config
        self.deaths: list[JobDeath] = []
        self.interrupted = False
        self.killed: list[int] = []
        self._asked = 0
        self._folder = OutputFolder(out)
        remove_abandoned()  # what earlier runs left that were killed
        self.layout = self._folder.layout
        try:
            self.database = Database(self.layout.database)
            self.continued = "config" in self.database.settings()
            self.database.set("config", config.to_json())
            self.database.index.sweep()
            if not fleet:
                self.database.marks.forget_others()
            self._watch = OutputFolderWatch(self.layout)
        except BaseException:
            self._folder.close()
            self._folder.undo()
            raise
        self._jobs = Processes(self.layout, self._folder.lock, lambda number: self.database.tally(number)[1])
        self._faults = InternalErrorStore(self.layout.internal, self.database.blobs)
        self._found: dict[int, Finding] = {}
        self._given: set[str] = set(json.loads(self.database.settings().get(GIVEN) or "[]"))
        self._covered = JointCoverage(self.database)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._jobs.end(PATIENCE_ASKED)
        useless = (
            isinstance(error, UsageError)
            and not isinstance(error, OutputFolderLost)  # whatever lies there now may be somebody else's
            and not self.continued
            and not self.programs()
        )
        self.database.close()
        self._watch.close()
        if self.killed:
            remove_abandoned()  # what their workers had
        if useless:
            self._folder.undo()
        self._folder.close()

    @staticmethod
    def stored_config(out: Path) -> Config | None:
        """Settings of the campaign in a folder; ``None`` if there is none.

        Raises:
            UsageError: what is there is not a campaign's database, or one of another version.
        """
        path = Layout(out).database
        if not path.is_file():
            return None
        database = Database(path)
        text = database.settings().get("config")
        database.close()
        return None if text is None else Config.from_json(text)

    # ---- seeds ------------------------------------------------------------------------------

    def add_seed(
        self, name: str, program: Program, spec: InputSpec = NOTHING_SAID, *, given: str | None = None
    ) -> None:
        """Take a program in; nothing happens if it is there already.

        Args:
            name: its file's.
            program: it, with what is said of its inputs in their metadata.
            spec: what is said.
            given: digest of the program before that was written into it; its own if omitted.

        Raises:
            UsageError: it is there, and something else was said of its inputs then.
        """
        if spec.samples:
            self._folder.make(self.layout.samples)
        given = given or program.digest
        taken = remember(self.database, self.layout, name, program, spec, given)
        if not self.was_given(given):
            self._given.add(given)
            self.database.set(GIVEN, json.dumps(sorted(self._given)))
        if not taken:
            return
        data = self.database.programs.seed(program)
        trace = Trace.of_seed(program, name).to_text()
        self.database.add_program(ProgramRow(program.digest, data, name, "", trace, 0, -1, 0))

    def was_given(self, digest: str) -> bool:
        """Whether a seed was taken in before, now or in an earlier run; nothing has to be found out of it again.

        Args:
            digest: of the program as it was given, before anything was written into it.
        """
        return digest in self._given

    # ---- running ----------------------------------------------------------------------------

    def run(
        self,
        seconds: float | None,
        watch: Callable[[CampaignProgress], None],
        *,
        stop_at: int | None = None,
        kind: str = "differential",
    ) -> CampaignProgress:
        """Run jobs until the time is up, ``stop_at`` programs have run in all, or somebody asks to end.

        SIGINT (Ctrl-C), SIGTERM and SIGHUP ask to end: what the jobs are busy with is finished, and everything that was
        reported is kept. ``kind`` is one of ``job.STRATEGIES``.

        Raises:
            UsageError: there is no seed, or a target cannot be used.
            OutputFolderLost: the folder was removed, renamed or replaced, or cannot be written any more.
            InternalError: jobs keep dying of irfuzz's own faults.
        """
        try:
            return self._run(seconds, watch, stop_at, kind)
        except (UsageError, OSError):
            self._watch.check()  # what fails in a folder that is gone says less
            raise

    def _run(
        self, seconds: float | None, watch: Callable[[CampaignProgress], None], stop_at: int | None, kind: str
    ) -> CampaignProgress:
        if not self.database.corpus_size():
            raise UsageError("no usable seed; give at least one ONNX model that loads")
        self._place_all()
        self._jobs.kind = kind
        began, self._asked = time.monotonic(), 0
        before, faults_before = self.programs(), self._count(INTERNAL)
        for number in range(self.config.jobs):
            self.database.set(f"{TARGETS} {number}", "")
        self.database.set(SECONDS, "" if seconds is None else json.dumps([seconds, began + seconds]))
        self.database.set(STOP_AT, "" if stop_at is None else str(stop_at))
        self.database.waiting.share_out(self.config.jobs)
        with self._listening():
            for number in range(self.config.jobs):
                self._jobs.start(number)
            while not self._asked:
                self._watch.check(every=PROBE_EVERY)
                progress = self.progress(began, before, faults_before)
                watch(progress)
                if seconds is not None and progress.seconds >= seconds:
                    break
                if stop_at is not None and progress.programs >= stop_at and not self._ends_alone(stop_at):
                    break
                for death in self._jobs.revive():
                    self._keep(death)
                if not len(self._jobs):
                    break
                time.sleep(POLL)
            self.interrupted = bool(self._asked)
            left = math.inf if seconds is None else max(0.0, began + seconds - time.monotonic())
            self.killed = self._jobs.end(PATIENCE_ASKED if self._asked else min(PATIENCE, left + PATIENCE_LATE))
        self._watch.check()  # nothing is written where another folder may be now
        self._place_all()  # of those that were killed, too
        return self.progress(began, before, faults_before, anew=True)

    def _ends_alone(self, stop_at: int) -> bool:
        """Whether the one job ends by itself now, as soon as it has looked into what it is busy with."""
        return self.config.jobs == 1 and self.database.tally(0)[1] >= stop_at

    def stop(self) -> None:
        """Ask the run to end, as Ctrl-C does; ``watch`` of ``run`` calls it."""
        self._asked = max(1, self._asked)

    @contextmanager
    def _listening(self) -> Generator[None]:
        """Have the signals that ask for the end counted; a second one, while jobs are ending, means now."""

        def ask(number: int, frame: FrameType | None) -> None:
            self._asked += 1
            if self._asked > 1:
                raise KeyboardInterrupt

        if threading.current_thread() is not threading.main_thread():
            yield  # only the main thread may handle signals; its owner ends the campaign by ``seconds``
            return
        old = {number: signal.signal(number, ask) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
        try:
            yield
        finally:
            for number, handler in old.items():
                signal.signal(number, handler)

    def _keep(self, death: JobDeath) -> None:
        """A job that died is a fault of ours, and what it was running is how to see it again."""
        self.deaths.append(death)
        busy = inflight_journal.read(self.layout.inflight(death.job))
        models = busy.models
        case = self.database.waiting.model(busy.case) if busy.case else None
        if case is not None:
            names = {"case.onnx": case}
        elif busy.iteration in models or len(models) == 1:
            names = {"inflight.onnx": models.get(busy.iteration) or next(iter(models.values()))}
        else:
            names = {f"inflight-{iteration}.onnx": data for iteration, data in models.items()}
        iteration = self.database.tally(death.job)[0] if busy.iteration < 0 else busy.iteration
        self._faults.keep(
            f"job {death.job} died: {death.how}\n{death.words}\nsee {self.layout.log(death.job)}\n",
            f"died with {death.how}: {death.words}",
            about={"job": death.job, "iteration": iteration, "seed": self.config.seed},
            models=names,
        )

    # ---- what came out ----------------------------------------------------------------------

    def faults(self) -> list[str]:
        """What irfuzz itself failed on, a line for each folder that was kept."""
        return self._faults.told()

    def targets(self) -> Mapping[str, Mapping[str, str]] | None:
        """What the jobs of this run could start: ``used`` (versions by name) and ``absent`` (reasons by name).

        ``None`` before the first job is that far.
        """
        return together(self._told())

    def starting(self) -> Mapping[str, float]:
        """Targets whose workers jobs still wait for, by name, with the seconds that has taken; only slow starts."""
        return still_starting(self._told())

    def unanswered(self) -> Mapping[str, float]:
        """Components whose answer jobs still wait for, by name, with the seconds that has taken; only slow answers."""
        return still_unanswered(self._told())

    def looked_into(self) -> list[str]:
        """What jobs look into now, a few words for each job that does."""
        cases = (inflight_journal.case_of(self.layout.inflight(number)) for number in range(self.config.jobs))
        return [words for case in cases if case and (words := self.database.waiting.words(case))]

    def _told(self) -> list[str]:
        settings = self.database.settings()
        return [settings.get(f"{TARGETS} {number}", "") for number in range(self.config.jobs)]

    def findings(self) -> list[Finding]:
        """Confirmed findings, oldest first, without models and inputs."""
        return [f for f in self._read() if f.status is Status.CONFIRMED and not f.verdict.suspect]

    def reread(self, number: int) -> None:
        """Read a finding again, whose row was changed, when ``findings`` or ``suspects`` is asked next.

        Args:
            number: of the finding; nothing happens if it was not read yet.
        """
        self._found.pop(number, None)

    def suspects(self) -> list[Finding]:
        """What is too thinly proven, the likeliest fault first, without models and inputs."""
        return ranked(f for f in self._read() if f.verdict.suspect and f.status is not Status.EXPLAINED)

    def folder_of(self, finding: Finding) -> Path:
        """The path of a finding's folder, which need not be there yet.

        Args:
            finding: as it is stored; its suspicion and status say in which folder of the campaign it belongs.
        """
        return bundle_folder(self.layout, finding)

    def _read(self) -> list[Finding]:
        """All findings, each read once, without models and inputs."""
        rows = self.database.findings(bare=True)
        for row in rows:
            known = self._found.get(row.number)
            self._found[row.number] = (
                finding_of(row)
                if known is None or (known.title, known.status) != (row.title, row.status)
                else replace(known, times=row.times, last=row.last)
            )
        return [self._found[row.number] for row in rows]

    def _place_all(self) -> None:
        """A kill may have come between a finding and its folder; one that cannot be written costs no other."""
        for finding in self._read():
            if is_placed(self.layout, finding):
                continue
            finding = with_cases(finding, self.database.finding(finding.number))
            try:
                move_bundle(self.layout, finding)
            except (UsageError, OSError):
                raise  # the disk is full, or the folder is gone
            except Exception as error:  # noqa: BLE001 - kept as a fault of irfuzz; the finding is in the database
                about = {"job": finding.job, "iteration": finding.iteration, "seed": self.config.seed}
                models = {"model.onnx": finding.case.model}
                self._faults.keep(text_of(error), kind_of(error), about=about, models=models)

    def programs(self) -> int:
        """Those that all of its runs have judged."""
        return sum(programs for _, _, programs, _ in self.database.tallies())

    def _count(self, name: str) -> int:
        return sum(counts.get(name, 0) for _, _, _, counts in self.database.tallies())

    def progress(self, began: float, before: int, faults_before: int, *, anew: bool = False) -> CampaignProgress:
        """How far it has come since ``began``, when it had judged ``before`` programs and failed so many times.

        Args:
            began: when this run began, by ``time.monotonic``.
            before: programs that earlier runs of a continued campaign had judged.
            faults_before: internal errors that they had counted.
            anew: what is covered is read now; else it may be two seconds old.

        Returns:
            Figures over all jobs. The rate is that of this run alone, in programs a second.
        """
        seconds = time.monotonic() - began
        tallies = self.database.tallies()
        counts: dict[str, int] = {}
        for _, _, _, more in tallies:
            for name, count in more.items():
                counts[name] = counts.get(name, 0) + count
        if "untriaged" in counts:
            counts["untriaged"] = self.database.waiting.count()  # a job that there is no more has told of its own, too
        programs = sum(t[2] for t in tallies)
        found = self.database.finding_counts()
        return CampaignProgress(
            seconds=seconds,
            programs=programs,
            programs_this_run=programs - before,
            rate=(programs - before) / seconds if seconds > 0 else 0.0,
            corpus=self.database.corpus_size(),
            findings=found["findings"],
            suspects=found["suspects"],
            unreplayed=found["unreplayed"],
            internal_errors=counts.get(INTERNAL, 0) - faults_before + len(self.deaths),
            last=time.time() - found["last"] if found["last"] else None,
            counts=dict(sorted(counts.items())),
            coverage=dict(self._covered.shares(seconds, programs, anew=anew)),
            python_lines=self._covered.python_lines(),
        )
