"""``name-sizes``: unknown sizes of graph inputs get names, so that it can be said what follows from them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import onnx_ir as ir

from irfuzz.choices import Choices
from irfuzz.facts import Dim, TensorFact
from irfuzz.ir.fact_type_conversion import declare
from irfuzz.ir.input_domain import input_sizes, input_variants, set_input_sizes
from irfuzz.ir.program import Program
from irfuzz.ir.value import set_fact
from irfuzz.mutate.model_interface.dimension_to_symbol import fresh_sizes
from irfuzz.mutate.model_interface.freeze_defaults import SITE
from irfuzz.mutate.mutator_context import Context
from irfuzz.mutate.mutator_protocol import Profile, Relation, Skipped

ONE = (1,)
"""What sizes of which there are several may be: with broadcasting it fits wherever two of them meet."""


@dataclass(frozen=True, slots=True)
class NameSizes:
    """Gives every unknown size of an input a name of its own, which says no more than that it is unknown.

    Some converters leave the batch without a name; behind such an input no size would be known, and hardly a mutator
    would find a site. The engine makes this edit before any other one if it applies, and never draws it.
    """

    context: Context
    name: ClassVar[str] = "name-sizes"
    version: ClassVar[int] = 1
    relation: ClassVar[Relation] = Relation.EQUIVALENT
    profile: ClassVar[Profile] = Profile(weight=0.0, covers=False)

    def sites(self, program: Program) -> list[str]:
        """The model, under the name ``model``, if an input without a default has a size of neither number nor name."""
        return [SITE] if any(_unknown(program, value) for value in program.graph.inputs) else []

    def apply(self, program: Program, site: str, choices: Choices) -> str | Skipped:  # noqa: ARG002 - the protocol's
        """Name all of them, each on its own, and infer what follows; nothing is drawn. If there are several, each is
        only allowed to be 1, unless shapes were found for its input before.
        """
        places = [(value, axis) for value in program.graph.inputs for axis in _unknown(program, value)]
        if not places:
            return Skipped("no input has an unknown size")
        free = fresh_sizes(program)
        for value, axis in places:
            fact = program.fact(value)
            assert isinstance(fact, TensorFact)
            assert fact.shape is not None
            size = next(free)
            fact = replace(fact, shape=(*fact.shape[:axis], size, *fact.shape[axis + 1 :]))
            declare(value, fact)
            set_fact(value, fact)
            if len(places) > 1 and not input_variants(value):
                set_input_sizes(value, {**input_sizes(value), size: ONE})
        # Whatever the model declares still holds; the constructor drops what was cached of names, digest and values.
        Program.__init__(program, program.model, program.residue, program.parents)
        program.infer()
        return f"{len(places)} unknown sizes of inputs have names"


def _unknown(program: Program, value: ir.Value) -> list[int]:
    """Axes of an input without a default whose size is neither a number nor a name."""
    fact = program.fact(value)
    if not value.name or value.is_initializer() or not isinstance(fact, TensorFact) or fact.shape is None:
        return []
    sizes: tuple[Dim, ...] = fact.shape
    return [axis for axis, size in enumerate(sizes) if size is None]
