"""A fault that one agent has confirmed is recognised by the others, which tell how often they see it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from threading import Thread

import pytest
from sqlalchemy import delete, select, update

from irfuzz.fleet.finding_exchange import FINDINGS
from irfuzz.fleet.fleet_schema import SHARED_FINDING, SHARED_MARK, SIGHTING
from irfuzz.fleet.fleet_status import fleet_status
from irfuzz.fleet.mark_exchange import MarkIntake
from irfuzz.fleet.shared_blobs import SharedBlobs
from irfuzz.fleet.store_connection import StoreConnection, StoreUnreachable
from irfuzz.store.database import Status
from irfuzz.store.fault_marks import FaultMark, MarkKind
from tests.fleet.made import finding
from tests.fleet.test_program_exchange import Member

pytestmark = pytest.mark.unit


@pytest.fixture
def members(store: StoreConnection, blobs: SharedBlobs, tmp_path: Path) -> Callable[[str], Member]:
    return lambda name: Member(store, blobs, tmp_path / name)


def found(member: Member, signature: str, *keys: str) -> None:
    """A finding that an agent has made small and confirmed."""
    member.database.add_finding(finding(signature))
    member.database.marks.add([FaultMark(MarkKind.SIGNATURE, key, signature) for key in keys])


def test_what_one_has_confirmed_others_recognise_and_count(
    store: StoreConnection, members: Callable[[str], Member]
) -> None:
    a, b = members("a"), members("b")
    found(a, "s", "as it is seen", "s")
    a.sync.synchronise(work=False)
    b.sync.synchronise(work=False)
    assert [(m.key, m.signature, m.source) for m in b.database.marks.after(0)] == [
        ("as it is seen", "s", "a"), ("s", "s", "a"),
    ]  # fmt: skip
    assert b.database.count_again("s")
    assert b.sync.left() == 1
    b.sync.synchronise(work=False)
    b.again().synchronise(work=False)
    (status,) = fleet_status(store).findings
    assert (status.agents, status.times) == (["a", "b"], 2)
    with store.transaction() as connection:
        assert sorted(connection.execute(select(SIGHTING.c.agent, SIGHTING.c.number)).all()) == [("a", 1), ("b", -1)]
    assert b.sync.left() == 0
    a.sync.synchronise(work=False)
    assert len(a.database.marks.after(0)) == 2, "its own marks do not come back"


def test_what_is_not_confirmed_is_looked_into_by_others(members: Callable[[str], Member]) -> None:
    a, b = members("a"), members("b")
    found(a, "s", "s")
    row = a.database.finding(1)
    a.database.add_finding(finding("t", status=Status.UNREPLAYED))
    a.database.marks.add([FaultMark(MarkKind.SIGNATURE, "t", "t"), FaultMark(MarkKind.GROUP, "group of suspects")])
    a.sync.synchronise(work=False)
    b.sync.synchronise(work=False)
    assert [m.key for m in b.database.marks.after(0)] == [row.signature]
    assert not b.database.count_again("t")


def test_marks_come_with_their_findings_however_many(store: StoreConnection, members: Callable[[str], Member]) -> None:
    a, b = members("a"), members("b")
    many = FINDINGS + 7
    for number in range(many):
        found(a, f"s{number}", f"s{number}")
    a.sync.synchronise(work=False)
    assert MarkIntake(store, b.database, "b").take(10)
    while MarkIntake(store, b.database, "b").take(10):
        pass
    assert sorted(m.key for m in b.database.marks.after(0)) == sorted(f"s{number}" for number in range(many))
    assert len(b.database.known()) == many


def test_what_both_found_is_counted_with_each_own(store: StoreConnection, members: Callable[[str], Member]) -> None:
    a, b = members("a"), members("b")
    found(a, "s", "s")
    found(b, "s", "s")
    for member in (a, b, a, b):
        member.sync.synchronise(work=False)
    assert b.database.count_again("s")
    b.sync.synchronise(work=False)
    assert [f.times for f in fleet_status(store).findings] == [3]
    assert b.database.marks.seen_elsewhere() == []


def test_what_cannot_be_read_is_left_out(store: StoreConnection, members: Callable[[str], Member]) -> None:
    a, b = members("a"), members("b")
    found(a, "s", "s", "t")
    found(a, "u", "u")
    a.sync.synchronise(work=False)
    with store.transaction() as connection:
        connection.execute(update(SHARED_MARK).where(SHARED_MARK.c.key == "t").values(kind="of a newer version"))
        connection.execute(update(SHARED_MARK).where(SHARED_MARK.c.key == "s").values(kind="operators"))
        connection.execute(
            update(SHARED_FINDING).where(SHARED_FINDING.c.signature == "u").values(verdict='{"cause": {}}')
        )
    b.sync.synchronise(work=False)
    assert (b.database.marks.after(0), b.database.marks.taken_up_to()) == ([], 3)


def test_what_the_store_has_lost_is_forgotten(store: StoreConnection, members: Callable[[str], Member]) -> None:
    a, b = members("a"), members("b")
    found(a, "s", "s")
    a.sync.synchronise(work=False)
    b.sync.synchronise(work=False)
    b.database.count_again("s")
    with store.transaction() as connection:
        connection.execute(delete(SHARED_FINDING))
        connection.execute(delete(SIGHTING))
    b.sync.synchronise(work=False)
    assert (b.database.marks.after(0), b.database.known()) == ([], [])
    with store.transaction() as connection:
        assert connection.execute(select(SIGHTING)).all() == []


def test_two_that_tell_of_each_others_findings_do_not_wait_in_a_circle(
    store: StoreConnection, members: Callable[[str], Member]
) -> None:
    one, other = members("a"), members("b")
    for number in range(20):
        found((one, other)[number % 2], f"s{number:02}", f"s{number:02}")
    for member in (one, other, one, other):
        member.sync.synchronise(work=False)
    failed: list[str] = []

    def tell(member: Member) -> None:
        for _ in range(10):
            for number in range(20):
                member.database.count_again(f"s{number:02}")
            try:
                member.sync.synchronise(work=False)
            except StoreUnreachable as error:
                failed.append(str(error))

    threads = [Thread(target=tell, args=(member,)) for member in (one, other)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [line for line in failed if "deadlock" in line] == []
    assert {f.times for f in fleet_status(store).findings} == {21}
