"""Small campaigns over the real command line, and eyes to watch them from outside."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple, Self

import irfuzz
from irfuzz.isolate import linux

FAULTS = Path(__file__).resolve().parents[1] / "planted_targets" / "faults.py"
ENV = {**os.environ, "PYTHONPATH": str(Path(irfuzz.__file__).parents[1]), "OMP_NUM_THREADS": "1"}


def planted(name: str) -> str:
    """What ``--target`` takes for a class of ``tests/planted_targets/faults.py``."""
    return f"{FAULTS}:{name}"


def command(*words: object) -> list[str]:
    """``irfuzz WORDS`` with the irfuzz that is tested."""
    return [sys.executable, "-P", "-m", "irfuzz", *map(str, words)]


def wait_until(check: Callable[[], bool], seconds: float = 60.0) -> bool:
    """Whether something comes true in time."""
    end = time.monotonic() + seconds
    while not check():
        if time.monotonic() > end:
            return False
        time.sleep(0.02)
    return True


def alive(pid: int) -> bool:
    """Whether a process runs; a zombie does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return False


class Row(NamedTuple):
    """What is told of a finding or suspect."""

    signature: str
    status: str
    suspect: bool
    model: bytes

    def may_become(self, later: Row | None) -> bool:
        """Whether nothing is lost: a finding stays; what has no proof gets one, or smaller, or another explains it."""
        if later is None or (later.suspect and not self.suspect):
            return False
        if not self.suspect:
            return later == self or self.status == "unreplayed"
        same = later.signature == self.signature
        return same and (later.model == self.model or len(later.model) < len(self.model)) if later.suspect else True


@dataclass(frozen=True)
class Seen:
    """What anybody could have been told of a campaign at one moment."""

    findings: dict[int, Row] = field(default_factory=dict)
    programs: frozenset[str] = frozenset()
    tallies: dict[int, tuple[int, int]] = field(default_factory=dict)

    @staticmethod
    def of(out: Path) -> Seen:
        """Look into the database, as another process does."""
        path = out / "campaign.sqlite"
        if not path.exists():
            return Seen()
        with closing(sqlite3.connect(path, timeout=30)) as database:
            tables = {row[0] for row in database.execute("select name from sqlite_master")}
            if not {"finding", "program", "tally"} <= tables:
                return Seen()
            findings = database.execute("select number, signature, status, suspect, model from finding").fetchall()
            programs = database.execute("select digest from program").fetchall()
            tallies = database.execute("select job, iteration, programs from tally").fetchall()
        return Seen(
            {
                number: Row(signature, status, bool(suspect), model)
                for number, signature, status, suspect, model in findings
            },
            frozenset(digest for (digest,) in programs),
            {job: (iteration, count) for job, iteration, count in tallies},
        )

    def lost_in(self, later: Seen) -> list[str]:
        """What was there and is not, or went backwards."""
        lost = [f"finding {n}: {f[0]}" for n, f in self.findings.items() if not f.may_become(later.findings.get(n))]
        lost += [f"program {digest}" for digest in self.programs - later.programs]
        lost += [
            f"job {job}: {tally}, later {later.tallies.get(job)}"
            for job, tally in self.tallies.items()
            if job not in later.tallies or any(a > b for a, b in zip(tally, later.tallies[job], strict=True))
        ]
        return lost


class Running:
    """A campaign in a process of its own, which is ended with the test."""

    def __init__(self, *words: object, cwd: Path) -> None:
        self.process = subprocess.Popen(
            command("fuzz", *words),
            cwd=cwd,
            env=ENV,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self._below: list[int] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        running = self.process.poll() is None
        if running:
            self.below()
            linux.kill(self.process.pid)
        for pid in self._below if running or kind else ():  # else whoever is left is what a test is about
            if alive(pid):
                linux.kill(pid)
        self.process.communicate()

    def below(self) -> list[int]:
        """Process ids of all jobs, workers and whatever else the campaign started."""
        self._below = linux.descendants(self.process.pid)
        return self._below

    def jobs(self) -> list[int]:
        """Process ids of the jobs."""
        found = []
        for pid in linux.children(self.process.pid):
            try:
                if b"irfuzz.campaign.job" in Path(f"/proc/{pid}/cmdline").read_bytes():
                    found.append(pid)
            except (FileNotFoundError, ProcessLookupError):
                continue
        return found
