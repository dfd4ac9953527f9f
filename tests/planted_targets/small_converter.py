"""A converter of thirteen operators, of some element types, ranks and attributes, as a young project has one.

Name it as ``tests/planted_targets/small_converter.py:SmallConverter``. What it lacks it refuses with
``NotImplementedError``, node by node, before anything is computed; the rest ONNX's reference evaluator computes.
Nodes that hold a constant count as initializers.
``TurnsCubes`` has a fault besides: it takes one permutation of three axes for its inverse.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import onnx
from onnx import TensorProto, helper, shape_inference
from onnx.reference import ReferenceEvaluator

FLOAT, HALF, INT64 = TensorProto.FLOAT, TensorProto.FLOAT16, TensorProto.INT64

TYPES: Mapping[str, tuple[int, ...]] = {
    "Add": (FLOAT, HALF, INT64),
    "BatchNormalization": (FLOAT,),
    "Concat": (FLOAT, INT64),
    "Conv": (FLOAT,),
    "Flatten": (FLOAT, INT64),
    "Gemm": (FLOAT,),
    "MatMul": (FLOAT,),
    "MaxPool": (FLOAT,),
    "Mul": (FLOAT, INT64),
    "Relu": (FLOAT, HALF),
    "Reshape": (FLOAT, INT64),
    "Softmax": (FLOAT,),
    "Transpose": (FLOAT, INT64),
}
"""Element types of the first input, by operator."""

RANKS: Mapping[str, tuple[int, ...]] = {
    "BatchNormalization": (2, 4),
    "Conv": (4,),
    "Gemm": (2,),
    "MatMul": (2, 3),
    "MaxPool": (4,),
}
"""Ranks of the first input; of others one to four."""

CONSTANTS: Mapping[str, tuple[int, ...]] = {
    "BatchNormalization": (1, 2, 3, 4),
    "Conv": (1, 2),
    "Reshape": (1,),
}
"""Inputs that must be initializers."""

Attributes = Mapping[str, Any]

REFUSED: Mapping[str, Callable[[Attributes, int], bool]] = {
    "Conv": lambda a, _: a.get("group", 1) != 1 or a.get("auto_pad", b"NOTSET") != b"NOTSET",
    "Gemm": lambda a, _: bool(a.get("transA", 0)),
    "MaxPool": lambda a, _: bool(a.get("ceil_mode", 0) or a.get("storage_order", 0)) or "auto_pad" in a,
    "BatchNormalization": lambda a, _: bool(a.get("training_mode", 0)),
    "Softmax": lambda a, rank: a.get("axis", -1) not in (-1, rank - 1),
    "Reshape": lambda a, _: bool(a.get("allowzero", 0)),
}
"""What attributes it does not take, by operator, with the rank of the first input."""

OPSETS = range(13, 22)


class SmallConverter:
    version = "0.1"

    def run(self, model: bytes, inputs: dict[str, Any]) -> dict[str, Any]:
        converted = self.converted(onnx.load_model_from_string(model))
        evaluator = ReferenceEvaluator(converted)
        return dict(zip(evaluator.output_names, evaluator.run(None, inputs), strict=True))

    def converted(self, model: onnx.ModelProto) -> onnx.ModelProto:
        """The model, of which every node is known to be taken."""
        opset = next((entry.version for entry in model.opset_import if not entry.domain), 0)
        if opset not in OPSETS:
            raise NotImplementedError(f"opset {opset}")
        if model.functions:
            raise NotImplementedError("local functions")
        graph = shape_inference.infer_shapes(model).graph
        known = {value.name: value.type for value in (*graph.input, *graph.value_info, *graph.output)}
        constants: dict[str, Any] = {tensor.name: tensor for tensor in graph.initializer}
        known |= {n: helper.make_tensor_type_proto(t.data_type, t.dims) for n, t in constants.items()}
        for node in graph.node:
            if node.op_type == "Constant":
                constants[node.output[0]] = node
            else:
                _take(node, known, constants)
        return model


def _take(node: onnx.NodeProto, known: Mapping[str, onnx.TypeProto], constants: Mapping[str, Any]) -> None:
    """Raise what keeps a node from being converted."""
    if node.domain or node.op_type not in TYPES:
        raise NotImplementedError(f"operator {node.op_type}")
    first = known.get(node.input[0])
    if first is None or not first.HasField("tensor_type"):
        raise NotImplementedError(f"{node.op_type} of what has no known type")
    if first.tensor_type.elem_type not in TYPES[node.op_type]:
        raise NotImplementedError(f"{node.op_type} of {TensorProto.DataType.Name(first.tensor_type.elem_type)}")
    rank = len(first.tensor_type.shape.dim)
    if rank not in RANKS.get(node.op_type, (1, 2, 3, 4)):
        raise NotImplementedError(f"{node.op_type} of rank {rank}")
    for place in CONSTANTS.get(node.op_type, ()):
        if place < len(node.input) and node.input[place] and node.input[place] not in constants:
            raise NotImplementedError(f"{node.op_type} whose input {place} is computed")
    attributes = {a.name: helper.get_attribute_value(a) for a in node.attribute}
    if node.op_type in REFUSED and REFUSED[node.op_type](attributes, rank):
        raise NotImplementedError(f"{node.op_type} with {attributes}")
    if len([name for name in node.output if name]) > 1:
        raise NotImplementedError(f"{node.op_type} with more than one result")


class TurnsCubes(SmallConverter):
    """Takes the permutation 2, 0, 1 for 1, 2, 0."""

    def converted(self, model: onnx.ModelProto) -> onnx.ModelProto:
        made = super().converted(model)
        for node in made.graph.node:
            for attribute in node.attribute if node.op_type == "Transpose" else ():
                if list(attribute.ints) == [2, 0, 1]:
                    attribute.ints[:] = [1, 2, 0]
        return made
