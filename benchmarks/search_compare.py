"""The comparison of searches in full: shares of COMET's space over time, on several cores and seeds; it can be cut off.

    python -m benchmarks.search_compare --minutes 30 --seeds 5 -o search.json          # 15 hours
    python -m benchmarks.search_compare --minutes 30 --ours 10 --seeds 5 --modes dry -o search.json    # 6 hours
    python -m benchmarks.search_compare -o search.json --show

A unit is a search with a seed, without (``dry``) or with (``run``) running the programs on two levels of ONNXRuntime.
It has as many processes as cores, each with a corpus of its own; what they cover counts together. Where cores are for
other work, ``--cores 1`` compares the searches on one, and ``--first`` and ``--add`` let several runs share the
seeds. Minutes of ``dry`` are CPU time of each process, so that other work on the machine changes little; those of
``run`` are wall time. ``--ours`` is a shorter time for ``thompson``, enough to see when it has what ``mcmc`` ends
with. The file is written after each row, units that it holds whole are not run again, and one that was cut off begins
anew.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks.search import MOST_EDITS, SPROUTS, TARGETS, explore, reached, shown
from irfuzz.search.coverage.coverable_call_space import load
from irfuzz.search.coverage.operator_call_coverage import CRITERIA, Coverage
from irfuzz.search.coverage.uncovered_operator_calls import Frontier

SCHEMA = 1
SEARCHES = ("thompson", "mcmc", "random")
BASE = "mcmc"
OURS = "thompson"

CLOCK = {"dry": "cpu", "run": "seconds"}
"""What is the time of a row: CPU seconds of all processes, or seconds."""

Curve = list[dict[str, float]]


def minutes_of(name: str, args: argparse.Namespace) -> float:
    """How long a unit of a search takes."""
    return args.ours if name == OURS and args.ours is not None else args.minutes


def process(name: str, seed: str, state: Path, args: argparse.Namespace) -> None:
    """One process of a unit: it leaves its newest row, and what it covers, in a file."""

    def tell(row: dict[str, float], frontier: Frontier) -> None:
        part = state.with_suffix(".part")
        part.write_text(json.dumps({"row": row, "state": Coverage.state(frontier)}))
        part.replace(state)

    cores = sorted(os.sched_getaffinity(0))
    os.sched_setaffinity(0, {cores[int(seed.rpartition("/")[2]) % len(cores)]})
    limit = argparse.Namespace(
        programs=None,
        seconds=60.0 * minutes_of(name, args),
        sprouts=SPROUTS,
        edits=args.edits,
        every=args.every,
        run=args.run,
    )
    explore(name, seed, limit, tell)


def unit(name: str, seed: int, mode: str, args: argparse.Namespace) -> Iterator[tuple[dict[str, float], bool]]:
    """Rows of all processes together as they come, and whether that is the last."""
    with TemporaryDirectory() as folder:
        states = [Path(folder, f"{core}.json") for core in range(args.cores)]
        words = [
            *("--minutes", minutes_of(name, args), "--every", args.every, "--edits", args.edits, "--one", name),
            *(["--run"] if mode == "run" else []),
        ]
        running = [
            subprocess.Popen(
                [
                    sys.executable,
                    "-m",
                    "benchmarks.search_compare",
                    *map(str, words),
                    "--seed",
                    f"{seed}/{core}",
                    "-o",
                    path,
                ],
                stderr=path.with_suffix(".log").open("wb"),
            )
            for core, path in enumerate(states)
        ]
        try:
            last, known = -1.0, ()
            while True:
                over = all(one.poll() is not None for one in running)
                now = tuple(path.stat().st_mtime_ns for path in states if path.exists())
                row = together(states) if over or now != known else None
                known = now
                if row is not None and (over or row[CLOCK[mode]] >= last + args.every):
                    last = row[CLOCK[mode]]
                    yield row, over
                if over:
                    break
                time.sleep(min(1.0, args.every / 2))
        finally:
            for one in running:
                one.terminate()
                one.wait()
        for one, path in zip(running, states, strict=True):
            if one.returncode:
                print(path.with_suffix(".log").read_text(errors="replace")[-4000:], file=sys.stderr)
                raise SystemExit(f"{name}, seed {seed}, {mode}: a process ended with {one.returncode}")


def together(states: list[Path]) -> dict[str, float] | None:
    """What all processes have come to; ``None`` where one has not begun."""
    if not all(path.exists() for path in states):
        return None
    coverage, rows = Coverage(load()), []
    for path in states:
        told = json.loads(path.read_text())
        coverage.absorb(told["state"])
        rows.append(told["row"])
    sums = {key: sum(r.get(key, 0.0) for r in rows) for key in ("programs", "asked", "cpu", "kept", "run", "ran")}
    shares = coverage.shares()
    return {**sums, "seconds": max(r["seconds"] for r in rows), **{c: shares[c].ratio for c in CRITERIA}}


def table(units: dict[str, Any]) -> list[str]:
    """What each search came to, with the spread over seeds, and when it had what the base came to."""
    lines: list[str] = []
    for mode in dict.fromkeys(key.split("/")[2] for key in units):
        lines.append(f"{mode}: {'run on two levels of ONNXRuntime' if mode == 'run' else 'not run'}")
        for name in dict.fromkeys(key.split("/")[0] for key in units):
            whole = {k: u["curve"] for k, u in units.items() if k.startswith(f"{name}/") and k.endswith(f"/{mode}")}
            done = {k: c for k, c in whole.items() if units[k]["done"]}
            if not done:
                continue
            ends = [curve[-1] for curve in done.values()]
            parts = [f"programs {_spread([e['programs'] for e in ends], 0)}"]
            parts += [f"a CPU second {_spread([e['programs'] / e['cpu'] for e in ends], 1)}"]
            parts += [f"{c} {_spread([100 * e[c] for e in ends], 1)}%" for c in CRITERIA]
            if mode == "run":
                parts.append(f"ran on both {_spread([e['ran'] for e in ends], 0)}")
            lines.append(f"  {name:9} {len(ends)} seeds  " + "  ".join(parts))
            lines += _when(name, done, units)
    lines.append(
        f"wanted of thompson: {', '.join(f'{c} {100 * s:.0f}%' for c, s in TARGETS.items())}; "
        "a third of the time of mcmc; 500,000 programs not run or 150,000 run in 30 minutes on two cores"
    )
    return lines


def _when(name: str, done: dict[str, Curve], units: dict[str, Any]) -> list[str]:
    """When a search first had all that the base came to, as a part of the base's time."""
    parts: list[float] = []
    missed = 0
    for key, curve in done.items():
        base = units.get("/".join((BASE, *key.split("/")[1:])))
        if base is None or not base["done"]:
            continue
        end, clock = base["curve"][-1], CLOCK[key.split("/")[2]]
        at = reached(curve, {c: end[c] for c in CRITERIA}, clock)
        if at is None:
            missed += 1
        else:
            parts.append(at / end[clock])
    if not parts and not missed:
        return []
    found = f"at {_spread([100 * p for p in parts], 1)}% of its time" if parts else ""
    never = f"{missed} of {missed + len(parts)} seeds never" if missed else ""
    return [f"  {name:9} has all that {BASE} ends with: {', '.join(filter(None, (found, never)))}"]


def _spread(values: list[float], digits: int) -> str:
    if len(values) == 1:
        return f"{values[0]:,.{digits}f}"
    return f"{statistics.mean(values):,.{digits}f} ({min(values):,.{digits}f} to {max(values):,.{digits}f})"


def _write(path: Path, held: dict[str, Any]) -> None:
    part = path.with_suffix(".part")
    part.write_text(json.dumps({**held, "space": load().totals()}))
    part.replace(path)


def main() -> int:
    """See the module."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--searches", default=",".join(SEARCHES))
    parser.add_argument("--minutes", type=float, default=0.25, help="of each unit")
    parser.add_argument("--ours", type=float, help=f"of a unit of {OURS}, where that is less")
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--first", type=int, default=0, help="the first of the seeds")
    parser.add_argument("--modes", default="dry,run")
    parser.add_argument("--cores", type=int, default=2, help="processes of a unit")
    parser.add_argument("--edits", type=int, default=MOST_EDITS, help="most edits of a program")
    parser.add_argument("--every", type=float, default=10.0, help="seconds between two rows")
    parser.add_argument("--show", action="store_true", help="only print what the file holds")
    parser.add_argument("--add", type=Path, action="append", default=[], help="a file whose whole units are taken over")
    parser.add_argument("-o", "--out", type=Path, required=True)
    parser.add_argument("--one", help=argparse.SUPPRESS)
    parser.add_argument("--seed", help=argparse.SUPPRESS)
    parser.add_argument("--run", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.one:
        process(args.one, args.seed, args.out, args)
        return 0
    about = {"schema": SCHEMA, "minutes": args.minutes, "cores": args.cores, "edits": args.edits}
    held: dict[str, Any] = json.loads(args.out.read_text()) if args.out.exists() else {"about": about, "units": {}}
    if not args.show and held["about"] != about:
        parser.error(f"{args.out} holds {held['about']}, asked for is {about}; give another file")
    units = held["units"]
    for path in args.add:
        other = json.loads(path.read_text())
        if other["about"] != held["about"]:
            parser.error(f"{path} holds {other['about']}, {args.out} {held['about']}")
        units.update((key, one) for key, one in other["units"].items() if one["done"])
        _write(args.out, held)
    for seed in range(args.first, args.first + (0 if args.show else args.seeds)):
        for mode in args.modes.split(","):
            for name in args.searches.split(","):
                key = f"{name}/{seed}/{mode}"
                if units.get(key, {}).get("done"):
                    continue
                units[key] = {"done": False, "curve": []}
                for row, over in unit(name, seed, mode, args):
                    units[key]["curve"].append(row)
                    units[key]["done"] = over
                    _write(args.out, held)
                print(f"{key:18} {shown(units[key]['curve'][-1])}", file=sys.stderr, flush=True)
    print("\n".join(table(units)))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
