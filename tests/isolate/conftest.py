"""Workers that run ``handlers/many.py`` with tight limits."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from irfuzz.isolate import Limits, Worker, WorkerSpec

HANDLERS = Path(__file__).parent / "handlers"
MIB = 1 << 20


@pytest.fixture(scope="session")
def many() -> WorkerSpec:
    # Without a sandbox for files and signals: what a child can do to others is tried here.
    return WorkerSpec("many", HANDLERS / "many.py", env={"EXTRA": "given"}, allowed=("files",))


@pytest.fixture(scope="module")
def worker(many: WorkerSpec) -> Iterator[Worker]:
    """One worker for all tests of a module: each leaves it as it should be, or the next one fails."""
    with Worker(many, Limits(seconds=20, memory_bytes=256 * MIB)) as worker:
        yield worker


@pytest.fixture
def gone() -> Callable[[list[int]], bool]:
    """Whether all these processes are gone, or go within ten seconds."""

    def check(pids: list[int]) -> bool:
        end = time.monotonic() + 10
        while any(alive(pid) for pid in pids):
            if time.monotonic() > end:
                return False
            time.sleep(0.02)
        return True

    return check


def alive(pid: int) -> bool:
    """Whether a process runs; a zombie does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return False
