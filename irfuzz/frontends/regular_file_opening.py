"""Opens plain files for reading; devices, pipes and folders are refused before they can do harm."""

from __future__ import annotations

import os
import stat
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from irfuzz.errors import InvalidProgram

MOST_READ = 64 << 20
"""Bytes of a text that is read whole: tables, traces and programs that people write have a thousandth of that."""


@contextmanager
def open_plain(path: Path, *, follow: bool = True) -> Generator[tuple[BinaryIO, int]]:
    """Open a plain file for reading and hand out its size in bytes with it.

    Args:
        path: the file.
        follow: whether it may be a symbolic link.

    Raises:
        InvalidProgram: it does not exist, may not be read, or is something else than a plain file.
    """
    flags = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | (0 if follow else os.O_NOFOLLOW)
    try:
        handle = os.open(path, flags)
    except OSError as e:
        raise InvalidProgram(e.strerror or str(e)) from None
    except ValueError as e:  # a null byte in the path
        raise InvalidProgram(str(e)) from None
    status = os.fstat(handle)
    if not stat.S_ISREG(status.st_mode):
        os.close(handle)
        raise InvalidProgram("not a plain file but a directory" if stat.S_ISDIR(status.st_mode) else "not a plain file")
    with os.fdopen(handle, "rb") as file:
        yield file, status.st_size


def read_plain(path: Path, most: int = MOST_READ) -> bytes:
    """The content of a plain file of moderate size.

    Args:
        path: the file.
        most: bytes that it may have.

    Raises:
        InvalidProgram: see ``open_plain``, or it is larger; the message does not name it.
    """
    with open_plain(path) as (file, size):
        if size > most:
            raise InvalidProgram(f"expected at most {most} bytes, got {size}")
        try:
            return file.read(size)
        except OSError as error:
            raise InvalidProgram(error.strerror or str(error)) from None
