"""Limits generated programs to some element types: of specs those calls are left that can have them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np
import onnx_ir as ir

from irfuzz.errors import UsageError
from irfuzz.facts import tensors_in
from irfuzz.ir.program import Program
from irfuzz.spec.operator_spec import FormalParameter, OpSpec

DType: TypeAlias = "str | np.dtype[Any] | type[np.generic] | ir.DataType"
"""An element type: its name (``float32``, ``bfloat16``), NumPy's, or onnx_ir's."""


def element_type(given: DType) -> ir.DataType:
    """The element type that is meant.

    Args:
        given: an ``ir.DataType``, the name of one in any case (``"bfloat16"``), or what ``np.dtype`` takes.

    Raises:
        UsageError: it is none.
    """
    if isinstance(given, ir.DataType):
        return given
    if isinstance(given, str) and given.upper() in ir.DataType.__members__:
        return ir.DataType[given.upper()]
    try:
        return ir.DataType.from_numpy(np.dtype(given))
    except TypeError:
        raise UsageError(f"dtypes: expected element types such as 'float32', got {given!r}") from None


def of_types(spec: OpSpec, dtypes: frozenset[ir.DataType]) -> OpSpec | None:
    """The spec with the calls in which all values have these types; ``None`` if there are none.

    Args:
        spec: of an operator.
        dtypes: all types if empty.
    """
    if not dtypes:
        return spec
    dtypes = dtypes - {ir.DataType.STRING}  # ``single_call`` draws none
    needed = [f for f in (*spec.inputs[: spec.min_inputs], *spec.outputs) if f.option != "optional"]
    if not all(dtypes & _types(spec, formal) for formal in needed):
        return None
    portable = {var: tuple(t for t in types if t in dtypes) for var, types in spec.portable.items()}
    used = {formal.type_str for formal in needed}
    if not all(portable[var] for var in portable if var in used):
        return None
    return replace(spec, portable=portable)


def _types(spec: OpSpec, formal: FormalParameter) -> frozenset[ir.DataType]:
    return frozenset(spec.portable.get(formal.type_str, formal.dtypes))


def types_in(program: Program) -> set[ir.DataType]:
    """Element types of all values of a program, those of bodies among them.

    A sequence or optional counts with the type of its tensors; values of which nothing is known do not count.
    """
    graph = program.graph
    values = [*graph.inputs, *graph.initializers.values(), *(v for node in graph.all_nodes() for v in node.outputs)]
    facts = [tensors_in(program.fact(value)) for value in values]
    return {fact.dtype for fact in facts if fact is not None}
