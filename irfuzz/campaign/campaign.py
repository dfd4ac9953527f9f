"""A whole campaign on this machine: seeds and settings enter, jobs run until time is up, a summary leaves."""

from __future__ import annotations

import fcntl
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from types import TracebackType
from typing import IO, Any

from irfuzz.campaign import lineage
from irfuzz.campaign.config import Config, Layout
from irfuzz.campaign.triage import place_bundle
from irfuzz.errors import InternalError, UsageError
from irfuzz.ir.program import Program
from irfuzz.store.database import Database, FindingRow, ProgramRow

POLL = 0.5
"""Seconds between two looks at the database."""

PATIENCE = 60.0
"""Seconds that a job gets to finish its program (and its triage) after it was asked to stop."""

RESTARTS = 5
"""How often jobs may die of our own faults before the campaign gives up."""


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a campaign has come, over all its runs.

    Attributes:
        seconds: since this run began.
        programs: run and judged.
        rate: programs a second in this run.
        corpus: programs kept for further mutation.
        findings: confirmed ones.
        suspects: too thinly proven to be findings.
        unreplayed: seen, but not shown by their own ``repro.py``.
        last: seconds since the newest finding; ``None`` where there is none.
        counts: everything else, by name.
    """

    seconds: float
    programs: int
    rate: float
    corpus: int
    findings: int
    suspects: int
    unreplayed: int
    last: float | None
    counts: Mapping[str, int] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """All of it as JSON-able data."""
        return asdict(self)


class Campaign:
    """One ``--out`` folder, held by one process at a time.

    Args:
        out: folder of the campaign; made where missing, continued where it holds one.
        config: settings; a continued campaign takes those given now.

    Raises:
        UsageError: the folder cannot be used, or another process is using it.
    """

    def __init__(self, out: Path, config: Config) -> None:
        self.layout = Layout(out)
        self.config = config
        self.errors = 0
        self._jobs: dict[int, subprocess.Popen[bytes]] = {}
        self._lock = self._take(out)
        self.database = Database(self.layout.database)
        self.continued = "config" in self.database.settings()
        self.database.set("config", config.to_json())

    def __enter__(self) -> Campaign:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._end_jobs()
        self.database.close()
        self._lock.close()

    @staticmethod
    def stored_config(out: Path) -> Config | None:
        """Settings of the campaign in a folder; ``None`` where there is none."""
        path = Layout(out).database
        if not path.is_file():
            return None
        database = Database(path)
        text = database.settings().get("config")
        database.close()
        return None if text is None else Config.from_json(text)

    def _take(self, out: Path) -> IO[str]:
        try:
            out.mkdir(parents=True, exist_ok=True)
            for folder in (self.layout.findings, self.layout.log(0).parent, self.layout.inflight(0).parent):
                folder.mkdir(exist_ok=True)
            lock = self.layout.lock().open("w")
        except OSError as error:
            raise UsageError(f"--out {out}: cannot be written: {error.strerror}") from None
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            lock.close()
            raise UsageError(f"--out {out}: another irfuzz process is using this folder") from None
        return lock

    # ---- seeds ------------------------------------------------------------------------------

    def add_seed(self, name: str, program: Program) -> None:
        """Take a program in; nothing happens where it is there already."""
        data = program.to_bytes()
        trace = lineage.dump(lineage.seed_trace(program, data, name))
        self.database.add_program(ProgramRow(program.digest, data, name, "", trace, 0, -1, 0))

    # ---- running ----------------------------------------------------------------------------

    def run(self, seconds: float | None, watch: Callable[[Progress], None], *, stop_at: int | None = None) -> Progress:
        """Run jobs until the time is up, ``stop_at`` programs have run in all, or Ctrl-C.

        Raises:
            UsageError: there is no seed, or a target cannot be used.
            InternalError: jobs keep dying of irfuzz's own faults.
        """
        if not self.database.corpus_size():
            raise UsageError("no usable seed; give at least one ONNX model that loads")
        for row in self.database.findings():
            place_bundle(self.layout, row)  # a kill may have come between a finding and its folder
        began = time.monotonic()
        before = self._programs()
        try:
            for number in range(self.config.jobs):
                self._start_job(number)
            while True:
                progress = self._progress(began, before)
                watch(progress)
                if seconds is not None and progress.seconds >= seconds:
                    break
                if stop_at is not None and progress.programs >= stop_at:
                    break
                self._revive()
                time.sleep(POLL)
        except KeyboardInterrupt:
            pass  # asked to end: what is in the database stays
        self._end_jobs()
        return self._progress(began, before)

    def findings(self) -> list[FindingRow]:
        """Confirmed findings, oldest first."""
        return [row for row in self.database.findings(suspects=False) if row.status == "confirmed"]

    def folder_of(self, row: FindingRow) -> Path:
        """The finding's folder."""
        return place_bundle(self.layout, row)

    def _start_job(self, number: int) -> None:
        log = self.layout.log(number).open("ab")
        self._jobs[number] = subprocess.Popen(
            [sys.executable, "-m", "irfuzz.campaign.job", str(self.layout.out.resolve()), str(number)],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,  # the terminal's Ctrl-C reaches only this process
            env={**os.environ, "PYTHONHASHSEED": "0", "OMP_NUM_THREADS": "1"},
        )
        log.close()

    def _revive(self) -> None:
        for number, job in list(self._jobs.items()):
            code = job.poll()
            if code is None:
                continue
            reason = self._last_words(number)
            if code == 2:
                raise UsageError(reason)
            self.errors += 1
            if self.errors > RESTARTS:
                raise InternalError(
                    f"jobs died {self.errors} times, last job {number} with code {code}: {reason}; "
                    f"see {self.layout.log(number)}"
                )
            self._start_job(number)

    def _last_words(self, number: int) -> str:
        text = self.layout.log(number).read_text(errors="replace").strip()
        line = text.splitlines()[-1] if text else "it said nothing"
        return line.removeprefix(f"irfuzz job {number}: ").removeprefix("UsageError: ")

    def _end_jobs(self) -> None:
        for job in self._jobs.values():
            if job.poll() is None:
                job.send_signal(signal.SIGTERM)
        deadline = time.monotonic() + PATIENCE
        try:
            self._wait(list(self._jobs.values()), deadline)
        except KeyboardInterrupt:
            pass  # a second Ctrl-C means now
        for job in self._jobs.values():
            if job.poll() is None:
                job.kill()
                job.wait()
        self._jobs.clear()

    @staticmethod
    def _wait(jobs: Sequence[subprocess.Popen[bytes]], deadline: float) -> None:
        for job in jobs:
            try:
                job.wait(max(0.0, deadline - time.monotonic()))
            except subprocess.TimeoutExpired:
                return

    def _programs(self) -> int:
        return sum(programs for _, _, programs, _ in self.database.tallies())

    def _progress(self, began: float, before: int) -> Progress:
        seconds = time.monotonic() - began
        tallies = self.database.tallies()
        counts: dict[str, int] = {}
        for _, _, _, more in tallies:
            for name, count in more.items():
                counts[name] = counts.get(name, 0) + count
        programs = sum(t[2] for t in tallies)
        found = self.database.finding_counts()
        return Progress(
            seconds=seconds,
            programs=programs,
            rate=(programs - before) / seconds if seconds > 0 else 0.0,
            corpus=self.database.corpus_size(),
            findings=found["findings"],
            suspects=found["suspects"],
            unreplayed=found["unreplayed"],
            last=time.time() - found["last"] if found["last"] else None,
            counts=dict(sorted(counts.items())),
        )
