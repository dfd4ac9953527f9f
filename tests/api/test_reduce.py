"""``irfuzz.reduce``: a function says what is interesting."""

from __future__ import annotations

from pathlib import Path

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


def test_a_reduction_with_a_state_goes_on_from_there(tmp_path: Path) -> None:
    asked: list[irfuzz.Program] = []

    def counted(program: irfuzz.Program, inputs: object) -> bool:
        asked.append(program)
        return has_log(program, inputs)

    partial: list[irfuzz.ReduceReport | None] = []

    def follow(update: irfuzz.Update[irfuzz.ReduceReport]) -> None:
        if update.so_far is not None:
            partial.append(update.so_far())

    first = irfuzz.reduce(MODEL, counted, inputs=SAMPLE, jobs=2, state=tmp_path / "state", progress=follow)
    assert first.reduced.complete
    assert partial[-1] is not None
    assert partial[-1].program.digest == first.program.digest
    asked.clear()
    again = irfuzz.reduce(MODEL, counted, inputs=SAMPLE, state=tmp_path / "state")
    assert (again.to_json(), asked) == (first.to_json(), [])
    with pytest.raises(UsageError, match="another question was begun there"):
        irfuzz.reduce(MODEL, has_log, inputs=SAMPLE, state=tmp_path / "state")


def test_what_is_not_interesting_is_refused() -> None:
    with pytest.raises(UsageError, match="g: is not interesting as it is"):
        irfuzz.reduce(MODEL, lambda program, inputs: False)
    with pytest.raises(UsageError, match="inputs: expected one sample, got 2"):
        irfuzz.reduce(MODEL, has_log, inputs=[SAMPLE, SAMPLE])
