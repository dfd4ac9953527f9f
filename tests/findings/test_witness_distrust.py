"""A target that a known rule says is wrong about these very calls bears no witness on them."""

from __future__ import annotations

import numpy as np
import onnx.parser
import pytest

from irfuzz.execute.run_types import Exit, RunResult, Stage, Target
from irfuzz.findings import witness_distrust
from irfuzz.findings.witness_distrust import wrong_here
from irfuzz.ir.program import Program
from irfuzz.oracle import judge

pytestmark = pytest.mark.unit

REFERENCE = Target("reference", "reference", version="1.23.2")


def lstm(attributes: str) -> Program:
    text = f"""<ir_version: 8, opset_import: ["" : 17]>
    g (float[1,1,1] x, float[1,4,1] w, float[1,4,1] r) => (float[1,1,1,1] y)
    {{ y = LSTM<hidden_size = 1{attributes}>(x, w, r) }}"""
    return Program.from_proto(onnx.parser.parse_model(text))


def ran(target: Target, value: float) -> RunResult:
    return RunResult(target, Stage.RUN, Exit.OK, {"y": np.full((1, 1, 1, 1), value, np.float32)})


@pytest.mark.parametrize(
    ("target", "attributes", "id_"),
    [
        (REFERENCE, ", clip = 0.5", "018-reference-lstm-activations"),
        (REFERENCE, "", ""),
        (Target("torch:eager", "torch"), ", clip = 0.5", ""),
    ],
)
def test_rules_are_about_calls_with_their_attributes(target: Target, attributes: str, id_: str) -> None:
    assert wrong_here(lstm(attributes), target) == id_


def test_a_rule_that_is_fixed_doubts_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    from dataclasses import replace

    (rule,) = [k for k in witness_distrust.shipped() if k.id == "018-reference-lstm-activations"]
    monkeypatch.setattr(
        witness_distrust, "_by_component", lambda: {"reference": {"LSTM": [replace(rule, fixed="1.23.0")]}}
    )
    assert wrong_here(lstm(", clip = 0.5"), REFERENCE) == ""


@pytest.mark.parametrize(("attributes", "suspect"), [("", False), (", clip = 0.5", True)])
def test_two_that_err_alike_blame_nobody_if_one_is_known_to_err(attributes: str, suspect: bool) -> None:
    """An LSTM with clip was blamed on torch, which was right."""
    program = lstm(attributes)
    fed = {
        "x": np.ones((1, 1, 1), np.float32),
        "w": np.ones((1, 4, 1), np.float32),
        "r": np.ones((1, 4, 1), np.float32),
    }
    other, torch = Target("onnxruntime:disabled", "onnxruntime"), Target("torch:eager", "torch")
    results = [ran(REFERENCE, 0.25), ran(other, 0.25), ran(torch, 0.5)]
    found = [v for v in judge(program, fed, results, distrust=wrong_here) if v.target == torch.name]
    assert all(v.suspect for v in found) == suspect
    assert found or suspect


@pytest.mark.parametrize(
    ("operator", "opset", "doubted"), [("Softmax", 7, True), ("Hardmax", 12, True), ("Softmax", 13, False)]
)
def test_a_rule_about_one_of_several_operators_is_about_each(operator: str, opset: int, doubted: bool) -> None:
    """A Softmax of opset 7 was blamed on onnxruntime beside a target that asks onnx's evaluator: two against one."""
    text = f"g (float[1,2,1] x) => (float[1,2,1] y) {{ y = {operator}(x) }}"
    program = Program.from_proto(onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["" : {opset}]> {text}'))
    assert wrong_here(program, REFERENCE) == ("138-reference-hardmax-1" if doubted else "")
    assert not wrong_here(program, Target("onnxruntime:all", "onnxruntime", version="1.32.0"))


def test_one_thing_that_a_rule_says_of_its_calls_is_enough() -> None:
    found = witness_distrust._by_component.__wrapped__()
    ids = {rule.id for rules in found["reference"].values() for rule in rules}
    assert "018-reference-lstm-activations" in ids
    for rules in found.values():
        for operator, of_operator in rules.items():
            assert all(not rule.passes and not rule.within for rule in of_operator)
            assert all(operator in (rule.operators or rule.one_of) for rule in of_operator)
            assert all(len(rule.operators) + bool(rule.one_of) == 1 for rule in of_operator)
