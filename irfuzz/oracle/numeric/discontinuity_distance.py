"""Decides whether the inputs of operators with steps, such as Floor, are far from every step."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
import onnx_ir as ir

from irfuzz.execute.intermediate_values import tap
from irfuzz.execute.run_types import Exit, Value
from irfuzz.oracle.numeric.dtype_thresholds import is_float
from irfuzz.spec import has_trait, trait_values

if TYPE_CHECKING:
    from irfuzz.ir.program import Program
    from irfuzz.oracle.numeric.perturbation import Rerun

MARGIN = 1e-4
"""Of the largest magnitude (1 at least): hundreds of rounding units of float32."""

_WIDE = (ir.DataType.FLOAT, ir.DataType.DOUBLE)


def _to_whole(x: np.ndarray) -> np.ndarray:
    return np.abs(x - np.rint(x))


DISTANCES: Mapping[str, Callable[[Sequence[np.ndarray]], np.ndarray]] = {
    "to_each_other": lambda given: np.abs(given[0] - given[1]),
    "to_half": lambda given: 0.5 - _to_whole(given[0]),
    "to_whole": lambda given: _to_whole(given[0]),
    "to_zero": lambda given: np.abs(given[0]),
}
"""How far elements are from where an operator jumps (the trait ``distance_to_step``)."""


def far_from_steps(program: Program, output: ir.Value, inputs: Mapping[str, Value], rerun: Rerun | None) -> bool:
    """Whether every step behind an output is decided, whichever way the numbers before it were rounded.

    Args:
        program: the program.
        output: one of its outputs.
        inputs: by name.
        rerun: runs another program on the target in question.
    """
    found: list[tuple[ir.Node, list[str]]] = []
    for node in program.ancestors(output):
        graphs = (ir.AttributeType.GRAPH, ir.AttributeType.GRAPHS)
        if node.domain not in ("", "ai.onnx") or any(a.type in graphs for a in node.attributes.values()):
            return False  # steps inside it cannot be looked at
        facts = [program.tensor(v) for v in node.inputs]
        floats = any(f is not None and f.dtype.is_floating_point() for f in facts)
        jumps = has_trait(node, "discontinuous") or has_trait(node, "quantises")
        if not jumps or not floats or has_trait(node, "selects"):
            continue
        if not has_trait(node, "distance_to_step") or any(f is None or f.dtype not in _WIDE for f in facts):
            return False
        found.append((node, [v.name or "" for v in node.inputs if v is not None]))
    if not found or rerun is None:
        return False
    names = {name for _, given in found for name in given}
    own = {v.name for v in program.graph.inputs}
    (result,) = rerun({name: value for name, value in inputs.items() if name in own}, tap(program, names))
    if result.exit is not Exit.OK:
        return False
    for node, given in found:
        arrays = [_array(program, name, inputs, result.outputs) for name in given]
        known = [a.astype(np.float64) for a in arrays if a is not None and is_float(a.dtype) and np.isfinite(a).all()]
        if len(known) != len(arrays):
            return False
        scale = max([1.0, *(float(np.abs(a).max(initial=0)) for a in known)])
        distance = DISTANCES[trait_values("distance_to_step")[node.op_type]]
        if not bool(np.all(distance(known) > MARGIN * scale)):
            return False
    return True


def _array(program: Program, name: str, inputs: Mapping[str, Value], outputs: Mapping[str, Value]) -> np.ndarray | None:
    value = outputs.get(name, inputs.get(name))
    if isinstance(value, np.ndarray):
        return value
    stored = program.value(name)
    return None if stored is None else program.const_array(stored)
