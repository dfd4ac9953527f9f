"""Models of an opset that is too old to be edited are converted when they are read, and that is told."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper
from onnx.reference import ReferenceEvaluator

from irfuzz.errors import InvalidProgram
from irfuzz.frontends import onnx_file
from irfuzz.frontends.isolated_onnx_calls import OnnxChecker
from irfuzz.frontends.onnx_file import load_seed
from irfuzz.frontends.opset_upgrade import OLDEST, opset_of, with_default_domain
from irfuzz.mutate.mutation_engine import why_not_mutated

_T = onnx.TensorProto
DATA = Path(onnx.__file__).parent / "backend" / "test" / "data"


@pytest.fixture(scope="module")
def checker() -> Iterator[OnnxChecker]:
    with OnnxChecker() as made:
        yield made


def old(opset: int, *nodes: onnx.NodeProto, ir_version: int = 3) -> onnx.ModelProto:
    """A sum that old opsets broadcast by an attribute, with an initializer that is an input as well."""
    add = helper.make_node("Add", ["x", "w"], ["y"])
    if opset < 7:
        add.attribute.append(helper.make_attribute("broadcast", 1))
    shape = [3, 1, 1]
    inputs = [
        helper.make_tensor_value_info("x", _T.FLOAT, [2, 3, 4, 5]),
        helper.make_tensor_value_info("w", _T.FLOAT, shape),
    ]
    weight = numpy_helper.from_array(np.arange(3, dtype=np.float32).reshape(shape), "w")
    outputs = [helper.make_tensor_value_info("y", _T.FLOAT, [2, 3, 4, 5])]
    graph = helper.make_graph([add, *nodes], "old", inputs, outputs, [weight])
    imports = [helper.make_opsetid("", opset), helper.make_opsetid("org.example", 1)]
    model = helper.make_model(graph, opset_imports=imports[: 1 + bool(nodes)], ir_version=ir_version)
    entry = model.metadata_props.add()
    entry.key, entry.value = "author", "nobody"
    return model


def load(path: Path, model: onnx.ModelProto, checker: OnnxChecker) -> tuple[onnx.ModelProto, list[str]]:
    path.write_bytes(model.SerializeToString())
    told: list[str] = []
    return load_seed(path, checker=checker, tell=told.append).to_proto(), told


@pytest.mark.parametrize("opset", [6, 7, 8])
def test_an_old_model_is_converted_and_that_is_told(tmp_path: Path, checker: OnnxChecker, opset: int) -> None:
    path = tmp_path / "old.onnx"
    model, told = load(path, old(opset), checker)
    assert [o.version for o in model.opset_import] == [OLDEST]
    assert told == [f"{path}: opset {opset}, converted to {OLDEST}: irfuzz edits no older one"]
    assert [i.name for i in model.graph.input] == ["x", "w"]  # still one that may be given other elements
    assert [i.name for i in model.graph.initializer] == ["w"]
    assert {e.key: e.value for e in model.metadata_props} == {"author": "nobody"}
    assert model.ir_version == 3


def test_a_model_that_is_new_enough_stays_as_it_is(tmp_path: Path, checker: OnnxChecker) -> None:
    before = old(OLDEST)
    model, told = load(tmp_path / "new.onnx", before, checker)
    assert told == []
    assert model.graph.node == before.graph.node


def test_it_computes_the_same(tmp_path: Path, checker: OnnxChecker) -> None:
    model, _ = load(tmp_path / "old.onnx", old(6), checker)
    x = np.random.default_rng(0).standard_normal((2, 3, 4, 5)).astype(np.float32)
    (y,) = ReferenceEvaluator(model).run(None, {"x": x})
    np.testing.assert_array_equal(y, x + np.arange(3, dtype=np.float32).reshape(3, 1, 1))


def aligned_by_axis() -> onnx.ModelProto:
    """A sum along the second axis, as models of opset 6 spell it."""
    model = old(6)
    model.graph.node[0].attribute.append(helper.make_attribute("axis", 1))
    model.graph.initializer[0].CopyFrom(numpy_helper.from_array(np.arange(3, dtype=np.float32), "w"))
    model.graph.input[1].CopyFrom(helper.make_tensor_value_info("w", _T.FLOAT, [3]))
    return model


def test_operands_along_an_axis_are_aligned(tmp_path: Path, checker: OnnxChecker) -> None:
    model, told = load(tmp_path / "old.onnx", aligned_by_axis(), checker)
    assert model.opset_import[0].version == OLDEST
    assert len(told) == 1
    x = np.random.default_rng(0).standard_normal((2, 3, 4, 5)).astype(np.float32)
    (y,) = ReferenceEvaluator(model).run(None, {"x": x})
    np.testing.assert_array_equal(y, x + np.arange(3, dtype=np.float32).reshape(3, 1, 1))


def test_what_cannot_be_converted_stays_and_the_reason_is_told(tmp_path: Path, checker: OnnxChecker) -> None:
    before = aligned_by_axis()
    add = before.graph.node.pop()
    before.graph.node.extend([helper.make_node("Reshape", ["x", "s"], ["r"]), add])  # of no known rank
    add = before.graph.node[1]
    add.input[0] = "r"
    before.graph.input.append(helper.make_tensor_value_info("s", _T.INT64, ["n"]))
    path = tmp_path / "old.onnx"
    model, told = load(path, before, checker)
    assert model.opset_import[0].version == 6
    (line,) = told
    assert line.startswith(f"{path}: opset 6 cannot be converted to 9, so it stays as it is: onnx.version_converter: ")


def test_large_weights_go_along(tmp_path: Path, checker: OnnxChecker) -> None:
    model = old(7)
    big = np.random.default_rng(1).standard_normal((1 << 19,)).astype(np.float32)
    model.graph.initializer.append(numpy_helper.from_array(big, "big"))
    model.graph.input.append(helper.make_tensor_value_info("big", _T.FLOAT, big.shape))
    model.graph.node.append(helper.make_node("Relu", ["big"], ["z"]))
    model.graph.output.append(helper.make_tensor_value_info("z", _T.FLOAT, big.shape))
    made, told = load(tmp_path / "big.onnx", model, checker)
    assert len(told) == 1
    np.testing.assert_array_equal(numpy_helper.to_array(made.graph.initializer[1]), big)


def test_models_that_are_too_large_stay_as_they_are(
    tmp_path: Path, checker: OnnxChecker, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = old(7)
    big = np.zeros((1 << 19,), np.float32)
    model.graph.initializer.append(numpy_helper.from_array(big, "big"))
    model.graph.input.append(helper.make_tensor_value_info("big", _T.FLOAT, big.shape))
    monkeypatch.setattr(onnx_file, "MOST_CONVERTED", big.nbytes - 1)
    made, told = load(tmp_path / "big.onnx", model, checker)
    assert made.opset_import[0].version == 7
    (line,) = told
    assert line.endswith(f": opset 7 stays as it is: {big.nbytes} bytes of weights are too many for onnx's converter")
    monkeypatch.setattr(onnx_file, "MOST_CONVERTED", big.nbytes)
    made, _ = load(tmp_path / "big.onnx", model, checker)
    assert made.opset_import[0].version == OLDEST


def test_broken_models_are_told_before_anything_is_converted(tmp_path: Path, checker: OnnxChecker) -> None:
    model = old(7)
    model.graph.node[0].input[0] = "nothing"
    with pytest.raises(InvalidProgram, match="reads 'nothing', which nothing defines"):
        load(tmp_path / "bad.onnx", model, checker)


def test_the_old_models_of_the_backend_tests_can_be_mutated(checker: OnnxChecker) -> None:
    paths = sorted(DATA.glob("pytorch-*/*/model.onnx"))
    assert len(paths) > 50
    for path in paths[::4]:
        program = load_seed(path, checker=checker)
        assert program.opset >= OLDEST, path
        assert why_not_mutated(program) == "", path


@pytest.mark.parametrize(("ir_version", "opset"), [(3, OLDEST), (4, 9), (5, 10), (7, 14), (8, 17), (10, 17)])
def test_trees_without_the_default_domain_get_a_version_that_fits(ir_version: int, opset: int) -> None:
    model = onnx.ModelProto(ir_version=ir_version, opset_import=[onnx.helper.make_opsetid("ai.onnx.ml", 3)])
    assert with_default_domain(model)
    assert opset_of(model) == opset
    assert not with_default_domain(model)


def test_a_model_that_imports_nothing_at_all_is_left_for_the_checker_to_refuse() -> None:
    model = onnx.ModelProto(ir_version=8)
    assert not with_default_domain(model)
    assert opset_of(model) == 0
