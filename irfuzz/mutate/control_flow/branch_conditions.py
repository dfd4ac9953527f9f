"""Makes a condition or a trip count of the values that a program has at one place."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import onnx_ir as ir

from irfuzz.choices import Choices
from irfuzz.facts import TensorFact
from irfuzz.mutate.editing.node_inserter import Inserter
from irfuzz.mutate.editing.operator_type_portability import CASTABLE, runs

if TYPE_CHECKING:
    from irfuzz.ir.program import Program
    from irfuzz.spec import Specs

_D = ir.DataType


def readable(program: Program, specs: Specs, values: Sequence[ir.Value]) -> list[ir.Value]:
    """Those of the values from which a condition can be computed: numbers or booleans of known rank that are not
    constant, have elements, and that Cast is known to take. The order stays.
    """
    found: list[ir.Value] = []
    for value in values:
        fact = program.tensor(value)
        if fact is None or fact.shape is None or fact.dtype not in CASTABLE or program.constant_of(value) is not None:
            continue
        if runs(specs, "Cast", program.opset, fact.dtype) and fact.size() != 0:
            found.append(value)
    return found


def condition(
    inserter: Inserter,
    sources: Sequence[ir.Value],
    choices: Choices,
    shapes: Sequence[tuple[int, ...]] = ((), (1,)),
) -> tuple[ir.Value, str]:
    """A boolean of one element: constant, a new graph input, or computed from a source; and how it came to be.

    Args:
        inserter: puts in what computes it.
        sources: what it may be computed from (``readable``).
        choices: draw the way.
        shapes: what a constant may have.
    """
    ways = ["constant", "input"] + (["elements", "elements", "size"] if sources else [])
    way = choices.pick(ways)
    if way == "input":
        return inserter.program.add_input(TensorFact(_D.BOOL, ()), "condition"), "a new input"
    if way == "elements":
        return _of_elements(inserter, choices.pick(sources), choices), "computed from elements"
    if way == "size":
        size = inserter.value("Size", choices.pick(sources))
        return inserter.value("Less", size, inserter.scalar(choices.integer(1, 64), _D.INT64)), "computed from a size"
    shape = choices.pick(shapes)
    return inserter.constant(np.full(shape, choices.boolean()), "condition"), "constant"


def _of_elements(inserter: Inserter, value: ir.Value, choices: Choices) -> ir.Value:
    """Whether the largest or the average element exceeds a bound."""
    rank = inserter.fact(value).rank or 0
    if inserter.fact(value).dtype is not _D.FLOAT:
        value = inserter.cast(value, _D.FLOAT)
    if rank:
        value = inserter.reduce(choices.pick(("ReduceMax", "ReduceMean")), value, range(rank), keepdims=False)
    bound = inserter.scalar(choices.pick((0.0, 0.25, 1.0, -0.5)), _D.FLOAT)
    return inserter.value(choices.pick(("Greater", "Less")), value, bound)


def trip_count(inserter: Inserter, sources: Sequence[ir.Value], choices: Choices, most: int) -> ir.Value:
    """An int64 of one element, from 1 to ``most``: constant, or computed from the size of a source.

    Args:
        inserter: puts in what computes it.
        sources: values of which the number of elements may be used; if there are none it is constant.
        choices: draw the way and the number.
        most: largest number of turns.
    """
    if not sources or choices.boolean(0.7):
        shape = choices.pick(((), (), (1,)))
        return inserter.constant(np.full(shape, choices.integer(1, most), np.int64), "trips")
    size = inserter.value("Size", choices.pick(sources))
    # Min and Max of int64 need opset 12; a remainder has a value for every size.
    rest = inserter.value("Mod", size, inserter.scalar(most, _D.INT64))
    return inserter.value("Add", rest, inserter.scalar(1, _D.INT64))


def is_true(program: Program, value: ir.Value) -> bool | None:
    """The only element of a condition as a Python truth value; ``None`` if it is not known or there is not
    exactly one.
    """
    fact = program.tensor(value)
    if fact is None or fact.value is None or len(fact.value) != 1 or fact.value[0] is None:
        return None
    return bool(fact.value[0])
