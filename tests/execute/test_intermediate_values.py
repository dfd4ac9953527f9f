"""Taps: runtimes show inner values under their names, and say whether reading them changed the outputs."""

from __future__ import annotations

import numpy as np
import onnx.parser
import pytest

from irfuzz.execute.intermediate_values import run_tapped, same, tap
from irfuzz.execute.run_types import Exit
from irfuzz.execute.runner import Runner
from irfuzz.execute.target_table import resolve
from irfuzz.ir.program import Program

pytestmark = pytest.mark.backend

PROGRAM = Program.from_proto(
    onnx.parser.parse_model(
        '<ir_version: 8, opset_import: ["" : 17]> g (float[2,3] x) => (float[2,3] y) '
        "{ a = Exp(x) b = Neg(a) s = SequenceConstruct(a, b) c = Identity(b) y = Add(b, c) }"
    )
)
X = {"x": np.array([[0, 1, 2], [-1, 0.5, 3]], np.float32)}
MOODY = "tests/planted_targets/taps.py:Fuses"


def test_all_of_them_on_every_runtime() -> None:
    with Runner(
        resolve(["reference", "onnxruntime:disabled", "onnxruntime:all", "torch:eager", "torch:jit"])
    ) as runner:
        results = run_tapped(runner, PROGRAM, X)
    for result in results:
        assert (result.exit, list(result.outputs)) == (Exit.OK, ["y"]), result.error
        assert set(result.taps) == {"a", "b", "c"}, result.target.name
        assert result.taps_faithful, result.target.name
        np.testing.assert_allclose(result.taps["a"], np.exp(X["x"]), rtol=1e-6)  # type: ignore[arg-type]
        np.testing.assert_array_equal(result.taps["b"], -result.taps["a"])  # type: ignore[operator, arg-type]


def test_those_that_are_named() -> None:
    assert [v.name for v in tap(PROGRAM, ["b", "s", "y", "nowhere"]).graph.outputs] == ["y", "b"]
    assert [v.name for v in PROGRAM.graph.outputs] == ["y"]
    assert [v.name for v in tap(PROGRAM, elements=6).graph.outputs] == ["y", "a"]


@pytest.mark.planted
def test_a_target_that_computes_otherwise_when_looked_at(root, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(root)
    with Runner(resolve([MOODY, "reference"])) as runner:
        moody, reference = run_tapped(runner, PROGRAM, X, names=["a"])
    assert reference.taps_faithful
    assert not moody.taps_faithful
    np.testing.assert_array_equal(moody.taps["a"], reference.taps["a"])  # type: ignore[arg-type]


@pytest.mark.unit
def test_sameness_is_to_the_bit() -> None:
    zero, nan = np.zeros(1, np.float32), np.full(1, np.nan, np.float32)
    assert same([nan, None], [nan.copy(), None])
    assert not same(zero, -zero)
    assert not same(zero, zero.astype(np.float64))
    assert not same(zero, zero.reshape(1, 1))
    assert not same([zero], zero)
    assert same(np.array(["a"], object), np.array(["a"], object))
    assert not same(np.array(["a"], object), np.array(["b"], object))
