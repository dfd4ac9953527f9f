"""Types of what operators give whose overlay states them."""

from __future__ import annotations

from pathlib import Path

import onnx_ir as ir
import pytest

from irfuzz.facts import TensorFact
from irfuzz.ir.inference.spec_result_types import completed, stated_results
from irfuzz.ir.value import UNTYPED
from irfuzz.spec import OpSpec, Specs

F, D = ir.DataType.FLOAT, ir.DataType.DOUBLE

BLEND = """
op = "Blend"
domain = "test.custom"
doc = "Blend-1"
[schema]
inputs = [{ name = "A", type = "T" }, { name = "B", type = "T", option = "optional" }]
outputs = [{ name = "Y", type = "T" }, { name = "Z", type = "tensor(int64)" }, { name = "W", type = "U" }]
types = { T = ["tensor(float)", "tensor(double)"], U = ["tensor(float)", "tensor(double)"] }
attributes = { axis = { type = "INT", default = 0 } }
[dims]
A = "PATTERN_A"
B = "PATTERN_B"
[results]
Y = "RESULT"
Z = ""
"""


def blend(folder: Path, a: str, b: str, result: str) -> OpSpec:
    text = BLEND.replace("PATTERN_A", a).replace("PATTERN_B", b).replace("RESULT", result)
    (folder / "Blend.toml").write_text(text)
    spec = Specs(folder).get("Blend", 1, "test.custom")
    assert spec is not None
    return spec


@pytest.mark.parametrize(
    ("a", "b", "result", "given", "expected"),
    [
        ("*S", "*S", "*S", [(2, "n")], (2, "n")),
        ("*S", "*S", "*S", [(2, "n"), ("m", 3)], (2, 3)),
        ("*S", "*S", "*S", [None, (4,)], (4,)),
        ("*S", "_", "*S", [None], None),
        ("N, *D", "N", "*D, N", [("n", 3, 4)], (3, 4, "n")),
        ("N, C", "_", "N, 2 * C", [("n", 3)], ("n", 6)),
        ("N, C", "_", "N, 2 * C", [("n", "c")], ("n", None)),
        ("broadcast(*S)", "broadcast(*S)", "*(without(shape(A), (axis,)))", [(2, 3)], (3,)),
        ("*S", "_", "_, *_", [(2, 3)], None),
    ],
)
def test_sizes(tmp_path: Path, a: str, b: str, result: str, given: list, expected: tuple | None) -> None:
    spec = blend(tmp_path, a, b, result)
    found = stated_results(spec, [TensorFact(F, shape) for shape in given], {}, 3)
    assert found == (TensorFact(F, expected), TensorFact(ir.DataType.INT64, ()), UNTYPED)


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [((2, 1), (3,), (2, 3)), (("n", 1), ("m",), ("n", "m")), ((1, "n"), ("n",), (1, "n")), ((2,), None, None)],
)
def test_sizes_that_broadcast(tmp_path: Path, one: tuple, other: tuple | None, expected: tuple | None) -> None:
    spec = blend(tmp_path, "broadcast(*S)", "broadcast(*S)", "broadcast(*S)")
    (found,) = stated_results(spec, [TensorFact(D, one), TensorFact(D, other)], {}, 1)
    assert found == TensorFact(D, expected)


def test_what_onnx_infers_stands() -> None:
    known, open_, other = TensorFact(F, (2,)), TensorFact(F, None), TensorFact(D, (3,))
    assert completed([known, open_, UNTYPED], [other, other, other]) == (known, TensorFact(F, (3,)), other)
