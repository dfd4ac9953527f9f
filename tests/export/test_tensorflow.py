"""What only TensorFlow's modules have: strings, tracing, and traps of its own kernels."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import onnx_ir as ir
import pytest

from irfuzz.errors import Unsupported
from irfuzz.export.tensorflow import lower_model
from tests.export.test_semantics import run, same

pytestmark = pytest.mark.backend


@pytest.fixture(autouse=True)
def tensorflow(monkeypatch: pytest.MonkeyPatch) -> Any:
    """TensorFlow, as the framework that ``run`` exports to."""
    tf = pytest.importorskip("tensorflow")
    monkeypatch.setattr("tests.export.frameworks.chosen", ["tensorflow"])
    return tf


def strings(*texts: Any) -> np.ndarray:
    return np.array(texts, dtype=object)


def model(text: str) -> Any:
    """A generated module, executed."""
    proto = onnx.parser.parse_model(f'<ir_version: 9, opset_import: ["" : 19]> {text}')
    lowered = lower_model(ir.from_proto(proto))
    module: dict[str, Any] = {}
    exec(lowered.source, module)
    return module


def test_strings_move_and_compare() -> None:
    x = strings("b", "", "é", "tree")
    same(run("Gather", [x, np.array([-1, 0])]), strings("tree", "b"))
    same(run("Equal", [x, strings("b", "x", "é", "Tree")], opset=19), [True, False, True, False], bool)
    same(
        run("Where", [np.array([True, False, True, False]), x, strings("0", "1", "2", "3")]),
        strings("b", "1", "é", "3"),
    )
    same(run("StringConcat", [x, strings("!")], opset=20), strings("b!", "!", "é!", "tree!"))


@pytest.mark.parametrize(
    ("attribute", "expected"),
    [
        ({"value_string": "é"}, np.array("é", dtype=object)),
        ({"value_strings": ["é", ""]}, strings("é", "")),
        (
            {"value": onnx.helper.make_tensor("t", onnx.TensorProto.STRING, [2, 1], ["é".encode(), b'"'])},
            strings(["é"], ['"']),
        ),
        ({"value": onnx.helper.make_tensor("t", onnx.TensorProto.STRING, [12], [b"b"] * 12)}, strings(*["b"] * 12)),
        ({"value": onnx.helper.make_tensor("t", onnx.TensorProto.STRING, [0, 2], [])}, np.empty((0, 2), dtype=object)),
    ],
)
def test_constants_may_be_strings(attribute: dict[str, Any], expected: np.ndarray) -> None:
    same(run("Constant", [], **attribute), expected)


def test_a_constant_that_is_no_utf_8_is_unsupported() -> None:
    broken = onnx.helper.make_tensor("t", onnx.TensorProto.STRING, [1], [b"\xff"])
    with pytest.raises(Unsupported, match="not UTF-8"):
        run("Constant", [], value=broken)


def test_strings_are_told_apart_but_not_sorted() -> None:
    x = strings("b", "a", "b")
    values, first, inverse, counts = run("Unique", [x], outputs=4, opset=11, sorted=0)
    same(values, strings("b", "a"))
    for found, expected in ((first, [0, 1]), (inverse, [0, 1, 0]), (counts, [2, 1])):
        same(found, expected, np.int64)
    with pytest.raises(Unsupported, match="sorted strings"):
        run("Unique", [x], outputs=4, opset=11)


def test_regular_expressions_match_as_a_whole() -> None:
    x = strings("ab12", "ab", "xab1")
    same(run("RegexFullMatch", [x], opset=20, pattern=r"[a-c]+\d*"), [True, True, False], bool)


@pytest.mark.parametrize(("reduction", "expected"), [("add", [True, True, True]), ("mul", [False, False, True])])
def test_booleans_are_combined_as_sums_and_products_would_be(reduction: str, expected: list[bool]) -> None:
    x, updates = np.array([False, True, True]), np.array([[True], [False], [True]])
    places = np.array([[[0]], [[1]], [[2]]])
    same(run("ScatterND", [x, places, updates], opset=16, reduction=reduction), expected, bool)


def test_sequences_of_six_axes_are_reversed() -> None:
    x = np.arange(24).reshape(2, 3, 1, 2, 1, 2)
    for shape in (x.shape, x.shape[:5], (2, 3, 0, 1, 1, 1)):
        y = x.reshape(-1)[: np.prod(shape)].reshape(shape)
        expected = np.stack([y[0, [1, 0, 2]], y[1, [2, 1, 0]]])
        same(run("ReverseSequence", [y, np.array([2, 3])], opset=10, batch_axis=0, time_axis=1), expected)


def test_strings_are_split_and_filled_up() -> None:
    parts, counts = run("StringSplit", [strings("a,b", "", "a,,c")], outputs=2, opset=20, delimiter=",")
    same(parts, np.array([["a", "b", ""], ["", "", ""], ["a", "", "c"]], dtype=object))
    same(counts, [2, 1, 3], np.int64)
    with pytest.raises(Unsupported, match="maxsplit"):
        run("StringSplit", [strings("a b")], outputs=2, opset=20, maxsplit=2)


def test_stop_words_leave_and_letters_change() -> None:
    x = strings("The", "Cat", "the", "sat")
    same(run("StringNormalizer", [x], stopwords=["the"], case_change_action="UPPER"), strings("CAT", "SAT"))
    kept = run("StringNormalizer", [x], stopwords=["the"], is_case_sensitive=1)
    same(kept, strings("The", "Cat", "sat"))
    same(run("StringNormalizer", [strings("the")], stopwords=["The"]), strings(""))
    with pytest.raises(NotImplementedError, match="ASCII"):
        run("StringNormalizer", [strings("É")], case_change_action="LOWER")
    with pytest.raises(Unsupported, match="locale"):
        run("StringNormalizer", [x], locale="tr_TR", case_change_action="LOWER")


@pytest.mark.parametrize(("text", "why"), [("string", "text of numbers"), ("float8e5m2", "FLOAT8E5M2")])
def test_what_has_no_exact_cast_is_refused(text: str, why: str) -> None:
    kind = {"string": 8, "float8e5m2": 19}[text]
    with pytest.raises((NotImplementedError, Unsupported), match=why):
        model(f"g (float[2] x) => ({text}[2] y) {{ y = Cast<to = {kind}>(x) }}")["run"](
            {}, {"x": np.zeros(2, np.float32)}
        )


def test_the_least_integer_is_divided_by_minus_one() -> None:
    for dtype in (np.int8, np.int16, np.int32, np.int64):
        low = np.iinfo(dtype).min
        same(run("Div", [np.array([low, 6], dtype), np.array([-1, -1], dtype)]), [low, -6], dtype)
        same(run("Mod", [np.array([low, 7], dtype), np.array([-1, -1], dtype)]), [0, 0], dtype)


def test_remainders_of_floats() -> None:
    a, b = np.array([5.5, -5.5, 5.5, -5.5, 0, -0.0, 3]), np.array([2, 2, -2, -2, -3, 3, np.inf])
    got = run("Mod", [a, b], fmod=1)
    same(got, np.fmod(a, b))
    assert np.array_equal(np.signbit(got), np.signbit(np.fmod(a, b)))


def test_best_elements_of_extreme_integers() -> None:
    x = np.array([-128, 127, 0, -128, 127], np.int8)
    for largest, places in ((1, [1, 4, 2]), (0, [0, 3, 2])):
        values, found = run("TopK", [x, np.array([3])], outputs=2, constants=(1,), largest=largest)
        same(found, places, np.int64)
        same(values, x[places])


def test_a_traced_branch_is_chosen_at_run_time(tensorflow: Any) -> None:
    tf = tensorflow
    module = model("""
        g (bool c, float[2] x) => (float[2] y, float[2] z)
        {
            y, z = If (c) <then_branch = t () => (float[2] a, float[2] b) { a = Neg(x) b = Abs(x) },
                           else_branch = e () => (float[2] p, float[2] q) { p = Identity(x) q = Add(x, x) }>
        }
    """)
    traced = tf.function(lambda c, x: module["forward"]({}, {"c": c, "x": x}), autograph=False).get_concrete_function(
        tf.TensorSpec([], tf.bool), tf.TensorSpec([2], tf.float32)
    )
    x = np.array([-1, 2], np.float32)
    for c, y, z in ((True, -x, abs(x)), (False, x, 2 * x)):
        found = traced(tf.constant(c), tf.constant(x))
        same(found["y"].numpy(), y)
        same(found["z"].numpy(), z)


def test_a_traced_loop_of_a_known_length_is_unrolled_and_another_is_refused(tensorflow: Any) -> None:
    tf = tensorflow
    module = model("""
        g (int64 n, float[2] x) => (float[2] y, float[T, 2] s)
        {
            y, s = Loop (n, "", x) <body = inner (int64 i, bool k, float[2] p) => (bool kept, float[2] q, float[2] r)
                { kept = Identity(k) q = Add(p, p) r = Identity(p) }>
        }
    """)
    x, spec = np.array([-1, 2], np.float32), tf.TensorSpec([2], tf.float32)
    known = tf.function(lambda v: module["forward"]({}, {"n": tf.constant(3, tf.int64), "x": v}), autograph=False)
    found = known.get_concrete_function(spec)(tf.constant(x))
    same(found["y"].numpy(), 8 * x)
    same(found["s"].numpy(), [x, 2 * x, 4 * x], np.float32)
    unknown = tf.function(lambda n, v: module["forward"]({}, {"n": n, "x": v}), autograph=False)
    with pytest.raises(NotImplementedError, match="only eager runs know it"):
        unknown.get_concrete_function(tf.TensorSpec([], tf.int64), spec)


def test_a_scan_from_the_end() -> None:
    scan = model(
        "g (float[3,2] x) => (float[3,2] y) { y = Scan <body: graph = b (float[2] s) => (float[2] r) { r = Neg(s) },"
        " num_scan_inputs: int = 1, scan_input_directions: ints = [1]> (x) }"
    )
    x = np.arange(6, dtype=np.float32).reshape(3, 2)
    np.testing.assert_array_equal(scan["run"]({}, {"x": x})["y"], -x[::-1])
