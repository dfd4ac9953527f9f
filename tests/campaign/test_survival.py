"""A campaign goes on beside targets that fail in every way, and each of them becomes a finding that replays."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import onnx
import pytest

from tests.campaign.running import ENV, command, planted

pytestmark = [pytest.mark.planted, pytest.mark.backend, pytest.mark.slow]

FAULTS = {
    "Segfault": "crash",
    "Raises": "rejection",
    "Exits": "crash",
    "NoDictionary": "protocol",
}


def fuzz(
    seed: Path, out: Path, cwd: Path, faults: list[str], programs: int, *more: object, beside: bool = True
) -> dict[str, Any]:
    words = [*more, seed, "--out", out, "--time", "100s", "--programs", programs, "--jobs", 1, "--reduce", 1, "--json"]
    targets = [*(["reference", "onnxruntime:disabled"] if beside else []), *map(planted, faults)]
    words += ["--timeout", 1, "--memory", 256, "--targets", ",".join(targets)]
    result = subprocess.run(command("fuzz", *words), cwd=cwd, env=ENV, capture_output=True, text=True, check=False)
    assert result.returncode == 1, result.stderr
    assert result.stderr == ""
    return json.loads(result.stdout)


def replay(folder: Path, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, folder / "repro.py"], cwd=cwd, env=ENV, capture_output=True, text=True, check=False
    )


@pytest.mark.timeout(300)
def test_every_fault_is_found_and_replays(tmp_path: Path, tiny: Path) -> None:
    found = fuzz(tiny, tmp_path / "out", tmp_path, list(FAULTS), 8)
    assert found["programs"] >= 8, "it did not go on"
    assert found["internal_errors"] == 0
    assert set(found["targets"]) == {"reference", "onnxruntime:disabled", *map(planted, FAULTS)}
    by_target = {f["target"]: f for f in found["list"]}
    assert {name: by_target.get(planted(name), {}).get("symptom") for name in FAULTS} == FAULTS
    for name in FAULTS:
        shown = replay(Path(by_target[planted(name)]["folder"]), tmp_path)
        assert shown.returncode == 1, f"{name}: {shown.stdout}{shown.stderr}"
    others = [f for f in found["list"] if "faults.py" not in f["target"] and not f["known"]]
    assert others == [], "blamed those who did nothing that is known"


@pytest.mark.timeout(300)
def test_a_crash_is_found_and_replays_without_other_targets(tmp_path: Path, tiny: Path) -> None:
    found = fuzz(tiny, tmp_path / "out", tmp_path, ["Segfault"], 4, beside=False)
    assert found["internal_errors"] == 0
    assert {(f["symptom"], f["target"]) for f in found["list"]} == {("crash", planted("Segfault"))}
    assert replay(Path(found["list"][0]["folder"]), tmp_path).returncode == 1


@pytest.mark.timeout(300)
def test_a_leak_is_found_and_replays(tmp_path: Path, tiny: Path) -> None:
    """By itself and with plain mutants: whatever else is found gives every target a new process, and a leak needs
    several runs in one."""
    plain = ["--sprouts", 0, "--mutators", "expose-value,duplicate-layer"]
    found = fuzz(tiny, tmp_path / "out", tmp_path, ["Leaks"], 16, *plain)
    assert found["programs"] >= 16, "it did not go on"
    (finding,) = [f for f in found["list"] if f["target"] == planted("Leaks")]
    assert finding["symptom"] == "memory"
    shown = replay(Path(finding["folder"]), tmp_path)
    assert shown.returncode == 1, shown.stdout


@pytest.mark.timeout(300)
def test_a_hang_is_found_and_replays(tmp_path: Path, tiny: Path) -> None:
    found = fuzz(tiny, tmp_path / "out", tmp_path, ["Hang"], 1)
    finding, *_ = found["list"]
    assert (finding["symptom"], finding["target"]) == ("hang", planted("Hang"))
    # The campaign has waited for the script's whole patience already; here a little of it will do.
    script = Path(finding["folder"]) / "repro.py"
    text, changed = re.subn(r"^SECONDS = .*$", "SECONDS = 4.0", script.read_text(), flags=re.MULTILINE)
    assert changed == 1
    script.write_text(text)
    shown = replay(script.parent, tmp_path)
    assert shown.returncode == 1, shown.stdout


@pytest.mark.timeout(300)
def test_a_rejection_stays_the_same_while_it_is_made_small(tmp_path: Path) -> None:
    """Without its Exp the model would be refused as well, but for another reason."""
    path = tmp_path / "m.onnx"
    text = "g (float[2, 3] x) => (float[2, 3] y) { a = Relu(x) b = Exp(a) y = Neg(b) }"
    onnx.save(onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["" : 17]> {text}'), path)
    found = fuzz(path, tmp_path / "out", tmp_path, ["Choosy"], 1)
    (finding,) = found["list"]
    assert "cannot stand" in finding["title"]
    nodes = onnx.load(Path(finding["folder"]) / "model.onnx").graph.node
    assert [node.op_type for node in nodes] == ["Exp"]
