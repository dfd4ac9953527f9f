"""A drafted pattern enters; why it must not be inserted, or the inserted nodes as the opset spells them, leave."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
import onnx_ir as ir

from irfuzz.facts import TensorFact
from irfuzz.ir.infer import constant_fact
from irfuzz.mutate.insert import Inserter
from irfuzz.mutate.pattern_draft import Draft, Step
from irfuzz.mutate.portable import INTEGER_LIMITS
from irfuzz.mutate.relayer import predict
from irfuzz.mutate.sites import is_exact_input
from irfuzz.mutate.types import Skipped

if TYPE_CHECKING:
    from irfuzz.spec import Specs

_AS_ATTRIBUTES: Mapping[str, tuple[int, tuple[str, ...]]] = {
    **dict.fromkeys(("Squeeze", "Unsqueeze", "ReduceSum"), (13, ("axes",))),
    **dict.fromkeys(
        (
            *("ReduceMean", "ReduceMax", "ReduceMin", "ReduceProd", "ReduceL1", "ReduceL2", "ReduceLogSum"),
            *("ReduceLogSumExp", "ReduceSumSquare"),
        ),
        (18, ("axes",)),
    ),
    "Split": (13, ("split",)),
    "Slice": (10, ("starts", "ends", "axes")),
    "Pad": (11, ("pads", "value")),
    "Clip": (11, ("min", "max")),
    "TopK": (10, ("k",)),
    "Dropout": (12, ("ratio",)),
}
"""Operators whose constant inputs behind the first were attributes before a version."""

_SINGLE = frozenset({"value", "min", "max", "k", "ratio"})
"""Those of these attributes that are one number; the others are lists."""

_KNOWN = 16
"""Integer constants of at most so many elements are judged by their elements, larger ones by their type and shape."""


def judge(specs: Specs, opset: int, draft: Draft, limit: int) -> str | None:
    """Why the draft must not be inserted, ``None`` where it may be; fills ``facts``."""
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
        found = predict(specs, opset, step.op, inputs, spelled.attrs, len(step.outputs), limit)
        if isinstance(found, Skipped):
            return found.reason
        facts.update(zip(step.outputs, found, strict=True))
    draft.facts = facts
    return None


def _risk(draft: Draft, step: Step, inputs: list[TensorFact | None]) -> str | None:
    """What schema and rules do not know: that elements could be refused, or leave what a call gives open."""
    for index, (name, fact) in enumerate(zip(step.inputs, inputs, strict=True)):
        if name is None or fact is None:
            continue
        exact = is_exact_input(step.op, index, fact.dtype) and name not in draft.constants and not fact.known
        if exact and not _quantised_with(draft, name):
            return "a computed value where elements must be known"
        if step.op in ("Div", "Mod") and index == 1 and fact.dtype.is_integer():
            array = draft.constants.get(name)
            if array is None or not array.all():
                return "an integer division by what may be zero"
    first = inputs[0] if inputs else None
    if step.op == "Cast" and first is not None and first.dtype.is_floating_point():
        limits = INTEGER_LIMITS.get(ir.DataType(step.attrs["to"]))
        if limits is not None and (
            first.low is None or first.high is None or first.low < limits[0] or first.high > limits[1]
        ):
            return "a cast that may leave the range"
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


def _quantised_with(draft: Draft, name: str) -> bool:
    """True for a scale or zero point that DynamicQuantizeLinear computes, which fits whatever it is."""
    return any(s.op == "DynamicQuantizeLinear" and name in s.outputs[1:] for s in draft.steps)


def spell(step: Step, draft: Draft, opset: int) -> Step | None:
    """The step as an opset has it; ``None`` where that wants a constant and there is none."""
    since, names = _AS_ATTRIBUTES.get(step.op, (0, ()))
    if opset >= since or len(step.inputs) < 2:
        return step
    attrs = dict(step.attrs)
    for name, given in zip(names, step.inputs[1:], strict=False):
        if given is None:
            continue
        array = draft.constants.get(given)
        if array is None or (array.size != 1 if name in _SINGLE else array.ndim != 1):
            return None
        attrs[name] = array.item() if name in _SINGLE else array.tolist()
    return Step(step.op, step.inputs[:1], attrs, step.outputs)


def insert(draft: Draft, inserter: Inserter, given: Mapping[str, ir.Value]) -> dict[str, ir.Value]:
    """Put a judged draft before the inserter's place; gives every value by its name.

    Args:
        draft: without a reason against it.
        inserter: where.
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
