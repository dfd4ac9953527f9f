"""What irfuzz itself gets wrong costs one program, is kept for whoever mends it, and ends in exit code 3."""

from __future__ import annotations

import json
import subprocess
import textwrap
from pathlib import Path

import onnx
import pytest

from irfuzz.campaign.monitoring.internal_error_folders import IN_ALL, PER_KIND, InternalErrorStore, kind_of, text_of
from irfuzz.store.blob_store import FolderBlobs
from tests.campaign.running import ENV, Seen, command

pytestmark = [pytest.mark.plugin]

ORACLE = """
import ctypes, os
from pathlib import Path

def now_and_then(case):
    "Has a fault of its own: it divides by zero where the number of nodes is odd."
    1 / (1 - len(case.program.nodes()) % 2)
    return []

def always(case):
    raise KeyError("nobody has thought of this")

def dies_once(case):
    "Takes the job with it, at the third program of the first try."
    counter = Path("counter")
    seen = int(counter.read_text()) if counter.exists() else 0
    counter.write_text(str(seen + 1))
    if seen == 2:
        ctypes.string_at(0)
    return []
"""


def install(folder: Path, name: str) -> dict[str, str]:
    """A distribution that offers one oracle, and the environment that has it."""
    about = folder / "faulty-1.0.dist-info"
    about.mkdir(parents=True)
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: faulty\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text(f"[irfuzz.oracles]\n{name} = faulty:{name}\n")
    (folder / "faulty.py").write_text(textwrap.dedent(ORACLE))
    return {**ENV, "PYTHONPATH": f"{folder}:{ENV['PYTHONPATH']}"}


def fuzz(seed: Path, folder: Path, oracle: str, programs: int) -> subprocess.CompletedProcess[str]:
    words = [seed, "--out", "out", "--jobs", 1, "--time", "100s", "--programs", programs, "--targets"]
    words += ["reference,onnxruntime:disabled", "--json"]
    return subprocess.run(
        command("fuzz", *words), cwd=folder, env=install(folder / "path", oracle), capture_output=True, text=True,
        check=False,
    )  # fmt: skip


@pytest.mark.backend
@pytest.mark.slow
@pytest.mark.timeout(300)
def test_an_exception_costs_one_program(tmp_path: Path, tiny: Path) -> None:
    result = fuzz(tiny, tmp_path, "now_and_then", 10)
    assert result.returncode == 3
    (line,) = result.stderr.splitlines()
    assert line.startswith("irfuzz: internal error: irfuzz itself failed ")
    assert str(Path("out") / "internal") in line
    summary = json.loads(result.stdout)
    assert summary["programs"] == 10, "it did not go on"
    assert summary["internal_errors"] >= 1
    assert summary["exit_code"] == 3
    folders = sorted((tmp_path / "out" / "internal").iterdir())
    assert 1 <= len(folders) <= PER_KIND
    assert len(summary["faults"]) == len(folders)
    for text, folder in zip(sorted(summary["faults"]), folders, strict=True):
        assert text.startswith(f"{folder.name}: ZeroDivisionError: "), text
    for folder in folders:
        text = (folder / "traceback.txt").read_text()
        assert "ZeroDivisionError" in text
        assert "faulty.py" in text
        about = json.loads((folder / "about.json").read_text())
        assert (about["job"], about["seed"]) == (0, 0)
        if "disagreement_handling.py" in text:
            onnx.load(folder / "case.onnx")
            continue
        assert len(onnx.load(folder / "mutant.onnx").graph.node) % 2 == 1
        onnx.checker.check_model(onnx.load(folder / "parent.onnx"))
    # Another run without the fault is not blamed for the old ones.
    (tmp_path / "path" / "faulty-1.0.dist-info" / "entry_points.txt").write_text("")
    words = [tiny, "--out", "out", "--jobs", 1, "--time", "100s", "--programs", 12, "-q", "--targets", "reference"]
    later = subprocess.run(
        command("fuzz", *words), cwd=tmp_path, env={**ENV}, capture_output=True, text=True, check=False
    )
    assert later.returncode in (0, 1), later.stderr


@pytest.mark.backend
@pytest.mark.slow
@pytest.mark.timeout(300)
def test_where_everything_fails_it_gives_up(tmp_path: Path, tiny: Path) -> None:
    result = fuzz(tiny, tmp_path, "always", 1000)
    assert (result.returncode, result.stdout) == (3, "")
    (line,) = result.stderr.splitlines()
    assert line.startswith("irfuzz: internal error: ")
    assert "out/internal" in line
    assert 1 <= len(list((tmp_path / "out" / "internal").iterdir())) <= 2 * PER_KIND


@pytest.mark.backend
@pytest.mark.slow
@pytest.mark.timeout(300)
def test_a_job_that_dies_is_started_again_behind_the_program_it_died_of(tmp_path: Path, tiny: Path) -> None:
    result = fuzz(tiny, tmp_path, "dies_once", 6)
    assert result.returncode == 3, result.stderr
    summary = json.loads(result.stdout)
    assert summary["programs"] == 6
    assert [d["how"] for d in summary["deaths"]] == ["SIGSEGV"]
    assert summary["counts"]["skipped after a death"] == 1
    (folder,) = (tmp_path / "out" / "internal").iterdir()
    assert "SIGSEGV" in (folder / "traceback.txt").read_text()
    onnx.checker.check_model(onnx.load(folder / "inflight.onnx"))
    assert Seen.of(tmp_path / "out").tallies[0][0] >= 7


def raised(depth: int) -> Exception:
    def fall(left: int) -> None:
        if left:
            fall(left - 1)
        raise ValueError("at the bottom")

    with pytest.raises(ValueError, match="bottom") as caught:
        fall(depth)
    return caught.value


@pytest.mark.unit
def test_a_fault_is_kept_a_bounded_number_of_times(tmp_path: Path) -> None:
    faults = InternalErrorStore(tmp_path / "internal", FolderBlobs(tmp_path / "blobs"))
    error = raised(5)
    models = {"a.onnx": b"m", "b": None}
    kept = [
        faults.keep(text_of(error), kind_of(error), about={"job": 0, "iteration": i}, models=models) for i in range(10)
    ]
    assert [k is not None for k in kept] == [True] * PER_KIND + [False] * (10 - PER_KIND)
    assert kept[0] is not None
    assert {p.name for p in kept[0].iterdir()} == {"traceback.txt", "about.json", "a.onnx"}
    for kind in range(IN_ALL):
        faults.keep("text", f"kind {kind}", about={"job": 0, "iteration": kind}, models={})
    assert len(list((tmp_path / "internal").iterdir())) == IN_ALL


@pytest.mark.unit
def test_kinds_are_told_apart_by_place_and_not_by_depth() -> None:
    assert kind_of(raised(5)) == kind_of(raised(9))
    assert kind_of(raised(5)) != kind_of(raised(0))
