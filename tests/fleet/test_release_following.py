"""New releases are followed in order, once, through whatever goes wrong on the way."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from sqlalchemy import select

from irfuzz.errors import UsageError
from irfuzz.fleet.fleet_schema import LEASE
from irfuzz.fleet.fleet_status import fleet_status
from irfuzz.fleet.lease_table import LeaseKind, end_lease, take_lease
from irfuzz.fleet.shared_blobs import SharedBlobs
from irfuzz.fleet.store_connection import StoreConnection
from irfuzz.fleet.upkeep import release_following
from irfuzz.fleet.upkeep.agent_abilities import compares, follows, shows
from irfuzz.fleet.upkeep.release_following import AWAY, LOOK_EVERY, follow, offer_looks
from irfuzz.fleet.upkeep.work_request import WorkPlace, WorkRequest
from tests.fleet.made import add_mutants, add_seed, finding
from tests.fleet.test_program_exchange import Member

pytestmark = pytest.mark.unit


class Index:
    """What pip lists and can install."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.listed: list[str] = []
        self.broken: dict[str, str] = {}
        self.installed: list[str] = []
        monkeypatch.setattr(release_following, "releases_now", self._releases)
        monkeypatch.setattr(release_following, "ensure", self._ensure)
        monkeypatch.setattr(release_following, "installed_versions", lambda distribution: ("1.0.0",))
        monkeypatch.setattr(release_following, "installed_version", lambda distribution: "1.0.0")

    def _releases(self, distribution: str) -> tuple[str, ...]:
        if not self.listed:
            raise UsageError(f"pip cannot list the releases of {distribution}: no network; more")
        return tuple(self.listed)

    def _ensure(self, distribution: str, version: str, say: Callable[[str], None]) -> str:
        if version in self.broken:
            raise UsageError(self.broken[version])
        self.installed.append(version)
        return f"{distribution}-{version}"


@pytest.fixture
def index(monkeypatch: pytest.MonkeyPatch) -> Index:
    return Index(monkeypatch)


@pytest.fixture
def member(store: StoreConnection, blobs: SharedBlobs, tmp_path: Path) -> Member:
    """An agent with three programs, a finding of onnxruntime, one of another component and a suspect."""
    one = Member(store, blobs, tmp_path / "a")
    add_seed(one.database)
    add_mutants(one.database, [0, 1])
    one.database.add_finding(finding("s"))
    one.database.add_finding(finding("suspect", suspect=True))
    one.sync.synchronise(work=False)
    return one


def place(store: StoreConnection, blobs: SharedBlobs, item: str = "onnxruntime") -> WorkPlace:
    request = WorkRequest("follow", item, "", "", "a", "", "", ("onnxruntime:all", "reference"))
    return WorkPlace(request, store, blobs)


def releases_of(store: StoreConnection) -> list[tuple[str, str, str]]:
    with store.transaction() as connection:
        return [(r.version, r.previous, r.state) for r in release_following.followed_releases(connection)]


def leases_of(store: StoreConnection, kind: LeaseKind) -> list[tuple[str, str]]:
    query = select(LEASE.c.item, LEASE.c.needs).where(LEASE.c.kind == kind.value).order_by(LEASE.c.item)
    with store.transaction() as connection:
        return [tuple(row) for row in connection.execute(query)]


@pytest.mark.usefixtures("member")
def test_releases_are_followed_in_order_and_once(store: StoreConnection, blobs: SharedBlobs, index: Index) -> None:
    index.listed = ["0.9.0", "1.0.0"]
    assert follow(place(store, blobs)).told == "nothing new"
    assert releases_of(store) == [("1.0.0", "", "base")]
    index.listed += ["1.9.0", "1.10.0"]
    told = follow(place(store, blobs)).told
    assert told == (
        "onnxruntime 1.9.0 is ready: 1 findings and 1 parts of the corpus to run on it; "
        "onnxruntime 1.10.0 is ready: 1 findings and 1 parts of the corpus to run on it"
    )
    assert index.installed == ["1.9.0", "1.10.0"]
    assert releases_of(store) == [
        ("1.0.0", "", "base"), ("1.9.0", "1.0.0", "ready"), ("1.10.0", "1.9.0", "ready"),
    ]  # fmt: skip
    target = "onnxruntime:all"
    assert leases_of(store, LeaseKind.RECHECK) == [
        ("onnxruntime==1.10.0 s", shows(target, "onnxruntime", "1.10.0")),
        ("onnxruntime==1.9.0 s", shows(target, "onnxruntime", "1.9.0")),
    ]
    assert leases_of(store, LeaseKind.REPLAY) == [
        ("onnxruntime==1.10.0 1.9.0 0 1", compares("onnxruntime", "1.10.0", "1.9.0")),
        ("onnxruntime==1.9.0 1.0.0 0 1", compares("onnxruntime", "1.9.0", "1.0.0")),
    ]
    assert follow(place(store, blobs)).told == "nothing new"
    assert index.installed == ["1.9.0", "1.10.0"]


@pytest.mark.usefixtures("member")
def test_a_release_that_cannot_be_installed_is_told_and_tried_again(
    store: StoreConnection, blobs: SharedBlobs, index: Index
) -> None:
    index.listed = ["1.0.0", "1.1.0", "1.2.0"]
    index.broken["1.1.0"] = "pip cannot install it:\n no wheel"
    told = follow(place(store, blobs)).told
    assert told.startswith("onnxruntime 1.1.0 cannot be used: pip cannot install it: no wheel; onnxruntime 1.2.0 is re")
    assert [state for _, _, state in releases_of(store)] == ["base", "failed", "ready"]
    assert [item for item, _ in leases_of(store, LeaseKind.REPLAY)] == ["onnxruntime==1.2.0 1.0.0 0 1"]
    assert "onnxruntime 1.1.0: cannot be used: pip cannot install it: no wheel" in str(fleet_status(store))
    index.broken.clear()
    assert follow(place(store, blobs)).told.startswith("onnxruntime 1.1.0 is ready: 1 findings and 1 parts")
    assert [state for _, _, state in releases_of(store)] == ["base", "ready", "ready"]


@pytest.mark.usefixtures("member")
def test_without_a_network_nothing_happens_and_it_is_asked_again_soon(
    store: StoreConnection, blobs: SharedBlobs, index: Index
) -> None:
    with store.transaction() as connection:
        store.set(connection, {LOOK_EVERY: "7200"})
    found = follow(place(store, blobs))
    assert (found.told, found.again_in) == ("pip cannot list the releases of onnxruntime: no network", AWAY)
    assert releases_of(store) == []
    index.listed = ["1.0.0"]
    assert follow(place(store, blobs)).again_in == 7200


@pytest.mark.usefixtures("member")
def test_who_is_killed_while_it_installs_loses_nothing(
    store: StoreConnection, blobs: SharedBlobs, index: Index, monkeypatch: pytest.MonkeyPatch
) -> None:
    index.listed = ["1.0.0", "1.1.0", "1.2.0"]

    def dies(*_: object) -> None:
        raise KeyboardInterrupt

    for step in ("ensure", "_offer_replay"):
        with monkeypatch.context() as patch:
            patch.setattr(release_following, step, dies)
            with pytest.raises(KeyboardInterrupt):
                follow(place(store, blobs))
        assert [state for _, _, state in releases_of(store)] == ["base", "found", "found"]
        assert leases_of(store, LeaseKind.RECHECK) == []
    index.listed.clear()  # what is known goes on without a network
    follow(place(store, blobs))
    assert [state for _, _, state in releases_of(store)] == ["base", "ready", "ready"]
    assert len(leases_of(store, LeaseKind.RECHECK)) == 2


@pytest.mark.usefixtures("member")
def test_only_who_was_told_to_follow_looks(store: StoreConnection) -> None:
    with store.transaction() as connection:
        offer_looks(store, connection, ["onnxruntime"], 60.0)
        offer_looks(store, connection, ["onnxruntime"], 60.0)
    assert take_lease(store, LeaseKind.FOLLOW, "a", ["onnxruntime:all"], 60) is None
    assert take_lease(store, LeaseKind.FOLLOW, "a", [follows("onnxruntime")], 60) is not None


@pytest.mark.usefixtures("member")
def test_the_status_tells_how_far_a_release_is(store: StoreConnection, blobs: SharedBlobs, index: Index) -> None:
    index.listed = ["1.0.0", "1.1.0"]
    follow(place(store, blobs))
    assert "onnxruntime 1.0.0: followed from here on" in str(fleet_status(store))
    line = "onnxruntime 1.1.0: {} of 1 findings re-checked, 0 of 1 parts of the corpus replayed"
    assert line.format(0) in str(fleet_status(store))
    lease = take_lease(store, LeaseKind.RECHECK, "a", [shows("onnxruntime:all", "onnxruntime", "1.1.0")], 60)
    assert lease is not None
    end_lease(store, lease, "a", "shows")
    assert line.format(1) in str(fleet_status(store))
