"""The open axes of a program's inputs, in groups of equal size."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

import onnx_ir as ir

from irfuzz.errors import InvalidProgram
from irfuzz.facts import TensorFact
from irfuzz.generate.input_planning.axis_kinds import SIZES, Kind, kind_of
from irfuzz.generate.input_planning.element_flow import Flow
from irfuzz.generate.input_planning.size_equalities import Ties, ties_of
from irfuzz.ir.input_domain import input_sizes
from irfuzz.ir.program import Program
from irfuzz.spec import Specs, has_trait

MOST_DIVISORS, MOST_DIVISOR = 4, 1 << 12
"""So many numbers in shapes are taken for divisors of sizes, and none that is larger."""

_SUM = re.compile(r"\w+(\s*\+\s*\w+)+")
"""Names that exporters give to sizes which are sums of others."""


@dataclass(frozen=True, slots=True)
class AxisGroup:
    """Axes that have one size.

    Attributes:
        name: of the dimension, or of the first axis if it has none.
        places: inputs and axes.
        kind: what they count.
        sizes: that are tried, the first in front; those that metadata allows, or one if no other will do.
        total: sizes of other groups and numbers whose sum it is, by what its name says.
        said: no other sizes are allowed.
    """

    name: str
    places: tuple[tuple[str, int], ...]
    kind: Kind
    sizes: tuple[int, ...]
    total: tuple[str, ...] = ()
    said: bool = False

    @property
    def fixed(self) -> bool:
        """True if only one size will do."""
        return len(self.sizes) == 1


def inputs_of(program: Program) -> list[ir.Value]:
    """Graph inputs that have to be given and are dense tensors of known rank, in order; inputs with a default are left
    out.
    """
    return [
        value
        for value in program.graph.inputs
        if value.name not in program.graph.initializers
        and isinstance(fact := program.fact(value), TensorFact)
        and fact.shape is not None
    ]


def open_axes(program: Program) -> list[tuple[ir.Value, int, str | None]]:
    """Input, axis and name of every size that is no number, in the order of the inputs; the name is ``None`` if it has
    none.
    """
    found: list[tuple[ir.Value, int, str | None]] = []
    for value in inputs_of(program):
        fact = program.fact(value)
        assert isinstance(fact, TensorFact)
        found += [(value, axis, d) for axis, d in enumerate(fact.shape or ()) if not isinstance(d, int)]
    return found


def groups_of(program: Program, specs: Specs, states: Collection[str] = ()) -> list[AxisGroup]:
    """The groups of open axes, in the order of the inputs.

    Args:
        program: stays as it is.
        specs: operators, whose rules tie sizes.
        states: inputs that an earlier run left: their axes without a name are batches.
    """
    axes = open_axes(program)
    names = {(v.name or "", axis): name or f"{v.name}[{axis}]" for v, axis, name in axes}
    ties = _ties(program, specs, names)
    allowed = {n: sizes for value in inputs_of(program) for n, sizes in input_sizes(value).items()}
    flow = Flow(program)
    kinds = {
        (v.name or "", axis): _of_state(program, v, axis)
        if name is None and v.name in states
        else kind_of(program, flow, v, axis, name or "")
        for v, axis, name in axes
    }
    divisors = _divisors(program)
    rows: dict[str, list[tuple[str, int]]] = {}
    for place, name in names.items():
        rows.setdefault(_key(ties.root(name), kinds[place], place, names[place]), []).append(place)
    groups: list[AxisGroup] = []
    for places in rows.values():
        named = [names[place] for place in places]
        kind = kinds[places[0]]
        pinned = next((number for name in named if (number := ties.number(name)) is not None), None)
        usual = _usual(kind, divisors) if pinned is None else (pinned,)
        sizes = next((allowed[name] for name in named if name in allowed), usual)
        said = any(name in allowed for name in named)
        groups.append(AxisGroup(named[0], tuple(places), kind, sizes, said=said))
    by_name = {names[place]: group.name for group in groups for place in group.places}
    return [_with_total(group, by_name) for group in groups]


def _of_state(program: Program, value: ir.Value, axis: int) -> Kind:
    """What an axis without a name counts in what an earlier run left: tokens of a cache, else a batch."""
    fact = program.tensor(value)
    return Kind.PAST if axis == 2 and fact is not None and fact.rank == 4 else Kind.BATCH


def _key(root: str, kind: Kind, place: tuple[str, int], name: str) -> str:
    """Batches without a name are one size, and so are the tokens of caches."""
    unnamed = name == f"{place[0]}[{place[1]}]"
    return kind if kind in (Kind.BATCH, Kind.PAST) and unnamed else f"={root}"


def _usual(kind: Kind, divisors: Sequence[int]) -> tuple[int, ...]:
    """The sizes of a kind, and behind them multiples of what the model may divide it by."""
    if kind in (Kind.BATCH, Kind.CHANNEL):
        return SIZES[kind]
    least = min(SIZES[kind])
    more = [d * max(1, math.ceil(least / d)) * factor for factor in (1, 2) for d in divisors]
    return tuple(dict.fromkeys([*SIZES[kind], *more]))


def _divisors(program: Program) -> list[int]:
    """Numbers in shapes that are constants of the model, the largest first: sizes may have to be multiples of them."""
    found: dict[int, None] = {}
    for node in [*program.nodes(), *(n for graph in program.model.graph.subgraphs() for n in graph)]:
        for value in node.inputs[1:2] if has_trait(node, "sizes_input") else ():
            array = None if value is None else program.const_array(value)
            if array is not None and array.ndim == 1 and array.dtype.kind in "iu":
                found.update(dict.fromkeys(int(n) for n in array if 2 < n <= MOST_DIVISOR))
    odd = [n for n in found if n & (n - 1)]  # of powers of two the usual sizes are multiples
    return sorted(odd, reverse=True)[:MOST_DIVISORS]


def _with_total(group: AxisGroup, names: Mapping[str, str]) -> AxisGroup:
    """The group with the terms of its name, if that is a sum of names of other groups and numbers."""
    if group.fixed or not _SUM.fullmatch(group.name):
        return group
    terms = [term.strip() for term in group.name.split("+")]
    if all(term.isdigit() or term in names for term in terms):
        return replace(group, total=tuple(term if term.isdigit() else names[term] for term in terms))
    return group


def _ties(program: Program, specs: Specs, names: Mapping[tuple[str, int], str]) -> Ties:
    """What operators say, with a name for each open size."""
    copy = program.clone()
    facts: dict[ir.Value, TensorFact] = {}
    for value in inputs_of(copy):
        fact = copy.fact(value)
        assert isinstance(fact, TensorFact)
        shape = tuple(names.get((value.name or "", axis), d) for axis, d in enumerate(fact.shape or ()))
        facts[value] = replace(fact, shape=shape)
    try:
        copy.declare_inputs(facts)
    except InvalidProgram:
        return Ties()
    return ties_of(copy, specs)
