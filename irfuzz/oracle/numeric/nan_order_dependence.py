"""The same numbers in another order: whether a target does with NaN what it did with it elsewhere.

A kernel that takes several elements at once often treats NaN otherwise than the loop that takes the rest of them, and
a running maximum keeps a NaN that comes first and forgets one that comes last. What ONNX leaves open may be decided
either way, but not both ways.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
import onnx_ir as ir

from irfuzz.errors import InvalidProgram
from irfuzz.execute.run_types import Exit, RunResult, Stage, Target, Value
from irfuzz.oracle.numeric.dtype_thresholds import is_float
from irfuzz.oracle.value_structure import leaves_of
from irfuzz.spec import has_trait

if TYPE_CHECKING:
    from irfuzz.ir.program import Program
    from irfuzz.oracle.runs_to_judge import Case, Leaf

MOST_NODES = 8


def contradicts_itself(case: Case, leaf: Leaf, target: Target, witnesses: Sequence[Target]) -> bool:
    """Whether a target gives NaN in other places if all that it is fed is turned around, and a witness does not.

    The witness tells what becomes of the output: it is turned around as well, or stays as it is.

    Args:
        case: the program and its runs; nothing is known if they cannot be repeated.
        leaf: the tensor in dispute.
        target: who is blamed.
        witnesses: those against it.
    """
    turned = _turned(case.program, case.inputs)
    judge = next((leaf.values[t.name] for t in witnesses if t.name in leaf.values), None)
    if turned is None or judge is None:
        return False
    after = {r.target.name: _tensor(r, leaf.label) for r in case.again(*turned)}
    its = next((after[t.name] for t in witnesses if after.get(t.name) is not None), None)
    mine, before = after.get(target.name), leaf.values[target.name]
    if its is None or mine is None or its.shape != judge.shape or mine.shape != before.shape:
        return False
    kept = [turn for turn in (_around, _as_it_is) if _same_nan(turn(judge), its)]
    return bool(kept) and not any(_same_nan(turn(before), mine) for turn in kept)


def _around(x: np.ndarray) -> np.ndarray:
    return x[..., ::-1] if x.ndim else x


def _as_it_is(x: np.ndarray) -> np.ndarray:
    return x


def _same_nan(a: np.ndarray, b: np.ndarray) -> bool:
    return a.shape == b.shape and bool((np.isnan(a.astype(np.float64)) == np.isnan(b.astype(np.float64))).all())


def _tensor(result: RunResult, label: str) -> np.ndarray | None:
    if result.exit is not Exit.OK or result.stage is not Stage.RUN:
        return None
    leaves = (pair for name, value in result.outputs.items() for pair in leaves_of(name, value))
    return dict(leaves).get(label)


def _turned(program: Program, inputs: Mapping[str, Value]) -> tuple[dict[str, Value], Program] | None:
    """All floats turned around along the last axis; ``None`` if the program is none that this leaves in place."""
    nodes = [n for n in program.graph if not has_trait(n, "transparent")]
    if len(nodes) > MOST_NODES or not all(has_trait(n, "elementwise") or has_trait(n, "reduces") for n in nodes):
        return None
    copy = program.clone()
    lengths = set[int]()
    fed = {name: _turn(value, lengths) for name, value in inputs.items()}
    try:
        for value in _constants(copy):
            array = copy.const_array(value)
            if array is not None and is_float(array.dtype):
                copy.set_constant(value, np.ascontiguousarray(_turn(array, lengths)))
    except InvalidProgram:
        return None
    # Operands of several lengths would not stay beside each other.
    return (fed, copy) if len(lengths - {1}) == 1 else None


def _constants(program: Program) -> list[ir.Value]:
    return [v for v in program.graph.initializers.values() if not v.is_graph_input()]


def _turn(value: Value, lengths: set[int]) -> Value:
    if not isinstance(value, np.ndarray) or not is_float(value.dtype) or not value.ndim:
        return value
    lengths.add(value.shape[-1])
    return np.ascontiguousarray(value[..., ::-1])
