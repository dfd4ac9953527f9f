"""Programs from ONNX text and runs from plain values, for the tests of the oracles."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import onnx.parser
import pytest

from irfuzz.execute.run_types import Exit, RunResult, Stage, Target
from irfuzz.ir.program import Program

HEAD = '<ir_version: 8, opset_import: ["" : {opset}]>\n'


@pytest.fixture(scope="session")
def parse() -> Callable[..., Program]:
    """A program from ONNX's text format."""

    def make(text: str, opset: int = 17) -> Program:
        return Program.from_proto(onnx.parser.parse_model(HEAD.format(opset=opset) + text))

    return make


@pytest.fixture(scope="session")
def gemm(parse: Callable[..., Program]) -> Program:
    """One output ``y`` of float32[2,3], far from any discontinuity."""
    return parse("g (float[2,4] x, float[4,3] w) => (float[2,3] y) { a = MatMul(x, w)  y = Tanh(a) }")


@pytest.fixture(scope="session")
def run() -> Callable[..., RunResult]:
    """What a target called ``component[:variant]`` did; ``y`` is its only output where an array is given."""

    def make(
        name: str,
        y: Any = None,
        *,
        exit: Exit = Exit.OK,  # noqa: A002 - the field's name
        stage: Stage = Stage.RUN,
        error: str = "",
        outputs: Mapping[str, Any] | None = None,
        seconds: float = 0.001,
    ) -> RunResult:
        given = outputs if outputs is not None else ({"y": y} if exit is Exit.OK else {})
        return RunResult(Target(name, name.partition(":")[0]), stage, exit, given, error=error, seconds=seconds)

    return make


@pytest.fixture
def fed() -> dict[str, np.ndarray]:
    """Inputs of ``gemm``."""
    generator = np.random.default_rng(5)
    return {
        "x": generator.standard_normal((2, 4)).astype(np.float32),
        "w": generator.standard_normal((4, 3)).astype(np.float32),
    }
