"""Removes blobs that no program and no finding of a database names any more, and gives freed pages back."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from sqlalchemy import select

from irfuzz.errors import UsageError
from irfuzz.store.database_schema import FINDING, PROGRAM
from irfuzz.store.model_blob_packing import blobs_named, is_packed, unpacked

if TYPE_CHECKING:
    from irfuzz.store.database import Database


def remove_unnamed_blobs(database: Database) -> int:
    """Remove blobs to which no row refers; how many there were.

    Folders of findings keep theirs: they are links of their own.

    Args:
        database: that nobody else is writing.

    Raises:
        UsageError: it cannot be read, or a file cannot be removed.
    """
    named = set(_named(database))
    unnamed = [digest for digest in database.blobs.digests() if digest not in named]
    for digest in unnamed:
        path = database.blobs.path(digest)
        try:
            path.unlink(missing_ok=True)
        except OSError as error:
            raise UsageError(f"{path}: cannot be removed: {error.strerror}") from error
    return len(unnamed)


def _named(database: Database) -> Iterator[str]:
    columns = [PROGRAM.c.model, FINDING.c.model, FINDING.c.original_model]
    for column in columns:
        key = column.table.c.number
        number = -1
        while True:  # one at a time: a row may be large
            query = select(key, column).where(key > number).order_by(key).limit(1)
            with database.transaction() as connection:
                row = connection.execute(query).one_or_none()
            if row is None:
                break
            number, data = row
            if is_packed(data):
                yield from blobs_named(unpacked(data))
