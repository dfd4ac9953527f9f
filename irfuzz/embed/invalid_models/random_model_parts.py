"""Draws parts of models that onnx's checker takes and its inference often does not."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import onnx
from onnx import AttributeProto, TensorProto, TypeProto

from irfuzz.choices import Choices
from irfuzz.embed.invalid_models.checker_schemas import (
    ONNX,
    CheckerAttribute,
    CheckerFormal,
    CheckerSchema,
    callable_at,
    newest,
    refused,
    schema_of,
    steps,
)
from irfuzz.spec import trait_values

WIDTHS: dict[int, int] = {
    TensorProto.FLOAT: 4,
    TensorProto.UINT8: 1,
    TensorProto.INT8: 1,
    TensorProto.UINT16: 2,
    TensorProto.INT16: 2,
    TensorProto.INT32: 4,
    TensorProto.INT64: 8,
    TensorProto.BOOL: 1,
    TensorProto.FLOAT16: 2,
    TensorProto.DOUBLE: 8,
    TensorProto.UINT32: 4,
    TensorProto.UINT64: 8,
    TensorProto.BFLOAT16: 2,
}
"""Bytes of an element of the types that constants have."""

SIZES = (1, 1, 2, 2, 3, 3, 4, 5, 6, 8, 12, 0)
RANKS = (0, 1, 1, 2, 2, 2, 3, 3, 3, 4, 4, 4, 4, 5)
FEW = (0, 1, 1, 1, 2, 2, 3, -1, -1, -2, 4, 5, -3, 7)
MUCH = (8, 31, 127, 255, 1 << 20, (1 << 31) - 1, 1 << 31, -(1 << 31), (1 << 63) - 1, -(1 << 63))
REALS = (0.0, 1.0, 0.5, -1.0, 2.0, 1e-5, 0.25, 3e38, float("inf"), float("nan"))
TYPE_NAMES = frozenset({"to", "dtype", "output_dtype", "stash_type", "softmax_precision", "output_datatype"})
"""Attributes whose integer is an element type."""

DOMAIN_WEIGHTS = {"": 40.0, "ai.onnx.ml": 4.0, "ai.onnx.preview.training": 1.0, "ai.onnx.preview": 1.0}
COMMON = ("tensor(float)", "tensor(int64)", "tensor(float)", "tensor(double)", "tensor(int32)", "tensor(float16)")
MOST_ITEMS = 4


@dataclass
class CallScope:
    """Where a call is put.

    Attributes:
        versions: of each domain that is imported.
        known: names that may be read, with their types if they are declared.
        inputs: made for the call: graph inputs.
        constants: made for the call: initializers.
        imports: domains that the model must import from now on.
    """

    versions: Mapping[str, int]
    known: dict[str, TypeProto | None]
    inputs: list[onnx.ValueInfoProto] = field(default_factory=list)
    constants: list[TensorProto] = field(default_factory=list)
    imports: dict[str, int] = field(default_factory=dict)


class PartDrawer:
    """Draws parts; one for each model that is edited."""

    def __init__(self, choices: Choices) -> None:
        self.choices = choices
        self._named = 0
        self._stem = f"k{choices.integer(0, 0xFFFFFF):x}"
        self.shape = self.sizes()

    def name(self) -> str:
        """A name that hardly any model has."""
        self._named += 1
        return f"{self._stem}_{self._named}"

    def chance(self, of_hundred: int) -> bool:
        """Whether something happens that is to happen so many times ``of_hundred``."""
        return self.choices.integer(1, 100) <= of_hundred

    def sizes(self) -> list[int]:
        """Sizes of a small tensor; -1 has no number."""
        made = [self.choices.pick(SIZES) for _ in range(self.choices.pick(RANKS))]
        if made and self.chance(15):
            made[self.choices.index(len(made))] = -1
        return made

    def near(self) -> list[int]:
        """The sizes of this call, or such as broadcast with them, or others.

        Returns:
            A new list, in more than half of all cases ``shape`` itself; -1 stands for a size without a number.
        """
        made = list(self.shape)
        way = self.choices.integer(0, 19)
        if way < 11:
            return made
        if way < 14 and made:
            made[self.choices.index(len(made))] = self.choices.pick(SIZES)
        elif way < 16:
            made = [self.choices.pick(made)] if made else [1]
        elif way < 17:
            made = []
        elif way < 18:
            made = made[self.choices.integer(0, len(made)) :]
        else:
            made = self.sizes()
        return made

    def whole(self) -> int:
        """An integer: mostly small, or one that has to do with the rank.

        Returns:
            In a tenth of all cases one from ``MUCH``, which holds the limits of int32 and int64.
        """
        way = self.choices.integer(0, 19)
        rank = len(self.shape)
        if way < 12:
            return self.choices.pick(FEW)
        if way < 18:
            return self.choices.integer(-rank - 1, rank + 1)
        return self.choices.pick(MUCH)

    def wholes(self) -> list[int]:
        """As many integers as an axis list, a kernel or pads have.

        Returns:
            Half of the lists hold numbers from 1 to 3, others a permutation, one number again and again, or anything;
            some are empty.
        """
        rank = len(self.shape)
        count = max(0, self.choices.pick((rank, rank - 2, 2 * (rank - 2), 2 * rank, 1, 1, 2, 3, 0)))
        way = self.choices.integer(0, 5)
        if way < 3:
            return [self.choices.integer(1, 3) for _ in range(count)]
        if way < 5:
            return self.choices.sample(range(count), count) if way == 3 else [self.choices.pick(FEW)] * count
        return [self.whole() for _ in range(count)]

    # ---- types and tensors ------------------------------------------------------------------

    def tensor_type(self, made: TypeProto.Tensor | TypeProto.SparseTensor, word: str, shaped: bool) -> None:
        """Fill in an element type, and sizes if they are wanted.

        Args:
            made: edited in place.
            word: the element type as ONNX's schemas write it, ``float`` or ``int64``.
            shaped: whether sizes are drawn; without them even the rank stays open.
        """
        made.elem_type = TensorProto.DataType.Value(word.upper())
        if not shaped:
            return
        made.shape.SetInParent()
        for size in self.near():
            dim = made.shape.dim.add()
            if size >= 0:
                dim.dim_value = size
            elif self.chance(70):
                dim.dim_param = self.choices.pick("NMK")

    def type_of(self, word: str, made: TypeProto | None = None, *, shaped: bool = True) -> TypeProto:
        """A type as ONNX writes it (``seq(tensor(float))``), with sizes.

        Args:
            word: of a tensor, sparse tensor, sequence, optional or map.
            made: filled in; a new one if ``None``.
            shaped: whether the tensors in it get sizes.

        Returns:
            ``made``, or the new one.
        """
        made = TypeProto() if made is None else made
        kind, _, inner = word.partition("(")
        inner = inner[:-1]
        if kind == "tensor":
            self.tensor_type(made.tensor_type, inner, shaped)
        elif kind == "sparse_tensor":
            self.tensor_type(made.sparse_tensor_type, inner, shaped)
        elif kind == "seq":
            self.type_of(inner, made.sequence_type.elem_type, shaped=shaped)
        elif kind == "optional":
            self.type_of(inner, made.optional_type.elem_type, shaped=shaped)
        else:
            key, _, value = inner.partition(",")
            made.map_type.key_type = TensorProto.DataType.Value(key.upper())
            self.type_of(value, made.map_type.value_type, shaped=shaped)
        return made

    def word_of(self, types: Sequence[str]) -> str:
        """One of the types, mostly a common one.

        Args:
            types: as a schema lists what an input may be, such as ``tensor(float)``; at least one.
        """
        if len(types) == 1:
            return types[0]
        word = self.choices.pick(COMMON)
        return word if word in types and self.chance(60) else self.choices.pick(types)

    def tensor(self, kind: int, sizes: Sequence[int]) -> TensorProto:
        """A tensor whose every element is the same small number.

        Args:
            kind: element type, a value of ``TensorProto.DataType``; strings are all ``a``.
            sizes: of it; negative ones count as 0.

        Returns:
            Without a name. Of an element only the first byte is drawn, from 0 to 2, so a float is zero or next to it.
        """
        sizes = [max(0, size) for size in sizes]
        count = 1
        for size in sizes:
            count *= size
        made = TensorProto(data_type=kind, dims=sizes)
        if kind == TensorProto.STRING:
            made.string_data.extend([b"a"] * count)
        else:
            made.raw_data = bytes([self.choices.integer(0, 2), *[0] * (WIDTHS[kind] - 1)]) * count
        return made

    def integers(self, values: Sequence[int] | None = None) -> TensorProto:
        """A constant that steers something: axes, sizes, pads, a count.

        Args:
            values: of it; drawn if ``None``, sometimes a single one.

        Returns:
            An int64 tensor without a name: of one dimension, or a scalar if a single value was drawn.
        """
        scalar = values is None and self.chance(30)
        values = [self.whole()] if scalar else self.wholes() if values is None else values
        made = TensorProto(data_type=TensorProto.INT64, dims=[] if scalar else [len(values)])
        made.raw_data = struct.pack(f"<{len(values)}q", *values)
        return made

    # ---- attributes -------------------------------------------------------------------------

    def attribute(self, formal: CheckerAttribute, scope: CallScope, op: str, outputs: int) -> AttributeProto:
        """An attribute of the type that its schema gives, of any value.

        Args:
            formal: the attribute in the schema; if it has a default, that is given in a tenth of all cases.
            scope: what a body may read.
            op: the operator, which says what a body is given.
            outputs: of the node, so that a body may give as many.
        """
        if formal.default is not None and self.chance(10):
            return formal.default
        made = AttributeProto(name=formal.name, type=formal.type)  # type: ignore[arg-type]
        kind = formal.type
        if kind == AttributeProto.INT:
            is_type = formal.name in TYPE_NAMES and self.chance(90)
            made.i = self.choices.integer(0, 26) if is_type else self.whole()
        elif kind == AttributeProto.INTS:
            made.ints.extend(self.wholes())
        elif kind == AttributeProto.FLOAT:
            made.f = self.choices.pick(REALS)
        elif kind == AttributeProto.FLOATS:
            made.floats.extend(self.choices.pick(REALS) for _ in range(self.choices.integer(0, MOST_ITEMS)))
        elif kind == AttributeProto.STRING:
            made.s = self._word(formal)
        elif kind == AttributeProto.STRINGS:
            made.strings.extend(self._word(formal) for _ in range(self.choices.integer(0, MOST_ITEMS)))
        elif kind == AttributeProto.TENSOR:
            made.t.CopyFrom(self.tensor(self.choices.pick((*WIDTHS, TensorProto.STRING)), self.near()))
        elif kind == AttributeProto.TYPE_PROTO:
            made.tp.CopyFrom(self.type_of(self.choices.pick(("tensor(float)", "seq(tensor(int64))"))))
        elif kind == AttributeProto.SPARSE_TENSOR:
            self._sparse(made.sparse_tensor)
        elif kind == AttributeProto.GRAPH:
            self._body(made.g, scope, op, outputs)
        return made

    def _word(self, formal: CheckerAttribute) -> bytes:
        if formal.words and self.chance(90):
            return self.choices.pick(formal.words)
        if formal.default is not None and self.chance(50):
            return formal.default.s
        return self.choices.pick((b"", b"a", b"ij,jk->ik", b"...i->...", b"ii->i", b"\xff"))

    def _sparse(self, made: onnx.SparseTensorProto) -> None:
        size = self.choices.integer(2, 6)
        made.dims.append(size)
        made.values.CopyFrom(self.tensor(TensorProto.FLOAT, [2]))
        made.values.name = self.name()
        made.indices.CopyFrom(self.integers([0, size - 1]))

    def _body(self, body: onnx.GraphProto, scope: CallScope, op: str, outputs: int) -> None:
        """Identities and constants: as many results as the operator takes, give or take one."""
        body.name = self.name()
        # How many values the body of a valid one takes and gives, and the types of the first that a Loop takes.
        right = {"If": (0, outputs), "Loop": (2 + outputs, 1 + outputs), "Scan": (2, outputs)}
        drawn = self.choices.integer(0, 3), self.choices.integer(1, 2)
        takes, gives = right.get(op, drawn)
        first = ("tensor(int64)", "tensor(bool)")[: trait_values("body_inputs_from").get(op, 0)]
        if self.chance(15):
            takes, gives = max(0, takes + self.choices.integer(-1, 1)), max(1, gives + self.choices.integer(-1, 1))
        for at in range(takes):
            value = body.input.add(name=self.name())
            word = first[at] if at < len(first) else self.word_of(COMMON)
            if self.chance(85):
                self.type_of(word, value.type, shaped=self.chance(60))
        inside = [value.name for value in body.input]
        outside = list(scope.known)
        for at in range(gives):
            node = body.node.add(op_type="Identity", output=[self.name()])
            way = self.choices.integer(0, 3)
            if first and at == 0 and len(inside) > 1:
                node.input.append(inside[1])
            elif inside and way < 2:
                node.input.append(self.choices.pick(inside))
            elif outside and way == 2:
                node.input.append(self.choices.pick(outside))
            else:
                node.op_type = "Constant"
                value = node.attribute.add(name="value", type=AttributeProto.TENSOR)
                value.t.CopyFrom(self.tensor(self.choices.pick((1, 1, 7, 9)), self.near()))
            made = body.output.add(name=node.output[0])
            if self.chance(40):
                self.type_of(self.word_of(COMMON), made.type, shaped=self.chance(50))

    # ---- calls ------------------------------------------------------------------------------

    def call(self, scope: CallScope) -> onnx.NodeProto | None:
        """A call of any operator that the checker takes; what it reads that is not there yet is added to the scope."""
        domain = self.choices.weighted(list(DOMAIN_WEIGHTS), list(DOMAIN_WEIGHTS.values()))
        version = scope.versions.get(domain)
        if version is None:
            version = self.choices.pick(steps(domain)) if self.chance(50) else newest(domain)
            scope.imports[domain] = max(1, version)
        names = callable_at(domain, version)
        if not names:
            return None
        schema = schema_of(domain, self.choices.pick(names), version)
        assert schema is not None
        self.shape = self.sizes()
        return self.call_of(schema, scope)

    def call_of(self, schema: CheckerSchema, scope: CallScope) -> onnx.NodeProto:
        """A call of one operator.

        Args:
            schema: of it; it says how many inputs and outputs there may be, and which attributes are required.
            scope: what there is to read; new inputs and constants that the call reads are added to it.

        Returns:
            A node with fresh names for its outputs, which is in no graph yet.
        """
        node = onnx.NodeProto(op_type=schema.op, domain=schema.domain)
        most = min(schema.most_outputs, schema.least_outputs + 2, MOST_ITEMS)
        count = self.choices.integer(min(schema.least_outputs, most), max(schema.least_outputs, most))
        node.output.extend(self.name() for _ in range(count))
        bound: dict[str, str] = {}
        last = min(schema.most_inputs, len(schema.inputs) + 2)
        given = self.choices.integer(min(schema.least_inputs, last), last)
        for at in range(given):
            slot = schema.inputs[min(at, len(schema.inputs) - 1)]
            if slot.optional and self.chance(30):
                node.input.append("")
            else:
                node.input.append(self.argument(slot, bound, scope))
        share = self.choices.pick((0, 15, 35, 60, 90))
        for formal in schema.attrs.values():
            if formal.required or self.chance(share):
                node.attribute.append(self.attribute(formal, scope, schema.op, count))
        return node

    def argument(self, slot: CheckerFormal, bound: dict[str, str], scope: CallScope) -> str:
        """What a call reads: something there, or something new.

        Args:
            slot: the input in the schema.
            bound: types of the schema's type variables so far, such as ``T``; the one that is drawn here is added.
            scope: what there is to read; something new becomes one of its inputs or constants.

        Returns:
            A name. What is there has the right type if that is declared, but for one draw in twenty.
        """
        word = bound.get(slot.variable)
        if word is None or self.chance(4):
            word = self.word_of(slot.types)
            bound[slot.variable] = word
        way = self.choices.integer(0, 19)
        if way < 7 and scope.known:
            kind = word_of(word)
            fitting = [name for name, known in scope.known.items() if known is None or kind_of(known) == kind]
            if way < 1:
                fitting = list(scope.known)
            if fitting:
                return self.choices.pick(fitting)
        name = self.name()
        steers = slot.types == ("tensor(int64)",) or slot.name in ("axes", "shape", "sizes", "split", "pads", "repeats")
        if word == "tensor(int64)" and self.chance(80 if steers else 10):
            scope.constants.append(self.integers())
            scope.constants[-1].name = name
            return name
        kind = kind_of_word(word)
        if kind in WIDTHS and self.chance(12):
            scope.constants.append(self.tensor(kind, self.near()))
            scope.constants[-1].name = name
            return name
        scope.inputs.append(onnx.ValueInfoProto(name=name))
        self.type_of(word, scope.inputs[-1].type)
        scope.known[name] = scope.inputs[-1].type
        return name

    def fit(self, node: onnx.NodeProto, schema: CheckerSchema, versions: Mapping[str, int]) -> bool:
        """Make a call one of another schema: without what that does not know, with what it needs; whether it is one."""
        for at in range(len(node.attribute) - 1, -1, -1):
            formal = schema.attrs.get(node.attribute[at].name)
            if formal is None or formal.type != node.attribute[at].type:
                del node.attribute[at]
        given = {attr.name for attr in node.attribute}
        for name, formal in schema.attrs.items():
            if formal.required and name not in given:
                node.attribute.append(self.attribute(formal, CallScope(versions, {}), schema.op, len(node.output)))
        while len(node.input) > schema.most_inputs:
            del node.input[-1]
        return not refused(node, schema)


def within(nodes: Any) -> Iterator[onnx.GraphProto]:
    """The graphs that nodes hold, at every depth, an outer one before those in it.

    Args:
        nodes: protobuf nodes; their graphs are given themselves, not copies.
    """
    for node in nodes:
        for attr in node.attribute:
            if attr.type == AttributeProto.GRAPH:
                yield attr.g
                yield from within(attr.g.node)


def kind_of_word(word: str) -> int:
    """The element type of ``tensor(...)``; 0 for what is no dense tensor."""
    return TensorProto.DataType.Value(word[7:-1].upper()) if word.startswith("tensor(") else 0


def word_of(word: str) -> tuple[str, int]:
    """What ``kind_of`` gives for a type like that.

    Args:
        word: a type as ONNX's schemas write it; ``tensor(float)`` gives ``("tensor", 1)``.
    """
    return word.partition("(")[0], kind_of_word(word)


def kind_of(made: TypeProto) -> tuple[str, int]:
    """Which kind of type it is, and its element type if it is a dense tensor.

    Returns:
        Such as ``("tensor", 1)`` for floats, ``("seq", 0)``, or ``("", 0)`` if the type says nothing.
    """
    field_name = made.WhichOneof("value") or ""
    kind = {"tensor_type": "tensor", "sequence_type": "seq", "optional_type": "optional", "map_type": "map"}
    return kind.get(field_name, field_name), made.tensor_type.elem_type if field_name == "tensor_type" else 0


def version_in(imports: Mapping[str, int], domain: str) -> int | None:
    """The version of a domain that a model imports.

    Args:
        imports: versions by domain.
        domain: the empty name and ``ai.onnx`` stand for each other.

    Returns:
        ``None`` if it imports none.
    """
    if domain in ONNX:
        return next((imports[name] for name in ONNX if name in imports), None)
    return imports.get(domain)
