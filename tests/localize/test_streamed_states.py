"""Hidden states that do not fit into one run are read some at a time, and the map is the same."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import parser

from irfuzz.execute import intermediate_values
from irfuzz.execute.intermediate_values import beyond, run_tapped, tap
from irfuzz.execute.runner import Runner
from irfuzz.execute.target_table import resolve
from irfuzz.ir.program import Program
from irfuzz.localize.nodes.localization_map import localise, more_deltas

MODEL = """<ir_version: 8, opset_import: ["" : 17]> g (float[4] x) => (float[1] y) {
  a = Exp(x)
  b = Concat<axis=0>(a, a)
  c = Tanh(b)
  d = Sin(c)
  e = Cos(a)
  y = ReduceSum<keepdims=1>(d)
}"""
INPUTS = {"x": np.array([0.5, -1, 2, 3], np.float32)}


@pytest.fixture
def program() -> Program:
    return Program.from_proto(parser.parse_model(MODEL))


@pytest.mark.unit
@pytest.mark.parametrize(
    ("elements", "first", "others"),
    [
        (1000, "abcde", []),
        (32, "abcde", []),
        (31, "abcd", ["e"]),
        (12, "ab", ["c", "de"]),
        (11, "ae", ["b", "c", "d"]),
        (4, "a", ["b", "c", "d", "e"]),
        (3, "", ["a", "b", "c", "d", "e"]),
    ],
)
def test_what_one_run_has_no_room_for(program: Program, elements: int, first: str, others: list[str]) -> None:
    tapped = [o.name for o in tap(program, elements=elements).graph.outputs]
    assert sorted(tapped) == sorted([*first, "y"])
    assert ["".join(names) for names in beyond(program, elements)] == others


@pytest.mark.unit
def test_a_tensor_beyond_all_bounds_is_left_out(program: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(intermediate_values, "LARGEST", 8)
    assert beyond(program, 0) == [["a"], ["b"], ["c"], ["d"], ["e"]]
    monkeypatch.setattr(intermediate_values, "LARGEST", 7)
    assert beyond(program, 0) == [["a"], ["e"]]


@pytest.mark.backend
def test_the_map_is_the_same_however_it_was_read(program: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    with Runner(resolve(["reference", "ort:disabled"])) as runner:
        base, other = runner.targets
        whole = localise(program, *run_tapped(runner, program, INPUTS))
        monkeypatch.setattr(intermediate_values, "ELEMENTS", 8)
        one, two = run_tapped(runner, program, INPUTS)
        assert len(localise(program, one, two).layers) < len(whole.layers)
        more = more_deltas(runner, program, INPUTS, (base, other))
        asked: list[int] = []
        part = more_deltas(runner, program, INPUTS, (base, other), lambda: bool(asked) or asked.append(1) is not None)
    assert sorted(more) == ["b", "c", "d"]
    assert localise(program, one, two, more) == whole
    assert sorted(part) == ["b"]
    assert [layer.name for layer in whole.layers] == ["a", "b", "c", "d", "e", "y"]
