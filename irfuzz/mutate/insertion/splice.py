"""``splice``: a connected piece of a donor, weights included, is put behind a value (GraphFuzz's grafting)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar

import onnx_ir as ir

from irfuzz.choices import Choices
from irfuzz.errors import InvalidProgram
from irfuzz.facts import TensorFact
from irfuzz.ir.program import Program
from irfuzz.mutate.editing.layer_rewiring import attributes, dims_of, largest, splice_in, with_sizes
from irfuzz.mutate.editing.mutation_sites import flow_values, is_exact, layer_nodes, node_after, tensor_fact, value_at
from irfuzz.mutate.editing.node_inserter import Inserter
from irfuzz.mutate.editing.operator_type_portability import runs
from irfuzz.mutate.editing.value_adaptation import adapt, why_not
from irfuzz.mutate.mutator_context import Context
from irfuzz.mutate.mutator_protocol import Donors, Edit, Profile, Relation, Skipped

MAX_PIECE = 8
"""Most nodes that are taken at once."""
_MAX_PORTS = 4
_AT = "@"
_JOINS = ("Add", "Sub", "Mul", "Max", "And", "Or")


def donor_of(site: str) -> str:
    """The donor's digest in a site of ``splice``, which reads ``VALUE@DIGEST``.

    Raises:
        InvalidProgram: the site has no such form.
    """
    value, at, digest = site.rpartition(_AT)
    if not at or not value or not digest:
        raise InvalidProgram(f"site {site!r} of splice: expected VALUE{_AT}DIGEST")
    return digest


def donors_taken(edits: Iterable[Edit]) -> list[str]:
    """Digests of the donors that edits took parts from, each once, in the order in which they did.

    Args:
        edits: by any mutators.

    Raises:
        InvalidProgram: the site of a splice names none.
    """
    return list(dict.fromkeys(donor_of(edit.site) for edit in edits if edit.mutator == Splice.name))


@dataclass(frozen=True, slots=True)
class Splice:
    """Copies nodes of a donor; what they read from outside is constants, or values of the program, adapted."""

    context: Context
    name: ClassVar[str] = "splice"
    version: ClassVar[int] = 1
    relation: ClassVar[Relation] = Relation.CHANGED
    profile: ClassVar[Profile] = Profile(weight=0.75, cost=1.0)

    def sites(self, program: Program) -> list[str]:
        """Values between layers, each with each donor's digest (``VALUE@DIGEST``); empty if no donors are given."""
        donors = self.context.donors
        if donors is None:
            return []
        digests = donors.digests()
        return [f"{value.name}{_AT}{digest}" for value in flow_values(program) if value.name for digest in digests]

    def apply(self, program: Program, site: str, choices: Choices) -> str | Skipped:
        """Draw the piece's last node and up to seven that come before it, and graft copies behind the value.

        The piece reads the value first and then others that exist there, adapted; its weights are copied as constants.
        Its result takes the value's place, joined with the value if it cannot be adapted alone. Skipped if nothing
        fits.

        Raises:
            InvalidProgram: there are no donors, or the site names none.
        """
        digest = donor_of(site)
        donors: Donors | None = self.context.donors
        if donors is None:
            raise InvalidProgram(f"edit splice at {site!r}: no donors are given")
        donor = donors.get(digest)
        value = value_at(program, site[: -len(digest) - 1])
        usable = self._usable(donor, program.opset)
        if not usable:
            return Skipped("the donor has no piece that fits this opset")
        piece = _piece(donor, usable, choices)
        limit = largest(program)
        if any(v.name and (_fixed(donor, v).size() or 0) > limit for node in piece for v in node.outputs):
            return Skipped("a value of the piece is too large")
        anchor = node_after(program, value)
        ports = _ports(donor, piece)
        taken = self._taken(program, value, anchor, [_fixed(donor, port) for port in ports], choices)
        if isinstance(taken, Skipped):
            return taken
        end = piece[-1].outputs[0]
        joint = self._joint(program, tensor_fact(program, value), _fixed(donor, end), choices)
        if isinstance(joint, Skipped):
            return joint
        specs, inserter = self.context.specs, Inserter(program, anchor)
        copies: dict[str, ir.Value] = {}
        for port, source in zip(ports, taken, strict=True):
            copies[str(port.name)] = adapt(specs, inserter, source, _fixed(donor, port), choices)
        _graft(donor, inserter, piece, copies)
        op, target = joint
        grafted = copies[str(end.name)]
        if op:
            grafted = inserter.value(op, value, adapt(specs, inserter, grafted, target, choices))
        splice_in(program, specs, inserter, value, grafted, choices)
        return f"{', '.join(n.op_type for n in piece)} of {digest[:12]} behind {value.name}"

    def _taken(
        self, program: Program, value: ir.Value, anchor: ir.Node | None, wanted: list[TensorFact], choices: Choices
    ) -> list[ir.Value] | Skipped:
        """What the piece reads in place of its own surroundings: ``value`` first, then anything computed before."""
        if not 1 <= len(wanted) <= _MAX_PORTS:
            return Skipped("the piece reads too many values, or none")
        places = program.positions()
        end = len(places) if anchor is None else places[anchor]
        sources = [value]
        for other in flow_values(program):
            producer = other.producer()
            if other is not value and (producer is None or places[producer] < end):
                sources.append(other)
        taken: list[ir.Value] = []
        for fact in wanted:
            fitting = [v for v in (sources if taken else [value]) if _fits(self.context, program, v, fact)]
            if not fitting:
                return Skipped("no value fits what the piece reads")
            taken.append(choices.pick(fitting))
        return taken

    def _joint(
        self, program: Program, fact: TensorFact, result: TensorFact, choices: Choices
    ) -> tuple[str, TensorFact] | Skipped:
        """How the result gets the value's type: adapted as it is (no operator), or joined with the value itself."""
        specs, opset = self.context.specs, program.opset
        if why_not(specs, opset, result, fact) is None:
            return "", fact
        # A named size of the value is lost in the piece; a join with the value itself brings it back.
        target = with_sizes(fact.without_value(), dict.fromkeys(dims_of([fact]) or (), 1))
        joins = [op for op in _JOINS if runs(specs, op, opset, fact.dtype)]
        if target is None or not joins:
            return Skipped(f"nothing joins {fact.dtype.name}")
        reason = why_not(specs, opset, result, target)
        return Skipped(f"the result cannot be restored: {reason}") if reason else (choices.pick(joins), target)

    def _usable(self, donor: Program, opset: int) -> list[ir.Node]:
        """Layers of the donor that mean the same at ``opset`` and whose shapes, indices and scales are constants."""
        specs = self.context.specs
        found = []
        for node in layer_nodes(donor, specs):
            if specs.get(node.op_type, opset) is not specs.get(node.op_type, donor.opset) or not node.outputs[0].name:
                continue
            if (
                dims_of([tensor_fact(donor, v) for v in (*node.inputs, *node.outputs) if v is not None and v.name])
                is None
            ):
                continue
            if all(
                v is None or donor.constant_of(v) is not None or not is_exact(node, i, tensor_fact(donor, v).dtype)
                for i, v in enumerate(node.inputs)
            ):
                found.append(node)
        return found


def _fixed(donor: Program, value: ir.Value) -> TensorFact:
    """The fact of a donor's value without ranges, and with 1 for each named size (it is valid for any)."""
    fact = tensor_fact(donor, value).without_value()
    named = with_sizes(fact, dict.fromkeys(dims_of([fact]) or (), 1))
    assert named is not None
    return named


def _piece(donor: Program, usable: list[ir.Node], choices: Choices) -> list[ir.Node]:
    """A node and some of those that it depends on, in the donor's order."""
    allowed = {id(node): place for place, node in enumerate(usable)}
    piece = [choices.pick(usable)]
    end = piece[0]
    for _ in range(choices.integer(0, MAX_PIECE - 1)):
        before = []
        for node in piece:
            for value in node.inputs:
                producer = None if value is None else value.producer()
                if (
                    producer is not None
                    and id(producer) in allowed
                    and producer not in piece
                    and producer not in before
                ):
                    before.append(producer)
        if not before:
            break
        piece.append(choices.pick(before))
    piece.sort(key=lambda node: allowed[id(node)])
    assert piece[-1] is end
    return piece


def _ports(donor: Program, piece: list[ir.Node]) -> list[ir.Value]:
    """Computed values from outside that the piece reads, in order."""
    inside = {id(node) for node in piece}
    ports: dict[str, ir.Value] = {}
    for node in piece:
        for value in node.inputs:
            if value is None or not value.name or donor.constant_of(value) is not None:
                continue
            producer = value.producer()
            if producer is None or id(producer) not in inside:
                ports[value.name] = value
    return list(ports.values())


def _fits(context: Context, program: Program, value: ir.Value, wanted: TensorFact) -> bool:
    fact = program.fact(value)
    return isinstance(fact, TensorFact) and why_not(context.specs, program.opset, fact, wanted) is None


def _graft(donor: Program, inserter: Inserter, piece: list[ir.Node], copies: dict[str, ir.Value]) -> None:
    """Copy the piece's nodes and the constants that they read; ``copies`` holds what stands for each donor's value."""
    for node in piece:
        inputs: list[ir.Value | None] = []
        for value in node.inputs:
            if value is not None and str(value.name) not in copies:
                tensor = donor.constant_of(value)
                assert tensor is not None
                copies[str(value.name)] = inserter.constant(tensor, "grafted")
            inputs.append(None if value is None else copies[str(value.name)])
        copy = inserter.node(node.op_type, inputs, attributes(node), len(node.outputs))
        for old, new in zip(node.outputs, copy.outputs, strict=True):
            if old.name:
                copies[old.name] = new
