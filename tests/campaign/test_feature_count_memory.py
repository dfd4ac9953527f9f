"""What a job remembers is read again by this version, and by no job that would count twice."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from irfuzz.campaign.corpus import feature_count_memory
from irfuzz.campaign.corpus.feature_count_memory import FEATURES, SCHEMA
from irfuzz.campaign.corpus.program_corpus import Corpus
from irfuzz.mutate.feature_counts import FeatureCounts
from irfuzz.store.database import Database
from tests.campaign.test_program_corpus import row

pytestmark = pytest.mark.unit


@pytest.mark.parametrize(
    ("schema", "counted", "count", "read"), [(SCHEMA, True, 2, 0), (SCHEMA, False, 0, 1), (SCHEMA + 1, True, 0, 1)]
)
def test_what_was_told_is_recalled(tmp_path: Path, schema: int, *, counted: bool, count: int, read: int) -> None:
    database, seen = Database(tmp_path / "c.sqlite"), FeatureCounts()
    database.add_program(row(1, 1))
    corpus = Corpus(database)
    list(corpus.refresh())
    seen.add_features([("a", 1), ("a", 1)])
    feature_count_memory.tell(database, 3, seen, corpus)
    text = database.settings()[f"{FEATURES}3"]
    again, later = Corpus(database), FeatureCounts()
    feature_count_memory.recall(json.dumps({**json.loads(text), "schema": schema}), later, again, counted=counted)
    assert later.count(("a", 1)) == count
    assert len(list(again.refresh())) == read


def test_a_new_job_remembers_nothing(tmp_path: Path) -> None:
    seen = FeatureCounts()
    feature_count_memory.recall(None, seen, Corpus(Database(tmp_path / "c.sqlite")))
    assert seen.state() == []
