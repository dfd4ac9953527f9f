"""A model enters, what onnxscript's optimizer or rewriter makes of it leaves."""

from __future__ import annotations

import onnx
import onnxscript
import onnxscript.optimizer
import onnxscript.rewriter


def version() -> str:
    """Of the installed onnxscript."""
    return str(onnxscript.__version__)


def convert(model: bytes, do: str) -> bytes:
    """``optimize`` or ``rewrite`` with the defaults."""
    proto = onnx.load_model_from_string(model)
    made = onnxscript.optimizer.optimize(proto) if do == "optimize" else onnxscript.rewriter.rewrite(proto)
    return made.SerializeToString()
