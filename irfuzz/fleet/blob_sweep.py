"""Removes blobs of a fleet that no row names, such as those of an agent that was killed before it stored its rows."""

from __future__ import annotations

import json
from collections.abc import Iterator

from sqlalchemy import select

from irfuzz.fleet.fleet_schema import SHARED_FINDING, SHARED_PROGRAM
from irfuzz.fleet.shared_blobs import GRACE, SharedBlobs
from irfuzz.fleet.store_connection import StoreConnection

_FINDING = ("model", "inputs", "original_model", "original_inputs")


def named_blobs(store: StoreConnection) -> set[str]:
    """Digests of all blobs that a row names.

    Args:
        store: of the fleet.
    """
    return set(_named(store))


def _named(store: StoreConnection) -> Iterator[str]:
    with store.transaction() as connection:
        for blob, weights in connection.execute(select(SHARED_PROGRAM.c.blob, SHARED_PROGRAM.c.weights)):
            yield blob
            yield from json.loads(weights)
        columns = [SHARED_FINDING.c[name] for name in _FINDING]
        for *blobs, weights in connection.execute(select(*columns, SHARED_FINDING.c.weights)):
            yield from blobs
            yield from json.loads(weights)


def sweep_blobs(store: StoreConnection, blobs: SharedBlobs, grace: float = GRACE) -> int:
    """Remove blobs that no row names; how many there were.

    Args:
        store: of the fleet.
        blobs: of the fleet.
        grace: seconds in which a new one stays, by the clock of the store of blobs: its row may be on the way.
    """
    old = [digest for digest, age in blobs.digests() if age > grace]
    named = named_blobs(store)  # after the list: what was written since is not in it
    gone = [digest for digest in old if digest not in named]
    for digest in gone:
        blobs.remove(digest)
    return len(gone)


def missing_blobs(store: StoreConnection, blobs: SharedBlobs) -> set[str]:
    """Digests of blobs that a row names and that are not there; none, if all is well.

    Args:
        store: of the fleet.
        blobs: of the fleet.
    """
    there = {digest for digest, _ in blobs.digests()}
    return {digest for digest in named_blobs(store) if digest not in there}
