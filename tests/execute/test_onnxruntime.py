"""ONNXRuntime in its worker: which refusals are gaps and which are not, and every kind of value in and out."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import onnx
import pytest
from onnx import TensorProto as T
from onnx import helper

from irfuzz.execute.run_types import Exit, RunResult, Stage
from irfuzz.execute.runner import Runner
from irfuzz.execute.target_table import resolve

pytestmark = pytest.mark.backend


@pytest.fixture(scope="module")
def runner():
    with Runner(resolve(["onnxruntime:disabled", "onnxruntime:all"])) as opened:
        yield opened


def text(body: str, opset: int = 17, ir: int = 8, domains: str = "") -> bytes:
    return onnx.parser.parse_model(
        f'<ir_version: {ir}, opset_import: ["" : {opset}{domains}]> {body}'
    ).SerializeToString()


def one(node, inputs, outputs, initializers=(), opset=25, ir=11) -> bytes:
    """A model of one node; values are (name, element type, shape) or ready-made value infos."""
    info = [
        [v if isinstance(v, onnx.ValueInfoProto) else helper.make_tensor_value_info(*v) for v in vs]
        for vs in (inputs, outputs)
    ]
    graph = helper.make_graph([node], "g", *info, list(initializers))
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=ir).SerializeToString()


def both(runner: Runner, model: bytes, inputs: dict) -> RunResult:
    """What both levels agree on."""
    first, second = runner.run(model, inputs)
    assert (first.exit, first.stage) == (second.exit, second.stage)
    assert first.target.name == "onnxruntime:disabled"
    assert first.target.version
    return first


X = np.zeros(2, np.float32)
GAPS = {
    "no kernel for a dtype": (text("g (bfloat16[2] x) => (bfloat16[2] y) { y = Add(x, x) }"), {}, Stage.COMPILE),
    "no tensors of a dtype": (
        text("g (complex64[2] x) => (complex64[2] y) { y = Identity(x) }"),
        {"x": X.astype(np.complex64)},
        Stage.COMPILE,
    ),
    "unknown operator": (text("g (float[2] x) => (float[2] y) { y = Foo(x) }"), {"x": X}, Stage.COMPILE),
    "unknown domain": (
        text("g (float[2] x) => (float[2] y) { y = a.b.Foo(x) }", domains=', "a.b" : 1'), {"x": X}, Stage.COMPILE,
    ),
    "opset of the future": (text("g (float[2] x) => (float[2] y) { y = Relu(x) }", opset=60), {"x": X}, Stage.COMPILE),
    "IR of the future": (text("g (float[2] x) => (float[2] y) { y = Relu(x) }", ir=99), {"x": X}, Stage.COMPILE),
    "attribute value without a kernel": (
        text("g (float[1,3,4] x, float[1,8,4] w, float[1,8,2] r) => (y) {y = LSTM<hidden_size=2, layout=1>(x, w, r)}"),
        {name: np.zeros(shape, np.float32) for name, shape in {"x": (1, 3, 4), "w": (1, 8, 4), "r": (1, 8, 2)}.items()},
        Stage.COMPILE,
    ),
}  # fmt: skip
REFUSALS = {
    "channels that do not match": (
        text("g (float[1,7,5,5] x, float[8,8,3,3] w) => (y) { y = Conv(x, w) }"),
        {"x": np.zeros((1, 7, 5, 5), np.float32), "w": np.zeros((8, 8, 3, 3), np.float32)},
        Stage.RUN,
    ),
    "index out of range": (
        text("g (float[2] x, int64[1] i) => (float[1] y) { y = Gather(x, i) }"),
        {"x": X, "i": np.array([9])},
        Stage.RUN,
    ),
    "element types that do not match": (
        text("g (float[2] x, int64[2] i) => (float[2] y) { y = Add(x, i) }"),
        {"x": X, "i": np.array([1, 2])},
        Stage.COMPILE,
    ),
    "type outside the schema": (text("g (string[2] x) => (string[2] y) { y = Relu(x) }"), {"x": X}, Stage.COMPILE),
    "input of another shape": (
        text("g (float[2] x) => (float[2] y) { y = Relu(x) }"), {"x": np.zeros(3, np.float32)}, Stage.RUN,
    ),
    "no protobuf": (b"abc", {}, Stage.COMPILE),
    "nothing": (b"", {}, Stage.COMPILE),
}  # fmt: skip


@pytest.mark.parametrize("case", GAPS)
def test_gap(runner: Runner, case: str) -> None:
    model, inputs, stage = GAPS[case]
    result = both(runner, model, inputs)
    assert (result.exit, result.stage) == (Exit.UNSUPPORTED, stage), result.error
    assert result.error


@pytest.mark.parametrize("case", REFUSALS)
def test_refusal(runner: Runner, case: str) -> None:
    model, inputs, stage = REFUSALS[case]
    result = both(runner, model, inputs)
    assert (result.exit, result.stage) == (Exit.REJECTED, stage), result.error
    assert "ONNXRuntimeError" in result.error


def test_what_it_says_is_not_lost_behind_the_name_of_a_function(runner: Runner) -> None:
    result = both(runner, text("g () => (float[1] y) { y = Constant() }"), {})
    assert result.exit is Exit.REJECTED
    assert result.error.endswith("has no data attributes")
    assert "graph.cc" in result.error
    assert "Graph::Graph(" not in result.error


def test_one_level_that_refuses_does_not_cost_the_others(runner: Runner) -> None:
    good = text("g (float[2] x) => (float[2] y) { y = Relu(x) }")
    results = runner.run(good, {"x": np.array([-1, 2], np.float32)}, runner.targets[1:])
    assert [r.target.name for r in results] == ["onnxruntime:all"]
    np.testing.assert_array_equal(results[0].outputs["y"], [0, 2])


def test_too_much_memory_is_memory() -> None:
    from irfuzz.isolate import Limits

    model = text("g (int64[1] n) => (float[m] y) { y = ConstantOfShape(n) }")
    with Runner(resolve(["onnxruntime:all"]), Limits(memory_bytes=512 << 20)) as small:
        (result,) = small.run(model, {"n": np.array([1 << 30])})
        assert result.exit is Exit.MEMORY, result
        (result,) = small.run(model, {"n": np.array([3])})
    np.testing.assert_array_equal(result.outputs["y"], np.zeros(3))


# Values.

NATIVE = ["float32", "float64", "float16", "bool", *(f"{s}int{b}" for s in ("", "u") for b in (8, 16, 32, 64))]
EXTENDED = ["bfloat16", "float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz"]


@pytest.mark.parametrize("shape", [(), (0,), (2, 3)])
@pytest.mark.parametrize("name", [*NATIVE, *EXTENDED])
def test_every_dtype_comes_back(runner: Runner, name: str, shape: tuple[int, ...]) -> None:
    dtype = np.dtype(getattr(ml_dtypes, name)) if name in EXTENDED else np.dtype(name)
    kind = helper.np_dtype_to_tensor_dtype(dtype)
    given = np.arange(np.prod(shape, dtype=int)).astype(dtype).reshape(shape)
    model = one(helper.make_node("Identity", ["x"], ["y"]), [("x", kind, shape)], [("y", kind, shape)], opset=21, ir=10)
    result = both(runner, model, {"x": given})
    assert result.exit is Exit.OK, result.error
    assert result.outputs["y"].dtype == dtype
    assert result.outputs["y"].shape == shape
    assert result.outputs["y"].tobytes() == given.tobytes()


@pytest.mark.parametrize("name", ["int4", "uint4"])
def test_packed_types_in_and_out(runner: Runner, name: str) -> None:
    dtype, kind = np.dtype(getattr(ml_dtypes, name)), getattr(T, name.upper())
    given = np.array([[1, 2, 3], [7, 0, 5 if name == "uint4" else -8], [4, 4, 1]]).astype(dtype)
    scale = helper.make_tensor("s", T.FLOAT, [], [1.0])
    model = one(
        helper.make_node("DequantizeLinear", ["x", "s"], ["y"]),
        [("x", kind, [3, 3])],
        [("y", T.FLOAT, [3, 3])],
        [scale],
        21,
        10,
    )
    np.testing.assert_array_equal(both(runner, model, {"x": given}).outputs["y"], given.astype(np.float32))
    zero = helper.make_tensor("z", kind, [], [0])
    model = one(
        helper.make_node("QuantizeLinear", ["x", "s", "z"], ["y"]),
        [("x", T.FLOAT, [3, 3])], [("y", kind, [3, 3])], [scale, zero], 21, 10,
    )  # fmt: skip
    found = both(runner, model, {"x": given.astype(np.float32)}).outputs["y"]
    assert found.dtype == dtype
    np.testing.assert_array_equal(found, given)


def test_strings(runner: Runner) -> None:
    given = np.array([["", "a"], ["häß 日本", "x\ty"]], dtype=object)
    model = text("g (string[2,2] x) => (string[2,2] y) { y = Identity(x) }")
    np.testing.assert_array_equal(both(runner, model, {"x": given}).outputs["y"], given)


SEQUENCE = helper.make_sequence_type_proto(helper.make_tensor_type_proto(T.FLOAT, None))


def test_sequences(runner: Runner) -> None:
    model = one(
        helper.make_node("Identity", ["x"], ["y"]),
        [helper.make_value_info("x", SEQUENCE)], [helper.make_value_info("y", SEQUENCE)], opset=17, ir=8,
    )  # fmt: skip
    for given in ([np.ones(2, np.float32), np.ones((3, 1), np.float32)], []):
        found = both(runner, model, {"x": given}).outputs["y"]
        assert [v.shape for v in found] == [v.shape for v in given]


@pytest.mark.parametrize("given", [None, np.ones(2, np.float32)])
def test_optionals(runner: Runner, given: np.ndarray | None) -> None:
    kind = helper.make_optional_type_proto(helper.make_tensor_type_proto(T.FLOAT, [2]))
    model = one(
        helper.make_node("Identity", ["x"], ["y"]),
        [helper.make_value_info("x", kind)], [helper.make_value_info("y", kind)], opset=18, ir=8,
    )  # fmt: skip
    found = both(runner, model, {"x": given}).outputs["y"]
    assert (found is None) == (given is None)
    np.testing.assert_array_equal(found, given)


def test_what_its_python_interface_cannot_carry_is_a_gap(runner: Runner) -> None:
    # A string can only be fed by name and array, a bfloat16 output only be read as OrtValue.
    model = text("g (string[2] x, float[2] z) => (string[2] y, bfloat16[2] w) { y = Identity(x) w = Cast<to=16>(z) }")
    result = both(runner, model, {"x": np.array(["a", "b"], object), "z": X})
    assert (result.exit, result.stage) == (Exit.UNSUPPORTED, Stage.RUN)
    assert "'x'" in result.error
    result = both(runner, model, {"x": [X.astype(ml_dtypes.bfloat16)], "z": X})
    assert (result.exit, result.stage) == (Exit.UNSUPPORTED, Stage.CONVERT)
