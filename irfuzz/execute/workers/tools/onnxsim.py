"""Simplifies a model by onnxsim."""

from __future__ import annotations

from typing import Any

import onnx
import onnx.parser
import onnxsim

STAGES = ("constant_folding", "shape_inference")
"""What can be left out beside single optimisers."""

TINY = '<ir_version: 8, opset_import: ["" : 17]> g (float[1] x) => (float[1] y) { y = Neg (x) }'


def version() -> str:
    """Of the installed onnxsim."""
    return str(onnxsim.__version__)


def passes() -> list[str]:
    """What ``off`` may name: the stages, and the optimisers as far as this version lists them.

    onnxsim adds optimisers of its own to those of onnxoptimizer when it first simplifies something, and not before.
    """
    onnxsim.simplify(onnx.parser.parse_model(TINY))
    native: Any = getattr(onnxsim, "onnxsim_cpp2py_export", None)
    optimizers = native._list_optimizers() if hasattr(native, "_list_optimizers") else []  # noqa: SLF001
    return [*STAGES, *optimizers]


def convert(model: bytes, off: str = "") -> bytes:
    """Simplify with the defaults, but for passes that are left out."""
    left_out = [name for name in off.split(",") if name]
    settings: dict[str, Any] = {f"skip_{stage}": True for stage in STAGES if stage in left_out}
    optimizers = [name for name in left_out if name not in STAGES]
    if optimizers:
        settings["skipped_optimizers"] = optimizers
    simplified, _ = onnxsim.simplify(onnx.load_model_from_string(model), **settings)
    return simplified.SerializeToString()
