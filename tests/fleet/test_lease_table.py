"""Work is done by one agent at a time, by one that can, and again if its agent dies."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest
from sqlalchemy import update

from irfuzz.fleet.fleet_schema import LEASE, store_time
from irfuzz.fleet.lease_table import MOST_ATTEMPTS, LeaseKind, end_lease, offer, take_first, take_lease
from irfuzz.fleet.store_connection import StoreConnection

pytestmark = pytest.mark.unit

KIND = LeaseKind.CONFIRM


def offered(store: StoreConnection, *items: str, **about: str) -> None:
    with store.transaction() as connection:
        for item in items:
            offer(store, connection, KIND, item, **about)


def expire(store: StoreConnection) -> None:
    with store.transaction() as connection:
        connection.execute(update(LEASE).values(until=store_time() - 1))


def test_work_is_taken_once_and_done_once(store: StoreConnection) -> None:
    offered(store, "s")
    offered(store, "s")
    lease = take_lease(store, KIND, "a", [], 60)
    assert lease is not None
    assert (lease.item, lease.attempts) == ("s", 1)
    assert take_lease(store, KIND, "b", [], 60) is None
    assert end_lease(store, lease, "a", "shows")
    assert take_lease(store, KIND, "b", [], 60) is None


def test_work_of_a_dead_agent_is_taken_by_another_whose_result_counts(store: StoreConnection) -> None:
    offered(store, "s")
    first = take_lease(store, KIND, "a", [], 60)
    expire(store)
    second = take_lease(store, KIND, "b", [], 60)
    assert first is not None
    assert second is not None
    assert second.attempts == 2
    assert not end_lease(store, first, "a", "late")
    assert end_lease(store, second, "b", "shows")


def test_what_kills_agents_is_left_alone(store: StoreConnection) -> None:
    offered(store, "s")
    for _ in range(MOST_ATTEMPTS):
        assert take_lease(store, KIND, "a", [], 60) is not None
        expire(store)
    assert take_lease(store, KIND, "a", [], 60) is None


def test_only_those_who_can_take_it(store: StoreConnection) -> None:
    offered(store, "s", needs="torch:eager", maker="a")
    assert take_lease(store, KIND, "a", ["torch:eager"], 60) is None
    assert take_lease(store, KIND, "b", ["reference"], 60) is None
    assert take_lease(store, LeaseKind.SWEEP, "b", ["torch:eager"], 60) is None
    assert take_lease(store, KIND, "b", ["reference", "torch:eager"], 60) is not None


def test_of_several_kinds_the_first_is_taken_of_which_there_is_some(store: StoreConnection) -> None:
    kinds = [LeaseKind.REDUCE, LeaseKind.CONFIRM, LeaseKind.VERSIONS]
    assert take_first(store, kinds, "a", [], 60) is None
    offered(store, "s")
    with store.transaction() as connection:
        offer(store, connection, LeaseKind.VERSIONS, "a")
        offer(store, connection, LeaseKind.REDUCE, "z")
        offer(store, connection, LeaseKind.SWEEP, "b")
        offer(store, connection, LeaseKind.REDUCE, "y", since=1e12)
    taken = [take_first(store, kinds, "a", [], 60) for _ in range(4)]
    assert [lease and (lease.kind, lease.item) for lease in taken] == [
        (LeaseKind.REDUCE, "z"), (LeaseKind.CONFIRM, "s"), (LeaseKind.VERSIONS, "a"), None,
    ]  # fmt: skip


@pytest.mark.parametrize(("seconds", "free"), [(1000.0, False), (-1.0, True)])
def test_work_that_comes_again(store: StoreConnection, seconds: float, free: bool) -> None:
    offered(store, "s")
    lease = take_lease(store, KIND, "a", [], 60)
    assert lease is not None
    assert end_lease(store, lease, "a", "3 removed", again_in=seconds)
    assert (take_lease(store, KIND, "b", [], 60) is not None) == free


def test_nobody_gets_what_another_has(store: StoreConnection, opened: Callable[[], StoreConnection]) -> None:
    items = [f"s{n}" for n in range(30)]
    offered(store, *items)
    found: list[str] = []

    def takes(name: str) -> None:
        own = opened()
        while (lease := take_lease(own, KIND, name, [], 60)) is not None:
            found.append(lease.item)

    threads = [threading.Thread(target=takes, args=(f"a{n}",)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(found) == sorted(items)
