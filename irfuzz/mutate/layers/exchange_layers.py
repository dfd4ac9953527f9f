"""``exchange-layers``: two layers anywhere in a program take each other's places (LEMON's LS, table 1)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from irfuzz.choices import Choices
from irfuzz.ir.program import Program
from irfuzz.mutate.editing.layer_rewiring import attributes, uncopyable
from irfuzz.mutate.editing.mutation_sites import is_exact, layer_nodes, node_at, tensor_fact
from irfuzz.mutate.editing.node_inserter import Inserter
from irfuzz.mutate.editing.value_adaptation import adapt, why_not
from irfuzz.mutate.mutator_context import Context
from irfuzz.mutate.mutator_protocol import Profile, PublishedOperator, Relation, Skipped

if TYPE_CHECKING:
    import onnx_ir as ir

    from irfuzz.facts import TensorFact


@dataclass(frozen=True, slots=True)
class ExchangeLayers:
    """LS: each of two layers, with its weights and attributes, computes on what the other one read."""

    context: Context
    name: ClassVar[str] = "exchange-layers"
    version: ClassVar[int] = 1
    relation: ClassVar[Relation] = Relation.CHANGED
    profile: ClassVar[Profile] = Profile(
        weight=0.5,
        papers=(PublishedOperator("lemon", 11, "LS", "Layer Switch", note="what has another shape is adapted"),),
    )

    def sites(self, program: Program) -> list[str]:
        """Layers with one output that compute on their first input alone, beside initializers, if there are two of
        them.
        """
        found = [program.site_of(n) for n in layer_nodes(program, self.context.specs) if _movable(program, n)]
        return found if len(found) > 1 else []

    def apply(self, program: Program, site: str, choices: Choices) -> str | Skipped:
        """Draw the other layer among those whose types can be adapted.

        Before: ``f(x)`` and ``g(y)``. After: ``g(x)`` and ``f(y)``, each with its weights, with inputs and results
        adapted.
        """
        specs, opset = self.context.specs, program.opset
        node = node_at(program, site)
        taken, given = _ends(program, node)
        others = []
        for other in layer_nodes(program, specs):
            if other is node or not _movable(program, other):
                continue
            theirs, result = _ends(program, other)
            pairs = ((taken, theirs), (result, given), (theirs, taken), (given, result))
            if all(why_not(specs, opset, a, b) is None for a, b in pairs):
                others.append(other)
        if not others:
            return Skipped("no other layer whose types can be adapted")
        other = choices.pick(others)
        refused = uncopyable(program, specs, node) or uncopyable(program, specs, other)
        if refused is not None:
            return refused
        calls = [(n.op_type, list(n.inputs[1:]), attributes(n), _ends(program, n)[0]) for n in (other, node)]
        names = node.op_type, other.op_type
        # Both before either is put in place: what is replaced is pruned, with the weights that the other place needs.
        made = []
        for place, (op, rest, attrs, wanted) in zip((node, other), calls, strict=True):
            first = place.inputs[0]
            assert first is not None
            inserter = Inserter(program, place)
            new = inserter.node(op, [adapt(specs, inserter, first, wanted, choices), *rest], attrs)
            made.append((inserter, place.outputs[0], new.outputs[0]))
        for inserter, old, result in made:
            program.replace_uses(old, adapt(specs, inserter, result, tensor_fact(program, old), choices), outputs=True)
        program.prune()
        return f"{names[0]} at {site} and {names[1]} take each other's places"


def _ends(program: Program, node: ir.Node) -> tuple[TensorFact, TensorFact]:
    """What a layer reads first, and what it gives."""
    first = node.inputs[0]
    assert first is not None
    return tensor_fact(program, first), tensor_fact(program, node.outputs[0])


def _movable(program: Program, node: ir.Node) -> bool:
    """One output, a computed first input whose elements are free, and initializers besides."""
    first = node.inputs[0] if node.inputs else None
    if first is None or len(node.outputs) != 1 or program.constant_of(first) is not None:
        return False
    if is_exact(node, 0, tensor_fact(program, first).dtype):
        return False
    return all(v is None or v.is_initializer() for v in node.inputs[1:])
