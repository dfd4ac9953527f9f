"""Imports a model into onnx-graphsurgeon, rearranges and exports it."""

from __future__ import annotations

import re

import onnx
import onnx_graphsurgeon as gs

GAP = re.compile(r"No corresponding Numpy type for Tensor Type")
"""ONNXRuntime's word where a folded constant is bfloat16; with ``error_ok``, the default, it is left as it is."""


def version() -> str:
    """Of the installed onnx-graphsurgeon."""
    return str(gs.__version__)


def convert(model: bytes, do: str) -> bytes:
    """``cleanup`` (remove what no output needs, and sort) or ``fold`` (constants, then the same)."""
    graph = gs.import_onnx(onnx.load_model_from_string(model))
    if do == "fold":
        graph.fold_constants(error_ok=False)
    graph.cleanup().toposort()
    return gs.export_onnx(graph).SerializeToString()
