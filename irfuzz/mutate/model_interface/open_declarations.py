"""``open-declarations``: what a model states of computed values says less than is known: some sizes are open there."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import onnx_ir as ir

from irfuzz.choices import Choices
from irfuzz.facts import Dim, TensorFact
from irfuzz.ir.program import Program
from irfuzz.mutate.model_interface.freeze_defaults import SITE
from irfuzz.mutate.mutator_context import Context
from irfuzz.mutate.mutator_protocol import Profile, Relation, Skipped

_MOST = 3
"""Most values of an edit."""

_AXIS = 0.6
"""How often the size of an axis is left open."""

_NAMED = 0.5
"""How often it has a name then, of which nothing else is stated."""


@dataclass(frozen=True, slots=True)
class OpenDeclarations:
    """States of graph outputs, and of inner values, a shape with open sizes.

    A runtime that believes the statement plans buffers and fusions by it; what is computed stays the same. It is
    never stated that a size is what it is not.
    """

    context: Context
    name: ClassVar[str] = "open-declarations"
    version: ClassVar[int] = 1
    relation: ClassVar[Relation] = Relation.EQUIVALENT
    profile: ClassVar[Profile] = Profile(weight=0.2)

    def sites(self, program: Program) -> list[str]:
        """The model, under the name ``model``, if its main graph computes a dense tensor of at least one axis that is
        read or an output.
        """
        return [SITE] if _computed(program) else []

    def apply(self, program: Program, site: str, choices: Choices) -> str | Skipped:  # noqa: ARG002 - the protocol's
        """Draw up to three computed values, and which of their sizes are open in what the model declares of them.

        An open size gets a name made of the value's and the axis, or none. Facts, and what is computed, stay the same.
        """
        values = _computed(program)
        told: list[str] = []
        for value in choices.sample(values, choices.integer(1, _MOST)) if values else ():
            fact = program.tensor(value)
            assert fact is not None
            shape: list[Dim] = []
            for axis, size in enumerate(fact.shape or ()):
                free = choices.boolean(_AXIS)
                shape.append(size if not free else f"{value.name}_{axis}" if choices.boolean(_NAMED) else None)
            program.state(value, TensorFact(fact.dtype, tuple(shape)))
            told.append(f"{value.name}: {', '.join('?' if d is None else str(d) for d in shape)}")
        return f"states {'; '.join(told)}" if told else Skipped("no computed tensor with an axis")


def _computed(program: Program) -> list[ir.Value]:
    """Results of nodes of the main graph that are tensors of a known rank above 0."""
    found: list[ir.Value] = []
    for node in program.graph:
        for value in node.outputs:
            fact = program.tensor(value) if value.name else None
            if fact is not None and fact.shape and (value.uses() or value.is_graph_output()):
                found.append(value)
    return found
