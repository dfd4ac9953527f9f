"""With ``--python-coverage`` a program that runs new lines of a component's Python code becomes a parent."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from irfuzz.api.fuzz_report import line
from irfuzz.campaign.campaign import Campaign, CampaignProgress
from irfuzz.campaign.config import STOP_AT, Config, Layout
from irfuzz.campaign.differential_strategy import Differential
from irfuzz.campaign.job import Job
from irfuzz.campaign.monitoring.coverage_across_jobs import JointCoverage, lines_of
from irfuzz.campaign.monitoring.python_line_coverage import LineCoverage, executable
from irfuzz.cli.main import main
from irfuzz.execute.run_types import Exit, RunResult, Stage, Target
from irfuzz.ir.program import Program
from irfuzz.search.strategies.thompson import Thompson
from irfuzz.store.database import Database

WAYS = 256
PROGRAMS = 12
OWN = """
import zlib
import onnx.reference

class Own:
    def run(self, model, inputs):
        self.look(zlib.crc32(model) % 256)
        return onnx.reference.ReferenceEvaluator(model).run(None, inputs)

    def look(self, way):
""" + "".join(f"        if way == {n}:\n            return {n}\n" for n in range(WAYS))


def run(out: Path, seed: Path, own: Path) -> tuple[Job, list[str]]:
    """A job of a few programs; the digests of the corpus."""
    config = Config(seed=5, targets=("reference", f"{own}:Own"), reduce=1.0, jobs=64, python_coverage=True)
    with Campaign(out, config) as campaign:
        campaign.add_seed(seed.name, Program.from_bytes(seed.read_bytes()))
        campaign.database.set(STOP_AT, str(PROGRAMS))
    job = Job(out, 0)
    job.run()
    database = Database(Layout(out).database)
    return job, [row.digest for _, row in database.programs_after(0)]


@pytest.mark.backend
@pytest.mark.timeout(120)
def test_new_lines_make_parents(
    tmp_path: Path, tiny: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(Thompson, "keeps", lambda *_: False)  # whatever it covers else
    own = tmp_path / "own.py"
    own.write_text(OWN)
    job, kept = run(tmp_path / "b", tiny, own)
    assert len(kept) >= 4, "each with a line of its own, but for what is invalid on purpose or not run"
    database = Database(Layout(tmp_path / "b").database)
    packages = lines_of(database).packages()
    assert set(packages) == {str(own), "onnx.reference"}
    # Mutants that are declared invalid are run, and are nobody's parents.
    assert packages[str(own)] > 4
    again = Job(tmp_path / "b", 0)
    assert isinstance(again.strategy, Differential)
    assert isinstance(job.strategy, Differential)
    assert again.strategy.steering.lines.state() == job.strategy.steering.lines.state(), "it goes on from there"
    covered = JointCoverage(database)
    covered.shares(1.0, PROGRAMS)
    assert covered.python_lines() == packages
    assert main(["coverage", str(tmp_path / "b"), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)["python_lines"]
    assert told[str(own)]["of"] == 2 + 2 * WAYS
    assert 4 < told[str(own)]["ran"] <= packages[str(own)]
    assert told["onnx.reference"]["of"] > 2000 > told["onnx.reference"]["ran"] > 20
    assert main(["coverage", str(tmp_path / "b")]) == 0
    assert f"{own}" in capsys.readouterr().out


@pytest.mark.unit
def test_lines_are_counted_once() -> None:
    lines = LineCoverage()

    def ran(found: dict[str, dict[str, list[int]]]) -> RunResult:
        return RunResult(Target("t", "t"), Stage.RUN, Exit.OK, lines=found)

    assert lines.add([ran({"p": {"a.py": [1, 2]}}), ran({"p": {"a.py": [2], "b.py": [2]}}), ran({})]) == 3
    assert lines.add([ran({"p": {"a.py": [1, 2]}})]) == 0
    again = LineCoverage()
    again.absorb(json.loads(json.dumps(lines.state())))
    assert again.count == lines.count == 3
    assert again.packages() == {"p": 3}
    assert lines.shares() == {"p": (3, 3)}, "what is not there is not counted"


@pytest.mark.unit
def test_lines_of_functions_are_those_that_can_run(tmp_path: Path) -> None:
    file = tmp_path / "m.py"
    file.write_text(
        "import os\n\n\nclass C:\n    x = 1\n\n    @property\n    def f(self):\n        return [\n            os.sep\n"
        "            for _ in self.x\n        ]\n\n\ndef g(): return 3\n\n\nh = lambda: 4\n"
    )
    assert executable(str(file)) == {"m.py": {9, 10, 11, 15, 18}}
    (tmp_path / "template.py").write_text("{% if %}")
    assert set(executable(str(tmp_path))) == {"m.py"}
    assert executable("no.such.package") == executable(str(tmp_path / "nothing")) == {}
    assert "reference_evaluator.py" in executable("onnx.reference")


@pytest.mark.unit
def test_lines_are_shown_live() -> None:
    progress = CampaignProgress(
        9.0, 1, 1, 1.0, 1, 0, 0, 0, 0, None, {}, {"input": 0.5}, {"onnx2torch": 12, "/some/own.py": 3}
    )
    assert line(progress).endswith("coverage input 50.0%, Python lines onnx2torch 12 own.py 3")
