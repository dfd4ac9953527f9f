"""Programs of one node, from which mutation grows small ones."""

from __future__ import annotations

from functools import cache

import onnx_ir as ir

from irfuzz.facts import TensorFact
from irfuzz.ir.program import Program

_D = ir.DataType

FORMS: tuple[tuple[ir.DataType, tuple[int, ...]], ...] = (
    (_D.FLOAT, ()),
    (_D.FLOAT, (1,)),
    (_D.FLOAT, (4,)),
    (_D.FLOAT, (1, 1)),
    (_D.FLOAT, (3, 3)),
    (_D.FLOAT, (2, 3)),
    (_D.FLOAT, (4, 1)),
    (_D.FLOAT, (2, 3, 4)),
    (_D.FLOAT, (2, 2, 2)),
    (_D.FLOAT, (1, 3, 5)),
    (_D.FLOAT, (1, 2, 4, 4)),
    (_D.FLOAT, (2, 3, 5, 4)),
    (_D.FLOAT, (1, 1, 6, 5)),
    (_D.FLOAT, (3, 3, 3, 3)),
    (_D.FLOAT, (1, 2, 3, 2, 3)),
    (_D.INT64, ()),
    (_D.INT64, (3,)),
    (_D.INT64, (2, 3)),
    (_D.INT64, (1, 2, 2)),
    (_D.INT32, (2, 2)),
    (_D.DOUBLE, (2, 3)),
    (_D.DOUBLE, (1, 2, 3, 3)),
    (_D.FLOAT16, (2, 4)),
    (_D.FLOAT16, (1, 2, 4, 4)),
    (_D.UINT8, (2, 3)),
    (_D.INT8, (3, 2)),
    (_D.BOOL, (2, 3)),
)
"""Element types and small shapes of the only input: no axis to five, all alike, all different, and with ones."""

OPEN: tuple[tuple[ir.DataType, tuple[int | str, ...]], ...] = (
    (_D.FLOAT, ("N", 4)),
    (_D.FLOAT, (2, "N", 8)),
    (_D.FLOAT, ("N", 3, 16)),
    (_D.FLOAT, ("N", 2, 4, 4)),
    (_D.INT64, ("N",)),
)
"""The same with a size that only the run tells: much is then not folded, and other passes of optimisers fire."""

WIDE: tuple[tuple[ir.DataType, tuple[int, ...]], ...] = (
    (_D.FLOAT, (1, 6, 4, 4)),
    (_D.FLOAT, (1, 9, 3, 3)),
    (_D.FLOAT, (2, 16, 3, 5)),
    (_D.FLOAT, (1, 33, 2, 2)),
    (_D.FLOAT, (1, 12, 7)),
    (_D.FLOAT, (2, 9, 17)),
    (_D.FLOAT, (6, 9)),
    (_D.FLOAT, (16, 33)),
    (_D.FLOAT, (5, 31)),
    (_D.FLOAT, (65,)),
    (_D.DOUBLE, (9, 17)),
    (_D.FLOAT16, (1, 18, 3, 3)),
    (_D.FLOAT16, (7, 33)),
    (_D.INT64, (33,)),
    (_D.INT32, (8, 15)),
    (_D.UINT8, (1, 16, 5, 5)),
    (_D.INT8, (17, 32)),
    (_D.BOOL, (5, 17)),
)
"""The same with sizes that are multiples of 4, 8, 16 and 32, and one beside them: kernels go in steps of a vector or a
tile and treat what is left apart, which sizes up to 5 never enter.
"""

VERSIONS: tuple[tuple[int, int], ...] = ((17, 8), (13, 7), (18, 8), (21, 10))
"""Opsets, each with the IR version that came with it or before it."""

OLD: tuple[tuple[int, int], ...] = ((11, 6), (9, 4), (12, 7), (10, 5))
"""The same, of older ones: each has every fourth of the types and shapes, so that one in nine is old.

Many fusions ask for operators of one of these versions, and converters spell them in ways of their own.
"""


_THIRD = 3

NEW: tuple[tuple[int, int], ...] = ((23, 11), (24, 12), (22, 10), (25, 13), (26, 13), (27, 13), (28, 14))
"""The same, of newer ones, each with every third of the types and shapes: a quarter of all."""

RARE_FORMS: tuple[tuple[ir.DataType, tuple[int, ...], tuple[int, int]], ...] = (
    (_D.STRING, (3,), (18, 8)),
    (_D.BFLOAT16, (2, 3, 4), (21, 10)),
    (_D.FLOAT8E5M2, (2, 3), (19, 9)),
    (_D.INT4, (2, 3), (21, 10)),
    (_D.STRING, (2, 3), (17, 8)),
    (_D.STRING, (1, 4, 4, 2), (21, 10)),
    (_D.BFLOAT16, (2, 3), (17, 8)),
    (_D.BFLOAT16, (1, 2, 4, 4), (23, 11)),
    (_D.FLOAT8E4M3FN, (2, 3), (19, 9)),
    (_D.FLOAT8E5M2, (3, 2), (21, 10)),
    (_D.FLOAT8E4M3FNUZ, (2, 3), (23, 11)),
    (_D.FLOAT8E5M2FNUZ, (2, 2), (23, 11)),
    (_D.UINT4, (2, 3), (21, 10)),
    (_D.INT4, (3, 2), (23, 11)),
    (_D.FLOAT4E2M1, (2, 3), (23, 11)),
    (_D.FLOAT8E8M0, (2, 3), (24, 12)),
    (_D.UINT2, (2, 3), (25, 13)),
    (_D.INT2, (3, 2), (25, 13)),
)
"""Element types that no Cast of a common type gives or few runtimes compute with, each with one version of its own.

Operators that move elements take all of them, and nothing else brings them into a program: a sixteenth of all.
"""


@cache
def sprouts() -> dict[str, Program]:
    """By name; each copies its input, and is to be cloned before it is edited.

    Most real faults sit in one operator with unusual attributes, or in a few nodes that an optimiser takes for others:
    such a program is quickly made, run and made small, and nothing else in it hides the fault.
    """
    made: dict[str, Program] = {}
    forms = [(version, (*FORMS, *OPEN)) for version in VERSIONS]
    forms += [(version, WIDE) for version in VERSIONS[:1] + VERSIONS[-1:]]
    forms += [(version, (*FORMS, *OPEN)[first :: len(OLD)]) for first, version in enumerate(OLD)]
    forms += [(version, FORMS[first % _THIRD :: _THIRD]) for first, version in enumerate(NEW)]
    every = [(dtype, shape, version) for version, some in forms for dtype, shape in some]
    for dtype, shape, (opset, version) in (*every, *RARE_FORMS):
        name = f"sprout-{dtype.name.lower()}-{'x'.join(map(str, shape))}-{opset}"
        made[name] = _sprout(TensorFact(dtype, shape), opset, version)
    return made


@cache
def sprouts_up_to(opset: int) -> tuple[str, ...]:
    """Names of those sprouts whose opset is at most a number, in the order of ``sprouts()``; all names if the number is
    below every opset.
    """
    names = tuple(name for name, program in sprouts().items() if program.opset <= opset)
    return names or tuple(sprouts())


def _sprout(fact: TensorFact, opset: int, version: int) -> Program:
    value = ir.Value(name="x", type=ir.TensorType(fact.dtype), shape=ir.Shape(fact.shape or ()))
    node = ir.Node("", "Identity", [value], name="copy")
    result = node.outputs[0]
    result.name, result.type, result.shape = "y", value.type, value.shape
    graph = ir.Graph([value], [result], nodes=[node], name="sprout", opset_imports={"": opset})
    return Program.from_bytes(Program.from_model(ir.Model(graph, ir_version=version)).to_bytes())
