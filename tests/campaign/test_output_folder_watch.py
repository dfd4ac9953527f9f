"""A campaign whose folder goes away or fills up ends at once, says so in one line, and loses nothing that is there."""

from __future__ import annotations

import contextlib
import os
import resource
import shutil
import sqlite3
import subprocess
import threading
import time
from collections.abc import Generator, Iterator
from contextlib import closing
from functools import partial
from pathlib import Path

import pytest

from irfuzz.campaign.config import Layout
from irfuzz.campaign.inflight_journal import Journal, read
from irfuzz.campaign.output_folder_watch import PROBE, OutputFolderLost, OutputFolderWatch
from irfuzz.errors import UsageError
from tests.campaign.running import ENV, Running, Seen, alive, command, planted, wait_until

AT_ONCE = 10.0
"""Seconds in which a campaign has to end."""


# ---- the watch alone ----------------------------------------------------------------------------


@pytest.fixture
def out(tmp_path: Path) -> Path:
    """A folder with what a watch looks at."""
    folder = tmp_path / "out"
    folder.mkdir()
    for path in (Layout(folder).lock(), Layout(folder).database):
        path.touch()
    return folder


@pytest.fixture
def watch(out: Path) -> Iterator[OutputFolderWatch]:
    found = OutputFolderWatch(Layout(out))
    yield found
    found.close()


@pytest.mark.unit
def test_a_folder_that_stays_is_left_as_it_is(out: Path, watch: OutputFolderWatch) -> None:
    before = sorted(out.iterdir())
    watch.check()
    assert sorted(out.iterdir()) == before


@pytest.mark.unit
def test_a_folder_that_was_renamed_is_named_and_may_come_back(out: Path, watch: OutputFolderWatch) -> None:
    away = out.rename(out.with_name("away"))
    with pytest.raises(OutputFolderLost, match=f"renamed to {away} "):
        watch.check()
    out.mkdir()  # another one in its place is not it
    with pytest.raises(OutputFolderLost, match="renamed to"):
        watch.check()
    assert list(out.iterdir()) == [], "something was written into a folder that is not the campaign's"
    out.rmdir()
    away.rename(out)
    watch.check()


@pytest.mark.unit
def test_a_folder_that_was_removed_is_told(out: Path, watch: OutputFolderWatch) -> None:
    shutil.rmtree(out)
    with pytest.raises(OutputFolderLost, match="the folder was removed"):
        watch.check()


@pytest.mark.unit
def test_a_folder_that_is_being_removed_is_told_as_one_that_was(out: Path, watch: OutputFolderWatch) -> None:
    Layout(out).lock().unlink()  # as `rm -r` does, which then takes its time
    removal = threading.Timer(0.2, shutil.rmtree, [out])
    removal.start()
    with pytest.raises(OutputFolderLost, match="the folder was removed"):
        watch.check()
    removal.join()


@pytest.mark.unit
@pytest.mark.parametrize("name", ["campaign.lock", "campaign.sqlite"])
@pytest.mark.parametrize("again", [False, True])
def test_a_file_that_was_removed_or_replaced_is_told(
    out: Path, watch: OutputFolderWatch, monkeypatch: pytest.MonkeyPatch, name: str, *, again: bool
) -> None:
    monkeypatch.setattr("irfuzz.campaign.output_folder_watch.REMOVAL_SECONDS", 0.0)
    (out / name).rename(out / "old")  # so that its number is not given again
    if again:
        (out / name).touch()
    with pytest.raises(OutputFolderLost, match=f"{name} was removed or replaced"):
        watch.check()


@contextlib.contextmanager
def files_of(most: int) -> Generator[None]:
    """No file of this process may become larger."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (most, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.mark.unit
def test_a_folder_that_cannot_be_written_is_told_and_nothing_is_left_in_it(out: Path, watch: OutputFolderWatch) -> None:
    with files_of(1 << 12), pytest.raises(OutputFolderLost, match="cannot be written any more: File too large"):
        watch.check()
    assert not list(out.glob(f"{PROBE}*"))
    watch.check()


@pytest.mark.unit
def test_a_journal_that_does_not_fit_says_so_and_tells_of_what_it_held_before(tmp_path: Path) -> None:
    path = tmp_path / "job0.journal"
    journal = Journal(path)
    journal.makes(7)
    with files_of(1 << 12), pytest.raises(UsageError, match=r"job0\.journal: cannot be written: File too large"):
        journal.runs([(7, bytes(1 << 13))])
    journal.close()
    assert (read(path).iteration, read(path).models) == (7, {})


# ---- whole campaigns ----------------------------------------------------------------------------


def words(seed: Path, out: Path, *more: object) -> list[object]:
    # Refuses nearly every program, with another message for each operator: findings come all the time.
    return [
        seed, "--out", out, "--time", "90s", "--seed", 5, "--jobs", 1, "--reduce", 0.5, "--every", 4, "--quiet",
        "--targets", "reference,onnxruntime:disabled", "--target", planted("Picky"), *more,
    ]  # fmt: skip


def works(out: Path, since: Seen | None = None) -> bool:
    now, before = Seen.of(out), since or Seen()
    return now.tallies.get(0, (0, 0))[1] > before.tallies.get(0, (0, 0))[1] + 2


def ends_at_once(running: Running) -> str:
    """The line with which a campaign ends whose folder has just gone; nobody is left behind."""
    below, began = running.below(), time.monotonic()
    _, errors = running.process.communicate(timeout=30)
    assert time.monotonic() - began < AT_ONCE
    assert running.process.returncode == 2, errors
    assert wait_until(lambda: not any(map(alive, below)), 10), "somebody outlives the campaign"
    (line,) = errors.splitlines()
    assert line.startswith("irfuzz: error: --out ")
    return line


def is_whole(out: Path) -> bool:
    with closing(sqlite3.connect(out / "campaign.sqlite")) as database:
        return database.execute("pragma integrity_check").fetchall() == [("ok",)]


def goes_on(seed: Path, out: Path, before: Seen, cwd: Path) -> None:
    """The same command continues what lies there, and nothing that was there is lost."""
    assert is_whole(out)
    with Running(*words(seed, out), cwd=cwd) as running:
        assert wait_until(partial(works, out, before)), "nothing runs"
        running.process.terminate()
        _, errors = running.process.communicate(timeout=60)
    assert running.process.returncode in (0, 1), errors
    assert before.lost_in(Seen.of(out)) == []
    assert is_whole(out)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 16 MiB."""
    place = tmp_path / "disk"
    place.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=16m", "tmpfs", place], capture_output=True, text=True, check=False
    )
    if mounted.returncode:
        pytest.skip(f"no small file system can be mounted here: {mounted.stderr.strip()}")
    yield place
    subprocess.run(["umount", "--lazy", place], check=True)


@pytest.mark.planted
@pytest.mark.backend
@pytest.mark.slow
@pytest.mark.timeout(240)
def test_a_campaign_whose_folder_is_renamed_ends_and_goes_on_once_it_is_back(tmp_path: Path, tiny: Path) -> None:
    out, away = tmp_path / "out", tmp_path / "away"
    with Running(*words(tiny, out), cwd=tmp_path) as running:
        assert wait_until(partial(works, out)), "nothing runs"
        before = Seen.of(out)
        out.rename(away)
        line = ends_at_once(running)
    assert f"renamed to {away} " in line
    assert not out.exists(), "somebody has made it again"
    away.rename(out)
    goes_on(tiny, out, before, tmp_path)


@pytest.mark.planted
@pytest.mark.backend
@pytest.mark.slow
@pytest.mark.timeout(240)
def test_a_campaign_whose_folder_is_removed_ends(tmp_path: Path, tiny: Path) -> None:
    out = tmp_path / "out"
    with Running(*words(tiny, out), cwd=tmp_path) as running:
        assert wait_until(partial(works, out)), "nothing runs"
        while out.exists():
            shutil.rmtree(out, ignore_errors=True)  # a job may write a file meanwhile
        line = ends_at_once(running)
    assert "the folder was removed" in line
    assert not out.exists(), "somebody has made it again"


@pytest.mark.planted
@pytest.mark.backend
@pytest.mark.slow
@pytest.mark.timeout(240)
def test_a_campaign_whose_disk_is_full_ends_and_goes_on_once_there_is_room(
    tmp_path: Path, tiny: Path, small_disk: Path
) -> None:
    out, ballast = small_disk / "out", small_disk / "ballast"
    with Running(*words(tiny, out), cwd=tmp_path) as running:
        assert wait_until(partial(works, out)), "nothing runs"
        before = Seen.of(out)
        with ballast.open("wb", buffering=0) as file, contextlib.suppress(OSError):
            while True:
                file.write(bytes(1 << 12))
        line = ends_at_once(running)
    assert "No space left on device" in line or "database or disk is full" in line
    ballast.unlink()
    goes_on(tiny, out, before, tmp_path)


@pytest.mark.planted
@pytest.mark.backend
@pytest.mark.slow
@pytest.mark.timeout(240)
def test_a_campaign_whose_folder_is_made_read_only_ends_and_goes_on_once_it_is_not(tmp_path: Path, tiny: Path) -> None:
    """Nothing stops root from writing, so root runs it without that capability."""
    bound: list[str] = []
    if os.getuid() == 0:
        bound = ["setpriv", "--bounding-set=-dac_override,-dac_read_search"]
        if shutil.which("setpriv") is None or subprocess.run([*bound, "true"], check=False).returncode:
            pytest.skip("root, and no setpriv (util-linux) to run a campaign without the right to write everywhere")
    out = tmp_path / "out"
    process = subprocess.Popen(
        [*bound, *command("fuzz", *words(tiny, out))], cwd=tmp_path, env=ENV, stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        assert wait_until(partial(works, out)), "nothing runs"
        out.chmod(0o555)
        began = time.monotonic()
        _, errors = process.communicate(timeout=30)
    finally:
        process.kill()
        out.chmod(0o755)
    assert time.monotonic() - began < AT_ONCE
    assert process.returncode == 2, errors
    (line,) = errors.splitlines()
    assert "cannot be written any more: Permission denied" in line
    goes_on(tiny, out, Seen.of(out), tmp_path)


@pytest.mark.unit
def test_the_folder_is_written_now_and_then_and_looked_at_each_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    layout = Layout(tmp_path)
    for path in (layout.lock(), layout.database):
        path.touch()
    written: list[int] = []
    watch = OutputFolderWatch(layout)
    monkeypatch.setattr(watch, "_write", lambda: written.append(1))
    for every in (60.0, 60.0, 60.0, 0.0, 60.0):
        watch.check(every=every)
    assert len(written) == 2
    layout.database.unlink()
    with pytest.raises(OutputFolderLost, match="was removed or replaced"):
        watch.check(every=60.0)
    watch.close()
