"""Fleets of many machines, in which an agent's synchronisation is one event (``benchmarks.fleet_sim scale``)."""

from __future__ import annotations

import heapq
import itertools
import json
import math
import statistics
from collections import deque
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np

from benchmarks.fleet_model import EVERY, Cores, FeatureLaw, MeasuredCosts, as_idle, sync_cost

EXCHANGES = ("as built", "without list", "subscribed", "filtered")
"""Ways of exchange: as it is built, reading the list of all agents each time, and asking for the news of those that
have some; without the list, asking once for all; that, with an agent looking at and taking in only what shows features
of its own share; and that, with a filter of all known features in place of rows, so that it gives none that others
have found."""

CLASSES = 100
"""Shares of features to one of which an agent subscribes."""

SNAPSHOTS = 16
"""Of what nobody had found; who looked before the oldest is taken to have looked then."""

UNIVERSE = 1_000_000
"""Features that there are in a large fleet: far more than the chain of mutants shows by which the law is found."""

FILTER_EVERY = 60.0
"""Seconds between two filters."""

MOST = 1 << 15
"""Machines above which nobody looks for a limit."""

FULL = 0.8
"""Share of the database's processors above which waiting grows without bound."""


@dataclass(frozen=True, slots=True)
class FleetPlan:
    """A large fleet.

    Attributes:
        machines: with one agent each.
        jobs: of each agent.
        rate: programs a second of each job.
        exchange: one of ``EXCHANGES``.
        cores: of the database's machine.
        before: programs that the fleet has judged before; what they showed everybody knows.
        seconds: that are simulated; the first quarter is not counted.
    """

    machines: int
    jobs: int = 16
    rate: float = 50.0
    exchange: str = EXCHANGES[0]
    cores: int = 16
    before: float = 1e8
    seconds: float = 40.0


@dataclass(frozen=True, slots=True)
class FleetFigures:
    """What a simulated fleet needs; all but shares and times is by the second.

    Attributes:
        machines: how many.
        exchange: how they exchange.
        programs: judged.
        synchronisations: of all agents.
        queries: of the database.
        rows_written: programs, features and intake.
        rows_read: programs of others, and rows of agents.
        blob_in: megabytes written to the blobs.
        blob_out: megabytes read from them.
        filter_out: megabytes of filters.
        database_cores: seconds of processor time that the transactions which begin in a second need.
        transactions: open at once, which a pooler needs as connections.
        wait: seconds of a synchronisation, the median.
        wait_most: of the slowest in twenty.
        agent_share: part of one processor that an agent spends on synchronisation.
        duplicates: share of given programs that showed what another one had shown.
        found: features that were new to all.
    """

    machines: int
    exchange: str
    programs: float
    synchronisations: float
    queries: float
    rows_written: float
    rows_read: float
    blob_in: float
    blob_out: float
    filter_out: float
    database_cores: float
    transactions: float
    wait: float
    wait_most: float
    agent_share: float
    duplicates: float
    found: float


@dataclass(slots=True)
class _Machine:
    last: float
    rows: int = 0  # that were visible when it looked last
    unique: int = 0
    own: set[int] = field(default_factory=set)


class FleetSimulation:
    """A large fleet: each agent's synchronisation is one event.

    Args:
        costs: of an idle machine; the database's are the same.
        plan: of the fleet.
        law: of features.
        seed: of all draws.
    """

    def __init__(self, costs: MeasuredCosts, plan: FleetPlan, law: FeatureLaw, seed: int = 0) -> None:
        self._costs, self._plan, self._law = costs, plan, law
        self._rng = np.random.default_rng(seed)
        self._weights = law.weights()
        known = self._rng.random(law.universe) < -np.expm1(
            np.log1p(-np.minimum(self._weights, 0.999)) * plan.before * law.per_program
        )
        self._found_at = np.where(known, -1.0, np.inf)
        self._database = Cores(plan.cores)
        self._rows = self._unique = self._features = 0
        self._snapshots: deque[tuple[float, np.ndarray, np.ndarray]] = deque(maxlen=SNAPSHOTS)
        self._totals = dict.fromkeys(
            ("syncs", "queries", "written", "read", "given", "taken", "duplicates", "found", "agent", "database"), 0.0
        )
        self._waits: list[float] = []

    def run(self) -> FleetFigures:
        """Simulate."""
        plan = self._plan
        order = itertools.count()
        events: list[tuple[float, int, int, list[np.ndarray] | None]] = [
            (float(at) * EVERY, next(order), number, None) for number, at in enumerate(self._rng.random(plan.machines))
        ]
        heapq.heapify(events)
        machines = [_Machine(0.0) for _ in range(plan.machines)]
        counted_from = plan.seconds / 4
        while events and events[0][0] < plan.seconds:
            now, _, number, news = heapq.heappop(events)
            if news is not None:
                self._commit(now, news)
                continue
            self._snapshot(now)
            done, rows = self._synchronise(number, machines[number], now, counted=now >= counted_from)
            heapq.heappush(events, (done, next(order), number, rows))
            heapq.heappush(events, (done + EVERY, next(order), number, None))
        return self._figures(plan.seconds - counted_from)

    def _snapshot(self, now: float) -> None:
        """Remember now and then what nobody had found."""
        pause = {"subscribed": math.inf, "filtered": FILTER_EVERY}.get(self._plan.exchange, 1.0)
        if not self._snapshots or now - self._snapshots[-1][0] > pause:
            left = np.flatnonzero(np.isinf(self._found_at))
            self._snapshots.append((now, left, np.cumsum(self._weights[left])))

    def _draw(self, number: int, machine: _Machine, programs: float) -> list[np.ndarray]:
        """Features of programs that show something that the agent does not know of."""
        past = (one for one in reversed(self._snapshots) if one[0] <= machine.last)
        _, left, ends = next(past, self._snapshots[0])
        if not len(left):
            return []
        hits = self._rng.poisson(programs * self._law.per_program * ends[-1])
        drawn = left[np.minimum(np.searchsorted(ends, self._rng.random(hits) * ends[-1]), len(left) - 1)]
        told = self._found_at[drawn] <= machine.last
        if self._plan.exchange in ("subscribed", "filtered"):
            told &= drawn % CLASSES == number % CLASSES
        fresh = [int(f) for f, known in zip(drawn, told, strict=True) if not known]
        rows: list[np.ndarray] = []
        for feature in fresh:
            if feature not in machine.own:
                machine.own.add(feature)
                rows.append(np.array([feature]))
        return rows

    def _synchronise(
        self, number: int, machine: _Machine, now: float, *, counted: bool
    ) -> tuple[float, list[np.ndarray]]:
        plan, costs = self._plan, self._costs
        given = self._draw(number, machine, plan.jobs * plan.rate * (now - machine.last))
        share = 1.0 / CLASSES if plan.exchange in ("subscribed", "filtered") else 1.0
        rows, unique = (self._rows - machine.rows) * share, (self._unique - machine.unique) * share
        machine.rows, machine.unique, machine.last = self._rows, self._unique, now
        others = max(1, plan.machines - 1)
        if plan.exchange == "as built":
            asked, agents = others * -math.expm1(-rows / others), plan.machines
            queries = min(1.0, asked)
        else:
            queries = asked = min(1.0, rows)
            agents = 1
        cost = sync_cost(costs, agents, asked, len(given), rows - unique, unique)
        begun = now + cost.agent
        done = self._database.serve(now, cost.database) + cost.agent
        if counted:
            self._waits.append(done - now)
            more = {
                "syncs": 1, "queries": queries, "written": len(given) * 2 + unique, "read": rows + agents,
                "given": len(given), "taken": unique, "agent": cost.agent, "database": cost.database,
                "duplicates": sum(bool(np.all(self._found_at[keys] <= now)) for keys in given),
            }  # fmt: skip
            for name, value in more.items():
                self._totals[name] += value
        return max(begun, done), given

    def _commit(self, now: float, rows: Sequence[np.ndarray]) -> None:
        for keys in rows:
            new = keys[np.isinf(self._found_at[keys])]
            self._found_at[new] = now
            self._rows += 1
            self._unique += len(new) > 0
            self._totals["found"] += len(new) if now >= self._plan.seconds / 4 else 0

    def _figures(self, seconds: float) -> FleetFigures:
        plan, costs = self._plan, self._costs
        each = {name: value / seconds for name, value in self._totals.items()}
        waits = sorted(self._waits) or [0.0]
        known = np.count_nonzero(np.isfinite(self._found_at))
        filters = plan.machines * int(known) * 10 / 8 / 1e6 / FILTER_EVERY if plan.exchange == "filtered" else 0.0
        return FleetFigures(
            plan.machines, plan.exchange, plan.machines * plan.jobs * plan.rate, each["syncs"], each["queries"],
            each["written"], each["read"], each["given"] * costs.blob_bytes / 1e6,
            each["taken"] * costs.blob_bytes / 1e6, filters, each["database"],
            each["syncs"] * statistics.fmean(waits), statistics.median(waits), waits[int(len(waits) * 0.95)],
            each["agent"] / plan.machines, self._totals["duplicates"] / max(1.0, self._totals["given"]), each["found"],
        )  # fmt: skip


def fitted_law(discovery: Sequence[tuple[int, int]], per_program: int = 12) -> FeatureLaw:
    """The law by which real mutants cease to show new features.

    Args:
        discovery: as ``MeasuredCosts`` has it.
        per_program: features that a program shows.
    """
    laws = [FeatureLaw(UNIVERSE, e / 20, per_program) for e in range(18, 45)]
    return min(laws, key=lambda law: _misfit(law, discovery))


def _misfit(law: FeatureLaw, discovery: Sequence[tuple[int, int]]) -> float:
    rng, ends = np.random.default_rng(0), np.cumsum(law.weights())
    drawn = law.draw(ends, rng, discovery[-1][0])
    _, first = np.unique(drawn.ravel(), return_index=True)
    new = np.unique(first // law.per_program)
    return sum((math.log(max(1, np.searchsorted(new, n)) / max(1, many))) ** 2 for n, many in discovery)


def most_machines(costs: MeasuredCosts, law: FeatureLaw, plan: FleetPlan) -> int:
    """The largest fleet, to a quarter, whose database is busy for less than ``FULL`` of its processors.

    Args:
        costs: of an idle machine.
        law: of features.
        plan: of the fleet, whose number of machines is not looked at.

    Returns:
        At most ``MOST``.
    """

    def fits(machines: int) -> bool:
        figures = FleetSimulation(costs, replace(plan, machines=machines, seconds=20.0), law).run()
        return figures.database_cores < FULL * plan.cores and figures.wait_most < EVERY

    low, high = 1, 2
    while high < MOST and fits(high):
        low, high = high, high * 2
    if high >= MOST:
        return high
    while high - low > low / 4:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low


def scale(
    costs: MeasuredCosts, machines: Sequence[int], plan: FleetPlan, law: FeatureLaw | None = None
) -> dict[str, Any]:
    """What fleets of machines need, and at how many the database has no time left.

    Args:
        costs: measured.
        machines: sizes of fleets.
        plan: of them all.
        law: of features; ``None``: the one that fits ``costs.discovery``.
    """
    law, idle = law or fitted_law(costs.discovery), as_idle(costs)
    found: dict[str, Any] = {
        "law": asdict(law),
        "plan": asdict(plan),
        "costs": costs.machine,
        "fleets": [],
        "limits": {},
    }
    for exchange in EXCHANGES:
        for many in machines:
            figures = FleetSimulation(idle, replace(plan, machines=many, exchange=exchange), law).run()
            row = {
                name: float(f"{value:.4g}") if isinstance(value, float) else value
                for name, value in asdict(figures).items()
            }
            row["connections, GB"] = round(many * costs.connection_bytes / 1e9, 2)
            row["bytes of rows a day, GB"] = round(figures.rows_written / 3 * costs.row_bytes * 86400 / 1e9, 1)
            found["fleets"].append(row)
            print(json.dumps(row), flush=True)
        found["limits"][exchange] = most_machines(idle, law, replace(plan, exchange=exchange))
        print(json.dumps({exchange: found["limits"][exchange]}), flush=True)
    return found


COLUMNS = {
    "machines": "machines", "exchange": "exchange", "rows written a second": "rows_written",
    "rows read a second": "rows_read", "queries a second": "queries", "blobs in, MB/s": "blob_in",
    "blobs out, MB/s": "blob_out", "filters, MB/s": "filter_out", "database, cores": "database_cores",
    "transactions at once": "transactions", "synchronisation, s": "wait", "of one in twenty, s": "wait_most",
    "duplicates": "duplicates",
}  # fmt: skip
"""Of the table in docs/fleet.md, by fields of ``FleetFigures``."""


def _cell(value: float | str) -> str:
    if isinstance(value, str):
        return value
    return f"{value:,.0f}" if value >= 1000 else f"{value:.3g}"


def table(found: dict[str, Any]) -> str:
    """What ``scale`` found as a table in Markdown, and the limits below it.

    Args:
        found: by ``scale``, or read from its file.
    """
    lines = [f"| {' | '.join(COLUMNS)} |", f"|{'---|' * len(COLUMNS)}"]
    for row in found["fleets"]:
        cells = (row[name] for name in COLUMNS.values())
        lines.append(f"| {' | '.join(map(_cell, cells))} |")
    limits = (f"{name}: {'over ' * (many >= MOST)}{many:,}" for name, many in found["limits"].items())
    return "\n".join([*lines, "", f"Machines until the database is full: {'; '.join(limits)}."])
