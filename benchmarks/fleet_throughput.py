"""Two agents of one job on PostgreSQL against one local campaign of two jobs: programs a second, in alternating pairs.

``python -m benchmarks.fleet_throughput [--pairs 5] [--seconds 120] [--warm 20] [--agents 2] [--seeds seeds]
[--json FILE]``. Both sides run the same seeds on ONNXRuntime without and with optimisation, in new folders; they are
counted once every job has judged some programs and ``--warm`` seconds have passed, so that the start of processes
does not count. A job makes faults small for tens of seconds at a time, so a window of less than two minutes says
little. The database runs on the same cores, and is counted with them: what is printed is the ratio of each pair and the
median, processor time of the database, and the share of a processor that synchronisation took in the agents. Exit code
1 if the median of the ratios is below 0.9. A quiet machine is needed: what else runs there meets both sides, but not
alike.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import irfuzz
from benchmarks.fleet_costs import database_cpu, machine
from benchmarks.postgres_server import PostgresServer
from irfuzz.fleet.fleet_status import fleet_status
from irfuzz.fleet.store_connection import StoreConnection
from irfuzz.isolate import linux

TARGETS = "onnxruntime:disabled,onnxruntime:all"
ENOUGH = 0.9
WARM = 50
"""Programs of each folder before it is counted."""

START_SECONDS = 900.0


class Running:
    """Processes of irfuzz with a campaign's folder each."""

    def __init__(self, folder: Path, commands: Sequence[Sequence[object]]) -> None:
        env = {**os.environ, "PYTHONPATH": str(Path(irfuzz.__file__).parents[1]), "OMP_NUM_THREADS": "1"}
        self._outs = [folder / f"out{number}" for number in range(len(commands))]
        self._log = (folder / "log").open("ab")
        self._processes = [
            subprocess.Popen(
                [sys.executable, "-P", "-m", "irfuzz", *map(str, words), "--out", str(out)], cwd=folder, env=env,
                stdin=subprocess.DEVNULL, stdout=self._log, stderr=self._log,
            )
            for words, out in zip(commands, self._outs, strict=True)
        ]  # fmt: skip

    def programs(self) -> list[int]:
        """Judged so far, of each folder."""
        return [programs_judged(out / "campaign.sqlite") for out in self._outs]

    def wait_until_warm(self) -> None:
        """Wait until all have judged some programs.

        Raises:
            RuntimeError: one has ended, or they take too long.
        """
        until = time.monotonic() + START_SECONDS
        while min(self.programs()) < WARM:
            if any(process.poll() is not None for process in self._processes) or time.monotonic() > until:
                raise RuntimeError(f"{self.programs()} programs: {Path(self._log.name).read_text()[-500:]}")
            time.sleep(0.5)

    def end(self) -> None:
        """End all as service managers do, and after a minute for good."""
        for process in self._processes:
            if process.poll() is None:
                process.send_signal(signal.SIGTERM)
        for process in self._processes:
            try:
                process.wait(90)
            except subprocess.TimeoutExpired:
                for pid in (*linux.descendants(process.pid), process.pid):
                    os.kill(pid, signal.SIGKILL)
                process.wait()
        self._log.close()


def programs_judged(database: Path) -> int:
    """How many programs a campaign has judged so far; 0 until its database is there."""
    if not database.is_file():
        return 0
    try:
        with closing(sqlite3.connect(f"{database.resolve().as_uri()}?mode=ro", uri=True)) as base:
            return int(base.execute("select coalesce(sum(programs), 0) from tally").fetchone()[0])
    except sqlite3.OperationalError:  # it is being made
        return 0


def measured(running: Running, seconds: float) -> float:
    """Programs a second of all from now on."""
    before, began = sum(running.programs()), time.monotonic()
    time.sleep(seconds)
    return (sum(running.programs()) - before) / (time.monotonic() - began)


def local(seeds: Path, jobs: int, warm: float, seconds: float) -> float:
    """Programs a second of one campaign."""
    with tempfile.TemporaryDirectory(prefix="irfuzz-fleet-local-") as place:
        words = ["fuzz", seeds, "--jobs", jobs, "--time", "2h", "--targets", TARGETS, "--quiet"]
        running = Running(Path(place), [words])
        try:
            running.wait_until_warm()
            time.sleep(warm)
            return measured(running, seconds)
        finally:
            running.end()


def fleet(server: PostgresServer, seeds: Path, agents: int, warm: float, seconds: float) -> dict[str, float]:
    """Programs a second of agents of one job each, and what database and synchronisation took."""
    url = server.database()
    store = StoreConnection(url, make=True)
    with tempfile.TemporaryDirectory(prefix="irfuzz-fleet-agents-") as place:
        words = ["agent", seeds, "--store", url, "--blobs", Path(place) / "blobs", "--targets", TARGETS, "--quiet"]
        running = Running(Path(place), [[*words, "--jobs", 1, "--time", "2h"]] * agents)
        try:
            running.wait_until_warm()
            time.sleep(warm)
            before, cpu, began = fleet_status(store), database_cpu(server), time.monotonic()
            rate = measured(running, seconds)
            took, after, cpu = time.monotonic() - began, fleet_status(store), database_cpu(server) - cpu
        finally:
            running.end()
            store.close()
    synchronised = sum(a.sync_cpu for a in after.agents) - sum(a.sync_cpu for a in before.agents)
    return {
        "programs/s": rate,
        "database, share of a processor": cpu / took,
        "synchronisation, share of a processor": synchronised / took,
        "programs given": after.given,
        "taken in": after.taken,
    }


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Compare a fleet of one machine with a campaign there.")
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=120.0)
    parser.add_argument("--warm", type=float, default=20.0, help="seconds of work before programs are counted")
    parser.add_argument("--agents", type=int, default=2)
    parser.add_argument("--seeds", type=Path, default=Path("seeds"))
    parser.add_argument("--json", type=Path)
    args = parser.parse_args(argv)
    seeds = args.seeds.resolve()
    server = PostgresServer.begin()
    pairs: list[dict[str, Any]] = []
    try:
        for number in range(args.pairs):
            order = ("local", "fleet") if number % 2 == 0 else ("fleet", "local")
            pair: dict[str, Any] = {}
            for side in order:
                if side == "local":
                    pair["local, programs/s"] = local(seeds, args.agents, args.warm, args.seconds)
                else:
                    pair |= fleet(server, seeds, args.agents, args.warm, args.seconds)
            pair["ratio"] = pair["programs/s"] / max(1e-9, pair["local, programs/s"])
            pairs.append({name: round(value, 4) for name, value in pair.items()})
            print(json.dumps(pairs[-1]), flush=True)
    finally:
        server.end()
    median = statistics.median(pair["ratio"] for pair in pairs)
    result = {"machine": machine(), "agents": args.agents, "pairs": pairs, "median of ratios": round(median, 3)}
    print(json.dumps(result, indent=1))
    if args.json:
        args.json.write_text(json.dumps(result, indent=1) + "\n")
    return int(median < ENOUGH)


if __name__ == "__main__":
    sys.exit(main())
