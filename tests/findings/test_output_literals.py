"""What a target answered, as text of Python that gives the same value again."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from irfuzz.findings.output_literals import MOST, answer_text, element_place, special
from irfuzz.oracle import Symptom

pytestmark = pytest.mark.unit

TWO = np.array([[1.5, np.nan], [np.inf, 2.0]], np.float32)


@pytest.mark.parametrize(
    ("value", "place", "text"),
    [
        (TWO, ((), (1, 1)), "2.0"),
        (TWO, ((), (0, 1)), "np.nan"),
        (TWO, ((), (1, 0)), "np.inf"),
        ([TWO, TWO + 1], ((1,), (0, 0)), "2.5"),
        (np.array([1.5], ml_dtypes.bfloat16), ((), (0,)), "1.5"),
        (np.array(["a", "b"], object), ((), (0,)), "'a'"),
        (np.array(["a", "b"], object), None, ""),
        (np.array(["a", "b"]), ((), (0,)), "'a'"),
        (np.array([b"a"]), None, ""),
        (np.array([(1, 2.0)], [("i", "i4"), ("f", "f4")]), None, ""),
        (np.zeros(MOST + 1), None, ""),
        (np.zeros(65), None, ""),
        (np.zeros(64, np.int8), None, f"np.array({[0] * 64}, 'int8')"),
        (np.zeros((8, 8), np.int8), None, f"np.array({[[0] * 8] * 8}, 'int8')"),
        (np.array([1.5], ml_dtypes.bfloat16), None, "np.array([1.5], 'float64')"),
        (np.array(3), None, "3"),
        (np.array(3), ((), ()), "3"),
        (np.array(True), None, "True"),
        (np.array([1 + 2j]), None, ""),
        ([TWO], ((1,), (0, 0)), ""),
        (None, ((0,), (0,)), ""),
        (TWO, ((), (7, 7)), ""),
    ],
)
def test_the_element_at_fault(value: object, place: object, text: str) -> None:
    assert answer_text({"y": value}, "y", Symptom.DIFFERENCE, place) == text  # type: ignore[dict-item, arg-type]


def test_words_within_strings_are_no_numbers() -> None:
    assert special(r"""[nan, 'nan', -inf, "in'f inf", 'it\'s nan', 'inf->inf', finance]""") == (
        r"""[np.nan, 'nan', -np.inf, "in'f inf", 'it\'s nan', 'inf->inf', finance]"""
    )


def test_a_whole_small_tensor_and_an_output_that_is_not_there() -> None:
    text = answer_text({"y": TWO}, "y", Symptom.DIFFERENCE, None)
    np.testing.assert_array_equal(eval(text, {"np": np}), TWO)
    assert answer_text({"y": TWO}, "z", Symptom.DIFFERENCE, None) == ""


@pytest.mark.parametrize("symptom", [Symptom.WRONG_DTYPE, Symptom.WRONG_SHAPE])
@pytest.mark.parametrize(
    ("value", "text"),
    [
        (TWO, "'float32[2, 2]'"),
        (np.zeros(()), "'float64[]'"),
        (np.array(["a"], object), "'string[1]'"),
        (np.array(["a"]), "'string[1]'"),
        (None, "'nothing'"),
        ([TWO, np.zeros(3, np.int8)], repr("sequence of ['float32[2, 2]', 'int8[3]']")),
        ([], "'sequence of []'"),
    ],
)
def test_types_and_shapes_are_spelled_out(symptom: Symptom, value: object, text: str) -> None:
    assert answer_text({"y": value}, "y", symptom, None) == text  # type: ignore[dict-item]
    assert answer_text({"y": value}, "z", symptom, None) == ""  # type: ignore[dict-item]


@pytest.mark.parametrize(
    ("element", "output", "place"),
    [
        ("y[0, 3]", "y", ((), (0, 3))),
        ("y[]", "y", ((), ())),
        ("y[2][0, 3]", "y", ((2,), (0, 3))),
        ("y[2][11][]", "y", ((2, 11), ())),
        ("y[1][0]", "y[1]", ((), (0,))),
        ("y", "y", None),
        ("z[0]", "y", None),
        ("y[a]", "y", None),
        ("y[0]x", "y", None),
    ],
)
def test_places_of_elements(element: str, output: str, place: object) -> None:
    assert element_place(element, output) == place
