"""A program that irfuzz made, in the forms in which others take models."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import onnx

from irfuzz.frontends.graphsurgeon_conversion import to_graphsurgeon

if TYPE_CHECKING:
    from irfuzz.ir.program import Program


class ProducedModel:
    """Base of what mutation, generation and synthesis give; they hold ``program``, which is not changed any more."""

    program: Program

    @cached_property
    def _bytes(self) -> bytes:
        return self.program.to_bytes()

    def to_bytes(self) -> bytes:
        """The program as a serialized ONNX model, made at the first call."""
        return self._bytes

    @property
    def model_proto(self) -> onnx.ModelProto:
        """The program as an ONNX model; a new message each time, free to be changed."""
        return self.program.to_proto()

    def to_graphsurgeon(self) -> Any:
        """The program as an ``onnx_graphsurgeon.Graph``.

        Raises:
            UsageError: onnx-graphsurgeon is not installed.
        """
        return to_graphsurgeon(self.model_proto)
