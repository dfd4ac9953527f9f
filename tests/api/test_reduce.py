"""``irfuzz.reduce``: a function says what is interesting."""

from __future__ import annotations

import numpy as np
import onnx.parser
import pytest

import irfuzz
from irfuzz.errors import UsageError

MODEL = onnx.parser.parse_model(
    '<ir_version: 8, opset_import: ["": 17]> g (float[4] x) => (float[4] y) { a = Exp(x) b = Log(a) y = Neg(b) }'
)
SAMPLE = {"x": np.ones(4, np.float32)}

pytestmark = pytest.mark.backend


def has_log(program: irfuzz.Program, inputs: object) -> bool:
    return any(node.op_type == "Log" for node in program.nodes())


def test_what_is_left_is_interesting_and_small() -> None:
    updates: list[irfuzz.Update] = []
    report = irfuzz.reduce(MODEL, has_log, inputs=SAMPLE, seconds=60, progress=updates.append)
    assert report.to_json()["operators"] == ["Log"]
    assert str(report).startswith("g: 3 -> 1 nodes, ")
    assert {*report.inputs} == {value.name for value in report.program.graph.inputs}
    assert [update.doing for update in updates if update.doing][-1] == "reducing"


def test_what_is_not_interesting_is_refused() -> None:
    with pytest.raises(UsageError, match="g: is not interesting as it is"):
        irfuzz.reduce(MODEL, lambda program, inputs: False)
    with pytest.raises(UsageError, match="inputs: expected one sample, got 2"):
        irfuzz.reduce(MODEL, has_log, inputs=[SAMPLE, SAMPLE])
