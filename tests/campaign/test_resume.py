"""A campaign ends when asked, tells what it found, and goes on later where it stood."""

from __future__ import annotations

import json
import signal
import subprocess
import time
from functools import partial
from pathlib import Path

import pytest

from irfuzz.campaign import campaign
from irfuzz.campaign.config import Config, Layout
from irfuzz.errors import Unsupported
from irfuzz.findings.codec import row_of
from irfuzz.findings.failing_case import FailingCase
from irfuzz.findings.finding import Finding
from irfuzz.oracle.verdict import Symptom, Verdict
from tests.campaign.running import ENV, Running, Seen, alive, command, planted, wait_until

pytestmark = [pytest.mark.backend, pytest.mark.slow, pytest.mark.timeout(300)]

QUICK = ["--jobs", 1, "--reduce", 1, "--targets", "reference,onnxruntime:disabled"]


def fuzz(*words: object, cwd: Path, env: dict[str, str] = ENV) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command("fuzz", *words), cwd=cwd, env=env, capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False
    )


SLACK = 4.0
"""Seconds more that a busy machine may need to obey than the two that it is to take."""


def at_least(out: Path, programs: int) -> bool:
    return Seen.of(out).tallies.get(0, (0, 0))[1] >= programs


def test_ctrl_c_and_continued(tmp_path: Path, tiny: Path) -> None:
    out = tmp_path / "out"
    words = [tiny, "--out", out, *QUICK, "--target", planted("Picky")]
    with Running(*words, "--time", "100s", "--seed", 3, cwd=tmp_path) as running:
        assert wait_until(partial(at_least, out, 3)), "nothing runs"
        assert wait_until(lambda: bool(Seen.of(out).findings)), "nothing is found"
        below = running.below()
        second = fuzz(*words, "--seed", 3, cwd=tmp_path)
        assert second.returncode == 2
        assert second.stderr.splitlines()[-1].startswith(f"irfuzz: error: --out {out}: another irfuzz process (")
        began = time.monotonic()
        running.process.send_signal(signal.SIGINT)
        told, errors = running.process.communicate(timeout=60)
        assert time.monotonic() - began < 2 + SLACK
        assert running.process.returncode == 1, errors
        assert told.startswith("stopped: ")
        assert "Picky rejects" in told
        assert wait_until(lambda: not any(map(alive, below))), "somebody outlives the campaign"
    assert "Traceback" not in errors
    assert "irfuzz: targets: reference" in errors
    before = Seen.of(out)

    other = fuzz(*words, "--seed", 4, cwd=tmp_path)
    assert (other.returncode, other.stdout) == (2, "")
    (line,) = other.stderr.splitlines()
    assert line.startswith(f"irfuzz: error: --seed 4: {out} holds a campaign with seed 3; ")
    assert Seen.of(out) == before

    wanted = before.tallies[0][1] + 2
    again = fuzz(*words, "--time", "100s", "--programs", wanted, "--json", cwd=tmp_path)
    assert (again.returncode, again.stderr) == (1, "")
    summary = json.loads(again.stdout)
    assert (summary["seed"], summary["continued"], summary["interrupted"]) == (3, True, False)
    assert (summary["programs"], summary["programs_this_run"]) == (wanted, 2)
    after = Seen.of(out)
    assert before.lost_in(after) == []
    assert after.tallies[0][0] > before.tallies[0][0]


def test_nothing_found_is_0_and_the_summary_says_so(tmp_path: Path, tiny: Path) -> None:
    words = [tiny, "--out", "out", *QUICK, "--target", planted("Faithful"), "--programs", 3, "--time", "100s"]
    words += ["--seed", 2]  # of a seed whose programs have no operator that the reference evaluator gets wrong
    result = fuzz(*words, cwd=tmp_path, env={**ENV, "IRFUZZ_HOME": str(tmp_path / "home")})
    assert result.returncode == 0, result.stdout
    assert result.stdout.splitlines()[-1] == "nothing found"
    assert "3 programs" in result.stdout
    seen = json.loads((tmp_path / "home" / "support.json").read_text())["targets"]
    for name in ("reference", "onnxruntime:disabled"):  # what `irfuzz targets --json` tells
        (ran,) = [pairs for target, pairs in seen.items() if target.startswith(f"{name} ")]
        assert ["Relu", "float", True] in ran


def test_no_program_is_not_nothing_found(tmp_path: Path, tiny: Path) -> None:
    words = [tiny, "--out", "out", *QUICK]
    # So short that no target has started.
    result = fuzz(*words, "--time", "0.01s", "--json", cwd=tmp_path)
    assert (result.returncode, result.stdout) == (2, "")
    assert result.stderr.startswith("irfuzz: error: no program was judged in ")
    assert "give more --time" in result.stderr
    assert not (tmp_path / "out").exists()
    # A campaign that has run all that it was to run is not short of anything.
    assert fuzz(*words, "--programs", 2, "--time", "100s", "-q", cwd=tmp_path).returncode in (0, 1)
    again = fuzz(*words, "--programs", 2, "--time", "100s", "-q", cwd=tmp_path)
    assert again.returncode in (0, 1), again.stderr
    later = fuzz(*words, "--time", "0.01s", "-q", cwd=tmp_path)
    assert later.returncode == (1 if again.returncode == 1 else 2)
    assert Seen.of(tmp_path / "out").tallies[0][1] == 2, "what was there is gone"


def test_equal_seeds_give_equal_programs(tmp_path: Path, tiny: Path) -> None:
    for name in ("a", "b"):
        result = fuzz(tiny, "--out", name, *QUICK, "--programs", 12, "--time", "100s", "--seed", 9, "-q", cwd=tmp_path)
        assert result.returncode in (0, 1), result.stderr
    a, b = Seen.of(tmp_path / "a"), Seen.of(tmp_path / "b")
    assert a.programs == b.programs
    assert a.tallies == b.tallies
    assert len(a.programs) > 5


def test_absent_targets_are_told(tmp_path: Path, tiny: Path) -> None:
    # A package that is installed but broken: what its import says is the reason that is told.
    (tmp_path / "path" / "torch").mkdir(parents=True)
    (tmp_path / "path" / "torch" / "__init__.py").write_text("raise ImportError('libtorch is not for this machine')\n")
    env = {**ENV, "PYTHONPATH": f"{tmp_path / 'path'}:{ENV['PYTHONPATH']}"}
    words = [tiny, "--out", "out", "--jobs", 1, "--programs", 2, "--time", "100s"]
    result = subprocess.run(command("fuzz", *words), cwd=tmp_path, env=env, capture_output=True, text=True, check=False)
    assert result.returncode in (0, 1), result.stderr
    lines = [line for line in result.stderr.splitlines() if line.startswith("irfuzz: not used: ")]
    assert any("torch:eager" in line and "libtorch is not for this machine" in line for line in lines), result.stderr
    assert any("@cuda" in line for line in lines), result.stderr
    assert any(line.endswith(": used only where --targets names them") for line in lines), result.stderr
    assert max(map(len, lines)) < 300, result.stderr
    used = next(line for line in result.stderr.splitlines() if line.startswith("irfuzz: targets: "))
    assert "reference" in used


def test_a_finding_whose_folder_cannot_be_made_costs_no_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    placed: list[int] = []

    def place(layout: Layout, finding: Finding) -> None:
        if finding.number == 1:
            raise Unsupported("torch", "Gemm", "no exact form")
        placed.append(finding.number)

    monkeypatch.setattr(campaign, "move_bundle", place)
    with campaign.Campaign(tmp_path / "out", Config()) as opened:
        for name in ("a", "b"):
            case = FailingCase(name.encode(), b"")
            opened.database.add_finding(row_of(Finding(Verdict("o", Symptom.CRASH, "t"), case, case, signature=name)))
        opened._place_all()
        kept = list(opened.layout.internal.rglob("model.onnx"))
    assert placed == [2]
    assert [path.read_bytes() for path in kept] == [b"a"]
