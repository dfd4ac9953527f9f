"""Large integers that are made to fit."""

from __future__ import annotations

import numpy as np
import onnx.parser
import pytest

from irfuzz.generate.graph_inputs.integer_overflow_avoidance import fitted
from irfuzz.ir.evaluation.exact_integer_evaluation import ExactIntegers
from irfuzz.ir.program import Program

HEAD = '<ir_version: 10, opset_import: ["" : 18]>\n'


def parse(text: str) -> Program:
    return Program.from_proto(onnx.parser.parse_model(HEAD + text))


@pytest.mark.parametrize(("x", "fits"), [([2**62, 2**62 - 1], True), ([2**62, 2**62], False)])
def test_what_fits_stays(x: list[int], fits: bool) -> None:
    program = parse("g (int64[2] x) => (int64[1] y) { y = ReduceSum(x) }")
    array = np.array(x, np.int64)
    made = fitted(program, {"x": array}, frozenset({"x"}))["x"]
    assert isinstance(made, np.ndarray)
    assert np.array_equal(made, array) == fits
    assert made.tolist() == [n if fits else n // 2 for n in x]


@pytest.mark.parametrize("sign", [1, -1])
def test_by_no_more_bits_than_needed(sign: int) -> None:
    program = parse("g (int64[2] x) => (int64[1] y) { y = ReduceSumSquare(x) }")
    array = sign * np.array([2**62 + 12345678901, 3], np.int64)
    made = fitted(program, {"x": array}, frozenset({"x"}))["x"]
    assert isinstance(made, np.ndarray)
    assert ExactIntegers(program, {"x": made}).fit
    assert not ExactIntegers(program, {"x": made * 2}).fit


def test_what_nothing_makes_fit_and_what_is_not_large_stay() -> None:
    program = parse("g (int64[1] x, int64[1] z) => (int64[1] y) { a = Mul(z, z) y = Add(a, x) }")
    given = {"x": np.array([5], np.int64), "z": np.array([2**40], np.int64)}
    assert fitted(program, given, frozenset({"x"})) == given
    made = fitted(program, given, frozenset({"z"}))
    assert made["x"] is given["x"]
    assert ExactIntegers(program, made).fit
