"""Folders that killed processes leave behind are removed, and nothing else is."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

import irfuzz
from irfuzz.isolate import Worker, WorkerSpec, linux
from irfuzz.isolate.folder_removal import contents, empty_folder
from irfuzz.isolate.scratch_folder import LOCK, PREFIX, ScratchFolder, remove_abandoned

pytestmark = pytest.mark.unit

HANDLERS = Path(__file__).parent / "handlers"
PLANTED = Path(__file__).resolve().parents[1] / "planted_targets"

HOLDER = """
import subprocess, sys, time
from irfuzz.isolate.scratch_folder import ScratchFolder
folder = ScratchFolder("test")
(folder.path / "sub").mkdir()
(folder.path / "sub" / "file").write_text("x")
if len(sys.argv) > 1:
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"],
                             stdout=subprocess.DEVNULL, pass_fds=[folder.lock])
    print(child.pid)
print(folder.path, flush=True)
time.sleep(60)
"""


def test_a_folder_is_emptied_but_for_what_was_there(tmp_path: Path) -> None:
    place, users = tmp_path / "place", tmp_path / "users"
    for folder in (place / "home" / "cache", users / "cache", place / "run"):
        folder.mkdir(parents=True)
    for file in (place / "lock", place / "home" / "profile", users / "cache" / "thesis"):
        file.touch()
    before = contents(place)
    assert before == {"lock": None, "home": {"cache": {}, "profile": None}, "run": {}}
    for new in (place / "new", place / "home" / "new", place / "home" / "cache" / "new"):
        new.touch()
    (place / "deep" / "er").mkdir(parents=True)
    empty_folder(place, keep=before)
    assert contents(place) == before
    shutil.rmtree(place / "home")
    (place / "home").symlink_to(users)
    empty_folder(place, keep=before)
    assert (users / "cache" / "thesis").exists(), "no link is followed"
    empty_folder(place / "nowhere", keep=before)


def test_what_may_never_change_is_removed_too(place: Path) -> None:
    folder = ScratchFolder("test")
    (folder.path / "sub").mkdir()
    (folder.path / "sub" / "file").write_text("x")
    chattr = shutil.which("chattr") or "false"
    if subprocess.run([chattr, "+i", folder.path / "sub" / "file", folder.path / "sub"], check=False).returncode:
        folder.close()
        pytest.skip("no file can be marked immutable here")
    folder.close()
    assert not any(place.iterdir())


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A temporary folder of the test's own."""
    folder = tmp_path / "tmp"
    folder.mkdir()
    monkeypatch.setenv("TMPDIR", str(folder))
    monkeypatch.setattr("tempfile.tempdir", None)
    return folder


def holder(*words: str) -> tuple[subprocess.Popen[str], list[str]]:
    """A process that holds a folder, and what it said."""
    process = subprocess.Popen(
        [sys.executable, "-c", HOLDER, *words], stdout=subprocess.PIPE, text=True,
        env={**os.environ, "PYTHONPATH": str(Path(irfuzz.__file__).parents[1])},
    )  # fmt: skip
    assert process.stdout is not None
    return process, [process.stdout.readline().strip() for _ in range(1 + len(words))]


def test_a_folder_is_removed_once_the_process_that_holds_it_is_killed(place: Path) -> None:
    process, (name,) = holder()
    try:
        folder = Path(name)
        assert folder.parent == place
        assert folder.name.startswith(f"{PREFIX}test-")
        assert remove_abandoned() == [], "that of a living process"
        assert (folder / "sub" / "file").exists()
    finally:
        process.kill()
        process.communicate()
    assert remove_abandoned() == [folder]
    assert list(place.iterdir()) == []


def test_who_inherits_the_lock_holds_the_folder(place: Path) -> None:
    process, (child, _) = holder("child")
    try:
        process.kill()
        process.communicate()
        assert remove_abandoned() == []
    finally:
        os.kill(int(child), signal.SIGKILL)
    end = time.monotonic() + 10
    while not remove_abandoned():
        assert time.monotonic() < end
        time.sleep(0.02)
    assert list(place.iterdir()) == []


def test_a_closed_folder_is_gone_and_an_open_one_is_held(place: Path) -> None:
    with ScratchFolder() as folder:
        assert remove_abandoned() == []
        assert folder.path.is_dir()
    assert list(place.iterdir()) == []
    folder.close()


def abandoned(place: Path, name: str = "irfuzz-old") -> Path:
    """What a killed process leaves."""
    folder = place / name
    folder.mkdir()
    (folder / LOCK).touch()
    return folder


def test_links_are_never_followed(place: Path, tmp_path: Path) -> None:
    elsewhere = abandoned(tmp_path, "elsewhere")
    (elsewhere / "precious").touch()
    (place / "irfuzz-link").symlink_to(elsewhere)
    folder = abandoned(place)
    (folder / "link").symlink_to(elsewhere)
    (folder / "precious").symlink_to(elsewhere / "precious")
    assert remove_abandoned() == [folder]
    assert (place / "irfuzz-link").is_symlink()
    assert sorted(path.name for path in elsewhere.iterdir()) == [LOCK, "precious"]


def test_what_is_not_known_to_be_irfuzz_s_stays(place: Path, tmp_path: Path) -> None:
    (tmp_path / "lock").touch()
    abandoned(place, "other-tool")
    (place / "irfuzz-mine").mkdir()  # somebody called a folder so
    (place / "irfuzz-file").touch()
    for name, make in (("linked", lambda p: p.symlink_to(tmp_path / "lock")), ("piped", os.mkfifo)):
        folder = place / f"irfuzz-{name}"
        folder.mkdir()
        make(folder / LOCK)
    before = sorted(place.iterdir())
    assert remove_abandoned() == []
    assert sorted(place.iterdir()) == before


def test_folders_of_another_user_stay(place: Path) -> None:
    if os.getuid() != 0:
        pytest.skip("only root can give a folder to another user")
    for name, what in (("irfuzz-folder", "."), ("irfuzz-lock", LOCK)):
        os.chown(abandoned(place, name) / what, 65534, -1)
    assert remove_abandoned() == []
    assert len(list(place.iterdir())) == 2


def test_a_worker_holds_its_folder_also_after_its_parent_is_killed(
    place: Path, tmp_path: Path, gone: Callable[[list[int]], bool]
) -> None:
    """One whose import hangs in C does not notice, and is not to lose its folder under it."""
    code = (
        "import sys, time; from pathlib import Path; from irfuzz.isolate import Worker, WorkerSpec\n"
        "worker = Worker(WorkerSpec('hangs', Path(sys.argv[1]), ('hangs_on_import',), "
        "env={'PYTHONPATH': sys.argv[2]})); worker.start(); print('started', flush=True); time.sleep(60)"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", code, HANDLERS / "many.py", PLANTED], stdout=subprocess.PIPE, text=True,
        env={**os.environ, "PYTHONPATH": str(Path(irfuzz.__file__).parents[1])},
    )  # fmt: skip
    assert process.stdout is not None
    process.stdout.readline()
    (zygote,) = linux.children(process.pid)
    time.sleep(1.5)  # it has come to that import
    process.kill()
    process.communicate()
    assert remove_abandoned() == []
    linux.kill(zygote)
    assert gone([zygote])
    (folder,) = remove_abandoned()
    assert not folder.exists()


def test_a_worker_that_hangs_in_an_import_is_closed_at_once(place: Path) -> None:
    env = {"PYTHONPATH": str(PLANTED)}
    with Worker(WorkerSpec("hangs", HANDLERS / "many.py", ("hangs_on_import",), env=env)) as worker:
        worker.start()
        time.sleep(1.5)
        began = time.monotonic()
    assert time.monotonic() - began < 3
    assert list(place.iterdir()) == []


def test_a_folder_is_removed_however_deep_a_child_has_made_it(place: Path, many: WorkerSpec) -> None:
    outside = place.parent / "outside"
    outside.mkdir()
    (outside / "kept").write_text("x")
    with Worker(many) as worker:
        assert worker.call({"do": "dig", "levels": 1100, "outside": str(outside)}).exit == "ok"
    assert not any(place.iterdir())
    assert (outside / "kept").read_text() == "x"


def test_the_lock_goes_last(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = ScratchFolder("test")
    (folder.path / "sub" / "inner").mkdir(parents=True)
    (folder.path / "file").write_text("x")
    seen: list[bool] = []
    rmdir = os.rmdir

    def noting(path: str | Path, *, dir_fd: int | None = None) -> None:
        seen.append((folder.path / LOCK).exists())
        rmdir(path, dir_fd=dir_fd)

    monkeypatch.setattr("os.rmdir", noting)
    folder.close()
    assert seen == [True, True, False]
    assert not any(place.iterdir())
