"""onnx's reference evaluator with one planted fault; a class for each fault.

A fault is a run of nodes, each of which feeds the next, with a condition on the last one's attributes, and what becomes
of its output. ``FAULTS`` lists them; ``benchmarks/twisted.py:NAME`` is a target, as any class of a user's is.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import onnx
from onnx import helper
from onnx.reference import ReferenceEvaluator
from onnx.reference.op_run import OpRun

Attributes = dict[str, Any]


@dataclass(frozen=True)
class Fault:
    """One planted fault.

    Attributes:
        name: of the class.
        operators: of nodes of which each reads the one before it, all of them at fault together.
        twist: what becomes of the last one's first output: a key of ``TWISTS``.
        when: whether the attributes of the last node show it.
    """

    name: str
    operators: tuple[str, ...]
    twist: str
    when: Callable[[Attributes], bool] = lambda _attributes: True


def _refuse(y: np.ndarray) -> np.ndarray:
    raise ValueError("no plan for this node")


def _die(y: np.ndarray) -> np.ndarray:
    os.abort()


def _first(y: np.ndarray) -> np.ndarray:
    y = y.copy()
    y.reshape(-1)[:1] += np.asarray(3, y.dtype)
    return y


TWISTS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "all": lambda y: (y * 1.25 + 0.5).astype(y.dtype),
    "first": _first,
    "large": lambda y: np.where(y > 0.75 * y.max(initial=0), y - 7, y).astype(y.dtype) if y.size else y,
    "negative": lambda y: np.where(y < 0, y * 2 - 1, y).astype(y.dtype),
    "reversed": lambda y: y[..., ::-1] + np.arange(y.shape[-1], dtype=y.dtype) if y.ndim else y + 1,
    "nan": lambda y: np.where(np.arange(y.size).reshape(y.shape) == y.size - 1, np.nan, y).astype(y.dtype),
    "infinity": lambda y: np.where(np.arange(y.size).reshape(y.shape) == 0, np.inf, y).astype(y.dtype),
    "double": lambda y: y.astype(np.float64),
    "flat": lambda y: y.reshape(-1),
    "refuse": _refuse,
    "die": _die,
}

FAULTS = (
    Fault("Relus", ("Relu",), "large"),
    Fault("Sigmoids", ("Sigmoid",), "all"),
    Fault("Tanhs", ("Tanh",), "refuse"),
    Fault("Softmaxes", ("Softmax",), "reversed"),
    Fault("GroupedConvs", ("Conv",), "first", lambda a: a.get("group", 1) > 1),
    Fault("StridedConvs", ("Conv",), "all", lambda a: max(a.get("strides", [1])) > 1),
    Fault("PaddedConvs", ("Conv",), "refuse", lambda a: any(a.get("pads", [0]))),
    Fault("BatchNorms", ("BatchNormalization",), "all"),
    Fault("MaxPools", ("MaxPool",), "first"),
    Fault("PaddedAverages", ("AveragePool",), "all", lambda a: any(a.get("pads", [0]))),
    Fault("GlobalAverages", ("GlobalAveragePool",), "nan"),
    Fault("Gemms", ("Gemm",), "first", lambda a: a.get("transB", 0) == 1),
    Fault("MatMuls", ("MatMul",), "reversed"),
    Fault("Transposes", ("Transpose",), "double", lambda a: a.get("perm", [])[:1] == [0]),
    Fault("Reshapes", ("Reshape",), "flat"),
    Fault("Concats", ("Concat",), "reversed", lambda a: a.get("axis", 0) == 1),
    Fault("Means", ("ReduceMean",), "infinity", lambda a: a.get("keepdims", 1) == 1),
    Fault("Roots", ("Sqrt",), "all"),
    Fault("Divisions", ("Div",), "nan"),
    Fault("Powers", ("Pow",), "die"),
    Fault("Slices", ("Slice",), "first"),
    Fault("Gathers", ("Gather",), "all"),
    Fault("Unsqueezes", ("Unsqueeze",), "double"),
    Fault("Layers", ("LayerNormalization",), "large"),
    Fault("Errors", ("Erf",), "negative"),
    Fault("Clips", ("Clip",), "all"),
    Fault("ConvRelu", ("Conv", "Relu"), "all"),
    Fault("ConvBatchNorm", ("Conv", "BatchNormalization"), "first"),
    Fault("AddRelu", ("Add", "Relu"), "reversed"),
    Fault("MatMulAdd", ("MatMul", "Add"), "all"),
    Fault("MulAdd", ("Mul", "Add"), "large"),
    Fault("ConcatConv", ("Concat", "Conv"), "refuse"),
    Fault("ReshapeTranspose", ("Reshape", "Transpose"), "flat"),
    Fault("SigmoidMul", ("Sigmoid", "Mul"), "nan"),
    Fault("ConvNormRelu", ("Conv", "BatchNormalization", "Relu"), "all"),
    Fault("MulAddRelu", ("Mul", "Add", "Relu"), "first"),
)


class Twist(OpRun):
    """Does to a tensor what a fault does."""

    op_domain = "planted"

    def _run(self, y: Any, how: str = "") -> tuple[Any]:
        return (TWISTS[how](y),)


class Twisted:
    """Evaluates with the faults of a class."""

    faults: tuple[Fault, ...] = ()

    def run(self, model: bytes, inputs: dict[str, Any]) -> dict[str, Any]:
        proto = onnx.load_model_from_string(model)
        for fault in self.faults:
            plant(proto.graph, fault)
        proto.opset_import.append(helper.make_opsetid("planted", 1))
        evaluator = ReferenceEvaluator(proto, new_ops=[Twist])
        return dict(zip(evaluator.output_names, evaluator.run(None, inputs), strict=True))


def plant(graph: onnx.GraphProto, fault: Fault) -> None:
    """Let the fault do its work behind every node that shows it."""
    nodes = list(graph.node)
    makers = {name: node for node in nodes for name in node.output if name}
    del graph.node[:]
    for number, node in enumerate(nodes):
        graph.node.append(node)
        attributes = {a.name: helper.get_attribute_value(a) for a in node.attribute}
        if node.domain or not any(_chains(node, fault.operators, makers)) or not fault.when(attributes):
            continue
        name = node.output[0]
        made = graph.node[-1]
        made.output[0] = f"{name}/right{number}/{fault.name}"
        graph.node.append(helper.make_node("Twist", [made.output[0]], [name], domain="planted", how=fault.twist))


def _chains(node: onnx.NodeProto, operators: tuple[str, ...], makers: dict[str, onnx.NodeProto]) -> Iterator[bool]:
    if node.op_type != operators[-1]:
        return
    if len(operators) == 1:
        yield True
    for name in node.input:
        # The fault before may have been planted already; ``makers`` knows the nodes by their first names.
        if len(operators) > 1 and name in makers:
            yield from _chains(makers[name], operators[:-1], makers)


class Right(Twisted):
    """No fault."""


MORE = (Fault("Adds", ("Add",), "all"), Fault("Subtractions", ("Sub",), "all"))
"""Faults of frequent operators, which a reduction must not take for another one of the same target."""


def other_than(fault: Fault) -> Fault:
    """The second fault of the target whose first one is ``fault``."""
    return MORE["Add" in fault.operators]


for _fault in (*FAULTS, *MORE):
    for _name, _faults in ((_fault.name, (_fault,)), (f"{_fault.name}AndMore", (_fault, other_than(_fault)))):
        globals()[_name] = type(_name, (Twisted,), {"__module__": __name__, "faults": _faults})
