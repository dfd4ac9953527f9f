"""What a job remembers of features and of the corpus: one that goes on reads no program before it is drawn."""

from __future__ import annotations

import json

from irfuzz.campaign.corpus.program_corpus import Corpus
from irfuzz.mutate.feature_counts import FeatureCounts
from irfuzz.store.database import Database

SCHEMA = 1
"""Of what a job remembers."""

FEATURES = "features of job "
"""Key of the setting in which a job says how often it saw each feature, before its number."""


def tell(database: Database, job: int, seen: FeatureCounts, corpus: Corpus) -> None:
    """Store what a job knows.

    Args:
        database: of the campaign, in whose settings it is put.
        job: its number.
        seen: what it has counted.
        corpus: its view of the programs.
    """
    about = {"schema": SCHEMA, "corpus": corpus.state(), "counts": seen.state()}
    database.set(f"{FEATURES}{job}", json.dumps(about, separators=(",", ":")))


def recall(text: str | None, seen: FeatureCounts, corpus: Corpus, *, counted: bool = True) -> None:
    """Go on from what ``tell`` stored; nothing happens if that is nothing, or of another schema.

    Args:
        text: of the setting.
        seen: nothing is counted in it yet.
        corpus: nothing is taken in yet.
        counted: whether all else that counts programs remembers them, too; otherwise all are counted again.
    """
    found = json.loads(text or "{}")
    if found.get("schema") != SCHEMA:
        return
    corpus.recall(found["corpus"], counted=counted)
    if counted:
        seen.recall(found["counts"])
