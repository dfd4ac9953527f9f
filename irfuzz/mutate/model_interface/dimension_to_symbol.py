"""``dimension-to-symbol``: a size of a graph input becomes a name, with the sizes at which the program is valid."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import onnx_ir as ir

from irfuzz.choices import Choices
from irfuzz.facts import Dim, TensorFact
from irfuzz.ir.input_domain import input_sizes, set_input_sizes
from irfuzz.ir.program import Program
from irfuzz.mutate.editing.dry_run import rehearse
from irfuzz.mutate.editing.mutation_sites import value_at
from irfuzz.mutate.mutator_context import Context
from irfuzz.mutate.mutator_protocol import Profile, Relation, Skipped
from irfuzz.spec import with_trait

Place = tuple[str, int]
"""A graph input's name and one of its axes."""

MORE = 3
"""How many further sizes are tried, at most."""


@dataclass(frozen=True, slots=True)
class DimensionToSymbol:
    """Lets the size of one axis be open until the run, at one input or at all that have it.

    The old size stays allowed; others are if the whole program, inferred at them, breaks no rule: larger ones, 1, which
    is broadcast where the old size met its like, and 0, if nothing in the program refuses tensors of no elements.
    """

    context: Context
    name: ClassVar[str] = "dimension-to-symbol"
    version: ClassVar[int] = 2
    relation: ClassVar[Relation] = Relation.EQUIVALENT
    profile: ClassVar[Profile] = Profile(weight=0.3)

    def sites(self, program: Program) -> list[str]:
        """Graph inputs without a default that have a size that is a number above 0."""
        return [value.name for value in program.graph.inputs if value.name and _numbers(program, value)]

    def apply(self, program: Program, site: str, choices: Choices) -> str | Skipped:
        """Draw the axis, the first one most often, and whether all inputs' axes of that size share the name.

        The sizes that fit are found on copies of the program and written down as the input's allowed sizes. Skipped if
        a rank would be unknown or a rule be broken then.
        """
        value = value_at(program, site)
        axes = _numbers(program, value) if value.is_graph_input() else []
        if not axes:
            return Skipped("no size that is a number")
        axis = choices.weighted(axes, [3.0 if axis == 0 else 1.0 for axis in axes])
        size = _shape(program, value)[axis]
        assert type(size) is int
        places: list[Place] = [(site, axis)]
        if choices.boolean():
            places = [
                (v.name or "", i)
                for v in program.graph.inputs
                for i in _numbers(program, v)
                if _shape(program, v)[i] == size
            ]
        name = next(fresh_sizes(program))
        reason = rehearse(program, self.context.specs, lambda copy: give_sizes(copy, places, name))
        if reason is not None:
            return Skipped(reason)
        others = [1, size + 1, size + 2, 2 * size, 3 * size, *(() if _refuses_none(program) else (0,))]
        tried = choices.sample([n for n in dict.fromkeys(others) if n != size], MORE)
        allowed = sorted({size, *(n for n in tried if self._holds(program, places, n))})
        give_sizes(program, places, name)
        for owner in dict.fromkeys(owner for owner, _ in places):
            given = value_at(program, owner)
            set_input_sizes(given, {**input_sizes(given), name: tuple(allowed)})
        where = ", ".join(f"axis {i} of {owner}" for owner, i in places)
        return f"{where} has the size {name}, one of {allowed}"

    def _holds(self, program: Program, places: Sequence[Place], size: int) -> bool:
        specs = self.context.specs
        return rehearse(program, specs, lambda copy: give_sizes(copy, places, size), static=True) is None


def _refuses_none(program: Program) -> bool:
    """Whether some operator of the program is not run on tensors of no elements."""
    refused = with_trait("refuses_empty") | with_trait("empty_batch_only")
    return any(node.op_type in refused for node in program.nodes())


def give_sizes(program: Program, places: Iterable[Place], size: Dim) -> None:
    """Let the inputs have another size at these places, and infer what follows; all places change at once.

    Args:
        program: it is edited.
        places: names of graph inputs, each with an axis.
        size: a number, a name, or ``None``.

    Raises:
        InvalidProgram: ONNX finds a call ill-typed then.
    """
    shapes: dict[str, list[Dim]] = {}
    for name, axis in places:
        shape = shapes.setdefault(name, list(_shape(program, value_at(program, name))))
        shape[axis] = size
    program.declare_inputs(
        {value_at(program, name): _with_shape(program, name, shape) for name, shape in shapes.items()}
    )


def _with_shape(program: Program, name: str, shape: Sequence[Dim]) -> TensorFact:
    fact = program.fact(value_at(program, name))
    assert isinstance(fact, TensorFact)
    return replace(fact, shape=tuple(shape))


def _shape(program: Program, value: ir.Value) -> tuple[Dim, ...]:
    fact = program.fact(value)
    return fact.shape or () if isinstance(fact, TensorFact) else ()


def _numbers(program: Program, value: ir.Value) -> list[int]:
    """Axes whose size is a number above 0, of an input without a default."""
    if value.is_initializer():
        return []
    return [axis for axis, size in enumerate(_shape(program, value)) if type(size) is int and size > 0]


def fresh_sizes(program: Program) -> Iterator[str]:
    """Names that no size of the program has now: ``size_0``, ``size_1`` and so on without end, those in use
    left out.
    """
    used = {d for value in program.values() for d in _shape(program, value) if isinstance(d, str)}
    return (name for name in map("size_{}".format, itertools.count()) if name not in used)
