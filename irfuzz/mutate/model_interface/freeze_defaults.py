"""``freeze-defaults``: graph inputs that have a default become constants, as old models mean them to be."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from irfuzz.choices import Choices
from irfuzz.ir.input_defaults import freeze_defaults
from irfuzz.ir.program import Program
from irfuzz.ir.serialization.preserved_unsupported_fields import FREE_INITIALIZERS, lists_initializers
from irfuzz.mutate.mutator_context import Context
from irfuzz.mutate.mutator_protocol import Profile, Relation, Skipped

SITE = "model"


@dataclass(frozen=True, slots=True)
class FreezeDefaults:
    """Removes inputs that initializers stand for.

    Nothing can be said of the elements of a weight that a caller may override. Below IR version 4 every initializer is
    listed among the inputs and is a constant all the same; such a model gets a version that wants no list. The engine
    makes this edit before any other one if it applies, and never draws it.
    """

    context: Context
    name: ClassVar[str] = "freeze-defaults"
    version: ClassVar[int] = 1
    relation: ClassVar[Relation] = Relation.EQUIVALENT
    profile: ClassVar[Profile] = Profile(weight=0.0, covers=False)

    def sites(self, program: Program) -> list[str]:
        """The model, under the name ``model``, if an input has a default, or if its IR version lists initializers among
        the inputs.
        """
        graph = program.graph
        listed = lists_initializers(program.model.ir_version) and bool(graph.initializers)
        return [SITE] if listed or any(value.name in graph.initializers for value in graph.inputs) else []

    def apply(self, program: Program, site: str, choices: Choices) -> str | Skipped:  # noqa: ARG002 - the protocol's
        """Remove all of them from the inputs and infer anew, in place; nothing is drawn. A model of IR version 3 or
        below gets version 4 instead.
        """
        listed = lists_initializers(program.model.ir_version)
        count = len(program.graph.initializers) if listed else freeze_defaults(program)
        if not count:
            return Skipped("no input has a default")
        if listed:
            program.model.ir_version = FREE_INITIALIZERS
            Program.__init__(program, program.model, program.residue, program.parents)  # drops the digest
            program.infer()
        return f"{count} inputs that have a default are constants"
