"""Spells a matrix product by another operator, in another layout or in parts."""

from __future__ import annotations

from typing import TYPE_CHECKING

import onnx_ir as ir

from irfuzz.choices import Choices
from irfuzz.mutate.editing.mutation_sites import tensor_fact
from irfuzz.mutate.editing.node_inserter import Inserter
from irfuzz.rewrite.node_operands import FLOATS, pair
from irfuzz.rewrite.rewrite_rule import Exactness, Rewrite
from irfuzz.rewrite.rule_builders import rewrite_nodes

if TYPE_CHECKING:
    from irfuzz.ir.program import Program


def _matrices(program: Program, node: ir.Node) -> bool:
    facts = [tensor_fact(program, v) for v in pair(node)]
    return all(f.rank == 2 and f.dtype in FLOATS for f in facts)


def _as_gemm(inserter: Inserter, node: ir.Node, choices: Choices) -> ir.Value:
    a, b = pair(node)
    flags = [choices.boolean(0.3), choices.boolean(0.3)]
    given = [inserter.value("Transpose", v, perm=[1, 0]) if flag else v for v, flag in zip((a, b), flags, strict=True)]
    if inserter.opset < 11:
        given.append(inserter.scalar(0.0, inserter.fact(a).dtype))
    return inserter.node("Gemm", given, {"transA": int(flags[0]), "transB": int(flags[1])}).outputs[0]


def _as_product(inserter: Inserter, node: ir.Node, choices: Choices) -> ir.Value:
    attrs = inserter.program.attrs(node)
    given = list(pair(node))
    for place, name in enumerate(("transA", "transB")):
        if attrs.get(name, 0):
            given[place] = inserter.value("Transpose", given[place], perm=[1, 0])
    kind = inserter.fact(given[0]).dtype
    product = inserter.value("MatMul", *given)
    if attrs.get("alpha", 1.0) != 1.0:
        product = inserter.value("Mul", product, inserter.scalar(attrs["alpha"], kind))
    offset = node.inputs[2] if len(node.inputs) > 2 else None
    if offset is None or attrs.get("beta", 1.0) == 0.0:
        return product
    if attrs.get("beta", 1.0) != 1.0:
        offset = inserter.value("Mul", offset, inserter.scalar(attrs["beta"], kind))
    return inserter.value("Add", product, offset)


def _swapped(inserter: Inserter, node: ir.Node, choices: Choices) -> ir.Value:
    a, b = pair(node)
    turned = [inserter.value("Transpose", v, perm=[1, 0]) for v in (b, a)]
    return inserter.value("Transpose", inserter.value("MatMul", *turned), perm=[1, 0])


def _splittable(program: Program, node: ir.Node) -> bool:
    return _matrices(program, node) and ((tensor_fact(program, pair(node)[0]).static_shape or (0, 0))[1] >= 2)


def _halves(inserter: Inserter, node: ir.Node, choices: Choices) -> ir.Value:
    a, b = pair(node)
    inner = (inserter.fact(a).static_shape or (0, 2))[1]
    cut = choices.integer(1, inner - 1)
    parts = [
        inserter.value("MatMul", inserter.slice(a, [1], [start], [end]), inserter.slice(b, [0], [start], [end]))
        for start, end in ((0, cut), (cut, inner))
    ]
    return inserter.value("Add", *parts)


B = Exactness.BOUNDED
REWRITES: tuple[Rewrite, ...] = (
    rewrite_nodes("matmul-as-gemm", B, "a @ b -> Gemm(a, b)", ("MatMul",), _as_gemm, _matrices),
    rewrite_nodes("gemm-as-matmul", B, "Gemm -> alpha * (a @ b) + beta * c", ("Gemm",), _as_product, _matrices),
    rewrite_nodes("matmul-transposed", B, "a @ b -> (b' @ a')'", ("MatMul",), _swapped, _matrices),
    rewrite_nodes(
        "matmul-in-halves", B, "a @ b -> a[:, :k] @ b[:k] + a[:, k:] @ b[k:]", ("MatMul",), _halves, _splittable
    ),
)
