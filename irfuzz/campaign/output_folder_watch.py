"""Sees during a campaign that its folder was removed, renamed or replaced, or can no longer be written."""

from __future__ import annotations

import contextlib
import math
import os
import time
from pathlib import Path

from irfuzz.campaign.config import Layout
from irfuzz.errors import UsageError

PROBE = ".irfuzz-probe"
"""File that is written into the folder to see whether that works; it is removed at once."""

PROBE_BYTES = 1 << 16
"""A database of a folder with less room than that fails at one of its next transactions."""

PROBE_EVERY = 4.0
"""Seconds between two such writes while a campaign runs: for weeks, and maybe over a network."""

REMOVAL_SECONDS = 1.0
"""Time in which a folder goes whose files have gone."""

AGAIN = "run the same command again to continue"


class OutputFolderLost(UsageError):
    """The folder of a running campaign is no longer there, or cannot be written; what is in it stays as it is."""


class OutputFolderWatch:
    """The folder of a campaign as it is now, to be compared with what a path leads to later.

    SQLite goes on for hours in a file that was removed, so nobody else would notice.

    Args:
        layout: of the folder, which has its lock and its database by now.

    Raises:
        UsageError: it has not.
    """

    def __init__(self, layout: Layout) -> None:
        self._out = layout.out
        self._files = (layout.lock(), layout.database)
        self._written = -math.inf
        try:
            self._folder = os.open(layout.out, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            self._known = {path: _identity(path.stat()) for path in self._files}
        except OSError as error:
            raise UsageError(f"--out {layout.out}: cannot be read: {error.strerror}") from None

    def check(self, *, every: float = 0.0) -> None:
        """Do nothing if the folder has its place and the campaign's files, and can be written.

        Args:
            every: seconds within which it is not written again.

        Raises:
            OutputFolderLost: it is not; the message says what became of it, and what to do.
        """
        self._see_folder()
        if lost := next((path for path, known in self._known.items() if not _is(path, known)), None):
            time.sleep(REMOVAL_SECONDS)  # whoever removes a folder removes its files first
            self._see_folder()
            raise OutputFolderLost(
                f"--out {self._out}: {lost.name} was removed or replaced while the campaign ran; "
                f"put it back, or begin another campaign with another --out"
            )
        if time.monotonic() - self._written >= every:
            self._write()
            self._written = time.monotonic()

    def _see_folder(self) -> None:
        if not _is(self._out, _identity(os.fstat(self._folder))):
            raise OutputFolderLost(f"--out {self._out}: {self._what_became()}")

    def close(self) -> None:
        """Give the folder back; it is not looked at any more."""
        os.close(self._folder)

    def _what_became(self) -> str:
        """Where the folder is now, as far as the kernel tells."""
        now = ""
        with contextlib.suppress(OSError):  # /proc may be missing, and a folder of another machine may be gone
            if os.fstat(self._folder).st_nlink:
                now = str(Path(f"/proc/self/fd/{self._folder}").readlink())
        if not now:
            return "the folder was removed while the campaign ran, and all that was found with it"
        return (
            f"the folder was renamed to {now} while the campaign ran; all that was found is there: rename it back, and "
            f"{AGAIN}"
        )

    def _write(self) -> None:
        """Write a file and remove it, in the folder itself, whatever its path leads to meanwhile."""
        name = f"{PROBE}-{os.getpid()}"
        try:
            try:
                probe = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600, dir_fd=self._folder)
                try:
                    left = PROBE_BYTES
                    while left > 0:  # a full file system takes the first part of it, and refuses the next
                        left -= os.write(probe, bytes(left))
                finally:
                    os.close(probe)
            finally:
                with contextlib.suppress(FileNotFoundError):
                    os.unlink(name, dir_fd=self._folder)
        except OSError as error:
            raise OutputFolderLost(
                f"--out {self._out}: cannot be written any more: {error.strerror}; what was found is stored: make "
                f"room, or have it writable again, and {AGAIN}"
            ) from None


def _is(path: Path, known: tuple[int, int]) -> bool:
    try:
        return _identity(path.stat()) == known
    except OSError:
        return False


def _identity(found: os.stat_result) -> tuple[int, int]:
    return found.st_dev, found.st_ino
