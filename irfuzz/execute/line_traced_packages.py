"""Which Python code is watched for lines while a component's worker runs."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from importlib.machinery import PathFinder
from pathlib import Path

from irfuzz.execute.adapters.adapter import Adapter
from irfuzz.execute.adapters.converter_tools import ToolAdapter
from irfuzz.execute.adapters.plugin import PluginAdapter

WATCHED = "IRFUZZ_LINES"
"""Environment variable of a worker: what it watches (``irfuzz.isolate.line_tracer``), separated as paths are."""

PACKAGES: Mapping[str, tuple[str, ...]] = {
    "reference": ("onnx.reference",),
    "torch-onnx": ("torch.onnx", "onnxscript"),
    "tensorflow": ("keras",),
    "keras": ("keras",),
    "keras-onnx": ("keras", "tf2onnx"),
    "onnxruntime-transformers": ("onnxruntime.transformers",),
    "onnxruntime-shapes": ("onnxruntime.tools",),
    "onnxruntime-float16": ("onnxruntime.transformers",),
    "onnxruntime-quantization": ("onnxruntime.quantization",),
    "onnxruntime-saved": (),
    "litert": ("tensorflow.lite",),
}
"""Python packages of components that are more, or less, than the one package that brings them."""


def watched(adapter: Adapter) -> tuple[str, ...]:
    """Names of packages, and paths; nothing if the component is not written in Python.

    Args:
        adapter: of the component. ``PACKAGES`` says what it is for some; else it is a tool's package, and the file or
            folder that holds a user's class.

    Returns:
        What lines are counted in.
    """
    if isinstance(adapter, PluginAdapter):
        return _of_plugin(adapter)
    if adapter.component in PACKAGES:
        return PACKAGES[adapter.component]
    return (adapter.package,) if isinstance(adapter, ToolAdapter) else ()


def watching(adapter: Adapter) -> Mapping[str, str]:
    """What the worker's environment needs for that: one variable with the names, or nothing if none are watched.

    Args:
        adapter: as for ``watched``.
    """
    names = watched(adapter)
    return {WATCHED: os.pathsep.join(names)} if names else {}


def _of_plugin(adapter: PluginAdapter) -> tuple[str, ...]:
    """The file of a user's class, or the package of its module, wherever that is."""
    place = str(adapter.targets[0].options["class"]).rpartition(":")[0]
    if place.endswith(".py"):
        return (str(Path(place).resolve()),)
    spec = PathFinder.find_spec(place.partition(".")[0], [adapter.folder, *sys.path])
    folders = list(spec.submodule_search_locations or ()) if spec is not None else []
    where = folders[0] if folders else (spec.origin if spec is not None else None)
    return (str(Path(where).resolve()),) if where else ()
