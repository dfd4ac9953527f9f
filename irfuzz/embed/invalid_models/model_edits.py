"""Edits a model so that onnx's checker still takes it and its inference often refuses it.

Most branches of a consumer of models decide about what is wrong with one: attributes that do not fit the rank, types
that contradict what was declared, operators at versions that have other rules. Valid mutants never get there.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import onnx
from google.protobuf.message import DecodeError, EncodeError
from onnx import AttributeProto, TensorProto

from irfuzz.choices import Choices
from irfuzz.embed.invalid_models.call_grafting import graft
from irfuzz.embed.invalid_models.checker_schemas import ONNX, CheckerSchema, callable_at, schema_of, steps
from irfuzz.embed.invalid_models.field_corruption import damage
from irfuzz.embed.invalid_models.node_removal import keep_only, take_out
from irfuzz.embed.invalid_models.random_model_parts import COMMON, SIZES, CallScope, PartDrawer, version_in, within

MORE = 35
"""Of a hundred mutants, how many get one more edit, and again."""

MOST_EDITS = 6
SHORT = 64
"""Elements of a constant that may be changed one by one."""


@dataclass
class _Place:
    """A graph or function: its nodes, what they may read, and the versions that hold there."""

    nodes: Any
    versions: dict[str, int]
    is_main: bool = False


class ModelEditor:
    """The edits of one model.

    Args:
        model: it is changed in place.
        choices: every draw comes from here.
        max_nodes: no more are added to the main graph.
    """

    def __init__(self, model: onnx.ModelProto, choices: Choices, max_nodes: int) -> None:
        self.model = model
        self.graph = model.graph
        self.choices = choices
        self.parts = PartDrawer(choices)
        self.max_nodes = max_nodes
        self.versions = {entry.domain: entry.version for entry in model.opset_import}

    def run(self) -> list[str]:
        """Make one edit or some; their names.

        Edits are drawn by their weights in ``EDITS`` and change the model in place. After each one that was possible
        another follows in 35 of 100 cases; at most ``MOST_EDITS`` are tried.

        Returns:
            Names of those made, in order; empty if none of those drawn was possible.
        """
        done: list[str] = []
        for _ in range(MOST_EDITS):
            name = self.choices.weighted(_NAMES, _WEIGHTS)
            if EDITS[name][1](self):
                done.append(name)
                if not self.parts.chance(MORE):
                    break
        return done

    def cross(self, donor: onnx.ModelProto) -> list[str]:
        """Take some calls of another model, and perhaps make an edit; the names of both.

        Args:
            donor: another model, which is not changed. If none of its calls fits, ``run`` edits the model without it.

        Returns:
            ``graft`` and the names of edits. A model that already has as many nodes as allowed loses all but one first.
        """
        if len(self.graph.node) >= self.max_nodes:
            self.alone()
        first = self.parts.chance(40)
        scope = self.scope(0 if first else None)
        taken = graft(donor, scope, self.versions, self.parts)
        if not taken:
            return self.run()
        self.admit(scope)
        at = 0 if first else len(self.graph.node)
        for node in reversed(taken):
            self.graph.node.insert(at, node)
        return ["graft", *(self.run() if self.parts.chance(MORE) else ())]

    # ---- what there is ----------------------------------------------------------------------

    def places(self) -> list[_Place]:
        """The main graph, the graphs within its nodes and the functions.

        Returns:
            The main graph first. Each place comes with its nodes, and with the version of each domain that holds there.
        """
        found = [_Place(self.graph.node, self.versions, is_main=True)]
        found += [_Place(g.node, self.versions) for g in within(self.graph.node)]
        for function in self.model.functions:
            versions = {entry.domain: entry.version for entry in function.opset_import}
            found.append(_Place(function.node, versions))
        return found

    def drawn_place(self) -> _Place:
        """A place: mostly the main graph."""
        found = self.places()
        return found[0] if len(found) == 1 or self.parts.chance(60) else self.choices.pick(found)

    def drawn_node(self) -> tuple[onnx.NodeProto, CheckerSchema, _Place] | None:
        """A node of a known operator.

        Returns:
            The node, its schema and its place; ``None`` if the drawn place has no nodes, or four draws met none that
            onnx knows.
        """
        place = self.drawn_place()
        for _ in range(4):
            if not place.nodes:
                return None
            node = self.choices.pick(place.nodes)
            schema = schema_of(node.domain, node.op_type, version_in(place.versions, node.domain) or 0)
            if schema is not None:
                return node, schema, place
        return None

    def scope(self, before: int | None = None) -> CallScope:
        """What a node of the main graph may read, in front of the one of that index.

        Args:
            before: an index; ``None`` stands for the end of the graph, from which everything may be read.

        Returns:
            Graph inputs, constants and outputs of the nodes in front, with their types if these are declared.
        """
        known: dict[str, Any] = {value.name: value.type for value in self.graph.input}
        for tensor in self.graph.initializer:
            known[tensor.name] = onnx.TypeProto(tensor_type=onnx.TypeProto.Tensor(elem_type=tensor.data_type))
        declared = {value.name: value.type for value in self.graph.value_info}
        for node in self.graph.node[:before]:
            known.update((name, declared.get(name)) for name in node.output if name)
        versions = {"" if name in ONNX else name: version for name, version in self.versions.items()}
        return CallScope(versions, known)

    def admit(self, scope: CallScope) -> None:
        """Put what a call needs into the model: inputs, constants and imports of domains.

        Args:
            scope: after the call was drawn. Before IR version 4 its constants become graph inputs as well, as the
                format demanded it then.
        """
        self.graph.input.extend(scope.inputs)
        self.graph.initializer.extend(scope.constants)
        if self.model.ir_version < 4:
            for tensor in scope.constants:
                made = onnx.helper.make_tensor_value_info(tensor.name, tensor.data_type, list(tensor.dims))
                self.graph.input.append(made)
        for domain, version in scope.imports.items():
            self.model.opset_import.add(domain=domain, version=version)
            self.versions[domain] = version

    # ---- edits ------------------------------------------------------------------------------

    def call(self) -> bool:
        """A call of any operator, in front of all others or behind them.

        It reads what is there, or inputs and constants that are made for it.

        Returns:
            Whether a call was added; if the graph has as many nodes as allowed, all but one node are removed instead.
        """
        if len(self.graph.node) >= self.max_nodes:
            return self.alone()
        first = self.parts.chance(40)
        scope = self.scope(0 if first else None)
        node = self.parts.call(scope)
        if node is None:
            return False
        self.admit(scope)
        if first:
            self.graph.node.insert(0, node)
        else:
            self.graph.node.append(node)
        return True

    def attribute(self) -> bool:
        """Another value of an attribute, one more, or one less.

        The schema of a drawn node, which may stand in a body or function, says which attributes there are; the value
        may break a rule. Required ones are never removed.

        Returns:
            False if the drawn node has no attributes, or there is none.
        """
        found = self.drawn_node()
        if found is None or not found[1].attrs:
            return False
        node, schema, place = found
        formal = schema.attrs[self.choices.pick(sorted(schema.attrs))]
        at = next((i for i, attr in enumerate(node.attribute) if attr.name == formal.name), None)
        if at is not None and not formal.required and self.parts.chance(20):
            del node.attribute[at]
            return True
        if at is not None and formal.type == AttributeProto.INTS and self.parts.chance(50):
            return self._nudge(node.attribute[at].ints)
        scope = self.scope(0) if place.is_main else CallScope(place.versions, {})
        made = self.parts.attribute(formal, scope, node.op_type, len(node.output))
        if at is None:
            node.attribute.append(made)
        else:
            node.attribute[at].CopyFrom(made)
        return True

    def _nudge(self, numbers: Any) -> bool:
        """One number more, less or other."""
        way = self.choices.integer(0, 2)
        if way == 0 or not numbers:
            numbers.append(self.parts.whole())
        elif way == 1:
            numbers.pop(self.choices.index(len(numbers)))
        else:
            numbers[self.choices.index(len(numbers))] = self.parts.whole()
        return True

    def size(self) -> bool:
        """Other sizes, or another rank, of an input.

        A size is set, added or removed, becomes symbolic, or is left open.

        Returns:
            False if no graph input is a tensor.
        """
        found = [v.type.tensor_type for v in self.graph.input if v.type.HasField("tensor_type")]
        if not found:
            return False
        sizes = self.choices.pick(found).shape.dim
        way = self.choices.integer(0, 6)
        if way == 0 or not sizes:
            sizes.add().dim_value = self.choices.pick(SIZES)
        elif way == 1:
            del sizes[self.choices.index(len(sizes))]
        elif way == 2:
            sizes[self.choices.index(len(sizes))].dim_param = self.choices.pick("NMK")
        elif way == 3:
            sizes[self.choices.index(len(sizes))].Clear()
        else:
            sizes[self.choices.index(len(sizes))].dim_value = self.choices.pick(SIZES)
        return True

    def type(self) -> bool:
        """Another element type of an input, or another kind of value, such as a sequence or optional.

        Returns:
            False if the graph has no inputs. The new type may be none that the nodes behind it take.
        """
        if not self.graph.input:
            return False
        value = self.choices.pick(self.graph.input)
        if self.parts.chance(70) and value.type.HasField("tensor_type"):
            value.type.tensor_type.elem_type = self.choices.integer(1, 23)
        else:
            wrap = self.choices.pick(("{}", "seq({})", "optional({})", "optional(seq({}))"))
            value.type.CopyFrom(self.parts.type_of(wrap.format(self.parts.word_of(COMMON))))
        return True

    def constant(self) -> bool:
        """Another element of a small constant, one more or one less; or it becomes an input.

        Elements are changed of int64 constants of at most one dimension; another one is replaced by a drawn tensor of
        the same name.

        Returns:
            False if there are no constants, or the drawn one is too long.
        """
        if not self.graph.initializer:
            return False
        at = self.choices.index(len(self.graph.initializer))
        tensor = self.graph.initializer[at]
        if self.parts.chance(25):
            if all(value.name != tensor.name for value in self.graph.input):
                made = onnx.helper.make_tensor_value_info(tensor.name, tensor.data_type, list(tensor.dims))
                self.graph.input.append(made)
            del self.graph.initializer[at]
            return True
        if tensor.data_type != TensorProto.INT64 or len(tensor.dims) > 1 or tensor.external_data:
            name = tensor.name
            kind = tensor.data_type if tensor.data_type in (1, 6, 7, 9, 10, 11) else TensorProto.FLOAT
            tensor.CopyFrom(self.parts.tensor(kind, self.parts.near()))
            tensor.name = name
            return True
        raw = tensor.raw_data
        values = list(struct.unpack(f"<{len(raw) // 8}q", raw[: len(raw) // 8 * 8])) if raw else list(tensor.int64_data)
        if len(values) > SHORT:
            return False
        if tensor.dims:
            self._nudge(values)
        else:
            values = [self.parts.whole()]
        name, scalar = tensor.name, not tensor.dims
        tensor.CopyFrom(self.parts.integers(values))
        tensor.name = name
        if scalar:
            del tensor.dims[:]
        return True

    def rewire(self) -> bool:
        """A node reads something else, one thing more or one less.

        Optional inputs may be left out by an empty name. New inputs and constants that it reads are added to the model.

        Returns:
            False if there are no nodes, or the drawn one is of an operator without inputs or that onnx does not know.
        """
        if not self.graph.node:
            return False
        at = self.choices.index(len(self.graph.node))
        node = self.graph.node[at]
        schema = schema_of(node.domain, node.op_type, version_in(self.versions, node.domain) or 0)
        if schema is None or not schema.inputs:
            return False
        scope = self.scope(at)
        way, last = self.choices.integer(0, 4), len(node.input) - 1
        if way == 0 and last >= schema.least_inputs:
            del node.input[-1]
            return True
        index = self.choices.integer(0, min(last + 1, schema.most_inputs - 1))
        slot = schema.inputs[min(index, len(schema.inputs) - 1)]
        name = "" if slot.optional and way == 1 else self.parts.argument(slot, {}, scope)
        if index > last:
            node.input.append(name)
        else:
            node.input[index] = name
        self.admit(scope)
        return True

    def version(self) -> bool:
        """Another version of a domain; calls that it has no more are changed so that they stand, or removed.

        The version is one of ``steps``, mostly of ONNX's own domain.

        Returns:
            False if the model has functions, if a call in a body could not stand, or if the version stayed.
        """
        domain = self.choices.pick(sorted(self.versions)) if self.parts.chance(20) and self.versions else ""
        entry = next((e for e in self.model.opset_import if (e.domain or "") == domain), None)
        if entry is None or (domain and domain not in ONNX and not callable_at(domain, entry.version)):
            return False
        to = max(1, self.choices.pick(steps("" if domain in ONNX else domain)))
        if to == entry.version or self.model.functions:
            return False
        inner = [node for graph in within(self.graph.node) for node in graph.node]
        if not all(self._fits(node, domain, to) for node in inner):
            return False
        for at in range(len(self.graph.node) - 1, -1, -1):
            if not self._fits(self.graph.node[at], domain, to):
                take_out(self.graph, at, self.parts)
        entry.version = self.versions[entry.domain] = to
        return True

    def _fits(self, node: onnx.NodeProto, domain: str, version: int) -> bool:
        """Whether a call stands at another version, without what that does not know."""
        if node.domain != domain and not (node.domain in ONNX and domain in ONNX):
            return True
        schema = schema_of(domain, node.op_type, version)
        return schema is not None and self.parts.fit(node, schema, self.versions)

    def exchange(self) -> bool:
        """Another operator takes the place of a node's.

        It is of the same domain and version; attributes that it does not know are dropped, and those that it needs are
        made.

        Returns:
            False, with the node as it was, if none of eight draws fits its inputs and outputs.
        """
        found = self.drawn_node()
        if found is None:
            return False
        node, schema, place = found
        version = version_in(place.versions, node.domain) or 0
        names = callable_at(schema.domain, version)
        kept = onnx.NodeProto()
        kept.CopyFrom(node)
        for _ in range(8):
            other = schema_of(schema.domain, self.choices.pick(names), version)
            assert other is not None
            node.op_type = other.op
            if self.parts.fit(node, other, place.versions):
                return True
            node.CopyFrom(kept)
        return False

    def remove(self) -> bool:
        """A node goes; inputs take the places of what it gave."""
        if len(self.graph.node) < 2:
            return False
        take_out(self.graph, self.choices.index(len(self.graph.node)), self.parts)
        return True

    def alone(self) -> bool:
        """One node stays."""
        count = len(self.graph.node)
        if count < 2:
            return False
        keep_only(self.graph, self.choices.index(count), self.parts)
        return True

    def declare(self) -> bool:
        """A type is said of what a node gives, right or wrong.

        The declaration becomes a graph output, or a ``value_info`` entry; one that is there already is overwritten.

        Returns:
            False if no node gives anything.
        """
        names = [name for node in self.graph.node for name in node.output if name]
        if not names:
            return False
        name = self.choices.pick(names)
        rows = self.graph.output if self.parts.chance(60) else self.graph.value_info
        made = next((value for value in rows if value.name == name), None)
        made = rows.add(name=name) if made is None else made
        made.type.Clear()
        self.parts.type_of(self.parts.word_of(COMMON), made.type)
        return True

    def damage(self) -> bool:
        """Some field of the model gets another value, or goes: what the checker refuses, mostly."""
        return damage(self.model, self.parts)


def loose(data: bytes, choices: Choices, max_nodes: int, other: bytes = b"") -> tuple[bytes, list[str]] | None:
    """The bytes of a model with one loose edit or some, and their names; ``None`` for what is no model.

    Args:
        data: of the model.
        choices: every draw comes from here.
        max_nodes: no more nodes are added to the main graph.
        other: of another model, from which some calls are taken.
    """
    model, donor = _read(data), _read(other) if other else None
    if model is None or (other and donor is None):
        return None
    editor = ModelEditor(model, choices, max_nodes)
    done = editor.run() if donor is None else editor.cross(donor)
    try:
        return (model.SerializeToString(), done) if done else None
    except (EncodeError, ValueError):
        return None


def _read(data: bytes) -> onnx.ModelProto | None:
    try:
        model = onnx.ModelProto.FromString(data)
    except DecodeError:
        return None
    return model if model.HasField("graph") else None


EDITS: dict[str, tuple[float, Callable[[ModelEditor], bool]]] = {
    "call": (8.0, ModelEditor.call),
    "attribute": (5.0, ModelEditor.attribute),
    "size": (2.5, ModelEditor.size),
    "type": (1.5, ModelEditor.type),
    "constant": (2.0, ModelEditor.constant),
    "rewire": (3.0, ModelEditor.rewire),
    "version": (3.0, ModelEditor.version),
    "exchange": (2.0, ModelEditor.exchange),
    "remove": (1.0, ModelEditor.remove),
    "alone": (0.5, ModelEditor.alone),
    "declare": (1.0, ModelEditor.declare),
    "damage": (0.7, ModelEditor.damage),
}
"""The edits, and how often each is tried."""

_NAMES = tuple(EDITS)
_WEIGHTS = tuple(weight for weight, _ in EDITS.values())
