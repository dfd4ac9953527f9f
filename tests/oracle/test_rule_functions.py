"""Single rules of ONNX on elements: which versions, attributes and edges decide what they give."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

from irfuzz.oracle.onnx_rules import cast_rules, comparison_selection_rules, max_pooling
from irfuzz.oracle.onnx_rules.known_elements import Elements, RuleCall, known, nan_in, need
from tests.oracle.rule_calls import DOUBLE, HALF, INF, INT8, INT64, NAN, OPEN, SINGLE, UINT8, ask, elements, same, told

pytestmark = pytest.mark.unit

CLIP, PLACE, TOP = comparison_selection_rules.clip, comparison_selection_rules.place, comparison_selection_rules.top
HARD = comparison_selection_rules.hardmax


@pytest.mark.parametrize(
    ("given", "version", "attrs", "wanted"),
    [
        (([-5, 0.5, 5],), 10, {"min": -1.0, "max": 2.0}, [-1.0, 0.5, 2.0]),
        (([-5, 0.5, 5],), 11, {"min": -1.0, "max": 2.0}, [-5.0, 0.5, 5.0]),
        (([-5, 0.5, 5], [-1.0], [2.0]), 10, {}, [-5.0, 0.5, 5.0]),
        (([-5, 0.5, 5], [-1.0], [2.0]), 11, {}, [-1.0, 0.5, 2.0]),
        (([-5, 0.5, 5], [-1.0]), 11, {}, [-1.0, 0.5, 5.0]),
        (([-5, 0.5, 5], None, [2.0]), 11, {}, [-5.0, 0.5, 2.0]),
        (([-INF, INF], [-1.0]), 13, {}, [-1.0, OPEN]),
        (([-INF, INF], None, [1.0]), 13, {}, [OPEN, 1.0]),
        (([NAN, None, 1], [-1.0], [2.0]), 13, {}, [OPEN, OPEN, 1.0]),
        (([5], [2.0], [1.0]), 12, {}, None),
        (([5], [2.0], [2.0]), 12, {}, [2.0]),
        (([5], [2.0], [1.0]), 13, {}, [1.0]),
        (([5], [2.0]), 12, {}, [5.0]),
        (([5], [NAN], [1.0]), 13, {}, None),
        ((np.array([7, -7]), None, np.array([2])), 13, {}, [2, -7]),
    ],
)
def test_clip(given: Any, version: int, attrs: dict[str, Any], wanted: Any) -> None:
    assert same(ask(CLIP, *given, version=version, **attrs), wanted)


@pytest.mark.parametrize(
    ("x", "version", "attrs", "wanted"),
    [
        ([1, 3, 3], 12, {}, [1]),
        ([1, 3, 3], 11, {}, [OPEN]),
        ([1, 3, 2], 11, {}, [1]),
        ([[5, 5, 1], [2, 4, 0]], 11, {"axis": 1}, [[OPEN], [1]]),
        ([1, 3, 3], 12, {"select_last_index": 1}, [2]),
        ([1, NAN, 3], 12, {}, [OPEN]),
        ([1, None, 3], 12, {}, [OPEN]),
        ([[1, 5], [2, 4]], 12, {}, [[1, 0]]),
        ([[1, 5], [4, 2]], 12, {"axis": 1}, [[1], [0]]),
        ([[1, 5], [4, 2]], 12, {"axis": 1, "keepdims": 0}, [1, 0]),
        (np.zeros((0, 2)), 12, {}, None),
        (np.zeros(()), 12, {}, None),
    ],
)
def test_the_place_of_the_largest(x: Any, version: int, attrs: dict[str, Any], wanted: Any) -> None:
    assert same(ask(PLACE(np.argmax), x, version=version, **attrs), wanted)


@pytest.mark.parametrize(
    ("x", "k", "version", "attrs", "wanted"),
    [
        ([1, 3, 3, 2], 2, 11, {}, [[3.0, 3.0], [1, 2]]),
        ([1, 3, 3, 2], 2, 10, {}, None),
        ([1, 3, 3, 2], 2, 11, {"sorted": 0}, None),
        ([1, 3, 1, 2], 3, 11, {"largest": 0}, [[1.0, 1.0, 2.0], [0, 2, 3]]),
        ([[1, 2], [3, 0]], 1, 11, {}, [[[2.0], [3.0]], [[1], [0]]]),
        ([[1, 2], [3, 0]], 1, 11, {"axis": 0}, [[[3.0, 2.0]], [[1, 0]]]),
        ([[1, NAN], [3, 0]], 1, 11, {}, [[[OPEN], [3.0]], [[OPEN], [0]]]),
        (np.zeros(()), 1, 11, {}, None),
    ],
)
def test_the_largest_elements(x: Any, k: int, version: int, attrs: dict[str, Any], wanted: Any) -> None:
    found = ask(TOP, x, np.array([k]), version=version, **attrs)
    assert found == wanted if found is None else all(same(a, b) for a, b in zip(found, wanted, strict=True))


@pytest.mark.parametrize(
    ("x", "version", "attrs", "wanted"),
    [
        ([[1, 5, 5], [2, 4, 0]], 13, {}, [[0.0, 1.0, 0.0], [0.0, 1.0, 0.0]]),
        ([[1, 5], [2, 4]], 13, {"axis": 0}, [[0.0, 1.0], [1.0, 0.0]]),
        ([[1, NAN], [2, 4]], 13, {}, [[OPEN, OPEN], [0.0, 1.0]]),
        ([1, 2], 12, {}, None),
        (np.zeros(()), 13, {}, None),
        (np.zeros((2, 0)), 13, {}, None),
    ],
)
def test_hardmax(x: Any, version: int, attrs: dict[str, Any], wanted: Any) -> None:
    assert same(ask(HARD, x, version=version, **attrs), wanted)


@pytest.mark.parametrize(
    ("attrs", "wanted"),
    [
        ({}, [True, True, False, OPEN]),
        ({"detect_positive": 0}, [False, True, False, OPEN]),
        ({"detect_negative": 0}, [True, False, False, OPEN]),
    ],
)
def test_infinities_by_sign(attrs: dict[str, Any], wanted: Any) -> None:
    assert ask(comparison_selection_rules.is_infinite, [INF, -INF, NAN, None], **attrs) == wanted


def test_extremes_of_several_inputs_and_of_axes() -> None:
    extreme, reduced = comparison_selection_rules.extreme, comparison_selection_rules.reduced_extreme
    found = extreme(np.fmax)(RuleCall("", {}, 18, (None,)), [elements([1, NAN, NAN, 2]), elements([0, 4, NAN, None])])
    assert isinstance(found, Elements)
    assert found.choice is not None
    assert same(told(found), [1.0, OPEN, OPEN, OPEN])
    assert found.choice.nan.tolist() == [False, True, False, False]
    assert found.choice.low.tolist()[1] == 4
    least, x = reduced(np.fmin, INF), [[1, 2], [3, None]]
    assert same(ask(least, x, axes=[1]), [[1.0], [OPEN]])
    assert same(ask(least, x, axes=[1], keepdims=0), [1.0, OPEN])
    assert same(ask(least, x, np.array([0])), [[1.0, OPEN]])
    assert same(ask(least, np.zeros((2, 0)), axes=[1]), [[INF], [INF]])
    assert ask(least, np.zeros((2, 0), np.int64), axes=[1]) is None
    assert same(ask(least, np.array([[7, 5]]), axes=[1]), [[5]])


def test_elementwise_functions_and_relu_and_places_of_non_zeros() -> None:
    elementwise, nonzero = comparison_selection_rules.elementwise, comparison_selection_rules.nonzero
    assert same(ask(elementwise(np.negative), [1, NAN, None]), [-1.0, NAN, OPEN])
    assert same(ask(elementwise(np.negative, nan=False), [1, NAN, None]), [-1.0, OPEN, OPEN])
    assert same(ask(elementwise(np.add), [1, 2], [3, None]), [4.0, OPEN])
    relu = comparison_selection_rules.rectified(RuleCall("", {}, 18, (None,)), [elements([NAN, -1, 2, None])])
    assert relu.choice is not None
    assert same(told(relu), [OPEN, 0.0, 2.0, OPEN])
    assert relu.choice.nan.tolist() == [True, False, False, False]
    assert relu.choice.low.tolist()[0] == 0
    assert ask(nonzero, [[0, 2], [NAN, 0]]) == [[0, 1], [1, 0]]
    assert ask(nonzero, np.ones(())) is None


# ---- casts ---------------------------------------------------------------------------------------

CAST, QUANTISE = cast_rules.cast, cast_rules.quantise
BIG = 2**53 + 1


@pytest.mark.parametrize(
    ("x", "to", "version", "wanted"),
    [
        ([0, -0.0, 2, NAN, None], bool, 13, [False, False, True, True, OPEN]),
        ([0, NAN], bool, 12, [False, OPEN]),
        (np.array([0, 7]), bool, 9, [False, True]),
        ([127.0, 127.9, 128, -128, -128.5, -129, NAN, 1.9, -1.9], INT8, 13,
         [127, 127, OPEN, -128, -128, OPEN, OPEN, 1, -1]),
        ([255.5, 256, -0.5, -1], UINT8, 13, [255, OPEN, 0, OPEN]),
        ([2.0**63, 2.0**62], INT64, 13, [OPEN, 2**62]),
        (np.array([-128, -129, 127, 128]), INT8, 13, [-128, OPEN, 127, OPEN]),
        (np.array([0, -1, 255, 256]), UINT8, 13, [0, OPEN, 255, OPEN]),
        ([0.5, 0.1, 65504, 65505, 131008, 131009, -200000, INF, NAN], HALF, 13,
         [0.5, OPEN, 65504.0, OPEN, OPEN, INF, -INF, INF, NAN]),
        ([2.0**-14, 2.0**-15, 0, None], HALF, 13, [2.0**-14, OPEN, 0.0, OPEN]),
        (np.array([2**53, BIG, 2**61, 2**62, -3]), DOUBLE, 13, [2.0**53, OPEN, 2.0**61, OPEN, -3.0]),
        ([1.0], ml_dtypes.float8_e4m3fn, 19, None),
        ([1.0], ml_dtypes.bfloat16, 13, [1.0]),
        ([1.0], np.dtype("O"), 13, None),
        (np.array(["1"], object), SINGLE, 13, None),
        ([1.0], None, 13, None),
    ],
)  # fmt: skip
def test_cast(x: Any, to: Any, version: int, wanted: Any) -> None:
    assert same(ask(CAST, x, version=version, to=None if to is None else np.dtype(to)), wanted)


@pytest.mark.parametrize(
    ("given", "to", "attrs", "wanted"),
    [
        (([0.25, 0.75, 0.6, NAN, None, INF, -INF], [0.5]), UINT8, {}, [0, 2, 1, OPEN, OPEN, 255, 0]),
        (([0.25, 0.75], [0.5], np.array([10], np.uint8)), UINT8, {}, [10, 12]),
        (([0.25, 0.75], [0.5], None), UINT8, {}, [0, 2]),
        (([0.25, 0.15, 0.35, 0.3], [0.1]), UINT8, {}, [OPEN, OPEN, OPEN, 3]),
        (([50.00004, 50.001], [100.0]), UINT8, {}, [OPEN, OPEN]),
        (([50.1, 49.9], [100.0]), UINT8, {}, [1, 0]),
        (([50.0099, 50.0101, 50.02], [100.0]), UINT8, {}, [OPEN, 1, 1]),
        (([300, -300], [1.0]), INT8, {}, [127, -128]),
        (([300, -300], [1.0], np.array([5], np.int8)), INT8, {}, [127, -128]),
        (([300.0], [1.0], np.array([0], np.int16)), np.dtype("i2"), {}, [300]),
        (([300.0], [1.0]), np.dtype("i4"), {}, None),
        (([300.0], [1.0]), SINGLE, {}, None),
        (([300.0], [1.0]), None, {}, None),
        ((np.array([300]), [1.0]), UINT8, {}, None),
        (([3.0], [0.0]), UINT8, {}, None),
        (([3.0], [-1.0]), UINT8, {}, None),
        (([3.0], [INF]), UINT8, {}, None),
        (([3.0], [1.0]), UINT8, {"block_size": 1}, None),
        (([[1, 2], [3, 4]], [1.0, 2.0], np.array([0, 1], np.uint8)), UINT8, {}, [[1, 2], [3, 3]]),
        (([[1, 2], [3, 4]], [1.0, 2.0], np.array([0, 1], np.uint8)), UINT8, {"axis": 0}, [[1, 2], [3, 3]]),
    ],
)
def test_quantise(given: Any, to: Any, attrs: dict[str, Any], wanted: Any) -> None:
    assert same(ask(QUANTISE, *given, to=to, **attrs), wanted)


# ---- pooling, and what all rules share -----------------------------------------------------------

IMAGE = [[[1, 5, 2, 4]]]


@pytest.mark.parametrize(
    ("x", "attrs", "wanted"),
    [
        (IMAGE, {"kernel_shape": [2]}, [[[5.0, 5.0, 4.0]]]),
        (IMAGE, {"kernel_shape": [2], "strides": [2]}, [[[5.0, 4.0]]]),
        (IMAGE, {"kernel_shape": [2], "dilations": [2]}, [[[2.0, 5.0]]]),
        (IMAGE, {"kernel_shape": [2], "pads": [1, 0]}, [[[1.0, 5.0, 5.0, 4.0]]]),
        (IMAGE, {"kernel_shape": [2], "pads": [0, 1]}, [[[5.0, 5.0, 4.0, 4.0]]]),
        ([[[-1, -5]]], {"kernel_shape": [2], "pads": [1, 1]}, [[[-1.0, -1.0, -5.0]]]),
        (IMAGE, {"kernel_shape": [2], "pads": [2, 0]}, None),
        (IMAGE, {"kernel_shape": [2], "pads": [0, 2]}, None),
        (IMAGE, {"kernel_shape": [2], "ceil_mode": 1}, None),
        (IMAGE, {"kernel_shape": [2], "ceil_mode": 0}, [[[5.0, 5.0, 4.0]]]),
        (IMAGE, {"kernel_shape": [2], "auto_pad": b"VALID"}, None),
        (IMAGE, {"kernel_shape": [2], "auto_pad": b"NOTSET"}, [[[5.0, 5.0, 4.0]]]),
        (np.array(IMAGE), {"kernel_shape": [2]}, None),
        ([[[1, NAN, 2, None]]], {"kernel_shape": [2]}, [[[OPEN, OPEN, OPEN]]]),
        ([[[1, 2, 3], [6, 5, 4], [7, 0, 9]]], {"kernel_shape": [3]}, [[[3.0], [6.0], [9.0]]]),
        ([[[[1, 2, 3], [6, 5, 4]]]], {"kernel_shape": [2, 1], "pads": [0, 0, 1, 0]},
         [[[[6.0, 5.0, 4.0], [6.0, 5.0, 4.0]]]]),
    ],
)  # fmt: skip
def test_maxima_of_windows(x: Any, attrs: dict[str, Any], wanted: Any) -> None:
    assert same(ask(max_pooling.over_windows, x, **attrs), wanted)


@pytest.mark.parametrize(
    ("x", "wanted"),
    [
        ([[[1, 2], [4, 3]]], [[[2.0], [4.0]]]),
        ([[[[1, 2], [4, 3]]]], [[[[4.0]]]]),
        ([[1, 2]], None),
        (np.zeros((1, 1, 0)), None),
        ([[[-INF, -INF]]], [[[-INF]]]),
        ([[[1, NAN]]], [[[OPEN]]]),
    ],
)
def test_maxima_of_whole_images(x: Any, wanted: Any) -> None:
    assert same(ask(max_pooling.over_places, x), wanted)


def test_elements_know_what_they_are() -> None:
    some = Elements.whole(np.array([1.0, 2.0]), [True, False])
    assert not some.known
    assert some.of_floats
    assert Elements.whole(3).known
    assert not Elements.whole(3).of_floats
    assert need(some) is some
    assert known(Elements.whole([4])).tolist() == [4]
    for wrong in (None, some):
        with pytest.raises(ValueError, match="not known"):
            known(wrong)
    with pytest.raises(ValueError, match="left out"):
        need(None)
    assert nan_in(np.array([1.0, NAN])).tolist() == [False, True]
    assert nan_in(np.array([1, 2])).tolist() == [False, False]
    either = Elements.or_nan([1.0, 2.0, 3.0], [True, False, False], [True, True, False])
    assert either.choice is not None
    assert either.decided.tolist() == [True, False, False]
    assert either.choice.nan.tolist() == [False, True, False]
    assert same(either.choice.low.tolist(), [NAN, 2.0, NAN])
    assert same(either.choice.high.tolist(), [NAN, 2.0, NAN])
    call = RuleCall("MaxPool", {"a": b"x", "b": "y"}, 18, ())
    assert [call.text(name, "z") for name in "abc"] == ["x", "y", "z"]
