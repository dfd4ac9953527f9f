"""Where inner values come from: the first source that is installed and runs the program."""

from __future__ import annotations

import numpy as np
import pytest

from irfuzz.reduce import inner_value_computation
from irfuzz.reduce.inner_value_computation import SOURCES, InnerValues
from tests.reduce.conftest import parse

X = {"x": np.array([1, 2], np.float32)}
TEXT = "g (float[2] x) => (float[2] y) { a = Neg(x) y = Exp(a) }"


def asked(values_of: InnerValues) -> list[str]:
    return list(values_of.started)


def test_the_first_source_answers_alone() -> None:
    with InnerValues(30) as values_of:
        assert asked(values_of) == []
        found = values_of(parse(TEXT), X)
        assert asked(values_of) == [SOURCES[0]]
    np.testing.assert_array_equal(found["a"], [-1, -2])  # type: ignore[arg-type]


def test_the_next_one_answers_where_the_first_cannot_run_the_program() -> None:
    with InnerValues(30) as values_of:
        # onnxruntime has no kernel for it in this type.
        found = values_of(parse("g (uint16[2] x) => (uint16[2] y) { a = Max(x, x) y = Sub(a, x) }"), {
            "x": np.array([1, 2], np.uint16)
        })  # fmt: skip
        assert asked(values_of) == list(SOURCES)
    np.testing.assert_array_equal(found["a"], [1, 2])  # type: ignore[arg-type]


def test_one_that_is_not_installed_is_passed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inner_value_computation, "SOURCES", ("nothing:disabled", "reference"))
    with InnerValues(30) as values_of:
        assert set(values_of(parse(TEXT), X)) == {"a", "y"}


def test_nothing_is_known_where_none_runs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inner_value_computation, "SOURCES", ("nothing:disabled",))
    with InnerValues(30) as values_of:
        assert values_of(parse(TEXT), X) == {}
