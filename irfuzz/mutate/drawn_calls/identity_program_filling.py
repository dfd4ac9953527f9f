"""Lets a program that only copies its input compute a draft and nothing else."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import onnx_ir as ir

from irfuzz.facts import TensorFact
from irfuzz.mutate.editing.mutation_sites import is_exact_input
from irfuzz.mutate.editing.node_inserter import Inserter
from irfuzz.mutate.editing.operator_type_portability import CASTABLE
from irfuzz.mutate.patterns.neutral_nodes import neutral
from irfuzz.mutate.patterns.pattern_draft_validation import insert, judge
from irfuzz.mutate.patterns.pattern_placement import read_in_body

if TYPE_CHECKING:
    from irfuzz.choices import Choices
    from irfuzz.ir.program import Program
    from irfuzz.mutate.patterns.pattern_draft import PatternDraft
    from irfuzz.spec import Specs

_FLOAT = 0.5
"""How often the input is of single precision, which the most operators and fusions take."""

_OFTEN = {ir.DataType.INT64: 3.0, ir.DataType.INT32: 2.0, ir.DataType.DOUBLE: 2.0}
"""How much more often than the rest those types come that most kernels have beside it."""

_FED = 0.4
"""How often a constant whose elements decide nothing becomes an input."""

_EXPOSED = 0.15
"""How often a value between two operators becomes an output as well: what is read twice must not be fused away."""


def bare(program: Program) -> ir.Node | None:
    """The Identity node that is all of a program, if it reads the graph's only input and gives its only output; else
    ``None``.
    """
    nodes = program.nodes()
    # The one node of the model that nothing was inserted in yet (``fresh``).
    if len(nodes) != 1 or nodes[0].op_type != "Identity":
        return None
    node = nodes[0]
    alone = list(program.graph.inputs) == list(node.inputs) and list(program.graph.outputs) == list(node.outputs)
    return node if alone else None


def draw_type(choices: Choices) -> ir.DataType:
    """An element type of the input: float32 half of the time, else any of ``CASTABLE``, of which int64, int32 and
    double are drawn more often than the others.
    """
    if choices.boolean(_FLOAT):
        return ir.DataType.FLOAT
    return choices.weighted(CASTABLE, [_OFTEN.get(dtype, 1.0) for dtype in CASTABLE])


def feed(specs: Specs, opset: int, draft: PatternDraft, choices: Choices, limit: int) -> None:
    """Turn some constants of a judged draft into inputs, in place: what is known before a run is folded and fused
    otherwise.

    Constants that decide shapes or indices stay, and so do those with NaN or infinities. Of the others four in ten
    become inputs, if the draft is still allowed then.

    Args:
        specs: of operators.
        opset: of the program.
        draft: its ``given``, ``constants`` and ``facts`` change.
        choices: decide for each constant.
        limit: most elements of a value.
    """
    exact = {n for s in draft.steps for i, n in enumerate(s.inputs) if n and is_exact_input(s.op, i)}
    for name in sorted(draft.constants.keys() - exact):
        array = draft.constants[name]
        dtype = ir.DataType.from_numpy(array.dtype)
        special = array.dtype.kind == "f" and not np.isfinite(array).all()  # which an input need not be
        if dtype not in CASTABLE or special or not choices.boolean(_FED):
            continue
        facts = draft.facts
        del draft.constants[name]
        draft.given[name] = TensorFact(dtype, tuple(array.shape))
        if judge(specs, opset, draft, limit, unusual=True, open_sizes=True) is not None:
            del draft.given[name]
            draft.constants[name], draft.facts = array, facts


def detour(specs: Specs, opset: int, draft: PatternDraft, choices: Choices, limit: int) -> PatternDraft:
    """A judged draft in which something computes a constant again before it is read, be it a shape or an axis.

    Optimisers look for initializers, and take for one what they have not folded yet.
    """
    names = sorted(n for n in draft.constants if any(n in step.inputs for step in draft.steps))
    if not names:
        return draft
    name = choices.pick(names)
    other = draft.copy()
    fact = TensorFact(ir.DataType.from_numpy(other.constants[name].dtype), tuple(other.constants[name].shape))
    found = neutral(other, name, fact, choices)
    if found is None:
        return draft
    readers = list(other.steps)
    other.steps[:0] = found[1]
    for step in readers:
        step.inputs[:] = [found[1][-1].outputs[0] if n == name else n for n in step.inputs]
    return draft if judge(specs, opset, other, limit, unusual=True, open_sizes=True) is not None else other


def start_anew(specs: Specs, program: Program, node: ir.Node, draft: PatternDraft, choices: Choices) -> None:
    """Let a program compute a judged draft instead of the copy that is all it has.

    Args:
        specs: of operators.
        program: one that ``bare`` takes; its input gets the type and shape of the draft's ``x``, and further inputs are
            added.
        node: the Identity, which is removed.
        draft: judged, without a reason against it.
        choices: decide which inner values become outputs, too.
    """
    x = program.graph.inputs[0]
    program.declare_inputs({x: draft.given["x"]})
    given = {name: x if name == "x" else program.add_input(fact, "w") for name, fact in draft.given.items()}
    inserter = Inserter(program, node)
    values = insert(draft, inserter, given)
    program.replace_uses(node.outputs[0], values[draft.result], outputs=True)
    for name in draft.captured:
        read_in_body(specs, inserter, x, values[name], choices)
    program.remove(node)
    for name in draft.inner():
        if choices.boolean(_EXPOSED) or name in draft.exposed:
            program.add_output(values[name])
