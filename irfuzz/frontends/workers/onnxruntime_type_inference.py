"""Asks ONNXRuntime for the types of a model's values; imports no irfuzz."""

from __future__ import annotations

import re

import numpy as np
import onnx
import onnxruntime

_TENSOR = re.compile(r"(sparse_)?tensor\((\w+)\)")
_NAMED = {"float": "FLOAT", "double": "DOUBLE", "float8e8m0": "FLOAT8E8M0", "float4e2m1": "FLOAT4E2M1"}
"""ONNXRuntime's names of element types that are not ONNX's in small letters."""

_SIZES = (2, 3, 5, 7, 11, 13)


def handle(request: dict, values: list) -> tuple[dict, list]:
    """Type the values called ``request["names"]`` of the model in ``values[0]``.

    Returns:
        ``{"names", "reason"}``, and a serialised ``TypeProto`` for each of the names. A value without one is left out;
        ``reason`` is why the runtime has refused the model, or running it if only that tells a rank.
    """
    model = onnx.ModelProto.FromString(bytes(values[0]))
    wanted = list(request["names"])
    known = {info.name for info in model.graph.output}
    model.graph.output.extend(onnx.ValueInfoProto(name=name) for name in wanted if name not in known)
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    try:
        session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    except Exception as error:  # noqa: BLE001 - whatever the runtime raises is the answer
        return {"names": [], "reason": _line(error)}, []
    given = {output.name: output for output in session.get_outputs()}
    types: dict[str, onnx.TypeProto] = {}
    flat: list[str] = []
    for name in wanted:
        output = given[name]
        types[name] = _type_of(output.type, output.shape)
        # A scalar and a tensor of unknown rank look alike.
        if _TENSOR.fullmatch(output.type) and not output.shape:
            types[name].tensor_type.ClearField("shape")
            flat.append(name)
    reason = _observe(session, flat, types) if flat else ""
    return {"names": list(types), "reason": reason}, [made.SerializeToString() for made in types.values()]


def _observe(session: onnxruntime.InferenceSession, names: list, types: dict) -> str:
    """Give tensors the rank that they have in two runs, and the named sizes that they follow; or why none went."""
    try:
        runs = [_run(session, names, turn) for turn in (0, 1)]
    except Exception as error:  # noqa: BLE001 - as above
        return _line(error)
    (first, sizes), (second, others) = runs
    for name in names:
        one, two = np.shape(first[name]), np.shape(second[name])
        if len(one) != len(two):
            continue
        shape = types[name].tensor_type.shape
        shape.SetInParent()
        for a, b in zip(one, two):  # noqa: B905 - Python 3.9
            dim = shape.dim.add()
            same = [key for key, size in sizes.items() if (size, others[key]) == (a, b)]
            if same:
                dim.dim_param = same[0]
    return ""


def _run(session: onnxruntime.InferenceSession, names: list, turn: int) -> tuple[dict, dict]:
    """Outputs by name for made-up inputs, and the size of every named dimension."""
    sizes: dict[str, int] = {}
    feeds = {}
    for value in session.get_inputs():
        shape = []
        for size in value.shape:
            if isinstance(size, str):
                size = sizes.setdefault(size, _SIZES[(len(sizes) + turn) % len(_SIZES)])
            shape.append(2 + turn if size is None else size)
        kind = _type_of(value.type, None).tensor_type.elem_type
        text = kind == onnx.TensorProto.STRING
        feeds[value.name] = np.full(
            shape, *(("1", object) if text else (1, onnx.helper.tensor_dtype_to_np_dtype(kind)))
        )
    return dict(zip(names, session.run(names, feeds))), sizes  # noqa: B905


def _type_of(text: str, shape: list | None) -> onnx.TypeProto:
    """ONNXRuntime's spelling of a type as ONNX's."""
    made = onnx.TypeProto()
    plain = _TENSOR.fullmatch(text)
    if plain:
        tensor = made.sparse_tensor_type if plain[1] else made.tensor_type
        name = _NAMED.get(plain[2], plain[2].upper())
        tensor.elem_type = onnx.TensorProto.DataType.Value(name)
        if shape is not None:
            tensor.shape.SetInParent()
            for size in shape:
                dim = tensor.shape.dim.add()
                if isinstance(size, int):
                    dim.dim_value = size
                elif size:
                    dim.dim_param = size
        return made
    kind, _, inner = text.partition("(")
    if kind == "seq":
        made.sequence_type.elem_type.CopyFrom(_type_of(inner[:-1], None))
    elif kind == "optional":
        made.optional_type.elem_type.CopyFrom(_type_of(inner[:-1], None))
    elif kind == "map":
        key, _, value = inner[:-1].partition(",")
        made.map_type.key_type = onnx.TensorProto.DataType.Value(key.upper())
        made.map_type.value_type.CopyFrom(_type_of(value, None))
    return made


def _line(error: Exception) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[0][:300] if lines else type(error).__name__
