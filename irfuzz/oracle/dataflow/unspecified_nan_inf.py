"""Operators between a NaN or infinity and an output for which ONNX does not say what becomes of it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import onnx_ir as ir

from irfuzz.facts import tensors_in
from irfuzz.oracle.numeric.dtype_thresholds import is_float
from irfuzz.oracle.value_structure import numpy_dtype
from irfuzz.spec import has_trait

if TYPE_CHECKING:
    from irfuzz.ir.program import Program


@dataclass(frozen=True, slots=True)
class OpenSpecials:
    """Operators that read floats, by what ONNX does not say of them.

    Attributes:
        nan: what becomes of NaN.
        infinity: what becomes of an infinity.
        converts: what integer NaN or an infinity is.
    """

    nan: frozenset[str] = frozenset()
    infinity: frozenset[str] = frozenset()
    converts: frozenset[str] = frozenset()

    def of(self, *, nan: bool) -> frozenset[str]:
        """Those that leave open what becomes of NaN, or of infinities alone.

        Args:
            nan: whether NaN may occur; if not, operators that do no more than compare are safe.

        Returns:
            Operator names without their domains.
        """
        return self.nan if nan else self.infinity


def open_specials(program: Program, nodes: Iterable[ir.Node]) -> OpenSpecials:
    """Collect them from all nodes that an output is computed from, those in bodies and functions too.

    Nodes that read nothing that may be floating-point are passed over. The traits ``defined_for_nan``,
    ``defined_for_infinity`` and ``casts`` of `ops/` decide about the others; a cast is among ``converts`` if it gives
    whole numbers, or if nobody knows what it gives.
    """
    nan, infinity, converts = set[str](), set[str](), set[str]()
    for node in nodes:
        if not any(_may_be_float(program, v) for v in node.inputs if v is not None):
            continue
        if has_trait(node, "casts"):
            kind = _kind(program, node.outputs[0])
            if kind is None or kind.is_integer():
                converts.add(node.op_type)
        if has_trait(node, "defined_for_nan"):
            continue
        nan.add(node.op_type)
        if not has_trait(node, "defined_for_infinity"):
            infinity.add(node.op_type)
    return OpenSpecials(frozenset(nan), frozenset(infinity), frozenset(converts))


def _kind(program: Program, value: ir.Value) -> ir.DataType | None:
    fact = tensors_in(program.fact(value))
    kind = fact.dtype if fact is not None else value.dtype
    return None if kind is ir.DataType.UNDEFINED else kind


def _may_be_float(program: Program, value: ir.Value) -> bool:
    kind = _kind(program, value)
    return kind is None or is_float(numpy_dtype(kind))
