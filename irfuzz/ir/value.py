"""The value of a program: an onnx-ir value that carries its fact in slots of its own, and the access to both kinds."""

from __future__ import annotations

import onnx
import onnx_ir as ir

from irfuzz.facts import Fact, OpaqueFact
from irfuzz.ir.serialization.preserved_unsupported_fields import CARRIED, VerbatimType

FACT = "irfuzz.fact"
"""Key under which the ``meta`` of a value that is no ``TypedValue`` holds its fact."""

UNTYPED = OpaqueFact("nothing is declared or inferred")


class TypedValue(ir.Value):
    """A value as ``new_value`` makes it: ``meta`` would cost each clone four more objects a value.

    Attributes:
        fact: what is known of the value.
        verbatim: its type as it was read, if onnx-ir holds less.
    """

    __slots__ = ("fact", "verbatim")

    fact: Fact
    verbatim: VerbatimType | None


def new_value(
    name: str | None, kind: ir.TypeProtocol | None = None, shape: ir.Shape | None = None, fact: Fact = UNTYPED
) -> TypedValue:
    """A value that belongs to nothing yet.

    Args:
        name: ``""`` for an output that is left out.
        kind: the type that the model declares.
        shape: the shape that it declares.
        fact: what is known of it, which need not be declared.
    """
    value = TypedValue(name=name, shape=shape, type=kind)
    value.fact = fact
    value.verbatim = None
    return value


CONSTANT = "Constant"
"""The standard's operator that only spells a value. It is part of the format: a value among the nodes that others hold
as an initializer."""


def is_constant(node: ir.Node | onnx.NodeProto) -> bool:
    """Whether a node only spells a constant: it is ONNX's Constant, of the default domain."""
    return node.op_type == CONSTANT and node.domain in ("", "ai.onnx")


def fact_of(value: ir.Value) -> Fact:
    """The fact that inference left on a value; ``UNTYPED`` if it left none."""
    if type(value) is TypedValue:
        return value.fact
    return value.meta.get(FACT, UNTYPED)


def set_fact(value: ir.Value, fact: Fact) -> None:
    """Leave a fact on a value, in place of the one it has; what the model declares stays as it is."""
    if type(value) is TypedValue:
        value.fact = fact
    else:
        value.meta[FACT] = fact


def verbatim_of(value: ir.Value) -> VerbatimType | None:
    """The type as it was read, if onnx-ir holds less; else ``None``. Whether it still holds is not checked."""
    return value.verbatim if type(value) is TypedValue else value.meta.get(CARRIED)


def set_verbatim(value: ir.Value, verbatim: VerbatimType | None) -> None:
    """Keep the type as it was read; in ``meta`` too, which onnx-ir's own copies have.

    Args:
        value: of a program.
        verbatim: ``None`` if onnx-ir holds all of the type.
    """
    if type(value) is TypedValue:
        value.verbatim = verbatim
    if verbatim is not None:
        value.meta[CARRIED] = verbatim
