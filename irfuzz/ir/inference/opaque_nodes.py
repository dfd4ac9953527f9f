"""Opaque nodes: of operators that irfuzz has no schema for, carried with the types that others gave their outputs.

The types come with the model (``value_info``) or from a runtime (``irfuzz.frontends.opaque_output_type_inference``).
They hold for the types of inputs that the node had then; both are kept with the node. If its inputs are made more
definite later, a named size becomes what it became there; if they become another size or type, nobody here can tell
what the operator makes of that, and the edit is refused.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import onnx_ir as ir

from irfuzz.errors import InvalidProgram
from irfuzz.facts import Dim, Fact, OpaqueFact, TensorFact
from irfuzz.ir.fact_type_conversion import render
from irfuzz.ir.value import UNTYPED

TYPING = "irfuzz.typing"
"""Key in ``node.meta`` of a ``OpaqueNodeTypes``."""

_DEFAULT = ("", "ai.onnx")


@dataclass(frozen=True, slots=True)
class OpaqueNodeTypes:
    """What an opaque node's outputs are, and for which inputs.

    Attributes:
        inputs: facts of the inputs, ``None`` for an omitted one.
        outputs: facts of the outputs.
    """

    inputs: tuple[Fact | None, ...]
    outputs: tuple[Fact, ...]


def is_foreign(node: ir.Node) -> bool:
    """Whether a node's domain is not the default one: only such a node can be opaque.

    The default domain is ``""`` or ``"ai.onnx"``.
    """
    return node.domain not in _DEFAULT


def remember(node: ir.Node, inputs: Sequence[Fact | None], outputs: Sequence[Fact]) -> None:
    """Keep the types of an opaque node's outputs for the inputs that it has.

    Args:
        node: they are kept in its ``meta``, in place of what was remembered.
        inputs: a fact for each, ``None`` for an omitted one; elements and ranges are dropped.
        outputs: a fact for each.
    """
    node.meta[TYPING] = OpaqueNodeTypes(tuple(map(_plain, inputs)), tuple(_plain(fact) or UNTYPED for fact in outputs))


def is_remembered(node: ir.Node) -> bool:
    """Whether the types of an opaque node's outputs are known already: those of the first time hold.

    It is false if one of them is ``UNTYPED``.
    """
    typing: OpaqueNodeTypes | None = node.meta.get(TYPING)
    return typing is not None and UNTYPED not in typing.outputs


def forget(node: ir.Node) -> None:
    """Have the types of a node's outputs read anew from what they declare; nothing happens if none are remembered."""
    node.meta.pop(TYPING, None)


def outputs_of(node: ir.Node, inputs: Sequence[Fact | None], where: str) -> Sequence[Fact]:
    """Facts of an opaque node's outputs; ``UNTYPED`` if nobody has said anything of them.

    They are those that ``remember`` kept, for the facts that the inputs have now. A named size is what it has become in
    the inputs; all sizes are unknown if one of the inputs' that was a number is open.

    Raises:
        InvalidProgram: its inputs are of other types or sizes than those for which its outputs are known.
    """
    typing: OpaqueNodeTypes | None = node.meta.get(TYPING)
    if typing is None or len(typing.outputs) != len(node.outputs):
        return [UNTYPED] * len(node.outputs)
    sizes: dict[str, Dim] = {}
    loose = False
    for place, (before, now) in enumerate(zip(typing.inputs, _filled(inputs, len(typing.inputs)), strict=False)):
        if isinstance(before, TensorFact) and isinstance(now, TensorFact):
            if before.dtype is not now.dtype or not _fits(before, now, sizes):
                raise InvalidProgram(
                    f"{where}: input {place} is {_shown(now)}; {node.domain}.{node.op_type} is only known "
                    f"to take {_shown(before)} there"
                )
            loose = loose or _looser(before, now)
        elif (before is None) != (now is None):
            raise InvalidProgram(f"{where}: input {place} of {node.domain}.{node.op_type} must stay as it is")
    return [_bound(fact, sizes, loose=loose) for fact in typing.outputs]


def _filled(inputs: Sequence[Fact | None], count: int) -> list[Fact | None]:
    """Inputs with those that were left away at the end."""
    return [*inputs, *[None] * (count - len(inputs))]


def _plain(fact: Fact | None) -> Fact | None:
    return fact.without_value() if isinstance(fact, TensorFact) else fact


def _fits(before: TensorFact, now: TensorFact, sizes: dict[str, Dim]) -> bool:
    """Whether a type can be one that was seen before, with some of its named sizes given other names or numbers."""
    if before.shape is None or now.shape is None:
        return True
    if len(before.shape) != len(now.shape):
        return False
    for old, new in zip(before.shape, now.shape, strict=True):
        if type(old) is int and type(new) is int and old != new:
            return False
        if isinstance(old, str) and sizes.setdefault(old, new) != new:
            sizes[old] = None
    return True


def _looser(before: TensorFact, now: TensorFact) -> bool:
    """Whether less is known of a size than before."""
    if before.shape is None:
        return False
    if now.shape is None:
        return True
    return any(type(old) is int and type(new) is not int for old, new in zip(before.shape, now.shape, strict=True))


def _bound(fact: Fact, sizes: dict[str, Dim], *, loose: bool) -> Fact:
    if not isinstance(fact, TensorFact) or fact.shape is None:
        return fact
    if loose:  # which of its sizes come from the one that is open now, nobody knows
        return replace(fact, shape=(None,) * len(fact.shape))
    return replace(fact, shape=tuple(sizes.get(d, d) if isinstance(d, str) else d for d in fact.shape))


def _shown(fact: TensorFact) -> str:
    return f"{fact.dtype.name.lower()} {render(fact.shape)}"


def is_typed(fact: Fact) -> bool:
    """Whether a fact says enough for a value to be an output: its type, and the rank of a tensor."""
    if isinstance(fact, OpaqueFact):
        return fact is not UNTYPED
    return not isinstance(fact, TensorFact) or fact.shape is not None
