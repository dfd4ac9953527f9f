"""Converts facts to and from ONNX types: those of onnx-ir values and ``TypeProto``."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import replace

import onnx
import onnx_ir as ir

from irfuzz.facts import Dim, Fact, OpaqueFact, OptionalFact, SequenceFact, TensorFact
from irfuzz.ir.value import UNTYPED

NO_NAMES = frozenset({"?", "-1", "None"})
"""Names of sizes that say that a size is unknown."""


def fact_of_shape(shape: ir.Shape | ir.ShapeProtocol | None) -> tuple[Dim, ...] | None:
    """Sizes of an onnx-ir shape; unnamed symbolic dimensions become ``None``, and so do negative ones.

    So do names that exporters write for an unknown size (``NO_NAMES``). ``None`` for ``None``: the rank is unknown.
    """
    if shape is None:
        return None
    return tuple((d if d >= 0 else None) if type(d) is int else _named(getattr(d, "value", None)) for d in shape.dims)


def _named(name: str | None) -> str | None:
    """The name of a size; ``None`` for what exporters write instead of one, often at several axes of one input."""
    return None if not name or name in NO_NAMES else name


def declared_fact(value: ir.Value) -> Fact:
    """What the model itself says of a value, whatever inference found; ``UNTYPED`` if it says nothing."""
    return fact_of_type(value.type, value.shape)


def fact_of_type(kind: ir.TypeProtocol | None, shape: ir.Shape | None) -> Fact:
    """The fact that an onnx-ir type and shape state.

    Args:
        kind: ``None`` gives ``UNTYPED``.
        shape: that of the innermost tensor of a sequence or optional; ``None`` if its rank is unknown.
    """
    if kind is None:
        return UNTYPED
    if isinstance(kind, ir.TensorType):
        return TensorFact(kind.dtype, fact_of_shape(shape))
    if isinstance(kind, ir.SequenceType):
        return SequenceFact(fact_of_type(kind.elem_type, shape))
    if isinstance(kind, ir.OptionalType):
        return OptionalFact(fact_of_type(kind.elem_type, shape))
    return OpaqueFact(type(kind).__name__)


def fact_of_proto(proto: onnx.TypeProto) -> Fact:
    """The fact that an ONNX ``TypeProto`` states.

    It is ``UNTYPED`` for an empty one and an ``OpaqueFact`` for maps and the like.
    """
    kind = proto.WhichOneof("value")
    if kind == "tensor_type":
        tensor = proto.tensor_type
        shape = _dims(tensor.shape.dim) if tensor.HasField("shape") else None
        return TensorFact(ir.DataType(tensor.elem_type), shape)
    if kind == "sequence_type":
        return SequenceFact(fact_of_proto(proto.sequence_type.elem_type))
    if kind == "optional_type":
        return OptionalFact(fact_of_proto(proto.optional_type.elem_type))
    return OpaqueFact(kind or "empty type") if kind else UNTYPED


def _dims(dims: Iterable[onnx.TensorShapeProto.Dimension]) -> tuple[Dim, ...]:
    # A negative size is what ONNX infers where no call of these types can run, or what an exporter wrote for "unknown".
    return tuple(
        (d.dim_value if d.dim_value >= 0 else None) if d.HasField("dim_value") else _named(d.dim_param) for d in dims
    )


def proto_of_fact(fact: Fact) -> onnx.TypeProto:
    """The ``TypeProto`` that states a fact; empty for what ONNX cannot say.

    Elements and range are not part of it, and neither is the length of a sequence.
    """
    proto = onnx.TypeProto()
    if isinstance(fact, TensorFact):
        proto.tensor_type.elem_type = fact.dtype.value
        if fact.shape is not None:
            dims = proto.tensor_type.shape.dim
            proto.tensor_type.shape.SetInParent()
            for d in fact.shape:
                dim = dims.add()
                if type(d) is int:
                    dim.dim_value = d
                elif isinstance(d, str):
                    dim.dim_param = d
    elif isinstance(fact, SequenceFact) and fact.elem is not None:
        proto.sequence_type.elem_type.CopyFrom(proto_of_fact(fact.elem))
    elif isinstance(fact, OptionalFact) and fact.elem is not None:
        proto.optional_type.elem_type.CopyFrom(proto_of_fact(fact.elem))
    return proto


def declare(value: ir.Value, fact: Fact) -> None:
    """Write a fact into the value's own type and shape, as the saved model will state it.

    The fact that inference left on the value stays. A fact that states no type removes what was declared.
    """
    kind, shape = _ir_type(fact)
    value.type = kind
    value.shape = shape


def undeclare(value: ir.Value) -> None:
    """Remove what the saved model would state of an inner value; its fact stays."""
    if value.type is not None:
        value.type = None
    if value.shape is not None:
        value.shape = None


def _ir_type(fact: Fact) -> tuple[ir.TypeProtocol | None, ir.Shape | None]:
    if isinstance(fact, TensorFact):
        return ir.TensorType(fact.dtype), None if fact.shape is None else ir.Shape(fact.shape)
    if isinstance(fact, SequenceFact) and fact.elem is not None:
        inner, shape = _ir_type(fact.elem)
        return (None, None) if inner is None else (ir.SequenceType(inner), shape)
    if isinstance(fact, OptionalFact) and fact.elem is not None:
        inner, shape = _ir_type(fact.elem)
        return (None, None) if inner is None else (ir.OptionalType(inner), shape)
    return None, None


def join(a: Fact | None, b: Fact | None) -> Fact:
    """The strongest fact that both ``a`` and ``b`` satisfy (the branches of an If, the turns of a Loop).

    Sizes and elements that differ become unknown, and the range covers both. ``UNTYPED`` if they are of different kinds
    or element types, or if one is ``None``.
    """
    if a is None or b is None:
        return UNTYPED
    if a == b:
        return a
    if isinstance(a, TensorFact) and isinstance(b, TensorFact) and a.dtype == b.dtype:
        shape: tuple[Dim, ...] | None = None
        if a.shape is not None and b.shape is not None and len(a.shape) == len(b.shape):
            shape = tuple(x if x == y and type(x) is type(y) else None for x, y in zip(a.shape, b.shape, strict=True))
        low = None if a.low is None or b.low is None else min(a.low, b.low)
        high = None if a.high is None or b.high is None else max(a.high, b.high)
        value = None
        if a.value is not None and b.value is not None and a.shape == b.shape == shape:
            value = tuple(x if x == y and type(x) is type(y) else None for x, y in zip(a.value, b.value, strict=True))
        return TensorFact(a.dtype, shape, low, high, value if value and any(e is not None for e in value) else None)
    if isinstance(a, SequenceFact) and isinstance(b, SequenceFact):
        return SequenceFact(join(a.elem, b.elem), a.length if a.length == b.length else None)
    if isinstance(a, OptionalFact) and isinstance(b, OptionalFact):
        return OptionalFact(join(a.elem, b.elem))
    return UNTYPED


def conflict(inferred: Fact, declared: Fact) -> str | None:
    """Why two facts about one value cannot both hold, or ``None`` if they can.

    Args:
        inferred: what is computed.
        declared: what the model says of it; unknown and named sizes agree with every size.

    Returns:
        A text to follow the name of the value and ``is``.
    """
    if isinstance(inferred, OpaqueFact) or isinstance(declared, OpaqueFact):
        return None
    if type(inferred) is not type(declared):
        return f"declared a {_kind(declared)}, but it is a {_kind(inferred)}"
    if isinstance(inferred, TensorFact) and isinstance(declared, TensorFact):
        if declared.dtype != inferred.dtype and ir.DataType.UNDEFINED not in (declared.dtype, inferred.dtype):
            return f"declared {declared.dtype.name}, but it is {inferred.dtype.name}"
        if inferred.shape is None or declared.shape is None:
            return None
        text = f"declared {render(declared.shape)}, but it is {render(inferred.shape)}"
        if len(inferred.shape) != len(declared.shape):
            return text
        if any(
            type(x) is int and type(y) is int and x != y for x, y in zip(inferred.shape, declared.shape, strict=True)
        ):
            return text
        return None
    if isinstance(inferred, SequenceFact | OptionalFact) and isinstance(declared, SequenceFact | OptionalFact):
        if inferred.elem is None or declared.elem is None:
            return None
        # Sequences hold tensors of different shapes; only their dtype is common.
        return None if _dtype(inferred.elem) == _dtype(declared.elem) else conflict(inferred.elem, declared.elem)
    return None


def merge(inferred: Fact, declared: Fact) -> Fact:
    """Fill what inference left open from the declaration; they must not conflict.

    Args:
        inferred: numbers and names of sizes in it stay, but a declared number replaces a name.
        declared: what the model says.

    Returns:
        One of the two as it is, or a new fact without known elements.
    """
    if isinstance(inferred, OpaqueFact):
        return declared
    if isinstance(inferred, TensorFact) and isinstance(declared, TensorFact):
        if inferred.shape is None:
            return TensorFact(inferred.dtype, declared.shape, inferred.low, inferred.high)
        if declared.shape is None or inferred.is_static:
            return inferred
        shape = tuple(
            y if x is None or (isinstance(x, str) and type(y) is int) else x
            for x, y in zip(inferred.shape, declared.shape, strict=True)
        )
        return inferred if shape == inferred.shape else TensorFact(inferred.dtype, shape, inferred.low, inferred.high)
    if isinstance(inferred, SequenceFact | OptionalFact) and (
        inferred.elem is None or isinstance(inferred.elem, OpaqueFact)
    ):
        return declared
    return inferred


def only_names(fact: Fact, names: frozenset[str]) -> Fact:
    """``fact`` with every named size unknown whose name is not one of ``names``.

    In a sequence every named size is unknown: its tensors may each have a size of their own.
    """
    if isinstance(fact, TensorFact):
        if fact.shape is None or not any(isinstance(d, str) and d not in names for d in fact.shape):
            return fact
        return replace(fact, shape=tuple(None if isinstance(d, str) and d not in names else d for d in fact.shape))
    if isinstance(fact, SequenceFact) and fact.elem is not None:
        # The tensors of a sequence may each have a size of their own.
        return replace(fact, elem=only_names(fact.elem, frozenset()))
    if isinstance(fact, OptionalFact) and fact.elem is not None:
        return replace(fact, elem=only_names(fact.elem, names))
    return fact


def meaningful_names(graph: ir.Graph) -> frozenset[str]:
    """The names of sizes that stand for one size in every run.

    Those of the graph's inputs do, and so does a name that is declared in one place only. Of other names exporters
    make no such promise: torch.onnx calls each first size behind a ReduceMean "ReduceMeanout_dim_0".
    """
    given = {name for value in graph.inputs for name in _names(value)}
    inner = [value for node in graph.all_nodes() for value in node.outputs]
    passed = [value for part in graph.subgraphs() for value in part.inputs]
    count = Counter(name for value in (*inner, *passed) for name in _names(value))
    return frozenset(given | {name for name, places in count.items() if places == 1})


def _names(value: ir.Value) -> list[str]:
    return [] if value.shape is None else [d for d in fact_of_shape(value.shape) or () if isinstance(d, str)]


def render(shape: Iterable[Dim] | None) -> str:
    """A shape as people write it, ``[2,N,?]``; ``unknown shape`` for ``None``."""
    return "unknown shape" if shape is None else "[" + ",".join("?" if d is None else str(d) for d in shape) + "]"


def _kind(fact: Fact) -> str:
    if isinstance(fact, TensorFact):
        return "tensor"
    if isinstance(fact, SequenceFact):
        return "sequence"
    return "optional" if isinstance(fact, OptionalFact) else "value"


def _dtype(fact: Fact) -> ir.DataType | None:
    return fact.dtype if isinstance(fact, TensorFact) else None
