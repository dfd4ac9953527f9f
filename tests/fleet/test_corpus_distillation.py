"""What the store can do without is dropped, no feature is lost by it, and what was dropped leaves after a time."""

from __future__ import annotations

import dataclasses
import random
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from sqlalchemy import select, update

from irfuzz.campaign.corpus.minimisation import not_needed
from irfuzz.campaign.corpus.testcase import CorpusEntry
from irfuzz.cli.main import main
from irfuzz.fleet.blob_sweep import missing_blobs, named_blobs, sweep_blobs
from irfuzz.fleet.fleet_schema import SHARED_PROGRAM, store_time
from irfuzz.fleet.shared_blobs import SharedBlobs
from irfuzz.fleet.store_connection import StoreConnection, StoreUnreachable
from irfuzz.fleet.upkeep import corpus_distillation
from irfuzz.fleet.upkeep.corpus_distillation import DAY, RETENTION, distil, next_night, remove_dropped
from irfuzz.store.taken_programs import vectors_of
from tests.fleet.made import add_mutants, add_seed, mutants, news, seed
from tests.fleet.test_program_exchange import Member

pytestmark = pytest.mark.unit


@pytest.fixture
def members(store: StoreConnection, blobs: SharedBlobs, tmp_path: Path) -> Callable[[str], Member]:
    return lambda name: Member(store, blobs, tmp_path / name)


def keys_left(store: StoreConnection, *, dropped: bool = False) -> set[int]:
    query = select(SHARED_PROGRAM.c["keys"])
    if not dropped:
        query = query.where(SHARED_PROGRAM.c.dropped == 0)
    with store.transaction() as connection:
        rows = connection.execute(query).scalars().all()
    return {key for row in rows for key in np.frombuffer(bytes(row), np.uint64).tolist()}


def brings(store: StoreConnection, **keys: tuple[int, ...]) -> None:
    """Let the mutants of agent ``a``, which have the numbers 2 and on, bring made-up features."""
    with store.transaction() as connection:
        for place, found in enumerate(keys.values(), 2):
            key = (SHARED_PROGRAM.c.agent == "a") & (SHARED_PROGRAM.c.sequence == place)
            connection.execute(update(SHARED_PROGRAM).where(key).values(keys=news(*found), cost=100))


def dropped(store: StoreConnection) -> list[tuple[str, int]]:
    query = select(SHARED_PROGRAM.c.agent, SHARED_PROGRAM.c.sequence).where(SHARED_PROGRAM.c.dropped > 0)
    with store.transaction() as connection:
        return [tuple(row) for row in connection.execute(query.order_by(SHARED_PROGRAM.c.sequence))]


@pytest.fixture
def given(store: StoreConnection, members: Callable[[str], Member]) -> Member:
    """An agent with a seed and three mutants, of which the second brings nothing that the others do not."""
    a = members("a")
    add_seed(a.database)
    add_mutants(a.database, [0, 1, 2])
    a.sync.synchronise(work=False)
    brings(store, first=(1, 2, 3), second=(2, 3), third=(4,))
    return a


def test_what_others_bring_too_is_dropped_and_no_feature_is_lost(store: StoreConnection, given: Member) -> None:
    before = keys_left(store)
    dry = distil(store, dry=True)
    assert dropped(store) == []
    found = distil(store)
    assert dataclasses.replace(dry, dry=False) == found
    assert (found.before, found.after, found.dropped) == (4, 3, 1)
    assert dropped(store) == [("a", 3)]
    assert keys_left(store) == before
    assert found.features == len(before)
    again = distil(store)
    assert (again.before, again.after, again.dropped) == (3, 3, 0)
    assert given.sync.left() == 0


def test_what_is_dropped_is_taken_in_no_more_and_nothing_else_is_missed(
    store: StoreConnection, given: Member, members: Callable[[str], Member]
) -> None:
    distil(store)
    b = members("b")
    b.sync.synchronise(work=False)
    gone = mutants()[1].program.digest
    assert b.digests() == given.digests() - {gone}
    assert vectors_of(b.database) == {"a": 4}
    add_mutants(given.database, [3])
    given.sync.synchronise(work=False)
    b.sync.synchronise(work=False)
    assert mutants()[3].program.digest in b.digests()


def test_the_last_of_an_agent_may_be_dropped(
    store: StoreConnection, given: Member, members: Callable[[str], Member]
) -> None:
    brings(store, first=(1, 2, 3), second=(4,), third=(4,))
    assert distil(store).dropped == 1
    assert dropped(store) == [("a", 4)]  # of equals the older one holds the feature
    c = members("c")
    c.sync.synchronise(work=False)
    assert vectors_of(c.database) == {"a": 4}
    assert given.name == "a"


@pytest.mark.parametrize(("age", "leaves"), [(3 * DAY + 60, True), (3 * DAY - 60, False)])
def test_what_was_dropped_leaves_after_the_stated_time_and_its_blob_with_the_sweep(
    store: StoreConnection, blobs: SharedBlobs, given: Member, age: float, leaves: bool
) -> None:
    distil(store)
    with store.transaction() as connection:
        store.set(connection, {RETENTION: str(3 * DAY)})
        late = update(SHARED_PROGRAM).where(SHARED_PROGRAM.c.dropped > 0)
        connection.execute(late.values(dropped=store_time() - age))
    named = len(named_blobs(store))
    assert remove_dropped(store, dry=True) == leaves
    assert remove_dropped(store) == leaves
    assert len(named_blobs(store)) == named - leaves
    assert sweep_blobs(store, blobs, grace=-1) == leaves
    assert missing_blobs(store, blobs) == set()
    given.again().synchronise(work=False)
    assert len(dropped(store)) == 1 - leaves  # and its agent does not give it again


def test_of_two_distillations_at_once_one_begins_again(
    store: StoreConnection, given: Member, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = corpus_distillation._entries

    def meanwhile(of: StoreConnection) -> object:
        found = real(of)
        with monkeypatch.context() as patch:
            patch.setattr(corpus_distillation, "_entries", real)
            assert distil(store).dropped == 1
        return found

    before = keys_left(store)
    with monkeypatch.context() as patch:
        patch.setattr(corpus_distillation, "_entries", meanwhile)
        with pytest.raises(StoreUnreachable, match="another distillation ended meanwhile; try again"):
            distil(store)
    assert keys_left(store) == before
    assert given.sync.left() == 0


def test_many_pages_are_read(store: StoreConnection, given: Member, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(corpus_distillation, "PAGE", 2)
    assert distil(store).before == len(given.digests())


def test_any_corpus_keeps_its_features() -> None:
    draws = random.Random(3)
    for _ in range(50):
        entries = [
            CorpusEntry(
                str(n), "s", 1, 1, number=n, original=n == 7, cost=draws.randint(1, 9),
                keys=news(*sorted(draws.sample(range(40), draws.randint(0, 12)))),
            )
            for n in range(60)
        ]  # fmt: skip
        gone, features = not_needed(entries)
        every = {key for e in entries for key in np.frombuffer(e.keys, np.uint64).tolist()}
        left = {key for e in entries if e.number not in gone for key in np.frombuffer(e.keys, np.uint64).tolist()}
        assert left == every
        assert len(every) == features
        assert 7 not in gone
        assert len(gone) > 30


@pytest.mark.parametrize(("now", "hours"), [(0.0, 2), (2 * 3600 - 1.0, 2), (2 * 3600.0, 26), (DAY, 26)])
def test_a_night_begins_at_two_by_the_clock_of_the_database(now: float, hours: int) -> None:
    assert next_night(now) == hours * 3600


def test_by_hand(store: StoreConnection, store_url: str, given: Member, capsys: pytest.CaptureFixture[str]) -> None:
    words = ("fleet", "distil", "--store", store_url, "--blobs", str(given._made[1].place))
    assert main([*words, "--dry-run"]) == 0
    assert "1 would be dropped" in capsys.readouterr().out
    assert dropped(store) == []
    assert main([*words, "--retain", "2d"]) == 0
    told = capsys.readouterr().out
    assert told.startswith("4 programs before, 3 after, with all of their ")
    with store.transaction() as connection:
        assert store.settings(connection)[RETENTION] == str(2 * DAY)
    assert main(["fleet", "status", "--store", store_url, "--retain", "2d"]) == 2
    assert "--retain and --dry-run belong to distil" in capsys.readouterr().err
    assert seed().digest in given.digests()
