"""``--fail-on``, ``--baseline``, ``--junit`` and ``--sarif``: what they refuse, and what a build server gets."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import pytest

from irfuzz.cli.ci_reporting import FAIL_ON, ci_arguments, ci_files, report_to_ci
from irfuzz.cli.main import main
from irfuzz.cli.parser import Parser, parse
from irfuzz.errors import UsageError
from irfuzz.findings.disposition import DecidedFinding, Disposition, FailOn
from irfuzz.findings.failing_case import FailingCase
from irfuzz.findings.finding import Finding
from irfuzz.oracle.verdict import Symptom, Verdict
from irfuzz.report.ci_reports.build_result import BuildResult

pytestmark = pytest.mark.unit

CASE = FailingCase(b"", b"")
FOUND = Finding(Verdict("o", Symptom.CRASH, "t"), CASE, CASE, signature="crash|t", title="t crashes")
RESULT = BuildResult(
    Path("out"), FailOn.NEW, (DecidedFinding(FOUND, Path("out/findings/0001"), Disposition.NEW, fails=True),)
)


def flags(*words: object) -> argparse.Namespace:
    parser = Parser("fuzz", "")
    ci_arguments(parser)
    return parse(parser, [*map(str, words)])


def test_the_flag_has_the_policies_that_there_are() -> None:
    assert {*FAIL_ON} == {*FailOn}
    assert flags().fail_on == FailOn.NEW
    with pytest.raises(UsageError, match=r"--fail-on: invalid choice: 'all'"):
        flags("--fail-on", "all")


def test_files_are_written_and_take_the_place_of_earlier_ones(tmp_path: Path) -> None:
    args = flags("--junit", tmp_path / "new" / "j.xml", "--sarif", tmp_path / "s.json")
    for _ in range(2):
        report_to_ci(RESULT, ci_files(args), environment={})
    assert "t crashes" in (tmp_path / "new" / "j.xml").read_text()
    assert json.loads((tmp_path / "s.json").read_text())["version"] == "2.1.0"
    assert ci_files(flags()) == {}


@pytest.mark.parametrize("flag", ["--junit", "--sarif"])
def test_another_file_is_not_replaced(tmp_path: Path, flag: str) -> None:
    there = tmp_path / "model.onnx"
    for content in (b"\x08\x07", b""):
        there.write_bytes(content)
        with pytest.raises(UsageError, match=rf"{flag} .*model.onnx: is there already and is not (JUnit XML|SARIF)"):
            ci_files(flags(flag, there))
        assert there.read_bytes() == content
    with pytest.raises(UsageError, match="is a folder; expected a file"):
        ci_files(flags(flag, tmp_path))


def test_annotations_come_only_from_github(capsys: pytest.CaptureFixture[str]) -> None:
    report_to_ci(RESULT, {}, environment={"GITHUB_ACTIONS": "false"})
    assert capsys.readouterr() == ("", "")
    report_to_ci(RESULT, {}, environment={"GITHUB_ACTIONS": "true"})
    told = capsys.readouterr()
    assert told.out.startswith("::error title=irfuzz%3A crash of t::t crashes")
    report_to_ci(RESULT, {}, environment={"GITHUB_ACTIONS": "true"}, json=True)
    assert capsys.readouterr() == ("", told.out), "JSON stays JSON"


def test_the_summary_is_appended_and_costs_nothing_if_it_cannot_be(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    summary = tmp_path / "summary.md"
    summary.write_text("before\n")
    report_to_ci(RESULT, {}, environment={"GITHUB_STEP_SUMMARY": str(summary)})
    assert summary.read_text().startswith("before\n### irfuzz: 1 finding, 1 new")
    report_to_ci(RESULT, {}, environment={"GITHUB_STEP_SUMMARY": str(tmp_path)})
    assert capsys.readouterr().err == f"irfuzz: GITHUB_STEP_SUMMARY: {tmp_path}: Is a directory\n"


def test_a_baseline_that_is_missing_is_told_before_anything_runs(
    tmp_path: Path, tiny: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["fuzz", tiny, "--targets", "reference", "-o", tmp_path / "out", "--baseline", tmp_path / "none.json"]
    assert main([*map(str, words)]) == 2
    told = capsys.readouterr()
    assert told.err.startswith(f"irfuzz: error: --baseline: {tmp_path / 'none.json'}: cannot be read: No such file")
    assert told.out == ""
    assert list(tmp_path.iterdir()) == []
