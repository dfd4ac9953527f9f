"""Puts a judged draft into a program: its result takes a value's place, or is an output."""

from __future__ import annotations

from typing import TYPE_CHECKING

import onnx_ir as ir

from irfuzz.choices import Choices
from irfuzz.ir.program import Program
from irfuzz.mutate.control_flow.body_draft import OWN, BodyDraft, control_node, require_types
from irfuzz.mutate.control_flow.branch_conditions import condition, readable
from irfuzz.mutate.editing.convex_regions import fits_bodies
from irfuzz.mutate.editing.layer_rewiring import splice_in
from irfuzz.mutate.editing.mutation_sites import main_uses, node_after, tensor_fact
from irfuzz.mutate.editing.node_inserter import Inserter
from irfuzz.mutate.editing.operator_type_portability import CASTABLE
from irfuzz.mutate.editing.value_adaptation import adapt, why_not
from irfuzz.mutate.model_interface.expose_value import MOST_OUTPUTS
from irfuzz.mutate.mutator_context import Context
from irfuzz.mutate.patterns.near_misses import MISSES
from irfuzz.mutate.patterns.pattern_draft import PatternDraft, retyped
from irfuzz.mutate.patterns.pattern_draft_validation import insert, judge

if TYPE_CHECKING:
    from irfuzz.spec import Specs

_MISS_TRIES = 8

_OTHER_TYPE = 0.12
"""How much of what is off is the element type of the whole."""


def missed(
    context: Context, program: Program, value: ir.Value, draft: PatternDraft, choices: Choices, limit: int
) -> tuple[PatternDraft, str] | None:
    """The judged draft with one thing off, judged again, and what is off, for a description; ``None`` after eight
    tries.

    Args:
        context: specs.
        program: it is not changed.
        value: what the draft's inputs must still be made of.
        draft: it stays as it is.
        choices: draw what is off.
        limit: most elements of a value.
    """
    specs, opset = context.specs, program.opset
    fact = tensor_fact(program, value)
    for _ in range(_MISS_TRIES):
        found = _miss(context, opset, draft, choices)
        if found is None:
            continue
        other, off = found
        if any(why_not(specs, opset, fact, g) for g in other.given.values()):
            continue
        if judge(specs, opset, other, limit) is None:
            return other, f" with {off}"
    return None


def _miss(context: Context, opset: int, draft: PatternDraft, choices: Choices) -> tuple[PatternDraft, str] | None:
    if choices.boolean(_OTHER_TYPE):
        dtype = draft.given["x"].dtype
        new = choices.pick([d for d in CASTABLE if d is not dtype])
        other = retyped(draft, dtype, new)
        return None if other is None else (other, f"elements of {new.name}")
    name = choices.weighted(tuple(MISSES), [weight for _, weight in MISSES.values()])
    other = draft.copy()
    other.facts = draft.facts
    off = MISSES[name][0](context.specs, opset, other, choices)
    return None if off is None else (other, off)


def room(
    context: Context, program: Program, value: ir.Value, draft: PatternDraft, beside: float, choices: Choices
) -> int:
    """2 if the result is to take the value's place, 1 if it is to be an output, 0 if neither can be.

    Args:
        context: specs.
        program: an output is possible if it has fewer than ``MOST_OUTPUTS``.
        value: whose place it is.
        draft: judged.
        beside: how often it becomes an output if both can be.
        choices: decide that.
    """
    free = len(program.graph.outputs) < MOST_OUTPUTS
    result = draft.facts[draft.result].without_value()
    fits = why_not(context.specs, program.opset, result, tensor_fact(program, value)) is None
    if not fits:
        return int(free)
    return 1 if free and choices.boolean(beside) else 2


def place(
    context: Context, program: Program, value: ir.Value, draft: PatternDraft, choices: Choices, *, whole: bool
) -> None:
    """Put the draft behind the value, which is adapted to each of its inputs.

    Exposed values become outputs, and captured ones are read by an If, as long as there are fewer than ``MOST_OUTPUTS``
    outputs.

    Args:
        context: specs.
        program: it is edited.
        value: what the draft reads.
        draft: judged; its result can be adapted if ``whole``.
        choices: draw the ways of adapting.
        whole: the result takes the value's place for one reader or all; else it becomes an output.
    """
    specs = context.specs
    inserter = Inserter(program, node_after(program, value))
    uses = main_uses(program, value)
    one = [choices.pick(uses)] if whole and len(uses) > 1 and choices.boolean() else None
    given = {name: adapt(specs, inserter, value, fact, choices) for name, fact in draft.given.items()}
    values = insert(draft, inserter, given)
    for name in draft.exposed:
        if len(program.graph.outputs) < MOST_OUTPUTS and not values[name].is_graph_output():
            program.add_output(values[name])
    for name in draft.captured:
        if len(program.graph.outputs) < MOST_OUTPUTS:
            read_in_body(specs, inserter, value, values[name], choices)
    if whole:
        splice_in(program, specs, inserter, value, values[draft.result], choices, one)
    else:
        program.add_output(values[draft.result])


def read_in_body(specs: Specs, inserter: Inserter, value: ir.Value, read: ir.Value, choices: Choices) -> None:
    """Let both branches of an If, whose result is an output, read a value; the condition may hang on ``value``.

    Nothing is done if bodies cannot have the type of ``read``.
    """
    program = inserter.program
    if not fits_bodies(read):
        return
    fact = tensor_fact(program, read)
    cond, _ = condition(inserter, readable(program, specs, [value]), choices)
    branches: list[ir.Graph] = []
    for _ in range(2):
        body = BodyDraft(program, inserter.before)
        branches.append(body.close([body.inserter.value("Identity", read)], constants=OWN, whole=False))
    names = ("then_branch", "else_branch")
    attributes = [ir.Attr(n, ir.AttributeType.GRAPH, branch) for n, branch in zip(names, branches, strict=True)]
    node = control_node(program, "If", [cond], 1, attributes, inserter.before)
    require_types("If", node.outputs, [fact])
    program.add_output(node.outputs[0])
