"""Splits a convolution into a depthwise and a pointwise one, and joins the two of a separable one."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import onnx_ir as ir

from irfuzz.choices import Choices
from irfuzz.mutate.editing.mutation_sites import tensor_fact
from irfuzz.mutate.editing.node_inserter import Inserter
from irfuzz.rewrite.rewrite_rule import Exactness, Rewrite
from irfuzz.rewrite.rule_builders import rewrite_nodes
from irfuzz.rewrite.rules.convolution import kernel_of, pads_of

if TYPE_CHECKING:
    from irfuzz.ir.program import Program

_MOST_CHANNELS = 96
"""A depthwise layer has as many channels as the convolution has filters times inputs."""


def _weights(program: Program, node: ir.Node) -> tuple[int, ...]:
    value = node.inputs[1]
    return (() if value is None else tensor_fact(program, value).static_shape) or ()


def _float(program: Program, node: ir.Node) -> bool:
    """Half precision would round what the convolution sums in single precision."""
    value = node.inputs[0]
    return value is not None and tensor_fact(program, value).dtype in (ir.DataType.FLOAT, ir.DataType.DOUBLE)


def _dense(program: Program, node: ir.Node) -> bool:
    if not _float(program, node):
        return False
    filters, channels, *sizes = _weights(program, node)
    one_group = program.attrs(node).get("group", 1) == 1
    return one_group and channels > 1 and filters * channels <= _MOST_CHANNELS and math.prod(sizes) > 1


def _apart(inserter: Inserter, node: ir.Node, choices: Choices) -> ir.Value:
    """Filter m of channel c becomes depthwise channel c * M + m; the pointwise layer sums over c."""
    program, (filters, channels, *sizes) = inserter.program, _weights(inserter.program, node)
    x, w = node.inputs[:2]
    assert w is not None
    count = len(sizes)
    turned = inserter.value("Transpose", w, perm=[1, 0, *range(2, count + 2)])
    depthwise = inserter.reshape(turned, [channels * filters, 1, *sizes])
    attrs = {**program.attrs(node), "group": channels}
    deep = inserter.node("Conv", [x, depthwise], attrs).outputs[0]
    dtype = inserter.fact(w).dtype.numpy()
    chosen = np.tile(np.eye(filters, dtype=dtype), (1, channels)).reshape(filters, channels * filters, *[1] * count)
    return inserter.node("Conv", [deep, inserter.constant(chosen, "pointwise"), *node.inputs[2:]], {}).outputs[0]


def _deep(program: Program, node: ir.Node) -> ir.Node | None:
    """The depthwise layer whose result a pointwise one reads."""
    value = node.inputs[0]
    inner = None if value is None else value.producer()
    if inner is None or inner.graph is not program.graph or inner.op_type != "Conv" or inner.domain:
        return None
    fact = program.tensor(inner.inputs[0])
    if fact is None or not fact.is_static or (len(inner.inputs) > 2 and inner.inputs[2] is not None):
        return None
    groups = program.attrs(inner).get("group", 1)
    depthwise = groups > 1 and _weights(program, inner)[1:2] == (1,) and (fact.static_shape or (0, 0))[1] == groups
    return inner if depthwise and program.const_array(inner.inputs[1]) is not None else None


def _separable(program: Program, node: ir.Node) -> bool:
    attrs = program.attrs(node)
    return (
        _float(program, node)
        and set(kernel_of(program, node)) == {1}
        and set(attrs.get("strides", [1])) == {1}
        and attrs.get("group", 1) == 1
        and not any(pads_of(program, node))
        and program.const_array(node.inputs[1]) is not None
        and _deep(program, node) is not None
    )


def _joined(inserter: Inserter, node: ir.Node, choices: Choices) -> ir.Value:
    program = inserter.program
    inner = _deep(program, node)
    assert inner is not None
    deep, point = program.const_array(inner.inputs[1]), program.const_array(node.inputs[1])
    assert deep is not None
    assert point is not None
    groups = program.attrs(inner)["group"]
    sizes = deep.shape[2:]
    split = deep.astype(np.float64).reshape(groups, -1, math.prod(sizes))
    sums = point.astype(np.float64).reshape(point.shape[0], groups, -1)
    whole = np.einsum("mcj,cjk->mck", sums, split).reshape(point.shape[0], groups, *sizes).astype(deep.dtype)
    attrs = {**program.attrs(inner), "group": 1}
    return inserter.node("Conv", [inner.inputs[0], inserter.constant(whole, "whole"), *node.inputs[2:]], attrs).outputs[
        0
    ]


REWRITES: tuple[Rewrite, ...] = (
    rewrite_nodes(
        "conv-as-separable", Exactness.BOUNDED, "Conv -> pointwise Conv(depthwise Conv(x))", ("Conv",), _apart, _dense,
        eagle=5,
    ),
    rewrite_nodes(
        "separable-as-conv", Exactness.BOUNDED, "pointwise Conv(depthwise Conv(x)) -> Conv of both kernels", ("Conv",),
        _joined, _separable, eagle=5,
    ),
)  # fmt: skip
