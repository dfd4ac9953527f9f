"""Loading and saving changes nothing but what docs/normalisations.md lists: ONNX's cases, and synthetic models."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import ml_dtypes
import numpy as np
import onnx
import onnx.helper
import onnx_ir as ir
import pytest
from google.protobuf.message import Message
from onnx import TensorProto
from onnx.backend.test.loader import load_model_tests

from irfuzz.errors import InvalidProgram
from irfuzz.ir.clone import clone
from irfuzz.ir.program import Program
from irfuzz.ir.serialization.model_encoding import tensor_bytes
from irfuzz.ir.serialization.serde import decode, encode, encode_bytes
from tests.ir.protodiff import differences, fields, message_types, walk
from tests.ir.synthetic import BITS, numeric_tensor, synthetic_model

SYNTHETIC = 200

VERBATIM = ("onnx.TensorProto", "onnx.SparseTensorProto", "onnx.TrainingInfoProto")
"""Messages that keep even their explicit defaults."""


# ---- the documented normalisations, each as a function that applies it in place ------------------------------


def n_default(model: onnx.ModelProto) -> None:
    for message in _outside(model, VERBATIM):
        for field in fields(message):
            single = not field.is_repeated and field.message_type is None and field.containing_oneof is None
            if single and message.HasField(field.name) and getattr(message, field.name) == field.default_value:
                message.ClearField(field.name)


def n_value_info_order(model: onnx.ModelProto) -> None:
    for message in walk(model):
        if isinstance(message, onnx.GraphProto | onnx.FunctionProto):
            infos = sorted(message.value_info, key=lambda m: m.SerializeToString(deterministic=True))
            del message.value_info[:]
            message.value_info.extend(infos)


def n_domain(model: onnx.ModelProto) -> None:
    for message in _outside(model, VERBATIM):
        named = isinstance(message, onnx.NodeProto | onnx.FunctionProto | onnx.OperatorSetIdProto)
        if named and message.domain == "ai.onnx":
            message.domain = ""


def n_opset_import(model: onnx.ModelProto) -> None:
    for message in (model, *model.functions):
        once = {(o.domain, o.version): o for o in message.opset_import}
        del message.opset_import[:]
        message.opset_import.extend(once.values())


def n_dim_param(model: onnx.ModelProto) -> None:
    for message in walk(model):
        if isinstance(message, onnx.TensorShapeProto.Dimension) and not message.dim_param and not message.dim_value:
            message.ClearField("dim_param")


def n_graph_attribute_type(model: onnx.ModelProto) -> None:
    for message in walk(model):
        if isinstance(message, onnx.AttributeProto) and message.type == onnx.AttributeProto.UNDEFINED:
            if message.HasField("g"):
                message.type = onnx.AttributeProto.GRAPH
            elif message.graphs:
                message.type = onnx.AttributeProto.GRAPHS


def n_listed_initializers(model: onnx.ModelProto) -> None:
    for graph in walk(model.graph):
        if model.ir_version < 4 and isinstance(graph, onnx.GraphProto):
            named = {value.name for value in graph.input}
            stored = [(t.name, t.data_type, t.dims) for t in graph.initializer]
            stored += [(t.values.name, t.values.data_type, t.dims) for t in graph.sparse_initializer]
            graph.input.extend(onnx.helper.make_tensor_value_info(n, t, d) for n, t, d in stored if n not in named)


NORMALISATIONS: dict[str, Callable[[onnx.ModelProto], None]] = {
    "domain": n_domain,
    "opset-import": n_opset_import,
    "dim-param": n_dim_param,
    "graph-attribute-type": n_graph_attribute_type,
    "listed-initializers": n_listed_initializers,
    "default": n_default,
    "value-info-order": n_value_info_order,
}


def _outside(message: Message, excluded: tuple[str, ...]) -> Iterator[Message]:
    """``walk`` that does not enter messages of these types."""
    if message.DESCRIPTOR.full_name in excluded:
        return
    yield message
    for field, value in message.ListFields():
        if field.message_type is not None:
            for inner in value if field.is_repeated else [value]:
                yield from _outside(inner, excluded)


def changes(model: onnx.ModelProto) -> list[str]:
    """What decode and encode change in ``model`` beside the documented normalisations."""
    loaded, residue = decode(model)
    saved = encode(loaded, residue)
    assert encode_bytes(*decode(saved)) == encode_bytes(loaded, residue), "saving twice must give the same bytes"
    expected, got = onnx.ModelProto(), onnx.ModelProto()
    expected.CopyFrom(model)
    got.CopyFrom(saved)
    for name, apply in NORMALISATIONS.items():
        apply(expected)
        if name in ("default", "value-info-order", "dim-param"):  # the others encode itself must have applied
            apply(got)
    return list(differences(expected, got))


# ---- ONNX's own cases ---------------------------------------------------------------------------------------


@cache
def onnx_cases(kind: str) -> list[tuple[str, onnx.ModelProto]]:
    """Name and model of every case of this kind in ``onnx.backend.test``."""
    here = Path(onnx.__file__).parents[1]
    found: list[tuple[str, onnx.ModelProto]] = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # the cases compute infinities on purpose
        cases = load_model_tests(kind=kind)
    for case in cases:
        if case.model is not None:
            found.append((case.name, case.model))
            continue
        path = here / case.url if case.url else Path(case.model_dir or "", "model.onnx")
        found.append((case.name, onnx.load(path)))
    return found


@pytest.mark.conformance
@pytest.mark.parametrize(
    ("kind", "at_least"),
    [("node", 1800), ("simple", 23), ("real", 9), ("pytorch-converted", 82), ("pytorch-operator", 35)],
)
def test_cases_of_onnx(kind: str, at_least: int) -> None:
    cases = onnx_cases(kind)
    assert len(cases) >= at_least
    failed = {name: found[:3] for name, model in cases if (found := changes(model))}
    assert not failed


# ---- synthetic models ---------------------------------------------------------------------------------------


@cache
def synthetic_models() -> list[onnx.ModelProto]:
    return [synthetic_model(seed) for seed in range(SYNTHETIC)]


@pytest.mark.conformance
def test_synthetic_models() -> None:
    failed = {seed: found[:3] for seed, model in enumerate(synthetic_models()) if (found := changes(model))}
    assert not failed


def test_synthetic_models_use_every_field_and_enum_value() -> None:
    used: set[str] = set()
    elements: set[int] = set()
    stored: set[int] = set()
    enums: dict[str, set[int]] = {}
    for model in synthetic_models():
        for message in walk(model):
            for field, value in message.ListFields():
                used.add(field.full_name)
                if field.enum_type is not None:
                    enums.setdefault(field.enum_type.full_name, set()).add(value)
            if isinstance(message, onnx.TypeProto.Tensor):
                elements.add(message.elem_type)
            if isinstance(message, onnx.TensorProto):
                stored.add(message.data_type)
    # onnx.proto marks no field that still stands in it as deprecated, so none is left out
    assert message_types(onnx.ModelProto) - used == set()
    assert elements == set(TensorProto.DataType.values())
    assert stored == set(TensorProto.DataType.values()) - {TensorProto.UNDEFINED}  # a tensor has an element type
    assert enums == {
        # UNDEFINED is for IR version 1 only, see test_attribute_without_type
        "onnx.AttributeProto.AttributeType": set(onnx.AttributeProto.AttributeType.values())
        - {onnx.AttributeProto.UNDEFINED},
        "onnx.TensorProto.DataLocation": set(TensorProto.DataLocation.values()),
    }


@pytest.mark.parametrize("typed", [False, True])
@pytest.mark.parametrize("dtype", BITS, ids=TensorProto.DataType.Name)
def test_numeric_tensors_keep_their_bytes(dtype: int, typed: bool) -> None:
    import random

    for seed in range(8):
        tensor, raw = numeric_tensor(random.Random(seed), dtype, "w", typed=typed)
        model = tiny(initializer=[tensor])
        loaded, residue = decode(model)
        held = loaded.graph.initializers["w"].const_value
        assert held is not None
        assert held.tobytes() == raw
        assert encode(loaded, residue).graph.initializer[0] == tensor


# ---- the list of normalisations is exactly the documented one ------------------------------------------------


def tiny(**graph: object) -> onnx.ModelProto:
    """Identity from x to y, with more fields of the graph."""
    node = onnx.helper.make_node("Identity", ["x"], ["y"], name="n")
    x, y = (onnx.helper.make_tensor_value_info(n, TensorProto.FLOAT, [2]) for n in "xy")
    model = onnx.helper.make_model(
        onnx.helper.make_graph([node], "g", [x], [y]), opset_imports=[onnx.helper.make_opsetid("", 17)], ir_version=8
    )
    model.graph.MergeFrom(onnx.GraphProto(**graph))  # type: ignore[arg-type]
    return model


def with_default(model: onnx.ModelProto) -> None:
    model.producer_name = ""


def with_value_info_order(model: onnx.ModelProto) -> None:
    model.graph.node.insert(0, onnx.helper.make_node("Relu", ["x"], ["r"]))
    for name in "xr":
        model.graph.value_info.append(onnx.helper.make_tensor_value_info(name, TensorProto.FLOAT, [2]))


def with_domain(model: onnx.ModelProto) -> None:
    model.graph.node[0].domain = "ai.onnx"


def with_opset_import(model: onnx.ModelProto) -> None:
    model.opset_import.add(domain="", version=17)


def with_dim_param(model: onnx.ModelProto) -> None:
    model.graph.input[0].type.tensor_type.shape.dim[0].dim_param = ""


def with_graph_attribute_type(model: onnx.ModelProto) -> None:
    model.graph.node[0].attribute.add(name="body").g.name = "inner"


def with_listed_initializers(model: onnx.ModelProto) -> None:
    model.ir_version = 3
    model.graph.initializer.add(name="w", data_type=TensorProto.FLOAT, dims=[1], float_data=[1])


@pytest.mark.parametrize("name", NORMALISATIONS)
def test_each_normalisation_happens(name: str) -> None:
    model = tiny()
    globals()[f"with_{name.replace('-', '_')}"](model)
    saved = encode(*decode(model))
    assert list(differences(model, saved))
    assert not changes(model)


def test_the_document_lists_these_normalisations(root: Path) -> None:
    rows = re.findall(r"^\| `([a-z-]+)` \|", (root / "docs/normalisations.md").read_text(), re.MULTILINE)
    assert set(rows) == {*NORMALISATIONS, "external-data"}  # the last: tests/frontends/test_external_data_inlining.py


# ---- single points ------------------------------------------------------------------------------------------


def test_attribute_without_type() -> None:
    model = tiny()
    model.graph.node[0].attribute.add(name="axis").i = 3  # as IR version 1 wrote it
    loaded, _ = decode(model)
    attr = next(iter(loaded.graph)).attributes["axis"]
    assert (attr.type, attr.value) == (ir.AttributeType.INT, 3)
    assert not changes(model)


@pytest.mark.parametrize("name", ["v", "v" * 300])
def test_value_info_that_says_nothing_is_kept(name: str) -> None:
    model = tiny()
    model.graph.node[0].output.append(name)
    model.graph.value_info.add(name=name, doc_string="")
    assert len(encode(*decode(model)).graph.value_info) == 1
    assert not changes(model)


def test_trailing_empty_output_is_kept() -> None:
    model = tiny()
    model.graph.node[0].output.append("")
    assert list(encode(*decode(model)).graph.node[0].output) == ["y", ""]


def test_source_is_not_aliased() -> None:
    weights = TensorProto(name="w", dims=[1], data_type=TensorProto.FLOAT, raw_data=b"\0\0\0\0")
    model = tiny(initializer=[weights])
    loaded, residue = decode(model)
    model.graph.initializer[0].raw_data = b"\0\0\x80?"
    assert encode(loaded, residue).graph.initializer[0].raw_data == b"\0\0\0\0"


def test_renamed_and_replaced_parts_are_written() -> None:
    weights = TensorProto(name="w", dims=[1], data_type=TensorProto.FLOAT, raw_data=b"\0\0\0\0", doc_string="kept")
    model = tiny(initializer=[weights])
    model.graph.node[0].attribute.add(name="a", type=onnx.AttributeProto.INT, i=1, doc_string="old")
    loaded, residue = decode(model)
    encode_bytes(loaded, residue)  # fills every cache
    value = loaded.graph.initializers["w"]
    value.name = "renamed"
    node = next(iter(loaded.graph))
    node.attributes["a"].doc_string = "new"
    saved = encode(loaded, residue).graph
    assert (saved.initializer[0].name, saved.initializer[0].doc_string) == ("renamed", "kept")
    assert saved.node[0].attribute[0].doc_string == "new"
    value.const_value = ir.tensor(np.array([2.0], dtype=np.float32))
    assert encode(loaded, residue).graph.initializer[0].raw_data == np.float32(2).tobytes()


def test_what_was_said_of_a_value_goes_when_it_is_no_longer_true() -> None:
    weights = TensorProto(name="w", dims=[1], data_type=TensorProto.FLOAT, raw_data=b"\0\0\0\0")
    model = tiny(initializer=[weights])
    model.graph.value_info.append(onnx.helper.make_tensor_value_info("w", TensorProto.FLOAT, ["N"]))
    model.graph.quantization_annotation.add(tensor_name="w")
    loaded, residue = decode(model)
    assert len(encode(loaded, residue).graph.value_info) == 1
    loaded.graph.initializers["w"].const_value = ir.tensor(np.zeros(1, dtype=np.int64))
    saved = encode(loaded, residue).graph
    assert (len(saved.value_info), len(saved.quantization_annotation)) == (0, 0)


@pytest.mark.parametrize("copy", [ir.Model.clone, clone])
def test_copies_are_written_alike(copy: Callable[[ir.Model], ir.Model]) -> None:
    failed = []
    for seed, model in enumerate(synthetic_models()[::4]):
        loaded, residue = decode(model)
        if encode_bytes(copy(loaded), residue) != encode_bytes(loaded, residue):
            failed.append(seed)
    assert not failed


def test_sparse_initializer_is_seen_as_a_dense_tensor() -> None:
    sparse = onnx.SparseTensorProto(dims=[2, 2])
    sparse.values.CopyFrom(TensorProto(name="s", dims=[1], data_type=TensorProto.FLOAT, float_data=[5]))
    sparse.indices.CopyFrom(TensorProto(dims=[1, 2], data_type=TensorProto.INT64, int64_data=[1, 0]))
    loaded, _ = decode(tiny(sparse_initializer=[sparse]))
    tensor = loaded.graph.initializers["s"].const_value
    assert tensor is not None
    assert tensor.numpy().tolist() == [[0, 0], [5, 0]]


def test_data_in_a_file_that_was_not_read_are_carried_but_not_looked_into() -> None:
    outside = TensorProto(name="w", dims=[2], data_type=TensorProto.FLOAT, data_location=TensorProto.EXTERNAL)
    outside.external_data.add(key="location", value="/etc/passwd")
    loaded, residue = decode(tiny(initializer=[outside]))
    tensor = loaded.graph.initializers["w"].const_value
    assert tensor is not None
    for look in (tensor.numpy, tensor.tobytes):
        with pytest.raises(InvalidProgram, match="data of tensor 'w' are in another file"):
            look()
    assert encode(loaded, residue).graph.initializer[0] == outside


def flat_model_with_everything_carried() -> onnx.ModelProto:
    """No subgraph and no function, but each kind of statement that onnx-ir has no place for."""
    model = tiny()
    model.graph.value_info.append(onnx.helper.make_tensor_value_info("x", TensorProto.FLOAT, [2]))
    model.graph.quantization_annotation.add(tensor_name="y").quant_parameter_tensor_names.add(key="k", value="v")
    model.graph.output.append(onnx.helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N"]))
    mapped = model.graph.input.add(name="map")
    mapped.type.map_type.key_type = TensorProto.INT64
    mapped.type.map_type.value_type.tensor_type.elem_type = TensorProto.FLOAT
    model.training_info.add().initialization_binding.add(key="a", value="b")
    return model


@pytest.mark.parametrize("copy", [ir.Model.clone, clone])
def test_copies_carry_everything(copy: Callable[[ir.Model], ir.Model]) -> None:
    model = flat_model_with_everything_carried()
    loaded, residue = decode(model)
    assert encode_bytes(copy(loaded), residue) == encode_bytes(loaded, residue)
    assert not changes(model)


def test_programs_carry_everything() -> None:
    model = flat_model_with_everything_carried()
    program = Program.from_proto(model)
    assert program.to_bytes() == program.clone().to_bytes() == encode_bytes(*decode(model))


def test_sparse_constants_become_programs() -> None:
    model = tiny()
    constant = model.graph.node.add(op_type="Constant", output=["c"])
    sparse = constant.attribute.add(name="sparse_value", type=onnx.AttributeProto.SPARSE_TENSOR).sparse_tensor
    sparse.dims.append(3)
    sparse.values.CopyFrom(TensorProto(dims=[1], data_type=TensorProto.FLOAT, float_data=[5]))
    sparse.indices.CopyFrom(TensorProto(dims=[1], data_type=TensorProto.INT64, int64_data=[1]))
    assert Program.from_proto(model).to_proto().graph.node[1] == constant


def test_over_two_gigabytes_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("irfuzz.ir.serialization.model_encoding.MAX_BYTES", 10)
    with pytest.raises(InvalidProgram, match=r"at most 10 \(protobuf's limit\)"):
        encode_bytes(*decode(tiny()))


@pytest.mark.parametrize(
    "array",
    [
        np.zeros((), np.float32),
        np.zeros((0, 3), np.int64),
        np.array([True]),
        np.ones((4, 4), np.complex64)[:, ::2],
        np.array([1, 2, 3], ml_dtypes.bfloat16),
        np.array([1, -2, 3], ml_dtypes.int4),
    ],
    ids=lambda array: f"{array.dtype}{list(array.shape)}",
)
def test_plain_tensors_are_written_as_onnx_ir_writes_them(array: np.ndarray) -> None:
    """The short way of writing a tensor gives the bytes of the long one."""
    expected = ir.serde.serialize_tensor(ir.Tensor(array))
    expected.ClearField("name")
    assert tensor_bytes(ir.Tensor(array)) == expected.SerializeToString()
