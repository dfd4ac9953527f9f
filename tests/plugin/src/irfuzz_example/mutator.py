"""Negates one value on its way to one reader."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from irfuzz.choices import Choices
from irfuzz.ir.program import Program
from irfuzz.mutate.mutator_context import Context
from irfuzz.mutate.mutator_protocol import Relation, Skipped


@dataclass(frozen=True, slots=True)
class NegateFirst:
    """Puts a Neg behind a MatMul, for its first reader."""

    context: Context
    name: ClassVar[str] = "negate-first"
    version: ClassVar[int] = 1
    relation: ClassVar[Relation] = Relation.CHANGED

    def sites(self, program: Program) -> list[str]:
        return [program.site_of(node) for node in program.nodes() if node.op_type == "MatMul"]

    def apply(self, program: Program, site: str, choices: Choices) -> str | Skipped:
        node = program.node(site)
        if node is None or not node.outputs[0].uses():
            return Skipped("no such node, or nothing reads it")
        user, index = next(iter(node.outputs[0].uses()))
        negated = program.insert("Neg", [node.outputs[0]], after=node)
        program.replace_uses(node.outputs[0], negated.outputs[0], users=[(user, index)])
        return f"Neg behind {site}"
