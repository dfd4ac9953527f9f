"""Bytes at the quantised values of a draft become integers of another width: passes match these and know only bytes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import onnx_ir as ir

from irfuzz.mutate.patterns.pattern_draft import PatternDraft, retyped
from irfuzz.mutate.patterns.pattern_draft_validation import judge
from irfuzz.spec import with_trait

if TYPE_CHECKING:
    from irfuzz.choices import Choices
    from irfuzz.spec import Specs

BYTES = (ir.DataType.UINT8, ir.DataType.INT8)

WIDTHS = (ir.DataType.UINT4, ir.DataType.INT4, ir.DataType.UINT16, ir.DataType.INT16)
"""Types that QuantizeLinear and DequantizeLinear know from version 21 on."""

FIRST = 21
"""Opset from which they do."""

SHARE = 0.4
"""How often a draft that quantises gets one of them."""


def requantised(specs: Specs, opset: int, draft: PatternDraft, choices: Choices, limit: int) -> PatternDraft:
    """A judged draft, now and then with another type at its zero points; as it is if none is there or none fits.

    Args:
        specs: of operators.
        opset: of the program.
        draft: it stays as it is.
        choices: decide whether, and which type.
        limit: of elements.
    """
    quantising = [step for step in draft.steps if step.op in with_trait("quantises")]
    if opset < FIRST or not quantising or not choices.boolean(SHARE):
        return draft
    other = draft.copy()
    other.facts = draft.facts
    old = _zero_points(specs, opset, other)
    new = choices.pick(WIDTHS)
    for kind in old:
        changed = retyped(other, kind, new)
        if changed is None:
            return draft
        other = changed
    return draft if not old or judge(specs, opset, other, limit) is not None else other


def _zero_points(specs: Specs, opset: int, draft: PatternDraft) -> list[ir.DataType]:
    """The types of bytes that zero points have; if the last operand of a call could be one and is left out, it is
    added.
    """
    found: dict[ir.DataType, None] = {}
    for step in draft.steps:
        spec = specs.get(step.op, opset)
        place = next((i for i, f in enumerate(spec.inputs) if f.name == "y_zero_point"), -1) if spec is not None else -1
        if spec is not None and place < 0:
            place = next((i for i, f in enumerate(spec.inputs) if f.name == "x_zero_point"), -1)
        elif place == len(step.inputs):
            scale = draft.facts[step.inputs[place - 1] or ""].static_shape
            name = draft.fresh("zero")
            draft.constants[name] = np.zeros(scale or (), np.uint8)
            step.inputs.append(name)
        name = step.inputs[place] if 0 <= place < len(step.inputs) else None
        if name in draft.constants:
            kind = ir.DataType.from_numpy(draft.constants[name].dtype)
            if kind in BYTES:
                found[kind] = None
    return list(found)
