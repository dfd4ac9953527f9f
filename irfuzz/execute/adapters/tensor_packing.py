"""Packs tensors of types that numpy lacks as bytes in ONNX's form, and unpacks them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import onnx
import onnx_ir as ir

from irfuzz.errors import Unsupported
from irfuzz.execute.run_types import Value

_FOREIGN = 2
"""``dtype.isbuiltin`` of other packages' types; their ``kind`` does not tell (``float8_e5m2`` claims ``f``), and 1 is
not what all of numpy's own have: an array that was pickled has 0."""


def pack(component: str, inputs: Mapping[str, Value]) -> tuple[list[dict[str, Any]], list[Value]]:
    """Describe ``inputs`` for a worker whose interpreter may lack ml_dtypes.

    Returns:
        For each input ``{"name"}``, or ``{"name", "raw": ONNX element type, "shape", "unit": numpy item type}`` if
        the value beside it is a uint8 array of packed elements (ONNX, ``TensorProto.raw_data``); and the values.

    Raises:
        Unsupported: a sequence holds tensors of such a type.
    """
    about: list[dict[str, Any]] = []
    values: list[Value] = []
    for name, value in inputs.items():
        if isinstance(value, np.ndarray) and value.dtype.isbuiltin == _FOREIGN:
            kind = ir.DataType.from_numpy(value.dtype)
            data = np.frombuffer(ir.Tensor(value, dtype=kind).tobytes(), np.uint8)
            unit = "u2" if kind.bitwidth == 16 else "u1"
            about.append({"name": name, "raw": int(kind), "shape": list(value.shape), "unit": unit})
            values.append(data)
            continue
        if isinstance(value, list) and any(isinstance(v, np.ndarray) and v.dtype.isbuiltin == _FOREIGN for v in value):
            raise Unsupported(
                component, f"graph input {name!r}", "its Python interface takes no sequence of such tensors"
            )
        about.append({"name": name})
        values.append(value)
    return about, values


def unpack(about: Sequence[Mapping[str, Any]], values: Sequence[Value]) -> dict[str, Value]:
    """Outputs by name, those marked ``raw`` as arrays of ml_dtypes' types again.

    Raises:
        ValueError: a packed tensor has too few or too many bytes for its shape.
    """
    outputs: dict[str, Value] = {}
    for entry, value in zip(about, values, strict=True):
        if "raw" in entry and isinstance(value, np.ndarray):
            proto = onnx.TensorProto(data_type=entry["raw"], dims=entry["shape"], raw_data=value.tobytes())
            outputs[entry["name"]] = onnx.numpy_helper.to_array(proto)
        else:
            outputs[entry["name"]] = value
    return outputs
