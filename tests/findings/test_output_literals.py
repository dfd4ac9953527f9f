"""What a target answered, as text of Python that gives the same value again."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from irfuzz.findings.output_literals import MOST, answer_text, special
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
        (np.array(["a", "b"], object), ((), (0,)), ""),
        (np.array(["a", "b"], object), None, ""),
        (np.zeros(MOST + 1), None, ""),
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
