"""What a campaign covers: jobs tell, the campaign adds them up, and the curve goes on where it is continued."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from irfuzz.campaign.corpus.mutation_steering import COVERAGE
from irfuzz.campaign.monitoring.joint_coverage import JointCoverage, coverage_of, curve_of
from irfuzz.cli.main import main
from irfuzz.generate.one_node_programs import sprouts
from irfuzz.search.coverage.call_coverage import Coverage
from irfuzz.search.coverage.coverable_call_space import load
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
        again.shares(3.0 + n, 4)
    assert len(curve_of(database)) == 23


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
    assert "<polyline" in page.read_text()
