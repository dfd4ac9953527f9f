"""Single precision: lets a program of other floats compute in float32, if the fault stays."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import onnx_ir as ir

from irfuzz.execute.run_types import Value
from irfuzz.facts import TensorFact
from irfuzz.ir.fact_type_conversion import declare
from irfuzz.ir.program import Program
from irfuzz.reduce.session import NotPossible, Session, infer_anew
from irfuzz.spec import has_trait

_OTHERS = frozenset({ir.DataType.FLOAT16, ir.DataType.DOUBLE, ir.DataType.BFLOAT16})


def compute_in_float(session: Session) -> bool:
    """Make every input and initializer of half, double or brain floats one of float32, and casts cast to it.

    It is one candidate: all of them change, or none. Elements too large for float32 become infinite.
    """
    return session.edit(lambda program: _widen(session, program))


def _widen(session: Session, program: Program) -> dict[str, Value]:
    inputs: dict[str, Value] = {}
    found = False
    for value in program.graph.inputs:
        fact, data = program.tensor(value), session.inputs.get(value.name or "")
        if fact is not None and fact.dtype in _OTHERS and isinstance(data, np.ndarray):
            declare(value, TensorFact(ir.DataType.FLOAT, fact.shape))
            inputs[value.name or ""] = _float(data)
            found = True
    for name, value in program.graph.initializers.items():
        array, fact = program.const_array(value), program.tensor(value)
        if fact is not None and fact.dtype in _OTHERS and array is not None:
            value.const_value = ir.tensor(_float(array), name=name)
            value.dtype = ir.DataType.FLOAT
            found = True
    for node in program.nodes():
        to = node.attributes.get("to") if has_trait(node, "casts") else None
        if to is not None and to.value in [int(d) for d in _OTHERS]:
            node.attributes["to"] = ir.AttrInt64("to", int(ir.DataType.FLOAT))
            found = True
    if not found:
        raise NotPossible
    infer_anew(program)
    return inputs


def _float(array: np.ndarray) -> np.ndarray:
    if array.dtype == np.dtype(ml_dtypes.bfloat16) or array.dtype.kind == "f":
        with np.errstate(over="ignore"):
            return array.astype(np.float32)
    raise NotPossible
