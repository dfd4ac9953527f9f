"""Gives the planned inputs of a sampled call: values of the program or new constants."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import onnx_ir as ir

from irfuzz.choices import Choices
from irfuzz.facts import TensorFact
from irfuzz.ir.evaluation.stress_numbers import real, whole
from irfuzz.mutate.editing.drawn_constant_limit import drawable
from irfuzz.mutate.editing.mutation_sites import is_exact_input
from irfuzz.mutate.editing.node_inserter import Inserter
from irfuzz.mutate.editing.operator_type_portability import INTEGER_LIMITS
from irfuzz.spec import with_trait

if TYPE_CHECKING:
    from irfuzz.ir.program import Program
    from irfuzz.spec import SampledCall, SampledInput

_TEXTS = ("", "a", "b", "A", "é", "a b", "1.5", "-3", "true")
_ROUND = 0.35
"""How often the only element of a constant that has limits is one of them, 0 or 1: what optimisers ask for."""

_WIDE_WHOLE, _WIDE_REAL = 0.15, 0.08
"""How often the elements of a constant that nothing limits are those on which faulty arithmetic shows."""

_NEGATIVE = 0.25
"""How often divisors that are whole numbers are negative, some of them -1."""

_REUSE = 0.5
"""How often a computed value of the right type stands in for a planned input."""


def materialise(
    program: Program, inserter: Inserter, op: str, call: SampledCall, given: dict[int, ir.Value], choices: Choices
) -> list[ir.Value | None]:
    """A value for each planned input of a drawn call.

    Prescribed elements and parameters become constants, the rest constants or values that the program computes before
    the inserter's place and that have exactly the planned type and shape.

    Args:
        program: it gets the constants.
        inserter: at the place of the call.
        op: operator of the default domain.
        call: what was drawn; an optional input that it omits stays ``None``.
        given: by position, values that are read as they are.
        choices: decide between values and constants, and draw elements.
    """
    inputs: list[ir.Value | None] = []
    for index, plan in enumerate(call.inputs):
        if plan is None:
            inputs.append(None)
        elif index in given:
            inputs.append(given[index])
        elif plan.value is not None:
            inputs.append(inserter.constant(np.asarray(plan.value), "c"))
        else:
            exact = is_exact_input(op, index, plan.fact.dtype) or plan.low is not None or plan.high is not None
            found = [] if exact or plan.is_parameter else _alike(program, inserter.before, plan.fact)
            if found and choices.boolean(_REUSE):
                inputs.append(choices.pick(found))
            else:
                nonzero = index == 1 and op in with_trait("divides")
                inputs.append(
                    inserter.constant(random_array(plan, choices.seed(), nonzero), "w" if plan.is_parameter else "c")
                )
    return inputs


def _alike(program: Program, before: ir.Node | None, fact: TensorFact) -> list[ir.Value]:
    """Computed values and graph inputs of one type and shape that exist before a node."""
    graph = program.graph
    found = [value for value in graph.inputs if _has(program, value, fact)]
    for node in graph:
        if node is before:
            break
        found.extend(value for value in node.outputs if value.name and _has(program, value, fact))
    return found


def _has(program: Program, value: ir.Value, fact: TensorFact) -> bool:
    own = program.fact(value)
    return (
        isinstance(own, TensorFact)
        and own.dtype == fact.dtype
        and own.shape == fact.shape
        and None not in (fact.shape or ())
    )


def _within(number: float, plan: SampledInput) -> bool:
    return (plan.low is None or plan.low <= number) and (plan.high is None or number <= plan.high)


def random_array(plan: SampledInput, seed: int, nonzero: bool = False) -> np.ndarray:
    """Elements for a constant: inside the plan's range (one alone is often 0, 1 or an end of it), else small numbers
    of a scale that keeps sums near 1, and now and then of all scales (``irfuzz.ir.evaluation.stress_numbers``).

    Weights of rank 2 and more are normal with deviation ``1 / sqrt(fan in)`` (He et al. 2015 without the factor 2).

    Raises:
        InvalidProgram: there are more elements than ``drawable`` allows.
    """
    rng = np.random.default_rng(seed)
    dtype = plan.fact.dtype
    shape = drawable(plan.fact.static_shape or ())
    kind = dtype.numpy()
    if dtype is ir.DataType.STRING:
        return np.asarray(np.array(_TEXTS, dtype=object)[rng.integers(0, len(_TEXTS), shape)], dtype=object)
    if dtype is ir.DataType.BOOL:
        return rng.integers(0, 2, shape).astype(np.bool_)
    if dtype in INTEGER_LIMITS:
        least, most = INTEGER_LIMITS[dtype]
        free = plan.low is None and plan.high is None
        if free and dtype.bitwidth > 8 and rng.random() < _WIDE_WHOLE:
            array = whole(shape, kind, rng)
            return np.asarray(np.where(array == 0, 1, array)).astype(kind) if nonzero else array
        if nonzero and free and dtype.is_signed() and rng.random() < _NEGATIVE:
            least, most = max(least, -5), -1
            return np.asarray(rng.integers(least, most, shape, endpoint=True)).astype(kind)
        low = max(least, -4) if plan.low is None else max(least, math.ceil(plan.low))
        high = min(most, 5) if plan.high is None else min(most, math.floor(plan.high))
        if nonzero:
            low = max(low, 1)
        array = rng.integers(low, max(low, high), shape, endpoint=True)
        return np.asarray(array).astype(kind)
    if (plan.low is not None or plan.high is not None) and math.prod(shape) == 1 and rng.random() < _ROUND:
        ends = [n for n in (plan.low, plan.high) if n is not None and abs(n) < math.inf]
        allowed = [n for n in (0.0, 1.0) if not (nonzero and n == 0) and _within(n, plan)]
        if ends or allowed:
            return np.full(shape, rng.choice([*ends, *allowed, *allowed])).astype(kind)
    if plan.low is not None or plan.high is not None:
        low = plan.low if plan.low is not None else min(plan.high or 0.0, 0.0) - 2.0
        high = plan.high if plan.high is not None else max(low, 0.0) + 2.0
        low, high = max(low, -1e4), min(high, 1e4)
        return np.asarray(rng.uniform(low, max(low, high), shape)).astype(kind)
    if not plan.is_parameter and not nonzero and rng.random() < _WIDE_REAL:
        return real(shape, kind, rng)
    array = rng.standard_normal(shape)
    if plan.is_parameter and len(shape) >= 2:
        array = array / math.sqrt(max(1, math.prod(shape[1:])))
    if nonzero:
        array = np.where(array < 0, array - 0.25, array + 0.25)
    return np.asarray(array).astype(kind)
