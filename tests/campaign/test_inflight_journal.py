"""What a job was busy with outlives it, whenever it dies."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from irfuzz.campaign.inflight_journal import _HEAD, LARGE, InFlight, Journal, read
from irfuzz.errors import UsageError
from tests.campaign.running import ENV

pytestmark = [pytest.mark.unit]


def test_what_is_told_at_each_step(tmp_path: Path) -> None:
    path = tmp_path / "job0.journal"
    assert read(path) == InFlight()
    journal = Journal(path)
    assert read(path) == InFlight()
    journal.makes(7)
    assert read(path) == InFlight(7)
    models = {7: b"model of 7", 9: b"", 10: b"another" * 99}
    journal.runs([*models.items()])
    assert read(path) == InFlight(-1, models)
    journal.judges(9)
    assert read(path) == InFlight(9, models)
    journal.looks_into(4096)
    assert read(path) == InFlight(case=4096)
    journal.judges(10)
    assert read(path) == InFlight(10, models), "a case may be looked into in the middle of a round"
    journal.makes(11)
    assert read(path) == InFlight(11)
    journal.runs([(11, b"short")])
    assert read(path) == InFlight(-1, {11: b"short"})
    journal.close()
    assert read(path) == InFlight(-1, {11: b"short"})


@pytest.mark.parametrize(("more", "stays"), [(0, True), (1, False)])
def test_large_programs_are_cut_off_and_others_stay(tmp_path: Path, more: int, stays: bool) -> None:
    """16 bytes of the table and the model are what a journal holds beside its head."""
    path = tmp_path / "job0.journal"
    journal = Journal(path)
    journal.makes(0)
    journal.runs([(0, b"x")])
    entry = path.stat().st_size - _HEAD.size - 1
    model = b"x" * (LARGE - entry + more)
    journal.runs([(0, model)])
    size = path.stat().st_size
    assert size == _HEAD.size + LARGE + more
    journal.close()
    assert (path.stat().st_size == size) == stays
    assert read(path) == InFlight(-1, {0: model} if stays else {})
    other = tmp_path / "job1.journal"
    again = Journal(other)
    again.runs([(1, model)])
    again.makes(2)
    assert (other.stat().st_size == size) == stays
    assert read(other) == InFlight(2)
    again.close()


@pytest.mark.parametrize("data", [b"", b"irfuzz01", b"x" * 24, b"irfuzz01" + b"\xff" * 16, b"irfuzz01" + b"\x7f" * 40])
def test_rubbish_says_nothing(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "job0.journal"
    path.write_bytes(data)
    assert read(path) == InFlight()


def test_a_folder_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"job0.journal: cannot be written: "):
        Journal(tmp_path / "none" / "job0.journal")


WRITER = """
import sys
from pathlib import Path
from irfuzz.campaign.inflight_journal import Journal
journal = Journal(Path(sys.argv[1]))
print("ready", flush=True)
for first in range(0, 10**9, 4):
    for i in range(first, first + 4):
        journal.makes(i)
    journal.runs([(i, str(i).encode() * (i % 7) * 1000) for i in range(first, first + 4)])
    for i in range(first, first + 4):
        journal.judges(i)
"""


def test_kill_9_at_any_moment_leaves_a_whole_journal(tmp_path: Path) -> None:
    path = tmp_path / "job0.journal"
    phases = set()
    dice = random.Random(1)
    for _ in range(12):
        with subprocess.Popen(
            [sys.executable, "-P", "-c", WRITER, str(path)], env=ENV, stdout=subprocess.PIPE
        ) as writer:
            assert writer.stdout is not None
            assert writer.stdout.readline() == b"ready\n"
            time.sleep(dice.uniform(0.0, 0.02))
            os.kill(writer.pid, signal.SIGKILL)
        check(read(path), phases)
    assert phases, "nothing was written before the kill"


def check(busy: InFlight, phases: set[str]) -> None:
    if busy == InFlight():
        return
    phases.add("makes" if not busy.models else "runs" if busy.iteration < 0 else "judges")
    for number, data in busy.models.items():
        assert data == str(number).encode() * (number % 7) * 1000
    if busy.models and busy.iteration >= 0:
        assert busy.iteration in busy.models
