"""What the simulation of a fleet and the agents that it is held against have in common; it needs NumPy alone."""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

EVERY = 5.0
"""Seconds between two synchronisations of an agent."""

SLEEP = 0.02
"""Seconds that a program takes."""

LOOK_EVERY = 1.0
"""Seconds between two looks at what was taken in."""


@dataclass(frozen=True, slots=True)
class FeatureLaw:
    """How features are distributed over programs: feature number ``n`` (from 0) has weight ``(n + 1) ** -exponent``.

    Attributes:
        universe: how many features there are.
        exponent: of the law.
        per_program: features that a program shows.
    """

    universe: int = 20_000
    exponent: float = 1.1
    per_program: int = 12

    def weights(self) -> np.ndarray:
        """Probability of each feature in one draw."""
        found = np.arange(1, self.universe + 1, dtype=np.float64) ** -self.exponent
        return found / found.sum()

    def draw(self, ends: np.ndarray, rng: np.random.Generator, programs: int = 1) -> np.ndarray:
        """Features of programs, one row each.

        Args:
            ends: cumulated weights.
            rng: randomness.
            programs: how many.
        """
        found = np.searchsorted(ends, rng.random((programs, self.per_program)))
        return np.minimum(found, self.universe - 1)


@dataclass(frozen=True, slots=True)
class Cost:
    """What one thing costs, in seconds.

    Attributes:
        agent: of processor time in the agent.
        database: of processor time in the database.
        wall: that passed; more than both if disks or networks were waited for.
    """

    agent: float = 0.0
    database: float = 0.0
    wall: float = 0.0

    def less(self, other: Cost, share: float = 1.0) -> Cost:
        """This without another one, divided; nothing is below zero."""
        pairs = zip(asdict(self).values(), asdict(other).values(), strict=True)
        return Cost(*(max(0.0, (a - b) / share) for a, b in pairs))

    def plus(self, other: Cost) -> Cost:
        """Both."""
        return Cost(self.agent + other.agent, self.database + other.database, self.wall + other.wall)


@dataclass(frozen=True, slots=True)
class MeasuredCosts:
    """Costs of one machine, as the simulation takes them.

    Attributes:
        sync: of a synchronisation with nothing new beside one other agent.
        per_agent: more of each agent that there is.
        per_query: more of each other agent that has news and is asked for.
        per_given: of each row that is given, its blob included.
        per_looked: of each row of others that is looked at and left.
        per_taken: of each row that is taken in, its blob and telling the store included, beyond looking at it.
        program: of a sleeper's program beyond its sleep, without what is stored.
        stored: more if it shows something new, so that the folder keeps it.
        overslept: seconds that a sleep of 20 ms takes longer here.
        stretch: seconds that pass for one of processor time here: above 1 if others use the machine.
        row_bytes: that a program takes in the database, its features and indexes included.
        blob_bytes: that it takes among the blobs.
        connection_bytes: of memory that a back end of the database takes for itself.
        discovery: programs that showed something new, after so many programs of a chain of real mutants.
        machine: what it was measured on, and when.
    """

    sync: Cost
    per_agent: Cost
    per_query: Cost
    per_given: Cost
    per_looked: Cost
    per_taken: Cost
    program: float
    stored: float
    overslept: float
    stretch: float
    row_bytes: int
    blob_bytes: int
    connection_bytes: int
    discovery: list[tuple[int, int]]
    machine: dict[str, Any]

    def to_json(self) -> dict[str, Any]:
        """All of it as JSON-able data."""
        return asdict(self)

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> MeasuredCosts:
        """The inverse of ``to_json``."""
        costs = {name: Cost(**value) for name, value in data.items() if isinstance(value, dict) and name != "machine"}
        return cls(**{**data, **costs, "discovery": [tuple(pair) for pair in data["discovery"]]})


def duplicate_share(programs: Sequence[Sequence[int]]) -> float:
    """The share of programs whose features all came with earlier ones.

    Args:
        programs: features of each, in the order in which they reached the store.
    """
    seen: set[int] = set()
    again = 0
    for keys in programs:
        again += seen.issuperset(keys)
        seen.update(keys)
    return again / max(1, len(programs))


def as_idle(costs: MeasuredCosts) -> MeasuredCosts:
    """The same costs on a machine that nobody else uses: processor time as it was, and what passed beyond it undone.

    Args:
        costs: as measured.
    """
    still = {
        field: replace(cost, wall=cost.agent + cost.database)
        for field in ("sync", "per_agent", "per_query", "per_given", "per_looked", "per_taken")
        if isinstance(cost := getattr(costs, field), Cost)
    }
    return replace(costs, **still, stretch=1.0, overslept=0.0002)


class Cores:
    """Processors that serve one request after the other, first come, first served.

    Args:
        many: processors.
    """

    def __init__(self, many: int) -> None:
        self._free = [0.0] * many
        self.busy = 0.0

    def serve(self, now: float, seconds: float) -> float:
        """When a request that comes now is done; requests come in the order of time."""
        begin = max(now, heapq.heappop(self._free))
        heapq.heappush(self._free, begin + seconds)
        self.busy += seconds
        return begin + seconds


def sync_cost(costs: MeasuredCosts, agents: int, queries: float, given: float, looked: float, taken: float) -> Cost:
    """What a synchronisation costs.

    Args:
        costs: measured.
        agents: in the fleet.
        queries: other agents that have news.
        given: rows.
        looked: rows of others that are looked at and left.
        taken: rows that are taken in.
    """
    parts = (
        (costs.sync, 1.0), (costs.per_agent, agents), (costs.per_query, queries), (costs.per_given, given),
        (costs.per_looked, looked + taken), (costs.per_taken, taken),
    )  # fmt: skip
    agent = database = wall = 0.0
    for cost, many in parts:
        agent, database, wall = agent + cost.agent * many, database + cost.database * many, wall + cost.wall * many
    return Cost(agent, database, wall)
