"""Two agents that find one fault make one finding with the sightings of both."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from irfuzz.fleet.blob_sweep import missing_blobs
from irfuzz.fleet.finding_exchange import shared_findings, with_bytes
from irfuzz.fleet.fleet_status import FleetStatus, fleet_status
from irfuzz.fleet.shared_blobs import SharedBlobs
from irfuzz.fleet.store_connection import StoreConnection
from irfuzz.store.database import Status
from tests.fleet.made import finding, seed
from tests.fleet.test_program_exchange import Member

pytestmark = pytest.mark.unit


@pytest.fixture
def members(store: StoreConnection, blobs: SharedBlobs, tmp_path: Path) -> Callable[[str], Member]:
    return lambda name: Member(store, blobs, tmp_path / name)


def told(status: FleetStatus) -> list[tuple[str, list[str], int, str]]:
    return [(f.signature, f.agents, f.times, f.status) for f in status.findings]


def test_one_fault_of_two_agents_is_one_finding(
    store: StoreConnection, blobs: SharedBlobs, members: Callable[[str], Member]
) -> None:
    a, b = members("a"), members("b")
    a.database.add_finding(finding("s"))
    b.database.add_finding(finding("s", times=2))
    b.database.add_finding(finding("t"))
    for member in (a, b, a, b):
        member.sync.synchronise(work=False)
    assert told(fleet_status(store)) == [("s", ["a", "b"], 3, "confirmed"), ("t", ["b"], 1, "confirmed")]
    a.database.count_again("s")
    a.sync.synchronise(work=False)
    a.again().synchronise(work=False)
    assert told(fleet_status(store))[0] == ("s", ["a", "b"], 4, "confirmed")
    row = with_bytes(shared_findings(store)[0], blobs)
    assert (row.model, row.inputs) == (seed().to_bytes(), b"inputs")
    assert missing_blobs(store, blobs) == set()


def test_a_confirmed_case_takes_the_place_of_one_without_a_proof(
    store: StoreConnection, members: Callable[[str], Member]
) -> None:
    a, b = members("a"), members("b")
    a.database.add_finding(finding("s", status=Status.UNREPLAYED))
    a.sync.synchronise(work=False)
    assert told(fleet_status(store)) == [("s", ["a"], 1, "unreplayed")]
    b.database.add_finding(replace(finding("s"), title="better"))
    b.sync.synchronise(work=False)
    a.again().synchronise(work=False)  # an agent's own case does not win against a better one of another
    (only,) = fleet_status(store).findings
    assert (only.title, only.status, only.agents) == ("better", "confirmed", ["a", "b"])


def test_a_suspect_that_is_proven_is_a_suspect_no_more(
    store: StoreConnection, members: Callable[[str], Member]
) -> None:
    a, b = members("a"), members("b")
    number = a.database.add_finding(finding("suspect|s", suspect=True, status=Status.UNREPLAYED))
    assert number is not None
    a.sync.synchronise(work=False)
    assert a.database.promote(replace(finding("s"), number=number))
    a.sync.synchronise(work=False)
    assert told(fleet_status(store)) == [("s", ["a"], 1, "confirmed")]
    b.database.add_finding(finding("suspect|u", suspect=True, status=Status.UNREPLAYED))
    b.sync.synchronise(work=False)
    assert [f.suspect for f in fleet_status(store).findings] == [False, True]


def test_what_is_explained_is_nobodys(store: StoreConnection, members: Callable[[str], Member]) -> None:
    a, b = members("a"), members("b")
    for member in (a, b):
        member.database.add_finding(finding("suspect|s", suspect=True, status=Status.UNREPLAYED))
        member.sync.synchronise(work=False)
    number = a.database.findings()[0].number
    a.database.add_finding(finding("s"))
    a.database.count_again("s", explains=number)
    a.sync.synchronise(work=False)
    assert [(f.signature, f.agents) for f in fleet_status(store).findings] == [("s", ["a"]), ("suspect|s", ["b"])]
