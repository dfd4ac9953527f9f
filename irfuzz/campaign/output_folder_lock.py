"""Takes an ``--out`` folder for this process alone, and removes what it made if it cannot."""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import time
from collections.abc import Generator
from pathlib import Path
from typing import IO

from irfuzz.campaign.config import Layout
from irfuzz.errors import UsageError
from irfuzz.store.blob_store import FolderBlobs

LEFTOVER_SECONDS = 20.0
"""How long to wait for the jobs of a killed campaign, which end as soon as they see that it is gone."""

LOOK_SECONDS = 0.3
"""How long to wait for anybody else: who only looks whether a campaign runs has the lock for a moment."""


class OutputFolder:
    """The folder of one campaign, locked.

    Args:
        out: made if missing, with what a campaign needs inside.

    Raises:
        UsageError: it cannot be written, or another process is using it.
    """

    def __init__(self, out: Path) -> None:
        self.layout = Layout(out)
        self._made: list[Path] = []
        try:
            self._make(out, parents=True)
            for folder in self.layout.folders():
                self._make(folder)
            if not self.layout.lock().exists():
                self._made.append(self.layout.lock())
            self._lock = self.layout.lock().open("a+")
        except OSError as error:
            self.undo()
            raise UsageError(f"--out {out}: cannot be written: {error.strerror}") from None
        if not self.layout.database.exists():
            self._made += [Path(f"{self.layout.database}{end}") for end in ("", "-wal", "-shm")]
            self._made.append(self.layout.blobs)
        try:
            _take(self._lock, out)
        except BaseException:
            self._lock.close()
            raise
        self._clean()

    @property
    def lock(self) -> int:
        """File descriptor of the lock; whoever holds it open holds the lock."""
        return self._lock.fileno()

    def close(self) -> None:
        """Give the lock back."""
        with contextlib.suppress(OSError):
            self.layout.drafts.rmdir()  # only where it is empty
        self._lock.close()

    def undo(self) -> None:
        """Remove what was made here and was not there before.

        The campaign's own files and folders go with all that is in them; ``--out`` and the folders above it only if
        they are empty. What cannot be removed stays.
        """
        for path in reversed(self._made):
            with contextlib.suppress(OSError):
                if path in (self.layout.out, *self.layout.out.parents):
                    path.rmdir()  # only where nothing else came into it
                elif path.is_dir():
                    shutil.rmtree(path)
                else:
                    path.unlink()

    def make(self, folder: Path) -> None:
        """Make one more folder inside, which ``undo`` removes.

        Args:
            folder: its path; nothing is remembered of one that is there already.
        """
        self._make(folder)

    def _make(self, folder: Path, *, parents: bool = False) -> None:
        missing = [folder] if not parents else [p for p in (*reversed(folder.parents), folder) if not p.exists()]
        for path in missing:
            if not path.is_dir():
                path.mkdir()
                self._made.append(path)
        if parents and not folder.is_dir():
            raise NotADirectoryError(20, "Not a directory")

    def _clean(self) -> None:
        """Remove what a kill left half-written."""
        for folder in (self.layout.findings, self.layout.suspects, self.layout.unreplayed, self.layout.drafts):
            if folder.is_dir():
                for draft in folder.glob(".draft-*"):
                    shutil.rmtree(draft, ignore_errors=True)
        shutil.rmtree(self.layout.drafts, ignore_errors=True)
        FolderBlobs(self.layout.blobs).clean()


@contextlib.contextmanager
def unused(out: Path) -> Generator[None]:
    """The folder of a campaign that nobody runs, which is only read; one that wants to run it waits or is refused.

    Raises:
        UsageError: another process is using it.
    """
    path = Layout(out).lock()
    if not path.is_file():
        yield
        return
    with path.open() as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except OSError:
            raise UsageError(f"{out}: another irfuzz process is using this folder; wait for it") from None
        yield


def _take(lock: IO[str], out: Path) -> None:
    """Lock the file and write our process id into it."""
    began = time.monotonic()
    while True:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            lock.seek(0)
            owner = lock.read().strip()
            # Where the campaign itself is gone, its jobs still hold the lock, and are about to go.
            left = owner.isdecimal() and not Path(f"/proc/{owner}").exists()
            if time.monotonic() < began + (LEFTOVER_SECONDS if left else LOOK_SECONDS):
                time.sleep(0.05)
                continue
            who = f"another irfuzz process ({owner})" if owner else "another irfuzz process"
            raise UsageError(f"--out {out}: {who} is using this folder; wait for it or use another") from None
        break
    lock.seek(0)
    lock.truncate()
    lock.write(str(os.getpid()))
    lock.flush()
