"""Draws a call of an operator in which a given value takes part."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, TypeAlias

import onnx_ir as ir

from irfuzz.choices import Choices
from irfuzz.facts import TensorFact
from irfuzz.mutate.editing.layer_rewiring import dims_of, predict, with_sizes
from irfuzz.mutate.editing.mutation_sites import is_exact_input
from irfuzz.mutate.editing.operator_type_portability import CASTABLE, INTEGER_LIMITS, runs
from irfuzz.mutate.editing.value_adaptation import why_not
from irfuzz.mutate.mutator_context import Context
from irfuzz.mutate.mutator_protocol import Skipped
from irfuzz.spec import SampledCall, sample_call
from irfuzz.spec.sampling.sampled_input_planning import WITHOUT_KERNELS, value_range

if TYPE_CHECKING:
    from irfuzz.spec import OpSpec, SampledInput, Specs

_WEIGHT_ELEMENTS = 1 << 15
_FREE_ELEMENTS = 1 << 10
"""Most elements of inputs and outputs where a call is drawn from nothing."""

_STAND_IN = 1
"""Number in place of a named size while a call is drawn: what is valid for 1 (indices, windows) is for more."""

_OTHER_TYPE = 0.25
"""How often a value is cast though the operator takes its type."""


Domains: TypeAlias = tuple[tuple[str, int], ...]
"""Other domains whose operators may be drawn, each with its version (``import_domain.domains_drawn``)."""


@dataclass(frozen=True, slots=True)
class DrawnLayer:
    """A call that can be inserted.

    Attributes:
        position: input at which the value stands, ``None`` if the call reads nothing of the program.
        given: type, shape and range that the value must have there.
        outputs: what comes out.
    """

    spec: OpSpec
    call: SampledCall
    position: int | None
    given: TensorFact | None
    outputs: tuple[TensorFact, ...]


@lru_cache(maxsize=512)
def open_positions(spec: OpSpec) -> tuple[int, ...]:
    """Inputs at which any computed value of the right type and shape may stand, but for its range: no parameters, and
    none whose elements are prescribed. Rising indices.
    """
    found: list[int] = []
    for position, formal in enumerate(spec.inputs):
        domain = spec.overlay.values.get(formal.name) if spec.overlay is not None else None
        if not formal.dtypes or formal.name in spec.parameters or (domain is not None and domain.exact):
            continue
        found.append(position)
    return tuple(found)


@lru_cache(maxsize=4096)
def types_at(spec: OpSpec, position: int) -> tuple[ir.DataType, ...]:
    """Element types that run at an input: those that the schema allows and that were measured, or all that it allows if
    nothing was, and what is allowed of ``WITHOUT_KERNELS``.

    Args:
        spec: the operator.
        position: place among its formal inputs.
    """
    formal = spec.inputs[position]
    measured = spec.portable.get(formal.type_str)
    runs = frozenset(formal.dtypes if measured is None else measured) | WITHOUT_KERNELS
    return tuple(dtype for dtype in ir.DataType if dtype in formal.dtypes and dtype in runs)


@lru_cache(maxsize=256)
def layers(specs: Specs, opset: int, dtype: ir.DataType, domains: Domains = ()) -> tuple[OpSpec, ...]:
    """Operators that can be put beside or behind a value of a type: of the default domain, then those of ``domains``.

    Their calls can be sampled, and their inputs and first output are dense tensors. What casts do not lead away from
    stays what it is. Other domains have fewer operators: each is there several times, so that a quarter is theirs.
    """
    own = _layers(specs.overlaid(opset), dtype)
    others = _layers([spec for domain, version in domains for spec in specs.overlaid(version, domain)], dtype)
    return own + others * max(1, len(own) // (3 * max(1, len(others))))


def _layers(specs: Sequence[OpSpec], dtype: ir.DataType) -> tuple[OpSpec, ...]:
    return tuple(
        spec
        for spec in specs
        if all(f.dtypes or f.option == "optional" for f in spec.inputs)
        and all(types != () for types in spec.portable.values())
        and spec.outputs[0].dtypes
        and (dtype in CASTABLE or any(dtype in types_at(spec, p) for p in open_positions(spec)))
    )


def draw_behind(
    context: Context, choices: Choices, opset: int, spec: OpSpec, fact: TensorFact, limit: int
) -> DrawnLayer | None:
    """A call on a value as it is, cast at most; ``None`` if its rank or sizes do not fit.

    Args:
        context: specs and what was seen.
        choices: draw the input, the type and the rest of the call.
        opset: of the default domain.
        spec: the operator.
        fact: the value's, with known or named sizes.
        limit: most elements of an output.
    """
    names = dims_of([fact])
    if names is None or (names and "indices_bound_by_sizes" in spec.traits):
        return None
    places = [
        (p, d) for p in open_positions(spec) if (d := _type_for(context, choices, spec, p, fact.dtype)) is not None
    ]
    if not places:
        return None
    position, dtype = choices.pick(places)
    formal = spec.inputs[position]
    if is_exact_input(spec.op, position, dtype):
        return None
    domain = spec.overlay.values.get(formal.name) if spec.overlay is not None else None
    low, high = value_range(domain, dtype, {}) if domain is not None and not domain.names else (None, None)
    if domain is not None and (low is None or dtype.is_integer()):
        return None  # its range depends on what else is drawn
    given = TensorFact(dtype, fact.shape)
    static = with_sizes(given, {n: _STAND_IN + place for place, n in enumerate(names)})
    assert static is not None
    call = sample_call(spec, {position: static}, choices, seen=context.drawn, max_elements=_WEIGHT_ELEMENTS)
    if call is None:
        return None
    return _layer(context, opset, spec, call, position, replace(given, low=low, high=high), limit)


@lru_cache(maxsize=512)
def readers(specs: Specs, opset: int, dtype: ir.DataType, domains: Domains = ()) -> tuple[OpSpec, ...]:
    """Operators that can read a value of a type as it is, without a cast; the order and the repeats of
    ``layers`` stay.
    """
    found = layers(specs, opset, dtype, domains)
    return tuple(spec for spec in found if any(dtype in types_at(spec, p) for p in open_positions(spec)))


def draw_direct(
    context: Context, choices: Choices, opset: int, spec: OpSpec, fact: TensorFact, limit: int
) -> DrawnLayer | None:
    """A call that reads a value as it is, with nothing in between; ``None`` if it does not fit.

    The arguments are those of ``draw_behind``. The value's known range is judged as well, for nothing may limit it in
    between.
    """
    names = dims_of([fact])
    if names is None or (names and "indices_bound_by_sizes" in spec.traits):
        return None
    places = [
        p
        for p in open_positions(spec)
        if fact.dtype in types_at(spec, p) and not is_exact_input(spec.op, p, fact.dtype)
    ]
    if not places:
        return None
    position = choices.pick(places)
    given = TensorFact(fact.dtype, fact.shape, fact.low, fact.high)
    static = with_sizes(given, {n: _STAND_IN + place for place, n in enumerate(names)})
    assert static is not None
    call = sample_call(spec, {position: static}, choices, seen=context.drawn, max_elements=_WEIGHT_ELEMENTS)
    if call is None:
        return None
    layer = _layer(context, opset, spec, call, position, given, limit)
    return None if layer is None else replace(layer, given=TensorFact(fact.dtype, fact.shape))


def draw_free(
    context: Context, choices: Choices, opset: int, spec: OpSpec, fact: TensorFact, limit: int
) -> DrawnLayer | None:
    """A call drawn from nothing, with the value in the place of one of its inputs if it can be adapted to it.

    The arguments are those of ``draw_behind``. Without such an input ``position`` is ``None``, and the call reads
    constants and other values only.

    Returns:
        ``None`` if no call could be drawn, or what it gives is not allowed.
    """
    call = sample_call(spec, {}, choices, seen=context.drawn, max_elements=_FREE_ELEMENTS)
    if call is None:
        return None
    places = [p for p in open_positions(spec) if _takes(context.specs, opset, spec, call, p, fact)]
    if spec.inputs and spec.inputs[-1].option == "variadic" and len(spec.inputs) - 1 in places:
        places += range(len(spec.inputs), len(call.inputs))
    if not places:
        return _layer(context, opset, spec, call, None, None, limit)
    position = choices.pick(places)
    plan = call.inputs[position]
    assert plan is not None
    given = TensorFact(plan.fact.dtype, plan.fact.shape, plan.low, plan.high)
    return _layer(context, opset, spec, call, position, given, limit)


def _layer(
    context: Context,
    opset: int,
    spec: OpSpec,
    call: SampledCall,
    position: int | None,
    given: TensorFact | None,
    limit: int,
) -> DrawnLayer | None:
    facts = [given if i == position else _fact(p) for i, p in enumerate(call.inputs)]
    outputs = predict_call(context.specs, opset, spec, facts, call, limit)
    return None if isinstance(outputs, Skipped) else DrawnLayer(spec, call, position, given, outputs)


def predict_call(
    specs: Specs, opset: int, spec: OpSpec, facts: Sequence[TensorFact | None], call: SampledCall, limit: int
) -> tuple[TensorFact, ...] | Skipped:
    """``predict`` for a drawn call, whose output sizes may depend on elements.

    Args:
        specs: operator specs.
        opset: of the default domain; operators of others are judged at the version of ``spec``.
        spec: the operator.
        facts: of its inputs, ``None`` for omitted ones.
        call: its attributes and number of outputs.
        limit: most elements of an output.
    """
    version = spec.since if spec.domain else opset
    return predict(specs, version, spec.op, facts, call.attrs, call.outputs, limit, domain=spec.domain, open_sizes=True)


def _fact(plan: SampledInput | None) -> TensorFact | None:
    return None if plan is None else plan.fact


def _type_for(context: Context, choices: Choices, spec: OpSpec, position: int, own: ir.DataType) -> ir.DataType | None:
    """The element type that the value is to have at an input: its own, or one to cast it to."""
    fitting = types_at(spec, position)
    if own in fitting and not (own in CASTABLE and choices.boolean(_OTHER_TYPE)):
        return own
    types = [d for d in CASTABLE if d in fitting]
    if not types or own not in CASTABLE:
        return None
    return context.prefer(choices, types, lambda d: ("dtype", spec.op, min(position, 1), d.value))


def _takes(specs: Specs, opset: int, spec: OpSpec, call: SampledCall, position: int, fact: TensorFact) -> bool:
    """True if the value can be made what the call expects at this input."""
    plan = call.inputs[position] if position < len(call.inputs) else None
    if plan is None or plan.value is not None or why_not(specs, opset, fact, plan.fact) is not None:
        return False
    bounded = plan.low is not None and plan.high is not None
    if bounded and not runs(specs, "Clip", opset, plan.fact.dtype):
        return False
    return bounded or not is_exact_input(spec.op, position, plan.fact.dtype)


def is_cast(spec: OpSpec, outputs: Sequence[TensorFact]) -> bool:
    """True for a cast to integers, for which floats out of range would be undefined.

    Args:
        spec: the operator.
        outputs: facts of what it gives; the first one counts.
    """
    return "casts" in spec.traits and outputs[0].dtype in INTEGER_LIMITS
