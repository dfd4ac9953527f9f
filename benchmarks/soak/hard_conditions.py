"""What campaigns make of a machine at its worst: clocks that jump, disks that fill, folders and databases that lock.

Each condition sets in after a third of a campaign of shipped seeds, in a place of its own. A clock that jumps and a
database that is locked for a minute have to be survived: the campaign keeps its time within ten seconds and judges
programs afterwards. A folder that cannot be written has to end it within ten seconds, with one line and exit code 2;
when that is over, the same command goes on, and no program and no finding of before is missing. Nothing may be left.

Run ``python -m benchmarks.soak.hard_conditions [--time 40] [--hold 60] [--only NAME ...] [--json FILE]``. A condition
that cannot be made here (no C compiler, no right to mount) is told as skipped. Exit code 1 if a row is bad.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import shutil
import sqlite3
import struct
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path

from benchmarks.soak.watched_campaign import Place, Seen, fuzz_words, place, watched

OVER = 10.0
"""Seconds by which a campaign may be longer than its time, and in which it has to end once its folder is lost."""

TARGETS = "reference,onnxruntime:disabled,onnxruntime:all"


class Skipped(Exception):
    """A condition that cannot be made here, and why."""


@dataclass
class Condition:
    """What is done to one campaign.

    Attributes:
        set_in: begins it; called once, after a third of the time.
        end: undoes it.
        environment: of the campaign.
        prefix: words before its command.
        held: seconds that it lasts; infinite if the campaign has to end of it.
    """

    set_in: Callable[[], None]
    end: Callable[[], None] = lambda: None
    environment: Mapping[str, str] = field(default_factory=dict)
    prefix: Sequence[str] = ()
    held: float = 0.0

    @property
    def ends_campaign(self) -> bool:
        """Whether the folder cannot be written for good."""
        return self.held == float("inf")


@dataclass(frozen=True)
class Row:
    """What came of one condition.

    Attributes:
        name: of it.
        before: programs that were judged when it set in.
        after: programs that were judged in the end.
        over: seconds by which the campaign was longer than its time; if it had to end, seconds until it did.
        said: the line of its error.
        bad: what is wrong, in words.
    """

    name: str
    before: int
    after: int
    over: float
    said: str
    bad: tuple[str, ...]


# ---- conditions ----------------------------------------------------------------------------------


@contextmanager
def clock(where: Place, jump: float) -> Iterator[Condition]:
    """The clock of the machine is set by so many seconds; that which counts them since its start goes on."""
    shim, setting = where.root / "clock.so", where.root / "clock"
    compiler = shutil.which("cc")
    if compiler is None:
        raise Skipped("no C compiler (cc) to make a clock that can be set")
    source = Path(__file__).with_name("clock_shim.c")
    subprocess.run([compiler, "-O1", "-shared", "-fPIC", "-o", shim, source, "-ldl"], check=True)
    setting.write_bytes(struct.pack("d", 0.0))

    def set_clock() -> None:
        with setting.open("r+b") as file:
            file.write(struct.pack("d", jump))

    yield Condition(set_clock, environment={"LD_PRELOAD": str(shim), "IRFUZZ_CLOCK": str(setting)})


@contextmanager
def locked_database(where: Place, hold: float) -> Iterator[Condition]:
    """Somebody leaves a transaction open."""
    strangers: list[sqlite3.Connection] = []

    def lock() -> None:
        stranger = sqlite3.connect(where.out / "campaign.sqlite", isolation_level=None, timeout=30)
        stranger.execute("begin immediate")
        strangers.append(stranger)

    def release() -> None:
        for stranger in strangers:
            stranger.close()
        strangers.clear()

    try:
        yield Condition(lock, release, held=hold)
    finally:
        release()


@contextmanager
def read_only_folder(where: Place) -> Iterator[Condition]:
    """The campaign's folder loses its right to be written; root has to do without the power to write everywhere."""
    prefix: list[str] = []
    if os.getuid() == 0:
        prefix = ["setpriv", "--bounding-set=-dac_override,-dac_read_search"]
        if shutil.which("setpriv") is None or subprocess.run([*prefix, "true"], check=False).returncode:
            raise Skipped("root, and no setpriv (util-linux)")
    yield Condition(
        lambda: where.out.chmod(0o555), lambda: where.out.chmod(0o755), prefix=prefix, held=float("inf")
    )  # fmt: skip


@contextmanager
def full_disk(where: Place) -> Iterator[Condition]:
    """The disk of the campaign's folder fills up, and is freed."""
    command = ["mount", "-t", "tmpfs", "-o", "size=16m", "tmpfs", where.out.parent]
    mounted = subprocess.run(command, capture_output=True, text=True, check=False)
    if mounted.returncode:
        raise Skipped(f"no small file system can be mounted: {mounted.stderr.strip()}")
    ballast = where.out.parent / "ballast"

    def fill() -> None:
        with ballast.open("wb", buffering=0) as file, contextlib.suppress(OSError):
            while True:
                file.write(bytes(1 << 12))

    try:
        yield Condition(fill, lambda: ballast.unlink(missing_ok=True), held=float("inf"))
    finally:
        subprocess.run(["umount", "--lazy", where.out.parent], check=False)


NAMES = ("clock forward", "clock back", "locked database", "read-only folder", "full disk")


def _begin(name: str, where: Place, hold: float) -> contextlib.AbstractContextManager[Condition]:
    match name:
        case "clock forward":
            return clock(where, 2 * 3600)
        case "clock back":
            return clock(where, -30 * 86400)
        case "locked database":
            return locked_database(where, hold)
        case "read-only folder":
            return read_only_folder(where)
        case _:
            return full_disk(where)


# ---- campaigns under them ------------------------------------------------------------------------


def run(name: str, seconds: float, hold: float) -> Row:
    """One campaign under a condition, and another one after it if the folder was lost.

    Raises:
        Skipped: the condition cannot be made here.
    """
    with place() as where, _begin(name, where, hold) as condition:
        length = seconds + (hold if name == "locked database" else 0.0)
        words = [*condition.prefix, *_words(where, length)]
        observer = _Observer(where, condition, seconds / 3)
        seen = watched(words, where, seconds=length, during=observer.look, environment=condition.environment)
        condition.end()
        if not condition.ends_campaign:
            return _survived(name, where, seen, length, observer.before)
        took = time.monotonic() - observer.began
        again = watched(_words(where, seconds / 2), where, seconds=seconds / 2)
        return _ended(name, where, seen, again, took, observer)


def _words(where: Place, seconds: float) -> list[str]:
    return fuzz_words(where, "--time", f"{seconds:g}s", "--jobs", 1, "--reduce", 1, "--seed", 5, "--targets", TARGETS)


class _Observer:
    """Lets a condition set in, and remembers what was stored just before."""

    def __init__(self, where: Place, condition: Condition, at: float) -> None:
        self._where, self._condition, self._at = where, condition, at
        self.began = 0.0
        self.before = 0
        self.stored: set[str] = set()

    def look(self, elapsed: float) -> None:
        """Called now and then; the condition waits for the first program if the machine is busy."""
        if not self.began:
            judged = _judged(self._where.out)
            if elapsed >= self._at and judged:
                self.before, self.stored = judged, _stored(self._where.out)
                self._condition.set_in()
                self.began = time.monotonic()
        elif not self._condition.ends_campaign and time.monotonic() - self.began >= self._condition.held:
            self._condition.end()


def _judged(out: Path) -> int:
    return int(_asked(out, "select coalesce(sum(programs), 0) from tally")[0][0] or 0)


def _stored(out: Path) -> set[str]:
    programs = _asked(out, "select digest from program")
    findings = _asked(out, "select signature from finding where suspect = 0")
    return {str(row[0]) for row in (*programs, *findings)}


def _asked(out: Path, question: str) -> list[tuple[object, ...]]:
    with contextlib.suppress(sqlite3.Error), closing(sqlite3.connect(out / "campaign.sqlite", timeout=30)) as database:
        return database.execute(question).fetchall()
    return [(0,)]


def _survived(name: str, where: Place, seen: Seen, seconds: float, before: int) -> Row:
    after = _judged(where.out)
    wrong = _left(seen)
    if not before:
        wrong.append("no program was judged before the condition could set in")
    elif after <= before:
        wrong.append("no program was judged afterwards")
    if abs(seen.seconds - seconds) > OVER:
        wrong.append(f"it took {seen.seconds:.0f} s instead of {seconds:.0f}")
    if seen.code not in (0, 1):
        wrong.append(f"exit code {seen.code}")
    return Row(name, before, after, round(seen.seconds - seconds, 1), _last(seen.errors), tuple(wrong))


def _ended(name: str, where: Place, seen: Seen, again: Seen, took: float, observer: _Observer) -> Row:
    after = _judged(where.out)
    wrong = _left(seen) + _left(again)
    lines = seen.errors.strip().splitlines()
    if not observer.before:
        wrong.append("no program was judged before the condition could set in")
    elif seen.code != 2 or len(lines) != 1:
        wrong.append(f"exit code {seen.code}, {len(lines)} lines")
    elif took > OVER:
        wrong.append(f"it ended after {took:.1f} s")
    if again.code not in (0, 1) or after <= observer.before:
        wrong.append(f"it does not go on: exit code {again.code}, {_last(again.errors)}")
    if missing := observer.stored - _stored(where.out):
        wrong.append(f"{len(missing)} programs and findings are missing")
    return Row(name, observer.before, after, round(took, 1), _last(seen.errors), tuple(wrong))


def _left(seen: Seen) -> list[str]:
    left = [*seen.processes, *seen.scratch, *seen.outside]
    return [f"left: {', '.join(left)[:200]}"] if left else []


def _last(text: str) -> str:
    return (text.strip().splitlines() or [""])[-1][:240]


def main(words: Sequence[str] | None = None) -> int:
    """Entry point."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--time", type=float, default=40.0, help="seconds of each campaign")
    parser.add_argument("--hold", type=float, default=60.0, help="seconds for which the database is locked")
    parser.add_argument("--only", choices=NAMES, nargs="*", help="these alone")
    parser.add_argument("--json", type=Path)
    args = parser.parse_args(words)
    rows = []
    for name in args.only or NAMES:
        try:
            row = run(name, args.time, args.hold)
        except Skipped as why:
            print(f"{name:<18} skipped: {why}", flush=True)
            continue
        rows.append(row)
        verdict = f"BAD: {'; '.join(row.bad)}" if row.bad else "good"
        print(f"{name:<18}{row.before:>6} -> {row.after:<6} programs {row.over:+6.1f} s  {verdict}", flush=True)
        if row.said:
            print(f"    {row.said}", flush=True)
        if args.json:
            args.json.write_text(json.dumps([asdict(row) for row in rows], indent=1) + "\n")
    return 1 if any(row.bad for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
