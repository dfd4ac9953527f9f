"""Limits that whoever started irfuzz has set for its processes (``ulimit``), and how messages name them.

An ordinary user in a container cannot raise a hard limit. Workers get what is left under it, and if that is too
little, the message says which limit it was.
"""

from __future__ import annotations

import errno
import os
import resource
from dataclasses import dataclass

MIB = 1 << 20


@dataclass(frozen=True, slots=True)
class ProcessLimit:
    """One limit of the kernel.

    Attributes:
        number: the kernel's.
        flag: of the shell's ``ulimit``.
        what: it limits.
        least: bytes without which no command can begin (numpy, onnx and onnxruntime are loaded), or 0.
    """

    number: int
    flag: str
    what: str
    least: int = 0

    @property
    def bytes(self) -> int | None:
        """What is allowed now, in bytes: the soft limit, which the kernel enforces. ``None`` if it is not limited."""
        soft = resource.getrlimit(self.number)[0]
        return None if soft == resource.RLIM_INFINITY else soft

    def __str__(self) -> str:
        allowed = self.bytes
        text = "none" if allowed is None else f"{allowed // MIB} MiB" if allowed >= MIB else f"{allowed} bytes"
        return f"the limit on {self.what} (ulimit {self.flag}) is {text}"


DATA = ProcessLimit(resource.RLIMIT_DATA, "-d", "memory for data", 192 * MIB)
ADDRESSES = ProcessLimit(resource.RLIMIT_AS, "-v", "address space", 768 * MIB)
FILES = ProcessLimit(resource.RLIMIT_FSIZE, "-f", "the size of a file")


def too_low() -> str:
    """Say why no command can begin under the limits on memory that are set; empty if one can.

    The text names the limit, its value and how many MiB are needed.
    """
    for limit in (DATA, ADDRESSES):
        allowed = limit.bytes
        if allowed is not None and allowed < limit.least:
            return f"{limit}; at least {limit.least // MIB} MiB are needed"
    return ""


_FILE_WORDS = (os.strerror(errno.EFBIG), "disk I/O error")
"""What the C library says of a file that may not grow, and SQLite."""


def on_files(text: str) -> str:
    """The limit on files, to follow a message that says that one became too large; else empty.

    Args:
        text: any message; it counts if it has the words of the C library (``EFBIG``) or SQLite.
    """
    return f"; {FILES}" if FILES.bytes is not None and any(words in text for words in _FILE_WORDS) else ""


def on_memory() -> str:
    """The limits on memory that are set, to follow a message that memory ran out; empty if there are none."""
    return "".join(f"; {limit}" for limit in (DATA, ADDRESSES) if limit.bytes is not None)
