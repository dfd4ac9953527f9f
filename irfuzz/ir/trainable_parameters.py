"""Which initializers of a model training changes: a front end that knows the variables writes it into the model."""

from __future__ import annotations

import json

import onnx_ir as ir

from irfuzz.errors import InvalidProgram

KEY = "irfuzz.parameters"
"""Metadata of a model: a JSON list of names of initializers."""


def parameters_of(model: ir.Model) -> frozenset[str] | None:
    """The names of the initializers that training changes, ``None`` if nobody has said which.

    Whether the model still has them is not checked.

    Raises:
        InvalidProgram: the metadata is no list of names.
    """
    text = model.metadata_props.get(KEY)
    if text is None:
        return None
    try:
        names = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InvalidProgram(f"metadata {KEY} is not JSON: {error}") from None
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):  # pyright: ignore[reportUnknownVariableType]
        raise InvalidProgram(f"metadata {KEY}: expected a list of names, got {text[:80]!r}")
    return frozenset(names)  # pyright: ignore[reportUnknownArgumentType]
