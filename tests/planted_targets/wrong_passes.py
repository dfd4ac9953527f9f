"""Faulty fusions of nodes in a row that nothing else reads."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import onnx
from onnx import NodeProto, helper

Made = list[NodeProto]
Pass = Callable[[list[NodeProto]], Made]


def relu_lost(row: list[NodeProto]) -> Made:
    """Conv and Relu become the convolution alone."""
    return [_like(row[0], row[-1].output)]


def relu_before_add(row: list[NodeProto]) -> Made:
    """Relu moves before a residual's sum."""
    a, b = row[0].input
    inner = f"{row[0].output[0]}_relu"
    return [helper.make_node("Relu", [a], [inner]), helper.make_node("Add", [inner, b], row[-1].output)]


def normalisation_folded(row: list[NodeProto]) -> Made:
    """BatchNormalization is folded into a convolution with another epsilon."""
    norm = helper.make_node("BatchNormalization", row[1].input, row[1].output, epsilon=0.05)
    return [row[0], norm]


def bias_added_twice(row: list[NodeProto]) -> Made:
    """MatMul and Add become a product with a bias, which is added once more."""
    bias = next(i for i in row[1].input if i not in row[0].output)
    return [row[0], _like(row[1], [f"{row[1].output[0]}_"]),
            helper.make_node("Add", [f"{row[1].output[0]}_", bias], row[1].output)]  # fmt: skip


def gate_is_swish(row: list[NodeProto]) -> Made:
    """A product of a sigmoid with something else becomes x * sigmoid(x)."""
    return [row[0], helper.make_node("Mul", [row[0].input[0], row[0].output[0]], row[1].output)]


def gelu_by_tanh(row: list[NodeProto]) -> Made:
    """Erf and Add, taken for a part of GELU, become a tanh of the same slope at 0."""
    slope, scaled = f"{row[0].output[0]}_slope", f"{row[0].output[0]}_scaled"
    value = helper.make_tensor(slope, onnx.TensorProto.FLOAT, [], [1.1283792])
    return [
        helper.make_node("Constant", [], [slope], value=value),
        helper.make_node("Mul", [row[0].input[0], slope], [scaled]),
        helper.make_node("Tanh", [scaled], row[0].output),
        row[1],
    ]


def shuffle_is_nothing(row: list[NodeProto]) -> Made:
    """Reshape, Transpose and Reshape, taken for inverse of one another, become one Reshape."""
    return [helper.make_node("Reshape", [row[0].input[0], row[2].input[1]], row[2].output)]


def scaled_before_shift(row: list[NodeProto]) -> Made:
    """Sub and Div change places."""
    inner = f"{row[0].output[0]}_div"
    scale = next(i for i in row[1].input if i not in row[0].output)
    a, b = row[0].input
    return [helper.make_node("Div", [a, scale], [inner]), helper.make_node("Sub", [inner, b], row[1].output)]


def joined_before_convolution(row: list[NodeProto]) -> Made:
    """Concat moves into a convolution, with its inputs in another order."""
    joined = helper.make_node("Concat", list(row[0].input)[::-1], row[0].output, axis=1)
    return [joined, row[1]]


def pooled_before_tanh(row: list[NodeProto]) -> Made:
    """Tanh and AveragePool change places, as Relu and MaxPool may."""
    inner = f"{row[0].output[0]}_pooled"
    pooled = _like(row[1], [inner])
    pooled.input[0] = row[0].input[0]
    return [pooled, helper.make_node("Tanh", [inner], row[1].output)]


def flattened_channels_last(row: list[NodeProto]) -> Made:
    """Flatten and Gemm become a Gemm of channels that lie last, with the weights of the other layout."""
    inner = f"{row[0].output[0]}_last"
    swapped = helper.make_node("Transpose", [row[0].input[0]], [inner], perm=[0, 2, 3, 1])
    flat = _like(row[0], row[0].output)
    flat.input[0] = inner
    return [swapped, flat, row[1]]


def apply(model: onnx.ModelProto, operators: tuple[str, ...], made_of: Pass) -> list[list[str]]:
    """Replace each row of such nodes in place; the outputs of those that were replaced, by row."""
    graph = model.graph
    rows = list(_rows(graph, operators))
    replaced = {id(node): row for row in rows for node in row}
    nodes: list[NodeProto] = []
    for node in graph.node:
        row = replaced.get(id(node))
        if row is None:
            nodes.append(node)
        elif node is row[-1]:
            nodes += made_of(row)
    names = [[o for node in row for o in node.output] for row in rows]
    kept = [onnx.NodeProto.FromString(node.SerializeToString()) for node in nodes]
    del graph.node[:]
    graph.node.extend(kept)
    return names


def _rows(graph: onnx.GraphProto, operators: tuple[str, ...]) -> Iterator[list[NodeProto]]:
    """Nodes of these operators in a row, of which the first feeds the second and nothing else, and so on."""
    readers: dict[str, list[NodeProto]] = {}
    for node in graph.node:
        for name in node.input:
            readers.setdefault(name, []).append(node)
    outputs = {o.name for o in graph.output}
    used: set[int] = set()
    for node in graph.node:
        row = [node]
        while len(row) < len(operators) and row[-1].op_type == operators[len(row) - 1]:
            name = row[-1].output[0]
            after = readers.get(name, [])
            if len(after) != 1 or name in outputs:
                break
            row.append(after[0])
        matches = tuple(n.op_type for n in row) == operators
        if matches and not used.intersection(map(id, row)):
            used.update(map(id, row))
            yield row


def _like(node: NodeProto, outputs: object) -> NodeProto:
    made = NodeProto()
    made.CopyFrom(node)
    del made.output[:]
    made.output.extend(list(outputs))  # type: ignore[call-overload]
    return made
