"""Files whose bytes are looked at where they lie, and the way back from such bytes to their file."""

from __future__ import annotations

import mmap
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import numpy as np

from irfuzz.errors import InvalidProgram


@dataclass(frozen=True, slots=True)
class FileSpan:
    """Bytes of a file.

    Attributes:
        path: absolute, without symbolic links.
        offset: of the first byte.
        size: in bytes.
    """

    path: Path
    offset: int
    size: int


class MappedFile(mmap.mmap):
    """A file in memory, read only: pages are read when they are looked at, and shared by all who map the file.

    The file must stay as long as it is: a page that is cut off ends the process that reads it.
    """

    path: Path

    @classmethod
    def of(cls, file: BinaryIO, path: Path) -> MappedFile:
        """Map a file that is open and not empty; it may be closed afterwards.

        Args:
            file: open for reading, as bytes.
            path: of the file; symbolic links in it are resolved.

        Raises:
            InvalidProgram: it is larger than what may be mapped.
        """
        try:
            made = cls(file.fileno(), 0, flags=mmap.MAP_SHARED, prot=mmap.PROT_READ)
        except OSError as error:
            raise InvalidProgram(f"the file cannot be mapped: {error.strerror}") from None
        made.path = path.resolve()
        return made


def span_of(data: object) -> FileSpan | None:
    """The place in a file of the elements of an array or view; ``None`` if they lie in memory or are not contiguous.

    Args:
        data: a numpy array or ``memoryview``, perhaps a view of views of a ``MappedFile``.
    """
    owner = data
    while isinstance(owner, np.ndarray | memoryview):
        owner = owner.base if isinstance(owner, np.ndarray) else owner.obj
    if not isinstance(owner, MappedFile):
        return None
    array = data if isinstance(data, np.ndarray) else np.frombuffer(data, np.uint8)  # type: ignore[call-overload]
    if not array.flags.c_contiguous:
        return None
    start = np.frombuffer(owner, np.uint8).__array_interface__["data"][0]
    return FileSpan(owner.path, array.__array_interface__["data"][0] - start, array.nbytes)
