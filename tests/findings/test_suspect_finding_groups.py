"""Which suspects are alike."""

from __future__ import annotations

from dataclasses import replace

import onnx.parser
import pytest

from irfuzz.findings.suspect_finding_groups import alike, group_of
from irfuzz.ir.program import Program
from irfuzz.oracle.verdict import Symptom, Verdict

pytestmark = pytest.mark.unit

WRONG = Verdict("numeric", Symptom.DIFFERENCE, "onnxruntime:disabled", output="y", suspect=True)


def _program(*calls: str) -> Program:
    text = f'<ir_version: 8, opset_import: ["": 17]> g (float[2] x) => (float[2] y) {{ {" ".join(calls)} }}'
    return Program.from_proto(onnx.parser.parse_model(text))


def test_wrong_values_are_alike_by_the_operator_that_gives_them() -> None:
    group = group_of(WRONG, _program("a = Relu (x)", "y = Sign (a)"))
    assert group == "onnxruntime|difference|Sign|"
    assert group_of(replace(WRONG, target="onnxruntime@1.2:all"), _program("y = Sign (x)")) == group
    assert group_of(WRONG, _program("a = Sign (x)", "y = Relu (a)")) != group
    assert group_of(replace(WRONG, symptom=Symptom.NAN_INF), _program("y = Sign (x)")) != group
    assert group_of(replace(WRONG, target="reference"), _program("y = Sign (x)")) != group


def test_what_hands_values_on_is_not_what_gives_them() -> None:
    handed = _program("a = Sign (x)", "b = Cast <to = 10> (a)", "c = Identity (b)", "y = Cast <to = 1> (c)")
    assert group_of(WRONG, handed) == "onnxruntime|difference|Sign|"
    assert (
        group_of(WRONG, _program("a = Cast <to = 10> (x)", "y = Cast <to = 1> (a)")) == "onnxruntime|difference|Cast|"
    )


def test_refusals_are_alike_by_what_is_said() -> None:
    refused = replace(WRONG, symptom=Symptom.REJECTION, output="", message="Fail: no kernel for Sign node with name a")
    small, large = _program("a = Relu (x)", "y = Sign (a)"), _program("a = Neg (x)", "b = Exp (a)", "y = Sign (b)")
    assert group_of(refused, small) == group_of(refused, large)
    general = replace(refused, message="Fail: type mismatch")
    assert group_of(general, small) != group_of(general, large), "nothing but the operators tells them apart"
    assert group_of(general, small) != group_of(replace(general, message="Fail: shape mismatch"), small)
    assert group_of(replace(general, operator="Sign"), small) == group_of(replace(general, operator="Sign"), large)


def test_alike_ones_stand_together_and_those_without_a_group_alone() -> None:
    assert alike(["a", "b", "", "a", ""]) == [[0, 3], [1], [2], [4]]
