"""Runs a campaign's job processes: starts them anew if they die, and ends them all."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from irfuzz.campaign.config import Layout
from irfuzz.errors import InternalError, UsageError
from irfuzz.isolate.linux import descendants, is_running, kill, signal_name

USAGE = 2
"""Exit code of a job that the user can do something about; its last line says what."""

RESTARTS = 5
"""How often in a row a job may die before it has judged a program; then the campaign gives up."""

GONE_SECONDS = 2.0
"""How long processes below a killed job may take to go, which were killed too."""

START = (
    f"import sys; sys.path.insert(0, {str(Path(__file__).parents[2])!r}); "
    "from irfuzz.campaign.job import main; sys.exit(main(sys.argv[1:]))"
)
"""What a job runs: this very irfuzz. ``-m`` would prefer the user's folder, perhaps a checkout that was never built."""


@dataclass(frozen=True, slots=True)
class JobDeath:
    """The end of a job that nobody asked for.

    Attributes:
        job: its number.
        how: ``SIGSEGV``, or ``exit code 3``.
        words: the last line that it wrote.
    """

    job: int
    how: str
    words: str


class Processes:
    """The jobs of one campaign.

    Args:
        layout: of the campaign's folder.
        lock: file descriptor of its lock. Jobs hold it too, so that nobody starts beside one that is left over.
        progress: how many programs a job has judged so far; tells a job that works from one that only dies.

    Attributes:
        kind: of the campaign, one of ``job.STRATEGIES``.
    """

    def __init__(self, layout: Layout, lock: int, progress: Callable[[int], int]) -> None:
        self.kind = "differential"
        self._layout = layout
        self._lock = lock
        self._progress = progress
        self._running: dict[int, subprocess.Popen[bytes]] = {}
        self._began_at: dict[int, int] = {}
        self._in_a_row: dict[int, int] = {}
        self._log_began: dict[int, int] = {}

    def start(self, number: int, *, skip: bool = False) -> None:
        """Start a job.

        Its log is appended to, and the terminal's Ctrl-C does not reach it.

        Args:
            number: which one.
            skip: leave out the program at which it died.
        """
        self._began_at[number] = self._progress(number)
        words = [str(self._layout.out.resolve()), str(number), str(os.getpid()), self.kind, *(["skip"] if skip else [])]
        with self._layout.log(number).open("ab") as log:
            self._log_began[number] = log.tell()
            self._running[number] = subprocess.Popen(
                [sys.executable, "-P", "-c", START, *words],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                pass_fds=[self._lock],
                start_new_session=True,  # the terminal's Ctrl-C reaches only this process
                env={**os.environ, "PYTHONHASHSEED": "0", "OMP_NUM_THREADS": "1"},
            )

    def revive(self) -> list[JobDeath]:
        """Start again what has died; returns what died since the last call. A job that is done stays ended.

        Raises:
            UsageError: a job ended for a reason that the user can do something about.
            InternalError: a job dies again and again without judging a single program.
        """
        deaths: list[JobDeath] = []
        for number, process in list(self._running.items()):
            code = process.poll()
            if code is None:
                continue
            if code == 0:
                del self._running[number]
                continue
            words = self._last_words(number)
            if code == USAGE:
                raise UsageError(words)
            how = signal_name(-code) if code < 0 else f"exit code {code}"
            deaths.append(JobDeath(number, how, words))
            worked = self._progress(number) > self._began_at[number]
            self._in_a_row[number] = 1 if worked else self._in_a_row.get(number, 0) + 1
            if self._in_a_row[number] > RESTARTS:
                raise InternalError(
                    f"job {number} died {self._in_a_row[number]} times in a row without judging a program, "
                    f"last with {how}: {words}; see {self._layout.log(number)}"
                )
            self.start(number, skip=True)
        return deaths

    def __len__(self) -> int:
        """How many run."""
        return len(self._running)

    def _last_words(self, number: int) -> str:
        with self._layout.log(number).open("rb") as log:
            log.seek(0, os.SEEK_END)
            log.seek(max(self._log_began[number], log.tell() - 8192))
            lines = log.read().decode(errors="replace").strip().splitlines()
        return (lines[-1] if lines else "it said nothing").removeprefix(f"irfuzz job {number}: ")

    def end(self, seconds: float) -> list[int]:
        """Ask all jobs to end after the program they are busy with, and kill those that take longer.

        Args:
            seconds: how long they may take. A second Ctrl-C means now.

        Returns:
            The jobs that had to be killed.
        """
        for process in self._running.values():
            if process.poll() is None:
                process.send_signal(signal.SIGTERM)
        deadline = time.monotonic() + seconds
        with contextlib.suppress(KeyboardInterrupt, subprocess.TimeoutExpired):
            for process in self._running.values():
                process.wait(max(0.0, deadline - time.monotonic()))
        killed = [number for number, process in self._running.items() if process.poll() is None]
        left: list[int] = []
        for number in killed:
            below = descendants(self._running[number].pid)
            self._running[number].kill()
            self._running[number].wait()
            for pid in below:  # who hangs in an import does not see that the job is gone
                kill(pid)
            left += below
        self._running.clear()
        if left:
            _wait_until_gone(left)
        return killed


def _wait_until_gone(pids: list[int]) -> None:
    """Wait for processes that were killed: until then they hold their scratch folders, which nobody could remove."""
    deadline = time.monotonic() + GONE_SECONDS
    while any(map(is_running, pids)) and time.monotonic() < deadline:
        time.sleep(0.01)
