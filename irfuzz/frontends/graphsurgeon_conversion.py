"""Converts graphs of onnx-graphsurgeon into ONNX models, and back."""

from __future__ import annotations

from typing import Any

import onnx
import onnx.helper

from irfuzz.errors import UsageError


def is_graphsurgeon(model: object) -> bool:
    """Whether something is a graph of onnx-graphsurgeon, which is not imported to find out."""
    return type(model).__module__.partition(".")[0] == "onnx_graphsurgeon"


def from_graphsurgeon(graph: Any) -> onnx.ModelProto:
    """Export a graph, with the IR version that belongs to its opset: onnx-graphsurgeon writes the newest there is.

    Args:
        graph: an ``onnx_graphsurgeon.Graph``; it stays as it is.

    Raises:
        UsageError: onnx-graphsurgeon is not installed, or ``graph`` is something else.
    """
    gs = _package()
    if not isinstance(graph, gs.Graph):
        raise UsageError(f"expected an onnx_graphsurgeon.Graph, got {type(graph).__name__}")
    model: onnx.ModelProto = gs.export_onnx(graph)
    model.ir_version = onnx.helper.find_min_ir_version_for(model.opset_import, ignore_unknown=True)
    return model


def to_graphsurgeon(model: onnx.ModelProto) -> Any:
    """An ``onnx_graphsurgeon.Graph`` that computes what a model computes.

    onnx-graphsurgeon has no place for the metadata of inputs, in which irfuzz keeps what they may be given, and gives
    each body constants of its own in place of those that it captures.

    Raises:
        UsageError: onnx-graphsurgeon is not installed.
    """
    return _package().import_onnx(model)


def _package() -> Any:
    try:
        import onnx_graphsurgeon
    except ImportError:
        raise UsageError("onnx-graphsurgeon is not installed; `pip install onnx-graphsurgeon`") from None
    return onnx_graphsurgeon
