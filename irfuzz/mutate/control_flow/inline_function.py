"""``inline-function``: a call of a local function becomes the nodes of its body."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from irfuzz.choices import Choices
from irfuzz.ir.inlining import function_of, inline_call, why_not_inlined
from irfuzz.ir.program import Program
from irfuzz.mutate.control_flow.body_draft import require_no_less
from irfuzz.mutate.editing.mutation_sites import node_at
from irfuzz.mutate.mutator_context import Context
from irfuzz.mutate.mutator_protocol import Profile, Relation, Skipped


@dataclass(frozen=True, slots=True)
class InlineFunction:
    """The function goes with its last call."""

    context: Context
    name: ClassVar[str] = "inline-function"
    version: ClassVar[int] = 1
    relation: ClassVar[Relation] = Relation.EQUIVALENT
    profile: ClassVar[Profile] = Profile(weight=2.5)

    def sites(self, program: Program) -> list[str]:
        """Calls of local functions in the main graph that have an output, each by the name of its first one."""
        if not program.model.functions:
            return []
        return [program.site_of(n) for n in program.graph if function_of(program, n) is not None and n.outputs]

    def apply(self, program: Program, site: str, choices: Choices) -> str | Skipped:  # noqa: ARG002 - the protocol's
        """Replace the call ``y = f(x)`` by copies of the nodes of ``f``; nothing is drawn.

        Calls of functions that import other versions, or whose outputs are inputs or given twice, are skipped. Raises
        ``InvalidProgram`` if less is known of an output's shape then.
        """
        node = node_at(program, site)
        reason = why_not_inlined(program, node)
        if reason is not None:
            return Skipped(reason)
        outputs = [(o.name, program.fact(o)) for o in program.graph.outputs]
        inline_call(program, node)
        require_no_less(program, outputs)
        return f"{node.op_type} at {site} in line"
