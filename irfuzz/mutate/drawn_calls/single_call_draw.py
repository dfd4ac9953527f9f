"""Draws one call from nothing: of all operators, versions and element types those first that were drawn least.

Where a value of some type and shape is given beforehand, most calls that read it are those of operators that take
any; Attention, or a pool of bytes, would be left to luck.
"""

from __future__ import annotations

import math
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import onnx_ir as ir

from irfuzz.facts import TensorFact
from irfuzz.ir.evaluation.stress_numbers import struck
from irfuzz.mutate.editing.call_inputs import random_array
from irfuzz.mutate.editing.mutation_sites import is_exact_input
from irfuzz.mutate.editing.operator_type_portability import CASTABLE
from irfuzz.mutate.layers.rare_dtype import has_body
from irfuzz.mutate.mutator_context import Context
from irfuzz.mutate.patterns.neutral_nodes import constant
from irfuzz.mutate.patterns.pattern_draft import DraftNode, PatternDraft
from irfuzz.mutate.patterns.pattern_draft_validation import judge
from irfuzz.spec import OpSpec, Specs, sample_call, with_trait
from irfuzz.spec.operator_spec import Unusual

if TYPE_CHECKING:
    from irfuzz.choices import Choices
    from irfuzz.spec import SampledCall, SampledInput

Start: TypeAlias = tuple[int, ir.DataType, float]
"""An input at which a computed value may stand, its element type, and how much it is worth to draw that."""

RARE = 0.04
"""What a type is worth for which no kernel was found, beside one that runs everywhere.

Of an operator that ONNX defines by a function the body is run, in types that nobody may have tried: that is worth as
much as a kernel. Of others a missing kernel is mostly all there is to find.
"""

_BEHIND_FIRST = 0.3
"""What an input behind the first one is worth."""

_USUAL = 2.5
"""How much more often a call is usual than of scalars, or of no elements, which its operator was never drawn with."""

_PLAIN = 0.2
"""How often it is as plain as most calls."""

_STRUCK = 0.3
"""How often a constant that decides nothing has NaN, infinities and the like in it, until that was seen."""

_ELEMENTS = 1 << 10
"""Most elements of an input."""

_TRIES = 4

_REACHED = {ir.DataType.BFLOAT16: 13, ir.DataType.UINT4: 21, ir.DataType.INT4: 21}
"""Types to which a first call leads, since not all components take them from outside; and the opset that has it."""


def draw_single(context: Context, opset: int, choices: Choices, limit: int) -> PatternDraft | None:
    """A judged call, all of whose inputs are ``x`` and constants; ``None`` if no attempt was valid.

    Operator, element type and input of ``x`` are drawn, those first that were seen least on their own. A type that
    graph inputs do not have is reached by a Cast or QuantizeLinear in front.

    Args:
        context: specs, and what was seen before.
        opset: of the program.
        choices: every draw.
        limit: most elements of a value.
    """
    specs, worths = _callable(context.specs, opset)
    news = [worth * _new(context, s.op, s.since) for s, worth in zip(specs, worths, strict=True)]
    spec = choices.weighted(specs, news)
    for _ in range(_TRIES):
        starts = starts_of(spec, opset)
        worths = [
            worth * (1.0 if at else _new(context, spec.op, spec.since, dtype.value)) for at, dtype, worth in starts
        ]
        draft = _draft(context, spec, choices.weighted(starts, worths), choices)
        if draft is not None and judge(context.specs, opset, draft, limit, unusual=True, open_sizes=True) is None:
            return draft
    return None


def _new(context: Context, *feature: str | int) -> float:
    """How much it is worth to draw what an operator is seen with on its own; without a memory all is alike."""
    return 1.0 if context.seen is None else context.seen.weight(("alone", *feature))


@lru_cache(maxsize=64)
def _callable(specs: Specs, opset: int) -> tuple[tuple[OpSpec, ...], tuple[float, ...]]:
    """Operators on dense tensors of which calls can be drawn whose results hang on what is given; and their worths."""
    found = tuple(s for s in specs.overlaid(opset) if "random" not in s.traits and starts_of(s, opset))
    return found, tuple(map(_worth, found))


@lru_cache(maxsize=2048)
def starts_of(spec: OpSpec, opset: int) -> tuple[Start, ...]:
    """The inputs of an operator at which a drawn value may stand, with each element type that ONNX allows there and
    that can be reached at this opset. What no kernel is known for is worth ``RARE``.
    """
    found: list[Start] = []
    for position, formal in enumerate(spec.inputs):
        domain = None if spec.overlay is None else spec.overlay.values.get(formal.name)
        place = (0.5 if formal.name in spec.parameters else 1.0) * (_BEHIND_FIRST if position else 1.0)
        runs = spec.portable.get(formal.type_str)
        for dtype in ir.DataType:
            if dtype not in formal.dtypes or is_exact_input(spec.op, position, dtype):
                continue
            if domain is not None and (domain.exact or not dtype.is_floating_point()):
                continue
            if dtype not in CASTABLE and opset < _REACHED.get(dtype, math.inf):
                continue
            kernel = runs is None or dtype in runs
            found.append((position, dtype, place * (1.0 if kernel or has_body(spec) else RARE)))
    return tuple(found)


def _worth(spec: OpSpec) -> float:
    """How often an operator is drawn beside others: the more attributes, optional inputs and types it has, the more."""
    runs = [len(types) for types in spec.portable.values()]
    return (1 + len(spec.attrs) + len(spec.inputs) - spec.min_inputs) * math.sqrt(1 + max(runs, default=0))


@lru_cache(maxsize=4096)
def _of_type(spec: OpSpec, position: int, dtype: ir.DataType) -> OpSpec:
    """The same operator, whose input has no other element type."""
    variable = spec.inputs[position].type_str
    if dtype in spec.portable.get(variable, ()):
        return replace(spec, portable={**spec.portable, variable: (dtype,)})
    return replace(spec, portable={**spec.portable, variable: (dtype,)}, portable_except=())


def draw_usual(
    context: Context, opset: int, spec: OpSpec, start: Start, choices: Choices, limit: int
) -> PatternDraft | None:
    """A judged call of one operator on one element type, as plain as most calls; ``None`` if it was not valid.

    Args:
        context: specs, and what was seen before.
        opset: of the program.
        spec: the operator.
        start: one of ``starts_of`` the operator.
        choices: every draw.
        limit: most elements of a value.
    """
    call = _sampled(context, spec, start, choices, plain=True, unusual="")
    draft = None if call is None else _drafted(context, spec, start, call, choices)
    return draft if draft is not None and judge(context.specs, opset, draft, limit) is None else None


def _draft(context: Context, spec: OpSpec, start: Start, choices: Choices) -> PatternDraft | None:
    plain = choices.boolean(_PLAIN)
    kinds: tuple[Unusual, ...] = ("", "scalar", "empty")
    unusual = choices.weighted(kinds, [_USUAL, *(_new(context, spec.op, kind) for kind in kinds[1:])])
    call = _sampled(context, spec, start, choices, plain=plain, unusual=unusual)
    return None if call is None else _drafted(context, spec, start, call, choices)


def _sampled(
    context: Context, spec: OpSpec, start: Start, choices: Choices, *, plain: bool, unusual: Unusual
) -> SampledCall | None:
    """A call without texts."""
    call = sample_call(
        _of_type(spec, start[0], start[1]),
        {},
        choices,
        seen=context.drawn,
        max_elements=_ELEMENTS,
        plain=plain,
        unusual=unusual,
        needed=frozenset({start[0]}),
    )
    if call is None or any(p is not None and p.fact.dtype is ir.DataType.STRING for p in call.inputs):
        return None
    return call


def _drafted(context: Context, spec: OpSpec, start: Start, call: SampledCall, choices: Choices) -> PatternDraft:
    """The call on ``x`` and constants."""
    position, dtype, _ = start
    plan = call.inputs[position]
    assert plan is not None
    draft = PatternDraft({}, [], {})
    given = _reached(draft, TensorFact(dtype, plan.fact.shape))
    inputs = [
        given if index == position else None if p is None else _constant(context, draft, spec.op, index, p, choices)
        for index, p in enumerate(call.inputs)
    ]
    outputs = [f"v{number}" for number in range(call.outputs)]
    draft.steps.append(DraftNode(spec.op, inputs, dict(call.attrs), outputs))
    return draft


def _constant(context: Context, draft: PatternDraft, op: str, index: int, plan: SampledInput, choices: Choices) -> str:
    if plan.value is not None:
        return constant(draft, np.asarray(plan.value))
    nonzero = index == 1 and op in with_trait("divides")
    array = random_array(plan, choices.seed(), nonzero)
    free = plan.low is None and plan.high is None and not is_exact_input(op, index, plan.fact.dtype)
    if free and plan.fact.dtype.is_floating_point() and choices.boolean(_STRUCK * _new(context, op, "special")):
        array = struck(array, np.random.default_rng(choices.seed()))
    return constant(draft, array)


def _reached(draft: PatternDraft, fact: TensorFact) -> str:
    """The name of the value that the call reads: ``x``, or what a first call makes of it."""
    if fact.dtype in CASTABLE:
        draft.given["x"] = fact
        return "x"
    draft.given["x"] = TensorFact(ir.DataType.FLOAT, fact.shape)
    if fact.dtype in (ir.DataType.UINT4, ir.DataType.INT4):
        zero = constant(draft, np.zeros((), fact.dtype.numpy()))
        scale = constant(draft, np.array(0.25, np.float32))
        draft.steps.append(DraftNode("QuantizeLinear", ["x", scale, zero], {}, ["reached"]))
    else:
        draft.steps.append(DraftNode("Cast", ["x"], {"to": int(fact.dtype)}, ["reached"]))
    return "reached"
