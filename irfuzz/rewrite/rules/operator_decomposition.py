"""Spells an operator by the formula of plainer operators."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx_ir as ir

from irfuzz.choices import Choices
from irfuzz.mutate.editing.mutation_sites import tensor_fact
from irfuzz.mutate.editing.node_inserter import Inserter
from irfuzz.rewrite.node_operands import FLOATS, operand, pair
from irfuzz.rewrite.rewrite_rule import Exactness, Rewrite
from irfuzz.rewrite.rule_builders import rewrite_nodes

if TYPE_CHECKING:
    from irfuzz.ir.program import Program


def _float(program: Program, node: ir.Node) -> bool:
    return tensor_fact(program, operand(node)).dtype in FLOATS


def _as_reshape(inserter: Inserter, node: ir.Node, choices: Choices) -> ir.Value:
    return inserter.reshape(operand(node), inserter.fact(node.outputs[0]).static_shape or ())


def reduced_axes(program: Program, node: ir.Node) -> list[int] | None:
    """The reduced axes, sorted and counted from the front; ``None`` if they are computed.

    All axes if none are given, or no axis if ``noop_with_empty_axes`` says so. They are read from the attribute or, in
    newer opsets, from a constant second input.
    """
    attrs, rank = program.attrs(node), tensor_fact(program, operand(node)).rank or 0
    given = attrs.get("axes")
    if given is None and len(node.inputs) > 1 and node.inputs[1] is not None:
        array = program.const_array(node.inputs[1])
        if array is None:
            return None
        given = array.tolist()
    if not given:
        return [] if attrs.get("noop_with_empty_axes", 0) else list(range(rank))
    return sorted(axis % rank for axis in given)


def _mean(program: Program, node: ir.Node) -> bool:
    return _float(program, node) and bool(reduced_axes(program, node))


def _sum_over_count(inserter: Inserter, node: ir.Node, choices: Choices) -> ir.Value:
    program, x = inserter.program, operand(node)
    axes = reduced_axes(program, node) or []
    shape = inserter.fact(x).static_shape or ()
    total = inserter.reduce("ReduceSum", x, axes, keepdims=bool(program.attrs(node).get("keepdims", 1)))
    return inserter.value("Div", total, inserter.scalar(math.prod(shape[a] for a in axes), inserter.fact(x).dtype))


def _pooled(op: str):
    def build(inserter: Inserter, node: ir.Node, choices: Choices) -> ir.Value:
        rank = inserter.fact(operand(node)).rank or 0
        return inserter.reduce(op, operand(node), range(2, rank))

    return build


def _inference(program: Program, node: ir.Node) -> bool:
    kinds = {tensor_fact(program, v).dtype for v in node.inputs if v is not None}
    rank = tensor_fact(program, operand(node)).rank or 0
    return _float(program, node) and len(kinds) == 1 and rank >= 2 and not program.attrs(node).get("training_mode", 0)


def _normalised(inserter: Inserter, node: ir.Node, choices: Choices) -> ir.Value:
    x = operand(node)
    fact = inserter.fact(x)
    wide = [-1, *[1] * ((fact.rank or 2) - 2)]
    scale, bias, mean, variance = (inserter.reshape(v, wide) for v in node.inputs[1:5] if v is not None)
    epsilon = inserter.scalar(_epsilon(inserter.program.attrs(node)), fact.dtype)
    root = inserter.value("Sqrt", inserter.value("Add", variance, epsilon))
    centred = inserter.value("Div", inserter.value("Sub", x, mean), root)
    return inserter.value("Add", inserter.value("Mul", centred, scale), bias)


def _measured(inserter: Inserter, x: ir.Value, axes: list[int], epsilon: float) -> ir.Value:
    """``(x - mean) / sqrt(var + epsilon)`` with both taken along the axes."""
    value, dtype = inserter.value, inserter.fact(x).dtype
    centred = value("Sub", x, inserter.reduce("ReduceMean", x, axes))
    variance = inserter.reduce("ReduceMean", value("Mul", centred, centred), axes)
    return value("Div", centred, value("Sqrt", value("Add", variance, inserter.scalar(epsilon, dtype))))


def _single(program: Program, node: ir.Node) -> bool:
    """Everything in single precision, in which LayerNormalization's ``stash_type`` has it compute."""
    kinds = {tensor_fact(program, v).dtype for v in node.inputs if v is not None}
    return kinds == {ir.DataType.FLOAT} and (tensor_fact(program, operand(node)).rank or 0) >= 1


def _layer_normalised(inserter: Inserter, node: ir.Node, choices: Choices) -> ir.Value:
    x, scale = pair(node)
    attrs, rank = inserter.program.attrs(node), inserter.fact(x).rank or 1
    axes = list(range(attrs.get("axis", -1) % rank, rank))
    made = inserter.value("Mul", _measured(inserter, x, axes, _epsilon(attrs)), scale)
    bias = node.inputs[2] if len(node.inputs) > 2 else None
    return made if bias is None else inserter.value("Add", made, bias)


def _instance_normalised(inserter: Inserter, node: ir.Node, choices: Choices) -> ir.Value:
    x = operand(node)
    rank = inserter.fact(x).rank or 3
    scale, bias = (inserter.reshape(operand(node, i), [-1, *[1] * (rank - 2)]) for i in (1, 2))
    made = _measured(inserter, x, list(range(2, rank)), _epsilon(inserter.program.attrs(node)))
    return inserter.value("Add", inserter.value("Mul", made, scale), bias)


def _instances(program: Program, node: ir.Node) -> bool:
    return _float(program, node) and (tensor_fact(program, operand(node)).rank or 0) >= 3


def _epsilon(attrs: Mapping[str, Any]) -> float:
    return float(np.float32(attrs.get("epsilon", 1e-5)))


_INTEGERS = (ir.DataType.INT32, ir.DataType.INT64, ir.DataType.UINT32, ir.DataType.UINT64)


def _divisible(program: Program, node: ir.Node) -> bool:
    """Neither 0 nor -1, whose quotients ONNX leaves open or processors refuse."""
    divisor = program.const_array(node.inputs[1])
    if divisor is None or tensor_fact(program, operand(node)).dtype not in _INTEGERS or program.opset < _WHERE_SINCE:
        return False
    return divisor.dtype.kind in "iu" and bool(np.all(divisor.astype(object) > 0))


def _remainder(inserter: Inserter, node: ir.Node, choices: Choices) -> ir.Value:
    """ONNX Operators.md, Div: integers are divided towards zero; Mod: of the divisor's sign, or with fmod as in C."""
    x, divisor = pair(node)
    rest = inserter.value("Sub", x, inserter.value("Mul", divisor, inserter.value("Div", x, divisor)))
    if inserter.program.attrs(node).get("fmod", 0):
        return rest
    negative = inserter.value("Less", rest, inserter.scalar(0, inserter.fact(x).dtype))
    return inserter.value("Where", negative, inserter.value("Add", rest, divisor), rest)


_WHERE_SINCE = 9
B, BOUNDED = Exactness.BITWISE, Exactness.BOUNDED
REWRITES: tuple[Rewrite, ...] = (
    rewrite_nodes(
        "as-reshape", B, "Flatten, Squeeze, Unsqueeze -> Reshape", ("Flatten", "Squeeze", "Unsqueeze"), _as_reshape,
        needs=("Reshape",),
    ),
    rewrite_nodes("mean-as-sum", BOUNDED, "ReduceMean(x) -> ReduceSum(x) / n", ("ReduceMean",), _sum_over_count, _mean),
    rewrite_nodes(
        "global-average-as-mean", BOUNDED, "GlobalAveragePool(x) -> ReduceMean(x)", ("GlobalAveragePool",),
        _pooled("ReduceMean"), _float,
    ),
    rewrite_nodes(
        "global-max-as-max", B, "GlobalMaxPool(x) -> ReduceMax(x)", ("GlobalMaxPool",), _pooled("ReduceMax"), _float
    ),
    rewrite_nodes(
        "batch-normalization-formula", BOUNDED, "BatchNormalization -> (x - mean) / sqrt(var + epsilon) * scale + bias",
        ("BatchNormalization",), _normalised, _inference, eagle=7,
    ),
    rewrite_nodes(
        "layer-normalization-formula", BOUNDED, "LayerNormalization -> (x - mean) / sqrt(var + epsilon) * scale + bias",
        ("LayerNormalization",), _layer_normalised, _single, eagle=7,
    ),
    rewrite_nodes(
        "instance-normalization-formula", BOUNDED, "InstanceNormalization -> the same along the spatial axes",
        ("InstanceNormalization",), _instance_normalised, _instances, eagle=7,
    ),
    rewrite_nodes(
        "mod-as-division", B, "integer Mod(x, c) -> x - c * (x / c), with its sign", ("Mod",), _remainder, _divisible,
        needs=("Div", "Mul", "Sub", "Less"), eagle=7,
    ),
)  # fmt: skip
