"""What quantisation may change is derived from the values, and what changes more is told."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import onnx
import pytest

import irfuzz
from irfuzz.execute.adapters.tool_table import QUANTIZATION_WAYS

pytestmark = pytest.mark.backend

F = np.float32
RNG = np.random.default_rng(1)
CONV = """g (float[1,3,6,6] x) => (float[1,4] y) <float[4,3,3,3] w, float[4] b, float[4,4] m> {
   c = Conv(x, w, b)
   r = Relu(c)
   p = GlobalAveragePool(r)
   f = Flatten(p)
   y = MatMul(f, m)
}"""
SHAPES = {"w": (4, 3, 3, 3), "b": (4,), "m": (4, 4)}
WEIGHTS = {name: RNG.normal(size=shape).astype(F) for name, shape in SHAPES.items()}
X = {"x": RNG.normal(size=(1, 3, 6, 6)).astype(F)}


@pytest.fixture(scope="module")
def tool() -> ModuleType:
    """The tool's own file, as a ``repro.py`` imports it."""
    pytest.importorskip("onnxruntime")
    place = Path(irfuzz.__file__).parent / "execute" / "workers" / "tools" / "quantizers" / "quantization.py"
    spec = importlib.util.spec_from_file_location("tool_quantization", place)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def model(text: str = CONV, **weights: np.ndarray) -> bytes:
    made = onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["" : 17]> {text}')
    del made.graph.initializer[:]
    made.graph.initializer.extend(onnx.numpy_helper.from_array(v, n) for n, v in (weights or WEIGHTS).items())
    return made.SerializeToString()


@pytest.mark.parametrize("way", QUANTIZATION_WAYS)
def test_a_quantised_model_is_within_its_bound_and_near_it(tool: ModuleType, way: str) -> None:
    got = tool.load(model(), way)(X)["y"]
    values = tool._values(onnx.load_model_from_string(model()), X)
    bound = tool.Bounds(onnx.load_model_from_string(model()), values, way).of_outputs()["y"]
    far = np.abs(got - values["y"])
    assert (far <= bound).all()
    assert (far > 0).any(), "nothing was quantised"
    assert bound.max() < 200 * far.max(), "a bound that large holds whatever comes"


PRODUCT = "g (float[1,4] x) => (float[1,4] y) <float[4,4] m> { y = MatMul(x, m) }"


def _scales_doubled(made: bytes) -> bytes:
    proto = onnx.load_model_from_string(made)
    for tensor in proto.graph.initializer:
        if tensor.name == "m_scale":
            tensor.CopyFrom(onnx.numpy_helper.from_array(onnx.numpy_helper.to_array(tensor) * 2, tensor.name))
    return proto.SerializeToString()


@pytest.mark.parametrize("way", ["qdq", "qoperator", "dynamic"])
def test_a_scale_that_is_wrong_by_a_factor_of_two_is_told(
    tool: ModuleType, monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    right = tool._quantised
    monkeypatch.setattr(tool, "_quantised", lambda *given: _scales_doubled(right(*given)))
    product = model(PRODUCT, m=np.abs(WEIGHTS["m"]))
    with pytest.raises(tool.QuantizationError, match=r"output 'y' at \[0, \d\]: .* explains a difference of"):
        tool.load(product, way)({"x": np.array([[1, 2, 3, 4]], F)})


@pytest.mark.parametrize(
    ("text", "weights", "bound"),
    [
        # The step of a tensor is twice its largest magnitude over 255; of a weight over 126.
        ("g (float[2] x) => (float[2] y) { y = Neg(x) }", {}, 2 * 4 / 255 + 2 * 4 / 255),
        ("g (float[2] x) => (float[2] y) { y = Identity(x) }", {}, 2 * 4 / 255 + 2 * 4 / 255),
        ("g (float[2] x) => (float[2] y) <float[2] w> { y = Add(x, w) }", {"w": [1, 1]},
         2 * 4 / 255 + 2 / 126 + 2 * 5 / 255),
        ("g (float[2] x) => (float[2] y) <float[2] w> { y = Mul(x, w) }", {"w": [0, 0]}, 0.0),
    ],
)  # fmt: skip
def test_bounds_are_those_of_the_scales(tool: ModuleType, text: str, weights: dict[str, Any], bound: float) -> None:
    before = onnx.load_model_from_string(
        model(text, **{n: np.array(v, F) for n, v in weights.items()} or {"u": np.ones(1, F)})
    )
    values = tool._values(before, {"x": np.array([4, -1], F)})
    found = tool.Bounds(before, values, "qdq").of_outputs()["y"]
    assert found.max() == pytest.approx(bound)


@pytest.mark.parametrize("way", ["qdq", "qdq-per-channel", "qoperator"])
def test_a_model_without_inputs_has_nothing_to_calibrate_on(tool: ModuleType, way: str) -> None:
    alone = model("g () => (float[2] y) <float[2] w> { y = Neg(w) }", w=np.array([1, 2], F))
    with pytest.raises(NotImplementedError, match="a model without inputs is not supported"):
        tool.load(alone, way)({})
    assert tool.load(alone, "dynamic")({})["y"].tolist() == [-1, -2]


def test_nothing_is_said_of_a_body_that_reads_what_moves(tool: ModuleType) -> None:
    text = """g (float[2] x, bool c) => (float[2] y) <float[1] u> {
       y = If(c) <then_branch = t () => (float[2] p) { p = Neg(x) }, else_branch = e () => (float[2] q) { q = Abs(x) }>
    }"""
    before = onnx.load_model_from_string(model(text, u=np.ones(1, F)))
    values = tool._values(before, {"x": np.array([4, -1], F), "c": np.array(True)})
    assert tool.Bounds(before, values, "qdq").of_outputs() == {"y": None}


def test_nothing_is_said_behind_an_operator_without_a_rule_and_of_values_without_a_scale(tool: ModuleType) -> None:
    erf = model("g (float[2] x) => (float[2] y, float[2] z) { y = Erf(x) z = Relu(y) }", u=np.ones(1, F))
    before = onnx.load_model_from_string(erf)
    x = {"x": np.array([4, -1], F)}
    assert tool.Bounds(before, tool._values(before, x), "qdq").of_outputs() == {"y": None, "z": None}
    with pytest.raises(NotImplementedError, match="not supported for values with NaN"):
        tool.load(erf, "qdq")({"x": np.array([np.nan, 1], F)})


def test_a_scale_of_subnormal_numbers_is_coarse(tool: ModuleType) -> None:
    text = "g (float[1] x, float[1] z) => (float[1] y) { y = Mul(x, z) }"
    least = np.array([1.4e-45], F)
    inputs = {"x": least, "z": np.ones(1, F)}
    proto = onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["" : 17]> {text}')
    bound = tool.Bounds(proto, tool._values(proto, inputs), "qdq").of_outputs()["y"]
    assert least[0] <= bound.max() < 1e-30


def test_a_half_that_only_a_cast_reads_is_what_the_model_itself_makes_of_it(tool: ModuleType) -> None:
    text = "g (float16[1,2] x) => (float[1,1] y) { v = ReduceSum(x) y = Cast <to: int = 1> (v) }"
    made = onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["" : 17]> {text}').SerializeToString()
    tool.load(made, "matmul-nbits")({"x": np.array([[22.11, 22.12]], np.float16)})


@pytest.mark.parametrize(
    ("said", "gap"), [("Expected x0 to be an initializer", True), ("Tensor type mismatch.", False)]
)
def test_what_it_says_of_its_limits_is_a_gap(tool: ModuleType, said: str, gap: bool) -> None:
    assert bool(tool.GAP.search(said)) is gap
