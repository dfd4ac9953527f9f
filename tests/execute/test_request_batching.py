"""Programs that travel together: the results are those of programs run alone, also where one ends the process."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import onnx
import pytest

from irfuzz.execute.adapters.adapter import ModelAdapter
from irfuzz.execute.request_batching import Task
from irfuzz.execute.run_types import Exit, RunResult, Stage
from irfuzz.execute.runner import Runner
from irfuzz.execute.target_table import resolve
from irfuzz.generate.input_values import make_inputs
from irfuzz.ir.program import Program
from irfuzz.isolate import Limits

pytestmark = pytest.mark.backend

SEEDS = ("lenet5", "lstm", "transformer")
MOODY = textwrap.dedent(
    '''
    """Does what the model's bytes say, and tells how many requests this process has seen."""
    import os, time, sys
    import numpy as np

    SEEN = []

    def handle(request, arrays):
        if request["do"] == "describe":
            return {"version": "1"}, []
        SEEN.append(1)
        runs, values = [], []
        for index, variant in enumerate(request["variants"]):
            os.write(2, f"irfuzz-at {index} run\\n".encode())
            word = bytes(arrays[0]).decode()
            if word == "die" or (word == "tired" and len(SEEN) > 2) or word == variant["name"]:
                os.abort()
            if word == "hang":
                time.sleep(60)
            if word == "raise":
                raise ValueError("no")
            if word == "full":
                runs.append({"stage": "run", "exit": "memory", "seconds": 0.1})
                continue
            if word == "odd":
                values.append(object())
            runs.append({"stage": "run", "exit": "ok", "seconds": 0.1, "outputs": [{"name": "y"}]})
            values.append(np.array([len(SEEN), len(word)]))
        return {"runs": runs}, values
    '''
)


@pytest.fixture(scope="module")
def moody(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Runner]:
    handler = tmp_path_factory.mktemp("moody") / "moody.py"
    handler.write_text(MOODY)
    adapter = ModelAdapter("moody", handler, "numpy", ("numpy",), {"a": {"name": "a"}, "b": {"name": "b"}})
    with Runner(
        adapter.targets, Limits(seconds=1.5), adapters=dict.fromkeys([t.name for t in adapter.targets], adapter)
    ) as runner:
        yield runner


def words(runner: Runner, *said: str) -> list[list[RunResult]]:
    return runner.run_all([Task(word.encode(), {}, tag=word) for word in said])


def exits(results: list[list[RunResult]]) -> list[list[str]]:
    return [[r.exit.value for r in found] for found in results]


FINE = ["ok", "ok"]


@pytest.fixture(scope="module")
def real() -> Iterator[Runner]:
    with Runner(resolve(["torch:eager", "onnxruntime:disabled", "onnxruntime:all"])) as runner:
        yield runner


def test_many_programs_give_what_each_gives_alone(root: Path, real: Runner) -> None:
    tasks: list[Task] = []
    for seed in SEEDS:
        program = Program.from_bytes((root / "seeds" / f"{seed}.onnx").read_bytes())
        tasks += [Task(program, make_inputs(program, number)) for number in (1, 2)]
    tasks.append(Task(b"\x08\x08rubbish", {}))
    tasks.append(Task(tasks[0].program, tasks[0].inputs, real.targets[1:], model=tasks[0].data()))
    together = real.run_all(tasks)
    for task, found in zip(tasks, together, strict=True):
        alone = real.run(task.program, task.inputs, task.targets)
        assert [(r.target, r.exit, r.stage, r.error) for r in found] == [
            (r.target, r.exit, r.stage, r.error) for r in alone
        ]
        for a, b in zip(found, alone, strict=True):
            assert a.outputs.keys() == b.outputs.keys()
            for name in a.outputs:
                np.testing.assert_array_equal(a.outputs[name], b.outputs[name])
    assert [r.target for r in together[-1]] == list(real.targets[1:])
    assert {r.exit for r in together[-2]} == {Exit.REJECTED}


def test_no_program(moody: Runner) -> None:
    assert moody.run_all([]) == []


def test_one_process_runs_them_all(moody: Runner) -> None:
    moody.run_fresh(b"new", {})
    found = words(moody, "one", "three", "seven")
    counts = [int(np.asarray(results[0].outputs["y"])[0]) for results in found]
    assert np.diff(counts).tolist() == [1, 1]
    assert [int(np.asarray(results[1].outputs["y"])[1]) for results in found] == [3, 5, 5]
    assert moody.prefix(moody.targets[0])[-2:] == ("one", "three")


@pytest.mark.parametrize(("word", "end"), [("die", "crash"), ("hang", "hang")])
def test_one_that_ends_the_process_costs_the_others_nothing(moody: Runner, word: str, end: str) -> None:
    found = words(moody, "x", "y", word, "z", "w")
    assert exits(found) == [FINE, FINE, [end, end], FINE, FINE]


def test_the_target_at_fault_is_found(moody: Runner) -> None:
    found = words(moody, "x", "b", "z", "a")
    assert exits(found) == [FINE, ["ok", "crash"], FINE, ["crash", "ok"]]


def test_what_is_raised_is_its_own_result(moody: Runner) -> None:
    found = words(moody, "x", "raise", "z")
    assert exits(found) == [FINE, ["rejected", "rejected"], FINE]
    assert found[1][0].error == "ValueError: no"


def test_after_lack_of_memory_comes_a_new_process(moody: Runner) -> None:
    found = words(moody, "x", "full", "z")
    assert exits(found) == [FINE, ["memory", "memory"], FINE]
    assert int(np.asarray(found[2][0].outputs["y"])[0]) == 1


def test_an_answer_that_cannot_be_sent(moody: Runner) -> None:
    found = words(moody, "x", "odd", "z")
    assert exits(found) == [FINE, ["rejected", "rejected"], FINE]
    assert "cannot cross a process" in found[1][0].error


def test_what_only_shows_among_others_is_kept(moody: Runner) -> None:
    words(moody, "full")  # a new process next
    found = words(moody, "x", "y", "tired", "z")
    assert exits(found) == [FINE, FINE, ["crash", "ok"], FINE]
    assert found[2][0].log.startswith("not seen when run alone; ")
    assert found[2][0].stage is Stage.RUN


def test_a_program_without_a_lowering_stands_beside_others(real: Runner) -> None:
    model = onnx.parser.parse_model(
        '<ir_version: 8, opset_import: ["" : 17, "a.b" : 1]> g (float[2] x) => (float[2] y) { y = a.b.Foo(x) }'
    ).SerializeToString()
    good = onnx.parser.parse_model(
        '<ir_version: 8, opset_import: ["" : 17]> g (float[2] x) => (float[2] y) { y = Relu(x) }'
    ).SerializeToString()
    x = {"x": np.array([-1, 2], np.float32)}
    bad, fine = real.run_all([Task(model, x), Task(good, x)])
    gap = Exit.UNSUPPORTED
    assert [(r.exit, r.stage) for r in bad] == [(gap, Stage.CONVERT), (gap, Stage.COMPILE), (gap, Stage.COMPILE)]
    assert [r.exit for r in fine] == [Exit.OK] * 3
