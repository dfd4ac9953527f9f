"""Rewires a layer to new inputs or attributes, if what it would compute then is allowed."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import onnx_ir as ir

from irfuzz.choices import Choices
from irfuzz.errors import InvalidProgram
from irfuzz.facts import Dim, Fact, TensorFact
from irfuzz.ir.inference.call_output_types import CallKey, hashable_attrs, infer_attribute_types
from irfuzz.ir.inference.graph_facts import fact_of, infer_call
from irfuzz.mutate.editing.mutation_sites import flow_values, is_exact, tensor_fact
from irfuzz.mutate.editing.node_inserter import Inserter
from irfuzz.mutate.editing.operator_type_portability import call_runs
from irfuzz.mutate.editing.runtime_refusals import refusal
from irfuzz.mutate.editing.value_adaptation import adapt, why_not
from irfuzz.mutate.mutator_protocol import Skipped
from irfuzz.spec import check_remembered

if TYPE_CHECKING:
    from irfuzz.ir.program import Program
    from irfuzz.spec import OpSpec, Specs

USUAL_ELEMENTS = 1 << 16
"""A new value has at most this many elements, or as many as the largest that the program had."""


def largest(program: Program) -> int:
    """How many elements a new value may have: ``USUAL_ELEMENTS``, or as many as the largest computed value of the
    program. The answer is remembered until the program is edited.
    """
    most: int | None = program.asked.get("largest")
    if most is None:
        most = USUAL_ELEMENTS
        for node in program.graph:
            for value in node.outputs:
                fact = fact_of(value)
                if type(fact) is TensorFact and (size := fact.size()) is not None and size > most:
                    most = size
        program.asked["largest"] = most
    return most


def predict(
    specs: Specs,
    opset: int,
    op: str,
    inputs: Sequence[Fact | None],
    attrs: Mapping[str, Any],
    outputs: int,
    limit: int,
    *,
    domain: str = "",
    open_sizes: bool = False,
    unusual: bool = False,
) -> tuple[TensorFact, ...] | Skipped:
    """Facts of the outputs that a call would have, or why it must not be made.

    Schema, rules and known refusals of runtimes are asked; calls with named sizes are tried with numbers for these as
    well.

    Args:
        specs: operator specs.
        opset: version of the operator's domain.
        op: operator type.
        inputs: a fact for each input.
        attrs: attributes as Python values or ``ir.Attr``.
        outputs: number of outputs.
        limit: most elements that an output may have.
        domain: the operator's, if it is not the default one.
        open_sizes: sizes of an output may depend on elements.
        unusual: element types need only be allowed, not known to run; results may have no elements.
    """
    spec = specs.get(op, opset, domain)
    if spec is None:
        return Skipped("unknown operator")
    if not all(fact is None or isinstance(fact, TensorFact) for fact in inputs):
        return Skipped("an input that is not a dense tensor")
    if not unusual and not call_runs(spec, inputs):
        return Skipped("element types that are not known to run")
    try:
        typed = hashable_attrs(infer_attribute_types(op, opset, domain, attrs))
    except InvalidProgram:
        return Skipped("ONNX finds the call ill-typed")
    known = tuple(fact for fact in inputs if isinstance(fact, TensorFact) or fact is None)
    found = _judged(spec, CallKey(domain, op, opset, typed, known, (True,) * outputs), empty=unusual)
    if isinstance(found, tuple) and any((fact.size() or 0) > limit for fact in found):
        return Skipped("an output that is too large")
    if isinstance(found, tuple) and not open_sizes and any(None in (fact.shape or ()) for fact in found):
        return Skipped("an output whose size depends on elements")
    return found


@lru_cache(maxsize=1 << 10)
def _judged(spec: OpSpec, call: CallKey, *, empty: bool = False) -> tuple[TensorFact, ...] | Skipped:
    """What ``predict`` finds, whatever its limit; mutants of one seed ask the same again and again."""
    known = tuple(fact for fact in call.inputs if isinstance(fact, TensorFact) or fact is None)
    found = _outputs(spec, call, known, empty=empty)
    if isinstance(found, Skipped):
        return found
    names = dims_of(known)
    if names is None:
        return Skipped("a size that has no name")
    for trial in _TRIALS if names else ():
        # Nothing is known of a named size, so that rules on products or remainders of sizes are tried on numbers.
        sizes = {name: trial + place for place, name in enumerate(names)}
        numbers = _outputs(spec, call, tuple(with_sizes(f, sizes) for f in known), empty=empty)
        if isinstance(numbers, Skipped):
            return numbers
        if any(with_sizes(a, sizes).shape != b.shape for a, b in zip(found, numbers, strict=True)):  # type: ignore[union-attr]
            return Skipped("an output whose size has no name")
    return found


_TRIALS = (1, 3, 8)


def dims_of(facts: Sequence[TensorFact | None]) -> list[str] | None:
    """Names of all named sizes, each once, in order of appearance; ``None`` if some size has no name. Omitted inputs
    and tensors of unknown rank have no sizes.
    """
    names: dict[str, None] = {}
    for fact in facts:
        for size in (fact.shape or ()) if fact is not None else ():
            if size is None:
                return None
            if isinstance(size, str):
                names[size] = None
    return list(names)


def sized_values(program: Program, dtypes: Collection[ir.DataType] | None = None) -> list[ir.Value]:
    """Values between layers, all of whose sizes are known or have names; of the given element types, if any. They come
    in the order of ``flow_values``: inputs first.
    """
    found: list[ir.Value] = []
    for value in flow_values(program):
        fact = tensor_fact(program, value)
        if (dtypes is None or fact.dtype in dtypes) and dims_of([fact]) is not None:
            found.append(value)
    return found


def sized_sites(program: Program, dtypes: Collection[ir.DataType] | None = None) -> list[str]:
    """Names of ``sized_values``, in their order, as ``sites`` of a mutator gives them."""
    return [value.name or "" for value in sized_values(program, dtypes)]


def with_sizes(fact: TensorFact | None, sizes: Mapping[str, int]) -> TensorFact | None:
    """A fact with numbers in place of named sizes, in its shape and among its known elements.

    Args:
        fact: it is given back as it is if nothing is named or its rank is unknown.
        sizes: number by name; other names stay.
    """
    if fact is None or fact.shape is None:
        return fact
    if fact.is_static and not (fact.value is not None and any(isinstance(e, str) for e in fact.value)):
        return fact
    shape = tuple(sizes.get(d, d) if isinstance(d, str) else d for d in fact.shape)
    value = fact.value
    if value is not None:
        value = tuple(sizes.get(e, e) if isinstance(e, str) else e for e in value)
    return replace(fact, shape=shape, value=value)


def _outputs(
    spec: OpSpec, call: CallKey, inputs: tuple[TensorFact | None, ...], *, empty: bool
) -> tuple[TensorFact, ...] | Skipped:
    plain = {name: value for name, _, value in call.attrs}
    if check_remembered(spec, inputs, call.attrs):
        return Skipped("the call would break a rule of the operator")
    reason = refusal(spec.op, inputs, plain)
    if reason is not None:
        return Skipped(f"runtimes refuse {reason}")
    try:
        found = infer_call(replace(call, inputs=inputs))
    except InvalidProgram:
        return Skipped("ONNX finds the call ill-typed")
    facts = []
    for fact in found:
        if not isinstance(fact, TensorFact) or fact.shape is None:
            return Skipped("an output of unknown rank")
        if 0 in fact.shape and not empty:
            return Skipped("an output without elements")
        facts.append(fact)
    return tuple(facts)


def restorable(program: Program, specs: Specs, old: Sequence[ir.Value], new: Sequence[TensorFact]) -> Skipped | None:
    """Why results cannot be given the types and shapes of the values that they stand for; ``None`` if they can.

    Args:
        program: it is not changed.
        specs: operator specs.
        old: the values now; those that nobody reads do not matter.
        new: facts of what would replace them, in the same order.
    """
    for value, fact in zip(old, new, strict=False):
        if not value.uses() and not value.is_graph_output():
            continue
        wanted = program.fact(value)
        if not isinstance(wanted, TensorFact):
            return Skipped("an output that is not a dense tensor")
        reason = why_not(specs, program.opset, fact, wanted)
        if reason is not None:
            return Skipped(f"the result cannot be restored: {reason}")
    return None


def replacement(
    program: Program, specs: Specs, node: ir.Node, inputs: Sequence[Fact | None], attrs: Mapping[str, Any], limit: int
) -> tuple[TensorFact, ...] | None:
    """What a call in a layer's place would give; ``None`` if it must not be made or its results cannot be restored.

    Args:
        program: it is not changed.
        specs: operator specs.
        node: the layer, whose operator and number of outputs stay.
        inputs: facts of what it would read.
        attrs: its attributes then.
        limit: most elements of an output.
    """
    found = predict(specs, program.opset, node.op_type, inputs, attrs, len(node.outputs), limit)
    return None if isinstance(found, Skipped) or restorable(program, specs, node.outputs, found) else found


def reshaped_facts(facts: Sequence[Fact | None], shapes: Mapping[int, tuple[Dim, ...]]) -> list[Fact | None]:
    """Facts with other shapes at some places; what was known of elements there is forgotten.

    Args:
        facts: of a layer's inputs; the list is not changed.
        shapes: new shape by index.
    """
    return [
        replace(f.without_value(), shape=shapes[i]) if i in shapes and isinstance(f, TensorFact) else f
        for i, f in enumerate(facts)
    ]


def uncopyable(program: Program, specs: Specs, node: ir.Node) -> Skipped | None:
    """Why a copy of a layer, fed with other elements at its first input, would not have outputs of the same types and
    shapes; ``None`` if it would.
    """
    facts = facts_of(program, node.inputs)
    if isinstance(facts[0], TensorFact):
        facts[0] = facts[0].without_value()
    result = predict(specs, program.opset, node.op_type, facts, node.attributes, len(node.outputs), largest(program))
    if isinstance(result, Skipped):
        return result
    for value, fact in zip(node.outputs, result, strict=True):
        own = program.tensor(value)
        if value.name and (own is None or (own.dtype, own.shape) != (fact.dtype, fact.shape)):
            return Skipped("an output that only its declaration types")
    return None


def attributes(node: ir.Node) -> dict[str, Any]:
    """A node's attributes as they stand, by name, in a new dictionary; the ``ir.Attr`` in it are the node's own."""
    return dict(node.attributes)


def facts_of(program: Program, values: Sequence[ir.Value | None]) -> list[Fact | None]:
    """The fact of each value, in order; ``None`` for an omitted one. Sequences and optionals have facts of their own
    kinds.
    """
    return [None if value is None else program.fact(value) for value in values]


def inputs_alike(node: ir.Node, facts: Sequence[Fact | None]) -> list[int]:
    """Places of the inputs that have the first one's shape and whose elements are free; empty if the first one is no
    tensor.
    """
    first = facts[0] if facts else None
    if not isinstance(first, TensorFact):
        return []
    return [
        i
        for i, f in enumerate(facts)
        if isinstance(f, TensorFact) and f.shape == first.shape and not is_exact(node, i, f.dtype)
    ]


def call_again(
    program: Program,
    specs: Specs,
    node: ir.Node,
    change: Mapping[int, Callable[[Inserter, ir.Value], ir.Value]],
    attrs: Mapping[str, Any],
    choices: Choices,
) -> None:
    """Put a call in a layer's place that reads changed inputs; ``restorable`` must have found no reason against it.

    Args:
        program: it is edited.
        specs: operator specs.
        node: the layer.
        change: for places of inputs what turns the old value into the new one; a value that is read twice changes once.
        attrs: attributes of the new call.
        choices: draw the way of restoring the results.
    """
    inserter = Inserter(program, node)
    inputs = list(node.inputs)
    made: dict[ir.Value, ir.Value] = {}
    for index, make in change.items():
        value = inputs[index]
        assert value is not None
        if value not in made:
            made[value] = make(inserter, value)
        inputs[index] = made[value]
    new = inserter.node(node.op_type, inputs, attrs, len(node.outputs))
    put_in_place(program, specs, inserter, node.outputs, new.outputs, choices)


def put_in_place(
    program: Program,
    specs: Specs,
    inserter: Inserter,
    old: Sequence[ir.Value],
    new: Sequence[ir.Value],
    choices: Choices,
) -> None:
    """Let everybody who reads ``old`` read ``new``, adapted to the same types and shapes, and drop what is then dead.

    ``restorable`` must have found no reason against it.

    Args:
        program: it is edited and pruned.
        specs: operator specs.
        inserter: puts in what adapts.
        old: results of the layer, those without readers included.
        new: as many, in the same order.
        choices: draw the way of adapting.
    """
    for before, after in zip(old, new, strict=False):
        if not before.uses() and not before.is_graph_output():
            continue
        wanted = program.fact(before)
        assert isinstance(wanted, TensorFact)
        adapted = adapt(specs, inserter, after, wanted, choices)
        if adapted.is_graph_output() or adapted.is_graph_input():
            adapted = inserter.value("Identity", adapted)
        program.replace_uses(before, adapted, outputs=True)
    program.prune()


def splice_in(
    program: Program,
    specs: Specs,
    inserter: Inserter,
    old: ir.Value,
    new: ir.Value,
    choices: Choices,
    users: Sequence[tuple[ir.Node, int]] | None = None,
) -> None:
    """Let later readers of ``old`` read ``new``, adapted to the same type and shape; ``new`` may need ``old``.

    Args:
        program: it is edited.
        specs: operator specs.
        inserter: inserts in front of the first reader.
        old: a dense tensor.
        new: any dense tensor that can be adapted.
        choices: draw the way of adapting.
        users: only these ``(node, input index)`` pairs; all readers, the graph's outputs included, if omitted.
    """
    wanted = program.fact(old)
    assert isinstance(wanted, TensorFact)
    adapted = adapt(specs, inserter, new, wanted, choices)
    if adapted is old:
        return
    if adapted.is_graph_output() or adapted.is_graph_input() or adapted.is_initializer():
        adapted = inserter.value("Identity", adapted)
    program.replace_uses(old, adapted, users=users, outputs=users is None)
    program.prune()


def shape_text(fact: TensorFact) -> str:
    """A type as people write it, for descriptions: ``FLOAT[2,N,?]``, with ``?`` for a size that has no name."""
    return f"{fact.dtype.name}[{','.join('?' if d is None else str(d) for d in fact.shape or ())}]"
