"""Findings as issues: what is printed was run just before, stands in the tracker's own form, and lacks no fact."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from irfuzz.cli.main import main
from irfuzz.errors import UsageError
from irfuzz.findings.finding import Finding, KnownIssue, TargetRun, VersionAnswer
from irfuzz.report.finding_folder_writer import write_bundle, write_shown
from irfuzz.report.upstream_issues.issue_export import issue_of
from irfuzz.report.upstream_issues.issue_facts import facts_of
from irfuzz.report.upstream_issues.issue_trackers import tracker_of
from irfuzz.store.database import Status
from tests.report.conftest import parse

FUSED = parse(
    "g (float[1,3,2] x, float[3] v) => (float[1,2] y) { t = Transpose <perm = [0, 2, 1]> (x) y = MatMul (t, v) }"
)
"""docs/bugs.md, 2; older than the known issue's last version it shows everywhere."""
X = {
    "x": np.arange(1, 7, dtype=np.float32).reshape(1, 3, 2),
    "v": np.array([100, 10, 1], np.float32),
}


@pytest.fixture(scope="module")
def shown(finding: Callable[..., Finding], tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Finding]:
    pytest.importorskip("onnxruntime")
    found = finding(FUSED, X, "onnxruntime:all", ("reference", "onnxruntime:disabled"))
    folder = tmp_path_factory.mktemp("issue") / "0001-difference-onnxruntime-all"
    versions = tuple(
        VersionAnswer("onnxruntime:all", version, "", shows, previous=before)
        for version, shows, before in (("1.1.0", False, "1.0.0"), ("1.2.0", True, "1.1.0"), ("1.3.0", False, "1.2.0"))
    )
    found = replace(found, shown=versions)
    stored = write_shown(folder, found, seconds=60)
    assert stored.status is Status.CONFIRMED
    return folder, stored


@pytest.mark.backend
def test_an_issue_has_every_fact_in_the_form_of_its_tracker(shown: tuple[Path, Finding]) -> None:
    issue = issue_of(shown[0])
    assert issue.shows
    headings = [line for line in issue.body.splitlines() if line.startswith("### ")]
    assert headings[:3] == ["### Describe the issue", "### To reproduce", "### Urgency"]
    assert issue.tracker.form == "https://github.com/microsoft/onnxruntime/issues/new?template=08-general.yml"
    for told in (
        "y = MatMul (t, v)",
        "behaves like \\[numpy.matmul\\]",
        "introduced in 1.2.0; fixed in 1.3.0",
        "Severity high: wrong results without an error, at default settings.",
        "known issues of onnxruntime that irfuzz lists",
        "issues?q=MatMul+Transpose",
        "the fault shows",
    ):
        assert told in issue.body, told
    assert f"```python\n{issue.script.rstrip()}\n```" in issue.body


@pytest.mark.backend
def test_of_a_class_of_ones_own_there_are_neither_releases_nor_known_issues(shown: tuple[Path, Finding]) -> None:
    found = shown[1]
    verdict = replace(found.verdict, target="mine.py:Converter")
    run = TargetRun(verdict.target, verdict.target, {"class": verdict.target}, version="3.1")
    facts = facts_of(replace(found, verdict=verdict, shown=(), known=(), runs=(run,)), "", tracker_of(verdict.target))
    assert facts["versions"] == "Ran with mine.py:Converter 3.1."
    assert facts["searched"] == "irfuzz lists no known issues of mine.py."
    asked = facts_of(replace(found, shown=(), known=()), "", tracker_of(found.verdict.target))
    assert asked["versions"].endswith("\nOther versions were not asked (`irfuzz findings bisect` does).")
    assert "known issues of onnxruntime that irfuzz lists: none explains it." in asked["searched"]


@pytest.mark.backend
def test_the_script_of_an_issue_needs_no_file(shown: tuple[Path, Finding], tmp_path: Path) -> None:
    script = issue_of(shown[0]).script
    assert len(script.splitlines()) < 40
    (tmp_path / "alone.py").write_text(script)
    done = subprocess.run(
        [sys.executable, "-I", "alone.py"], cwd=tmp_path, check=False, capture_output=True, text=True, timeout=120
    )
    assert (done.returncode, done.stdout.splitlines()[-1]) == (1, "the fault shows"), done.stdout


@pytest.mark.backend
def test_a_script_that_shows_nothing_any_more_is_told(
    shown: tuple[Path, Finding], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / shown[0].name
    write_bundle(folder, shown[1])
    script = folder / "repro.py"
    script.write_text(script.read_text().replace("ORT_ENABLE_ALL", "ORT_DISABLE_ALL"))
    assert main(["findings", "export", "--issue", str(folder)]) == 1
    told = capsys.readouterr()
    assert "**It does not show the fault here and now**" in told.out
    assert "does not show the fault here and now" in told.err


@pytest.mark.backend
def test_a_long_script_is_run_and_its_folder_has_to_be_attached(shown: tuple[Path, Finding], tmp_path: Path) -> None:
    folder = tmp_path / "0001-long"
    write_bundle(folder, replace(shown[1], long_script=True))
    issue = issue_of(folder)
    assert (issue.shows, issue.script) == (True, "")
    assert "in the attached folder" in issue.body


@pytest.mark.backend
def test_json_and_a_file(shown: tuple[Path, Finding], tmp_path: Path) -> None:
    place = tmp_path / "new" / "issue.json"
    assert main(["findings", "export", "--issue", str(shown[0]), "--json", "-o", str(place)]) == 0
    told: dict[str, Any] = json.loads(place.read_text())
    assert (told["repository"], told["template"], told["shows"]) == ("microsoft/onnxruntime", "08-general.yml", True)


@pytest.mark.backend
def test_what_is_known_is_told_with_its_link(shown: tuple[Path, Finding], tmp_path: Path) -> None:
    folder = tmp_path / "0001-known"
    write_bundle(folder, replace(shown[1], known=(KnownIssue("002-x", "it is fused", "https://there/1"),)))
    assert "**likely known**: 002-x, it is fused (https://there/1)." in issue_of(folder).body


def test_a_version_that_is_not_there_is_named(
    shown: tuple[Path, Finding], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("IRFUZZ_HOME", str(tmp_path / "none"))
    runs = [replace(r, environment="e", requirement="onnxruntime==1.0.0 numpy") for r in shown[1].runs]
    write_bundle(tmp_path / "0001-old", replace(shown[1], runs=tuple(runs)))
    with pytest.raises(UsageError, match=r"run `irfuzz env add onnxruntime==1\.0\.0`"):
        issue_of(tmp_path / "0001-old")


def test_flags_of_others(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["findings", "export", "somewhere"]) == 2
    assert "export: expected --issue" in capsys.readouterr().err
    assert main(["findings", "list", "somewhere", "--issue"]) == 2
    assert "--issue belongs to export" in capsys.readouterr().err
