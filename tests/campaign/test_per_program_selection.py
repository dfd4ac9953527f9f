"""Which targets run on each program, on some, and only where a disagreement lacks a witness."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import onnx.parser
import pytest

from irfuzz.campaign.corpus.unmutated_seed_turns import SeedTurns
from irfuzz.campaign.differential_strategy import Differential
from irfuzz.campaign.targets import per_program_selection
from irfuzz.campaign.targets.failing_target_exclusion import FailingTargets
from irfuzz.campaign.targets.hang_avoidance import HangAvoidance
from irfuzz.execute.run_types import Exit, RunResult, Stage, Target, TargetRole
from irfuzz.execute.runner import Runner
from irfuzz.execute.target_table import resolve
from irfuzz.ir.program import Program

RUNTIME, TORCH = Target("onnxruntime:all", "onnxruntime"), Target("torch:eager", "torch")
NUMPY = Target("numpy:eager", "numpy")


@pytest.mark.unit
@pytest.mark.parametrize(
    ("targets", "named", "waiting"),
    [
        ([RUNTIME, TORCH, NUMPY], None, [NUMPY]),
        ([RUNTIME, TORCH, NUMPY], ["all"], [NUMPY]),
        ([RUNTIME, TORCH, NUMPY], ["onnxruntime", "numpy:eager", "torch"], []),
        ([RUNTIME, NUMPY], None, []),
        ([RUNTIME, TORCH], None, []),
    ],
)
def test_numpy_waits_for_a_doubt_beside_another_lowering_unless_it_is_named(
    targets: list[Target], named: list[str] | None, waiting: list[Target]
) -> None:
    assert list(per_program_selection.in_doubt(targets, named)) == waiting


def result(target: Target, seconds: float) -> RunResult:
    return RunResult(target, Stage.RUN, Exit.OK, seconds=seconds)


@pytest.mark.unit
def test_a_dear_target_among_many_runs_on_every_sixteenth_program_until_the_others_caught_up() -> None:
    many = [Target(f"c{n}", f"c{n}") for n in range(12)]
    dear = many[-1]
    parts = per_program_selection.TimeParts(many)
    assert per_program_selection.turn(many, 1, 16, parts) == tuple(many)
    parts.took([result(t, 1.0 if t is dear else 0.01) for t in many])
    assert per_program_selection.turn(many, 1, 16, parts) == tuple(many[:-1])
    assert per_program_selection.turn(many, 32, 16, parts) == tuple(many)
    parts.took([result(t, 0.2) for t in many[:-1]])
    assert parts.within(many) == tuple(many[:-1])
    parts.took([result(t, 0.1) for t in many[:-1]])
    assert parts.within(many) == tuple(many), "1.0 of 4.41 s is less than a quarter"


@pytest.mark.unit
@pytest.mark.parametrize("count", [2, 3])
def test_a_dear_target_among_few_runs_on_each_program(count: int) -> None:
    few = [Target(f"c{n}", f"c{n}") for n in range(count)]
    parts = per_program_selection.TimeParts(few)
    parts.took([result(few[0], 9.0), *(result(t, 0.001) for t in few[1:])])
    assert parts.within(few) == tuple(few)


@pytest.mark.unit
def test_two_targets_are_left_however_dear_they_are() -> None:
    many = [Target(f"c{n}", f"c{n}") for n in range(12)]
    parts = per_program_selection.TimeParts(many)
    parts.took([result(t, 1.0) for t in many[:2]])
    assert parts.within(many[:3]) == tuple(many[:3])


@pytest.mark.unit
def test_of_very_many_targets_tools_take_turns_and_runtimes_run_each_time() -> None:
    runtimes = [Target(f"r{n}", f"r{n}") for n in range(6)]
    tools = [Target(f"t{n}:{v}", f"t{n}", role=TargetRole.TOOL, before="r0") for n in range(10) for v in "ab"]
    after = Target("late", "late", role=TargetRole.CONVERTER, before="t0:a")
    every = [*runtimes, *tools, after]
    ran = Counter[str]()
    for iteration in range(1, 13):
        chosen = per_program_selection.turn(every, iteration, 16)
        names = [t.name for t in chosen]
        assert names[:6] == [t.name for t in runtimes]
        assert all((f"t{n}:a" in names) <= (f"t{n}:b" in names) for n in range(1, 10)), "variants stay together"
        assert "late" not in names or "t0:a" in names
        ran.update(names)
    assert all(ran[t.name] == 4 for t in [*tools[2:], after])
    assert per_program_selection.turn(every, 16, 16) == tuple(every)
    assert per_program_selection.turn(every[:24], 1, 16) == tuple(every[:24]), "24 are not very many"


@pytest.mark.backend
def test_campaigns_have_numpy_beside_torch_and_others_do_not() -> None:
    pytest.importorskip("torch")
    assert "numpy:eager" not in [t.name for t in resolve()]
    assert "numpy:eager" in [t.name for t in resolve(witness=True)]


MODEL = '<ir_version: 8, opset_import: ["" : 17]> g (int64[2] x) => (int64[2] y) { y = Mul(x, x) }'


@pytest.mark.backend
@pytest.mark.parametrize(
    ("change", "asked", "suspects"),
    [(lambda y: y + 1, True, [False]), (lambda y: y, False, [])],
)
def test_numpy_is_asked_where_two_differ_and_settles_it(
    change: Callable[[np.ndarray], np.ndarray], asked: bool, suspects: list[bool]
) -> None:
    pytest.importorskip("torch")
    program = Program.from_proto(onnx.parser.parse_model(MODEL))
    with Runner(resolve(["onnxruntime:all", "torch:eager", "numpy:eager"])) as runner:
        numpy = runner.targets[-1:]
        strategy: Any = Differential.__new__(Differential)
        strategy._runner, strategy._stuck, strategy._failing = runner, HangAvoidance(), FailingTargets()
        strategy._witnesses, strategy._quick = numpy, runner.targets[:2]
        strategy._triage = SimpleNamespace(knows=lambda *_: False)
        strategy._seed_turns = SeedTurns(Counter(), many=False)
        strategy._parts = per_program_selection.TimeParts(runner.targets[:2])
        strategy._job = SimpleNamespace(counts=Counter[str]())
        strategy._slow = SimpleNamespace(run=lambda _: [])
        testcase: Any = SimpleNamespace(
            program=program, inputs={"x": np.array([2, 3])}, targets=runner.targets[:2], tag="", invalid=False,
            entry=SimpleNamespace(seed="s"), sample=None,
        )  # fmt: skip
        first, second = runner.run(program, testcase.inputs, runner.targets[:2])
        runs: list[RunResult] = [replace(first, outputs={"y": change(first.outputs["y"])}), second]
        results, verdicts = strategy.judge(testcase, runs)
    assert ("numpy:eager" in [r.target.name for r in results]) == asked
    assert [v.suspect for v in verdicts] == suspects
    assert all(v.target == "onnxruntime:all" for v in verdicts)
