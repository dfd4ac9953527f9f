"""An onnx-graphsurgeon graph enters, a ``ModelProto`` leaves."""

from __future__ import annotations

from typing import Any

import onnx

from irfuzz.errors import UsageError


def from_graphsurgeon(graph: Any) -> onnx.ModelProto:
    """Export a graph.

    Args:
        graph: an ``onnx_graphsurgeon.Graph``.

    Raises:
        UsageError: onnx-graphsurgeon is not installed, or ``graph`` is something else.
    """
    try:
        import onnx_graphsurgeon as gs
    except ImportError:
        raise UsageError("onnx-graphsurgeon is not installed; `pip install onnx-graphsurgeon`") from None
    if not isinstance(graph, gs.Graph):
        raise UsageError(f"expected an onnx_graphsurgeon.Graph, got {type(graph).__name__}")
    return gs.export_onnx(graph)
