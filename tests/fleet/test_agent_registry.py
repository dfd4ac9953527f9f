"""Agents have ranges of jobs of their own, are forgotten when they are silent, and hear what they are told."""

from __future__ import annotations

import pytest
from sqlalchemy import select, update

from irfuzz.errors import UsageError
from irfuzz.fleet.agent_registry import (
    JOB_RANGE,
    SILENT_SECONDS,
    AgentAccount,
    AgentFigures,
    AgentState,
    Orders,
    beat,
    forget_silent,
    join,
    register,
    tell,
)
from irfuzz.fleet.fleet_schema import AGENT, store_time
from irfuzz.fleet.fleet_status import fleet_status
from irfuzz.fleet.lease_table import LeaseKind, offer, take_lease
from irfuzz.fleet.store_connection import StoreConnection

pytestmark = pytest.mark.unit


def begin(store: StoreConnection, name: str) -> AgentAccount:
    return register(store, name, join(store, None)[0], ["onnxruntime:all"], 2)


def heard(store: StoreConnection, account: AgentAccount, state: AgentState = AgentState.RUNNING) -> Orders:
    with store.transaction() as connection:
        return beat(store, connection, account, AgentFigures(state, programs=7, rate=3.5, counts={"taken": 1}))


def silent_for(store: StoreConnection, name: str, seconds: float) -> None:
    with store.transaction() as connection:
        statement = update(AGENT).where(AGENT.c.name == name)
        connection.execute(statement.values(heartbeat=store_time() - seconds))


def test_no_two_agents_have_a_job(store: StoreConnection) -> None:
    assert [join(store, None)[0] for _ in range(3)] == [0, JOB_RANGE, 2 * JOB_RANGE]


def test_the_first_agent_decides_the_seed(store: StoreConnection) -> None:
    assert join(store, 5) == (0, 5)
    assert join(store, None) == (JOB_RANGE, 5)
    assert join(store, 5) == (2 * JOB_RANGE, 5)
    with pytest.raises(UsageError, match="holds a fleet with seed 5; leave --seed out"):
        join(store, 6)


def test_an_agent_that_starts_again_is_the_same_one(store: StoreConnection) -> None:
    first = begin(store, "a")
    assert heard(store, first) is Orders.RUN
    again = register(store, "a", first.first_job, ["reference"], 3)
    assert (again.name, again.first_job) == ("a", first.first_job)
    assert heard(store, again) is Orders.RUN
    with pytest.raises(UsageError, match="agent a: another process runs under this name"):
        heard(store, first)
    (agent,) = fleet_status(store).agents
    assert (agent.targets, agent.jobs, agent.programs, agent.rate) == (["reference"], 3, 7, 3.5)


@pytest.mark.parametrize(("jobs", "fits"), [(JOB_RANGE, True), (JOB_RANGE + 1, False)])
def test_jobs_fit_into_a_range(store: StoreConnection, jobs: int, fits: bool) -> None:
    if fits:
        assert register(store, "a", 0, [], jobs).first_job == 0
    else:
        with pytest.raises(UsageError, match=f"expected at most {JOB_RANGE}"):
            register(store, "a", 0, [], jobs)


@pytest.mark.parametrize(("seconds", "lost"), [(SILENT_SECONDS - 20, False), (SILENT_SECONDS + 5, True)])
def test_who_is_silent_is_forgotten_and_its_work_is_free(store: StoreConnection, seconds: float, lost: bool) -> None:
    begin(store, "a")
    with store.transaction() as connection:
        offer(store, connection, LeaseKind.SWEEP, "blobs")
    assert take_lease(store, LeaseKind.SWEEP, "a", [], 1000.0) is not None
    silent_for(store, "a", seconds)
    with store.transaction() as connection:
        assert forget_silent(connection) == (["a"] if lost else [])
    (agent,) = fleet_status(store).agents
    assert agent.state == ("lost" if lost else "running")
    assert (take_lease(store, LeaseKind.SWEEP, "b", [], 1000.0) is not None) == lost


def test_who_is_heard_of_again_belongs_to_it_again(store: StoreConnection) -> None:
    account = begin(store, "a")
    silent_for(store, "a", 1000)
    with store.transaction() as connection:
        assert forget_silent(connection) == ["a"]
        assert forget_silent(connection) == []
    heard(store, account)
    assert fleet_status(store).agents[0].state == "running"


def test_who_has_ended_is_not_lost(store: StoreConnection) -> None:
    account = begin(store, "a")
    heard(store, account, AgentState.ENDED)
    silent_for(store, "a", 1000)
    with store.transaction() as connection:
        assert forget_silent(connection) == []
    assert fleet_status(store).agents[0].state == "ended"


def test_the_stricter_order_holds(store: StoreConnection) -> None:
    first, second = begin(store, "a"), begin(store, "b")
    tell(store, Orders.PAUSE, "a")
    assert (heard(store, first), heard(store, second)) == (Orders.PAUSE, Orders.RUN)
    tell(store, Orders.DRAIN)
    assert (heard(store, first), heard(store, second)) == (Orders.DRAIN, Orders.DRAIN)
    tell(store, Orders.RUN)
    assert (heard(store, first), heard(store, second)) == (Orders.PAUSE, Orders.RUN)
    tell(store, Orders.RUN, "a")
    assert heard(store, first) is Orders.RUN
    with pytest.raises(UsageError, match="--agent c: there is none of that name; expected one of a, b"):
        tell(store, Orders.PAUSE, "c")


def test_no_agent_joins_a_fleet_that_has_ended(store: StoreConnection) -> None:
    tell(store, Orders.END)
    with pytest.raises(UsageError, match="this fleet has ended"):
        begin(store, "a")
    tell(store, Orders.RUN)
    begin(store, "a")


def test_time_is_that_of_the_database(store: StoreConnection) -> None:
    import time

    with store.transaction() as connection:
        assert abs(connection.execute(select(store_time())).scalar_one() - time.time()) < 5
