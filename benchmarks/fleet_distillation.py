"""Measures the distillation of a fleet's store: seconds, memory, and whether every feature is still brought.

Rows are made as campaigns make them: each program has features of a heavy-tailed draw and a cost, an agent gives it if
it brings some that the agent does not know or knows at a price beyond a quarter more, and agents hear of each other
every few hundred programs. Traces and models are noise of the sizes that rows of campaigns have; models are not stored.

Run ``python -m benchmarks.fleet_distillation [--programs 100000] [--postgres]``; it prints JSON.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import resource
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from sqlalchemy import select

from benchmarks.postgres_server import PostgresServer
from irfuzz.campaign.corpus.feature_holders import CHEAPER
from irfuzz.fleet.agent_registry import register
from irfuzz.fleet.fleet_schema import SHARED_PROGRAM
from irfuzz.fleet.store_connection import StoreConnection
from irfuzz.fleet.upkeep.corpus_distillation import distil

AGENTS = 8
"""That have made the programs."""

UNIVERSE = 300_000
"""Features that there are."""

TYPICAL, SPREAD = 45, 0.9
"""Median of the features of a program, and the width of their lognormal draw."""

SEEDS = 200
"""Programs that are seeds."""

HEAR = 200
"""Programs after which an agent hears what the others hold."""

TRACE = 1500
"""Bytes of a compressed trace."""


class _Maker:
    """Makes programs one by one, as one agent would give them."""

    def __init__(self, draws: np.random.Generator, keys: npt.NDArray[np.uint64], shared: npt.NDArray[np.int64]) -> None:
        self._draws, self._keys, self._shared = draws, keys, shared
        self._known = shared.copy()
        self._made = 0

    def made(self) -> tuple[int, bytes, int]:
        """Cost and keys of the next program, and how many of them were new to its agent."""
        if self._made % HEAR == 0:
            np.minimum(self._known, self._shared, out=self._known)
        while True:
            count = max(3, min(3000, int(self._draws.lognormal(np.log(TYPICAL), SPREAD))))
            found = np.unique((self._draws.pareto(0.35, count) * 40).clip(0, 1e12).astype(np.int64) % UNIVERSE)
            cost = int(8 * self._draws.integers(1, 60) + self._draws.integers(1, 200))
            brought = found[cost <= CHEAPER * self._known[found]]
            if len(brought):
                break
        new = int((self._known[brought] == np.iinfo(np.int64).max).sum())
        self._known[brought] = cost
        self._shared[brought] = np.minimum(self._shared[brought], cost)
        self._made += 1
        return cost, np.sort(self._keys[brought]).tobytes(), new


def fill(store: StoreConnection, programs: int) -> int:
    """Store rows of made-up programs; how many features they bring together.

    Args:
        store: empty.
        programs: how many.
    """
    draws = np.random.default_rng(0)
    keys = draws.integers(0, 1 << 63, UNIVERSE, dtype=np.uint64)
    shared = np.full(UNIVERSE, np.iinfo(np.int64).max)
    makers = [_Maker(np.random.default_rng(n + 1), keys, shared) for n in range(AGENTS)]
    names = [f"agent{n}" for n in range(AGENTS)]
    for number, name in enumerate(names):
        register(store, name, 256 * number, ["reference"], 1)
    noise = draws.bytes(1 << 20)
    rows: list[dict[str, Any]] = []
    for number in range(programs):
        cost, found, new = makers[number % AGENTS].made()
        at = number * 7919 % (len(noise) - TRACE)
        rows.append(
            {
                "agent": names[number % AGENTS], "sequence": number // AGENTS + 1, "digest": f"{number:064x}",
                "seed": "s.onnx", "parent": "" if number < SEEDS else f"{number % SEEDS:064x}", "job": number % AGENTS,
                "iteration": number, "features": new, "nodes": cost // 8 + 1, "cost": cost, "keys": found,
                "trace": noise[at : at + TRACE], "blob": f"{number:064x}", "size": 4000, "weights": "[]", "added": 1.0,
            }
        )  # fmt: skip
        if len(rows) == 5000 or number + 1 == programs:
            with store.transaction() as connection:
                connection.execute(SHARED_PROGRAM.insert(), rows)
            rows = []
    return int((shared < np.iinfo(np.int64).max).sum())


def features_left(store: StoreConnection) -> int:
    """How many features the programs bring together that are not dropped."""
    with store.transaction() as connection:
        rows = connection.execute(select(SHARED_PROGRAM.c["keys"]).where(SHARED_PROGRAM.c.dropped == 0)).scalars()
        return len(np.unique(np.frombuffer(b"".join(map(bytes, rows)), np.uint64)))


def measured(url: str, told: Any) -> None:
    """Distil a store in this process, and send what that took."""
    store = StoreConnection(url)
    began, cpu = time.monotonic(), time.process_time()
    found = distil(store)
    seconds, used = time.monotonic() - began, time.process_time() - cpu
    store.close()
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    told.put({**found.to_json(), "seconds": round(seconds, 1), "cpu": round(used, 1), "MB": round(most)})


def main() -> None:
    """Fill a store, distil it in a process of its own, and print what that took."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--programs", type=int, default=100_000)
    parser.add_argument("--postgres", action="store_true", help="PostgreSQL in a temporary folder instead of SQLite")
    args = parser.parse_args()
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="irfuzz-distil-")))
        url = f"sqlite:///{folder}/fleet.sqlite"
        if args.postgres:
            server = PostgresServer.begin()
            stack.callback(server.end)
            url = server.database()
        store = StoreConnection(url, make=True)
        stack.callback(store.close)
        features = fill(store, args.programs)
        context = multiprocessing.get_context("spawn")
        told = context.Queue()
        process = context.Process(target=measured, args=(url, told))
        process.start()
        found = told.get()
        process.join()
        kept = features_left(store)
        print(json.dumps({"store": store.name.partition(":")[0], **found, "made": features, "kept": kept}))
        if not features == found["features"] == kept:
            raise SystemExit("features were lost")


if __name__ == "__main__":
    main()
