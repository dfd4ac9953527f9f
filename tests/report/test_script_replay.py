"""A script that is replayed reaches nothing of the user's, and has the limits of a worker."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from irfuzz.findings.finding import Finding
from irfuzz.isolate import Limits
from irfuzz.isolate.sandbox_report import what_holds
from irfuzz.oracle.verdict import Symptom
from irfuzz.report.finding_folder_writer import write_shown
from irfuzz.report.script_replay import replays
from tests.report.conftest import parse

PLANTED = Path(__file__).resolve().parents[1] / "planted_targets"
MIB = 1 << 20


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder from which a user has started irfuzz, and scratch folders beside it."""
    folder = tmp_path / "home"
    folder.mkdir()
    (folder / "thesis.tex").touch()
    (tmp_path / "tmp").mkdir()
    monkeypatch.setenv("TMPDIR", str(tmp_path / "tmp"))
    monkeypatch.setattr("tempfile.tempdir", None)
    monkeypatch.chdir(folder)
    return folder


def script(folder: Path, text: str) -> Path:
    """A finding's folder with this script."""
    folder.mkdir()
    (folder / "repro.py").write_text(text)
    return folder


@pytest.mark.backend
@pytest.mark.planted
def test_a_target_that_removes_its_working_folder_takes_nothing_of_the_user_s(
    finding: Callable[..., Finding], home: Path, tmp_path: Path
) -> None:
    program = parse("g (float[2] x) => (float[2] y) { y = Relu(x) }")
    row = finding(program, {"x": np.ones(2, np.float32)}, f"{PLANTED}/faults.py:RemovesFolder")
    assert row.verdict.symptom is Symptom.REJECTION
    stored = write_shown(home / "it", row, seconds=60)
    assert not stored.printed
    there = sorted(path.name for path in (home / "it").iterdir())
    assert {"model.onnx", "repro.py"} <= set(there)
    shown, log = replays(home / "it", seconds=60)
    assert shown, log
    assert "working folder" in log, "it was not asked"
    assert sorted(path.name for path in (home / "it").iterdir()) == there
    assert (home / "thesis.tex").exists()
    assert list((tmp_path / "tmp").iterdir()) == []


@pytest.mark.backend
@pytest.mark.planted
def test_another_file_of_the_name_is_not_taken_for_that_of_the_class(
    finding: Callable[..., Finding], home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = parse("g (float[2] x) => (float[2] y) { y = Relu(x) }")
    row = finding(program, {"x": np.ones(2, np.float32)}, f"{PLANTED}/faults.py:RemovesFolder")
    (home / "other").mkdir()
    (home / "other" / "faults.py").write_text("class Unrelated:\n    pass\n")
    monkeypatch.setattr(sys, "path", [str(home / "other"), *sys.path])
    assert not write_shown(home / "it", row, seconds=60).printed
    shown, log = replays(home / "it", seconds=60)
    assert shown, log
    assert "working folder" in log, "it was not asked"


@pytest.mark.unit
def test_a_script_has_the_limits_of_a_worker(home: Path, tmp_path: Path) -> None:
    text = """
import sys, tempfile
from pathlib import Path
told = []
for name, do in (("file", lambda: Path("large").write_bytes(bytes(2 << 20))), ("memory", lambda: bytearray(3 << 30))):
    try:
        do()
    except (OSError, MemoryError) as error:
        told.append(f"{name} {type(error).__name__}")
print(told, Path.cwd().name, Path(tempfile.mkdtemp()).parent == Path.cwd().parent)
print("the fault shows")
sys.exit(1)
"""
    folder = script(tmp_path / "it", text)
    shown, log = replays(folder, seconds=60, limits=Limits(file_bytes=MIB, memory_bytes=256 * MIB))
    assert shown, log
    assert log.splitlines()[0] == "['file OSError', 'memory MemoryError'] work True"
    assert replays(folder, seconds=60, limits=Limits(memory_bytes=None))[1].startswith("[] work True")
    assert [path.name for path in folder.iterdir()] == ["repro.py"]
    assert [path.name for path in home.iterdir()] == ["thesis.tex"]
    assert list((tmp_path / "tmp").iterdir()) == []


@pytest.mark.unit
@pytest.mark.usefixtures("home")
def test_of_a_script_that_prints_much_the_middle_is_left_out(tmp_path: Path) -> None:
    text = "import sys\nfor _ in range(64):\n    print('x' * (1 << 20))\nprint('the fault shows')\nsys.exit(1)\n"
    shown, log = replays(script(tmp_path / "it", text), seconds=60)
    assert shown
    assert len(log) < 32 << 20


@pytest.mark.unit
def test_a_class_is_found_from_the_folder_of_the_user_by_scripts_that_look_there(home: Path, tmp_path: Path) -> None:
    (home / "my_runtime.py").touch()
    look = "import os, sys\nsys.path.insert(0, os.getcwd())\n"
    ask = "import importlib.util\nfound = importlib.util.find_spec('my_runtime')\n"
    end = "print('the fault shows' if found else 'not found')\nsys.exit(int(bool(found)))\n"
    assert replays(script(tmp_path / "it", look + ask + end), seconds=60)[0]
    assert not replays(script(tmp_path / "other", f"import sys\n{ask}{end}"), seconds=60)[0]


@pytest.mark.unit
def test_a_path_that_is_relative_stays_what_it_was(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (home / "lib").mkdir()
    (home / "lib" / "their_module.py").touch()
    monkeypatch.setattr(sys, "path", [*sys.path, "lib"])
    folder = script(tmp_path / "it", "import sys, their_module\nprint('the fault shows')\nsys.exit(1)\n")
    assert replays(folder, seconds=60)[0]


@pytest.mark.unit
@pytest.mark.usefixtures("home")
def test_a_script_that_takes_too_long_is_ended_and_its_folder_removed(tmp_path: Path) -> None:
    folder = script(tmp_path / "it", "import time\nprint('begun', flush=True)\ntime.sleep(60)\n")
    shown, log = replays(folder, seconds=6)
    assert (shown, log) == (False, "begun\n\nended after 6 s")
    assert list((tmp_path / "tmp").iterdir()) == []


@pytest.mark.unit
def test_a_script_for_whose_copy_there_is_no_room_is_not_shown(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = script(home / "it", "import sys\nprint('the fault shows')\nsys.exit(1)\n")
    (tmp_path / "tmp").rmdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "tmp"))
    shown, log = replays(folder, seconds=60)
    assert (shown, "it cannot be run: " in log, str(tmp_path / "tmp") in log) == (False, True, True)


@pytest.mark.unit
def test_weights_are_copied_too(home: Path) -> None:
    """Links to weights become files, so that nobody writes into the campaign's."""
    text = """
import sys
from pathlib import Path
weights = Path(__file__).with_name("weights")
alone = weights.stat().st_nlink == 1
weights.write_text("changed")
print("the fault shows")
sys.exit(int(alone))
"""
    folder = script(home / "it", text)
    (home / "blob").write_text("weights")
    (folder / "weights").hardlink_to(home / "blob")
    assert replays(folder, seconds=60)[0]
    assert (home / "blob").read_text() == "weights"


@pytest.mark.skipif("files" not in what_holds(), reason="this kernel has no Landlock of version 2 or newer")
def test_a_script_changes_nothing_outside_its_copy(home: Path, tmp_path: Path) -> None:
    text = (
        "import os\nfrom pathlib import Path\n"
        "try:\n    os.remove({file!r})\nexcept PermissionError:\n    print('kept')\n"
        "Path('here').write_text('x')\nPath.home().joinpath('x').write_text('x')\nprint('the fault shows')\nexit(1)\n"
    )
    folder = script(tmp_path / "it", text.format(file=str(home / "thesis.tex")))
    assert replays(folder, seconds=60) == (True, "kept\nthe fault shows\n")
    shown, log = replays(folder, seconds=60, allowed=(str(home),))
    assert shown
    assert "kept" not in log
    assert not (home / "thesis.tex").exists()
