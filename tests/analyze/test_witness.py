"""Witnesses really trigger what was warned of, and preconditions make it safe."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from benchmarks.numeric.programs import PAIRS, Pair
from irfuzz.analyze.analysis import analyze
from irfuzz.analyze.precondition import preconditions
from irfuzz.analyze.ranges import Ranges
from irfuzz.analyze.witness import Search
from irfuzz.execute.runner import Runner
from irfuzz.execute.table import resolve
from irfuzz.ir.program import Program

pytestmark = pytest.mark.backend
pytest.importorskip("onnxruntime")

QUICK = [p for p in PAIRS if p.faulty.name in {
    "box-area", "branch", "degree", "gaussian-loss", "half-exponential", "integer-division", "log-softmax",
    "matmul-overflow", "quantisation-scale", "root", "softmax-regression", "standardise", "tensorfuzz", "unit-vector",
}]  # fmt: skip


@pytest.fixture(scope="module")
def runner() -> Iterator[Runner]:
    with Runner(resolve(["onnxruntime:disabled"])) as opened:
        yield opened


@pytest.mark.parametrize("pair", QUICK, ids=lambda p: p.faulty.name)
def test_true_warnings_have_witnesses_within_the_ranges(runner: Runner, pair: Pair) -> None:
    program, ranges = Program.from_proto(pair.faulty.model()), Ranges(pair.faulty.ranges)
    for warning in analyze(program, ranges).warnings:
        witness = Search(runner, seconds=20.0).find(program, warning, ranges)
        assert witness is not None, warning.output
        for name, array in witness.inputs.items():
            if array.dtype != bool:
                low, high = pair.faulty.ranges[name]
                assert array.min() >= low - 1e-3 * abs(low)
                assert array.max() <= high + 1e-3 * abs(high)
        (again,) = runner.run_fresh(witness.probe.program, witness.inputs)
        if warning.fault.kind == "crash":
            assert again.exit != "ok"
        elif np.asarray(again.outputs[witness.probe.output]).dtype.kind == "f":
            assert not np.isfinite(np.asarray(again.outputs[witness.probe.output])).all()


@pytest.mark.parametrize("name", ["log-softmax", "integer-division", "poisson-loss", "half-exponential"])
def test_preconditions_are_safe_and_no_wider_than_they_must_be(name: str) -> None:
    (pair,) = (p for p in PAIRS if p.faulty.name == name)
    program, ranges = Program.from_proto(pair.faulty.model()), Ranges(pair.faulty.ranges)
    (warning,) = analyze(program, ranges).warnings
    found = preconditions(program, warning, ranges, seconds=30.0)
    assert found
    for condition in found:
        inside = Ranges({**ranges.given, condition.input: (condition.low, condition.high)})
        assert not analyze(program, inside).warnings
        low, high = ranges.given[condition.input]
        assert (condition.low, condition.high) != (low, high)


def test_a_safe_program_has_no_witness(runner: Runner) -> None:
    (pair,) = (p for p in PAIRS if p.faulty.name == "gap")
    program, ranges = Program.from_proto(pair.faulty.model()), Ranges({"a": (2, 3), "b": (0, 1)})
    assert not analyze(program, ranges).warnings
    (warning,) = analyze(program, Ranges(pair.faulty.ranges)).warnings
    assert Search(runner, seconds=0.5).find(program, warning, ranges) is None
