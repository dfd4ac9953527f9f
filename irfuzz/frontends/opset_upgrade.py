"""Converts a model of an opset that is too old to be edited to the oldest opset that is not."""

from __future__ import annotations

import onnx

from irfuzz.errors import InvalidProgram
from irfuzz.frontends.isolated_onnx_calls import OnnxChecker

OLDEST = 9
"""Below it, operators that adapt types and shapes are missing or spelt in a way of their own."""


NEWEST = 17
"""Of what is imported into models that import nothing; that of the shipped seeds."""


def opset_of(model: onnx.ModelProto) -> int:
    """Version of the default domain, the highest if it is imported twice; 0 if it is not imported."""
    return max((entry.version for entry in model.opset_import if entry.domain in ("", "ai.onnx")), default=0)


def with_default_domain(model: onnx.ModelProto) -> bool:
    """Import the default domain if a model whose nodes are all of other domains does not; whether it was done.

    onnxmltools writes trees so. Nothing can be put beside them then. The version is the newest that the model's IR
    version came with, and that no component is too old for.
    """
    if opset_of(model) or not model.opset_import:
        return False
    fitting = [row[2] for row in onnx.helper.VERSION_TABLE if row[1] <= model.ir_version]
    model.opset_import.add(domain="", version=max(OLDEST, min(max(fitting, default=OLDEST), NEWEST)))
    return True


def upgraded(model: onnx.ModelProto, checker: OnnxChecker) -> tuple[bytes | None, str]:
    """Convert a model of an opset below ``OLDEST`` to that opset.

    Returns:
        The serialised model, ``None`` if it stays as it is, and what is to be told; empty if it is new enough.
    """
    opset = opset_of(model)
    if not 0 < opset < OLDEST:
        return None, ""
    try:
        data = checker.upgrade(model.SerializeToString(), OLDEST)
    except InvalidProgram as error:
        return None, f"opset {opset} cannot be converted to {OLDEST}, so it stays as it is: {error}"
    return data, f"opset {opset}, converted to {OLDEST}: irfuzz edits no older one"
