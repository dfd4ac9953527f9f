"""Targets that harm more than their own process are told as what they are, and leave nothing; campaigns of them are
``benchmarks/bad_targets.py``."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
import onnx
import pytest

from irfuzz.execute.run_types import Exit
from irfuzz.execute.runner import Runner
from irfuzz.execute.target_table import resolve
from irfuzz.isolate import Limits

pytestmark = pytest.mark.plugin

LIMITS = Limits(seconds=20.0, memory_bytes=4096 << 20, start_seconds=60.0)
MODEL = onnx.parser.parse_model(
    '<ir_version: 8, opset_import: ["" : 17]> g (float[2, 3] x) => (float[2, 3] y) { y = Relu(x) }'
).SerializeToString()
INPUTS = {"x": np.array([[-1, 0, 1], [2, -3, 4]], np.float32)}


@pytest.mark.parametrize(
    ("name", "expected", "says"),
    [
        ("ClosesAll", Exit.PROTOCOL, "closed"),
        ("LongAnswer", Exit.UNSUPPORTED, "outputs of 2048 MiB"),
        ("RemovesTemporary", Exit.OK, ""),
        ("ChangesFolder", Exit.OK, ""),
    ],
)
def test_harm_is_named_and_nothing_of_it_is_left(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, expected: Exit, says: str
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    source = root / "tests" / "planted_targets" / "hostile.py"
    before = source.read_bytes()
    with Runner(resolve([f"{source}:{name}"]), LIMITS) as runner:
        for _ in range(2):
            (result,) = runner.run(MODEL, INPUTS)
            assert result.exit is expected, result.error
            assert says in result.error
        (result,) = runner.run_fresh(MODEL, INPUTS)
        assert result.exit is expected, result.error
    assert list(tmp_path.iterdir()) == []
    assert source.read_bytes() == before
