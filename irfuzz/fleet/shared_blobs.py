"""Models and weights of a fleet under the SHA-256 of their bytes, in a folder or an object store, compressed."""

from __future__ import annotations

import re
import time
import uuid
from collections.abc import Callable, Iterator
from datetime import datetime
from pathlib import Path
from typing import Any, TypeVar

from irfuzz.errors import InternalError, UsageError
from irfuzz.fleet.store_connection import EXTRA, StoreUnreachable
from irfuzz.store.blob_store import digest_of

ENDING = ".zst"

GRACE = 3600.0
"""Seconds in which a blob that no row names is not removed: its row may be on the way."""

LEVEL = 3

_NAME = re.compile(r"[0-9a-f]{64}")
T = TypeVar("T")


class SharedBlobs:
    """Bytes by digest, as ``store.blob_store.Blobs`` has them, for all agents of a fleet.

    A blob is there whole or not at all: a file is renamed into its place, and an object store does so by itself.
    What is read is compared with its digest.

    Args:
        place: a folder, or a URL of fsspec such as ``s3://bucket/folder``.
        options: of the file system, such as ``endpoint_url``.

    Raises:
        UsageError: the URL is of no kind that is known here, or a package for it is missing.
        StoreUnreachable: the place cannot be written.
    """

    def __init__(self, place: str, **options: Any) -> None:
        self.place = place
        try:
            import fsspec
            import zstandard
        except ModuleNotFoundError as error:
            raise UsageError(f"--blobs {place}: needs {error.name}; {EXTRA}") from None
        try:
            self._system, self._root = fsspec.url_to_fs(place, **options)
        except ImportError as error:
            raise UsageError(f"--blobs {place}: {error}; pip install 'irfuzz[fleet-s3]' for s3") from None
        except ValueError as error:
            raise UsageError(
                f"--blobs {place}: expected a folder or a URL such as s3://bucket/folder: {error}"
            ) from None
        self._local = "file" in (self._system.protocol, *self._system.protocol)
        self._pack: Callable[[bytes], bytes] = zstandard.ZstdCompressor(level=LEVEL, write_content_size=True).compress
        self._unpack: Callable[[bytes], bytes] = zstandard.ZstdDecompressor().decompress
        self._damaged: type[Exception] = zstandard.ZstdError
        self._held: dict[str, float] = {}
        self._ahead = 0.0

    def put(self, data: memoryview | bytes) -> str:
        """See ``Blobs.put``. One that this process has not put lately is written even if it is there.

        A sweep on another machine may be about to remove one that is there and old. One that is written anew stays.

        Raises:
            StoreUnreachable: it cannot be written now.
        """
        digest = digest_of(data)
        if time.monotonic() - self._held.get(digest, -GRACE) < GRACE / 4:
            return digest
        if not (len(data) > 1 << 20 and self._age(digest) < GRACE / 4):
            packed = self._pack(bytes(data))
            self._ask(lambda: self._write(self._path(digest), packed), f"blob {digest[:12]} cannot be written")
        self._held[digest] = time.monotonic()
        return digest

    def has(self, digest: str) -> bool:
        """See ``Blobs.has``.

        Raises:
            StoreUnreachable: it cannot be asked now.
        """
        return self._ask(lambda: self._system.exists(self._path(digest)), f"blob {digest[:12]} cannot be looked for")

    def map(self, digest: str) -> memoryview:
        """See ``Blobs.map``; here it is a copy.

        Raises:
            StoreUnreachable: it cannot be read now, or is half there.
        """
        return memoryview(self.get(digest))

    def get(self, digest: str) -> bytes:
        """The bytes of a digest.

        Raises:
            InternalError: there are none.
            StoreUnreachable: they cannot be read now, or only a part of them came.
        """

        def read() -> bytes | None:
            try:
                path = self._path(digest)
                return Path(path).read_bytes() if self._local else self._system.cat_file(path)
            except FileNotFoundError:
                return None

        packed: bytes | None = self._ask(read, f"blob {digest[:12]} cannot be read")
        if packed is None:
            raise InternalError(f"--blobs {self.place}: there is no blob {digest}")
        try:
            data = self._unpack(packed)
        except self._damaged:
            data = b""
        if digest_of(data) != digest:
            raise StoreUnreachable(f"--blobs {self.place}: blob {digest[:12]} came damaged: {len(packed)} bytes")
        return data

    def digests(self) -> Iterator[tuple[str, float]]:
        """Each blob with the seconds since it was written, by the clock of the store of blobs."""
        now = self._now()
        found: dict[str, Any] = self._ask(
            lambda: self._system.find(self._root, detail=True), "the blobs cannot be listed"
        )
        for path, about in found.items():
            name = path.rpartition("/")[2]
            if name.endswith(ENDING) and _NAME.fullmatch(name.removesuffix(ENDING)):
                yield name.removesuffix(ENDING), now - _written(about)

    def remove(self, digest: str) -> None:
        """Remove a blob, if it is there; nobody may be naming it any more."""

        def remove() -> None:
            try:
                self._system.rm_file(self._path(digest))
            except FileNotFoundError:
                return

        self._ask(remove, f"blob {digest[:12]} cannot be removed")

    def check(self) -> None:
        """See that the place can be written and read.

        Raises:
            StoreUnreachable: it cannot.
        """
        self._now()

    # ---- the file system --------------------------------------------------------------------

    def _path(self, digest: str) -> str:
        return f"{self._root}/{digest[:2]}/{digest}{ENDING}"

    def _write(self, path: str, data: bytes) -> None:
        if not self._local:
            self._system.pipe_file(path, data)
            return
        target = Path(path)
        target.parent.mkdir(parents=True, exist_ok=True)
        draft = target.with_name(f".draft-{uuid.uuid4().hex}")
        try:
            draft.write_bytes(data)
            draft.replace(target)
        except BaseException:
            draft.unlink(missing_ok=True)
            raise

    def _age(self, digest: str) -> float:
        """Seconds since a blob was written; infinite if it is not there."""
        if not self._ahead:
            self._ahead = self._now() - time.monotonic()

        def about() -> dict[str, Any] | None:
            try:
                self._system.invalidate_cache()
                return self._system.info(self._path(digest))
            except FileNotFoundError:
                return None

        found = self._ask(about, f"blob {digest[:12]} cannot be looked for")
        return float("inf") if found is None else self._ahead + time.monotonic() - _written(found)

    def _now(self) -> float:
        """The time by the clock of the store of blobs: that of a file which is written now."""
        path = f"{self._root}/clock-{uuid.uuid4().hex}"

        def look() -> float:
            self._write(path, b"irfuzz")
            self._system.invalidate_cache()
            now = _written(self._system.info(path))
            self._system.rm_file(path)
            return now

        return self._ask(look, "the place cannot be written")

    def _ask(self, call: Callable[[], T], failed: str) -> T:
        try:
            return call()
        except Exception as error:  # each file system has errors of its own, some of them no OSError
            lines = str(error).strip().splitlines()
            why = f"{type(error).__name__}: {lines[0] if lines else ''}"
            raise StoreUnreachable(f"--blobs {self.place}: {failed}: {why}") from error


def _written(about: dict[str, Any]) -> float:
    """When a file was written, in seconds since 1970, of what fsspec says of it."""
    for key in ("mtime", "LastModified", "last_modified", "created", "updated"):
        value = about.get(key)
        if isinstance(value, datetime):
            return value.timestamp()
        if isinstance(value, int | float):
            return float(value)
    raise UsageError(f"--blobs: the file system does not say when {about.get('name')} was written")
