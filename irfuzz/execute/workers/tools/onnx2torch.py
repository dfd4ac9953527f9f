"""Converts a model by onnx2torch and runs the module that it makes."""

from __future__ import annotations

import importlib
import importlib.metadata
import os
import re
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import onnx
import torch

try:
    import ml_dtypes
except ImportError:  # an old environment; the transport then passes no such tensor as an array
    ml_dtypes = None

LACKING = re.compile(r"operator torchvision::(\w+) does not exist")
"""How a torchvision that was built for another torch ends when it is imported."""

GAP = re.compile(
    r"Converter is not registered|[Tt]orchvision|Couldn't load custom C\+\+ ops|(alpha|gamma) parameter must be "
)
"""Unknown operators and attributes; and what a torchvision cannot load, which is not onnx2torch's fault."""


def _imported() -> tuple[Any, list[str]]:
    """onnx2torch, and the operators of torchvision that had to be declared, without a kernel, to import it.

    It imports torchvision for two operators only, and no torchvision is published for torch's builds for CPUs. What
    needs such an operator still fails: nothing here pretends to compute it.
    """
    declared: list[str] = []
    while True:
        try:
            return importlib.import_module("onnx2torch"), declared
        except RuntimeError as error:
            missing = LACKING.search(str(error))
            if missing is None or missing[1] in declared:
                raise
            for module in [m for m in sys.modules if m.partition(".")[0] in ("torchvision", "onnx2torch")]:
                del sys.modules[module]
            torch.library.define(f"torchvision::{missing[1]}", "(Tensor x) -> Tensor")
            declared.append(missing[1])


# torchvision.ops.roi_align compiles its fallback, which stands in for a kernel that is missing, for a minute; what runs
# it as it is takes milliseconds, and a user of a build with kernels never sees the compiler.
os.environ.setdefault("TORCHDYNAMO_DISABLE", "1")
ONNX2TORCH, DECLARED = _imported()


def version() -> str:
    """Of the installed onnx2torch."""
    return importlib.metadata.version("onnx2torch")


def limits() -> dict[str, Any]:
    """What had to be declared for torchvision's sake is told, so that nobody wonders."""
    return {"declared": DECLARED}


def warm() -> None:
    """Make torch single-threaded, and say what is missing."""
    torch.set_num_threads(1)


def load(model: bytes) -> Callable[[dict[str, Any]], dict[str, Any]]:
    """Convert; the module it makes is in training mode, and so put into evaluation mode."""
    if DECLARED:
        sys.stderr.write(f"torchvision lacks its operators {', '.join(DECLARED)}: declared without a kernel\n")
    proto = onnx.load_model_from_string(model)
    # The only operator that onnx2torch converts to a function of torchvision.
    if any(node.op_type == "RoiAlign" for node in proto.graph.node) and _falls_back():
        raise NotImplementedError("torchvision has no operators of its own here, and its fallback is not onnx2torch's")
    module = ONNX2TORCH.convert(onnx.load_model_from_string(model)).eval()
    held = {tensor.name for tensor in proto.graph.initializer}
    order = [value.name for value in proto.graph.input if value.name not in held]
    makers = {name: node for node in proto.graph.node for name in node.output if name}
    # The module gives the results of the nodes that make graph outputs, each node once.
    nodes = list(dict.fromkeys(makers[value.name].output[0] for value in proto.graph.output))

    def run(inputs: dict[str, Any]) -> dict[str, Any]:
        with torch.inference_mode():
            given = module(*(_tensor(inputs[name]) for name in order))
        given = [given] if len(nodes) == 1 else list(given)
        outputs: dict[str, Any] = {}
        for value in proto.graph.output:
            node = makers[value.name]
            result = given[nodes.index(node.output[0])]
            if isinstance(result, (tuple, list)) and len([n for n in node.output if n]) > 1:
                result = result[list(node.output).index(value.name)]
            outputs[value.name] = _array(result)
        return outputs

    return run


def _falls_back() -> bool:
    """Whether torchvision's operators stand in for kernels that it was built without."""
    extension = sys.modules.get("torchvision.extension")
    return extension is not None and not extension._has_ops()  # noqa: SLF001 - nothing public says so


def _tensor(value: Any) -> Any:
    if isinstance(value, list):
        return [_tensor(item) for item in value]
    if value is None:
        return None
    if isinstance(value, np.ndarray) and value.dtype.name == "bfloat16":
        return torch.from_numpy(value.view(np.int16).copy()).view(torch.bfloat16)
    if not isinstance(value, np.ndarray) or value.dtype.isbuiltin != 1 or value.dtype == object:
        raise NotImplementedError(f"no tensor of PyTorch takes {getattr(value, 'dtype', value)}")
    return torch.from_numpy(np.array(value))


def _array(value: Any) -> Any:
    if isinstance(value, (tuple, list)):
        return [_array(item) for item in value]
    if isinstance(value, torch.Tensor):
        if value.dtype == torch.bfloat16:
            if ml_dtypes is None:
                raise NotImplementedError("bfloat16 needs ml_dtypes")
            return value.contiguous().view(torch.int16).numpy().view(ml_dtypes.bfloat16)
        return value.detach().numpy()
    return np.asarray(value)
