"""Runs a model on onnxruntime's OpenVINO provider, on OpenVINO's plug-in for processors."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

import onnxruntime

PROVIDER = "OpenVINOExecutionProvider"

PROPERTIES = {
    "CPU": {"INFERENCE_PRECISION_HINT": "f32", "INFERENCE_NUM_THREADS": "1", "NUM_STREAMS": "1"},
}
"""By default some processors compute in bfloat16, which is no fault of a model."""

GAP = re.compile(
    r"fallback to CPU EP has been explicitly disabled|NOT_IMPLEMENTED|No Op registered for"
    r"|is not a registered function/op|ValidateOpsetForDomain|Unsupported model IR version"
    r"|(?i:No conversion rule found|only supports?\b|not (yet |currently )?(supported|implemented)|unsupported"
    r"|(doesn't|does not) support)"
)
"""It does not take a node, which users see run on the processor instead, or OpenVINO has nothing for it."""


def version() -> str:
    """Of the installed onnxruntime-openvino."""
    return str(onnxruntime.__version__)


def limits() -> dict[str, Any]:
    """See that the build has the provider.

    Raises:
        RuntimeError: it has not.
    """
    if PROVIDER not in onnxruntime.get_available_providers():
        raise RuntimeError(
            f"onnxruntime {onnxruntime.__version__} is built without OpenVINO; install onnxruntime-openvino"
        )
    return {}


def load(model: bytes, level: str = "ORT_ENABLE_ALL") -> Callable[[dict[str, Any]], dict[str, Any]]:
    """Make a session in which no node falls back to onnxruntime's own kernels.

    Args:
        model: ONNX bytes.
        level: name of a graph optimisation level of onnxruntime's, which come before OpenVINO's own.
    """
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.graph_optimization_level = getattr(onnxruntime.GraphOptimizationLevel, level)
    options.add_session_config_entry("session.disable_cpu_ep_fallback", "1")
    settings = {"device_type": "CPU", "load_config": json.dumps(PROPERTIES)}
    session = onnxruntime.InferenceSession(model, options, providers=[PROVIDER], provider_options=[settings])
    if session.get_providers()[0] != PROVIDER:
        raise NotImplementedError(f"{PROVIDER} did not start")
    names = [value.name for value in session.get_outputs()]
    read = {value.name for value in session.get_inputs()}

    def run(inputs: dict[str, Any]) -> dict[str, Any]:
        given = {name: value for name, value in inputs.items() if name in read}
        return dict(zip(names, session.run(None, given)))  # noqa: B905 - Python 3.9

    return run
