"""Folders for files that end with a process; those that nobody holds any more are removed by the next campaign.

A process that is killed leaves its folder behind. Its lock goes with it, since the kernel gives that back: whoever gets
the lock of such a folder knows that no process holds it.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import stat
import tempfile
from collections.abc import Generator
from pathlib import Path
from typing import Self

from irfuzz.isolate.folder_removal import remove_folder

PREFIX = "irfuzz-"
"""How names of these folders begin."""

LOCK = ".irfuzz-lock"
"""File in each of them that is locked as long as it is used; a folder without it is nobody's to remove."""


class ScratchFolder:
    """A new folder below the temporary one, held by this process and by those that inherit ``lock``.

    A context manager; ``close`` removes it.

    Args:
        kind: a word for its name.

    Attributes:
        path: of the folder.
        lock: file descriptor that holds it; give it to a process that may outlive this one and uses the folder.

    Raises:
        OSError: it cannot be made.
    """

    def __init__(self, kind: str = "") -> None:
        self.path = Path(tempfile.mkdtemp(prefix=PREFIX + (f"{kind}-" if kind else "")))
        draft = self.path / f"{LOCK}-"
        self.lock = os.open(draft, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        with contextlib.suppress(OSError):  # a file system without locks: nobody will remove it but us
            fcntl.flock(self.lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            draft.rename(self.path / LOCK)  # nobody sees it before it is locked

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Remove the folder with all that is in it; may be called twice."""
        remove_folder(self.path)
        self.release()

    def release(self) -> None:
        """Give back this process's own hold on the folder, which stays; may be called twice."""
        if self.lock >= 0:
            os.close(self.lock)
        self.lock = -1


def remove_abandoned(place: Path | None = None) -> list[Path]:
    """Remove folders of earlier processes of this user that no living process holds; links are never followed.

    Args:
        place: where they are; the temporary folder if omitted.

    Returns:
        Those that were removed.
    """
    place = Path(tempfile.gettempdir()) if place is None else place
    removed: list[Path] = []
    try:
        root = os.open(place, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError:
        return removed
    try:
        for name in sorted(os.listdir(root)):  # noqa: PTH208 - of a descriptor, which a rename does not lead elsewhere
            if not name.startswith(PREFIX):
                continue
            with contextlib.suppress(OSError), _held(name, root):
                remove_folder(name, dir_fd=root)
                if not (place / name).exists():
                    removed.append(place / name)
    finally:
        os.close(root)
    return removed


@contextlib.contextmanager
def _held(name: str, root: int) -> Generator[None]:
    """Hold a folder of irfuzz's that nobody else holds.

    Raises:
        OSError: it is a link, another user's, none of irfuzz's, or held.
    """
    with contextlib.ExitStack() as opened:
        folder = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=root)
        opened.callback(os.close, folder)
        lock = os.open(LOCK, os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=folder)
        opened.callback(os.close, lock)
        for found in (os.fstat(folder), os.fstat(lock)):
            if found.st_uid != os.getuid():
                raise PermissionError(1, "another user's", name)
        if not stat.S_ISREG(os.fstat(lock).st_mode):
            raise FileNotFoundError(2, "no lock of irfuzz's", name)
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
