"""Leased work is begun, renewed, told, given back and tried again, by agents that may do it."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from sqlalchemy import select, update

from irfuzz.fleet import shared_work
from irfuzz.fleet.fleet_schema import LEASE, store_time
from irfuzz.fleet.fleet_status import fleet_status
from irfuzz.fleet.lease_table import (
    MOST_ATTEMPTS,
    LeaseKind,
    end_lease,
    fail_lease,
    offer,
    renew_lease,
    take_lease,
)
from irfuzz.fleet.shared_blobs import SharedBlobs
from irfuzz.fleet.shared_work import AGAIN_SECONDS, CORPUS, SharedWork, WorkSetting
from irfuzz.fleet.store_connection import StoreConnection
from irfuzz.fleet.upkeep.agent_abilities import WORK
from irfuzz.fleet.upkeep.corpus_distillation import distil_at_night
from irfuzz.fleet.upkeep.release_following import INSTALL, FollowedRelease, ReleaseState, _store
from irfuzz.fleet.upkeep.work_request import WorkPlace, WorkRequest, WorkResult
from irfuzz.store.database import Status
from tests.fleet.made import finding

pytestmark = pytest.mark.unit

TARGET = "onnxruntime:all"


class FakeProcess:
    """Work that ends when the test says so."""

    made: list[FakeProcess]

    def __init__(self, request: WorkRequest) -> None:
        self.request = request
        self.result: WorkResult | None = None
        self.closed = False
        FakeProcess.made.append(self)

    def ended(self) -> WorkResult | None:
        return self.result

    def close(self) -> None:
        self.closed = True


@pytest.fixture(autouse=True)
def processes(monkeypatch: pytest.MonkeyPatch) -> list[FakeProcess]:
    FakeProcess.made = []
    monkeypatch.setattr(shared_work, "WorkProcess", FakeProcess)
    monkeypatch.setattr(shared_work, "environments_stamp", lambda: ())
    monkeypatch.setattr(shared_work, "abilities", lambda targets, follow: [TARGET, "all of it"])
    return FakeProcess.made


@pytest.fixture
def work(store: StoreConnection, blobs: SharedBlobs, tmp_path: Path) -> SharedWork:
    return made(store, blobs, tmp_path)


def made(store: StoreConnection, blobs: SharedBlobs, path: Path, **setting: object) -> SharedWork:
    what = WorkSetting(out=path, **setting)  # type: ignore[arg-type]
    return SharedWork(store, blobs, "a", [TARGET], path / "scratch", what)


def offered(store: StoreConnection, kind: LeaseKind, item: str, needs: str = "") -> None:
    with store.transaction() as connection:
        offer(store, connection, kind, item, needs=needs)


def lease_of(store: StoreConnection, kind: LeaseKind) -> dict[str, object]:
    with store.transaction() as connection:
        return dict(connection.execute(select(LEASE).where(LEASE.c.kind == kind.value)).mappings().one())


def test_work_is_done_in_a_process_and_told(
    store: StoreConnection, work: SharedWork, processes: list[FakeProcess], tmp_path: Path
) -> None:
    offered(store, LeaseKind.REDUCE, "s", TARGET)
    offered(store, LeaseKind.VERSIONS, "t", "all of it")
    work.go_on()
    work.go_on()
    (only,) = processes
    assert (only.request.kind, only.request.item, only.request.out) == ("versions", "t", str(tmp_path))
    only.result = WorkResult("shows in 1.0.0")
    work.go_on()
    found = lease_of(store, LeaseKind.VERSIONS)
    assert (found["done"], found["result"], found["agent"]) == (True, "shows in 1.0.0", "")
    work.go_on()
    assert processes[1].request.kind == "reduce"
    processes[1].result = WorkResult("cut short again", again_in=0.0)
    work.go_on()
    assert not lease_of(store, LeaseKind.REDUCE)["done"]
    work.go_on()
    assert len(processes) == 3  # free again at once


@pytest.mark.parametrize(
    ("allowed", "begun"), [(WORK, "reduce"), (("reduce",), "reduce"), (("fuzz", "confirm", "versions"), "")]
)
def test_only_what_the_user_allows_is_taken(
    store: StoreConnection, blobs: SharedBlobs, tmp_path: Path, processes: list[FakeProcess], allowed: tuple[str, ...],
    begun: str,
) -> None:  # fmt: skip
    offered(store, LeaseKind.REDUCE, "s", TARGET)
    made(store, blobs, tmp_path, work=allowed).go_on()
    assert [one.request.kind for one in processes] == ([begun] if begun else [])


def test_only_what_the_machine_can_do_is_taken(
    store: StoreConnection, work: SharedWork, processes: list[FakeProcess]
) -> None:
    offered(store, LeaseKind.RECHECK, "onnxruntime==9 s", "onnxruntime:all and onnxruntime==9")
    work.go_on()
    assert processes == []


def test_what_fails_is_tried_again_and_left_alone_in_the_end(
    store: StoreConnection, work: SharedWork, processes: list[FakeProcess]
) -> None:
    offered(store, LeaseKind.REDUCE, "s", TARGET)
    for attempt in range(1, MOST_ATTEMPTS + 1):
        work.go_on()
        assert len(processes) == attempt
        processes[-1].result = WorkResult("died: SIGKILL", failed=True)
        work.go_on()
        found = lease_of(store, LeaseKind.REDUCE)
        assert found["result"] == "died: SIGKILL"
        assert found["done"] == (attempt == MOST_ATTEMPTS)
        end = "given up" if found["done"] else "to be tried again"
        assert f"failed: reduce s: died: SIGKILL, {end}" in str(fleet_status(store))
        work.go_on()
        assert len(processes) == attempt  # not before AGAIN_SECONDS
        with store.transaction() as connection:
            connection.execute(update(LEASE).values(until=LEASE.c.until - AGAIN_SECONDS - 1))
    work.go_on()
    assert len(processes) == MOST_ATTEMPTS


def test_what_takes_long_is_renewed_and_left_if_another_has_it(
    store: StoreConnection, work: SharedWork, processes: list[FakeProcess], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shared_work, "RENEW_SECONDS", 0.0)
    offered(store, LeaseKind.REDUCE, "s", TARGET)
    work.go_on()
    with store.transaction() as connection:
        connection.execute(update(LEASE).values(until=store_time() + 1))
    work.go_on()
    with store.transaction() as connection:
        left = connection.execute(select(LEASE.c.until - store_time()).where(LEASE.c.kind == "reduce")).scalar_one()
    assert left > 200
    assert not processes[0].closed
    with store.transaction() as connection:
        connection.execute(update(LEASE).values(agent="b"))
    work.go_on()
    assert processes[0].closed


def test_who_ends_gives_its_work_back(
    store: StoreConnection, work: SharedWork, processes: list[FakeProcess], monkeypatch: pytest.MonkeyPatch
) -> None:
    offered(store, LeaseKind.REDUCE, "s", TARGET)
    work.go_on()
    work.close()
    assert processes[0].closed
    assert (lease_of(store, LeaseKind.REDUCE)["agent"], lease_of(store, LeaseKind.REDUCE)["done"]) == ("", False)
    taken = take_lease(store, LeaseKind.REDUCE, "b", [TARGET], 60)
    assert taken is not None
    assert taken.attempts == 1  # nobody has failed at it


def test_a_lease_that_is_lost_is_not_renewed_or_failed(store: StoreConnection) -> None:
    offered(store, LeaseKind.REDUCE, "s")
    lease = take_lease(store, LeaseKind.REDUCE, "a", [], 60)
    assert lease is not None
    assert renew_lease(store, lease, "a", 60)
    assert not renew_lease(store, lease, "b", 60)
    assert not fail_lease(store, lease, "b", "x", again_in=0)
    assert end_lease(store, lease, "a", "done")
    assert not renew_lease(store, lease, "a", 60)


def test_what_is_offered_about_a_finding(store: StoreConnection, work: SharedWork) -> None:
    short = replace(finding("short"), verdict=json.dumps({"cause": {"settled": False}}))
    whole = replace(finding("whole"), verdict=json.dumps({"cause": {"settled": True}}))
    with store.transaction() as connection:
        work.offer(connection, [short, whole, finding("bare"), finding("thin", status=Status.UNREPLAYED)])
        work.offer(connection, [finding("suspect", suspect=True)])
        rows = connection.execute(select(LEASE.c.kind, LEASE.c.item, LEASE.c.needs)).all()
    about = {(row.kind, row.item) for row in rows if row.kind not in ("sweep", "distil")}
    keys = ("short", "whole", "bare")
    assert about == {(kind, key) for kind in ("confirm", "versions") for key in keys} | {("reduce", "short")}
    assert {row.needs for row in rows if row.kind == "versions"} == {f"{TARGET} in several releases"}


def test_the_corpus_is_distilled_at_night(
    store: StoreConnection, blobs: SharedBlobs, work: SharedWork, processes: list[FakeProcess]
) -> None:
    with store.transaction() as connection:
        work.offer(connection, [])
    work.go_on()
    assert processes == []  # not before
    with store.transaction() as connection:
        connection.execute(update(LEASE).where(LEASE.c.item == CORPUS).values(until=store_time() - 1))
    work.go_on()
    (only,) = processes
    only.result = distil_at_night(WorkPlace(only.request, store, blobs))
    work.go_on()
    found = lease_of(store, LeaseKind.DISTIL)
    assert found["result"] == "0 programs before, 0 after, 0 features"
    with store.transaction() as connection:
        now = connection.execute(select(store_time())).scalar_one()
    assert now < float(str(found["until"])) <= now + 86400
    assert not found["done"]
    assert "distil, last: 0 programs before" in str(fleet_status(store))


def test_a_machine_makes_the_environment_that_another_has_found(
    store: StoreConnection, blobs: SharedBlobs, tmp_path: Path, processes: list[FakeProcess],
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    there: list[str] = []
    monkeypatch.setattr(shared_work, "has_release", lambda distribution, version: version in there)
    with store.transaction() as connection:
        for version, state in (("1.0.0", ReleaseState.BASE), ("1.1.0", ReleaseState.READY), ("1.2.0", "found")):
            release = FollowedRelease("onnxruntime", version, "", ReleaseState(state), "")
            _store(store, connection, release)
    made(store, blobs, tmp_path).go_on()
    assert processes == []
    work = made(store, blobs, tmp_path, follow=("onnxruntime",))
    work.go_on()
    assert [(p.request.kind, p.request.item) for p in processes] == [(INSTALL, "onnxruntime==1.1.0")]
    processes[0].result = WorkResult("no wheel", failed=True)
    work.go_on()
    work.go_on()
    assert len(processes) == 1  # not again within the hour
    there.append("1.1.0")
    made(store, blobs, tmp_path, follow=("onnxruntime",)).go_on()
    assert len(processes) == 1
