"""What can be said of how operators round that irfuzz has no specification for: from the types that they deal with."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import TYPE_CHECKING

from irfuzz.ir.inference.opaque_nodes import is_foreign
from irfuzz.spec import has_trait

if TYPE_CHECKING:
    import onnx_ir as ir

    from irfuzz.facts import TensorFact
    from irfuzz.ir.program import Program

UNKNOWN_TERMS = 64
"""Terms of a sum of which nothing is known."""

NARROW = 8
"""Bits of the integers that floats are quantised to."""


def quantises(program: Program, node: ir.Node) -> bool:
    """True if a node rounds to few bits: a standard one by its name, an opaque one that deals with both kinds."""
    if has_trait(node, "quantises"):
        return True
    if not is_foreign(node) or not program.inference.is_opaque(node):
        return False
    facts = [f for v in (*node.inputs, *node.outputs) if v is not None and (f := program.tensor(v)) is not None]
    narrow = any(f.dtype.is_integer() and f.dtype.bitwidth <= NARROW for f in facts)
    return narrow and any(f.dtype.is_floating_point() for f in facts)


def terms_of_opaque(facts: Iterable[TensorFact | None]) -> float:
    """Roundings behind an element of what an unknown operator computes: as if it summed over its largest operand.

    Args:
        facts: of its operands; ``None`` and shapes that are not static do not count.

    Returns:
        At least ``UNKNOWN_TERMS``; of a larger operand its elements over its smallest size.
    """
    shapes = [f.static_shape for f in facts if f is not None and f.static_shape]
    return max([float(UNKNOWN_TERMS), *(math.prod(shape) / max(1, min(shape)) for shape in shapes)])
