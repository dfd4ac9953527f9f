"""Runs one campaign on the shipped seeds for long, resumed again and again, every second time after a ``kill -9``.

``python -m benchmarks.soak.long_campaign [--minutes 90] [--part 15] [--jobs 2] [--targets NAMES] [--json FILE]``. A
line for each part tells its programs a second, and a second of CPU time, which other work hardly changes; the
most bytes that a job held; and what was left once it had ended: processes, scratch folders of the temporary folder,
descriptors of its jobs that came to stay. What a killed campaign leaves in the temporary folder may stay until the next
part has begun. In the end every stored finding's ``repro.py`` is run. Exit code 1 if the last part runs less than
``RATE`` of the first one's programs, if a job grows by more than ``GROWTH`` after the first part or above ``MEMORY``,
if anything is left, or if a finding does not show.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from benchmarks.soak.watched_campaign import Place, Seen, fuzz_words, is_job, place, watched
from irfuzz.campaign.config import Layout
from irfuzz.isolate import linux
from irfuzz.shipped_folders import seeds_dir
from irfuzz.store.database import Database

RATE, GROWTH, MEMORY = 0.9, 1.2, 400e6
"""What the last part's rate may be beside the first one's, a job's memory beside that in the first part, and at all."""

KEPT = 16
"""Descriptors that a job may have more in the last third of a part than in the second."""

LEAST = 120.0
"""Seconds that a finding's script may take."""


@dataclass(frozen=True)
class Part:
    """What was seen of a part.

    Attributes:
        killed: it ended by ``kill -9`` of the campaign's own process.
        programs: that were run in it.
        seconds: of it.
        cpu: seconds of CPU time of all its processes that were waited for.
        memory: most bytes that one job held.
        left: processes, files of the temporary folder and descriptors that it left.
    """

    killed: bool
    programs: int
    seconds: float
    cpu: float
    memory: int
    left: list[str]

    def __str__(self) -> str:
        """A line for people."""
        how = "killed" if self.killed else "ended"
        return (
            f"{self.programs} programs in {self.seconds:.0f} s ({self.programs / self.seconds:.2f} a second, "
            f"{self.programs / max(self.cpu, 1):.2f} a second of CPU time), a job held {self.memory / 1e6:.0f} MB, "
            f"{how}; left: {', '.join(self.left) or 'nothing'}"
        )


def programs_of(out: Path) -> int:
    """How many programs the jobs of a campaign have run, as its database says."""
    if not Layout(out).database.is_file():
        return 0
    database = Database(Layout(out).database)
    try:
        return sum(programs for _, _, programs, _ in database.tallies())
    finally:
        database.close()


def run_part(where: Place, seconds: float, options: Sequence[str], *, killed: bool) -> Part:
    """Run the campaign on for a part.

    Args:
        where: of the campaign; its folder is continued.
        seconds: of the part.
        options: of ``irfuzz fuzz``.
        killed: end it by ``kill -9`` instead of its ``--time``.
    """
    most = 0

    def look(elapsed: float) -> None:
        nonlocal most
        below = linux.descendants(os.getpid())
        most = max([most, *(linux.resident(pid) for pid in below if is_job(pid))])
        if killed and elapsed >= seconds:
            linux.kill(next(filter(_is_campaign, linux.children(os.getpid()))))

    names = sorted(path.stem for path in seeds_dir().glob("*.onnx"))
    words = fuzz_words(where, "--time", f"{seconds * (2 if killed else 1):.0f}s", *options, seeds=names)
    before, cpu = programs_of(where.out), _cpu()
    seen = watched(words, where, seconds=seconds, during=look)
    programs = programs_of(where.out) - before
    return Part(killed, programs, seen.seconds, _cpu() - cpu, most, _left(seen, killed=killed))


def _is_campaign(pid: int) -> bool:
    return b"irfuzz\0fuzz" in Path(f"/proc/{pid}/cmdline").read_bytes()


def _left(seen: Seen, *, killed: bool) -> list[str]:
    left = [f"process {line}" for line in seen.processes]
    left += [] if killed else [f"scratch {name}" for name in seen.scratch]
    left += [f"file {name}" for name in seen.outside]
    second, last = seen.descriptors
    return left + ([f"{last - second} descriptors"] if last - second > KEPT else [])


def _cpu() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def replayed(out: Path) -> tuple[int, list[str]]:
    """How many findings a campaign has, and names of those whose script does not show them."""
    folders = sorted((out / "findings").glob("0*"))
    lost = []
    for folder in folders:
        words = [sys.executable, folder / "repro.py"]
        try:
            code = subprocess.run(words, capture_output=True, check=False, timeout=LEAST, cwd=out.parent).returncode
        except subprocess.TimeoutExpired:
            code = -1
        lost += [f"{folder.name}: {code}"] if code != 1 else []
    return len(folders), lost


def problems_of(parts: Sequence[Part], lost: Sequence[str]) -> list[str]:
    """What does not hold, a line each."""
    first, last = parts[0], parts[-1]
    found = [f"part {n}: {what} left" for n, part in enumerate(parts, 1) for what in part.left]
    rate = last.programs / last.seconds / (first.programs / first.seconds)
    found += [f"the last part's rate is {rate:.2f} of the first one's"] if rate < RATE else []
    most = max(part.memory for part in parts[1:] or parts)
    found += (
        [f"a job grew from {first.memory / 1e6:.0f} to {most / 1e6:.0f} MB"] if most > GROWTH * first.memory else []
    )
    found += [f"a job held {most / 1e6:.0f} MB"] if most > MEMORY else []
    return found + [f"does not show: {name}" for name in lost]


def main() -> int:
    """Print a line for each part and what does not hold."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=90.0, help="Of all parts together.")
    parser.add_argument("--part", type=float, default=15.0, help="Minutes of a part.")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--targets", help="Default: all that are installed.")
    parser.add_argument("--json", type=Path, help="Write the figures there.")
    args = parser.parse_args()
    more = ["--jobs", str(args.jobs), *(["--targets", args.targets] if args.targets else [])]
    parts: list[Part] = []
    with place() as where:
        for number in range(max(1, round(args.minutes / args.part))):
            options = more if number else [*more, "--seed", str(args.seed)]
            parts.append(run_part(where, 60 * args.part, options, killed=number % 2 == 1))
            print(parts[-1], flush=True)
        size = sum(path.lstat().st_size for path in where.out.rglob("*") if path.is_file())
        count, lost = replayed(where.out)
    problems = problems_of(parts, lost)
    ran = sum(part.programs for part in parts)
    print(f"{ran} programs, {size / max(1, ran) / 1e3:.1f} kB a program, {count} findings, {count - len(lost)} replay")
    print("\n".join(problems) or "all holds")
    if args.json:
        told = {"parts": [asdict(part) for part in parts], "findings": count, "lost": lost, "problems": problems}
        args.json.write_text(json.dumps(told, indent=1) + "\n")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
