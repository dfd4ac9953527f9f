"""A whole job of a differential campaign in this process, on targets that compute what the reference evaluator does."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from irfuzz.campaign.campaign import Campaign
from irfuzz.campaign.config import STOP_AT, Config
from irfuzz.campaign.differential_strategy import Differential
from irfuzz.campaign.job import Job
from irfuzz.ir.program import Program
from tests.campaign.running import planted

pytestmark = [pytest.mark.planted, pytest.mark.timeout(200)]

PROGRAMS = 4
TARGETS = ("reference", planted("Faithful"), planted("WrongNumbers"))


def ran(out: Path, tiny: Path) -> Job:
    """A job that has run; its first program is the seed, on which one target adds one to the output."""
    with Campaign(out, Config(seed=3, jobs=1, targets=TARGETS, reduce=5.0)) as campaign:
        campaign.add_seed(tiny.name, Program.from_bytes(tiny.read_bytes()))
        campaign.database.set(STOP_AT, str(PROGRAMS))
    job = Job(out, 0, "differential")
    job.run()
    return job


def test_a_job_runs_judges_and_keeps(tmp_path: Path, tiny: Path, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(root)
    job = ran(tmp_path, tiny)
    programs_are_counted(job)
    the_fault_is_one_finding(job)
    what_is_new_becomes_a_parent(job)


def test_agents_of_a_fleet_draw_differently(tmp_path: Path, tiny: Path) -> None:
    with Campaign(tmp_path, Config(seed=3, jobs=2, first_job=256)) as campaign:
        campaign.add_seed(tiny.name, Program.from_bytes(tiny.read_bytes()))
    assert isinstance(strategy := Job(tmp_path, 1).strategy, Differential)
    assert strategy.root == "3/257"
    before = json.loads(Config(seed=3).to_json())
    del before["first_job"]
    assert Config.from_json(json.dumps(before)) == Config(seed=3)


def programs_are_counted(job: Job) -> None:
    counts = job.counts
    assert (job.programs, counts["internal errors"], counts["rounds run one by one"]) == (PROGRAMS, 0, 0)
    assert not list(job.layout.internal.glob("*"))
    assert counts["runs"] >= 2 * PROGRAMS
    assert counts["on two targets"] + counts["on fewer than two targets"] + counts["declared invalid"] == PROGRAMS
    rejected = sum(count for name, count in counts.items() if name.endswith(" rejected"))
    assert counts["runs"] >= 2 * counts["on two targets"] + rejected
    assert counts["facts checked"] == 0, "one witness of facts is no target here"
    iteration, programs, stored = job.database.tally(0)
    assert (iteration, programs, stored["runs"]) == (job.iteration, PROGRAMS, counts["runs"])


def the_fault_is_one_finding(job: Job) -> None:
    (row,) = job.database.findings()
    assert row.signature == f"difference|{TARGETS[2]}|Relu|"
    assert (row.status, row.suspect, row.job) == ("confirmed", False, 0)
    assert (job.counts["findings"], job.counts["untriaged"]) == (1, 0)
    again = job.counts["repeated"] + job.counts["likely repeated"]
    assert job.counts["triaged"] <= 1 + again
    (folder,) = (job.layout.out / "findings").iterdir()
    about = json.loads((folder / "finding.json").read_text())
    assert (about["symptom"], about["target"], about["suspect"]) == ("difference", TARGETS[2], False)
    small = Program.from_bytes((folder / "model.onnx").read_bytes())
    assert [node.op_type for node in small.nodes()] == ["Relu"]
    assert {path.name for path in folder.iterdir()} >= {"report.md", "repro.py", "inputs.npz"}
    assert not list((job.layout.out / "suspects").glob("*"))


def what_is_new_becomes_a_parent(job: Job) -> None:
    assert isinstance(job.strategy, Differential)
    assert job.database.corpus_size() > 1
    assert job.counts["corpus"] >= job.database.corpus_size() - 1, "some may have left"
    told = job.database.settings()
    for name in ("coverage of job 0", "search of job 0", "fault triggers of job 0"):
        assert told[name], name
