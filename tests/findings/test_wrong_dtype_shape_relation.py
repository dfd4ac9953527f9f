"""How a wrong type or shape stands to the right one."""

from __future__ import annotations

import pytest

from irfuzz.findings.causes.wrong_dtype_shape_relation import relation_of
from irfuzz.oracle.verdict import Symptom, Verdict

pytestmark = pytest.mark.unit


@pytest.mark.parametrize(
    ("expected", "got", "relation"),
    [
        ("float32[8,1,12]", "float32[8,12]", "fewer dimensions"),
        ("float32[]", "float32[1]", "more dimensions"),
        ("float32[2]", "float32[3]", "other sizes"),
        ("int32[2]", "int64[2]", "int32->int64"),
        ("bool[1]", "sequence(bool[1])", "in a sequence"),
        ("sequence(float32[1,1])", "sequence(sequence(float32[1,1]))", "in a sequence"),
        ("sequence(bool[1])", "bool[1]", "out of its sequence"),
        ("", "bool[1]", ""),
    ],
)
def test_relations(expected: str, got: str, relation: str) -> None:
    for symptom in (Symptom.WRONG_DTYPE, Symptom.WRONG_SHAPE):
        assert relation_of(Verdict("kind", symptom, "t", expected=expected, got=got)) == relation


def test_numbers_have_none() -> None:
    assert relation_of(Verdict("numeric", Symptom.DIFFERENCE, "t", expected="1", got="2")) == ""
