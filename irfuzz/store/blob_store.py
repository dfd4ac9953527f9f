"""Large tensors, each kept once under the digest of its bytes, whatever programs it belongs to."""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import Protocol
from weakref import WeakValueDictionary

from irfuzz.errors import InternalError, InvalidProgram, UsageError
from irfuzz.ir.serialization.mapped_file import MappedFile

SUFFIX = ".bin"
"""Ending of the file of a blob; its stem is the digest."""

_DIGEST = re.compile(r"[0-9a-f]{64}")
_CHUNK = 1 << 24


class Blobs(Protocol):
    """Bytes by the SHA-256 of them. A folder is one (``FolderBlobs``); an object store can be another."""

    def put(self, data: memoryview | bytes) -> str:
        """Keep bytes, of any length but 0; nothing happens if they are there already.

        Returns their digest, 64 lower-case hexadecimal digits, by which ``map`` finds them.
        """
        ...

    def has(self, digest: str) -> bool:
        """Whether there are bytes of that digest, so that ``map`` can give them."""
        ...

    def map(self, digest: str) -> memoryview:
        """The bytes of a digest, without a copy, for as long as the view is held.

        Raises:
            InternalError: there are none.
        """
        ...


class FolderBlobs:
    """Blobs as files of one folder, for several processes at once.

    A file is there whole or not at all, whenever a process is killed. That somebody removes one is not seen.
    Raises ``UsageError`` if the folder cannot be written.
    """

    def __init__(self, folder: Path, *, within: bool = False) -> None:
        """Take a folder, which is made when the first blob comes.

        Args:
            folder: its path.
            within: the folder around it is there, and is not made again if somebody has removed it.
        """
        self.folder = folder
        self._within = within
        self._mapped: WeakValueDictionary[str, MappedFile] = WeakValueDictionary()
        self._seen: set[str] = set()

    def path(self, digest: str) -> Path:
        """The file of a blob in the folder, named by its digest, whether it is there or not."""
        return self.folder / f"{digest}{SUFFIX}"

    def put(self, data: memoryview | bytes) -> str:
        """See ``Blobs.put``. The bytes are written to a draft that gets its name when it is whole.

        Raises:
            UsageError: the folder cannot be made or written.
        """
        view = memoryview(data).cast("B")
        digest = digest_of(view)
        if self.has(digest):
            return digest
        try:
            self.folder.mkdir(parents=not self._within, exist_ok=True)
            handle, draft = tempfile.mkstemp(prefix=".draft-", dir=self.folder)
            try:
                with os.fdopen(handle, "wb") as file:
                    for at in range(0, len(view), _CHUNK):
                        file.write(view[at : at + _CHUNK])
                Path(draft).chmod(0o644)
                Path(draft).replace(self.path(digest))
            except BaseException:
                Path(draft).unlink(missing_ok=True)
                raise
        except OSError as error:
            raise UsageError(f"{self.folder}: cannot be written: {error.strerror}") from error
        return digest

    def has(self, digest: str) -> bool:
        """See ``Blobs.has``. A digest that was found once is remembered, so that its file is not looked for again."""
        if digest not in self._seen and self.path(digest).exists():
            self._seen.add(digest)
        return digest in self._seen

    def map(self, digest: str) -> memoryview:
        """See ``Blobs.map``. The file is mapped into memory once for all views of it that are held at the same time.

        Raises:
            InternalError: the file is missing or cannot be read.
        """
        mapped = self._mapped.get(digest)
        if mapped is None:
            path = self.path(digest)
            try:
                with path.open("rb") as file:
                    mapped = MappedFile.of(file, path)
            except (OSError, ValueError, InvalidProgram) as error:
                raise InternalError(f"{path}: cannot be read: {error}") from error
            self._mapped[digest] = mapped
        return memoryview(mapped)

    def digests(self) -> Iterator[str]:
        """The digests of all blobs, in no order; none if the folder does not exist.

        Files of other names are passed over.
        """
        if self.folder.is_dir():
            for path in self.folder.iterdir():
                if path.suffix == SUFFIX and _DIGEST.fullmatch(path.stem):
                    yield path.stem

    def clean(self) -> None:
        """Remove what a killed process left half-written; nobody else may be writing.

        Whole blobs stay, and a folder that does not exist is fine.
        """
        if self.folder.is_dir():
            for draft in self.folder.glob(".draft-*"):
                draft.unlink(missing_ok=True)


def digest_of(data: memoryview | bytes) -> str:
    """SHA-256 of bytes as 64 lower-case hexadecimal digits, under which a store of blobs keeps them."""
    return sha256(data).hexdigest()
