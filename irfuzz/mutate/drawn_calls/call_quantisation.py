"""Puts QuantizeLinear behind a drafted call, and DequantizeLinear before and behind it, in any of their types.

Passes match an operator between the two, move it past them, or compute it in integers: on bytes that is tried often, on
the other widths and behind rarer operators seldom.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import onnx_ir as ir

from irfuzz.facts import TensorFact
from irfuzz.mutate.editing.operator_type_portability import CASTABLE
from irfuzz.mutate.mutator_context import Context
from irfuzz.mutate.patterns.neutral_nodes import constant
from irfuzz.mutate.patterns.pattern_draft import DraftNode, PatternDraft
from irfuzz.mutate.patterns.pattern_draft_validation import judge

if TYPE_CHECKING:
    from irfuzz.choices import Choices
    from irfuzz.spec import OpSpec

SHARE = 0.2
"""How often a call that gives floats is quantised."""

_BACK = 0.6
"""How often the result is dequantised again."""

_BEFORE = 0.5
"""How often what the call reads is dequantised, too."""

_ALIKE = 0.6
"""How often that has the same scale and zero point: passes ask for it."""

_SCALES = (0.5, 0.25, 0.125, 0.0625, 0.03125, 0.1, 0.37)

_SMALL = 8
"""Types of fewer bits hold nothing of what a small scale leaves."""

_BYTES = {ir.DataType.UINT8: 2.0, ir.DataType.INT8: 2.0}


def quantise(context: Context, opset: int, draft: PatternDraft, choices: Choices, limit: int) -> PatternDraft | None:
    """A judged draft whose result is quantised; ``None`` if it gives no floats, or the specs forbid it.

    Before: ``y = Op(x)``. After: ``q = QuantizeLinear(y)``, mostly with a DequantizeLinear behind it, and often one
    between ``x`` and its readers.

    Args:
        context: specs, and what was quantised to which type before.
        opset: of the program.
        draft: it stays as it is.
        choices: draw type, scale and zero point.
        limit: most elements of a value.
    """
    result = draft.facts[draft.result]
    quantizer = context.specs.get("QuantizeLinear", opset)
    types = () if quantizer is None else zero_point_types(quantizer)
    floats = () if quantizer is None else quantizer.portable.get(quantizer.inputs[0].type_str, ())
    if result.dtype not in floats or not types:
        return None
    op, seen = draft.steps[-1].op, context.seen
    worths = [_BYTES.get(d, 1.0) * (1.0 if seen is None else seen.weight(("quantised", op, d.value))) for d in types]
    dtype = choices.weighted(types, worths)
    other = draft.copy()
    other.facts = draft.facts
    scale, zero = _parameters(other, result.dtype, dtype, choices)
    if choices.boolean(_BEFORE):
        mine = (scale, zero) if choices.boolean(_ALIKE) else _parameters(other, result.dtype, dtype, choices)
        _dequantise_given(other, dtype, mine, result.dtype)
    other.steps.append(DraftNode("QuantizeLinear", [other.result, scale, zero], {}, ["quantised"]))
    if choices.boolean(_BACK):
        other.steps.append(DraftNode("DequantizeLinear", ["quantised", scale, zero], {}, ["dequantised"]))
    return other if judge(context.specs, opset, other, limit, unusual=True, open_sizes=True) is None else None


def zero_point_types(spec: OpSpec) -> tuple[ir.DataType, ...]:
    """The element types of QuantizeLinear's zero point that are known to run: integers of 4 bits or more. The
    specification must be that of QuantizeLinear, with the zero point as its third input.
    """
    found = spec.portable.get(spec.inputs[2].type_str, ())
    return tuple(d for d in found if d.is_integer() and d.bitwidth >= 4)


def _parameters(draft: PatternDraft, real: ir.DataType, dtype: ir.DataType, choices: Choices) -> tuple[str, str]:
    """Names of a new scale and zero point."""
    small = dtype.bitwidth < _SMALL
    scale = choices.pick(_SCALES[:3] if small else _SCALES)
    least = 0 if not dtype.is_signed() else -3
    zero = choices.pick((0, choices.integer(least, 7 if small else 20)))
    return (
        constant(draft, np.array(scale, real.numpy())),
        constant(draft, np.array(zero, np.int64).astype(dtype.numpy())),
    )


def _dequantise_given(draft: PatternDraft, dtype: ir.DataType, parameters: tuple[str, str], real: ir.DataType) -> None:
    """Let ``x`` be dequantised before the first step reads it."""
    fact = draft.given["x"]
    if fact.dtype is not real:
        return
    scale, zero = parameters
    steps: list[DraftNode] = []
    if dtype in CASTABLE:
        draft.given["x"] = TensorFact(dtype, fact.shape)
        source = "x"
    else:  # no component takes halves of bytes from outside
        steps.append(DraftNode("QuantizeLinear", ["x", scale, zero], {}, ["given"]))
        source = "given"
    steps.append(DraftNode("DequantizeLinear", [source, scale, zero], {}, ["real"]))
    for step in draft.steps:
        step.inputs[:] = ["real" if name == "x" else name for name in step.inputs]
    draft.steps[:0] = steps
