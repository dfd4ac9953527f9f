"""Who belongs to a fleet: names, ranges of job numbers, heartbeats by the database's clock, and orders to agents."""

from __future__ import annotations

import json
import platform
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum

from sqlalchemy import Connection, select, update

from irfuzz.errors import UsageError
from irfuzz.fleet.fleet_schema import AGENT, LEASE, store_time
from irfuzz.fleet.store_connection import StoreConnection
from irfuzz.report.pages.index_page import TargetTally

SILENT_SECONDS = 60.0
"""An agent that has not been heard of for so long is forgotten: its leases are free again."""

JOB_RANGE = 256
"""Job numbers of each agent; an agent cannot have more jobs."""

SEEDS = "seeds"
"""Name under which ``irfuzz fleet add-seeds`` stores programs; no agent can have it."""

ORDERS = "orders"
NEXT_JOB = "next job"
SEED = "seed"
BLOBS_AT = "blobs"


class AgentState(StrEnum):
    """What an agent does, as it said last."""

    RUNNING = "running"
    PAUSED = "paused"
    ENDED = "ended"
    LOST = "lost"


class Orders(StrEnum):
    """What agents are told to do."""

    RUN = "run"
    PAUSE = "pause"
    DRAIN = "drain"
    END = "end"


@dataclass(frozen=True, slots=True)
class AgentAccount:
    """How an agent is known to the store.

    Attributes:
        name: of the agent; stays with its folder.
        incarnation: of the process.
        first_job: number of its first job among all of the fleet.
        sequence: its programs up to this number are in the store.
        taken: what it took in up to this number is told there.
        orders: what it is told.
    """

    name: str
    incarnation: str
    first_job: int
    sequence: int
    taken: int
    orders: Orders


@dataclass(frozen=True, slots=True)
class AgentFigures:
    """What an agent tells of itself each time.

    Attributes:
        state: what it does.
        programs: judged so far.
        rate: programs a second of late.
        corpus: programs in its folder.
        syncs: how often it synchronised.
        sync_seconds: what that took.
        sync_cpu: seconds of processor time of that.
        counts: everything else.
        tallies: what each target did there.
    """

    state: AgentState
    programs: int = 0
    rate: float = 0.0
    corpus: int = 0
    syncs: int = 0
    sync_seconds: float = 0.0
    sync_cpu: float = 0.0
    counts: Mapping[str, int] | None = None
    tallies: Sequence[TargetTally] = ()


_AS_JSON = ("state", "counts", "tallies")
"""Fields of ``AgentFigures`` that a row of the store has in another form."""


def new_name() -> str:
    """A name that no other agent has: that of the machine, and eight random digits."""
    return f"{platform.node() or 'agent'}-{uuid.uuid4().hex[:8]}"


def join(store: StoreConnection, seed: int | None) -> tuple[int, int]:
    """Take a range of job numbers that no other agent gets; ``(first job, seed of the fleet)``.

    Args:
        store: of the fleet.
        seed: of the campaign, if this begins it; another one than it has is refused.

    Raises:
        UsageError: the fleet has another seed.
    """
    with store.transaction() as connection:
        settings = store.settings(connection)
        begun = settings.get(SEED)
        if begun is not None and seed is not None and int(begun) != seed:
            raise UsageError(
                f"--seed {seed}: {store.name} holds a fleet with seed {begun}; leave --seed out to join it"
            )
        if begun is None:
            begun = str(seed or 0)
            store.set(connection, {SEED: begun})
        return store.next_numbers(connection, NEXT_JOB, JOB_RANGE), int(begun)


def register(store: StoreConnection, name: str, first_job: int, targets: Sequence[str], jobs: int) -> AgentAccount:
    """Let an agent belong to the fleet, again if it did before; whoever used its name until then is refused.

    Args:
        store: of the fleet.
        name: of the agent.
        first_job: that ``join`` gave it.
        targets: names of what it runs.
        jobs: how many it has.

    Raises:
        UsageError: there are too many jobs, or the fleet has ended.
    """
    if jobs > JOB_RANGE:
        raise UsageError(f"--jobs: expected at most {JOB_RANGE} in an agent, got {jobs}")
    incarnation = uuid.uuid4().hex
    with store.transaction() as connection:
        settings = store.settings(connection)
        if settings.get(ORDERS) == Orders.END:
            raise UsageError(f"--store {store.name}: this fleet has ended; `irfuzz fleet resume` lets it go on")
        told: dict[str, object] = {
            "incarnation": incarnation, "machine": platform.node(), "jobs": jobs, "targets": json.dumps(list(targets)),
            "state": AgentState.RUNNING.value, "heartbeat": store_time(), "wanted": "",
        }  # fmt: skip
        row = connection.execute(select(AGENT).where(AGENT.c.name == name).with_for_update()).one_or_none()
        if row is None:
            connection.execute(AGENT.insert().values(name=name, first_job=first_job, **_nothing_yet(), **told))
        else:
            connection.execute(update(AGENT).where(AGENT.c.name == name).values(**told))
        sequence, taken = (0, 0) if row is None else (row.sequence, row.taken)
        return AgentAccount(name, incarnation, first_job, sequence, taken, _orders(settings, ""))


def _nothing_yet() -> dict[str, object]:
    zeros = dict.fromkeys(("sequence", "taken", "programs", "corpus", "syncs"), 0)
    return {
        **zeros,
        "rate": 0.0,
        "sync_seconds": 0.0,
        "sync_cpu": 0.0,
        "counts": "{}",
        "tallies": "[]",
        "started": store_time(),
    }


def _orders(settings: Mapping[str, str], own: str) -> Orders:
    """The stricter of what all are told and what one agent is."""
    order = list(Orders)
    return max(Orders(settings.get(ORDERS) or "run"), Orders(own or "run"), key=order.index)


def beat(store: StoreConnection, connection: Connection, account: AgentAccount, figures: AgentFigures) -> Orders:
    """Be heard of, as a part of a transaction; what the agent is told to do.

    Args:
        store: of the fleet.
        connection: of the transaction, which holds the agent's row from then on.
        account: of the agent.
        figures: what it tells.

    Raises:
        UsageError: another process has taken the name over.
    """
    query = select(AGENT.c.incarnation, AGENT.c.wanted).where(AGENT.c.name == account.name).with_for_update()
    row = connection.execute(query).one_or_none()
    if row is None or row.incarnation != account.incarnation:
        raise UsageError(
            f"agent {account.name}: another process runs under this name, perhaps on a copy of its folder; each agent "
            "needs a folder of its own"
        )
    values = {name: getattr(figures, name) for name in AgentFigures.__slots__ if name not in _AS_JSON}
    values |= {"state": figures.state.value, "counts": json.dumps(dict(figures.counts or {}))}
    values |= {"tallies": json.dumps([asdict(tally) for tally in figures.tallies])}
    statement = update(AGENT).where(AGENT.c.name == account.name)
    connection.execute(statement.values(**values, heartbeat=store_time()))
    return _orders(store.settings(connection), row.wanted)


def forget_silent(connection: Connection, seconds: float = SILENT_SECONDS) -> list[str]:
    """Forget agents that have not been heard of, as a part of a transaction: their leases are free again.

    Programs and findings of theirs stay, and one that is heard of again is an agent as before.

    Args:
        connection: of the transaction.
        seconds: of silence.

    Returns:
        Their names.
    """
    silent = (AGENT.c.heartbeat < store_time() - seconds) & AGENT.c.state.in_(["running", "paused"])
    query = select(AGENT.c.name).where(silent).order_by(AGENT.c.name).with_for_update(skip_locked=True)
    names = list(connection.execute(query).scalars())
    if names:
        connection.execute(update(AGENT).where(AGENT.c.name.in_(names)).values(state=AgentState.LOST.value, rate=0.0))
        free = update(LEASE).where(LEASE.c.agent.in_(names), ~LEASE.c.done)
        connection.execute(free.values(agent="", until=0.0))
    return names


def tell(store: StoreConnection, orders: Orders, agent: str | None = None) -> None:
    """Tell all agents, or one, what to do; each hears it when it synchronises next.

    Args:
        store: of the fleet.
        orders: what.
        agent: name of one; all if omitted.

    Raises:
        UsageError: there is no such agent.
    """
    with store.transaction() as connection:
        if agent is None:
            store.set(connection, {ORDERS: orders.value})
            return
        statement = update(AGENT).where(AGENT.c.name == agent, AGENT.c.name != SEEDS)
        if connection.execute(statement.values(wanted=orders.value)).rowcount != 1:
            others = select(AGENT.c.name).where(AGENT.c.name != SEEDS).order_by(AGENT.c.name)
            names = list(connection.execute(others).scalars())
            raise UsageError(
                f"--agent {agent}: there is none of that name; expected one of {', '.join(names) or 'none'}"
            )
