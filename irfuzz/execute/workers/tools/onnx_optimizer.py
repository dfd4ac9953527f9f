"""Optimises a model by onnxoptimizer: by its default passes, or by one pass alone."""

from __future__ import annotations

import re

import onnx
import onnxoptimizer

GAP = re.compile(r"no supported data type")
"""What its reader says of element types that its own graph has no number for."""


def version() -> str:
    """Of the installed onnxoptimizer."""
    return str(onnxoptimizer.__version__)


def passes() -> list[str]:
    """What ``off`` may name: the default passes."""
    return list(onnxoptimizer.get_fuse_and_elimination_passes())


def convert(model: bytes, fixed_point: bool = False, only: str = "", off: str = "") -> bytes:
    """Optimise with the default passes but for those that are left out, once or until nothing changes.

    Args:
        model: what is optimised.
        fixed_point: go on until no pass changes anything.
        only: run this pass and no other.
        off: names of passes to leave out, with commas between them.
    """
    if only and only not in onnxoptimizer.get_available_passes():
        raise NotImplementedError(f"onnxoptimizer {onnxoptimizer.__version__} has no pass {only}")
    left_out = set(off.split(","))
    chosen = [name for name in ([only] if only else passes()) if name not in left_out]
    made = onnxoptimizer.optimize(onnx.load_model_from_string(model), chosen, fixed_point)
    return bytes(made.SerializeToString())
