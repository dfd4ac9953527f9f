"""What campaigns make of targets at their worst: each bad one runs beside two good ones, in a campaign of its own.

A row tells how many programs both good targets ran (and how many they ran beside one that does no harm, the first
row), by what the bad one is named, by how much the campaign was longer than its time, and what was left: processes,
scratch folders, files outside the campaign's folder, descriptors of its job that came to stay. A row is bad if fewer
than ``--least`` programs were run, if a fault that shows is not named, if the campaign was more than ten seconds longer
than its time, or if anything is left. How busy the machine was stands in the last line.

Run ``python -m benchmarks.bad_targets [--time 20] [--reduce 3] [--only NAME ...] [--json FILE]``; nothing else
should use the processor. Exit code 1 if a row is bad.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from benchmarks.soak.watched_campaign import Seen, fuzz_words, place, watched

PLANTED = Path(__file__).resolve().parents[1] / "tests" / "planted_targets"

OVER = 10.0
"""Seconds by which a campaign may be longer than its time, whatever targets do."""

KEPT = 16
"""Descriptors that a job may have more in the last third of its time than in the second."""

HARM = ("crash", "hang", "memory", "protocol")
"""Symptoms that good targets do not show here; what else they are found to do wrong is what campaigns are for."""

GOOD = "reference,onnxruntime:disabled"

HARMLESS = "Nothing"


@dataclass(frozen=True)
class BadTarget:
    """A planted target.

    Attributes:
        name: its class; that of the file if it never gets so far.
        symptoms: any of them names its fault; none if it gives right answers in time and harms only itself.
        file: in ``tests/planted_targets``.
        options: of its campaign.
    """

    name: str
    symptoms: tuple[str, ...] = ()
    file: str = "hostile.py"
    options: tuple[str, ...] = ()

    @property
    def source(self) -> str:
        """What follows the folder in its target's name."""
        return f"{self.file}:{self.name if self.file in ('hostile.py', 'faults.py') else 'Target'}"


TARGETS = (
    BadTarget(HARMLESS),
    # It dies.
    BadTarget("Segfault", ("crash",), "faults.py"),
    BadTarget("Fpe", ("crash",), "faults.py"),
    BadTarget("Abort", ("crash",), "faults.py"),
    BadTarget("Exits", ("crash",), "faults.py"),
    BadTarget("OverflowsStack", ("crash", "memory")),
    BadTarget("ThirdTime", ("crash",), "faults.py"),
    BadTarget("DiesLater", ("crash",)),
    # It does not come back.
    BadTarget("Spins", ("hang",)),
    BadTarget("HoldsTheLock", ("hang",)),
    BadTarget("Stops", ("hang",)),
    BadTarget("StopsParent", ("hang", "crash", "rejection")),
    # These take less than the time that they have, also on a busy machine, and so are no hangs.
    BadTarget("NearlyHangs", options=("--timeout", "20")),
    BadTarget("Slow", options=("--timeout", "60")),
    # Processes. A kernel that keeps signals within the sandbox lets it kill none: it raises, and so refuses.
    BadTarget("ForkBomb", ("hang", "protocol")),
    BadTarget("LeavesChild"),
    BadTarget("KillsParent", ("crash", "rejection")),
    BadTarget("LeavesChildAndKillsParent", ("crash", "rejection")),
    # Memory and disk.
    BadTarget("Greedy", ("memory",), "faults.py"),
    BadTarget("SharedHog", ("memory",), options=("--timeout", "20")),
    BadTarget("Leaks", ("memory",), options=("--memory", "1024")),
    BadTarget("LongFile", ("rejection",)),
    BadTarget("Litters"),
    BadTarget("Hoards", ("rejection", "crash", "protocol")),
    # What it finds about itself.
    BadTarget("Scribbles", ("protocol",), "faults.py"),
    BadTarget("ClosesPipe", ("protocol",), "faults.py"),
    BadTarget("ClosesAll", ("protocol", "crash")),
    BadTarget("Chatters"),
    BadTarget("ChangesFolder"),
    BadTarget("RemovesFolder"),
    BadTarget("RemovesTemporary"),
    BadTarget("SpoilsInputs"),
    # It does not start; who names such a target gets an error that names it.
    BadTarget("raises_on_import", ("cannot be used",), "raises_on_import.py"),
    BadTarget("dies_on_import", ("cannot be used",), "dies_on_import.py"),
    BadTarget("hangs_on_import", ("still starting",), "hangs_on_import.py"),
    # What it answers. An answer that is too long counts as unsupported.
    BadTarget("WrongType", ("wrong-dtype",)),
    BadTarget("WrongShape", ("wrong-shape",)),
    BadTarget("NotNumbers", ("nan-inf",)),
    BadTarget("Fickle", ("difference",)),
    BadTarget("LongAnswer"),
    BadTarget("ManyAnswers", ("protocol",), options=("--timeout", "20")),
    BadTarget("NoAnswer", ("protocol", "wrong-shape")),
    BadTarget("LongMessage", ("rejection", "memory"), options=("--timeout", "20")),
    BadTarget("NewMessage", ("rejection",)),
    BadTarget("NoMessage", ("rejection",)),
)


@dataclass(frozen=True)
class Row:
    """What came of one bad target.

    Attributes:
        name: of the target.
        programs: that both good targets ran.
        named: how the campaign names it: symptoms, or a line of its, and how its runs ended.
        over: seconds by which the campaign was longer than its time.
        left: processes, names in the temporary folder and bytes elsewhere.
        descriptors: by how many a job's grew.
        memory: most bytes that all processes held.
        disk: most bytes of the temporary folder.
        bad: what is wrong, in words.
    """

    name: str
    programs: int
    named: str
    over: float
    left: str
    descriptors: int
    memory: int
    disk: int
    bad: tuple[str, ...]


def run(bad: BadTarget, seconds: float, more: Sequence[str], least: int) -> Row:
    """One campaign with a bad target beside two good ones.

    Args:
        bad: the target; a copy of its file lies in the user's working folder, and has to lie there still.
        seconds: ``--time``.
        more: options of the campaign.
        least: programs that the good targets have to run.
    """
    with place() as where:
        shutil.copy(PLANTED / bad.file, where.work)
        options = ["--time", f"{seconds:g}s", "--jobs", 1, "--targets", GOOD, "--target", bad.source]
        words = fuzz_words(where, *options, *more, *bad.options)
        seen = watched(words, where, seconds=seconds)
        gone = not (where.work / bad.file).is_file()
    return _row(bad, seen, seconds, least, gone=gone)


def _row(bad: BadTarget, seen: Seen, seconds: float, least: int, *, gone: bool) -> Row:
    """What came of a campaign; ``gone`` says that the user's file is no longer there."""
    told = seen.told
    programs, named, over = int(told.get("programs", 0)), _named(bad, seen), seen.seconds - seconds
    left = [*seen.processes, *seen.scratch, *(f"{name} ({size} bytes)" for name, size in seen.outside.items())]
    grown = seen.descriptors[1] - seen.descriptors[0]
    starts = bad.file in ("hostile.py", "faults.py")
    others = {f["target"] for f in told.get("list", ()) if bad.source not in f["target"] and f["symptom"] in HARM}
    faults = [*told.get("faults", ())]
    blamed = [name for name in HARM if name in named and not bad.symptoms]
    wrong = (
        (starts and programs < least, f"{programs} programs"),
        (bad.symptoms and not any(name in named for name in (*bad.symptoms, "no answer yet from")), "not named"),
        (blamed, f"blamed for what it does not do: {', '.join(blamed)}"),
        (over > OVER, f"{over:.1f} s over"),
        (left, "something is left"),
        (gone, "the user's file is gone"),
        (grown > KEPT, f"{grown} descriptors more"),
        (seen.code not in ((0, 1) if starts else (2,)), f"exit code {seen.code}: {_last(seen.errors)}"),
        (faults, f"{len(faults)} internal errors: {faults[:1]}"),
        (others, f"blamed besides: {', '.join(sorted(others))}"),
    )
    said = tuple(words for is_so, words in wrong if is_so)
    return Row(bad.name, programs, named, round(over, 1), "; ".join(left), grown, seen.memory, seen.disk, said)


def _named(bad: BadTarget, seen: Seen) -> str:
    told = list(dict.fromkeys(seen.verdicts_on(bad.source)))
    if not told:
        told += [line[:200] for line in seen.lines_on(bad.source)[-1:]]
    ends = {
        name.removeprefix(f"{bad.source} "): count
        for name, count in seen.told.get("counts", {}).items()
        if name.startswith(f"{bad.source} ")
    }
    return "; ".join([*told, *(f"{count} {name}" for name, count in ends.items())])


def _last(text: str) -> str:
    return (text.strip().splitlines() or ["nothing was said"])[-1][:200]


def _told(row: Row) -> str:
    size = f"{row.memory >> 20} MiB, {row.disk >> 20} MiB on disk, {row.descriptors:+} descriptors"
    head = f"{row.name:<26}{row.programs:>6} programs  {row.over:+5.1f} s  {size}  left: {row.left[:200] or 'nothing'}"
    verdict = f"BAD: {'; '.join(row.bad)}" if row.bad else "good"
    return "\n    ".join(filter(None, (head, row.named[:240], verdict)))


def main(words: Sequence[str] | None = None) -> int:
    """Entry point."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--time", type=float, default=20.0, help="seconds of each campaign")
    parser.add_argument("--reduce", default="3", help="--reduce of each campaign")
    parser.add_argument("--timeout", default="3", help="--timeout of each campaign")
    parser.add_argument("--least", type=int, default=3, help="programs that good targets have to run")
    parser.add_argument("--only", choices=[bad.name for bad in TARGETS], nargs="*", help="these alone")
    parser.add_argument("--json", type=Path)
    args = parser.parse_args(words)
    more = ["--reduce", args.reduce, "--timeout", args.timeout]
    rows = []
    for bad in TARGETS:
        if args.only and bad.name not in args.only:
            continue
        rows.append(run(bad, args.time, more, args.least))
        print(_told(rows[-1]), flush=True)
        if args.json:
            args.json.write_text(json.dumps([asdict(row) for row in rows], indent=1) + "\n")
    wrong = sum(bool(row.bad) for row in rows)
    load = f"load {os.getloadavg()[2]:.1f} on {os.cpu_count()} cores"
    print(f"{len(rows) - wrong} of {len(rows)} targets were survived, named, and left nothing; {load}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
