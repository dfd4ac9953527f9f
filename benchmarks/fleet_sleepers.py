"""Agents whose program is a sleep: all of a fleet but mutation, targets and judging, so that exchange is measured.

A sleeper is a process that joins the store, registers, and synchronises its folder by the agent's own thread
(``irfuzz.fleet.synchronisation.SyncThread``), with a campaign's own database and blobs. In place of a campaign's job
stands a loop: sleep, draw the features that the program would have shown, and store it as a job does if one of them is
new here. Features are drawn from a Zipf law (``FeatureLaw``), the model is one of a real mutant with eight bytes of its
own, and its trace that mutant's. What a sleeper takes in is never run.

``python -m benchmarks.fleet_sleepers --store URL --blobs PLACE --out DIR`` is one such process, which ``run_sleepers``
starts; it waits for the file ``go`` beside its folder, which says from when to when programs count.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import onnx
from sqlalchemy import func, select

import irfuzz
from benchmarks.fleet_model import LOOK_EVERY, SLEEP, FeatureLaw, duplicate_share
from irfuzz.campaign.corpus.feature_holders import FeatureHolders
from irfuzz.campaign.corpus.known_programs import entries_after
from irfuzz.fleet.agent_registry import AgentState, join, register
from irfuzz.fleet.fleet_schema import AGENT, FEATURE, INTAKE, SHARED_PROGRAM
from irfuzz.fleet.shared_blobs import SharedBlobs
from irfuzz.fleet.store_connection import StoreConnection
from irfuzz.fleet.synchronisation import FolderSync, SyncThread
from irfuzz.mutate.feature_counts import features
from irfuzz.mutate.mutation_trace import Trace, parse_trace
from irfuzz.store.database import Database, ProgramRow

STORE_EVERY = 25
"""Programs after which a sleeper stores how far it is, if none of them was new."""

MODEL = '<ir_version: 8, opset_import: ["" : 17]> g (float[2, 3] x) => (float[2, 3] y) { a = Relu(x) y = Neg(a) }'
READY_SECONDS = 600.0


@dataclass(frozen=True, slots=True)
class SleeperFigures:
    """What a fleet of sleepers did while it was measured.

    Attributes:
        agents: how many there were.
        seconds: that programs were counted.
        rates: programs a second of each.
        given: rows of programs in the store at the end.
        taken: that agents took in.
        features: in the store.
        duplicates: share of given programs that showed nothing that the store did not have from another one.
        sync_seconds: mean time of a synchronisation.
        sync_cpu: share of a processor that synchronisation took of each agent.
    """

    agents: int
    seconds: float
    rates: list[float]
    given: int
    taken: int
    features: int
    duplicates: float
    sync_seconds: float
    sync_cpu: float


class SleepingJob:
    """What a sleeper does in place of a campaign's job.

    Args:
        database: of its folder.
        job: its number among all of the fleet, which decides what it draws.
        law: of features.
        seconds: of sleep for a program.
    """

    def __init__(self, database: Database, job: int, law: FeatureLaw, seconds: float = SLEEP) -> None:
        self._database, self._job, self._law, self._seconds = database, job, law, seconds
        self._ends = np.cumsum(law.weights())
        self._held: set[int] = set()
        self._number = self.programs = self.new = 0
        self._looked = -LOOK_EVERY
        self._mutant = next(iter(irfuzz.mutate([seed()], seed=1, n=1)))
        base = database.program(seed().digest)
        self._seed = base.digest
        self._model = database.programs.small_mutant(self._mutant.program.to_bytes(), base.digest, base.model)
        self._trace = parse_trace(self._mutant.trace).to_text()

    def one(self) -> None:
        """One program."""
        time.sleep(self._seconds)
        rng = np.random.default_rng((7, self._job, self.programs))
        shown = {int(n) + 1 for n in self._law.draw(self._ends, rng)[0]}
        self.programs += 1
        news = shown - self._held
        rows = [self._row(news)] if news else []
        self._held |= news
        self.new += len(rows)
        if rows or self.programs % STORE_EVERY == 0:
            self._database.record(0, self.programs, self.programs, {}, rows)
        if time.monotonic() - self._looked > LOOK_EVERY:
            self.look()

    def look(self) -> None:
        """Know what was taken in."""
        self._looked = time.monotonic()
        for entry in entries_after(self._database, self._number):
            self._number = entry.number
            self._held.update(np.frombuffer(entry.keys, np.uint64).tolist())

    def _row(self, news: set[int]) -> ProgramRow:
        own = hashlib.sha256(f"{self._job}-{self.programs}".encode())
        return ProgramRow(
            own.hexdigest(), self._model + own.digest()[:8], "s.onnx", self._seed, self._trace, len(news), 0,
            self.programs, nodes=2, cost=1, keys=np.array(sorted(news), np.uint64).tobytes(),
        )  # fmt: skip


def seed() -> irfuzz.Program:
    """The model that all sleepers begin with."""
    return irfuzz.load(onnx.parser.parse_model(MODEL))


def sleeping_folder(path: Path) -> Database:
    """The folder of a sleeper, with its seed."""
    path.mkdir(parents=True, exist_ok=True)
    database = Database(path / "campaign.sqlite")
    program = seed()
    keys = FeatureHolders().keys(features(program)).tobytes()
    row = ProgramRow(
        program.digest, database.programs.seed(program), "s.onnx", "", Trace.of_seed(program, "s.onnx").to_text(), 0,
        -1, 0, nodes=2, cost=1, keys=keys,
    )  # fmt: skip
    database.record(99, 0, 0, {}, [row])
    return database


def sleep_as_agent(args: argparse.Namespace) -> None:
    """Be a sleeper until the time in the file ``go`` has passed; prints what was counted."""
    store = StoreConnection(args.store, make=True)
    blobs = SharedBlobs(args.blobs)
    first, _ = join(store, None)
    database = sleeping_folder(args.out)
    job = SleepingJob(database, first, FeatureLaw(**json.loads(args.law)), args.sleep)
    account = register(store, args.out.name, first, ["reference"], 1)
    sync = FolderSync(store, blobs, database, account, ["reference"], args.out / "scratch")
    thread = SyncThread(sync, lambda text: print(text, file=sys.stderr), args.sync)
    thread.start()
    (args.out / "ready").touch()
    go = args.out.parent / "go"
    while not go.is_file():
        time.sleep(0.1)
    begin, end = json.loads(go.read_text())
    counted = 0
    while (now := time.time()) < end:
        job.one()
        counted += begin <= now and time.time() <= end
    sync.state = AgentState.ENDED
    thread.end(60.0)
    database.close()
    store.close()
    print(json.dumps({"rate": counted / (end - begin), "programs": job.programs, "new": job.new}))


def run_sleepers(
    store: str, folder: Path, agents: int, seconds: float, *, law: FeatureLaw, sync: float = 5.0, warm: float = 5.0
) -> SleeperFigures:
    """Run sleepers against a store, and say what they did.

    Args:
        store: URL of an empty one.
        folder: for their folders and blobs.
        agents: how many.
        seconds: that programs are counted.
        law: of features.
        sync: seconds between two synchronisations.
        warm: seconds that they work before they are counted.

    Raises:
        RuntimeError: one has failed, or did not start in time.
    """
    StoreConnection(store, make=True).close()
    # The package that this process has comes first: a checkout has no compiled modules.
    paths = [Path(irfuzz.__file__).parents[1], Path(__file__).parents[1]]
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, paths)), "OMP_NUM_THREADS": "1"}
    processes: list[subprocess.Popen[str]] = []
    try:
        for number in range(agents):
            words = [
                "--store", store, "--blobs", folder / "blobs", "--out", folder / f"s{number}", "--sync", sync,
                "--law", json.dumps({name: getattr(law, name) for name in FeatureLaw.__slots__}),
            ]  # fmt: skip
            processes.append(
                subprocess.Popen(
                    [sys.executable, "-P", "-m", "benchmarks.fleet_sleepers", *map(str, words)], env=env, text=True,
                    stdout=subprocess.PIPE,
                )
            )  # fmt: skip
        _wait_ready(folder, processes)
        begin = time.time() + warm
        draft = folder / "go.draft"
        draft.write_text(json.dumps([begin, begin + seconds]))
        draft.rename(folder / "go")
        told = [json.loads(process.communicate(timeout=warm + seconds + 300)[0]) for process in processes]
    finally:
        for process in processes:
            if process.poll() is None:
                process.kill()
    return _figures(store, seconds, [one["rate"] for one in told])


def _wait_ready(folder: Path, processes: Sequence[subprocess.Popen[str]]) -> None:
    until = time.monotonic() + READY_SECONDS
    while not all((folder / f"s{number}" / "ready").is_file() for number in range(len(processes))):
        if any(process.poll() is not None for process in processes):
            raise RuntimeError("a sleeper ended before it began")
        if time.monotonic() > until:
            raise RuntimeError(f"the sleepers did not begin within {READY_SECONDS:.0f} s")
        time.sleep(0.2)


def _figures(url: str, seconds: float, rates: list[float]) -> SleeperFigures:
    store = StoreConnection(url)
    try:
        with store.transaction() as connection:
            own = SHARED_PROGRAM.c.parent != ""
            given = connection.execute(select(func.count()).select_from(SHARED_PROGRAM).where(own)).scalar_one()
            taken = connection.execute(select(func.count()).select_from(INTAKE)).scalar_one()
            features = connection.execute(select(func.count()).select_from(FEATURE)).scalar_one()
            keys = connection.execute(
                select(SHARED_PROGRAM.c["keys"]).where(own).order_by(SHARED_PROGRAM.c.added)
            ).scalars()
            duplicates = duplicate_share([np.frombuffer(bytes(one), np.uint64).tolist() for one in keys])
            agents = connection.execute(select(AGENT)).all()
    finally:
        store.close()
    syncs = sum(agent.syncs for agent in agents)
    return SleeperFigures(
        len(rates), seconds, [round(rate, 2) for rate in rates], given, taken, features, round(duplicates, 4),
        round(sum(a.sync_seconds for a in agents) / max(1, syncs), 4),
        round(sum(a.sync_cpu for a in agents) / sum(a.heartbeat - a.started for a in agents), 4),
    )  # fmt: skip


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="One agent whose program is a sleep.")
    parser.add_argument("--store", required=True)
    parser.add_argument("--blobs", required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--sync", type=float, default=5.0)
    parser.add_argument("--sleep", type=float, default=SLEEP)
    parser.add_argument("--law", default="{}", help="JSON: fields of FeatureLaw")
    sleep_as_agent(parser.parse_args(argv))
    return 0


if __name__ == "__main__":
    sys.exit(main())
