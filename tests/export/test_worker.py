"""The worker that runs generated modules, called in this process, and real models through it."""

from __future__ import annotations

import importlib
import re
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import ml_dtypes
import numpy as np
import onnx
import onnx_ir as ir
import pytest

from irfuzz.export.source.module_source import ModuleSource
from irfuzz.ir.program import Program
from tests.export.frameworks import loaded_worker, lower, lower_model

pytestmark = pytest.mark.backend


@pytest.fixture
def worker(root: Path, framework: str) -> ModuleType:
    return loaded_worker(root / "irfuzz", framework)


def call(worker: ModuleType, lowered: ModuleSource, inputs: dict[str, Any]) -> tuple[dict[str, Any], list[Any]]:
    request = {
        "do": "run",
        "source": lowered.source,
        "arrays": list(lowered.arrays),
        "inputs": [{"name": name} for name in inputs],
        "variants": [{}],
    }
    answer, values = worker.handle(request, [*lowered.arrays.values(), *inputs.values()])
    return answer["runs"][0], values


def lowered(text: str) -> ModuleSource:
    return lower_model(ir.from_proto(onnx.parser.parse_model(f'<ir_version: 9, opset_import: ["" : 19]> {text}')))


def test_describe_gives_the_version(worker: ModuleType, framework: str) -> None:
    version = importlib.import_module(framework).__version__
    answer, values = worker.handle({"do": "describe"}, [])
    assert (answer["version"], values) == (version, [])


def test_outputs_come_in_order_with_their_names(worker: ModuleType) -> None:
    source = lowered("g (float[2] x) => (float[2] b, float[2] a) { a = Neg(x) b = Abs(a) }")
    status, values = call(worker, source, {"x": np.array([1, -2], np.float32)})
    assert (status["exit"], status["stage"], status["outputs"]) == ("ok", "run", [{"name": "b"}, {"name": "a"}])
    assert [v.tolist() for v in values] == [[1, 2], [-1, 2]]


def test_bfloat16_travels_as_raw_bytes(worker: ModuleType) -> None:
    source = lowered("g (bfloat16[2] x) => (bfloat16[2] y) { y = Add(x, x) }")
    x = np.array([1, -3], ml_dtypes.bfloat16)
    for given in (x, x.view(np.uint16)):
        status, values = call(worker, source, {"x": given})
        assert status["outputs"] == [{"name": "y", "raw": 16, "shape": [2]}]
        assert values[0].view(ml_dtypes.bfloat16).astype(float).tolist() == [2, -6]


def test_what_the_framework_raises_is_a_rejection_and_what_is_not_written_is_unsupported(worker: ModuleType) -> None:
    status, values = call(
        worker, lowered("g (float[2] x, float[3] z) => (float[N] y) { y = Add(x, z) }"),
        {"x": np.zeros(2, np.float32), "z": np.zeros(3, np.float32)},
    )  # fmt: skip
    assert (status["exit"], status["stage"], values) == ("rejected", "run", [])
    assert re.search("must match the size|Incompatible shapes|could not be broadcast", status["error"])
    assert status["log"].startswith("Traceback")
    source = lowered("g (float[2] x, int64 d, float[2] v) => (float[2, 3] y) { y = OneHot(x, d, v) }")
    inputs = {"x": np.array([0.5, 1], np.float32), "d": np.array(3), "v": np.array([0, 1], np.float32)}
    assert call(worker, source, inputs)[0]["exit"] == "unsupported"


def test_modules_do_not_see_each_others_names(worker: ModuleType) -> None:
    load = sys.modules[f"{worker.__name__}.generated_module_runner"].load
    first = load("A = 1\n\n\ndef f():\n    return A\n")
    second = load("A = 2\n\n\ndef f():\n    return A\n")
    assert (first["f"](), second["f"]()) == (1, 2)


def test_inputs_and_weights_are_not_written_to(worker: ModuleType) -> None:
    source = lowered("g (float[2] x) => (float[2] y) <float[2] w = {1, 2}> { a = Relu(x) y = Add(a, w) }")
    x = np.array([-1, 1], np.float32)
    x.flags.writeable = False
    before = {name: array.copy() for name, array in source.arrays.items()}
    assert call(worker, source, {"x": x})[0]["exit"] == "ok"
    assert all(np.array_equal(source.arrays[name], array) for name, array in before.items())


def test_shipped_seeds_agree_with_onnxruntime(worker: ModuleType, root: Path) -> None:
    ort = pytest.importorskip("onnxruntime")
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads = 1
    # tests/seeds compares all seeds on their own samples.
    paths = [root / "seeds" / f"{name}.onnx" for name in ("lenet5", "lstm", "qcnn", "resnet", "transformer")]
    for path in paths:
        model = onnx.load(path)
        rng = np.random.default_rng(0)
        inputs = {}
        for value in model.graph.input:
            kind = value.type.tensor_type
            shape = [d.dim_value or 2 for d in kind.shape.dim]
            dtype = onnx.helper.tensor_dtype_to_np_dtype(kind.elem_type)
            inputs[value.name] = np.asarray(rng.random(shape) * 4).astype(dtype)
        status, values = call(worker, lower(Program.from_proto(model)), inputs)
        assert status["exit"] == "ok", (path.name, status)
        session = ort.InferenceSession(path, options)
        for actual, expected in zip(values, session.run(None, inputs), strict=True):
            expected = np.asarray(expected)
            assert (actual.dtype, actual.shape) == (expected.dtype, expected.shape), path.name
            if expected.dtype.kind == "f":
                np.testing.assert_allclose(actual, expected, atol=1e-4 * np.abs(expected).max(), err_msg=path.name)
            else:
                np.testing.assert_array_equal(actual, expected, err_msg=path.name)
