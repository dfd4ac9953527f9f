"""ONNX bytes and inputs enter, what a user's own class makes of them leaves.

Runs in the worker's interpreter: imports only the standard library, numpy and the user's module.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import sys
import time
import traceback
from functools import cache
from pathlib import Path
from typing import Any


def handle(request: dict[str, Any], arrays: list[Any]) -> tuple[dict[str, Any], list[Any]]:
    """Answer ``{"do": "describe"}`` or run one model (first array) on the inputs (the other arrays).

    ``request["class"]`` is ``package.module:Class`` or ``path/to/file.py:Class``; ``request["folder"]`` is searched
    first for the module. The class has ``run(model_bytes, inputs) -> outputs``, both dictionaries by name, and perhaps
    ``run_way(way, model_bytes, inputs) -> outputs``, which computes the same in another way.
    """
    if request["do"] == "describe":
        _at(0, "import")
        return {"version": str(getattr(_instance(request["class"], request["folder"]), "version", ""))}, []
    runs: list[dict[str, Any]] = []
    values: list[Any] = []
    for index, options in enumerate(request["variants"]):
        status, outputs = _run(index, options.get("way", ""), request, arrays)
        runs.append(status)
        values.extend(outputs)
    return {"runs": runs}, values


def _run(index: int, way: str, request: dict[str, Any], arrays: list[Any]) -> tuple[dict[str, Any], list[Any]]:
    started = time.perf_counter()
    stage = _at(index, "import")
    try:
        target = _instance(request["class"], request["folder"])
        stage = _at(index, "run")
        feeds = {about["name"]: value for about, value in zip(request["inputs"], arrays[1:])}  # noqa: B905 - Python 3.9
        outputs = _other(target)(way, bytes(arrays[0]), feeds) if way else target.run(bytes(arrays[0]), feeds)
        if not isinstance(outputs, dict) or not all(isinstance(name, str) for name in outputs):
            got = type(outputs).__name__
            status: dict[str, Any] = {
                "stage": stage,
                "exit": "protocol",
                "error": f"run() gave {got}, expected a dict by name",
            }
            values: list[Any] = []
        else:
            status = {"stage": stage, "exit": "ok", "outputs": [{"name": name} for name in outputs]}
            try:
                values = [_plain(value) for value in outputs.values()]
            except TypeError as error:
                status, values = {"stage": stage, "exit": "protocol", "error": str(error)}, []
    except MemoryError as error:
        status, values = {"stage": stage, "exit": "memory", "error": f"MemoryError: {error}"}, []
    except Exception as error:  # noqa: BLE001 - the user's error is the result
        lines = str(error).strip().splitlines() or [""]
        status = {
            "stage": stage,
            "exit": "unsupported" if isinstance(error, NotImplementedError) else "rejected",
            "error": f"{type(error).__name__}: {lines[0][:500]}",
            "log": traceback.format_exc()[-4000:],
        }
        values = []
    status["seconds"] = time.perf_counter() - started
    return status, values


def _other(target: Any) -> Any:
    if not hasattr(target, "run_way"):
        raise NotImplementedError("the class has no run_way")
    return target.run_way


@cache
def _instance(name: str, folder: str) -> Any:
    """One object of the user's class for the life of this process."""
    module_name, _, class_name = name.rpartition(":")
    if folder not in sys.path:
        sys.path.insert(0, folder)
    if module_name.endswith(".py"):
        path = Path(folder, module_name)
        spec = importlib.util.spec_from_file_location(path.stem, path)
        if spec is None or spec.loader is None:
            raise ImportError(f"{path} cannot be loaded as a Python module")
        module = importlib.util.module_from_spec(spec)
        sys.modules[path.stem] = module
        spec.loader.exec_module(module)
    else:
        module = importlib.import_module(module_name)
    return getattr(module, class_name)()


def _plain(value: Any) -> Any:
    """Framework tensors become arrays; what is no value at all is refused by the transport."""
    import numpy as np

    if isinstance(value, np.ndarray) and value.dtype == object:
        if not all(isinstance(item, (str, bytes)) for item in value.reshape(-1)):
            raise TypeError("run() gave an object array that holds more than strings")
        return value
    if value is None or isinstance(value, np.ndarray):
        return value
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if isinstance(value, dict):
        return value
    if hasattr(value, "__array__") or isinstance(value, (bool, int, float, np.generic)):
        return np.asarray(value)
    raise TypeError(f"run() gave a value of type {type(value).__name__}, expected numpy arrays, lists, maps or None")


def _at(variant: int, stage: str) -> str:
    """Leave word of how far it came: the last such line tells where the process died."""
    os.write(2, f"irfuzz-at {variant} {stage}\n".encode())
    return stage
