"""From a PyTorch module to an ONNX model at the seeds' opset, as PyTorch's own exporter writes it."""

from __future__ import annotations

import tempfile
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path

import onnx
import torch
from torch import nn

from .seed import IR_VERSION, OPSET


def export(
    model: nn.Module,
    examples: Mapping[str, torch.Tensor],
    *,
    output: str | Sequence[str],
    named: Mapping[str, Sequence[str | None]] | None = None,
) -> onnx.ModelProto:
    """Trace a module with PyTorch's TorchScript exporter.

    BatchNormalization is kept as a node (the exporter would fold it into Conv otherwise): that is what models look
    like before an optimiser has seen them.

    Args:
        model: in evaluation mode.
        examples: one example tensor an input, by the name the input shall have.
        output: name of the only output, or of each.
        named: for inputs and outputs, the names of their leading dimensions; ``None`` keeps a size.

    Returns:
        A checked model.
    """
    dynamic = {
        value: {axis: dim for axis, dim in enumerate(dims) if dim is not None} for value, dims in (named or {}).items()
    }
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        # The TorchScript exporter is deprecated, but the newer one writes opset 18 and converts down.
        warnings.simplefilter("ignore")
        path = Path(folder) / "model.onnx"
        torch.onnx.export(
            model,
            tuple(examples.values()),
            path,
            dynamo=False,
            opset_version=OPSET,
            input_names=list(examples),
            output_names=[output] if isinstance(output, str) else list(output),
            dynamic_axes=dynamic,
            training=torch.onnx.TrainingMode.PRESERVE,
            do_constant_folding=True,
        )
        proto = onnx.load(path)
    proto.ir_version = IR_VERSION
    _rename(proto.graph)
    onnx.checker.check_model(proto, full_check=True)
    return proto


def _rename(graph: onnx.GraphProto) -> None:
    """Give what the exporter only numbered (``onnx::LSTM_139``) a name that says where it belongs."""
    names: dict[str, str] = {}
    formals = {op: onnx.defs.get_schema(op, OPSET) for op in {node.op_type for node in graph.node}}
    constants = {init.name for init in graph.initializer}
    for node in graph.node:
        for index, value in enumerate(node.output):
            if value.startswith("onnx::"):
                names[value] = f"{node.name}_output_{index}"
        for index, value in enumerate(node.input):
            if value in constants and value.startswith("onnx::") and value not in names:
                formal = formals[node.op_type].inputs
                names[value] = f"{node.name}.{formal[min(index, len(formal) - 1)].name}"
    for node in graph.node:
        node.input[:] = [names.get(v, v) for v in node.input]
        node.output[:] = [names.get(v, v) for v in node.output]
    for named in (*graph.initializer, *graph.value_info):
        named.name = names.get(named.name, named.name)
