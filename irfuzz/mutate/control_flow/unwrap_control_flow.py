"""``unwrap-control-flow``: an If of known condition, or a Loop or Scan of few turns, becomes the nodes of its body."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from irfuzz.choices import Choices
from irfuzz.ir.inlining import turns_of, unroll, why_not_unrolled
from irfuzz.ir.program import Program
from irfuzz.mutate.control_flow.body_draft import require_no_less
from irfuzz.mutate.editing.mutation_sites import node_at
from irfuzz.mutate.mutator_context import Context
from irfuzz.mutate.mutator_protocol import Profile, Relation, Skipped


@dataclass(frozen=True, slots=True)
class UnwrapControlFlow:
    """Writes out every turn; stacked results are put together by Unsqueeze and Concat."""

    context: Context
    name: ClassVar[str] = "unwrap-control-flow"
    version: ClassVar[int] = 1
    relation: ClassVar[Relation] = Relation.EQUIVALENT
    profile: ClassVar[Profile] = Profile(weight=2.0)

    def sites(self, program: Program) -> list[str]:
        """Control flow nodes of which facts tell how often their bodies run: an If of known condition, a Loop of known
        turns, a Scan along a known size.
        """
        return [program.site_of(n) for n in program.graph if turns_of(program, n) is not None]

    def apply(self, program: Program, site: str, choices: Choices) -> str | Skipped:  # noqa: ARG002 - the protocol's
        """Replace the node by a copy of its body for each turn; nothing is drawn.

        Nodes of too many turns are skipped, and those whose results are no dense tensors. Raises ``InvalidProgram`` if
        less is known of an output's shape then.
        """
        node = node_at(program, site)
        reason = why_not_unrolled(program, node)
        if reason is not None:
            return Skipped(reason)
        turns = turns_of(program, node)
        outputs = [(o.name, program.fact(o)) for o in program.graph.outputs]
        unroll(program, node)
        require_no_less(program, outputs)
        return f"{node.op_type} at {site} written out, {turns} turns"
