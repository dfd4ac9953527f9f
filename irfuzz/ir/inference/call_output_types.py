"""One operator call as a hashable key of facts and attributes, and ONNX's own output types for it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, TypeAlias

import numpy as np
import onnx
import onnx_ir as ir
from onnx import defs, shape_inference

from irfuzz.errors import InvalidProgram
from irfuzz.facts import Fact, TensorFact
from irfuzz.ir.fact_type_conversion import fact_of_proto, proto_of_fact
from irfuzz.ir.inference.crash_guards import deadly
from irfuzz.ir.inference.static_shape_rules import direct_outputs
from irfuzz.ir.serialization.checked_tensors import array_tensor
from irfuzz.ir.serialization.model_encoding import attribute_bytes
from irfuzz.ir.value import UNTYPED
from irfuzz.spec import load_specs

AttrValue: TypeAlias = "int | float | str | tuple[Any, ...] | bytes"


@dataclass(frozen=True, slots=True)
class CallKey:
    """Everything that decides the output types of one node without subgraphs.

    Attributes:
        domain: operator domain, ``""`` for the default one.
        op: operator type.
        opset: version of the domain that the model imports.
        attrs: ``(name, attribute type, value)``; tensors as serialized protos.
        inputs: a fact for each input, ``None`` for an omitted one.
        outputs: for each output whether it is named.
    """

    domain: str
    op: str
    opset: int
    attrs: tuple[tuple[str, int, AttrValue], ...]
    inputs: tuple[Fact | None, ...]
    outputs: tuple[bool, ...]


def hashable_attrs(attributes: Mapping[str, ir.Attr]) -> tuple[tuple[str, int, AttrValue], ...]:
    """Attributes as a hashable tuple, in the order in which the node holds them.

    Args:
        attributes: by name.

    Returns:
        ``(name, attribute type, value)`` of each: numbers and strings as they are, lists of them as tuples, everything
        else
        as a serialised ``AttributeProto``.
    """
    found: list[tuple[str, int, AttrValue]] = []
    for name, attr in attributes.items():
        kind, value = attr.type, attr.value
        if kind in _PLAIN:
            found.append((name, kind.value, value))
        elif kind in _LISTS:
            found.append((name, kind.value, tuple(value)))
        else:
            found.append((name, kind.value, attribute_bytes(attr)))
    return tuple(found)


_A = ir.AttributeType
_PLAIN = frozenset({_A.INT, _A.FLOAT, _A.STRING})
_LISTS = frozenset({_A.INTS, _A.FLOATS, _A.STRINGS})
_PLAIN_NUMBERS = frozenset(int(kind.value) for kind in _PLAIN | _LISTS)


@lru_cache(maxsize=1 << 10)
def schema_outputs(call: CallKey) -> tuple[Fact, ...]:
    """Output facts of a call as ``onnx.shape_inference.infer_node_outputs`` sees them.

    Returns:
        One fact for each output, ``UNTYPED`` if ONNX says nothing.

    Raises:
        InvalidProgram: the operator is unknown at this opset, or the call is ill-typed.
    """
    schema = schema_of(call.op, call.opset, call.domain)
    if schema is None:
        raise InvalidProgram(f"{call.domain or 'ai.onnx'}::{call.op} is not an operator of opset {call.opset}")
    check_attribute_types(call.op, call.opset, call.domain, ((name, kind) for name, kind, _ in call.attrs))
    return direct_outputs(call, schema) or _asked(call, schema)


_REFUSALS = (shape_inference.InferenceError, onnx.checker.ValidationError, RuntimeError, ValueError, IndexError)
"""What ``onnx.shape_inference`` raises; an ``IndexError`` where its C++ code looks beyond the end of a list."""


def _asked(call: CallKey, schema: defs.OpSchema) -> tuple[Fact, ...]:
    """``schema_outputs`` by ONNX itself."""
    attrs = {name: value for name, _, value in call.attrs}
    if why := deadly(call.op, attrs, call.inputs, len(call.outputs)):
        raise InvalidProgram(f"{call.op}: {why}")
    node = onnx.NodeProto(op_type=call.op, domain=call.domain)
    types: dict[str, onnx.TypeProto] = {}
    data: dict[str, onnx.TensorProto] = {}
    for i, fact in enumerate(call.inputs):
        node.input.append("" if fact is None else f"i{i}")
        if fact is None:
            continue
        types[f"i{i}"] = proto_of_fact(fact)
        if isinstance(fact, TensorFact) and fact.value is not None:
            tensor = known_tensor(fact)
            if tensor is not None:
                data[f"i{i}"] = tensor
    node.output.extend(f"o{i}" if named else "" for i, named in enumerate(call.outputs))
    for name, kind, value in call.attrs:
        node.attribute.append(attr_proto(name, kind, value))
    opsets = [onnx.helper.make_opsetid(call.domain, call.opset)]
    try:
        found = shape_inference.infer_node_outputs(schema, node, types, data, opset_imports=opsets, ir_version=11)
    except _REFUSALS as error:
        raise InvalidProgram(f"{call.op}: {one_line(str(error))}") from None
    return tuple(fact_of_proto(found[f"o{i}"]) if f"o{i}" in found else UNTYPED for i in range(len(call.outputs)))


@lru_cache(maxsize=4096)
def schema_of(op: str, opset: int, domain: str = "") -> defs.OpSchema | None:
    """The operator's schema at an opset, ``None`` if there is none (or it is deprecated there).

    Args:
        op: operator type.
        opset: version of the domain that a model imports; the schema is the newest one up to it.
        domain: ``"ai.onnx"`` is the default one too.
    """
    domain = "" if domain == "ai.onnx" else domain
    try:
        schema = defs.get_schema(op, opset, domain)
    except defs.SchemaError:
        return None
    return None if schema.deprecated else schema


def infer_attribute_types(op: str, opset: int, domain: str, attrs: Mapping[str, Any]) -> dict[str, ir.Attr]:
    """Python values as typed attributes, with the types that the operator's schema gives them.

    Args:
        op: operator type.
        opset: version of the domain.
        domain: ``""`` for the default one. If neither ONNX nor an overlay states the types, onnx-ir guesses them.
        attrs: by name; ``None`` leaves one out, and a ready ``ir.Attr`` stays as it is.

    Raises:
        InvalidProgram: the operator has no attribute of that name.
    """
    known = _kinds(op, opset, domain)
    typed: dict[str, ir.Attr] = {}
    for name, value in attrs.items():
        if value is None:
            continue
        if type(value) is ir.Attr:  # isinstance() of a class with a protocol for base takes ten times as long
            typed[name] = value
            continue
        if known is None:
            typed[name] = ir.convenience.convert_attribute(name, value)
            continue
        kind = known.get(name)
        if kind is None:
            raise InvalidProgram(f"{op} has no attribute {name!r} at opset {opset}; it has {sorted(known)}")
        if kind is _A.INT and type(value) is int:
            typed[name] = _integer_attr(name, value)
        else:
            typed[name] = ir.Attr(name, kind, _attr_value(kind, value))
    return typed


@lru_cache(maxsize=4096)
def _kinds(op: str, opset: int, domain: str) -> Mapping[str, ir.AttributeType] | None:
    """The types of an operator's attributes; ``None`` if nobody states them."""
    schema = schema_of(op, opset, domain)
    if schema is not None:
        return {n: ir.AttributeType(int(a.type)) for n, a in schema.attributes.items()}  # type: ignore[call-overload]
    spec = load_specs().get(op, opset, domain) if domain else None
    return None if spec is None else {n: ir.AttributeType[a.type] for n, a in spec.attrs.items()}


def check_attribute_types(op: str, opset: int, domain: str, attrs: Iterable[tuple[str, int]]) -> None:
    """Whether attributes have the types that the operator states.

    Args:
        op: operator type.
        opset: version of the domain.
        domain: ``""`` for the default one.
        attrs: name and number of the ``AttributeType`` of each.

    Raises:
        InvalidProgram: one is of another type.
    """
    known = _kinds(op, opset, domain) or {}
    for name, kind in attrs:
        expected = known.get(name)
        if expected is not None and expected.value != kind:
            raise InvalidProgram(
                f"{op}: attribute {name!r} is of type {ir.AttributeType(kind).name}; expected {expected.name}"
            )


@lru_cache(maxsize=4096)
def _integer_attr(name: str, value: int) -> ir.Attr:
    """Nobody changes an attribute, so equal ones are the same, and keep the bytes that they are written as."""
    return ir.Attr(name, _A.INT, value)


def _attr_value(kind: ir.AttributeType, value: Any) -> Any:
    if kind is _A.INT:
        return int(value)
    if kind is _A.FLOAT:
        # What the file will hold: a single-precision number.
        return float(np.float32(value))
    if kind is _A.INTS:
        return tuple(int(v) for v in value)
    if kind is _A.FLOATS:
        return tuple(float(np.float32(v)) for v in value)
    if kind is _A.STRINGS:
        return tuple(value)
    if kind is _A.TENSOR and isinstance(value, np.ndarray):
        return array_tensor(value)
    return value


def attr_proto(name: str, kind: int, value: AttrValue) -> onnx.AttributeProto:
    """The inverse of one entry of ``hashable_attrs``.

    Args:
        name: of the attribute.
        kind: number of its ``AttributeType``.
        value: a number, a string, a tuple of them, or a serialised ``AttributeProto``.
    """
    if isinstance(value, bytes) and kind not in _PLAIN_NUMBERS:
        return onnx.AttributeProto.FromString(value)
    proto = onnx.AttributeProto(name=name, type=kind)  # type: ignore[arg-type]
    attribute_type = ir.AttributeType(kind)
    if attribute_type is _A.INT:
        proto.i = value  # type: ignore[assignment]
    elif attribute_type is _A.FLOAT:
        proto.f = value  # type: ignore[assignment]
    elif attribute_type is _A.STRING:
        proto.s = value if isinstance(value, bytes) else str(value).encode()
    elif attribute_type is _A.INTS:
        proto.ints.extend(value)  # type: ignore[arg-type]
    elif attribute_type is _A.FLOATS:
        proto.floats.extend(value)  # type: ignore[arg-type]
    else:
        proto.strings.extend(v if isinstance(v, bytes) else str(v).encode() for v in value)  # type: ignore[union-attr]
    return proto


def known_tensor(fact: TensorFact) -> onnx.TensorProto | None:
    """A tensor with the fact's elements if all of them are known numbers of a plain dtype; else ``None``.

    Plain are float, double, bool, the signed integers and uint8. The tensor has no name.
    """
    if not fact.known or fact.dtype not in _KNOWN_DTYPES:
        return None
    elements = np.array(fact.value, dtype=fact.dtype.numpy()).astype(fact.dtype.numpy().newbyteorder("<"), copy=False)
    # What onnx.numpy_helper.from_array gives, in a fifth of its time.
    return onnx.TensorProto(dims=fact.static_shape, data_type=int(fact.dtype), raw_data=elements.tobytes())


_D = ir.DataType
_KNOWN_DTYPES = frozenset({_D.FLOAT, _D.DOUBLE, _D.INT64, _D.INT32, _D.INT16, _D.INT8, _D.UINT8, _D.BOOL})


def one_line(text: str) -> str:
    """The first line of a component's message that says something, without blanks around it; empty if none does."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[0] if lines else text.strip()
