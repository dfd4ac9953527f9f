"""Random calls of the embedded mutator: speed, memory, size limits, damaged input, equal bytes in two processes.

Run ``python -m benchmarks.embedding.calls [-n 20000] [--seed 1] [--loose 0.7] [--json]``; a fifth of the calls get
damaged input, and ``-n 1000000`` shows that memory stays flat. Exit 1 where a call
raised, gave more than it was allowed, or other bytes in another process.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import random
import statistics
import subprocess
import sys
import time
from collections.abc import Generator
from pathlib import Path
from typing import Any

from benchmarks.throughput import model
from irfuzz.embed.mutator import LOOSE, ModelMutator

DAMAGED = 0.2
"""Share of the calls on bytes that are no model any more."""

SMALL = (0, 1, 64, 1000, 3000)
"""Sizes that few models fit into."""

POOL = 64
"""Models among which a call draws its parent; mutants take the places of old ones, as in a fuzzer's queue."""


def damage(data: bytes, rng: random.Random) -> bytes:
    """A model cut off, with bytes flipped, pieces moved, or none at all."""
    kind = rng.randrange(5)
    if kind == 0 or not data:
        return data[: rng.randrange(len(data) + 1)]
    if kind == 1:
        return rng.randbytes(rng.randrange(200))
    made = bytearray(data)
    if kind == 2:
        for _ in range(rng.randint(1, 16)):
            made[rng.randrange(len(made))] ^= 1 << rng.randrange(8)
    elif kind == 3:
        at, length = rng.randrange(len(made)), rng.randrange(64)
        del made[at : at + length]
    else:
        at, length = rng.randrange(len(made)), rng.randrange(64)
        made[at:at] = made[:length]
    return bytes(made)


def calls(count: int, seed: int) -> Generator[tuple[bytes, int, int, bool], bytes, None]:
    """``(data, max_size, seed, damaged)`` of each call; the answers are sent in, as bytes."""
    rng = random.Random(seed)
    pool = [model(10)]
    for number in range(count):
        data = rng.choice(pool)
        damaged = rng.random() < DAMAGED
        if damaged:
            data = damage(data, rng)
        most = rng.choice(SMALL) if rng.random() < 0.1 else rng.choice((len(data), 20_000, 1_000_000))
        answer = yield data, most, number, damaged
        if not damaged and most >= len(data) and len(answer) <= 20_000:
            if len(pool) < POOL:
                pool.append(answer)
            else:
                pool[rng.randrange(POOL)] = answer if rng.random() < 0.9 else model(10)


def run(count: int, seed: int, loose: float = 0.0) -> dict[str, Any]:
    """All calls in this process; what went wrong, and a digest of all answers."""
    mutator = ModelMutator(loose=loose)
    found: dict[str, Any] = {"calls": count, "damaged": 0, "too long": 0, "raised": []}
    digest = hashlib.sha256()
    memory: list[int] = []
    stream = calls(count, seed)
    try:
        data, most, number, damaged = next(stream)
        while True:
            found["damaged"] += damaged
            try:
                answer = mutator.mutate(data, most, number)
            except Exception as error:  # noqa: BLE001 - what this program is for
                found["raised"].append(f"call {number}: {type(error).__name__}: {error}")
                answer = b""
            found["too long"] += len(answer) > most
            digest.update(len(answer).to_bytes(8, "little") + answer)
            if number % max(1, count // 10) == 0:
                memory.append(_resident())
            data, most, number, damaged = stream.send(answer)
    except StopIteration:
        pass
    found.update(digest=digest.hexdigest(), resident_mib=memory, counts=dict(mutator.counts))
    return found


def rate(seconds: float, loose: float = 0.0) -> dict[str, float]:
    """Mutations a second of CPU time on one ten-node model, from bytes to bytes, in slices; the median and the best."""
    mutator, data = ModelMutator(loose=loose), model(10)
    for number in range(200):
        mutator.mutate(data, 1_000_000, number)
    rates: list[float] = []
    fresh: list[float] = []
    number = 10_000
    for _ in range(10):
        start, done = time.process_time(), 0
        while time.process_time() - start < seconds / 10:
            mutator.mutate(data, 1_000_000, number)
            number, done = number + 1, done + 1
        rates.append(done / (time.process_time() - start))
        start, done = time.process_time(), 0
        while time.process_time() - start < seconds / 10:
            mutator.forget()
            mutator.mutate(data, 1_000_000, number)
            number, done = number + 1, done + 1
        fresh.append(done / (time.process_time() - start))
    return {
        "median a second": round(statistics.median(rates)),
        "best a second": round(max(rates)),
        "median a second, parent parsed anew each time": round(statistics.median(fresh)),
    }


def _resident() -> int:
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * 4096 >> 20


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("-n", type=int, default=20_000, help="calls")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=10.0, help="for the rate")
    parser.add_argument("--loose", type=float, default=LOOSE, help="share of loose mutants; as under a fuzzer")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--only-digest", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.only_digest:
        print(run(args.n, args.seed, args.loose)["digest"])
        return
    found = run(args.n, args.seed, args.loose)
    again = min(args.n, 5000)
    command = [sys.executable, "-m", "benchmarks.embedding.calls", "-n", str(again), "--seed", str(args.seed)]
    command += ["--loose", str(args.loose)]
    there = subprocess.run([*command, "--only-digest"], capture_output=True, text=True, check=True).stdout.strip()
    here = found["digest"] if again == args.n else run(again, args.seed, args.loose)["digest"]
    found["equal in another process"] = there == here
    found["rate"] = rate(args.seconds, args.loose)
    if args.json:
        print(json.dumps(found))
    else:
        for name, value in found.items():
            print(f"{name}: {value}")
    raise SystemExit(bool(found["raised"] or found["too long"] or not found["equal in another process"]))


if __name__ == "__main__":
    main()
