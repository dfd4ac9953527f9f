"""Runs a model on onnxruntime's WebGPU provider, which needs a Vulkan driver and no GPU: software drivers do."""

from __future__ import annotations

import ctypes
import os
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import onnx
import onnxruntime

PROVIDER = "WebGpuExecutionProvider"

GAP = re.compile(
    r"fallback to CPU EP has been explicitly disabled|NOT_IMPLEMENTED|No Op registered for"
    r"|is not a registered function/op|ValidateOpsetForDomain|Unsupported model IR version"
    r"|(?i:only supports?\b|\bonly [\w/ ]{1,60} (is|are) supported|does not support\b)"
    r"|(?i:not (yet |currently )?(registered or )?(supported|implemented))"
)
"""It has no kernel for a node, which users see run on the processor instead, or the driver lacks half precision."""

UNASSIGNED = re.compile(r"Provider type for \w+ node with name '.*' is not set")
"""No provider takes a node, the one for processors neither: without a provider that copies it is NOT_IMPLEMENTED."""


OWN_DRIVER = Path(sys.prefix, "share", "vulkan")
"""Where ``irfuzz env add webgpu`` puts a driver that needs no GPU, and a loader."""


def use_own_driver(folder: Path) -> bool:
    """Have Vulkan load the driver of a folder, unless the user has named one; whether it is done.

    Args:
        folder: holds ``swiftshader.json`` and ``libvulkan.so.1``, or is not there.
    """
    described = folder / "swiftshader.json"
    if "VK_ICD_FILENAMES" in os.environ or "VK_DRIVER_FILES" in os.environ or not described.is_file():
        return False
    os.environ["VK_ICD_FILENAMES"] = str(described)
    ctypes.CDLL(str(folder / "libvulkan.so.1"), mode=ctypes.RTLD_GLOBAL)  # Dawn opens the loader by this name
    return True


use_own_driver(OWN_DRIVER)
# lavapipe compiles the shader of a convolution in 2 s for vectors of 512 bits, and in half of that for these.
os.environ.setdefault("LP_NATIVE_VECTOR_WIDTH", "128")

_held: list[Any] = []
"""A session of this process that is kept: with its last session the provider closes its device and forgets all shaders.
Without a GPU a device takes 25 ms to open, and the shader of a convolution up to 2 s to compile."""


def version() -> str:
    """Of the installed onnxruntime-webgpu."""
    return str(onnxruntime.__version__)


def warm() -> None:
    """Open the device before the first request: a software driver takes seconds, and a request has a time limit.

    It stays open for all requests of this process.

    Raises:
        RuntimeError: as ``limits``.
    """
    limits()


def limits() -> dict[str, Any]:
    """Try a session, so that a missing driver is one line when the worker starts.

    Raises:
        RuntimeError: the build has no such provider, or it finds no device.
    """
    if PROVIDER not in onnxruntime.get_available_providers():
        raise RuntimeError(f"onnxruntime {onnxruntime.__version__} is built without WebGPU; install onnxruntime-webgpu")
    try:
        _hold()
    except Exception as error:  # noqa: BLE001 - whatever the provider raises is the answer
        text = (str(error).splitlines() or [""])[0]
        raise RuntimeError(
            f"WebGPU finds no Vulkan driver (`irfuzz env add webgpu` brings one; docs/targets.md): {text}"
        ) from None
    return {}


def load(model: bytes, level: str = "ORT_ENABLE_ALL") -> Callable[[dict[str, Any]], dict[str, Any]]:
    """Make a session in which no node falls back to the processor.

    Args:
        model: ONNX bytes.
        level: name of a graph optimisation level.
    """
    _hold()
    try:
        session = _session(model, level)
    except Exception as error:
        if UNASSIGNED.search(str(error)) and not has_kernels(model, level):
            raise NotImplementedError(f"neither WebGPU nor the processor has a kernel: {error}") from None
        raise
    if session.get_providers()[0] != PROVIDER:
        raise NotImplementedError(f"{PROVIDER} did not start")
    names = [value.name for value in session.get_outputs()]
    read = {value.name for value in session.get_inputs()}

    def run(inputs: dict[str, Any]) -> dict[str, Any]:
        given = {name: value for name, value in inputs.items() if name in read}
        try:
            return dict(zip(names, session.run(None, given)))  # noqa: B905 - Python 3.9
        except Exception as error:
            if not GAP.search(str(error)):
                _held.clear()  # a device that was lost, or work that was begun there, is no later program's
            raise

    return run


def has_kernels(model: bytes, level: str = "ORT_ENABLE_ALL") -> bool:
    """Whether onnxruntime's own kernels for processors are there for all nodes.

    Args:
        model: ONNX bytes.
        level: name of a graph optimisation level, for the optimiser removes nodes.
    """
    try:
        _session(model, level, "CPUExecutionProvider")
    except Exception as error:  # noqa: BLE001 - ONNXRuntime's errors have no class of their own
        return "NOT_IMPLEMENTED" not in str(error)
    return True


def _hold() -> None:
    """Have the device open, for as long as no program fails on it."""
    if not _held:
        value = onnx.helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, [2])
        other = onnx.helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, [2])
        graph = onnx.helper.make_graph([onnx.helper.make_node("Neg", ["x"], ["y"])], "probe", [value], [other])
        model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)], ir_version=8)
        _held.append(_session(model.SerializeToString()))


def _session(model: bytes, level: str = "ORT_ENABLE_ALL", provider: str = PROVIDER) -> Any:
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.graph_optimization_level = getattr(onnxruntime.GraphOptimizationLevel, level)
    if provider == PROVIDER:
        options.add_session_config_entry("session.disable_cpu_ep_fallback", "1")
    return onnxruntime.InferenceSession(model, options, providers=[provider])
