"""``symbol-to-number``: a named size of graph inputs becomes a number."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import onnx_ir as ir

from irfuzz.choices import Choices
from irfuzz.facts import TensorFact
from irfuzz.ir.input_domain import input_sizes, input_variants, set_input_sizes
from irfuzz.ir.program import Program
from irfuzz.mutate.editing.dry_run import rehearse
from irfuzz.mutate.editing.mutation_sites import value_at
from irfuzz.mutate.model_interface.dimension_to_symbol import give_sizes
from irfuzz.mutate.mutator_context import Context
from irfuzz.mutate.mutator_protocol import Profile, Relation, Skipped

SIZES = (1, 2, 3, 4, 7)
"""What a name stands for where nothing limits it."""


@dataclass(frozen=True, slots=True)
class SymbolToNumber:
    """Gives every dimension of one name the same number, an allowed one."""

    context: Context
    name: ClassVar[str] = "symbol-to-number"
    version: ClassVar[int] = 1
    relation: ClassVar[Relation] = Relation.EQUIVALENT
    profile: ClassVar[Profile] = Profile(weight=1.0)

    def sites(self, program: Program) -> list[str]:
        """Graph inputs without a default that have a named size, by the input's name."""
        return [value.name for value in program.graph.inputs if value.name and _names(program, value)]

    def apply(self, program: Program, site: str, choices: Choices) -> str | Skipped:
        """Draw one of the input's names and a number, and put it in the place of the name at every input.

        The number is one of those that are allowed for the name, else one of those in the shapes that were found to
        fit, else one of ``SIZES``. Skipped if a rule would be broken.
        """
        value = value_at(program, site)
        names = _names(program, value) if value.is_graph_input() else []
        if not names:
            return Skipped("no size that is a name")
        name = choices.pick(names)
        places = [
            (given.name or "", axis)
            for given in program.graph.inputs
            for axis, size in enumerate(_sizes(program, given))
            if size == name
        ]
        owners = [value_at(program, owner) for owner in dict.fromkeys(owner for owner, _ in places)]
        found = sorted(
            {
                v.shape[axis]
                for owner, axis in places
                for v in input_variants(value_at(program, owner))
                if axis < len(v.shape)
            }
        )
        allowed = next((sizes[name] for owner in owners if name in (sizes := input_sizes(owner))), found or SIZES)
        number = choices.pick(allowed)
        reason = rehearse(program, self.context.specs, lambda copy: give_sizes(copy, places, number))
        if reason is not None:
            return Skipped(reason)
        give_sizes(program, places, number)
        for owner in owners:
            set_input_sizes(owner, {n: sizes for n, sizes in input_sizes(owner).items() if n != name})
        return f"the size {name} is {number}"


def _sizes(program: Program, value: ir.Value) -> tuple[object, ...]:
    fact = program.fact(value)
    return fact.shape or () if isinstance(fact, TensorFact) else ()


def _names(program: Program, value: ir.Value) -> list[str]:
    """Named sizes of an input without a default, each once."""
    if value.is_initializer():
        return []
    return list(dict.fromkeys(size for size in _sizes(program, value) if isinstance(size, str)))
