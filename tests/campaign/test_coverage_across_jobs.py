"""What a campaign covers: jobs tell, the campaign adds them up, and the curve goes on where it is continued."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from irfuzz.campaign.corpus.mutation_steering import COVERAGE, FUSIONS, PASSES
from irfuzz.campaign.monitoring import coverage_across_jobs
from irfuzz.campaign.monitoring.coverage_across_jobs import (
    JointCoverage,
    coverage_of,
    curve_of,
    fusions_of,
    lines_of,
    passes_of,
)
from irfuzz.campaign.monitoring.python_line_coverage import LINES
from irfuzz.cli.main import main
from irfuzz.execute.run_types import Exit, RunResult, Stage, Target
from irfuzz.generate.one_node_programs import sprouts
from irfuzz.search.coverage.coverable_call_space import load
from irfuzz.search.coverage.fusion_coverage import Fusions
from irfuzz.search.coverage.operator_call_coverage import CRITERIA, Coverage
from irfuzz.search.coverage.pass_coverage import PassCoverage
from irfuzz.store.database import Database

pytestmark = pytest.mark.unit


def told(database: Database, job: int, *names: str) -> None:
    coverage = Coverage(load())
    for name in names:
        coverage.add(sprouts()[name])
    database.set(f"{COVERAGE}{job}", json.dumps(coverage.state()))


def test_jobs_add_up_and_the_curve_goes_on(tmp_path: Path) -> None:
    database = Database(tmp_path / "campaign.sqlite")
    covered = JointCoverage(database)
    assert set(covered.shares(0.0, 0).values()) == {0.0}
    told(database, 0, "sprout-float-3x3-17")
    one = covered.shares(5.0, 1)["input"]
    told(database, 1, "sprout-float-3x3-17", "sprout-int64-3-17")
    two = covered.shares(10.0, 3)["input"]
    assert 0 < one < two
    assert covered.shares(15.0, 3)["input"] == two
    assert [row[:2] for row in curve_of(database)] == [[5.0, 1], [10.0, 3]]
    again = JointCoverage(database)
    assert again.shares(2.0, 4)["input"] == two
    assert [row[:2] for row in curve_of(database)] == [[5.0, 1], [10.0, 3], [12.0, 4]]
    assert coverage_of(database).shares()["input"].ratio == two
    for n in range(20):
        again._texts.clear()
        again.shares(3.0 + n, 4, anew=True)
    assert len(curve_of(database)) == 23


def test_what_is_covered_is_read_every_other_second(tmp_path: Path) -> None:
    database = Database(tmp_path / "campaign.sqlite")
    covered = JointCoverage(database)
    covered.shares(5.0, 0)
    told(database, 0, "sprout-float-3x3-17")
    assert covered.shares(6.9, 1)["input"] == 0
    assert covered.shares(6.9, 1, anew=True)["input"] > 0
    told(database, 1, "sprout-int64-3-17")
    assert covered.shares(8.0, 2)["input"] < covered.shares(9.0, 2)["input"]
    assert covered.shares(1.0, 2)["input"] > 0, "a run that has just begun looks"


def test_programs_are_counted_once_by_however_many_jobs_and_runs(tmp_path: Path) -> None:
    """A job that is resumed adds the corpus to what it has counted already, and so does every job."""
    database = Database(tmp_path / "campaign.sqlite")
    assert coverage_of(database).programs == 0
    for run in (1, 2):
        for job in (0, 1):
            told(database, job, *["sprout-float-3x3-17"] * 5 * run)
            database.record(job, run, 2 * run + job, {}, [])
    assert coverage_of(database).programs == 4 + 5


def test_the_command_reads_a_campaign(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    database = Database(tmp_path / "campaign.sqlite")
    assert main(["coverage", str(tmp_path)]) == 2
    assert "has not counted any coverage yet" in capsys.readouterr().err
    told(database, 0, "sprout-float-3x3-17")
    database.record(0, 3, 7, {}, [])
    JointCoverage(database).shares(5.0, 1)
    page = tmp_path / "page.html"
    assert main(["coverage", str(tmp_path), "--json", "--html", str(page)]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["models"] == 7
    assert found["criteria"]["input"]["covered"] == 3  # a type, a rank and a shape of Identity
    assert [row["model"] for row in found["curve"]] == ["5 s"]
    assert page.read_text().count("<circle") == len(CRITERIA)


def fired(*names: str) -> str:
    target = Target("onnxruntime@1.31.1:all", "onnxruntime", version="1.31.1")
    passes = PassCoverage()
    passes.register(target, ("GeluFusionL1", "ConstantFolding", "ReluFusion"))
    passes.add([RunResult(target, Stage.RUN, Exit.OK, passes=names)], "digest")
    return json.dumps(passes.state())


def test_lines_patterns_and_passes_of_all_jobs_add_up(tmp_path: Path) -> None:
    """What else jobs tell is read anew when it has changed, and makes no row of the curve."""
    database = Database(tmp_path / "campaign.sqlite")
    covered = JointCoverage(database)
    database.set("another setting", "no JSON")
    database.set(f"{LINES}0", json.dumps({"onnx": {"a.py": [1, 2]}}))
    assert covered.python_lines() == {}, "as of the last look"
    first = covered.shares(1.0, 1)
    assert covered.python_lines() == {"onnx": 2}
    near, missing = Fusions().missing()["near"], Fusions().missing()["exact"]
    database.set(f"{LINES}1", json.dumps({"onnx": {"a.py": [2, 3]}}))
    database.set(f"{FUSIONS}0", json.dumps({"schema": 1, "exact": missing[:3], "near": near[:1]}))
    database.set(f"{FUSIONS}1", json.dumps({"schema": 1, "exact": missing[1:4], "near": []}))
    database.set(f"{PASSES}0", fired("GeluFusionL1"))
    second = covered.shares(2.0, 2, anew=True)
    assert covered.python_lines() == {"onnx": 3}
    assert (first["pattern"], second["pattern"]) == (0.0, 4 / len(missing))
    assert second["near pattern"] == 1 / len(missing)
    assert set(second) > set(first)
    database.set(f"{PASSES}1", fired("ReluFusion", "ConstantFolding"))
    third = covered.shares(3.0, 3, anew=True)
    (passes,) = set(second) - set(first)
    assert (second[passes], third[passes]) == (pytest.approx(1 / 3), 1.0)
    assert curve_of(database) == []
    assert len(fusions_of(database).missing()["exact"]) == len(missing) - 4
    assert passes_of(database).missing() == {"onnxruntime 1.31.1": []}
    assert lines_of(database).packages() == {"onnx": 3}
    assert (covered.shares(4.0, 4, anew=True), covered.python_lines()) == (third, {"onnx": 3}), (
        "what has not changed is the same"
    )


def test_of_a_long_curve_every_second_row_goes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(coverage_across_jobs, "ROWS", 4)
    database = Database(tmp_path / "campaign.sqlite")
    covered = JointCoverage(database)
    for n in range(4):
        told(database, n, "sprout-float-3x3-17")
        covered.shares(float(n), n, anew=True)
    assert [row[0] for row in curve_of(database)] == [0.0, 1.0, 2.0, 3.0]
    told(database, 4, "sprout-float-3x3-17")
    shares = covered.shares(4.25, 9, anew=True)
    assert [row[:2] for row in curve_of(database)] == [[0.0, 0], [2.0, 2], [4.2, 9]]
    assert curve_of(database)[-1][2:] == [round(shares[name], 5) for name in CRITERIA]
