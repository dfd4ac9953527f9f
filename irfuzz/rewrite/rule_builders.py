"""Builds a rewrite from side conditions and a replacement, or from a mutator that keeps the meaning."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, TypeAlias

import onnx_ir as ir

from irfuzz.choices import Choices
from irfuzz.errors import InvalidProgram
from irfuzz.facts import TensorFact
from irfuzz.mutate.editing.convex_regions import same_type
from irfuzz.mutate.editing.mutation_sites import flow_values, layer_nodes, node_after, node_at, tensor_fact, value_at
from irfuzz.mutate.editing.node_inserter import Inserter
from irfuzz.mutate.editing.operator_type_portability import runs
from irfuzz.mutate.mutation_engine import described
from irfuzz.mutate.mutator_context import Context
from irfuzz.mutate.mutator_protocol import Mutator, Relation, Skipped
from irfuzz.rewrite.rewrite_rule import Exactness, Rewrite

if TYPE_CHECKING:
    from irfuzz.ir.program import Program
    from irfuzz.spec import Specs

NodeFits: TypeAlias = "Callable[[Program, ir.Node], bool]"
NodeBuild: TypeAlias = Callable[[Inserter, ir.Node, Choices], ir.Value]
ValueFits: TypeAlias = Callable[[TensorFact], bool]
ValueBuild: TypeAlias = Callable[[Inserter, ir.Value, Choices], ir.Value]

MOST_ELEMENTS = 1 << 18
"""Larger values are left alone: what replaces them may be several times as large."""


def rewrite_nodes(
    name: str,
    exactness: Exactness,
    about: str,
    ops: Iterable[str],
    build: NodeBuild,
    fits: NodeFits | None = None,
    *,
    needs: Sequence[str] = (),
    eagle: int | None = None,
) -> Rewrite:
    """A rewrite of single nodes of the default domain whose first output alone is used.

    Args:
        name: of the rewrite.
        exactness: what it promises.
        about: pattern and replacement.
        ops: operators that it replaces.
        build: adds the replacement in front of the node; the value that stands for its output.
        fits: side conditions; inputs and outputs are dense tensors of static shape.
        needs: operators that must be known to run with the first input's element type.
        eagle: rule of EAGLE.
    """
    wanted = frozenset(ops)

    def suits(program: Program, specs: Specs, node: ir.Node) -> bool:
        if node.op_type not in wanted or any(o.uses() or o.is_graph_output() for o in node.outputs[1:]):
            return False
        for value in (*node.inputs, node.outputs[0]):
            fact = program.tensor(value)
            if value is not None and (fact is None or not fact.is_static or not 0 < (fact.size() or 0) < MOST_ELEMENTS):
                return False
        if node.inputs[0] is None:
            return False
        kind = tensor_fact(program, node.inputs[0]).dtype
        return all(runs(specs, op, program.opset, kind) for op in needs) and (fits is None or fits(program, node))

    def sites(program: Program, specs: Specs) -> list[str]:
        return [program.site_of(n) for n in layer_nodes(program, specs) if suits(program, specs, n)]

    def apply(program: Program, specs: Specs, site: str, choices: Choices) -> str | Skipped:
        node = node_at(program, site)
        if not suits(program, specs, node):
            return Skipped("the pattern does not fit")
        _put(program, node.outputs[0], build(Inserter(program, node), node, choices), node)
        return f"{node.op_type} at {site}: {about}"

    return Rewrite(name, exactness, about, sites, apply, eagle)


def rewrite_values(
    name: str,
    exactness: Exactness,
    about: str,
    build: ValueBuild,
    fits: ValueFits,
    *,
    needs: Sequence[str] = (),
    since: int = 0,
    eagle: int | None = None,
) -> Rewrite:
    """A rewrite that computes a value in a roundabout way before it is read.

    Args:
        name: of the rewrite.
        exactness: what it promises.
        about: pattern and replacement.
        build: adds the way behind the value; its end.
        fits: whether it can be done with values of that fact, which is of static shape and not empty.
        needs: operators that must be known to run with the element type.
        since: first opset.
        eagle: rule of EAGLE.
    """

    def suits(program: Program, specs: Specs, value: ir.Value) -> bool:
        fact = tensor_fact(program, value)
        return (
            program.opset >= since
            and fact.is_static
            and 0 < (fact.size() or 0) < MOST_ELEMENTS
            and all(runs(specs, op, program.opset, fact.dtype) for op in needs)
            and fits(fact)
        )

    def sites(program: Program, specs: Specs) -> list[str]:
        return [v.name or "" for v in flow_values(program) if suits(program, specs, v)]

    def apply(program: Program, specs: Specs, site: str, choices: Choices) -> str | Skipped:
        value = value_at(program, site)
        if not suits(program, specs, value):
            return Skipped("the pattern does not fit")
        readers = [(use.node, use.idx) for use in value.uses()]
        new = build(Inserter(program, node_after(program, value)), value, choices)
        _same(program, value, new)
        if not program.replace_uses(value, new, users=readers, outputs=not value.is_graph_input()):
            raise InvalidProgram(f"value {site!r}: nothing reads it that could read another")
        program.prune()
        return f"{site}: {about}"

    return Rewrite(name, exactness, about, sites, apply, eagle)


def rewrite_by(make: Callable[[Context], Mutator], exactness: Exactness, about: str) -> Rewrite:
    """A mutator, as far as its edits keep the meaning.

    A site whose edit would change it is skipped, after a try on a copy.

    Args:
        make: class of the mutator, which also has the name of the rewrite.
        exactness: what the rewrite promises.
        about: pattern and replacement.
    """
    name: str = getattr(make, "name", "")

    def sites(program: Program, specs: Specs) -> Sequence[str]:
        return make(Context(specs)).sites(program)

    def apply(program: Program, specs: Specs, site: str, choices: Choices) -> str | Skipped:
        mutator = make(Context(specs))
        mark = choices.mark()
        answer = mutator.apply(program.clone(), site, choices)
        if isinstance(answer, Skipped):
            return answer
        applied = described(mutator, answer)
        if applied.relation is not Relation.EQUIVALENT:
            return Skipped("this edit would change the meaning")
        mutator.apply(program, site, Choices.from_record(choices.record[mark:]))
        return applied.detail

    return Rewrite(name, exactness, about, sites, apply)


def _same(program: Program, old: ir.Value, new: ir.Value) -> None:
    if not same_type(program.fact(old), program.fact(new)):
        raise InvalidProgram(f"value {old.name!r}: expected {program.fact(old)}, got {program.fact(new)}")


def _put(program: Program, old: ir.Value, new: ir.Value, node: ir.Node) -> None:
    """Let the readers of a node's output read another value, and remove what nobody needs."""
    _same(program, old, new)
    if new.is_graph_input() or new.is_graph_output() or new.is_initializer():
        new = Inserter(program, node).value("Identity", new)
    program.replace_uses(old, new, outputs=True)
    program.prune()
