"""``freeze-defaults``: graph inputs that have a default become constants, as old models mean them to be."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from irfuzz.choices import Choices
from irfuzz.ir.program import Program
from irfuzz.mutate.context import Context
from irfuzz.mutate.types import Profile, Relation, Skipped

SITE = "model"
_FREE_INITIALIZERS = 4


@dataclass(frozen=True, slots=True)
class FreezeDefaults:
    """Removes inputs that initializers stand for.

    Before IR version 4 every initializer had to be an input as well, so that nothing could be said of any weight's
    elements. The engine makes this edit before any other one where it applies, and never draws it.
    """

    context: Context
    name: ClassVar[str] = "freeze-defaults"
    version: ClassVar[int] = 1
    relation: ClassVar[Relation] = Relation.EQUIVALENT
    profile: ClassVar[Profile] = Profile(weight=0.0, covers=False)

    def sites(self, program: Program) -> list[str]:
        """The model, where it has such inputs."""
        initializers = program.graph.initializers
        return [SITE] if any(value.name in initializers for value in program.graph.inputs) else []

    def apply(self, program: Program, site: str, choices: Choices) -> str | Skipped:  # noqa: ARG002 - the protocol's
        """Remove all of them and infer anew."""
        graph = program.graph
        kept = [value for value in graph.inputs if value.name not in graph.initializers]
        count = len(graph.inputs) - len(kept)
        if not count:
            return Skipped("no input has a default")
        graph.inputs[:] = kept
        program.model.ir_version = max(program.model.ir_version or 0, _FREE_INITIALIZERS)
        # The constructor drops what was cached of names, digest and values.
        Program.__init__(program, program.model, program.residue, program.parents)
        program.infer()
        return f"{count} inputs that have a default are constants"
