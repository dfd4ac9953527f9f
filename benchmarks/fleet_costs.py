"""What a fleet's exchange costs on this machine: of a synchronisation, and of each agent, query and row in it.

``measure`` starts a PostgreSQL, lets folders of agents synchronise with it in this process, and takes differences
between synchronisations that differ in one thing: how many agents there are, how many of them have news, how many rows
are given, looked at and taken in. Each cost is told apart into processor time of the agent, processor time of the
database's processes, and the time that passed. What a program of a sleeper costs (``benchmarks.fleet_sleepers``), and
how quickly new mutants cease to show new features, is measured, too.
"""

from __future__ import annotations

import os
import platform
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
from sqlalchemy import text

import irfuzz
from benchmarks.fleet_model import Cost, FeatureLaw, MeasuredCosts
from benchmarks.fleet_sleepers import SleepingJob, seed, sleeping_folder
from benchmarks.postgres_server import PostgresServer
from irfuzz.campaign.corpus.feature_holders import FeatureHolders
from irfuzz.fleet.agent_registry import join, register
from irfuzz.fleet.fleet_schema import AGENT, SHARED_PROGRAM
from irfuzz.fleet.shared_blobs import SharedBlobs
from irfuzz.fleet.store_connection import StoreConnection
from irfuzz.fleet.synchronisation import FolderSync
from irfuzz.isolate import linux
from irfuzz.mutate.feature_counts import features
from irfuzz.mutate.mutation_trace import parse_trace
from irfuzz.store.database import ProgramRow

ROWS = 150
"""Rows that are given or looked at at once: less than a batch."""

CROWD = 64
"""Agents without news, and later with one row each, beside the ones that are measured."""


class _Bench:
    """A store with agents in this process, and clocks."""

    def __init__(self, server: PostgresServer, folder: Path) -> None:
        self.server, self.folder = server, folder
        self.store = StoreConnection(server.database(), make=True)
        self.blobs = SharedBlobs(str(folder / "blobs"))
        self._keys = 1 << 40

    def agent(self, name: str) -> FolderSync:
        """A member of the fleet with a folder of its own."""
        database = sleeping_folder(self.folder / name)
        account = register(self.store, name, join(self.store, None)[0], ["reference"], 1)
        return FolderSync(self.store, self.blobs, database, account, ["reference"], self.folder / name / "scratch")

    def rows(self, sync: FolderSync, many: int, keys: Sequence[int] | None = None) -> None:
        """Let an agent's folder have new programs, with features of their own unless they are given."""
        database = sync._database  # noqa: SLF001 - measured where it is
        base = database.program(seed().digest)
        mutant = next(iter(irfuzz.mutate([seed()], seed=1, n=1)))
        model = database.programs.small_mutant(mutant.program.to_bytes(), base.digest, base.model)
        trace = parse_trace(mutant.trace).to_text()
        rows: list[ProgramRow] = []
        for _ in range(many):
            self._keys += 4
            own = list(keys or range(self._keys, self._keys + 4))
            rows.append(
                ProgramRow(
                    f"{self._keys:064x}", model + self._keys.to_bytes(8, "little"), "s.onnx", base.digest, trace, 4, 0,
                    1, nodes=2, cost=1, keys=np.array(own, np.uint64).tobytes(),
                )
            )  # fmt: skip
        database.record(0, 1, 1, {}, rows)

    def timed(self, call: Callable[[], object]) -> Cost:
        """What a call costs."""
        database, agent, wall = self.database_cpu(), time.thread_time(), time.monotonic()
        call()
        wall = time.monotonic() - wall
        return Cost(time.thread_time() - agent, self.database_cpu() - database, wall)

    def database_cpu(self) -> float:
        """See the function of that name."""
        return database_cpu(self.server)


def database_cpu(server: PostgresServer) -> float:
    """Seconds of processor time that the processes of a server which run now have taken."""
    pid = int((server.folder / "data" / "postmaster.pid").read_text().splitlines()[0])
    nanoseconds = 0
    for one in (pid, *linux.descendants(pid)):
        try:
            nanoseconds += int(Path(f"/proc/{one}/schedstat").read_text().split()[0])
        except (FileNotFoundError, ProcessLookupError):
            continue
    return nanoseconds / 1e9


def _mean(costs: Sequence[Cost]) -> Cost:
    return Cost(*(statistics.fmean(values) for values in zip(*(asdict(c).values() for c in costs), strict=True)))


def measure(rounds: int = 10) -> MeasuredCosts:
    """Measure all costs here; takes a minute on an idle machine.

    Args:
        rounds: of each synchronisation.
    """
    server = PostgresServer.begin()
    try:
        with tempfile.TemporaryDirectory(prefix="irfuzz-fleet-costs-") as place:
            return _measured(_Bench(server, Path(place)), rounds)
    finally:
        server.end()


def _measured(bench: _Bench, rounds: int) -> MeasuredCosts:
    a, b = bench.agent("a"), bench.agent("b")
    for sync in (a, b, a, b):
        sync.synchronise(work=False)
    idle = _mean([bench.timed(lambda: a.synchronise(work=False)) for _ in range(rounds * 4)])
    given, taken, told, looked = [], [], [], []
    for _ in range(rounds):
        bench.rows(a, ROWS)
        given.append(bench.timed(lambda: a.synchronise(work=False)))
        taken.append(bench.timed(lambda: b.synchronise(work=False)))
        told.append(bench.timed(lambda: b.synchronise(work=False)))  # what was taken in
        bench.rows(a, ROWS, [1 << 40])
        a.synchronise(work=False)
        looked.append(bench.timed(lambda: b.synchronise(work=False)))
    row_bytes, blob_bytes = _sizes(bench)
    crowd = [bench.agent(f"c{number}") for number in range(CROWD)]
    for sync in (*crowd, a, b):
        sync.synchronise(work=False)
    crowded = _mean([bench.timed(lambda: b.synchronise(work=False)) for _ in range(rounds * 4)])
    queries = []
    for _ in range(max(1, rounds // 3)):
        for sync in crowd:
            bench.rows(sync, 1, [1 << 40])
            sync.synchronise(work=False)
        queries.append(bench.timed(lambda: b.synchronise(work=False)))
    per_looked = _mean(looked).less(idle, ROWS)
    per_row_of_query = _mean(queries).less(crowded, CROWD)
    stretch = _stretch()
    program, stored, overslept = _sleeper(bench)
    return MeasuredCosts(
        sync=idle, per_agent=crowded.less(idle, CROWD), per_query=per_row_of_query.less(per_looked),
        per_given=_mean(given).less(idle, ROWS), per_looked=per_looked,
        per_taken=_mean(taken).less(idle, ROWS).less(per_looked).plus(_mean(told).less(idle, ROWS)),
        program=program, stored=stored, overslept=overslept, stretch=stretch, row_bytes=row_bytes,
        blob_bytes=blob_bytes, connection_bytes=_backend_bytes(bench), discovery=discovery(), machine=machine(),
    )  # fmt: skip


def _sizes(bench: _Bench) -> tuple[int, int]:
    with bench.store.transaction() as connection:
        many = connection.execute(text(f"select count(*) from {SHARED_PROGRAM.name}")).scalar_one()
        size = sum(
            connection.execute(text(f"select pg_total_relation_size('{name}')")).scalar_one()
            for name in (SHARED_PROGRAM.name, "feature", "intake")
        )
    files = [path.stat().st_size for path in (bench.folder / "blobs").rglob("*.zst")]
    return int(size / many), int(statistics.fmean(files))


def _backend_bytes(bench: _Bench) -> int:
    """Memory that the back end of this process's connection does not share with others."""
    with bench.store.transaction() as connection:
        pid = connection.execute(text("select pg_backend_pid()")).scalar_one()
        assert connection.execute(text(f"select count(*) from {AGENT.name}")).scalar_one()
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    return 1024 * sum(int(line.split()[1]) for line in lines if line.startswith(("Private_Clean", "Private_Dirty")))


def _stretch(seconds: float = 0.5) -> float:
    """Seconds that pass for one of processor time."""
    began, wall = time.process_time(), time.monotonic()
    while time.process_time() - began < seconds:
        pass
    return (time.monotonic() - wall) / seconds


def _sleeper(bench: _Bench, programs: int = 300) -> tuple[float, float, float]:
    """Processor time of a sleeper's program, what it takes more if it is new, and by what a sleep is too long."""
    known = _program_cpu(bench, "sleeper", FeatureLaw(universe=1, per_program=1), programs)
    new = _program_cpu(bench, "finder", FeatureLaw(universe=1 << 20, exponent=0.0, per_program=2), programs)
    slept: list[float] = []
    for _ in range(100):
        began = time.monotonic()
        time.sleep(0.02)
        slept.append(time.monotonic() - began - 0.02)
    return known, max(0.0, new - known), statistics.fmean(slept)


def _program_cpu(bench: _Bench, name: str, law: FeatureLaw, programs: int) -> float:
    """Mean processor time of a sleeper's program without its sleep."""
    job = SleepingJob(sleeping_folder(bench.folder / name), 0, law, seconds=0.0)
    job.one()
    began = time.process_time()
    for _ in range(programs):
        job.one()
    return (time.process_time() - began) / programs


def discovery(programs: int = 2000) -> list[tuple[int, int]]:
    """How many programs of a chain of real mutants showed something new, after 125, 250, ... of them."""
    holders, held = FeatureHolders(), set[int]()
    found: list[tuple[int, int]] = []
    new = 0
    for number, mutant in enumerate(irfuzz.mutate([seed()], seed=1, n=programs), 1):
        keys = set(holders.keys(features(mutant.program)).tolist())
        new += not keys <= held
        held |= keys
        if number * 16 % programs == 0 and (number * 16 // programs).bit_count() == 1:
            found.append((number, new))
    return found


def machine() -> dict[str, Any]:
    """What this machine is, and what day it is."""
    names = [
        line.split(":")[1].strip() for line in Path("/proc/cpuinfo").read_text().splitlines() if "model name" in line
    ]
    return {
        "date": datetime.now(UTC).strftime("%Y-%m-%d"),
        "processor": names[0] if names else platform.machine(),
        "cores": os.cpu_count(),
        "load": round(os.getloadavg()[0], 1),
        "nice": os.nice(0),
        "python": platform.python_version(),
        "irfuzz": irfuzz.__version__,
    }
