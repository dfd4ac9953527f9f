"""What each command makes of valid models whose tensors cannot be held: an answer or one clear error, within limits.

Writes the hostile models of ``hostile_models`` as files and gives each to every command that takes a model,
with a limit of time of its own where it has one. Bad is an exit code of 3 or more, a process of irfuzz's own (workers
have limits of theirs) that holds more than a gigabyte, and a command that goes on for more than ten seconds beyond its
limit, or beyond what it takes for a small model.

Run ``python -m benchmarks.hostile_commands [--only COMMAND] [--model WORDS]``. Exit code 1 if anything is bad.
"""

from __future__ import annotations

import argparse
import contextlib
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.damaged_models import MOST_BYTES, MOST_SECONDS
from benchmarks.hostile_models import all_models
from benchmarks.hostile_sizes import MINIMAL
from irfuzz.isolate import linux

LOOK = 0.05
"""Seconds between two looks at the memory of a command's processes."""

TARGETS = ("--targets", "reference,onnxruntime:disabled")

COMMANDS: Mapping[str, tuple[float, tuple[str, ...]]] = {
    "mutate": (0, ("mutate", "MODEL", "-o", "OUT", "-n", "2", "--force")),
    "check": (10, ("check", "MODEL", *TARGETS, "--time", "10s", "--timeout", "3")),
    "check alone": (8, ("check", "MODEL", *TARGETS, "--timeout", "3", "--seeds", "1", "--no-localise")),
    "fuzz": (10, ("fuzz", "MODEL", *TARGETS, "--time", "10s", "--timeout", "3", "--jobs", "1", "--out", "OUT")),
    "fuzz beside": (
        10, ("fuzz", "MODEL", "SMALL", *TARGETS, "--time", "10s", "--timeout", "3", "--jobs", "1", "--out", "OUT")
    ),
    "equiv": (10, ("equiv", "MODEL", "--targets", "onnxruntime:disabled", "--forms", "2", "--time", "10s")),
    "analyze": (3, ("analyze", "MODEL", "--witness-time", "1")),
    "evolve": (10, ("evolve", "MODEL", "--targets", "onnxruntime:disabled,reference", "--time", "10s")),
    "coverage": (0, ("coverage", "MODEL")),
    "synthesize": (0, ("synthesize", "MODEL", "-o", "OUT", "--force")),
    "reduce": (0, ("reduce", "MODEL", "--check", "true", "-o", "OUT/small.onnx", "--time", "5s")),
    "reduce none": (0, ("reduce", "MODEL", "--check", "false", "-o", "OUT/small.onnx", "--time", "5s")),
    "seeds": (0, ("seeds", "add", "MODEL", "--dir", "OUT", "--origin", "made", "--licence", "MIT")),
    **{f"export {to}": (0, ("export", "MODEL", "--to", to, "-o", f"OUT/{to}"))
       for to in ("onnx", "torch", "tensorflow", "keras", "numpy")},
}  # fmt: skip
"""By name: seconds that it may take beside its start, and its words."""


@dataclass(frozen=True, slots=True)
class End:
    """How a command ended.

    Attributes:
        code: its exit code; ``None`` if it was ended.
        seconds: that it took.
        bytes: most memory that a process of irfuzz's own held.
        told: its last line of standard error.
        errors: lines of standard error that begin with ``irfuzz: error``.
    """

    code: int | None
    seconds: float
    bytes: int
    told: str
    errors: int


def ran(words: Sequence[str], limit: float) -> End:
    """Run a command of irfuzz, and look at the memory of its processes."""
    with tempfile.TemporaryFile() as said:
        began = time.monotonic()
        process = subprocess.Popen(
            [sys.executable, "-P", "-m", "irfuzz", *words],
            stdout=subprocess.DEVNULL,
            stderr=said,
            start_new_session=True,
        )
        most = 0
        while process.poll() is None and time.monotonic() - began < limit:
            most = max(most, *map(_peak, [process.pid, *linux.descendants(process.pid)]))
            time.sleep(LOOK)
        seconds, code = time.monotonic() - began, process.poll()
        for pid in linux.descendants(process.pid) if code is None else ():
            linux.kill(pid)
        linux.kill(process.pid)
        process.wait()
        said.seek(0)
        lines = said.read().decode(errors="replace").splitlines() or [""]
    return End(code, seconds, most, lines[-1], sum(line.startswith("irfuzz: error") for line in lines))


def _peak(pid: int) -> int:
    """Most memory that a process has held, if it is one of irfuzz's own."""
    with contextlib.suppress(OSError):
        words = Path(f"/proc/{pid}/cmdline").read_bytes()
        if b"isolate/zygote.py" in words or b"isolate/guard.py" in words:
            return 0
        for line in Path(f"/proc/{pid}/status").read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024
    return 0


def faults(end: End, allowed: float) -> list[str]:
    """What is bad about it, if it was allowed so many seconds."""
    found: list[str] = []
    if end.code is None or end.seconds > allowed + MOST_SECONDS:
        found.append(f"took {end.seconds:.0f} s")
    if end.code is not None and not 0 <= end.code <= 2:
        found.append(f"exit {end.code}")
    if end.code == 2 and end.errors != 1:
        found.append(f"{end.errors} lines of error")
    if end.bytes > MOST_BYTES:
        found.append(f"{end.bytes >> 20} MiB")
    return found


def main() -> int:
    """Entry point."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", choices=COMMANDS, action="append", help="this command alone; may be repeated")
    parser.add_argument("--model", action="append", default=[], help="models whose name has these words")
    given = parser.parse_args()
    models = {n: d for n, d in all_models().items() if not given.model or any(words in n for words in given.model)}
    bad, largest, began = 0, 0, time.monotonic()
    for command in given.only or COMMANDS:
        extra, words = COMMANDS[command]
        with tempfile.TemporaryDirectory(prefix="hostile-") as place:
            folder = Path(place)
            (folder / "small.onnx").write_bytes(MINIMAL)
            for number, (name, data) in enumerate({"small": MINIMAL, **models}.items()):
                path = folder / f"{number}.onnx"
                path.write_bytes(data)
                places = {"MODEL": str(path), "SMALL": str(folder / "small.onnx")}
                out = str(folder / f"out{number}")
                asked = [places.get(word, word.replace("OUT", out)) for word in words]
                if command.startswith("reduce"):
                    Path(out).mkdir()
                end = ran(asked, 120)
                if not number:
                    usual = end.seconds + extra
                    print(f"{command}: {end.seconds:.1f} s and {end.bytes >> 20} MiB for a small model", flush=True)
                    continue
                largest = max(largest, end.bytes)
                if found := faults(end, usual):
                    bad += 1
                    print(f"  BAD {command}, {name}: {', '.join(found)}: {end.told[:200]}", flush=True)
    print(f"{time.monotonic() - began:.0f} s; at most {largest >> 20} MiB; {bad} bad")
    return int(bad > 0)


if __name__ == "__main__":
    sys.exit(main())
