"""Optimiser passes: what the shipped list says of them, and that the book of patterns reaches nearly all."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType
from typing import cast

import pytest

from irfuzz.execute.onnxruntime_passes import excluded, known_passes, registered, rule_names
from irfuzz.execute.run_types import Exit, RunResult, Stage, Target
from irfuzz.execute.runner import Runner
from irfuzz.ir.program import Program

BENCHMARK = Path(__file__).resolve().parents[2] / "benchmarks" / "passes.py"

FIRED, LEFT_OUT = 0.9, 0.15
"""How many of the passes that a version registers some pattern fires, and how many may be left out at most."""


def _benchmark() -> ModuleType:
    spec = importlib.util.spec_from_file_location("benchmark_passes", BENCHMARK)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.unit
def test_each_pass_that_is_left_out_has_a_reason() -> None:
    assert set(rule_names()) <= set(known_passes())
    assert len(known_passes()) == len(set(known_passes()))
    assert all(len(why.split()) >= 4 for why in excluded().values())


class _Dropping:
    """A tool that loses an output that some node only hands on, as releases of onnxslim up to 0.1.90 do."""

    def run_as(self, program: Program, _inputs: object, target: Target, _options: object) -> RunResult:
        lost = any(node.op_type == "Identity" for node in program.graph)
        return RunResult(target, Stage.RUN, Exit.REJECTED if lost else Exit.OK, passes=() if lost else ("Folding",))


@pytest.mark.unit
def test_a_tool_that_breaks_some_programs_tells_its_passes() -> None:
    target = Target(name="tool", component="tool")
    assert registered(cast("Runner", _Dropping()), target) == ("Folding",)


@pytest.mark.backend
def test_patterns_fire_nearly_all_passes_of_the_installed_version() -> None:
    with Runner(["onnxruntime:all"]) as runner:
        (target,) = runner.targets
        names, found = _benchmark().fired(runner, target, 3, None)
        assert tuple(names) == registered(runner, target)
    out = [name for name in names if name in excluded()]
    left = [name for name in names if name not in out]
    assert len(out) <= LEFT_OUT * len(names)
    assert not [name for name in out if name in found], "left out, but a pattern fires it"
    missing = [name for name in left if name not in found]
    assert len(missing) <= (1 - FIRED) * len(left), missing
