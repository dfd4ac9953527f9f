"""A program for the sizes of some inputs, without what only computes sizes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from irfuzz.errors import InvalidProgram
from irfuzz.execute.run_types import Value
from irfuzz.facts import TensorFact
from irfuzz.ir.value import is_constant

if TYPE_CHECKING:
    import onnx_ir as ir

    from irfuzz.ir.program import Program

MOST = 1024
"""Elements of a value that is replaced by a constant."""


def settled(program: Program, inputs: Mapping[str, Value]) -> Program:
    """``program`` for an exporter that traces with fixed shapes.

    Sizes of inputs are those of the arrays; values that follow from sizes alone become constants, for a trace cannot
    look into a tensor that it computes. The program is returned as it is if its declarations exclude these sizes.
    """
    copy = program.clone()
    sizes: dict[ir.Value, TensorFact] = {}
    for value in copy.graph.inputs:
        fact, fed = copy.tensor(value), inputs.get(value.name or "")
        if fact is not None and not fact.is_static and isinstance(fed, np.ndarray):
            sizes[value] = TensorFact(fact.dtype, fed.shape)
    try:
        copy.declare_inputs(sizes)
    except InvalidProgram:
        return program
    for node in list(copy.graph):
        for value in node.outputs:
            fact = copy.tensor(value)
            if is_constant(node) or value.is_graph_output() or fact is None or not fact.known:
                continue
            shape = fact.static_shape
            if fact.value is None or shape is None or len(fact.value) > MOST or not value.uses():
                continue
            array = np.array(fact.value).astype(fact.dtype.numpy()).reshape(shape)
            copy.replace_uses(value, copy.constant(array, f"{value.name}_settled"))
    copy.prune()
    return copy
