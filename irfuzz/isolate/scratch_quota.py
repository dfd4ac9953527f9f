"""Sees that a worker's children do not fill the disk with what they leave in its scratch folder."""

from __future__ import annotations

import os
import time
from pathlib import Path

from irfuzz.isolate.folder_removal import Contents, contents, empty_folder
from irfuzz.isolate.scratch_folder import LOCK

LOOK_SECONDS = 1.0
"""So often the folder is looked at, which takes some microseconds if there is little in it."""

BLOCK = 512
"""Bytes of a block, as the kernel counts those of a file."""

LEAST = 4096
"""Bytes that a file or folder counts at least: one that is empty takes an inode and time to remove."""


class ScratchQuota:
    """How much may lie in a scratch folder between two requests, and what of it is to stay.

    Args:
        folder: of the worker; temporary files of its children are made there.
        most: bytes that may lie there.
    """

    __slots__ = ("_folder", "_kept", "_most", "_next")

    def __init__(self, folder: Path, most: int) -> None:
        self._folder = folder
        self._most = most
        self._kept: Contents = {LOCK: None}
        self._next = 0.0

    def begin(self) -> None:
        """What lies there now stays: the component's imports made it, and no child has run yet."""
        self._kept |= contents(self._folder)

    def is_exceeded(self) -> bool:
        """Whether more lies there than may; looked at once in ``LOOK_SECONDS``, and False in between."""
        now = time.monotonic()
        if now < self._next:
            return False
        self._next = now + LOOK_SECONDS
        return _bytes_below(self._folder, self._most) > self._most

    def clear(self) -> None:
        """Remove what came since ``begin``; no child may run any more."""
        empty_folder(self._folder, keep=self._kept)


def _bytes_below(folder: Path, enough: int) -> int:
    """What files and folders below a folder take on the disk; counted no further than beyond ``enough``."""
    total = 0
    waiting = [str(folder)]
    while waiting and total <= enough:
        try:
            with os.scandir(waiting.pop()) as entries:
                for entry in entries:
                    total += max(LEAST, BLOCK * entry.stat(follow_symlinks=False).st_blocks)
                    if entry.is_dir(follow_symlinks=False):
                        waiting.append(entry.path)
        except OSError:
            continue  # it was removed meanwhile
    return total
