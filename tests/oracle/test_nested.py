"""Sequences, optionals, strings and drawn numbers: what is judged, element by element, and what cannot be."""

from __future__ import annotations

import numpy as np
import pytest

from irfuzz.oracle import judge
from irfuzz.oracle.verdict import Symptom

X = np.array([1.0, 2.0, 3.0], np.float32)
TWO = "g (float[3] x) => (seq(float[3]) y) { r = Relu(x) y = SequenceConstruct(r, x) }"


def verdicts(parse, run, text, inputs, *ys, rerun=None, opset=17):
    names = ("reference", "torch:eager", "onnxruntime:disabled")
    results = [run(name, y) for name, y in zip(names, ys, strict=True)]
    return judge(parse(text, opset), inputs, results, rerun=(lambda fed, *_: results) if rerun else None)


def test_an_element_of_a_sequence_that_differs_is_named(parse, run) -> None:
    right, wrong = [X, X], [X, X + np.float32(1)]
    (verdict,) = verdicts(parse, run, TWO, {"x": X}, right, right, wrong, rerun=True)
    assert (verdict.target, verdict.symptom, verdict.suspect) == ("onnxruntime:disabled", Symptom.DIFFERENCE, False)
    assert verdict.element.startswith("y[1][")
    assert verdicts(parse, run, TWO, {"x": X}, right, right, [X.copy(), X.copy()]) == []


@pytest.mark.parametrize("wrong", [[X], [X, X, X], [X, X.astype(np.float64)], X, [X, X[:2]], None])
def test_another_length_type_or_kind_is_found(parse, run, wrong) -> None:
    right = [X, X]
    (verdict,) = verdicts(parse, run, TWO, {"x": X}, right, right, wrong)
    assert verdict.target == "onnxruntime:disabled"
    assert verdict.symptom in (Symptom.WRONG_SHAPE, Symptom.WRONG_DTYPE)
    assert not verdict.suspect


def test_an_optional_with_and_without_content_differ(parse, run) -> None:
    text = "g (optional(float[3]) x) => (optional(float[3]) y) { y = Identity(x) }"
    (verdict,) = verdicts(parse, run, text, {"x": X}, X, X, None)
    assert (verdict.target, verdict.suspect) == ("onnxruntime:disabled", False)
    assert verdicts(parse, run, text, {"x": None}, None, None, None) == []


def words(*texts: str) -> np.ndarray:
    return np.array(texts, dtype=object)


NORMAL = 'g (string[2] x) => (string[?] y) { y = StringNormalizer<case_change_action="UPPER", locale="C">(x) }'


@pytest.mark.parametrize(("fed", "suspect"), [(words("a", "b"), False), (words("a", "ß"), True)])
def test_strings_are_equal_or_not(parse, run, fed, suspect) -> None:
    right, wrong = words("A", "B"), words("A", "b")
    assert verdicts(parse, run, NORMAL, {"x": fed}, right, right, right.copy()) == []
    (verdict,) = verdicts(parse, run, NORMAL, {"x": fed}, right, right, wrong)
    assert (verdict.target, verdict.symptom, verdict.suspect) == ("onnxruntime:disabled", Symptom.DIFFERENCE, suspect)
    assert (verdict.got, verdict.expected) == ("b", "B")


def test_numbers_as_text_have_no_letters(parse, run) -> None:
    text = """g (int64[2] x) => (string[?] y)
    { s = Cast<to=8>(x) y = StringNormalizer<case_change_action="UPPER", locale="C">(s) }"""
    right, wrong = words("1", "2"), words("1", "3")
    (verdict,) = verdicts(parse, run, text, {"x": np.array([1, 2])}, right, right, wrong)
    assert not verdict.suspect


DRAWS = ("RandomNormalLike(x)", "RandomUniformLike(x)", "Bernoulli(x)")


@pytest.mark.parametrize("draw", DRAWS)
def test_drawn_elements_are_not_compared_but_their_type_is(parse, run, draw) -> None:
    text = f"g (float[3] x) => (float[3] y) {{ r = {draw} y = Relu(r) }}"
    inputs = {"x": np.array([0.1, 0.5, 0.9], np.float32)}
    assert verdicts(parse, run, text, inputs, X, X, X * 0, rerun=True) == []
    (verdict,) = verdicts(parse, run, text, inputs, X, X, X.astype(np.float64))
    assert (verdict.symptom, verdict.suspect) == (Symptom.WRONG_DTYPE, False)
    (verdict,) = verdicts(parse, run, text, inputs, X, X, X[:2])
    assert (verdict.symptom, verdict.suspect) == (Symptom.WRONG_SHAPE, False)


def test_training_is_random_but_for_a_ratio_of_zero(parse, run) -> None:
    for ratio, found in (("0.0", 1), ("0.5", 0)):
        text = f"""g (float[3] x) => (float[3] y) <float r = {{{ratio}}}, bool t = {{1}}> {{ y = Dropout(x, r, t) }}"""
        assert len(verdicts(parse, run, text, {"x": X}, X, X, X + np.float32(1), rerun=True)) == found


@pytest.mark.parametrize(
    ("body", "found"),
    [
        ("r = RandomUniformLike(x) s = Shape(r) y = Reshape(x, s)", 1),
        ("r = RandomUniformLike(x) m = Greater(r, two) y = Where(m, r, x)", 0),
        ("r = RandomUniformLike(x) m = Greater(r, two) y = Where(m, x, x)", 1),
        ("r = RandomUniformLike(x) m = Greater(r, half) y = Where(m, x, x)", 0),
    ],
)
def test_what_no_draw_can_change_is_judged(parse, run, body, found) -> None:
    text = f"g (float[3] x) => (float[3] y) <float two = {{2.0}}, float half = {{0.5}}> {{ {body} }}"
    found_verdicts = verdicts(parse, run, text, {"x": X}, X, X, X + np.float32(1), rerun=True)
    assert [v.suspect for v in found_verdicts] == [False] * found, found_verdicts
