"""A model of an opset that is too old to be edited enters, the same at the oldest opset that is not leaves."""

from __future__ import annotations

import onnx

from irfuzz.errors import InvalidProgram
from irfuzz.frontends.checker import Checker

OLDEST = 9
"""Below it, operators that adapt types and shapes are missing or spelt in a way of their own."""


def opset_of(model: onnx.ModelProto) -> int:
    """Version of the default domain; 0 where it is not imported."""
    return max((entry.version for entry in model.opset_import if entry.domain in ("", "ai.onnx")), default=0)


def upgraded(model: onnx.ModelProto, checker: Checker) -> tuple[bytes | None, str]:
    """Convert a model of an opset below ``OLDEST`` to that opset.

    Returns:
        The serialised model, ``None`` where it stays as it is, and what is to be told; empty where it is new enough.
    """
    opset = opset_of(model)
    if not 0 < opset < OLDEST:
        return None, ""
    try:
        data = checker.upgrade(model.SerializeToString(), OLDEST)
    except InvalidProgram as error:
        return None, f"opset {opset} cannot be converted to {OLDEST}, so it stays as it is: {error}"
    return data, f"opset {opset}, converted to {OLDEST}: irfuzz edits no older one"
