"""Models and inputs as source: what is written gives the same model and the same inputs back."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import onnx
import pytest

from irfuzz.report.repro_scripts.model_source import ELEMENTS, PACKED_LINES, WIDEST, inputs_source, written_models

pytestmark = pytest.mark.unit

HEAD = '<ir_version: 8, opset_import: ["" : 17, "local" : 1]>'
PLAIN = f"{HEAD} g (float[2] x) => (float[2] y) <float[2] w = {{1, 2}}> {{ y = Mul (x, w) }}"
FUNCTION = (
    f"{HEAD} g (float[2] x) => (float[2] y) {{ y = local.F (x) }}"
    ' <opset_import: ["" : 17], domain: "local"> F (a) => (b) { b = Neg (a) }'
)
X = {"x": np.array([1, 2], np.float32)}


def built(source: str, imports: tuple[str, ...]) -> dict[str, Any]:
    names: dict[str, Any] = {"np": np}
    exec("\n".join([*imports, source]), names)
    return names


def weighty(elements: int, seed: int | None = None) -> onnx.ModelProto:
    model = onnx.parser.parse_model(PLAIN)
    values = np.zeros(elements) if seed is None else np.random.default_rng(seed).normal(size=elements)
    model.graph.initializer[0].CopyFrom(onnx.numpy_helper.from_array(values.astype(np.float32), "w"))
    return model


@pytest.mark.parametrize(
    ("model", "forms"),
    [
        (onnx.parser.parse_model(PLAIN), ["helper.make_model", "onnx.parser", "b64decode"]),
        (onnx.parser.parse_model(FUNCTION), ["onnx.parser", "b64decode"]),
        (weighty(ELEMENTS + 1), ["b64decode"]),
        (weighty(ELEMENTS), ["helper.make_model", "onnx.parser", "b64decode"]),
    ],
)
def test_every_form_gives_the_model_back(model: onnx.ModelProto, forms: list[str]) -> None:
    made = list(written_models(model, X))
    assert [[f for f in ("helper.make_model", "onnx.parser", "b64decode") if f in m.lines] for m in made] == [
        [f] for f in forms
    ]
    for source in made:
        names = built(source.lines, source.imports)
        again = onnx.load_model_from_string(names["model"])
        assert onnx.printer.to_text(again) == onnx.printer.to_text(model)
        assert [t.name for t in again.graph.initializer] == [t.name for t in model.graph.initializer]
        for one, other in zip(again.graph.initializer, model.graph.initializer, strict=True):
            np.testing.assert_array_equal(onnx.numpy_helper.to_array(one), onnx.numpy_helper.to_array(other))
        np.testing.assert_array_equal(names["inputs"]["x"], X["x"])


def test_what_is_too_large_stays_in_a_file() -> None:
    fits = PACKED_LINES * WIDEST * 3 // 4 // 4  # bytes of base64, of float32
    assert list(written_models(weighty(fits + 100, seed=1), X)) == []
    assert len(list(written_models(weighty(fits * 3 // 4, seed=1), X))) == 1


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (f'{HEAD} g (float[2] x) => (string[1] y) {{ y = Constant <value_strings = ["a\\\\b"]> () }}', "b64decode"),
        (f"{HEAD} g (float[2] x) => (float[2] y) {{ y = Elu <alpha = 0.1> (x) }}", "helper"),
    ],
)
def test_text_that_a_string_would_change_is_not_written(text: str, told: str) -> None:
    sources = [m.lines for m in written_models(onnx.parser.parse_model(text), X)]
    assert told in sources[0] or told in sources[-1]
    for source in written_models(onnx.parser.parse_model(text), X):
        again = onnx.load_model_from_string(built(source.lines, source.imports)["model"])
        assert onnx.printer.to_text(again) == onnx.printer.to_text(onnx.parser.parse_model(text))


@pytest.mark.parametrize("kind", ["INT4", "UINT4", "FLOAT4E2M1", "INT2", "FLOAT8E4M3FN", "BFLOAT16"])
def test_types_that_the_parser_of_text_lacks_are_written_otherwise(kind: str) -> None:
    model = onnx.parser.parse_model(FUNCTION)
    dtype = onnx.helper.tensor_dtype_to_np_dtype(onnx.TensorProto.DataType.Value(kind))
    held = onnx.numpy_helper.from_array(np.array([[0, 1], [1, 0]]).astype(dtype), "c")
    model.graph.initializer.append(held)
    for source in written_models(model, X):
        again = onnx.load_model_from_string(built(source.lines, source.imports)["model"])
        np.testing.assert_array_equal(
            onnx.numpy_helper.to_array(again.graph.initializer[0]), onnx.numpy_helper.to_array(held)
        )
    assert "b64decode" in source.lines


def test_sizes_without_a_name_get_one_in_text() -> None:
    model = onnx.parser.parse_model(f"{HEAD} g (float[2] x) => (seq(float[k]) y) {{ y = SequenceConstruct (x) }}")
    dim = model.graph.output[0].type.sequence_type.elem_type.tensor_type.shape.dim[0]
    dim.ClearField("dim_param")
    first = next(written_models(model, X))
    again = onnx.load_model_from_string(built(first.lines, first.imports)["model"])
    assert "onnx.parser" in first.lines
    assert again.graph.output[0].type.sequence_type.elem_type.tensor_type.shape.dim[0].dim_param == "size0"
    assert dim.WhichOneof("value") is None, "the model itself stays as it is"


@pytest.mark.parametrize(
    "inputs",
    [
        {"x": np.array([[1, 2]], np.int8), "y": np.array([], np.float32)},
        {"x": np.array(["a", "\u00e9\n"], object)},
        {"x": None, "y": [np.array([1.0], np.float32), np.array([2.0], np.float32)]},
        {"x": np.arange(ELEMENTS + 1, dtype=np.int16), "y z": np.array(3)},
    ],
)
def test_inputs_come_back(inputs: dict[str, Any]) -> None:
    found = inputs_source(inputs)
    assert found is not None
    again = built(*found)["inputs"]
    assert list(again) == list(inputs)
    for name, value in inputs.items():
        np.testing.assert_equal(again[name], value)
        assert getattr(again[name], "dtype", None) == getattr(value, "dtype", None)


@pytest.mark.parametrize("value", [np.array([1], ml_dtypes.bfloat16), np.array([b"a"], object), [np.array([1j])]])
def test_inputs_that_numpy_alone_cannot_say(value: object) -> None:
    assert inputs_source({"x": value}) is None
