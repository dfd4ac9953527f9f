"""What a user wants of mutants: operators that may be inserted, and nodes that stay as they are.

Draws are steered towards the operators (``steered``), and each edit is looked at after it was made (``Constraints``):
what breaks a constraint is taken back, as what breaks a rule of ONNX is. A recorded edit means the same with and
without constraints, so traces replay without them.
"""

from __future__ import annotations

import difflib
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import onnx_ir as ir

from irfuzz.errors import UsageError
from irfuzz.ir.program import Program
from irfuzz.mutate.feature_counts import Feature, FeatureCounts
from irfuzz.spec import full_name, load_specs, split_name, with_trait

_NEVER = 1 << 40
"""How often what is not to be inserted counts as seen."""

_LARGE = (ir.AttributeType.TENSOR, ir.AttributeType.GRAPH, ir.AttributeType.TENSORS, ir.AttributeType.GRAPHS)
"""Attributes of which only the names are compared, on nodes that a kept one reads."""

_Source: TypeAlias = Hashable
_Kept: TypeAlias = "tuple[str, str, dict[str, ir.Attr], tuple[tuple[_Source, ir.TensorProtocol | None], ...]]"


class _Steered(FeatureCounts):
    """Counts of features in which all operators but some were seen ever so often, so that draws avoid them."""

    __slots__ = ("_ops",)

    def __init__(self, ops: frozenset[str]) -> None:
        super().__init__()
        self._ops = ops

    def count(self, feature: Feature) -> int:
        """As often as it was seen, and far more of an operator that is not wanted."""
        named = feature[-1] if feature[0] in ("operator", "edge") else None
        return super().count(feature) + (0 if named is None or named in self._ops else _NEVER)


@dataclass(frozen=True, slots=True)
class Mark:
    """A program before an edit, as far as constraints ask for it.

    Attributes:
        nodes: all of them, by identity; held, so that an identity is not given to another one.
        kept: the nodes that stay, by name.
    """

    nodes: Mapping[int, ir.Node]
    kept: Mapping[str, _Kept]


@dataclass(frozen=True, slots=True)
class Constraints:
    """Which edits stand.

    Attributes:
        ops: operators of which nodes may be inserted, besides those that fit values (``adapt``); all if ``None``.
        keep: names of nodes, or of outputs of nodes, that stay: their operator, their attributes, what they read, and
            the nodes that compute that.
    """

    ops: frozenset[str] | None = None
    keep: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        """Whether there is one."""
        return self.ops is not None or bool(self.keep)

    def counts(self) -> FeatureCounts:
        """New, empty counts that steer draws towards the operators: all others count as seen 2 to the 40th times. They
        are plain counts if ``ops`` is ``None``.
        """
        return FeatureCounts() if self.ops is None else _Steered(self.ops)

    def mark(self, program: Program) -> Mark:
        """What to compare a program with after an edit: all of its nodes, and of those to be kept what must stay the
        same. The program is not changed; give the mark to ``broken``.
        """
        nodes = {id(node): node for node in program.nodes()}
        return Mark(nodes, {name: _kept(node) for name, node in self._named(program).items()})

    def broken(self, program: Program, before: Mark) -> str:
        """Which constraint an edit breaks; empty if it breaks none.

        New nodes must be of ``ops``, of operators that adapt values (Cast, Reshape, ...), or of one of which the edit
        took a node away. Nodes to be kept must have the same operator, attributes and sources of their inputs.

        Args:
            program: after the edit.
            before: it, as ``mark`` saw it before.
        """
        if self.ops is not None:
            nodes = program.nodes()
            left = set(map(id, nodes))
            allowed = self.ops | with_trait("adapts") | {_name(n) for key, n in before.nodes.items() if key not in left}
            for node in nodes:
                if id(node) not in before.nodes and _name(node) not in allowed:
                    return f"{_name(node)} is not among the operators that may be inserted"
        now = self._named(program)
        for name, kept in before.kept.items():
            if name not in now or not _same(kept, _kept(now[name])):
                return f"node {name!r} is to stay as it is"
        return ""

    def check(self, programs: Sequence[Program]) -> None:
        """See that there is what they name: operators among the specs, kept nodes in at least one of some programs.

        Args:
            programs: those that are to be mutated; only their main graphs are looked at.

        Raises:
            UsageError: a name is no operator, or that of no node of any program; the message says what is near it.
        """
        specs = load_specs()
        for op in sorted(self.ops or ()):
            domain, plain = split_name(op)
            if not specs.versions(plain, domain):
                known = {s.name: s.op for s in specs.all()}
                near = [name for name, own in known.items() if own == plain] or difflib.get_close_matches(op, known, 1)
                raise UsageError(f"ops: unknown operator {op!r}{f'; did you mean {near[0]}?' if near else ''}")
        found = {name for program in programs for name in self._named(program)}
        for name in self.keep:
            if name not in found:
                names = [v.name or "" for p in programs for node in p.graph for v in node.outputs]
                near = difflib.get_close_matches(name, names, 1)
                raise UsageError(
                    f"keep: no model has a node {name!r} in its main graph; expected the name of a node or of what one "
                    f"computes{f', such as {near[0]!r}' if near else ''}"
                )

    def _named(self, program: Program) -> dict[str, ir.Node]:
        """The nodes of the main graph that are to stay, by the name that was given for them."""
        if not self.keep:
            return {}
        found: dict[str, ir.Node] = {}
        for node in program.graph:
            for name in (node.name, *(value.name for value in node.outputs)):
                if name in self.keep:
                    found[name] = node
        return found


def _name(node: ir.Node) -> str:
    return full_name(node.domain, node.op_type)


def _kept(node: ir.Node) -> _Kept:
    """A node, and for each input where it comes from and its constant."""
    return node.domain, node.op_type, _attributes(node), tuple(map(_source, node.inputs))


def _attributes(node: ir.Node) -> dict[str, ir.Attr]:
    return {name: attr for name, attr in node.attributes.items() if isinstance(attr, ir.Attr)}


def _source(value: ir.Value | None) -> tuple[_Source, ir.TensorProtocol | None]:
    if value is None:
        return None, None
    producer = value.producer()
    if producer is None or value.const_value is not None:
        return value.name, value.const_value  # an initializer, or what a Constant holds: the same to its readers
    attributes = _attributes(producer)
    plain = sorted((name, repr(attr.value)) for name, attr in attributes.items() if attr.type not in _LARGE)
    return (value.name, producer.domain, producer.op_type, tuple(attributes), tuple(plain)), None


def _same(before: _Kept, now: _Kept) -> bool:
    if before[:2] != now[:2] or before[2].keys() != now[2].keys() or len(before[3]) != len(now[3]):
        return False
    if any(not _equal(attr.value, now[2][name].value) for name, attr in before[2].items()):
        return False
    return all(a == b and _equal(s, t) for (a, s), (b, t) in zip(before[3], now[3], strict=True))


def _equal(one: object, other: object) -> bool:
    if one is other:
        return True
    if isinstance(one, ir.TensorProtocol) and isinstance(other, ir.TensorProtocol):
        same = one.dtype == other.dtype and tuple(one.shape) == tuple(other.shape)
        return same and np.array_equal(one.numpy(), other.numpy(), equal_nan=one.dtype.is_floating_point())
    return type(one) is type(other) and one == other
