"""Kills agents and back ends of a fleet at random moments, and looks for what was lost, doubled or left behind.

``python -m benchmarks.fleet_kills [--agents 4] [--kills 10] [--pause 4] [--watch 1] [--sqlite] [--json FILE]``. Agents
of one machine share a PostgreSQL that is started here (``--sqlite``: a file), with a planted target that disagrees all
the time. Each kill is a ``kill -9`` of an agent, of its jobs or of a back end of the database, which then recovers from
a crash; or the database is away for some seconds. An agent that was killed is started again. The fleet has recovered
when its programs a second since then, over ``WINDOW`` seconds, are at least ``BACK`` of what they usually are; when
the agent that was hit judges programs again, or the store has heard of all, is told beside it. ``--watch 5`` waits for
that after every fifth kill only, and the others come while it recovers. Between kills the union of
features must not fall and no finding may go; in the end the fleet is drained, and each program and finding of each
folder must be in the store once, every blob that a row names there and no other after a sweep, and programs must
replay from their rows. Exit code 1 if that is not so.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import onnx
from sqlalchemy import select, text

import irfuzz
from benchmarks.fleet_throughput import programs_judged
from benchmarks.postgres_server import PostgresServer
from irfuzz.fleet.agent_registry import Orders, tell
from irfuzz.fleet.blob_sweep import missing_blobs, named_blobs, sweep_blobs
from irfuzz.fleet.fleet_schema import SHARED_FINDING, SHARED_PROGRAM, SIGHTING
from irfuzz.fleet.fleet_status import FleetStatus, fleet_status
from irfuzz.fleet.program_replay import replay_program
from irfuzz.fleet.shared_blobs import SharedBlobs
from irfuzz.fleet.store_connection import StoreConnection, StoreUnreachable
from irfuzz.isolate import linux
from irfuzz.store.database import Database, Status
from irfuzz.store.taken_programs import own_programs

ROOT = Path(__file__).resolve().parents[1]
PLANTED = f"{ROOT}/tests/planted_targets/faults.py:Picky"
TINY = '<ir_version: 8, opset_import: ["" : 17]> g (float[2, 3] x) => (float[2, 3] y) { a = Relu(x) y = Neg(a) }'
VICTIMS = ("agent", "agent and jobs", "jobs", "back end", "absence")
REPLAYED = 20
START_SECONDS = 240.0
WINDOW = 10.0
"""Seconds over which a rate is taken, at most."""

SHORTEST = 3.0
"""Seconds over which one is taken, at least."""

WARM = 60.0
"""Seconds after which the first kill comes: a campaign looks longer into the first findings than into later ones."""

BACK = 0.7
"""Part of the rate before; what the agents draw makes it vary more than a kill does."""


@dataclass
class FleetUnderTest:
    """Agents of one machine, and their store."""

    folder: Path
    url: str
    server: PostgresServer | None = None
    agents: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)

    def start(self, name: str, seconds: str = "1h") -> None:
        """Start an agent, or start it again."""
        words = [
            "agent", self.folder / "tiny.onnx", "--store", self.url, "--blobs", self.folder / "blobs", "--out",
            self.folder / name, "--jobs", 1, "--sync", 1, "--reduce", 0.5, "--time", seconds, "--targets",
            f"reference,onnxruntime:disabled,{PLANTED}",
        ]  # fmt: skip
        env = {**os.environ, "PYTHONPATH": str(Path(irfuzz.__file__).parents[1]), "OMP_NUM_THREADS": "1"}
        with (self.folder / f"{name}.log").open("ab") as log:
            self.agents[name] = subprocess.Popen(
                [sys.executable, "-P", "-m", "irfuzz", *map(str, words)], cwd=self.folder, env=env,
                stdin=subprocess.DEVNULL, stdout=log, stderr=log,
            )  # fmt: skip

    def store(self) -> StoreConnection:
        """The store, opened anew."""
        return StoreConnection(self.url)

    def status(self) -> FleetStatus | None:
        """What the store says; ``None`` if it is away."""
        try:
            store = self.store()
            try:
                return fleet_status(store)
            finally:
                store.close()
        except StoreUnreachable:
            return None

    def silent(self) -> float:
        """The longest time for which the store has not heard of an agent, in seconds."""
        status = self.status()
        return math.inf if status is None else max((one.silent for one in status.agents), default=math.inf)

    def jobs_of(self, name: str) -> list[int]:
        """Processes below an agent."""
        return linux.descendants(self.agents[name].pid)

    def kill(self, whom: str, dice: random.Random) -> tuple[str, bool]:
        """Kill somebody; the agent that is hit, empty if all are, and whether it has to start again."""
        name = dice.choice(sorted(self.agents))
        if whom in ("agent", "agent and jobs"):
            below = self.jobs_of(name) if whom == "agent and jobs" else []
            for pid in (self.agents[name].pid, *below):
                _kill(pid)
            self.agents[name].wait()
            return name, True
        if whom == "jobs":
            for pid in self.jobs_of(name)[:1]:
                _kill(pid)
            return name, False
        if self.server is not None and whom == "back end":
            store = self.store()
            with store.transaction() as connection:
                query = text(
                    "select pid from pg_stat_activity where application_name = 'irfuzz' and pid != pg_backend_pid()"
                )
                pids = list(connection.execute(query).scalars())
            store.close()
            if pids:
                _kill(dice.choice(pids))
        elif self.server is not None:
            self.server.stop()
            time.sleep(dice.uniform(1, 8))
            self.server.start()
        return "", False

    def revive(self) -> int:
        """Start again what has ended by itself, as service managers do; how many that were."""
        ended = [name for name, process in self.agents.items() if process.poll() is not None]
        for name in ended:
            self.start(name)
        return len(ended)

    def drain(self, seconds: float = 240.0) -> list[str]:
        """Let all agents end by themselves; what went wrong."""
        store = self.store()
        tell(store, Orders.DRAIN)
        store.close()
        wrong: list[str] = []
        for name, process in self.agents.items():
            try:
                code = process.wait(seconds)
            except subprocess.TimeoutExpired:
                wrong.append(f"{name} did not drain in {seconds:.0f} s")
                process.kill()
                continue
            if code:
                wrong.append(f"{name} ended with {code}: {(self.folder / f'{name}.log').read_text()[-300:]}")
        return wrong

    def end(self) -> None:
        """End whatever still runs."""
        for name, process in self.agents.items():
            if process.poll() is None:
                below = self.jobs_of(name)
                process.kill()
                process.wait()
                for pid in below:
                    _kill(pid)


def _kill(pid: int) -> None:
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return


def what_is_wrong(fleet: FleetUnderTest, *, replayed: int = REPLAYED) -> tuple[list[str], dict[str, Any]]:
    """Hold the store against the folders of agents that have ended; what is wrong, and figures."""
    store = fleet.store()
    blobs = SharedBlobs(str(fleet.folder / "blobs"))
    with store.transaction() as connection:
        programs = connection.execute(
            select(SHARED_PROGRAM.c.agent, SHARED_PROGRAM.c.sequence, SHARED_PROGRAM.c.digest)
        ).all()
        sightings = connection.execute(select(SIGHTING)).all()
        signatures = set(connection.execute(select(SHARED_FINDING.c.signature)).scalars())
    given = {(row.agent, row.sequence): row.digest for row in programs}
    seen = {(row.agent, row.number): (row.signature, row.times) for row in sightings}
    wrong: list[str] = []
    for name in fleet.agents:
        about = json.loads((fleet.folder / name / "agent.json").read_text())
        wrong += _folder_against_store(fleet.folder / name, about["name"], given, seen)
    named = {row.signature for row in sightings}
    wrong += [f"finding {one!r} has no sighting" for one in signatures - named]
    wrong += [f"sighting of {one!r}, which is no finding" for one in named - signatures]
    wrong += [f"blob {digest} is missing" for digest in missing_blobs(store, blobs)]
    orphans = sweep_blobs(store, blobs, grace=-5.0)
    left = {digest for digest, _ in blobs.digests()} - named_blobs(store)
    wrong += [f"blob {digest} is an orphan after the sweep" for digest in left]
    for row in random.Random(0).sample(programs, min(replayed, len(programs))):
        try:
            replay_program(store, blobs, row.agent, row.sequence)
        except irfuzz.IrfuzzError as error:
            wrong.append(f"program {row.sequence} of {row.agent} does not replay: {error}")
    store.close()
    figures = {
        "programs given": len(programs), "different ones": len({row.digest for row in programs}),
        "findings": len(signatures), "sightings": len(sightings), "blobs swept": orphans,
        "replayed": min(replayed, len(programs)),
    }  # fmt: skip
    return wrong, figures


def _folder_against_store(
    out: Path, agent: str, given: dict[tuple[str, int], str], seen: dict[tuple[str, int], tuple[str, int]]
) -> list[str]:
    database = Database(out / "campaign.sqlite")
    own = own_programs(database, 0, 1 << 40)
    wrong = [
        f"program {number} of {agent} is not in the store"
        for number, row in own
        if given.get((agent, number)) != row.digest
    ]
    for row in database.findings(bare=True):
        expected = None if row.status == Status.EXPLAINED else (row.signature, row.times)
        if seen.get((agent, row.number)) != expected:
            wrong.append(f"finding {row.number} of {agent}: {expected} in its folder, {seen.get((agent, row.number))}")
    wrong += [
        f"{agent} has seen {other.signature!r} {other.times} times, which the store does not know"
        for other in database.marks.seen_elsewhere()
        if seen.get((agent, -other.number)) != (other.signature, other.times)
    ]
    database.close()
    return wrong


@dataclass
class KillsReport:
    """What was seen between the kills."""

    kills: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)
    recovery: list[tuple[str, float, float]] = field(default_factory=list)
    usual: float = 0.0
    revived: int = 0
    features: int = 0
    findings: set[str] = field(default_factory=set)

    def look(self, status: FleetStatus | None) -> None:
        """Hold what the store says against what it said before."""
        if status is None:
            return
        if status.features < self.features:
            self.wrong.append(f"coverage fell from {self.features} to {status.features}")
        confirmed = {f.signature for f in status.findings if not f.suspect and f.status == Status.CONFIRMED}
        self.wrong += [f"finding {one!r} is gone" for one in self.findings - confirmed]
        self.features, self.findings = status.features, confirmed


class FleetRate:
    """Programs a second of a fleet, from the agents' own folders: what a store is told comes late after an absence."""

    def __init__(self, fleet: FleetUnderTest) -> None:
        self._fleet = fleet
        self._usual_programs, self._usual_seconds = 0, 0.0

    @property
    def usual(self) -> float:
        """Over all the time in which nobody recovered."""
        return self._usual_programs / max(1e-9, self._usual_seconds)

    def programs(self) -> dict[str, int]:
        """Judged so far, by the name of the folder."""
        return {name: programs_judged(self._fleet.folder / name / "campaign.sqlite") for name in self._fleet.agents}

    def undisturbed(self, seconds: float) -> None:
        """Let the fleet work, and count what it does."""
        before, began = sum(self.programs().values()), time.monotonic()
        time.sleep(seconds)
        self._usual_programs += sum(self.programs().values()) - before
        self._usual_seconds += time.monotonic() - began

    def wait_until_all_work(self, seconds: float) -> bool:
        """Whether every agent has judged programs before that time is over."""
        until = time.monotonic() + seconds
        while not all(self.programs().values()):
            if time.monotonic() > until:
                return False
            time.sleep(0.5)
        return True

    def recovered(self, hit: str, seconds: float) -> tuple[float, float] | None:
        """Seconds until the rate is back, and until who was hit works again; ``None`` if that does not come.

        Args:
            hit: the agent that has to judge new programs; empty: the store has to hear of all of them.
            seconds: most of them.
        """
        began, back, works = time.monotonic(), 0.0, 0.0
        seen = [(began, self.programs())]
        while (now := time.monotonic()) < began + seconds:
            seen.append((now, self.programs()))
            then, before = next(one for one in seen if one[0] >= now - WINDOW)
            judged = sum(seen[-1][1].values()) - sum(before.values())
            if not back and now - then >= SHORTEST and judged >= BACK * self.usual * (now - then):
                back = now - began
            if not works and (seen[-1][1][hit] > seen[0][1][hit] if hit else self._fleet.silent() < now - began):
                works = now - began
            if back and works:
                return back, works
            time.sleep(0.5)
        return None


def run(
    fleet: FleetUnderTest, agents: int, kills: int, dice: random.Random, pause: float, watch: int = 1
) -> KillsReport:
    """Start agents, and kill; after each ``watch``th kill wait for the rate to come back."""
    report, rate = KillsReport(), FleetRate(fleet)
    for number in range(agents):
        fleet.start(f"a{number}")
    if not rate.wait_until_all_work(START_SECONDS):
        report.wrong.append(f"not all agents worked within {START_SECONDS:.0f} s")
    victims = VICTIMS if fleet.server is not None else VICTIMS[:3]
    rate.undisturbed(WARM)
    for number in range(kills):
        if number % watch:
            time.sleep(dice.uniform(0.1, pause))
        else:  # the fleet has recovered from the last one
            rate.undisturbed(WINDOW + dice.uniform(0.1, pause))
        report.revived += fleet.revive()
        report.look(fleet.status())
        whom = dice.choice(victims)
        report.kills[whom] += 1
        hit, again = fleet.kill(whom, dice)
        if again:
            fleet.start(hit)
        if number % watch < watch - 1:
            continue
        took = rate.recovered(hit, START_SECONDS)
        if took is None:
            report.wrong.append(f"the rate was not back {START_SECONDS:.0f} s after a kill of {whom}")
        else:
            report.recovery.append((whom, round(took[0], 1), round(took[1], 1)))
            print(f"kill {number + 1}: {report.recovery[-1]}, usually {rate.usual:.2f}/s", flush=True)
    report.usual = round(rate.usual, 2)
    report.look(fleet.status())
    return report


def summary(values: Sequence[float]) -> dict[str, float]:
    """The median, what nine of ten stay below, and the largest."""
    if not values:
        return {}
    ranked = sorted(values)
    return {"median": ranked[len(ranked) // 2], "0.9": ranked[int(0.9 * (len(ranked) - 1))], "most": ranked[-1]}


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Kill agents and back ends of a fleet.")
    parser.add_argument("--agents", type=int, default=4)
    parser.add_argument("--kills", type=int, default=10)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--pause", type=float, default=4.0, help="most seconds between two kills")
    parser.add_argument("--watch", type=int, default=1, help="wait for recovery after each so manieth kill")
    parser.add_argument("--sqlite", action="store_true")
    parser.add_argument("--json", type=Path)
    args = parser.parse_args(argv)
    folder = Path(tempfile.mkdtemp(prefix="irfuzz-fleet-kills-"))
    onnx.save(onnx.parser.parse_model(TINY), folder / "tiny.onnx")
    server = None if args.sqlite else PostgresServer.begin()
    url = f"sqlite:///{folder}/fleet.sqlite" if server is None else server.database()
    fleet = FleetUnderTest(folder, url, server)
    began = time.monotonic()
    try:
        report = run(fleet, args.agents, args.kills, random.Random(args.seed), args.pause, args.watch)
        report.wrong += fleet.drain()
        more, figures = what_is_wrong(fleet)
    finally:
        fleet.end()
        if server is not None:
            server.end()
    wrong = [*report.wrong, *more]
    result = {
        "agents": args.agents, "store": "sqlite" if server is None else "postgresql", "kills": dict(report.kills),
        "seconds": round(time.monotonic() - began), "ended by themselves": report.revived, "programs/s": report.usual,
        "rate back, s": summary([row[1] for row in report.recovery]),
        "who was hit works again, s": summary([row[2] for row in report.recovery]), "each": report.recovery,
        "features": report.features, **figures, "wrong": wrong,
    }  # fmt: skip
    print(json.dumps(result, indent=1))
    if args.json:
        args.json.write_text(json.dumps(result, indent=1) + "\n")
    if not wrong:
        shutil.rmtree(folder)
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
