"""A bounded piece of memory that a child prints into; its head and tail are kept as text."""

from __future__ import annotations

import contextlib
import fcntl
import os

from irfuzz.process_limits import FILES

HEAD = 2000
TAIL = 6000
START = 8
"""Where the text begins: the bytes before it say which of several requests the child is busy with."""


class OutputLog:
    """Memory of fixed size that a child has as standard output and error.

    Parent and child share one file offset, so that the parent may rewind before a request and sees afterwards how
    much was written, at no cost for the child and without draining a pipe. A sealed file cannot grow: gigabytes of
    output fail at once instead of filling a disk. Nobody adds a seal, or a child could keep its parent from writing.
    """

    __slots__ = ("_size", "fd")

    def __init__(self, size: int) -> None:
        allowed = FILES.bytes  # memory of this kind is a file to the kernel
        self._size = START + (size if allowed is None else max(0, min(size, allowed - START)))
        self.fd = os.memfd_create("irfuzz-log", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
        os.ftruncate(self.fd, self._size)
        fcntl.fcntl(self.fd, fcntl.F_ADD_SEALS, fcntl.F_SEAL_GROW | fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_SEAL)
        self.rewind()

    def rewind(self) -> None:
        """Forget what was written; what the child prints from now on begins anew."""
        os.lseek(self.fd, START, os.SEEK_SET)

    def mark(self, place: int) -> None:
        """Set what ``place`` tells, beside the text: the number of a request."""
        os.pwrite(self.fd, place.to_bytes(START, "little"), 0)

    def place(self) -> int:
        """What was marked last: by the child, the number of the request (from 0) that it has begun."""
        return int.from_bytes(os.pread(self.fd, START, 0), "little")

    def text(self) -> str:
        """What was written since ``rewind``, at most ``HEAD + TAIL`` bytes of it.

        A line in the text says how much was left out, and another one if more was printed than the log holds.
        """
        end = min(os.lseek(self.fd, 0, os.SEEK_CUR), self._size)
        size = max(end - START, 0)
        full = "\n[more was printed than is kept]" if end >= self._size - 1 else ""
        if size <= HEAD + TAIL:
            return os.pread(self.fd, size, START).decode("utf-8", "backslashreplace") + full
        head = os.pread(self.fd, HEAD, START).decode("utf-8", "backslashreplace")
        tail = os.pread(self.fd, TAIL, end - TAIL).decode("utf-8", "backslashreplace")
        return f"{head}\n[{size - HEAD - TAIL} bytes left out]\n{tail}{full}"

    def close(self) -> None:
        """Give the memory back on this side; may be called twice."""
        if self.fd >= 0:
            with contextlib.suppress(OSError):
                os.close(self.fd)
            self.fd = -1
