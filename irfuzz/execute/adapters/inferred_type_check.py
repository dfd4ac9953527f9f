"""Contradictions between the types that a tool inferred and the values that were computed, as text."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import onnx
import onnx_ir as ir

from irfuzz.execute.run_types import Value

MOST = 20
"""Contradictions that are told."""


def contradictions(made: bytes, sizes: Mapping[str, int], values: Mapping[str, Value]) -> list[str]:
    """Compare the types in a model with what was computed.

    Args:
        made: the model with inferred types.
        sizes: of the dimensions that its inputs name; other names are the tool's own, and say nothing.
        values: computed, by name.

    Returns:
        One line for each value whose inferred element type, rank or size is another than the computed one, in the order
        of the model's values.
    """
    graph = onnx.load_model_from_string(made).graph
    told: dict[str, str] = {}
    for info in (*graph.value_info, *graph.output):
        if info.name in values and info.name not in told:
            why = _differs(info.type, values[info.name], sizes)
            if why:
                told[info.name] = f"{info.name!r}: {why}"
    order = [name for node in graph.node for name in node.output]
    first = [told[name] for name in order if name in told]
    return [*first, *(text for name, text in told.items() if name not in set(order))][:MOST]


def sizes_of(model: bytes, shapes: Mapping[str, tuple[int, ...]]) -> dict[str, int]:
    """The size of each dimension that the inputs of a model name, by the shapes of what they are given."""
    found: dict[str, int] = {}
    for info in onnx.load_model_from_string(model).graph.input:
        dims = info.type.tensor_type.shape.dim
        for dim, size in zip(dims, shapes.get(info.name, ()), strict=False):
            if dim.dim_param:
                found.setdefault(dim.dim_param, size)
    return found


def _differs(kind: onnx.TypeProto, value: Value, sizes: Mapping[str, int]) -> str:
    """What is wrong, empty if nothing is."""
    which = kind.WhichOneof("value")
    if which == "optional_type":
        return "" if value is None else _differs(kind.optional_type.elem_type, value, sizes)
    if which == "sequence_type":
        if not isinstance(value, list):
            return f"inferred a sequence, computed {_shown(value)}"
        return next((why for item in value if (why := _differs(kind.sequence_type.elem_type, item, sizes))), "")
    if which != "tensor_type":
        return ""
    if not isinstance(value, np.ndarray):
        return f"inferred a tensor, computed {_shown(value)}"
    tensor = kind.tensor_type
    wanted: list[int | str] | None = None
    wrong = False
    if tensor.HasField("shape"):
        wanted = [
            d.dim_value if d.HasField("dim_value") else sizes.get(d.dim_param, d.dim_param or "?")
            for d in tensor.shape.dim
        ]
        wrong = len(wanted) != value.ndim or any(
            isinstance(w, int) and w != size for w, size in zip(wanted, value.shape, strict=False)
        )
    inferred = ir.DataType(tensor.elem_type)
    if tensor.elem_type and _name_of(inferred) != _name(value):
        wrong = True
    if not wrong:
        return ""
    shape = "of any shape" if wanted is None else f"[{','.join(map(str, wanted))}]"
    return f"inferred {_name_of(inferred)} {shape}, computed {_shown(value)}"


def _name_of(kind: ir.DataType) -> str:
    if kind == ir.DataType.STRING:
        return "string"
    return kind.numpy().name if kind != ir.DataType.UNDEFINED else "unknown"


def _name(value: np.ndarray) -> str:
    return "string" if value.dtype.kind in "OUS" else value.dtype.name


def _shown(value: Value) -> str:
    if value is None:
        return "nothing"
    if isinstance(value, list):
        return f"a sequence of {len(value)}"
    return f"{_name(value)} [{','.join(map(str, value.shape))}]"
