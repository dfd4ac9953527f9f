"""What makes two findings one."""

from __future__ import annotations

import pytest

from irfuzz.oracle.fault_signature import _kinds, operators_of, signature
from irfuzz.oracle.verdict import Symptom, Verdict

REJECTED = Verdict("rejection", Symptom.REJECTION, "onnxruntime:all", stage="compile", message="no")


def test_a_cast_beside_others_makes_no_other_finding(parse) -> None:
    plain = parse("g (double[2] x) => (double[2] y) { y = Selu(x) }")
    fed = parse("g (float[2] x) => (double[2] y) { d = Cast<to = 11>(x)  y = Selu(d) }")
    assert operators_of(REJECTED, fed) == ["Selu"]
    assert signature(REJECTED, fed) == signature(REJECTED, plain)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("g (float[2] x) => (double[2] y) { y = Cast<to = 11>(x) }", ["Cast"]),
        ("g (float[2] x) => (float[2] y) { a = Identity(x)  y = Identity(a) }", []),
        ("g (float[2] x) => (double[2] y) { a = Relu(x)  b = Abs(a)  y = Cast<to = 11>(b) }", ["Abs", "Relu"]),
    ],
)
def test_operators(parse, text: str, found: list[str]) -> None:
    assert operators_of(REJECTED, parse(text)) == found


@pytest.mark.parametrize(
    ("symptom", "expected", "got", "kinds"),
    [
        (Symptom.WRONG_DTYPE, "float32[2, 3]", "float64[4]", "float32->float64"),
        (Symptom.WRONG_DTYPE, "tensor", "nothing", "tensor->nothing"),
        (Symptom.WRONG_SHAPE, "float32[2]", "float32[4]", ""),
    ],
)
def test_of_kinds_the_element_types_alone_count(parse, symptom: Symptom, expected: str, got: str, kinds: str) -> None:
    verdict = Verdict("kinds", symptom, "t", output="y", expected=expected, got=got)
    assert _kinds(verdict) == kinds
    program = parse("g (float[2] x) => (float[2] y) { y = Selu(x) }")
    assert signature(verdict, program).split("|")[3].startswith(kinds)
