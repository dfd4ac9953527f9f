"""Decides whether a drafted pattern may be inserted, and spells its nodes as the opset does."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING

import numpy as np
import onnx_ir as ir

from irfuzz.facts import TensorFact
from irfuzz.ir.inference.graph_facts import constant_fact
from irfuzz.mutate.editing.layer_rewiring import predict
from irfuzz.mutate.editing.mutation_sites import is_exact_input
from irfuzz.mutate.editing.node_inserter import Inserter
from irfuzz.mutate.editing.operator_type_portability import INTEGER_LIMITS
from irfuzz.mutate.mutator_protocol import Skipped
from irfuzz.mutate.patterns.pattern_draft import DraftNode, PatternDraft
from irfuzz.spec import AttrSpec, load_specs, with_trait

if TYPE_CHECKING:
    from irfuzz.spec import Specs

_NEWEST = 1 << 30
"""An opset that no version of an operator is above."""

_KNOWN = 16
"""Integer constants of at most so many elements are judged by their elements, larger ones by their type and shape."""


def judge(
    specs: Specs, opset: int, draft: PatternDraft, limit: int, *, unusual: bool = False, open_sizes: bool = False
) -> str | None:
    """Why the draft must not be inserted, ``None`` if it may be; fills ``facts``.

    Args:
        specs: of operators.
        opset: of the program.
        draft: all of whose steps are judged.
        limit: most elements that a value may have.
        unusual: element types need only be allowed, not known to run; results may have no elements.
        open_sizes: sizes may depend on elements.
    """
    facts: dict[str, TensorFact] = dict(draft.given)
    exact = {n for s in draft.steps for i, n in enumerate(s.inputs) if n and is_exact_input(s.op, i)}
    for name, array in draft.constants.items():
        facts[name] = _fact(array, exact=name in exact)
    for step in draft.steps:
        spelled = spell(step, draft, opset)
        if spelled is None:
            return f"{step.op} of this opset takes no computed values there"
        inputs = [None if name is None else facts[name] for name in spelled.inputs]
        why = _risk(draft, spelled, inputs)
        if why is not None:
            return why
        count = len(step.outputs)
        found = predict(
            specs, opset, step.op, inputs, spelled.attrs, count, limit, unusual=unusual, open_sizes=open_sizes
        )
        if isinstance(found, Skipped):
            return found.reason
        facts.update(zip(step.outputs, found, strict=True))
    draft.facts = facts
    return None


def _risk(draft: PatternDraft, step: DraftNode, inputs: list[TensorFact | None]) -> str | None:
    """What schema and rules do not know: that elements could be refused, or leave what a call gives open."""
    for index, (name, fact) in enumerate(zip(step.inputs, inputs, strict=True)):
        if name is None or fact is None:
            continue
        exact = is_exact_input(step.op, index, fact.dtype) and name not in draft.constants and not fact.known
        if exact and not _quantised_with(draft, name):
            return "a computed value where elements must be known"
        if index == 1 and fact.dtype.is_integer() and step.op in with_trait("divides"):
            array = draft.constants.get(name)
            if array is None or not array.all():
                return "an integer division by what may be zero"
    first = inputs[0] if inputs else None
    if "to" in step.attrs and first is not None and first.dtype.is_floating_point():
        limits = INTEGER_LIMITS.get(ir.DataType(step.attrs["to"]))
        if limits is not None and (
            first.low is None or first.high is None or first.low < limits[0] or first.high > limits[1]
        ):
            return "a cast that may leave the range"
    # The only power, and so the only operator that divides by what a negative integer says.
    if step.op == "Pow" and first is not None and first.dtype.is_integer():
        # A near miss may have left the exponent out; inference then says what is wrong.
        exponent = draft.constants.get((step.inputs[1] if len(step.inputs) > 1 else None) or "")
        if exponent is None or exponent.min(initial=0) < 0:
            return "an integer to a power that may be negative"
    return None


def _fact(array: np.ndarray, *, exact: bool) -> TensorFact:
    """What is known of a constant; numbers that no shape hangs on are left out: then equal calls are seen as such."""
    tensor = ir.Tensor(array)
    if array.size <= (1 if array.dtype.kind == "f" and not exact else _KNOWN):
        fact = constant_fact(tensor)
        if isinstance(fact, TensorFact):
            return fact
    return TensorFact(tensor.dtype, tuple(array.shape))


def _quantised_with(draft: PatternDraft, name: str) -> bool:
    """True for a scale or zero point that DynamicQuantizeLinear computes, which fits whatever it is."""
    # Of those whose result fits anything, the only one with a scale.
    return any(s.op == "DynamicQuantizeLinear" and name in s.outputs[1:] for s in draft.steps)


@cache
def _attributes(op: str, opset: int) -> tuple[AttrSpec, ...]:
    """The attributes that an opset has in the place of the inputs behind the first one of the newest version."""
    spec, newest = load_specs().get(op, opset), load_specs().get(op, _NEWEST)
    if spec is None or newest is None or spec.max_inputs != 1:
        return ()
    # By their names, but for the constant_value of Pad, which was its value.
    found = (spec.attrs.get(formal.name.lower().removeprefix("constant_")) for formal in newest.inputs[1:])
    return tuple(attr for attr in found if attr is not None)


def spell(step: DraftNode, draft: PatternDraft, opset: int) -> DraftNode | None:
    """The step as an opset has it: old ones want an attribute in place of a constant input. ``None`` if that wants a
    constant and there is none; the step itself if nothing differs.
    """
    names = _attributes(step.op, opset)
    if not names or len(step.inputs) < 2:
        return step
    attrs = dict(step.attrs)
    for attr, given in zip(names, step.inputs[1:], strict=False):
        if given is None:
            continue
        array, single = draft.constants.get(given), attr.type in ("INT", "FLOAT")
        if array is None or (array.size != 1 if single else array.ndim != 1):
            return None
        attrs[attr.name] = array.item() if single else array.tolist()
    return DraftNode(step.op, step.inputs[:1], attrs, step.outputs)


def insert(draft: PatternDraft, inserter: Inserter, given: Mapping[str, ir.Value]) -> dict[str, ir.Value]:
    """Put a judged draft before the inserter's place; gives every value that was read or computed by its name.

    Args:
        draft: without a reason against it.
        inserter: says the place.
        given: a value of the right type and shape for each of the draft's inputs.
    """
    values: dict[str, ir.Value] = dict(given)
    for step in draft.steps:
        spelled = spell(step, draft, inserter.opset)
        assert spelled is not None
        inputs: list[ir.Value | None] = []
        for name in spelled.inputs:
            if name is not None and name not in values:
                values[name] = inserter.constant(draft.constants[name], "c")
            inputs.append(None if name is None else values[name])
        node = inserter.node(step.op, inputs, spelled.attrs, len(step.outputs))
        values.update(zip(step.outputs, node.outputs, strict=True))
    return values
