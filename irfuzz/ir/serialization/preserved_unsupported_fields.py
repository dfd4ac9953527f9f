"""What onnx-ir has no place for: kept as serialised protobuf beside the program, with what each piece was bound to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import onnx_ir as ir

CARRIED = "irfuzz.carried"
"""Key in ``graph.meta`` of a ``UnsupportedFields``, and in ``value.meta`` of a ``VerbatimType``."""

WIRE = "irfuzz.wire"
"""Key in ``tensor.meta`` and ``attr.meta`` of what was already serialised."""


FREE_INITIALIZERS = 4
"""First IR version in which an initializer need not be a graph input (ONNX IR.md, "Graphs")."""


@dataclass(frozen=True, slots=True)
class Residue:
    """The parts of a model that belong to no graph and that onnx-ir cannot hold.

    Attributes:
        training_info: serialised ``TrainingInfoProto`` messages, in order.
    """

    training_info: tuple[bytes, ...] = ()


@dataclass(frozen=True, slots=True)
class VerbatimType:
    """A ``TypeProto`` that onnx-ir reads as less than it says (maps, opaque types, missing element types).

    It holds as long as the value's type and shape are what they were when it was read.
    """

    type: ir.TypeProtocol | None
    shape: ir.Shape | None
    proto: bytes


@dataclass(frozen=True, slots=True)
class ValueBinding:
    """What a value looked like when something about it was read; anything else makes that something stale."""

    type: Any
    shape: Any
    tensor: Any

    @classmethod
    def of(cls, value: ir.Value) -> ValueBinding:
        """The present look of ``value``: its type, shape and constant, not copied."""
        return cls(value.type, value.shape, value.const_value)

    def holds(self, value: ir.Value | None) -> bool:
        """True while ``value`` still has the type, shape and tensor it had.

        False for ``None``, a value that is gone.
        """
        return (
            value is not None
            and self.tensor is value.const_value
            and self.type == value.type
            and self.shape == value.shape
        )


@dataclass(frozen=True, slots=True)
class ValueStatement:
    """One serialised message about the value called ``name``.

    ``binding`` is ``None`` if the graph had no such value: then the statement is kept for ever.
    """

    name: str
    binding: ValueBinding | None
    proto: bytes

    def holds(self, values: dict[str, ir.Value]) -> bool:
        """True if the statement may still be written for a graph with these values, given by name."""
        return self.binding is None or self.binding.holds(values.get(self.name))


@dataclass(frozen=True, slots=True)
class UnsupportedFields:
    """What onnx-ir has no place for in one graph or function body.

    Attributes:
        value_info: serialised ``ValueInfoProto`` of values other than node outputs, or said a second time.
        annotations: serialised ``TensorAnnotation``.
        outputs: serialised ``ValueInfoProto`` of graph outputs that declare something else than the
            input or initializer which they pass on.
        listed: names of the inputs as they stand in the file, if its IR version lists initializers among them
            (``lists_initializers``).
    """

    value_info: tuple[ValueStatement, ...] = ()
    annotations: tuple[ValueStatement, ...] = ()
    outputs: tuple[ValueStatement, ...] = ()
    listed: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.value_info or self.annotations or self.outputs or self.listed)


def lists_initializers(ir_version: int) -> bool:
    """True if models of this IR version have to name every initializer among the inputs of its graph as well.

    Such an input cannot be overridden: it is a constant, and the list is a matter of the file format. A program holds
    it as an initializer alone; the list is written again when the model is. From IR version 4 on an input that has an
    initializer is what a caller may override.
    """
    return 0 < ir_version < FREE_INITIALIZERS
