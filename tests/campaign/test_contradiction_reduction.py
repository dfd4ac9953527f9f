"""A contradiction loses the rewrites that it does without, and shrinks only while it shows the same."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import onnx.parser
import pytest

from irfuzz.campaign.self_testing import contradiction_reduction
from irfuzz.campaign.self_testing.contradiction_reduction import smallest, with_fewer
from irfuzz.errors import Unsupported
from irfuzz.ir.program import Program

pytestmark = pytest.mark.unit

TEXT = '<ir_version: 8, opset_import: ["" : 17]> g (float[2] x) => (float[2] y) { y = Neg(x) }'
PROGRAM = Program.from_proto(onnx.parser.parse_model(TEXT))
INPUTS = {"x": np.ones(2, np.float32)}


def contradiction(chain: str, symptom: str = "difference") -> Any:
    """By rewrites of one letter."""
    return SimpleNamespace(
        model="m",
        chain=tuple(chain),
        program=PROGRAM,
        inputs={**INPUTS, "z": np.zeros(1)},
        other=None,
        results=(SimpleNamespace(target="t"),),
        comparison=SimpleNamespace(symptom=symptom),
    )


class Engine:
    """Shows a contradiction where a chain has all letters that it needs."""

    def __init__(self, needs: str) -> None:
        self._needs = needs
        self.asked: list[str] = []

    def again(self, model: str, program: Program, inputs: Any, target: str, steps: Any, other: Any = None) -> Any:
        assert (model, target, set(inputs), other) == ("m", "t", {"x"}, None)
        self.asked.append("".join(steps))
        return contradiction("".join(steps)) if set(self._needs) <= set(steps) else None


@pytest.mark.parametrize(
    ("chain", "needs", "left", "asked"),
    [
        ("a", "", "a", []),  # one stays
        ("ab", "b", "b", ["b"]),
        ("ab", "a", "a", ["b", "a"]),
        ("ab", "ab", "ab", ["b", "a"]),
        ("abcd", "bd", "bd", ["bcd", "cd", "bd", "b"]),
        ("abc", "", "c", ["bc", "c"]),
    ],
)
def test_rewrites_are_left_out_in_turn(chain: str, needs: str, left: str, asked: list[str]) -> None:
    engine: Any = Engine(needs)
    assert "".join(with_fewer(engine, contradiction(chain)).chain) == left
    assert engine.asked == asked


@pytest.mark.parametrize(
    ("answer", "kept"),
    [
        (contradiction("a"), True),
        (contradiction("a", "nan"), False),
        (None, False),
        (Unsupported("torch", "Neg", "no"), False),
    ],
)
def test_a_smaller_program_has_to_show_the_same_symptom(
    monkeypatch: pytest.MonkeyPatch, answer: Any, kept: bool
) -> None:
    told: list[bool] = []

    def again(*_: Any, fresh: bool = True) -> Any:
        if not fresh and isinstance(answer, Exception):
            raise answer
        return None if fresh else answer

    def reduce_case(program: Program, inputs: Any, still: Any, *, seconds: float) -> Any:
        assert (set(inputs), seconds) == ({"x"}, 3.0)
        told.append(still(program, inputs))
        return SimpleNamespace(program=program, inputs=inputs)

    monkeypatch.setattr(contradiction_reduction, "reduce_case", reduce_case)
    engine: Any = SimpleNamespace(again=again)
    found = contradiction("a")
    assert smallest(engine, found, seconds=3.0) is found  # fresh processes did not show it
    assert told == [kept]


def test_what_fresh_processes_show_on_the_smaller_program_is_returned(monkeypatch: pytest.MonkeyPatch) -> None:
    made = contradiction("a")
    monkeypatch.setattr(
        contradiction_reduction, "reduce_case", lambda p, i, s, seconds: SimpleNamespace(program=p, inputs=i)
    )
    engine: Any = SimpleNamespace(again=lambda *_: made)
    assert smallest(engine, contradiction("a"), seconds=3.0) is made
