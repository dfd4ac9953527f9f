"""Calls drawn from the specs give the same on the generated modules of every framework, in every element type."""

from __future__ import annotations

import dataclasses
from typing import Any

import ml_dtypes
import numpy as np
import onnx
import onnx_ir as ir
import pytest

from irfuzz.choices import Choices
from irfuzz.errors import Unsupported
from irfuzz.export.source.emitter_table import SHARED
from irfuzz.spec import OpSpec, SampledCall, load_specs, sample_call
from tests.export import frameworks  # before TensorFlow
from tests.spec import onenode

pytestmark = pytest.mark.backend
torch = pytest.importorskip("torch")
tf = pytest.importorskip("tensorflow")

OPSET, CALLS, PARTS = 21, 3, 3
D = ir.DataType
TYPES = frozenset({
    D.FLOAT, D.DOUBLE, D.FLOAT16, D.BFLOAT16, D.INT8, D.INT16, D.INT32, D.INT64, D.UINT8, D.UINT16, D.UINT32, D.UINT64,
    D.BOOL,
})  # fmt: skip
ROUNDING = {"float16": 2.0**-9, "bfloat16": 2.0**-6, "float32": 2e-5, "float64": 1e-10}
DRAWN = frozenset({
    "Bernoulli", "Dropout", "Multinomial", "RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike",
})  # fmt: skip
# In float32 whatever the type of X is, as its stash_type says.
SINGLE = frozenset({"GroupNormalization"})


def outputs(component: str, model: onnx.ModelProto) -> list[Any] | str:
    """What the module of a framework gives; ``"Unsupported"`` where there is none."""
    frameworks.chosen[0] = component
    try:
        lowered = frameworks.lower_model(ir.from_proto(model))
    except Unsupported:
        return "Unsupported"
    finally:
        frameworks.chosen[0] = frameworks.NAMES[0]
    module: dict[str, Any] = {}
    exec(lowered.source, module)
    try:
        found = module["run"](lowered.arrays, {})
    except NotImplementedError:
        return "Unsupported"
    return [found[o.name] for o in model.graph.output]


def agree(a: Any, b: Any, rounding: float | None) -> bool:
    """Equal in type and shape, and in value but for rounding; NaN equals NaN."""
    if isinstance(a, list) or isinstance(b, list):
        return (
            isinstance(a, list) and len(a) == len(b) and all(agree(x, y, rounding) for x, y in zip(a, b, strict=True))
        )
    if a is None or b is None:
        return a is b
    if a.dtype != b.dtype or a.shape != b.shape:
        return False
    if a.dtype.name not in ROUNDING:
        return np.array_equal(a, b)
    unit = max(ROUNDING[a.dtype.name], rounding or 0.0)
    with np.errstate(all="ignore"):
        x, y = a.astype(np.float64), b.astype(np.float64)
        close = np.abs(x - y) <= unit * (np.maximum(np.abs(x), np.abs(y)) + 0.1)
    return bool((close | (x == y) | (np.isnan(x) & np.isnan(y))).all())


def with_all_types(spec: OpSpec) -> OpSpec:
    """A spec from which calls are drawn in every element type of numpy and bfloat16 that ONNX allows."""
    types = {v: tuple(d for d in allowed if d in TYPES) or allowed for v, allowed in spec.type_vars.items()}
    return dataclasses.replace(spec, portable=types, portable_except=())


def one_node(spec: OpSpec, call: SampledCall, seed: int) -> onnx.ModelProto:
    """The model of a call."""
    model = onenode.model_of(spec, call, OPSET, np.random.default_rng(seed))
    model.opset_import[0].version = OPSET
    return model


LOGARITHMS = {"ReduceLogSum", "ReduceLogSumExp"}
"""Of whole numbers ONNX does not say how their logarithm becomes one; that of a sum of nothing is no number at all."""


@pytest.mark.parametrize("part", range(PARTS))
def test_drawn_calls_agree_between_frameworks(part: int) -> None:
    torch.set_num_threads(1)
    specs = load_specs()
    compared, wrong, operators = 0, [], sorted(set(SHARED) - DRAWN)[part::PARTS]
    for op in operators:
        spec = specs.get(op, OPSET)
        for seed in range(CALLS if spec is not None else 0):
            assert spec is not None
            call = sample_call(with_all_types(spec), {}, Choices.from_seed(f"{op} {seed}"), max_elements=256)
            if call is None:
                continue
            model = one_node(spec, call, seed)
            found = {component: outputs(component, model) for component in frameworks.NAMES}
            refusing = [component for component, given in found.items() if given == "Unsupported"]
            if refusing:
                if len(refusing) < len(found):
                    wrong.append(f"{op} {seed}: {call.attrs}: {refusing} refuse it, others do not")
                continue
            compared += 1
            first, *others = found.values()
            if op in LOGARITHMS and all(getattr(a, "dtype", np.dtype(float)).kind in "iu" for a in first):
                continue
            if not all(agree(first, other, ROUNDING["float32"] if op in SINGLE else None) for other in others):
                wrong.append(f"{op} {seed}: {call.attrs}: {found}")
    assert wrong == []
    assert compared >= CALLS * len(operators) * 0.6


def both(text: str, **feeds: np.ndarray) -> list[np.ndarray]:
    """The one output of a model on either framework."""
    found = []
    for component in frameworks.NAMES:
        frameworks.chosen[0] = component
        lowered = frameworks.lower_model(ir.from_proto(onnx.parser.parse_model(text)))
        frameworks.chosen[0] = frameworks.NAMES[0]
        module: dict[str, Any] = {}
        exec(lowered.source, module)
        found.append(module["run"](lowered.arrays, feeds)["y"])
    return found


HEAD = '<ir_version: 9, opset_import: ["" : 21]>'


def test_erf_of_very_large_numbers_is_one() -> None:
    x = np.array([np.inf, -np.inf, 1.7e308, np.nan, 0.5])
    for y in both(f"{HEAD} g (double[5] x) => (double[5] y) {{ y = Erf(x) }}", x=x):
        np.testing.assert_allclose(y, [1, -1, 1, np.nan, 0.5204998778130465], rtol=1e-12)


@pytest.mark.parametrize(
    ("given", "mean"),
    [
        (np.array([-(2**63), 0, 0, 0, 0]), -1844674407370955161),
        (np.array([-7, 0]), -3),
        (np.array([2**63 + 2, 2], np.uint64), 2**62 + 2),
    ],
)
def test_means_of_integers_are_cut_off_toward_zero_at_the_ends_of_a_type(given: np.ndarray, mean: int) -> None:
    kind, size = given.dtype.name, len(given)
    for y in both(f"{HEAD} g ({kind}[{size}] x) => ({kind}[1] y) {{ y = ReduceMean(x) }}", x=given):
        assert y.tolist() == [mean]


def test_an_infinite_element_outside_of_a_deformed_window_does_not_count() -> None:
    image = np.array([[[[np.inf, 1.0, 2.0]]]], np.float32)
    text = f"""{HEAD} g (float[1,1,1,3] x, float[1,2,1,3] o) => (float[1,1,1,3] y)
        <float[1,1,1,1] w = {{1}}> {{ y = DeformConv(x, w, o) }}"""
    shift = np.zeros((1, 2, 1, 3), np.float32)
    shift[0, 1, 0] = [-5, 0.5, np.nan]
    for y in both(text, x=image, o=shift):
        np.testing.assert_array_equal(y.reshape(-1), np.array([0, 1.5, np.nan], np.float32))


def test_a_local_response_over_no_channels_has_none() -> None:
    text = f"{HEAD} g (float[1,0,2] x) => (float[1,0,2] y) {{ y = LRN<size = 3>(x) }}"
    for y in both(text, x=np.zeros((1, 0, 2), np.float32)):
        assert y.shape == (1, 0, 2)


def test_a_deformed_convolution_of_no_channels_adds_up_nothing() -> None:
    text = f"""{HEAD} g (float[1,0,2,2] x, float[3,0,1,1] w, float[1,2,2,2] o) => (float[1,3,2,2] y)
        {{ y = DeformConv(x, w, o) }}"""
    empty = {"x": np.zeros((1, 0, 2, 2), np.float32), "w": np.zeros((3, 0, 1, 1), np.float32)}
    for y in both(text, **empty, o=np.zeros((1, 2, 2, 2), np.float32)):
        np.testing.assert_array_equal(y, np.zeros((1, 3, 2, 2), np.float32))


def test_batch_norm_computes_in_the_widest_type() -> None:
    rng = np.random.default_rng(0)
    x, var = rng.normal(size=(2, 3)), np.array([0.3, 0.7, 1.1], np.float16)
    one, zero = np.ones(3, np.float16), np.zeros(3, np.float16)
    text = f"""{HEAD} g (double[2,3] x, float16[3] s, float16[3] b, float16[3] m, float16[3] v) => (double[2,3] y)
        {{ y = BatchNormalization(x, s, b, m, v) }}"""
    expected = x / np.sqrt(var.astype(np.float64) + np.float64(np.float32(1e-5)))
    for y in both(text, x=x, s=one, b=zero, m=zero, v=var):
        np.testing.assert_allclose(y, expected, rtol=1e-12)


@pytest.mark.parametrize("dtype", [np.uint16, np.uint32, np.uint64])
def test_unique_of_wide_unsigned_types(dtype: Any) -> None:
    top = np.iinfo(dtype).max
    kind = np.dtype(dtype).name
    text = f"{HEAD} g ({kind}[4] x) => ({kind}[n] y) {{ y = Unique(x) }}"
    for y in both(text, x=np.array([top, 1, top, 0], dtype)):
        assert y.dtype == dtype
        assert y.tolist() == [0, 1, top]


def test_what_follows_from_static_shapes_is_known_while_a_graph_is_traced() -> None:
    text = f"""{HEAD} g (float[2,3,4] x) => (float[n,m] y) <int64[1] one = {{1}}, int64[1] two = {{2}}> {{
        s = Shape(x) h = Slice(s, one, two) t = Mul(h, two) f = Div(t, two) r = ReduceProd(s) q = Div(r, f)
        p = Concat<axis = 0>(q, f) y = Reshape(x, p) }}"""
    frameworks.chosen[0] = "tensorflow"
    lowered = frameworks.lower_model(ir.from_proto(onnx.parser.parse_model(text)))
    frameworks.chosen[0] = frameworks.NAMES[0]
    module: dict[str, Any] = {}
    exec(lowered.source, module)
    traced = tf.function(lambda x: module["forward"](*module["tensors"](lowered.arrays, {"x": x})), autograph=False)
    x = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
    y = traced(tf.constant(x))["y"]
    assert traced.get_concrete_function(tf.constant(x)).structured_outputs["y"].shape == (8, 3)
    np.testing.assert_array_equal(y.numpy(), x.reshape(8, 3))


def test_transposed_convolution_does_not_multiply_infinite_weights_by_zeros_of_its_own() -> None:
    # TensorFlow's own gives inf, NaN here, though only where there are two images.
    weights = np.array([np.inf, 1.0], np.float32).reshape(1, 1, 1, 1, 2)
    text = f"{HEAD} g (float[2,1,1,1,1] x, float[1,1,1,1,2] w) => (float[2,1,1,1,2] y) {{ y = ConvTranspose(x, w) }}"
    for y in both(text, x=np.array([2, 3], np.float32).reshape(2, 1, 1, 1, 1), w=weights):
        np.testing.assert_array_equal(y.reshape(-1), np.array([np.inf, 2, np.inf, 3], np.float32))


def test_rounding_knows_the_types_of_ml_dtypes() -> None:
    a = np.array([1.0], ml_dtypes.bfloat16)
    assert agree(a, np.array([1.0078125], ml_dtypes.bfloat16), None)
    assert not agree(a, np.array([1.0625], ml_dtypes.bfloat16), None)
