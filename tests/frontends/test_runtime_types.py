"""Operators that irfuzz has no schema for are typed by the model, else by onnxruntime's inference or a run of it."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import onnx
import onnx_ir as ir
import pytest
from onnx import helper

from irfuzz.facts import MAP, OpaqueFact, SequenceFact, TensorFact
from irfuzz.frontends import opaque_output_type_inference
from irfuzz.frontends.framework_conversion import Converters
from irfuzz.frontends.isolated_onnx_calls import OnnxChecker
from irfuzz.frontends.onnx_file import load_seed
from irfuzz.ir.inference.opaque_nodes import is_typed
from tests.contrib import MODELS, embedded, saved, unknown

pytestmark = pytest.mark.skipif(importlib.util.find_spec("onnxruntime") is None, reason="onnxruntime is not installed")

_T = onnx.TensorProto
F32 = ir.DataType.FLOAT


@pytest.fixture(scope="module")
def converters() -> Any:
    with Converters() as made:
        yield made


@pytest.fixture(scope="module")
def checker() -> Any:
    with OnnxChecker() as made:
        yield made


@pytest.mark.parametrize("name", MODELS)
def test_every_value_is_typed(tmp_path: Path, converters: Converters, checker: OnnxChecker, name: str) -> None:
    told: list[str] = []
    path = saved(MODELS[name](), tmp_path / "m.onnx")
    program = load_seed(path, checker=checker, converters=converters, tell=told.append)
    assert all(is_typed(program.fact(v)) for v in program.values() if v.name)
    assert told == []


@pytest.mark.parametrize("name", ["quantised", "embedded"])  # ops/ describes what is fused
def test_weights_of_large_models_stay_behind(
    tmp_path: Path, checker: OnnxChecker, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    sizes: list[int] = []

    class Counting(Converters):
        def types(self, model: bytes, names: Any) -> Any:
            sizes.append(len(onnx.ModelProto.FromString(model).graph.initializer))
            return super().types(model, names)

    monkeypatch.setattr(opaque_output_type_inference, "WHOLE", 0)
    monkeypatch.setattr(opaque_output_type_inference, "LARGE", 0)
    told: list[str] = []
    with Counting() as converters:
        path = saved(MODELS[name](), tmp_path / "m.onnx")
        program = load_seed(path, checker=checker, converters=converters, tell=told.append)
    assert all(is_typed(program.fact(v)) for v in program.values() if v.name)
    assert (sizes[0], told) == (0, [])
    assert len(program.graph.initializers) == len(MODELS[name]().graph.initializer)


def test_sizes_keep_their_names(tmp_path: Path, converters: Converters, checker: OnnxChecker) -> None:
    program = load_seed(saved(embedded(), tmp_path / "m.onnx"), checker=checker, converters=converters)
    value = program.value("e")
    assert value is not None
    assert program.fact(value) == TensorFact(F32, ("batch", "length", 8))


def test_what_the_model_says_is_not_asked_again(tmp_path: Path, checker: OnnxChecker) -> None:
    class Refusing(Converters):
        def types(self, model: bytes, names: Any) -> Any:
            raise AssertionError("asked")

    path = saved(unknown(typed=True), tmp_path / "m.onnx")
    told: list[str] = []
    program = load_seed(path, checker=checker, converters=Refusing(), tell=told.append)
    value = program.value("b")
    assert value is not None
    assert program.fact(value) == TensorFact(F32, (2, 3))
    assert told == []


def test_what_nobody_knows_is_told_with_node_and_operator(
    tmp_path: Path, converters: Converters, checker: OnnxChecker
) -> None:
    path = saved(unknown(), tmp_path / "m.onnx")
    told: list[str] = []
    program = load_seed(path, checker=checker, converters=converters, tell=told.append)
    (line,) = told
    assert line.startswith(f"{path}: node 'nod': the types of what org.example.Nod gives are not known (")
    assert "declare them in value_info" in line
    assert len(program.graph) == 3


def test_without_onnxruntime_that_is_the_reason(
    tmp_path: Path, checker: OnnxChecker, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "onnxruntime" else found(name))
    told: list[str] = []
    load_seed(saved(embedded(), tmp_path / "m.onnx"), checker=checker, converters=Converters(), tell=told.append)
    assert "onnxruntime is not installed; pip install 'irfuzz[onnxruntime]'" in told[0]


def _types(converters: Converters, nodes: list[onnx.NodeProto], names: list[str]) -> dict[str, onnx.TypeProto]:
    inputs = [helper.make_tensor_value_info(n, _T.FLOAT, [size, 3]) for n, size in (("x", "n"), ("w", "m"))]
    graph = helper.make_graph(nodes, "g", inputs, [])
    imports = [
        helper.make_opsetid("", 17),
        helper.make_opsetid("com.microsoft", 1),
        helper.make_opsetid("ai.onnx.ml", 3),
    ]
    model = helper.make_model(graph, opset_imports=imports, ir_version=8)
    found, reason = converters.types(model.SerializeToString(), names)
    assert reason == ""
    return {name: onnx.TypeProto.FromString(data) for name, data in found.items()}


def test_a_rank_that_inference_does_not_tell_is_seen_in_a_run(converters: Converters) -> None:
    nodes = [
        helper.make_node("CDist", ["x", "w"], ["d"], domain="com.microsoft"),
        helper.make_node("ReduceSum", ["x"], ["s"], keepdims=0),
    ]
    found = _types(converters, nodes, ["d", "s"])
    assert [d.dim_param for d in found["d"].tensor_type.shape.dim] == ["n", "m"]
    assert found["s"].tensor_type.HasField("shape")
    assert not found["s"].tensor_type.shape.dim


def test_maps_and_sequences_are_typed(converters: Converters) -> None:
    zipped = helper.make_node("ZipMap", ["x"], ["z"], domain="ai.onnx.ml", classlabels_int64s=[1, 2, 3])
    split = helper.make_node("SplitToSequence", ["x"], ["s"])
    found = _types(converters, [zipped, split], ["z", "s"])
    from irfuzz.ir.fact_type_conversion import fact_of_proto

    assert fact_of_proto(found["z"]) == SequenceFact(OpaqueFact(MAP))
    assert fact_of_proto(found["s"]) == SequenceFact(TensorFact(F32, None))
    inner = found["z"].sequence_type.elem_type.map_type
    assert (inner.key_type, inner.value_type.tensor_type.elem_type) == (_T.INT64, _T.FLOAT)
