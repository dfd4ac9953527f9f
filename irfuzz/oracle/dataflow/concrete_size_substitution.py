"""The program with the sizes of one run in place of its open ones."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from irfuzz.errors import InvalidProgram
from irfuzz.execute.run_types import Value
from irfuzz.facts import TensorFact
from irfuzz.ir.fact_type_conversion import declare

if TYPE_CHECKING:
    from irfuzz.ir.program import Program


def sized(program: Program, inputs: Mapping[str, Value]) -> Program:
    """``program`` with every open size of its inputs replaced by that of the array that was fed.

    What ``ops/`` declares undefined depends on sizes; if they are open, nothing could be excluded. The program
    itself is returned if its inputs are static already, or if its declarations exclude these sizes.
    """
    try:
        return sized_strictly(program, inputs)
    except InvalidProgram:
        return program


def sized_strictly(program: Program, inputs: Mapping[str, Value]) -> Program:
    """The same, which does not take an error for an answer.

    Raises:
        InvalidProgram: the program cannot have these sizes; the message names the node.
    """
    found: dict[str, TensorFact] = {}
    for value in program.graph.inputs:
        fact, fed = program.tensor(value), inputs.get(value.name or "")
        if fact is not None and not fact.is_static and isinstance(fed, np.ndarray):
            found[value.name or ""] = TensorFact(fact.dtype, fed.shape)
    if not found:
        return program
    copy = program.clone()
    for value in copy.graph.inputs:
        if value.name in found:
            declare(value, found[value.name])
    copy.infer()
    return copy
