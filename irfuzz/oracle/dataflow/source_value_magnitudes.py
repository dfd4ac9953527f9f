"""What the numbers are that a program's values are computed from: its inputs and constants."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import onnx_ir as ir

from irfuzz._native import difference
from irfuzz.execute.run_types import Value
from irfuzz.ir.value import is_constant
from irfuzz.oracle.numeric.dtype_thresholds import is_float, vanishing
from irfuzz.oracle.value_structure import leaves_of
from irfuzz.spec import has_trait

if TYPE_CHECKING:
    from irfuzz.ir.program import Program


@dataclass(frozen=True, slots=True)
class Sources:
    """Properties of the floats among inputs and constants.

    Attributes:
        fed: largest finite magnitude among inputs.
        largest: the same, with constants.
        specials: NaN or infinity stands there, and something else than comparisons reads it.
        nan: NaN does.
        subnormal: numbers do that are, or whose products are, below the smallest normal one.
    """

    fed: float
    largest: float
    specials: bool
    nan: bool
    subnormal: bool


def sources_of(program: Program, values: Iterable[ir.Value], inputs: Mapping[str, Value]) -> Sources:
    """Look at what is fed and constant among some values.

    Args:
        program: in which they stand.
        values: of it; those that are neither fed nor constant are passed over, and those that hold no floats.
        inputs: what is fed, by name; only read.

    Returns:
        The largest magnitude that is fed and that of all of them, and whether NaN, an infinity or a number occurs that
        underflow may take away.
    """
    fed, top = 0.0, 0.0
    specials = nan = subnormal = False
    for value, array in _arrays(program, values, inputs):
        d = difference(array, array)
        top = max(top, d.max_a)
        fed = max(fed, d.max_a) if value.is_graph_input() else fed
        if (d.nan_a or d.posinf_a or d.neginf_a) and not _only_compared(program, value):
            specials, nan = True, nan or bool(d.nan_a)
        if not subnormal and array.size:
            x = np.abs(array)
            subnormal = bool(((x > 0) & (x < array.dtype.type(vanishing(array.dtype)))).any())
    return Sources(fed, top, specials, nan, subnormal)


def _arrays(
    program: Program, values: Iterable[ir.Value], inputs: Mapping[str, Value]
) -> Iterator[tuple[ir.Value, np.ndarray]]:
    for value in values:
        producer = value.producer()
        if value.is_graph_input():
            given = inputs.get(value.name or "")
        elif producer is None or is_constant(producer):
            given = program.const_array(value)
        else:
            continue
        for _, array in leaves_of("", given):
            if is_float(array.dtype):
                yield value, array


def _only_compared(program: Program, value: ir.Value) -> bool:
    """Whether nothing but comparisons read a value, moved or cast to other floats first: of booleans IEEE 754 says all.

    The expansion of Attention asks so whether a row is masked as a whole.
    """
    uses = value.uses()
    if not uses or value.is_graph_output():
        return False
    return all(
        has_trait(node, "compares") or (_hands_on(program, node) and _only_compared(program, node.outputs[0]))
        for node, _ in uses
    )


def _hands_on(program: Program, node: ir.Node) -> bool:
    fact = program.tensor(node.outputs[0]) if has_trait(node, "moves") or has_trait(node, "casts") else None
    return fact is not None and fact.dtype.is_floating_point()


def magnitude(array: np.ndarray, below: float = math.inf) -> float:
    """Largest finite magnitude under a limit.

    Args:
        array: of numbers; compared as float64.
        below: what is as large or larger does not count.

    Returns:
        0.0 if no element counts, as in an empty array or one of NaN and infinities alone.
    """
    if not array.size:
        return 0.0
    values = np.abs(array.astype(np.float64))
    values = values[np.isfinite(values) & (values < below)]
    return float(values.max()) if values.size else 0.0
