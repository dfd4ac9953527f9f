"""Calls drawn from the specs give the same as layers of Keras and as TensorFlow source, or are refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx.reference import ReferenceEvaluator

from irfuzz.choices import Choices
from irfuzz.cli.main import main
from irfuzz.errors import InvalidProgram, Unsupported
from irfuzz.export import keras, tensorflow
from irfuzz.export.keras.emitter_table import EMITTERS
from irfuzz.ir.program import Program
from irfuzz.shipped_folders import seeds_dir
from irfuzz.spec import load_specs, sample_call
from tests.export import frameworks  # before TensorFlow
from tests.export.test_agreement import agree, one_node, with_all_types

pytestmark = pytest.mark.backend
pytest.importorskip("keras")

CALLS = 1
OPERATORS = sorted({op for _, op in EMITTERS})
"""Each is compared where a drawn call of it can be said in layers."""
assert frameworks.NAMES  # what it sets is read when TensorFlow is imported


def run(lowered: Any, feeds: dict[str, Any]) -> dict[str, Any]:
    module: dict[str, Any] = {}
    exec(lowered.source, module)
    return module["run"](lowered.arrays, feeds)


def with_one_input(model: onnx.ModelProto) -> tuple[onnx.ModelProto, dict[str, Any]]:
    """The first graph input stays one, and what the others would be given becomes a weight."""
    given = {tensor.name: onnx.numpy_helper.to_array(tensor) for tensor in model.graph.initializer}
    first = next((value for value in model.graph.input if value.name in given), None)
    if first is None:
        return model, {}
    kept = [tensor for tensor in model.graph.initializer if tensor.name != first.name]
    del model.graph.input[:]
    model.graph.input.append(first)
    del model.graph.initializer[:]
    model.graph.initializer.extend(kept)
    return model, {first.name: given[first.name]}


def compared(op: str, seed: int) -> str | None:
    """``None`` where nothing can be compared, else what is wrong, if anything is."""
    spec = load_specs().get(op, 21)
    assert spec is not None
    call = sample_call(with_all_types(spec), {}, Choices.from_seed(f"{op} {seed}"), max_elements=256)
    if call is None:
        return None
    model, feeds = with_one_input(one_node(spec, call, seed))
    if not feeds:
        return None
    try:
        program = Program.from_proto(model)
        lowered = keras.lower(program)
        expected = run(tensorflow.lower(program), feeds)
    except (Unsupported, InvalidProgram):  # some weights are of types that only an input may have
        return None
    try:
        found = run(lowered, feeds)
    except NotImplementedError:
        return None
    wrong = [name for name in expected if not agree(found[name], expected[name], None)]
    return f"{op} {seed}: {call.attrs}: {[(found[n], expected[n]) for n in wrong]}" if wrong else ""


def test_drawn_calls_agree_with_the_tensorflow_module() -> None:
    found = {op: [compared(op, seed) for seed in range(CALLS)] for op in OPERATORS}
    assert [text for texts in found.values() for text in texts if text] == []
    assert sum(text == "" for texts in found.values() for text in texts) >= 30


def test_an_exported_model_is_a_functional_model_of_layers(tmp_path: Path) -> None:
    import keras as framework

    seed = seeds_dir() / "lenet5.onnx"
    assert main(["export", str(seed), "--to", "keras", "-o", str(tmp_path)]) == 0
    source = (tmp_path / "model.py").read_text()
    assert "import irfuzz" not in source
    module: dict[str, Any] = {}
    exec(source, module)
    image = np.random.default_rng(0).random((1, 1, 32, 32), np.float32)
    weights = np.load(tmp_path / "weights.npz")
    model, names = module["functional"](module["forward"], *module["tensors"](weights, {"image": image}))
    kinds = {type(layer).__name__ for layer in model.layers}
    assert {"Conv2D", "AveragePooling2D", "Dense", "Activation", "Flatten", "Permute"} <= kinds
    assert isinstance(model, framework.Model)
    assert names == ["scores"]
    (expected,) = ReferenceEvaluator(str(seed)).run(None, {"image": image})
    np.testing.assert_allclose(module["run"](weights, {"image": image})["scores"], expected, rtol=1e-4, atol=1e-5)


def kept(text: str, opset: int, **feeds: Any) -> dict[str, Any]:
    model = onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["" : {opset}]> {text}')
    return run(keras.lower(Program.from_proto(model)), feeds)


def test_zeros_of_both_signs_are_equals_for_the_first_of_them() -> None:
    zeros = np.array([[0.0, -0.0], [-0.0, 0.0]], np.float32)
    for op in ("ArgMin", "ArgMax"):
        text = f"g (float[2,2] x) => (int64[2] y) {{ y = {op} <axis = 1, keepdims = 0> (x) }}"
        assert kept(text, 13, x=zeros)["y"].tolist() == [0, 0]


def test_a_window_that_starts_behind_the_input_is_refused() -> None:
    text = (
        "g (float[1,1,6] x) => (float[1,1,n] y) "
        "{{ y = MaxPool <kernel_shape = [{}], strides = [3], ceil_mode = 1> (x) }}"
    )
    x = np.arange(6, dtype=np.float32).reshape(1, 1, 6)
    with pytest.raises(Unsupported, match="starts behind the input"):
        kept(text.format(2), 12, x=x)
    assert kept(text.format(5), 12, x=x)["y"].tolist() == [[[4, 5]]]


def test_what_is_no_functional_model_is_refused_before_it_is_written() -> None:
    with pytest.raises(Unsupported, match="input 'x': it has no first axis"):
        kept("g (float x) => (float y) { y = Exp(x) }", 13)
    with pytest.raises(Unsupported, match="no input"):
        kept("g () => (float y) <float x = {1}> { y = Exp(x) }", 13)


@pytest.mark.parametrize(("start", "end"), [(-100, -200), (-100, 3), (4, -100), (2, 0), (100, 1)])
def test_a_slice_backwards_takes_what_onnx_says(start: int, end: int) -> None:
    """Slice-13: a start is clamped to [0, size - 1] for negative steps; Python's and the reference's is not."""
    text = (
        '<ir_version: 8, opset_import: ["" : 17]> g (float[1, 5] x) => (float[1, n] y)'
        f" <int64[1] s = {{{start}}}, int64[1] e = {{{end}}}, int64[1] a = {{1}}, int64[1] t = {{-1}}>"
        " { y = Slice (x, s, e, a, t) }"
    )
    program = Program.from_proto(onnx.parser.parse_model(text))
    x = np.arange(5, dtype=np.float32).reshape(1, 5)
    found, right = (run(lower(program), {"x": x})["y"] for lower in (keras.lower, tensorflow.lower))
    np.testing.assert_array_equal(found, right)


@pytest.mark.parametrize(
    ("layer", "turned"),
    [
        ("Conv2D", (True, False)),
        ("ConvLSTM2D", (True, True)),
        ("DepthwiseConv2D", (False, False)),
        ("Dense", (False,) * 2),
    ],
)
def test_kernels_are_turned_round_for_theano_where_keras_does_when_it_loads_a_file(
    layer: str, turned: tuple[bool, bool]
) -> None:
    pytest.importorskip("keras")
    from irfuzz.export.keras.support.model_building_and_running import as_held

    weights = [np.arange(24.0).reshape(2, 3, 2, 2), np.arange(24.0, 48.0).reshape(2, 3, 2, 2)]
    for backend in ("tensorflow", "theano"):
        held = as_held(layer, weights, backend)
        for given, got, turns in zip(weights, held, turned, strict=True):
            assert np.array_equal(got, given[::-1, ::-1] if turns and backend == "theano" else given)
