"""Facts are compared with runs: a wrong one is found and named, right ones and one lying target are not."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import onnx_ir as ir
import pytest
from onnx import parser

from irfuzz.campaign.monitoring import inferred_fact_audit
from irfuzz.campaign.monitoring.inferred_fact_audit import WITNESSES, WrongFact, audit
from irfuzz.campaign.monitoring.internal_error_folders import kind_of
from irfuzz.execute.runner import Runner
from irfuzz.execute.target_table import resolve
from irfuzz.facts import TensorFact
from irfuzz.ir.program import Program
from irfuzz.ir.value import set_fact
from tests.campaign.running import planted

MODEL = """
<ir_version: 8, opset_import: ["" : 17]>
g (float[2,3] x) => (float[3,2] y) { h = Relu(x) t = Transpose(h) y = Exp(t) }
"""
INPUTS = {"x": np.array([[1, -2, 3], [4, 5, -6]], np.float32)}


@pytest.fixture(scope="module")
def runner() -> Iterator[Runner]:
    with Runner(resolve(WITNESSES)) as opened:
        yield opened


@pytest.mark.backend
def test_right_facts_are_counted(runner: Runner) -> None:
    assert audit(runner, Program.from_proto(parser.parse_model(MODEL)), INPUTS) == 3


@pytest.mark.backend
@pytest.mark.parametrize("wrong", [{"low": 2.0}, {"shape": (2, 2)}, {"dtype": ir.DataType.DOUBLE}])
def test_a_wrong_fact_is_named(runner: Runner, wrong: dict[str, Any]) -> None:
    program = Program.from_proto(parser.parse_model(MODEL))
    value = program.value("t")
    assert value is not None
    fact = program.fact(value)
    assert isinstance(fact, TensorFact)
    set_fact(value, replace(fact, **wrong))
    with pytest.raises(WrongFact, match=r"'t' \(Transpose\) is wrong: expected .* on onnxruntime:disabled and") as told:
        audit(runner, program, INPUTS)
    assert kind_of(told.value).startswith("WrongFact of Transpose")


def test_without_both_witnesses_nothing_is_said() -> None:
    with Runner(resolve(WITNESSES[1:])) as alone:
        assert audit(alone, Program.from_proto(parser.parse_model(MODEL)), INPUTS) == 0


def wrong_program(name: str, **wrong: Any) -> Program:
    program = Program.from_proto(parser.parse_model(MODEL))
    value = program.value(name)
    assert value is not None
    fact = program.fact(value)
    assert isinstance(fact, TensorFact)
    set_fact(value, replace(fact, **wrong))
    return program


@contextlib.contextmanager
def witnesses(root: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> Iterator[Runner]:
    """A planted target and the reference evaluator are the witnesses; another target stands before them."""
    names = (planted(name), "reference")
    monkeypatch.setattr(inferred_fact_audit, "WITNESSES", names)
    with contextlib.chdir(root), Runner(resolve([planted("Choosy"), *names])) as opened:
        yield opened


def test_two_witnesses_that_contradict_a_fact_name_it(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with witnesses(root, monkeypatch, "Faithful") as opened:
        assert audit(opened, Program.from_proto(parser.parse_model(MODEL)), INPUTS) == 3
        with pytest.raises(WrongFact, match=r"the fact of 't' \(Transpose\) is wrong: .* and reference") as told:
            audit(opened, wrong_program("t", low=2.0), INPUTS)
        assert told.value.op == "Transpose"


@pytest.mark.parametrize(
    ("name", "high"),
    [("WrongNumbers", 148.9), ("Raises", 1.0)],
    ids=["one that adds 1 to exp(5) is above the bound, the other is not", "one does not run"],
)
def test_what_one_alone_contradicts_is_no_wrong_fact(
    root: Path, monkeypatch: pytest.MonkeyPatch, name: str, high: float
) -> None:
    with witnesses(root, monkeypatch, name) as opened:
        assert audit(opened, wrong_program("y", high=high), INPUTS) == 3
