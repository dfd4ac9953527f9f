"""onnx's own verdict on serialised models; runs in a process of its own, without irfuzz."""

from __future__ import annotations

import onnx
import onnx.checker
import onnx.parser
import onnx.shape_inference
import onnx.version_converter


def handle(request: dict, values: list) -> tuple[dict, list]:
    """Do ``request["task"]`` to the model in ``values[0]``.

    ``weigh``: only read it, to see whether it can be. ``translate``: read it in the text format
    ``request["format"]`` and return it serialised. ``check``: ``onnx.checker`` with shape inference. ``upgrade``:
    convert it to opset ``request["opset"]`` of the default domain.
    """
    data = bytes(values[0])
    task = request["task"]
    if task == "translate":
        try:
            model = onnx.load_model_from_string(data, format=request["format"])
        except onnx.parser.ParseError as error:  # its text is bytes
            words = (part.decode(errors="replace") if isinstance(part, bytes) else str(part) for part in error.args)
            raise ValueError(" ".join(" ".join(words).split())) from error
        return {}, [model.SerializeToString()]
    if task == "upgrade":
        try:
            return {}, [_upgraded(onnx.ModelProto.FromString(data), request["opset"]).SerializeToString()]
        except RuntimeError as error:
            # What it raises starts with a place in its source and the C++ expression that did not hold.
            return {"reason": str(error).rpartition("` failed: ")[2]}, []
    if task == "weigh":
        onnx.ModelProto.FromString(data)
        return {}, []
    try:
        onnx.checker.check_model(data, full_check=True)
    except (onnx.checker.ValidationError, onnx.shape_inference.InferenceError, RuntimeError, ValueError) as error:
        return {"reason": str(error)}, []
    return {}, []


def _upgraded(model: onnx.ModelProto, opset: int) -> onnx.ModelProto:
    """The model at a newer opset: at once, else aligned and opset by opset, which takes the adapters one at a time."""
    try:
        made = onnx.version_converter.convert_version(model, opset)
    except RuntimeError as first:
        made = _aligned(model)
        for step in range(_opset(model) + 1, opset + 1):
            try:
                made = onnx.version_converter.convert_version(made, step)
            except RuntimeError:
                raise first from None
    # The converter drops what is said beside the graph.
    made.ir_version = model.ir_version
    del made.metadata_props[:]
    made.metadata_props.extend(model.metadata_props)
    said = {info.name: info for info in model.graph.input}
    for info in made.graph.input:
        if info.name in said:
            del info.metadata_props[:]
            info.metadata_props.extend(said[info.name].metadata_props)
    return made


def _aligned(model: onnx.ModelProto) -> onnx.ModelProto:
    """A copy without the axes of broadcasting operands that opsets below 7 have: ones stand where nothing did.

    onnx 1.23.2 aligns such an operand to the right before it looks at its axis, and refuses it.
    """
    made = onnx.ModelProto()
    made.CopyFrom(model)
    graph = onnx.shape_inference.infer_shapes(model).graph
    shapes = {info.name: info.type.tensor_type for info in (*graph.input, *graph.value_info, *graph.output)}
    ranks = {name: len(tensor.shape.dim) for name, tensor in shapes.items() if tensor.HasField("shape")}
    ranks.update((tensor.name, len(tensor.dims)) for tensor in graph.initializer)
    nodes: list[onnx.NodeProto] = []
    for number, node in enumerate(made.graph.node):
        attributes = {attribute.name: attribute for attribute in node.attribute}
        if "broadcast" in attributes and "axis" in attributes and len(node.input) == 2:
            left, right = (ranks.get(name, -1) for name in node.input)
            missing = left - attributes["axis"].i - right
            if min(left, right, attributes["axis"].i) >= 0 and missing > 0:
                aligned = f"{node.input[1]}_aligned_{number}"
                axes = list(range(right, right + missing))
                nodes.append(onnx.helper.make_node("Unsqueeze", [node.input[1]], [aligned], axes=axes))
                node.input[1] = aligned
                node.attribute.remove(attributes["axis"])
        nodes.append(node)
    del made.graph.node[:]
    made.graph.node.extend(nodes)
    return made


def _opset(model: onnx.ModelProto) -> int:
    return max(entry.version for entry in model.opset_import if entry.domain in ("", "ai.onnx"))
