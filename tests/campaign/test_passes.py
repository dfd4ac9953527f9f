"""A program that fires a pass of an optimiser, or a pair of them, that none before it fired becomes a parent."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from irfuzz.campaign.campaign import Campaign
from irfuzz.campaign.config import STOP_AT, Config, Layout
from irfuzz.campaign.differential_strategy import Differential
from irfuzz.campaign.job import Job
from irfuzz.campaign.monitoring.coverage_across_jobs import JointCoverage, passes_of
from irfuzz.cli.main import main
from irfuzz.execute.onnxruntime_passes import excluded
from irfuzz.ir.program import Program
from irfuzz.search.strategies.thompson import Thompson
from irfuzz.store.database import Database

PROGRAMS = 60


@pytest.mark.backend
@pytest.mark.timeout(120)
def test_new_passes_make_parents(
    tmp_path: Path, tiny: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(Thompson, "keeps", lambda *_: False)  # whatever it covers else
    targets = ("onnxruntime:disabled", "onnxruntime:all")
    config = Config(seed=5, targets=targets, reduce=1.0, jobs=64, mutators=("insert-pattern",))
    with Campaign(tmp_path / "a", config) as campaign:
        campaign.add_seed(tiny.name, Program.from_bytes(tiny.read_bytes()))
        campaign.database.set(STOP_AT, str(PROGRAMS))
    job = Job(tmp_path / "a", 0)
    job.run()
    database = Database(Layout(tmp_path / "a").database)
    kept = [row.digest for _, row in database.programs_after(0)]
    passes = passes_of(database)
    ((version, fired),) = passes.fired().items()
    assert len(fired) >= 10
    assert set(fired.values()) <= set(kept), "each is shown by a program that is kept"
    assert len(set(fired.values())) + 1 < len(kept) < PROGRAMS, "some for a pair alone, and not all"
    assert not set(fired) & set(excluded())
    assert "GeluFusionL1" in {*fired, *passes.missing()[version]}
    again = Job(tmp_path / "a", 0)
    assert isinstance(again.strategy, Differential)
    assert isinstance(job.strategy, Differential)
    assert again.strategy.steering.passes.state() == job.strategy.steering.passes.state(), "it goes on from there"
    shares = JointCoverage(database).shares(1.0, PROGRAMS)
    assert shares["passes"] == pytest.approx(len(fired) / passes.shares()[version].total)
    assert main(["coverage", str(tmp_path / "a"), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["passes"][version]["fired"] == fired
