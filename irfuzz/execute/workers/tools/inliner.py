"""Inlines a model's functions by onnx.inliner."""

from __future__ import annotations

import onnx
import onnx.inliner


def version() -> str:
    """Of the installed onnx."""
    return str(onnx.__version__)


def convert(model: bytes, do: str) -> bytes:
    """``local`` (the model's own functions) or ``schema`` (also every operator that ONNX defines by a function)."""
    proto = onnx.load_model_from_string(model)
    if do == "local":
        made = onnx.inliner.inline_local_functions(proto)
    else:
        made = onnx.inliner.inline_selected_functions(proto, [], exclude=True, inline_schema_functions=True)
    return made.SerializeToString()
