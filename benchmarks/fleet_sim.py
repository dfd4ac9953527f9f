"""Simulates a fleet from measured costs: agents, their exchange and their store, by discrete events.

* ``python -m benchmarks.fleet_sim measure [--rounds 10]`` measures what a synchronisation costs here
  (``benchmarks.fleet_costs``) and writes it, with date and machine, to ``benchmarks/results/fleet_costs.json``.
* ``... compare [--agents 2,4,8,16,32] [--seconds 30] [--warm 60]`` runs real agents whose program is a sleep of 20 ms
  (``benchmarks.fleet_sleepers``) against a PostgreSQL, simulates the same, and prints both. Exit code 1 if a rate is
  more than 20% from the simulation.
* ``... scale [--machines 100,1000,10000] [--jobs 16] [--rate 50]`` simulates larger fleets on machines of their own,
  with four ways of exchange, and looks for the number of machines at which the database has no time left.

In ``compare`` every program is an event and every feature is drawn. In ``scale`` an agent's synchronisation is one
event: how many programs it made since the last one is drawn from Poisson's law, and which of their features nobody had
found yet from the law of features, so 10,000 machines take a minute. A processor of the database serves one transaction
after the other, first come, first served. Not simulated: findings and leases (few rows), failures, and networks, whose
bandwidth the traffic says.
"""

from __future__ import annotations

import argparse
import heapq
import itertools
import json
import statistics
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.fleet_large import FleetPlan, scale, table
from benchmarks.fleet_model import EVERY, LOOK_EVERY, SLEEP, Cores, FeatureLaw, MeasuredCosts, sync_cost

COSTS = Path(__file__).parent / "results" / "fleet_costs.json"
SCALE = Path(__file__).parent / "results" / "fleet_scale.json"
NEAR = 0.2
"""Share by which a real rate may differ from the simulated one."""

SLICE = 0.004
"""Seconds after which a processor goes on with another process."""

SLEEPERS = FeatureLaw(universe=2000, exponent=1.2, per_program=2)
"""What sleepers draw from: little enough that most of their programs show nothing new after half a minute."""


@dataclass(frozen=True, slots=True)
class SimulatedSleepers:
    """What simulated sleepers did while they were counted, as ``SleeperFigures`` says of real ones."""

    agents: int
    rates: list[float]
    given: int
    taken: int
    features: int
    duplicates: float
    sync_seconds: float


@dataclass(slots=True)
class _Sleeper:
    rng: np.random.Generator
    known: set[int] = field(default_factory=set)
    coming: list[tuple[float, set[int]]] = field(default_factory=list)
    held: set[int] = field(default_factory=set)  # by the folder, as the synchronisation sees it
    pending: list[set[int]] = field(default_factory=list)
    looked: int = 0
    counted: int = 0
    taken: int = 0


@dataclass(slots=True)
class _Synchronisation:
    begun: float
    left: float | None = None  # seconds of a processor's time; ``None`` before it begins
    waits: float = 0.0
    given: list[set[int]] = field(default_factory=list)
    fresh: set[int] = field(default_factory=set)


class SleeperSimulation:
    """A few agents whose program is a sleep, on one machine with the database.

    Args:
        costs: of it.
        agents: how many.
        law: of features.
        cores: of the machine.
        seed: of all draws.
    """

    def __init__(self, costs: MeasuredCosts, agents: int, law: FeatureLaw, cores: int, seed: int = 0) -> None:
        self._costs, self._law, self._cores = costs, law, Cores(cores)
        self._ends = np.cumsum(law.weights())
        self._agents = [_Sleeper(np.random.default_rng((seed, n))) for n in range(agents)]
        self._log: list[tuple[int, set[int]]] = []
        self._union: set[int] = set()
        self._duplicates = 0
        self._syncs: list[float] = []

    def run(self, warm: float, seconds: float) -> SimulatedSleepers:
        """Simulate; programs count after ``warm`` seconds."""
        start = np.random.default_rng(1).random(len(self._agents))
        events: list[tuple[float, int, int, _Synchronisation | None]] = []
        order = itertools.count()
        for number, at in enumerate(start.tolist()):
            heapq.heappush(events, (at * SLEEP, next(order), number, None))
            heapq.heappush(events, (at * EVERY, next(order), number, _Synchronisation(at * EVERY)))
        end = warm + seconds
        while events and events[0][0] < end:
            now, _, number, sync = heapq.heappop(events)
            agent = self._agents[number]
            if sync is not None:
                again, sync = self._synchronise(number, agent, now, sync)
                heapq.heappush(events, (again, next(order), number, sync))
                continue
            done = self._program(agent, now)
            agent.counted += warm <= now and done <= end
            heapq.heappush(events, (done + SLEEP + self._costs.overslept, next(order), number, None))
        many = len(self._log)
        return SimulatedSleepers(
            len(self._agents), [round(a.counted / seconds, 2) for a in self._agents], many,
            sum(a.taken for a in self._agents), len(self._union), round(self._duplicates / max(1, many), 4),
            round(statistics.fmean(self._syncs or [0.0]), 4),
        )  # fmt: skip

    def _program(self, agent: _Sleeper, now: float) -> float:
        """One program whose sleep is over; when the next sleep begins."""
        while agent.coming and agent.coming[0][0] <= now:
            agent.known |= agent.coming.pop(0)[1]
        news = {int(n) for n in self._law.draw(self._ends, agent.rng)[0]} - agent.known
        if news:
            agent.known |= news
            agent.held |= news
            agent.pending.append(news)
        busy = self._costs.program + (self._costs.stored if news else 0.0)
        return self._cores.serve(now, busy * self._costs.stretch)

    def _synchronise(
        self, number: int, agent: _Sleeper, now: float, sync: _Synchronisation
    ) -> tuple[float, _Synchronisation]:
        """Begin a synchronisation, go on with it for a slice of a processor's time, or end it; when what is next."""
        if sync.left is None:
            sync.left = self._begin(number, agent, sync)
        if sync.left > 0:
            part = min(SLICE, sync.left)
            sync.left -= part
            return self._cores.serve(now, part), sync
        if sync.waits > 0:
            waits, sync.waits = sync.waits, 0.0
            return now + waits, sync
        for keys in sync.given:
            self._duplicates += keys <= self._union
            self._union |= keys
            self._log.append((number, keys))
        if sync.fresh:
            agent.coming.append((now + LOOK_EVERY / 2, sync.fresh))
        self._syncs.append(now - sync.begun)
        return now + EVERY, _Synchronisation(now + EVERY)

    def _begin(self, number: int, agent: _Sleeper, sync: _Synchronisation) -> float:
        """Take what others gave, and what is to be given; seconds of a processor's time that it costs."""
        rows = [(who, keys) for who, keys in self._log[agent.looked :] if who != number]
        agent.looked = len(self._log)
        taken = 0
        for _, keys in rows:
            if not keys <= agent.held:
                taken += 1
                agent.held |= keys
                sync.fresh |= keys
        agent.taken += taken
        sync.given, agent.pending = agent.pending, []
        cost = sync_cost(
            self._costs, len(self._agents), len({who for who, _ in rows}), len(sync.given), len(rows) - taken, taken
        )
        busy = (cost.agent + cost.database) * self._costs.stretch
        sync.waits = max(0.0, cost.wall - busy)
        return busy


def compare(
    agents: Sequence[int], seconds: float, warm: float, costs: MeasuredCosts, cores: int
) -> list[dict[str, Any]]:
    """Real sleepers beside simulated ones.

    Args:
        agents: how many, one fleet each.
        seconds: that programs are counted.
        warm: seconds that they work before: at the start nearly each program is new, as in no long campaign.
        costs: of this machine as it is now.
        cores: of it.
    """
    from benchmarks.fleet_sleepers import run_sleepers
    from benchmarks.postgres_server import PostgresServer

    law = SLEEPERS
    rows: list[dict[str, Any]] = []
    server = PostgresServer.begin()
    try:
        for many in agents:
            with tempfile.TemporaryDirectory(prefix="irfuzz-fleet-sim-") as place:
                real = run_sleepers(server.database(), Path(place), many, seconds, law=law, warm=warm)
            made = SleeperSimulation(costs, many, law, cores).run(warm, seconds)
            ideal = many / (SLEEP + costs.overslept + costs.program * costs.stretch)
            rows.append(
                {
                    "agents": many, "real, programs/s": round(sum(real.rates), 1),
                    "simulated, programs/s": round(sum(made.rates), 1),
                    "ratio": round(sum(real.rates) / max(1e-9, sum(made.rates)), 3),
                    "of linear": round(sum(real.rates) / ideal, 3), "real": asdict(real), "simulated": asdict(made),
                }
            )  # fmt: skip
            print(json.dumps({k: v for k, v in rows[-1].items() if k not in ("real", "simulated")}), flush=True)
    finally:
        server.end()
    return rows


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Simulate a fleet from measured costs.")
    parser.add_argument("what", choices=("measure", "compare", "scale"))
    parser.add_argument("--costs", type=Path, default=COSTS, help="file of costs, which measure writes")
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--agents", default="2,4,8,16,32")
    parser.add_argument("--seconds", type=float, default=30.0)
    parser.add_argument("--warm", type=float, default=60.0, help="seconds of work before programs are counted")
    parser.add_argument("--machines", default="100,1000,10000")
    parser.add_argument("--jobs", type=int, default=16)
    parser.add_argument("--rate", type=float, default=50.0, help="programs a second of a job")
    parser.add_argument("--cores", type=int, default=16, help="of the database's machine")
    parser.add_argument("--json", type=Path, help="file for the output; of scale: benchmarks/results/fleet_scale.json")
    args = parser.parse_args(argv)
    if args.what != "scale":
        from benchmarks.fleet_costs import measure  # with irfuzz, which a simulation needs not
    if args.what == "measure":
        costs = measure(args.rounds)
        args.costs.write_text(json.dumps(costs.to_json(), indent=1) + "\n")
        print(args.costs.read_text())
        return 0
    if args.what == "compare":
        costs = measure(args.rounds)  # anew: other work on this machine is a part of them
        agents, cores = [int(n) for n in args.agents.split(",")], int(costs.machine["cores"])
        rows = compare(agents, args.seconds, args.warm, costs, cores)
        if args.json:
            args.json.write_text(json.dumps({"costs": costs.to_json(), "fleets": rows}, indent=1) + "\n")
        return int(any(abs(row["ratio"] - 1) > NEAR for row in rows))
    costs = MeasuredCosts.from_json(json.loads(args.costs.read_text()))
    plan = FleetPlan(1, args.jobs, args.rate, cores=args.cores)
    found = scale(costs, [int(n) for n in args.machines.split(",")], plan)
    (args.json or SCALE).write_text(json.dumps(found, indent=1) + "\n")
    print(table(found))
    return 0


if __name__ == "__main__":
    sys.exit(main())
