"""Ages the folder of a campaign to many programs and measures how a job resumes there, and how fast it goes on.

``python -m benchmarks.aged_campaign [--entries 100000] [--own 8] [--programs 1000] [--out FOLDER] [--json FILE]`` runs
a campaign on the shipped seeds on two levels of ONNXRuntime and fills a copy of its folder with programs: real ones of
the campaign under digests that differ, each holding ``--own`` features of its own, as a job would have stored them.
Then a job resumes in each folder. Told are the seconds until it could draw its first program, its memory then and at
the end, and the CPU time of a program that is made, counted and stored. Programs are not run, and CPU time is what
counts, so that the figures do not depend on what else the machine does. Exit code 1 if the job of the aged folder takes
two seconds to resume, or 400 MB, or a tenth more for a program than that of the fresh one.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from irfuzz.api.fuzz import FuzzOptions, fuzz
from irfuzz.campaign.config import Layout
from irfuzz.campaign.corpus.feature_count_memory import FEATURES
from irfuzz.campaign.corpus.testcase import Testcase
from irfuzz.campaign.differential_strategy import Differential
from irfuzz.campaign.job import Job
from irfuzz.campaign.loop import ROUND
from irfuzz.choices import Choices
from irfuzz.shipped_folders import seeds_dir
from irfuzz.store.database import Database

TARGETS = ("onnxruntime:disabled", "onnxruntime:all")
SECONDS, MEMORY, SLOWER = 2.0, 400e6, 1.1
"""What a resume may take, a job, and a program of the aged folder beside one of the fresh one."""

BATCH = 1000


def age(out: Path, entries: int, own: int, seed: int = 0) -> None:
    """Fill a campaign's folder up to so many programs; the job of it is made to remember them.

    Args:
        out: of a campaign that nobody runs. Its mutants are used in turn, under another producer's name each, so that
            no two have the same bytes.
        entries: programs that the corpus is to have.
        own: features that each of the new ones holds.
        seed: of the features' keys.
    """
    database = Database(Layout(out).database)
    known = [row for row in database.index.after(0) if not row.original][:BATCH]
    models = [replace(database.program(row.digest), nodes=row.nodes, cost=row.cost) for row in known]
    draw, number = np.random.default_rng(seed), 0
    missing = entries - database.corpus_size()
    job = database.tally(0)
    while missing > 0:
        rows = []
        for _ in range(min(BATCH, missing)):
            keys = draw.integers(0, 1 << 63, own, np.uint64).tobytes()
            rows.append(replace(models[number % len(models)], digest=f"{number:064x}", keys=keys))
            number += 1
        database.record(0, *job, rows)
        missing -= len(rows)
    text = json.loads(database.settings()[f"{FEATURES}0"])
    text["corpus"]["number"] = max(row.number for row in database.index.after(0))
    database.set(f"{FEATURES}0", json.dumps(text))
    database.close()


def go_on(out: Path, programs: int) -> dict[str, Any]:
    """Resume a job in this process and let it make programs that nobody runs; what that takes.

    Args:
        out: a folder of which nothing is kept.
        programs: iterations.
    """
    wall, cpu = time.monotonic(), time.process_time()
    job = Job(out, 0)
    strategy = job.strategy
    strategy.absorb()
    found = {"seconds": time.monotonic() - wall, "cpu": time.process_time() - cpu, "memory": _memory()}
    found["entries"] = len(strategy.corpus)
    cpu, made = time.process_time(), 0
    for iteration in range(job.iteration, job.iteration + programs):
        if iteration % strategy.refresh == 0:
            strategy.absorb()
        made += _make(job, iteration)
        if iteration % ROUND == 0:
            job.iteration = iteration + 1
            job.save()
    found["cpu_ms_a_program"] = 1000 * (time.process_time() - cpu) / max(1, made)
    return found | {"made": made, "memory_at_the_end": _memory()}


def _make(job: Job, iteration: int) -> bool:
    """Make a program, and keep it as if it had run; false if it is invalid or could not be made."""
    strategy = job.strategy
    assert isinstance(strategy, Differential)
    choices = Choices.from_seed(f"{job.strategy.root}/{iteration}")
    entry = strategy.steering.parent(choices)
    parent = strategy.corpus.program(entry)
    mutant, plan = strategy.steering.mutate(entry, parent, choices)
    if mutant is None:
        return False
    case = Testcase(0, iteration, entry, parent, mutant.program, mutant.edits, plan)
    whole = job.database.programs.whole(mutant.program)
    if case.invalid:
        return False
    worth = strategy.steering.count(case)
    if worth.keep:
        strategy.corpus.add(replace(case, whole=whole, features=worth.features, cost=worth.cost, brings=worth.brings))
    return True


def _memory() -> int:
    """Bytes that this process holds."""
    fields = Path("/proc/self/status").read_text().split()
    return int(fields[fields.index("VmRSS:") + 1]) * 1024


def resumed(out: Path, programs: int) -> dict[str, Any]:
    """``go_on`` in a copy of a folder, in a process of its own."""
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "out"
        shutil.copytree(out, copy)
        command = [sys.executable, "-m", "benchmarks.aged_campaign", "--job", str(copy), "--programs", str(programs)]
        return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def fresh(out: Path, programs: int, seed: int) -> None:
    """Run a campaign on the shipped seeds, unless the folder holds one."""
    if not Layout(out).database.is_file():
        options = FuzzOptions(seed=seed, jobs=1, reduce=1.0)
        fuzz([*sorted(seeds_dir().glob("*.onnx"))], out, targets=TARGETS, programs=programs, options=options)


def shown(name: str, found: dict[str, Any]) -> str:
    """A line for people."""
    return (
        f"{name}: {found['entries']} programs, resumed in {found['seconds']:.2f} s ({found['cpu']:.2f} s of CPU time) "
        f"and {found['memory'] / 1e6:.0f} MB; {found['cpu_ms_a_program']:.1f} ms of CPU time a program, then "
        f"{found['memory_at_the_end'] / 1e6:.0f} MB"
    )


def main() -> int:
    """Print a line for each folder, and say by the exit code whether the aged one holds the limits."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("--entries", type=int, default=100_000, help="Programs in the aged folder.")
    add("--own", type=int, default=8, help="Features that each of them holds.")
    add("--programs", type=int, default=1000, help="Programs of the fresh campaign, and those that are made after it.")
    add("--seed", type=int, default=0, help="Of the campaign and of the features.")
    add("--out", type=Path, help="Folder for both campaigns; a fresh one that is there already is taken.")
    add("--json", type=Path, help="Write the figures there.")
    add("--job", type=Path, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.job is not None:
        print(json.dumps(go_on(args.job, args.programs)))
        return 0
    with tempfile.TemporaryDirectory() as scratch:
        place = args.out or Path(scratch)
        young, aged = place / "fresh", place / "aged"
        fresh(young, args.programs, args.seed)
        shutil.rmtree(aged, ignore_errors=True)
        shutil.copytree(young, aged)
        age(aged, args.entries, args.own, args.seed)
        found = {name: resumed(folder, args.programs) for name, folder in (("fresh", young), ("aged", aged))}
    for name, figures in found.items():
        print(shown(name, figures))
    if args.json is not None:
        args.json.write_text(json.dumps(found, indent=1) + "\n")
    young, aged = found["fresh"], found["aged"]
    return int(
        aged["cpu"] >= SECONDS
        or max(aged["memory"], aged["memory_at_the_end"]) >= MEMORY
        or aged["cpu_ms_a_program"] > SLOWER * young["cpu_ms_a_program"]
    )


if __name__ == "__main__":
    sys.exit(main())
