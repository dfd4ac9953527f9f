"""Runs leased work in a process of its own, which ends with its agent and is renewed for as long as it runs."""

from __future__ import annotations

import shutil
import subprocess
import sys
import time
import uuid
from dataclasses import replace
from pathlib import Path

from irfuzz.errors import UsageError
from irfuzz.fleet.upkeep.work_request import WorkRequest, WorkResult
from irfuzz.isolate import stray_processes
from irfuzz.isolate.guard import guarded

LONGEST = 3600.0
"""Seconds after which work is ended; what takes longer is cut into parts."""

END_SECONDS = 10.0
"""What a process gets to end."""

START = (
    f"import sys; sys.path.insert(0, {str(Path(__file__).parents[3])!r}); "
    "from irfuzz.fleet.upkeep.leased_work import main; sys.exit(main())"
)
"""Program of such a process, which finds the same irfuzz in any working folder."""

LOG = "log"
"""File in the folder of the work with what the process wrote to its standard error."""


class WorkProcess:
    """One piece of work that is under way.

    Args:
        request: what is to be done; its ``scratch`` is the folder below which one is made for it.

    Raises:
        UsageError: the folder cannot be written.
    """

    def __init__(self, request: WorkRequest) -> None:
        self._folder = Path(request.scratch) / f"work-{uuid.uuid4().hex[:8]}"
        self._began = time.monotonic()
        try:
            self._folder.mkdir(parents=True)
            with (self._folder / LOG).open("wb") as log:
                self._process = stray_processes.start(
                    guarded([sys.executable, "-P", "-c", START]), stdin=subprocess.PIPE,
                    stdout=subprocess.DEVNULL, stderr=log, start_new_session=True,
                )  # fmt: skip
            assert self._process.stdin is not None
            with self._process.stdin as pipe:
                pipe.write(replace(request, scratch=str(self._folder)).to_text().encode())
        except OSError as error:
            shutil.rmtree(self._folder, ignore_errors=True)
            raise UsageError(f"{self._folder}: work cannot begin there: {error.strerror}") from None

    def ended(self) -> WorkResult | None:
        """What became of it; ``None`` as long as it runs. Its folder is gone then."""
        late = time.monotonic() - self._began > LONGEST
        if self._process.poll() is None and not late:
            return None
        self._end()
        result = WorkResult.read(self._folder)
        if result is None:
            why = f"took longer than {LONGEST:.0f} s" if late else f"died: {self._last_line()}"
            result = WorkResult(why[:300], failed=True)
        shutil.rmtree(self._folder, ignore_errors=True)
        return result

    def close(self) -> None:
        """End it; nothing of it is lost that the store has."""
        self._end()
        shutil.rmtree(self._folder, ignore_errors=True)

    def _end(self) -> None:
        if self._process.poll() is None:
            self._process.terminate()  # the guard ends what it has started, too
            try:
                self._process.wait(END_SECONDS)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()

    def _last_line(self) -> str:
        try:
            lines = (self._folder / LOG).read_text(errors="replace").strip().splitlines()
        except OSError:
            lines = []
        return lines[-1] if lines else f"exit code {self._process.returncode}"
