"""Runs one campaign of the command line in a place of its own and tells what it took and what it left behind."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import irfuzz
from irfuzz.isolate import linux

MARK = "IRFUZZ_SOAK"
"""Environment variable by which processes of a campaign are found wherever they went."""

LOOK = 0.5
"""Seconds between two looks at a campaign."""

SETTLES = 5.0
"""Seconds within which what a campaign started has to be gone after it has ended."""

TOO_LONG = 120.0
"""Seconds beyond its time after which a campaign is killed, and the row says so."""

SEEDS = ("diabetes", "quantized_mlp", "simplernn")
"""Shipped seeds that these campaigns begin with: small ones of three kinds."""


@dataclass(frozen=True)
class Place:
    """Folders of one campaign.

    Attributes:
        root: holds the others.
        out: the campaign's own, in a folder where another disk may be mounted.
        work: its working folder, with what the user has there.
        home: of the user.
        scratch: of temporary files.
    """

    root: Path
    out: Path
    work: Path
    home: Path
    scratch: Path


@contextmanager
def place() -> Iterator[Place]:
    """New folders, which are removed afterwards."""
    with tempfile.TemporaryDirectory(prefix="soak-", ignore_cleanup_errors=True) as name:
        root = Path(name)
        found = Place(root, root / "disk" / "out", root / "work", root / "home", root / "scratch")
        for folder in (found.out.parent, found.work, found.home, found.scratch):
            folder.mkdir()
        yield found


@dataclass
class Seen:
    """What was seen of a campaign.

    Attributes:
        code: its exit code; ``None`` if it had to be killed.
        seconds: from the moment that its folder was there to the end of its process.
        told: what it printed as JSON; empty if nothing.
        errors: its standard error.
        processes: what outlived it by ``SETTLES``: process ids and command lines.
        scratch: names in the folder of temporary files.
        outside: files in the working folder, at home and in shared memory that were not there, with their bytes.
        descriptors: fewest of a job in the second and in the last third of its time; equal if none is lost.
        memory: most bytes that all of its processes held at once.
        disk: most bytes that the temporary folder held at once.
    """

    code: int | None = None
    seconds: float = 0.0
    told: Mapping[str, Any] = field(default_factory=dict)
    errors: str = ""
    processes: list[str] = field(default_factory=list)
    scratch: list[str] = field(default_factory=list)
    outside: dict[str, int] = field(default_factory=dict)
    descriptors: tuple[int, int] = (0, 0)
    memory: int = 0
    disk: int = 0

    def verdicts_on(self, target: str) -> list[str]:
        """Symptoms of findings and suspects that name a target, in the order in which the summary has them."""
        found = [f["symptom"] for f in self.told.get("list", ()) if f["target"] == target]
        return found + [f"suspect {f['symptom']}" for f in self.told.get("suspect_list", ()) if f["target"] == target]

    def lines_on(self, target: str) -> list[str]:
        """Lines of standard error that name a target and are more than the list of all."""
        return [line for line in self.errors.splitlines() if target in line and "irfuzz: targets:" not in line]


def fuzz_words(place: Place, *more: object, seeds: Sequence[str] = SEEDS) -> list[str]:
    """``irfuzz fuzz`` of shipped seeds with the irfuzz that this script imports."""
    from irfuzz.shipped_folders import seeds_dir

    models = [seeds_dir() / f"{name}.onnx" for name in seeds]
    return [sys.executable, "-P", "-m", "irfuzz", "fuzz", *map(str, [*models, "--out", place.out, "--json", *more])]


def watched(
    words: Sequence[str],
    place: Place,
    *,
    seconds: float,
    during: Callable[[float], None] = lambda elapsed: None,
    environment: Mapping[str, str] | None = None,
) -> Seen:
    """Run a campaign to its end, look at it now and then, and count what it leaves.

    Args:
        words: program and arguments.
        place: of the campaign.
        seconds: its ``--time``.
        during: called at every look with the seconds since its folder was there.
        environment: added to this process's own.
    """
    linux.adopt_orphans()
    mark = uuid.uuid4().hex
    env = {
        **os.environ, MARK: mark, "HOME": str(place.home), "TMPDIR": str(place.scratch), "OMP_NUM_THREADS": "1",
        "XDG_CACHE_HOME": str(place.root / "cache"), "XDG_DATA_HOME": str(place.root / "data"),
        "PYTHONPATH": str(Path(irfuzz.__file__).parents[1]), "PYTHONDONTWRITEBYTECODE": "1", **(environment or {}),
    }  # fmt: skip
    before = _outside(place)
    seen = Seen()
    with (place.root / "stdout").open("w+b") as told, (place.root / "stderr").open("w+b") as errors:
        process = subprocess.Popen(words, cwd=place.work, env=env, stdin=subprocess.DEVNULL, stdout=told, stderr=errors)
        try:
            _look_on(process, place, seen, seconds, during)
        finally:
            process.kill()
            process.wait()
        seen.code = process.returncode if process.returncode != -signal.SIGKILL else None
        told.seek(0)
        errors.seek(0)
        text, seen.errors = told.read(), errors.read().decode(errors="replace")
    with suppress(ValueError):
        seen.told = json.loads(text)
    seen.processes = _left(mark)
    seen.scratch = sorted(path.name for path in place.scratch.iterdir())
    seen.outside = {name: size for name, size in _outside(place).items() if before.get(name) != size}
    return seen


def _look_on(
    process: subprocess.Popen[bytes],
    place: Place,
    seen: Seen,
    seconds: float,
    during: Callable[[float], None],
) -> None:
    counts: list[tuple[float, int]] = []
    began = started = time.monotonic()
    loaded = False
    while process.poll() is None:
        loaded = loaded or place.out.exists()
        now = time.monotonic()
        began = began if loaded else now
        if now - started > seconds + TOO_LONG:
            break
        during(now - began)
        below = linux.descendants(process.pid)
        seen.memory = max(seen.memory, sum(map(linux.resident, [process.pid, *below])))
        seen.disk = max(seen.disk, _bytes_in(place.scratch))
        counts += [(now - began, n) for pid in below if is_job(pid) and (n := _descriptors(pid))]
        time.sleep(LOOK)
    seen.seconds = time.monotonic() - began
    second = [n for at, n in counts if seconds / 3 <= at < 2 * seconds / 3]
    last = [n for at, n in counts if at >= 2 * seconds / 3]
    if second and last:
        seen.descriptors = min(second), min(last)


def is_job(pid: int) -> bool:
    """Whether a process is a job of a campaign."""
    try:
        return b"irfuzz.campaign.job" in Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return False


def _descriptors(pid: int) -> int:
    try:
        return len(os.listdir(f"/proc/{pid}/fd"))  # noqa: PTH208 - only how many
    except OSError:
        return 0


def _left(mark: str) -> list[str]:
    """Processes with the mark in their environment, and orphans that came to this process; they are killed."""
    end = time.monotonic() + SETTLES
    while (left := _marked(mark) | set(linux.descendants(os.getpid()))) and time.monotonic() < end:
        _reap()
        time.sleep(0.1)
    told = []
    for pid in sorted(left):
        with suppress(OSError):
            words = Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
            told.append(f"{pid} {words.strip()[:80]}")
        linux.kill(pid)
    _reap()
    return told


def _reap() -> None:
    with suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass


def _marked(mark: str) -> set[int]:
    found: set[int] = set()
    wanted = f"{MARK}={mark}".encode()
    for path in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if wanted in (path / "environ").read_bytes().split(b"\0"):
                found.add(int(path.name))
    return found


def _outside(place: Place) -> dict[str, int]:
    """Files of this user where a campaign has no business to leave any, with their bytes."""
    found: dict[str, int] = {}
    for folder in (place.work, place.home, Path("/dev/shm")):
        for where, _, names in os.walk(folder):
            for name in names:
                with suppress(OSError):
                    about = os.lstat(Path(where, name))
                    if about.st_uid == os.getuid():
                        found[f"{where}/{name}"] = about.st_size
    return found


def _bytes_in(folder: Path) -> int:
    """What the files below a folder take on its disk."""
    total = 0
    for where, _, names in os.walk(folder):
        for name in names:
            with suppress(OSError):
                total += os.lstat(Path(where, name)).st_blocks * 512
    return total
