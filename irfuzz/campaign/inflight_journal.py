"""Writes what a job is busy with into a file that outlives it, and reads what a dead job was making or running."""

from __future__ import annotations

import os
import struct
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from irfuzz.errors import UsageError

MAGIC = b"irfuzz01"
_HEAD = struct.Struct("<8sqq")
"""Magic, the iteration at work, how many programs of the round lie behind the header; while a case is looked into its
number instead of an iteration, and ``_CASE``."""
_CASE = -1
LARGE = 1 << 20
"""Bytes of programs that are cut off once they have run: with large weights they would take as much room as a seed."""
_ENTRY = struct.Struct("<qq")
"""Iteration and size of a program; the programs follow one another behind the table."""


@dataclass(frozen=True, slots=True)
class InFlight:
    """What a job was busy with when it was last heard of.

    Attributes:
        iteration: that was made or judged; -1 if it is one of ``models`` that ran.
        models: the programs of the round that was run or judged, by iteration; empty while they were made.
        case: number of the waiting case that was looked into; 0 if none was.
    """

    iteration: int = -1
    models: dict[int, bytes] = field(default_factory=dict[int, bytes])
    case: int = 0


class Journal:
    """The file of one job. Plain writes, no flush: they survive the death of the process, not of the machine.

    Attributes:
        case: number of the waiting case that is looked into; 0 if none is.

    Raises:
        UsageError: it cannot be written.
    """

    __slots__ = ("_count", "_fd", "_path", "_size", "case")

    def __init__(self, path: Path) -> None:
        self._path = path
        try:
            self._fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        except OSError as error:
            raise UsageError(f"{path}: cannot be written: {error.strerror}") from None
        self._size = os.fstat(self._fd).st_size
        self._count = self.case = 0

    def makes(self, iteration: int) -> None:
        """A program is being made; from now on the file speaks of no other.

        Args:
            iteration: of it. If the job dies now, that iteration is to blame.
        """
        self._count = self.case = 0
        self._write(_HEAD.pack(MAGIC, iteration, 0), 0)
        self._shrink()

    def judges(self, iteration: int) -> None:
        """One of the programs that have run is looked at; their bytes stay in the file.

        Args:
            iteration: of it.
        """
        self._write(_HEAD.pack(MAGIC, iteration, self._count), 0)

    def looks_into(self, number: int) -> None:
        """A case that waited for triage is looked into; no program is to blame if the job dies now.

        Args:
            number: of the case.
        """
        self.case = number
        self._write(_HEAD.pack(MAGIC, number, _CASE), 0)

    def runs(self, models: Sequence[tuple[int, bytes]]) -> None:
        """Programs, each with its iteration, are going to run; to be called after ``makes``.

        Args:
            models: iteration and bytes of each. Their order is kept, and whoever reads the file gets all of them.
        """
        table = b"".join(_ENTRY.pack(iteration, len(data)) for iteration, data in models)
        # First what the header will speak of: who reads meanwhile sees a program being made.
        written = self._write(b"".join([table, *(data for _, data in models)]), _HEAD.size)
        self._size = max(self._size, written)
        self._count = len(models)
        self._write(_HEAD.pack(MAGIC, -1, self._count), 0)

    def close(self) -> None:
        """Give the file back; it stays, without large programs."""
        if self._size > LARGE:
            self.makes(-1)
        os.close(self._fd)

    def _write(self, data: bytes, place: int) -> int:
        """Write all of it; returns how many bytes that were.

        Raises:
            UsageError: the file system is full; the header tells of what was written before.
        """
        written = 0
        try:
            while written < len(data):  # a full file system takes a part, and refuses the next
                written += os.pwrite(self._fd, data[written:] if written else data, place + written)
        except OSError as error:
            raise UsageError(f"{self._path}: cannot be written: {error.strerror}") from None
        return written

    def _shrink(self) -> None:
        """Cut off large programs, of which the header speaks no more."""
        if self._size > LARGE:
            os.ftruncate(self._fd, _HEAD.size)
            self._size = 0


def case_of(path: Path) -> int:
    """Number of the waiting case that a job looks into now; 0 if it looks into none, or nothing is known of it.

    Args:
        path: of its journal, of which no more than the beginning is read.
    """
    try:
        with path.open("rb") as file:
            magic, number, count = _HEAD.unpack(file.read(_HEAD.size))
    except (OSError, struct.error):
        return 0
    return max(0, number) if magic == MAGIC and count == _CASE else 0


def read(path: Path) -> InFlight:
    """What the last job that wrote there was busy with; nothing if there is no such file.

    Args:
        path: of a journal. What has no whole header and table counts as no such file.

    Returns:
        Nothing is an ``InFlight`` with the iteration -1 and no models.
    """
    try:
        data = path.read_bytes()
    except OSError:
        return InFlight()
    if len(data) < _HEAD.size:
        return InFlight()
    magic, iteration, count = _HEAD.unpack_from(data)
    if magic == MAGIC and count == _CASE:
        return InFlight(case=max(0, iteration))
    start = _HEAD.size + count * _ENTRY.size
    if magic != MAGIC or not 0 <= count <= len(data) or start > len(data):
        return InFlight()
    models: dict[int, bytes] = {}
    for place in range(count):
        number, size = _ENTRY.unpack_from(data, _HEAD.size + place * _ENTRY.size)
        models[number] = data[start : start + size]
        start += size
    return InFlight(iteration, models)
