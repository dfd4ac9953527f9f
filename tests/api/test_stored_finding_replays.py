"""Stored findings are replayed before a campaign: which shows, which is gone, and what follows for the build."""

from __future__ import annotations

import json
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

import irfuzz
from irfuzz.api import stored_finding_replays
from irfuzz.api.fuzz_report import FuzzReport
from irfuzz.api.progress_update import Update
from irfuzz.api.stored_finding_replays import ReplayedFinding, StoredFindingState, gone_folders
from irfuzz.campaign.config import Layout
from irfuzz.campaign.monitoring.campaign_figures import is_running
from irfuzz.errors import UsageError
from irfuzz.findings.baseline import NO_BASELINE
from irfuzz.findings.codec import about_text, read_folder
from irfuzz.findings.disposition import Disposition, FailOn, decided
from irfuzz.findings.failing_case import FailingCase
from irfuzz.findings.finding import Finding
from irfuzz.ir.program import Program
from irfuzz.oracle.verdict import Symptom, Verdict
from tests.campaign.running import ENV, command

RELU = '<ir_version: 8, opset_import: ["" : 17]> g (float[2, 3] x) => (float[2, 3] y) { y = Relu(x) }'
MINE = "class Mine:\n    def run(self, model, inputs):\n        return {'y': inputs['x'].clip(0) + OFF}\n\nOFF = 1\n"

CASE = FailingCase(b"", b"")
FOUND = Finding(Verdict("o", Symptom.CRASH, "t"), CASE, CASE, signature="crash|t", title="t crashes", last=100.0)


@pytest.mark.unit
def test_gone_is_what_its_script_does_not_show_and_nobody_saw_since() -> None:
    place = Path("out/findings/0001")

    def gone(outcome: StoredFindingState, when: float) -> set[Path]:
        return gone_folders([(FOUND, place)], [ReplayedFinding(FOUND, place.absolute(), outcome, when)])

    assert gone(StoredFindingState.GONE, 100.0) == {place}
    assert gone(StoredFindingState.GONE, 99.9) == set(), "the campaign saw it afterwards"
    assert gone(StoredFindingState.SHOWS, 200.0) == gone(StoredFindingState.UNTOLD, 200.0) == set()
    assert gone_folders([(FOUND, place)], []) == set()


@pytest.mark.unit
def test_gone_fails_with_no_policy_and_is_told_only_of_what_would_be_new() -> None:
    place = Path("out/findings/0001")
    for policy in FailOn:
        (row,) = decided([(FOUND, place)], policy, gone={place})
        assert (row.disposition, row.fails) == (Disposition.GONE, False)
    (row,) = decided([(replace(FOUND, label="wontfix"), place)], gone={place})
    assert row.disposition is Disposition.LABELLED
    (row,) = decided([(FOUND, place)], gone={Path("out/findings/0002")})
    assert (row.disposition, row.fails) == (Disposition.NEW, True)


@pytest.mark.backend
@pytest.mark.slow
@pytest.mark.timeout(900)
def test_a_mended_fault_turns_the_build_green_and_its_return_red(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(MINE)
    onnx.save(onnx.parser.parse_model(RELU), tmp_path / "relu.onnx")
    (tmp_path / "irfuzz.toml").write_text(
        '[fuzz]\nseeds = ["relu.onnx"]\ntarget = ["mine:Mine"]\njobs = 1\nsprouts = 0\nreduce = 2\ntime = "100s"\n'
    )

    def run(programs: int, *words: object) -> tuple[int, dict[str, Any]]:
        budget = ["--budget", "night", "--time", "100s", "--programs", programs]
        done = subprocess.run(
            command("fuzz", *budget, *words, "--json"),
            cwd=tmp_path,
            env=ENV,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode in (0, 1), done.stderr
        return done.returncode, json.loads(done.stdout)

    def mend(text: str) -> None:
        (tmp_path / "mine.py").write_text(MINE.replace("OFF = 1", text))

    code, told = run(1)
    assert (code, told["replayed"], [row["disposition"] for row in told["list"]]) == (1, [], ["new"])
    shutil.copytree(tmp_path / "irfuzz-out" / "findings", tmp_path / "kept")
    mend("OFF = 0")
    code, told = run(1)
    assert (code, [row["disposition"] for row in told["list"]]) == (0, ["gone"])
    assert [row["outcome"] for row in told["replayed"]] == ["gone"]
    mend("OFF = 1")
    code, told = run(1)
    assert (code, [row["disposition"] for row in told["list"]]) == (1, ["new"])
    code, told = run(1, "--out", "other", "--replay", "kept")
    assert (code, [row["outcome"] for row in told["replayed"]]) == (1, ["shows"])


@pytest.mark.backend
def test_a_model_that_breaks_a_rule_on_purpose_is_replayed_like_any_other(tmp_path: Path) -> None:
    text = RELU.replace("Relu(x)", "Softmax <axis = 9> (x)")
    for place in (tmp_path, tmp_path / "original"):
        place.mkdir(exist_ok=True)
        (place / "model.onnx").write_bytes(onnx.parser.parse_model(text).SerializeToString())
        np.savez(place / "inputs.npz", x=np.ones((2, 3), np.float32))
    verdict = Verdict("leniency", Symptom.LENIENCY, "reference", operator="Softmax", rule="axis < len(S)", invalid=True)
    case = FailingCase(Program.from_proto(onnx.parser.parse_model(RELU)), {"x": np.ones((2, 3), np.float32)})
    (tmp_path / "finding.json").write_text(about_text(replace(FOUND, verdict=verdict, case=case)))
    (tmp_path / "repro.py").write_text("print('the fault shows')\nraise SystemExit(1)\n")
    with pytest.raises(UsageError, match="axis"):
        read_folder(tmp_path)
    (found,) = stored_finding_replays.replay_stored([tmp_path], NO_BASELINE, 60.0)
    assert (found.outcome, found.finding.verdict.rule) == (StoredFindingState.SHOWS, "axis < len(S)")


@pytest.mark.backend
def test_a_campaign_has_its_folder_while_it_replays(tmp_path: Path) -> None:
    out, stored = tmp_path / "out", tmp_path / "stored"
    stored.mkdir()
    case = FailingCase(Program.from_proto(onnx.parser.parse_model(RELU)), {"x": np.ones((2, 3), np.float32)})
    (stored / "finding.json").write_text(about_text(replace(FOUND, case=case)))
    (stored / "repro.py").write_text("print('the fault shows')\nraise SystemExit(1)\n")
    held: list[bool] = []

    def look(update: Update[FuzzReport]) -> None:
        if update.doing == "replaying stored findings":
            held.append(is_running(Layout(out)))

    irfuzz.fuzz(
        onnx.parser.parse_model(RELU), out, targets=["reference"], seconds=300, programs=1, progress=look,
        options=irfuzz.FuzzOptions(jobs=1, replay=[stored]),
    )  # fmt: skip
    assert held
    assert all(held)
    assert not is_running(Layout(out))


@pytest.mark.unit
def test_what_cannot_run_cannot_be_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = tmp_path / "findings" / "0001"
    place.mkdir(parents=True)
    monkeypatch.setattr(stored_finding_replays, "read_folder", lambda folder, cases: FOUND)
    (place / "finding.json").write_text(json.dumps({"symptom": "crash", "target": "t", "status": "confirmed"}))
    (found,) = stored_finding_replays.replay_stored([tmp_path], NO_BASELINE, 10.0)
    assert (found.outcome, found.why.partition("; ")[0]) == (StoredFindingState.UNTOLD, "unknown target 't'")
    (place / "finding.json").write_text(json.dumps({"symptom": "crash", "target": "t", "status": "unreplayed"}))
    assert stored_finding_replays.replay_stored([tmp_path], NO_BASELINE, 10.0) == ()
