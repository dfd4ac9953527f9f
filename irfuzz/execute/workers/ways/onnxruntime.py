"""Runs an ONNX model after ONNXRuntime saved and loaded it, or through bound memory.

Runs in the worker's interpreter, and beside a ``repro.py``: imports only the standard library, numpy and onnxruntime.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime

_FOREIGN = re.compile(r"bfloat16|float[468]e|\bu?int[24]\b")


def _saved(model: bytes, options: Any, name: str, providers: list[str], **entries: str) -> Any:
    """The session that loads what another one wrote when it had optimised the model as ``options`` say."""
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder, name))
        options.optimized_model_filepath = path
        for key, value in entries.items():
            options.add_session_config_entry(f"session.{key}", value)
        onnxruntime.InferenceSession(model, options, providers=providers)
        plain = onnxruntime.SessionOptions()
        plain.log_severity_level = 4
        plain.intra_op_num_threads = plain.inter_op_num_threads = 1
        plain.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
        return onnxruntime.InferenceSession(path, plain, providers=providers)


def _ort_format(model: bytes, options: Any, providers: list[str]) -> Any:
    """ONNXRuntime's own format."""
    return _saved(model, options, "model.ort", providers, save_model_format="ORT")


def _saved_onnx(model: bytes, options: Any, providers: list[str]) -> Any:
    """The optimised model as ONNX."""
    return _saved(model, options, "model.onnx", providers)


def _external_data(model: bytes, options: Any, providers: list[str]) -> Any:
    """The optimised model as ONNX, with its initializers in a file of their own."""
    entries = {
        "optimized_model_external_initializers_file_name": "weights.bin",
        # Sizes and axes stay: ONNXRuntime infers no shapes from what is outside (its own Slice is then refused).
        "optimized_model_external_initializers_min_size_in_bytes": "64",
    }
    return _saved(model, options, "model.onnx", providers, **entries)


def _names(session: Any) -> list[str]:
    """Names of its outputs.

    Raises:
        NotImplementedError: one has elements that numpy lacks, and would be given as bytes.
    """
    outputs = session.get_outputs()
    for output in outputs:
        if _FOREIGN.search(output.type):
            raise NotImplementedError(f"output {output.name!r} is a {output.type}, which numpy does not have")
    return [output.name for output in outputs]


def _feed(session: Any, feeds: dict[str, Any]) -> dict[str, Any]:
    return dict(zip(_names(session), session.run(None, feeds)))  # noqa: B905 - Python 3.9


def _bound(model: bytes, options: Any, providers: list[str], feeds: dict[str, Any]) -> dict[str, Any]:
    """Inputs and outputs bound to memory: the pipeline that avoids copies."""
    session = onnxruntime.InferenceSession(model, options, providers=providers)
    binding = session.io_binding()
    for name, value in feeds.items():
        binding.bind_cpu_input(name, np.ascontiguousarray(value).reshape(value.shape))
    names = _names(session)
    for name in names:
        binding.bind_output(name)
    session.run_with_iobinding(binding)
    return dict(zip(names, binding.copy_outputs_to_cpu()))  # noqa: B905 - Python 3.9


WAYS: dict[str, Callable[[bytes, Any, list[str]], Any]] = {
    "ort-format": _ort_format,
    "saved-onnx": _saved_onnx,
    "external-data": _external_data,
}


def run(way: str, model: bytes, feeds: dict[str, Any], options: Any, providers: list[str]) -> dict[str, Any]:
    """Outputs by name.

    Args:
        way: a key of ``WAYS``, or ``io-binding``.
        model: ONNX bytes.
        feeds: arrays by name.
        options: ``SessionOptions``, at the level in question.
        providers: names of execution providers.
    """
    if not all(isinstance(v, np.ndarray) and v.dtype != object for v in feeds.values()):
        raise NotImplementedError("an input is no tensor of numbers")
    if way == "io-binding":
        return _bound(model, options, providers, feeds)
    return _feed(WAYS[way](model, options, providers), feeds)
