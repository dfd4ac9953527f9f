"""Stored programs run again once a target is another than it was, the ones that tell most first."""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import onnx.parser
import pytest

from irfuzz.campaign.corpus import changed_target_turns
from irfuzz.campaign.corpus.changed_target_turns import AGAIN, ChangedTargetTurns
from irfuzz.campaign.corpus.testcase import CorpusEntry
from irfuzz.store.database import Database
from tests.campaign.running import ENV, command

ENTRIES = [CorpusEntry(str(n), "s", 0, 1, number=n, favoured=n in (2, 3)) for n in range(1, 6)]
BEFORE, AFTER = [("mine", "1"), ("other", "7")], [("mine", "2"), ("other", "7")]


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    made = Database(tmp_path / "campaign.sqlite")
    yield made
    made.close()


def run(
    database: Database, targets: list[tuple[str, str]], since: int = 0, *, job: int = 0, jobs: int = 1, many: int = 8
) -> list[int]:
    """Numbers of the stored programs of the iterations of a run."""
    turns = ChangedTargetTurns(database, job, jobs)
    turns.begin(targets, since, 100.0)
    found = [turns.turn(iteration, lambda: ENTRIES) for iteration in range(since, since + many)]
    return [entry.number for entry in found if entry is not None]


@pytest.mark.unit
def test_they_run_once_if_a_target_has_changed_the_favoured_first(database: Database) -> None:
    assert run(database, BEFORE) == []
    assert run(database, BEFORE, 10) == []
    assert run(database, AFTER, 20) == [3, 2, 5, 4, 1]
    assert run(database, AFTER, 30) == []
    assert run(database, [("other", "7")], 40) == [], "one that is absent has not changed"
    assert run(database, AFTER, 50) == []
    assert run(database, [*AFTER, ("new", "1")], 60) == [3, 2, 5, 4, 1]


@pytest.mark.unit
def test_a_job_that_died_goes_on_behind_what_it_ran(database: Database) -> None:
    run(database, BEFORE)
    assert run(database, AFTER, 20, many=2) == [3, 2]
    assert run(database, AFTER, 23) == [4, 1]


@pytest.mark.unit
def test_another_run_does_not_go_on_with_it(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    run(database, BEFORE)
    assert run(database, AFTER, 20, many=2) == [3, 2]
    now = time.monotonic()
    monkeypatch.setattr(changed_target_turns.time, "monotonic", lambda: now + 51.0)
    assert run(database, AFTER, 22) == []


@pytest.mark.unit
def test_jobs_share_them(database: Database) -> None:
    for job in range(2):
        run(database, BEFORE, job=job, jobs=2)
    assert [run(database, AFTER, job=job, jobs=2) for job in range(2)] == [[3, 5, 1], [2, 4]]


@pytest.mark.unit
@pytest.mark.parametrize(("most", "part", "found"), [(1000, 0.5, 5), (5, 0.5, 5), (4, 0.5, 4), (1000, -1.0, 0)])
def test_they_take_no_more_than_their_part(
    database: Database, monkeypatch: pytest.MonkeyPatch, most: int, part: float, found: int
) -> None:
    monkeypatch.setattr(changed_target_turns, "MOST", most)
    monkeypatch.setattr(changed_target_turns, "PART", part)
    run(database, BEFORE)
    assert len(run(database, AFTER)) == found


MODELS = (
    "g (float[2,3] x) => (float[2,3] y) { y = Relu(x) }",
    "g (float[2,3] x) => (float[2,3] y) { y = Neg(x) }",
    "g (float[2,3] x) => (float[2,1] y) { y = ReduceMean<axes=[1]>(x) }",
)

CONVERTER = """
import onnx
from onnx.reference import ReferenceEvaluator

OFF = 0

class Mine:
    def run(self, model, inputs):
        made = onnx.load_model_from_string(model)
        results = ReferenceEvaluator(made).run(None, dict(inputs))
        off = OFF * any(node.op_type == "ReduceMean" for node in made.graph.node)
        return {value.name: result + off for value, result in zip(made.graph.output, results)}
"""


@pytest.mark.backend
@pytest.mark.timeout(600)
def test_a_new_fault_shows_on_what_was_stored(tmp_path: Path) -> None:
    (tmp_path / "seeds").mkdir()
    for number, text in enumerate(MODELS):
        model = onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["": 17]> {text}')
        onnx.save(model, tmp_path / "seeds" / f"{number}.onnx")

    def run(off: int, programs: int) -> dict[str, Any]:
        (tmp_path / "mine.py").write_text(CONVERTER.replace("OFF = 0", f"OFF = {off}"))
        words = ["--targets", "onnxruntime:disabled", "--target", "mine.py:Mine", "--sprouts", 0, "--time", "300s"]
        more = ["--ops", "Relu,Neg,Abs,ReduceMean", "--jobs", 1, "--reduce", 2, "--programs", programs, "--json"]
        done = subprocess.run(
            command("fuzz", "seeds", *words, *more), cwd=tmp_path, env=ENV, capture_output=True, text=True, check=False
        )
        assert done.returncode in (0, 1), done.stderr
        return json.loads(done.stdout)

    before = run(0, 6)
    assert before["findings"] == 0
    assert before["counts"].get(AGAIN, 0) == 0
    corpus = before["counts"]["corpus"]
    after = run(1, before["programs"] + corpus)
    assert 3 <= after["counts"][AGAIN] <= corpus + 8
    assert any("ReduceMean" in row["title"] for row in after["list"])
