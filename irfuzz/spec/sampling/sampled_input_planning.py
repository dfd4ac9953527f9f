"""Plans one input of a call: its fact, its range and, if it is prescribed, its exact value."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import onnx_ir as ir

from irfuzz.facts import MAX_KNOWN_ELEMENTS, TensorFact
from irfuzz.spec.operator_spec import FormalParameter, OpSpec, Overlay, SampledInput, ValueDomain
from irfuzz.spec.sampling.value_drawing import DrawFailed, limits

Ends = tuple[float | None, float | None]

WITHOUT_KERNELS = frozenset({ir.DataType.FLOAT4E2M1, ir.DataType.FLOAT8E8M0})
"""Element types with which ONNXRuntime runs no operator, or casts only: there a missing kernel decides nothing."""


def allowed_types(spec: OpSpec, formal: FormalParameter) -> tuple[ir.DataType, ...]:
    """Portable element types of a formal input; all of its types if it has no type variable."""
    if formal.type_str in spec.type_vars:
        return spec.portable.get(formal.type_str, ())
    return tuple(sorted(formal.dtypes))


def given_types(spec: OpSpec, formal: FormalParameter) -> frozenset[ir.DataType]:
    """Element types that a given input may have: portable ones, and of ``WITHOUT_KERNELS`` what is allowed."""
    return formal.dtypes & WITHOUT_KERNELS | {*allowed_types(spec, formal)}


def fitting_types(
    overlay: Overlay, formal: FormalParameter, allowed: tuple[ir.DataType, ...], env: Mapping[str, Any]
) -> tuple[ir.DataType, ...]:
    """Those of several element types for an input that break no rule which asks for the types of inputs only.

    Args:
        overlay: its rules count as far as all that they ask for is bound.
        formal: the input.
        allowed: to choose from; the order stays.
        env: what is bound so far.
    """
    key = f"dtype:{formal.name}"
    rules = [r for _, r in overlay.rules if key in r.names and all(n in env or n == key for n in r.names)]
    return tuple(t for t in allowed if all(r.holds({**env, key: t.name.lower()}) is not False for r in rules))


def value_range(domain: ValueDomain | None, dtype: ir.DataType, env: Mapping[str, Any]) -> Ends:
    """The range of an input's elements, if one is prescribed for its element type; else ``(None, None)``.

    Args:
        domain: of the input; one of exact values prescribes no range.
        dtype: its element type. Of unsigned integers the range begins at 0 at the least.
        env: names that the ends ask for.
    """
    if domain is None or domain.exact or dtype in (ir.DataType.BOOL, ir.DataType.STRING):
        return None, None
    bounds = domain.integer_bounds if domain.integer_bounds is not None and is_integer(dtype) else domain.bounds
    ends = limits(bounds, env) if bounds is not None else None
    if ends is None:
        return None, None
    low, high = float(ends[0]), float(ends[1])
    if dtype.name.startswith("UINT"):
        low = max(low, 0.0)
    return low, max(low, high)


def given_input(name: str, fact: TensorFact, domain: ValueDomain | None, ends: Ends) -> SampledInput:
    """The caller's own input.

    A range on integers is what makes them legal (indices, divisors), so the fact must keep it; on reals it is a wish.

    Args:
        name: of the input, for messages.
        fact: what is known of it.
        domain: that the overlay has for it.
        ends: the range, as ``value_range`` gives it.

    Raises:
        DrawFailed: an element may lie outside.
    """
    low, high = ends
    legal = (
        low is None
        or high is None
        or not is_integer(fact.dtype)
        or (domain is not None and domain.exact)
        or (fact.low is not None and fact.high is not None and low <= fact.low and fact.high <= high)
    )
    if not legal:
        raise DrawFailed(f"{name} may be outside [{low}, {high}]")
    return SampledInput(fact, fact.low, fact.high, given=True)


def exact_input(dtype: ir.DataType, value: np.ndarray, *, is_parameter: bool) -> SampledInput:
    """An input that is a constant.

    Args:
        dtype: its element type.
        value: its elements, not copied; the fact spells them out if there are few.
        is_parameter: whether it is a weight.
    """
    known = tuple(value.ravel().tolist()) if value.size <= MAX_KNOWN_ELEMENTS else None
    numbers = value.size > 0 and value.dtype.kind in "iuf"
    ends = (float(value.min()), float(value.max())) if numbers else (None, None)
    return SampledInput(TensorFact(dtype, value.shape, *ends, known), *ends, value, is_parameter)


def is_integer(dtype: ir.DataType) -> bool:
    """True for signed and unsigned integers of any width."""
    return "INT" in dtype.name
