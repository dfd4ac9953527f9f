"""Whether the calls that mutators insert may use an operator with some element types."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

import onnx_ir as ir

from irfuzz.facts import Fact, TensorFact
from irfuzz.spec.sampling.sampled_input_planning import WITHOUT_KERNELS

if TYPE_CHECKING:
    from irfuzz.spec import OpSpec, Specs

_D = ir.DataType

INTEGER_LIMITS: dict[ir.DataType, tuple[int, int]] = {
    _D.INT8: (-128, 127),
    _D.INT16: (-32768, 32767),
    _D.INT32: (-(2**31), 2**31 - 1),
    _D.INT64: (-(2**63), 2**63 - 1),
    _D.UINT8: (0, 255),
    _D.UINT16: (0, 65535),
    _D.UINT32: (0, 2**32 - 1),
    _D.UINT64: (0, 2**64 - 1),
    _D.INT4: (-8, 7),
    _D.UINT4: (0, 15),
    _D.INT2: (-2, 1),
    _D.UINT2: (0, 3),
}
"""Smallest and largest value of each integer type."""

CASTABLE = (
    _D.FLOAT, _D.DOUBLE, _D.FLOAT16, _D.INT8, _D.INT16, _D.INT32, _D.INT64,
    _D.UINT8, _D.UINT16, _D.UINT32, _D.UINT64, _D.BOOL,
)  # fmt: skip
"""Element types between which ``Cast`` is defined for every opset from 9 on."""


@lru_cache(maxsize=1 << 14)
def runs(specs: Specs, op: str, opset: int, dtype: ir.DataType) -> bool:
    """Whether ``op`` is known to run with ``dtype`` as its data; if nothing was measured, with floats.

    Args:
        specs: operator specs.
        op: of the default domain.
        opset: of the program.
        dtype: of the first input, or of the one that the trait ``data_input`` names.

    Returns:
        False for operators that the opset does not have.
    """
    spec = specs.get(op, opset)
    if spec is None:
        return False
    formal = spec.formal(spec.traits.get("data_input", 0))
    if formal is None or dtype not in formal.dtypes:
        return False
    measured = spec.portable.get(formal.type_str)
    if measured is None:
        return dtype is _D.FLOAT
    return dtype in measured


def call_runs(spec: OpSpec, inputs: Sequence[Fact | None]) -> bool:
    """True if nothing is known against running with these element types together.

    A type variable that stands at several inputs must have one element type.

    Args:
        spec: the operator.
        inputs: facts in order; ``None`` for an omitted one, which is not looked at.
    """
    bound: dict[str, ir.DataType] = {}
    for index, fact in enumerate(inputs):
        if fact is None:
            continue
        formal = spec.formal(index)
        if formal is None or not isinstance(fact, TensorFact):
            return False
        dtype, variable = fact.dtype, formal.type_str
        if dtype not in formal.dtypes:
            return False
        measured = spec.portable.get(variable)
        if measured is not None and dtype not in measured and dtype not in WITHOUT_KERNELS:
            return False
        if formal.homogeneous and bound.setdefault(variable, dtype) is not dtype:
            return False
    return not any(all(bound.get(v) is d for v, d in combination.items()) for combination in spec.portable_except)
