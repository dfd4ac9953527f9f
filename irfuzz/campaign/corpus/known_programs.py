"""What the database's index says of programs, as entries of a corpus, and puts into it what it lacks."""

from __future__ import annotations

import sys
from collections.abc import Callable

import numpy as np

from irfuzz.campaign.corpus.feature_holders import FeatureClaim, FeatureHolders, cost_of
from irfuzz.campaign.corpus.testcase import CorpusEntry
from irfuzz.ir.program import Program
from irfuzz.mutate.feature_counts import features
from irfuzz.store.corpus_index import IndexRow
from irfuzz.store.database import Database


def entries_after(database: Database, number: int, most: int = 1 << 40) -> list[CorpusEntry]:
    """Programs with a higher number, in their order, except those that are leaving.

    Args:
        database: of the campaign.
        number: of a program; 0 for all.
        most: of them; fewer are returned only if there are no more.
    """
    return [
        CorpusEntry(
            row.digest, sys.intern(row.seed), row.features, row.nodes, number=row.number, original=row.original,
            cost=row.cost, keys=row.keys,
        )
        for row in database.index.after(number, most)
    ]  # fmt: skip


def claim_of(entry: CorpusEntry) -> FeatureClaim:
    """What an entry brought, as ``FeatureHolders`` takes it."""
    return FeatureClaim(entry.number, entry.cost, np.frombuffer(entry.keys, np.uint64))


def know_all(database: Database, holders: FeatureHolders, load: Callable[[str], Program]) -> None:
    """Read programs that the index does not know, seeds and what older versions stored, and add them to it.

    Args:
        database: of the campaign.
        holders: give features their keys.
        load: gives the program of a digest.
    """
    for number in database.index.unknown():
        row = database.numbered(number)
        program = load(row.digest)
        keys, cost = holders.keys(features(program)), cost_of(program)
        nodes, original = len(program.nodes()), not row.parent
        database.index.add(
            [IndexRow(number, row.digest, row.seed, original, row.features, nodes, cost, keys.tobytes())]
        )
