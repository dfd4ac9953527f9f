"""Programs are made, run and judged in rounds, which changes neither the programs nor what is known after a death."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

from irfuzz.campaign import differential_strategy, loop
from irfuzz.campaign.campaign import Campaign
from irfuzz.campaign.config import STOP_AT, Config, Layout
from irfuzz.campaign.inflight_journal import Journal
from irfuzz.campaign.job import Job
from irfuzz.execute.runner import Runner
from irfuzz.ir.program import Program

pytestmark = [pytest.mark.backend, pytest.mark.timeout(200)]

TARGETS = ("onnxruntime:disabled", "onnxruntime:all")


def prepare(out: Path, seed: Path, programs: int) -> None:
    with Campaign(out, Config(seed=11, targets=TARGETS, reduce=1.0, jobs=64)) as campaign:
        campaign.add_seed(seed.name, Program.from_bytes(seed.read_bytes()))
        campaign.database.set(STOP_AT, str(programs))


def corpus(out: Path) -> list[Any]:
    with closing(sqlite3.connect(Layout(out).database)) as database:
        return database.execute("select digest, iteration, features, parent, trace from program").fetchall()


def tally(out: Path) -> tuple[int, int, dict[str, int]]:
    with closing(sqlite3.connect(Layout(out).database)) as database:
        iteration, programs, counts = database.execute("select iteration, programs, counts from tally").fetchone()
    return iteration, programs, json.loads(counts)


def test_programs_do_not_depend_on_rounds(tmp_path: Path, tiny: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rounds: list[int] = []
    run_all = Runner.run_all

    def counted(self: Runner, tasks: Sequence[Any]) -> Any:
        if tasks[0].tag:  # not those of a triage
            rounds.append(len(tasks))
        return run_all(self, tasks)

    monkeypatch.setattr(Runner, "run_all", counted)
    monkeypatch.setattr(loop, "ROUND_SECONDS", 1e9)
    monkeypatch.setattr(differential_strategy, "REFRESH", 25)
    sizes = []
    # Beyond REFRESH, so that the second half is made of what the first has found.
    for most in (1, 16):
        monkeypatch.setattr(differential_strategy, "ROUND", most)
        rounds.clear()
        prepare(tmp_path / str(most), tiny, 70)
        Job(tmp_path / str(most), 0).run()
        sizes.append(max(rounds))
    assert sizes == [1, 16]
    assert corpus(tmp_path / "1") == corpus(tmp_path / "16")
    assert tally(tmp_path / "1") == tally(tmp_path / "16")
    assert tally(tmp_path / "1")[1] == 70
    assert len({row[3] for row in corpus(tmp_path / "1")}) > 3, "nothing was made of what was found"


def test_a_fault_while_many_run_costs_one_program(tmp_path: Path, tiny: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run_all = Runner.run_all

    def faulty(self: Runner, tasks: Sequence[Any]) -> Any:
        if any(task.tag == "0/9" for task in tasks):
            raise ZeroDivisionError("while many run")
        return run_all(self, tasks)

    monkeypatch.setattr(Runner, "run_all", faulty)
    prepare(tmp_path, tiny, 30)
    Job(tmp_path, 0).run()
    iteration, programs, counts = tally(tmp_path)
    assert programs == 30
    assert counts["internal errors"] == 1
    (folder,) = (tmp_path / "internal").iterdir()
    assert folder.name.endswith("-job0-9")
    assert "while many run" in (folder / "traceback.txt").read_text()
    assert iteration >= 31


@pytest.mark.parametrize(
    ("models", "judged", "skipped"),
    [
        ({}, 7, 7),  # died while making a program
        ({5: b"", 6: b"", 7: b""}, 6, 6),  # while judging one
        ({5: b""}, -1, 5),  # while one ran
        ({5: b"", 6: b"", 7: b""}, -1, None),  # while several ran: which it was is to be seen
    ],
)
def test_what_is_left_out_after_a_death(
    tmp_path: Path, tiny: Path, monkeypatch: pytest.MonkeyPatch, models: dict[int, bytes], judged: int, skipped: Any
) -> None:
    prepare(tmp_path, tiny, 12)
    journal = Journal(Layout(tmp_path).inflight(0))
    journal.makes(judged)
    if models:
        journal.runs([*models.items()])
        journal.judges(judged)
    journal.close()
    ran: list[list[str]] = []
    run_all = Runner.run_all

    def listed(self: Runner, tasks: Sequence[Any]) -> Any:
        ran.append([task.tag for task in tasks])
        return run_all(self, tasks)

    monkeypatch.setattr(Runner, "run_all", listed)
    monkeypatch.setattr(loop, "ROUND_SECONDS", 1e9)
    Job(tmp_path, 0, skip=True).run()
    tags = [tag for row in ran for tag in row]
    assert ("0/7" in tags, "0/6" in tags, "0/5" in tags) == (skipped != 7, skipped != 6, skipped != 5)
    assert tally(tmp_path)[2].get("skipped after a death", 0) == (skipped is not None)
    alone = max(models, default=judged) if skipped is None else skipped
    assert all(len(row) == 1 for row in ran if int(row[0].split("/")[1]) <= alone)
    assert max(map(len, ran)) > 1, "it goes on one by one for ever"


def test_large_programs_go_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    weights = onnx.numpy_helper.from_array(np.zeros((1 << 20,), np.float32), "w")
    x, y = (onnx.helper.make_tensor_value_info(n, onnx.TensorProto.FLOAT, [1 << 20]) for n in "xy")
    graph = onnx.helper.make_graph([onnx.helper.make_node("Add", ["x", "w"], ["y"])], "g", [x], [y], [weights])
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)], ir_version=8)
    onnx.save(model, tmp_path / "large.onnx")
    sizes: list[int] = []
    run_all = Runner.run_all

    def counted(self: Runner, tasks: Sequence[Any]) -> Any:
        sizes.append(sum(len(task.program.to_bytes()) for task in tasks[:-1]))
        return run_all(self, tasks)

    monkeypatch.setattr(Runner, "run_all", counted)
    monkeypatch.setattr(loop, "ROUND_SECONDS", 1e9)
    prepare(tmp_path / "out", tmp_path / "large.onnx", 12)
    Job(tmp_path / "out", 0).run()
    assert max(sizes) <= loop.ROUND_BYTES
