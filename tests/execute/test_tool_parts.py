"""Inferred against computed types; programs without what only computes sizes; tools of other versions; the groups."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest

from irfuzz.execute import target_table
from irfuzz.execute.adapters.inferred_type_check import contradictions, sizes_of
from irfuzz.execute.adapters.input_shape_freezing import settled
from irfuzz.execute.run_types import Exit, TargetRole
from irfuzz.execute.runner import Runner
from irfuzz.execute.versions import environments
from irfuzz.ir.program import Program
from irfuzz.isolate import Limits
from tests.execute.other_python import make_python, put


def typed(text: str) -> bytes:
    return onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["" : 17]> {text}').SerializeToString()


@pytest.mark.unit
@pytest.mark.parametrize(
    ("kind", "value", "says"),
    [
        ("float[2,3] a", np.zeros((2, 3), np.float32), ""),
        ("float[2,3] a", np.zeros((3, 2), np.float32), "inferred float32 [2,3], computed float32 [3,2]"),
        ("float[2,3] a", np.zeros(6, np.float32), "inferred float32 [2,3], computed float32 [6]"),
        ("int64[2] a", np.zeros(2, np.int32), "inferred int64 [2], computed int32 [2]"),
        ("float[N] a", np.zeros(4, np.float32), ""),
        ("float[N] a", np.zeros(5, np.float32), "inferred float32 [4], computed float32 [5]"),
        ("float[own] a", np.zeros(5, np.float32), ""),
        ("float[] a", np.zeros(5, np.float32), ""),
        ("float a", np.zeros(5, np.float32), "inferred float32 [], computed float32 [5]"),
        ("seq(float[2]) a", [np.zeros(2, np.float32)], ""),
        ("seq(float[2]) a", [np.zeros(3, np.float32)], "inferred float32 [2], computed float32 [3]"),
        ("seq(float[2]) a", np.zeros(2, np.float32), "inferred a sequence"),
        ("string[1] a", np.array(["x"], object), ""),
    ],
)
def test_a_wrong_type_is_told(kind: str, value: object, says: str) -> None:
    model = typed(f"g (float[N] x) => (float[N] y) <{kind}> {{ a = Foo(x) y = Relu(x) }}")
    sizes = sizes_of(model, {"x": (4,)})
    assert sizes == {"N": 4}
    told = contradictions(model, sizes, {"a": value})  # type: ignore[dict-item]
    assert len(told) == bool(says)
    assert says in "".join(told)


@pytest.mark.unit
def test_what_follows_from_sizes_becomes_constant() -> None:
    text = """g (float[N, 6] x) => (float[M, 3] y) <int64[1] three = {3}, int64[1] minus = {-1}> {
        s = Shape(x)
        p = ReduceProd<keepdims = 1>(s)
        rows = Div(p, three)
        to = Concat<axis = 0>(rows, three)
        r = Relu(x)
        y = Reshape(r, to)
    }"""
    program = Program.from_bytes(typed(text))
    before = program.digest
    made = settled(program, {"x": np.zeros((4, 6), np.float32)})
    assert [n.op_type for n in made.nodes()] == ["Relu", "Reshape"]
    shape = list(made.nodes())[1].inputs[1]
    assert shape is not None
    assert shape.const_value is not None
    np.testing.assert_array_equal(shape.const_value.numpy(), [8, 3])
    assert program.digest == before


@pytest.mark.unit
def test_groups_and_what_runs_where_nothing_is_named() -> None:
    assert {t.role for t in target_table.resolve(None)} == {TargetRole.RUNTIME}
    assert {t.role for t in target_table.resolve(["converters"])} == {TargetRole.CONVERTER}
    tools = target_table.resolve(["tools"])
    assert {t.role for t in tools} == {TargetRole.TOOL}
    assert {t.before for t in tools} == {"onnxruntime:disabled"}
    everything = {t.name for t in target_table.resolve(["all"])}
    assert everything >= {t.name for t in target_table.resolve(["runtimes", "converters", "tools"])}
    assert len(everything) >= 20


@pytest.mark.backend
def test_an_environment_serves_every_component_of_its_distribution(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(environments.HOME, str(tmp_path))
    put("onnx-9.9", "onnx", "9.9", "reference", make_python(tmp_path / "python"))
    names = [t.name for t in target_table.resolve(["onnx-inliner@9.9"])]
    assert names == ["onnx-inliner@9.9:local", "onnx-inliner@9.9:schema"]
    assert [t.name for t in target_table.resolve(["reference@9.9"])] == ["reference@9.9"]
    (target,) = target_table.resolve(["onnx-compose@9.9:prefix"])
    assert [a.target.name for a in target_table.versions_of(target)] == [
        "onnx-compose:prefix",
        "onnx-compose@9.9:prefix",
    ]
    with Runner([target], Limits(seconds=60)) as runner:
        program = typed("g (float[2] x) => (float[2] y) { a = Neg(x) y = Relu(a) }")
        (result,) = runner.run(program, {"x": np.array([-1, 2], np.float32)})
    assert result.exit is Exit.OK, result.error
    np.testing.assert_array_equal(result.outputs["y"], [1, 0])  # type: ignore[arg-type]


@pytest.mark.backend
def test_a_tool_leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("onnxslim")
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    program = typed("g (float[2] x) => (float[2] y) { a = Neg(x) y = Relu(a) }")
    with Runner(target_table.resolve(["onnxruntime-saved:all", "onnxslim"]), Limits(seconds=60)) as runner:
        results = runner.run(program, {"x": np.array([-1, 2], np.float32)})
        assert [r.exit for r in results] == [Exit.OK, Exit.OK]
        scratch = [p for p in tmp_path.rglob("*") if p.is_file() and "irfuzz" not in p.name]
        assert [p for p in scratch if p.suffix == ".onnx"] == []
    assert list(tmp_path.iterdir()) == []
