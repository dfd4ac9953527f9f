"""Models that the papers' frameworks refuse although they are right: each function gives the message, or nothing."""

from __future__ import annotations

import onnx


def twice_in_a_row(model: onnx.ModelProto) -> str:
    """Refuses two ThresholdedRelu in a row (COMET: TF2ONNX)."""
    made = {name for node in model.graph.node if node.op_type == "ThresholdedRelu" for name in node.output}
    found = any(node.op_type == "ThresholdedRelu" and made & {*node.input} for node in model.graph.node)
    return "KeyError: 'ThresholdedRelu:0'" if found else ""


def rank_of_the_input_alone(model: onnx.ModelProto) -> str:
    """Refuses to transpose a tensor of unknown rank, though the permutation tells it (LEMON, figure 4: MXNet)."""
    known = _sizes(model)
    for node in model.graph.node:
        if node.op_type == "Transpose" and node.input[0] not in known:
            return f"Check failed: shp.ndim() == param.axes.ndim() (-1 vs. {len(node.attribute[0].ints)})"
    return ""


def open_batch(model: onnx.ModelProto) -> str:
    """Refuses an LSTM of sequences whose number is not known before the run (LEMON: MXNet, issue 17258)."""
    known = _sizes(model)
    for node in model.graph.node:
        sizes = known.get(node.input[0], [0]) if node.op_type == "LSTM" else []
        if 0 in sizes:
            return f"InferShape pass cannot decide shapes for the following arguments: {node.input[0]}: {sizes}"
    return ""


def _sizes(model: onnx.ModelProto) -> dict[str, list[int]]:
    """Of tensors whose rank is known before the run, the sizes; 0 for one that is not."""
    graph = onnx.shape_inference.infer_shapes(model).graph
    values = [*graph.input, *graph.value_info, *graph.output]
    found = {v.name: [d.dim_value for d in v.type.tensor_type.shape.dim] for v in values if _has_shape(v)}
    return found | {tensor.name: [*tensor.dims] for tensor in graph.initializer}


def _has_shape(value: onnx.ValueInfoProto) -> bool:
    return value.type.tensor_type.HasField("shape")
