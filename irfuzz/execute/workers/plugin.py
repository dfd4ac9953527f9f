"""Runs ONNX models on a user's own class.

Runs in the worker's interpreter: imports only the standard library, numpy and the user's module.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
from functools import cache
from pathlib import Path
from typing import Any

from .runs import Answer, Course, Failure, attempt, each, first_line, named, stack

MOST_OUTPUTS = 10_000
"""No model has more, and the names of half a million are more than a message holds. Scripts say the same number."""


def handle(request: dict[str, Any], arrays: list[Any]) -> Answer:
    """Answer ``{"do": "describe"}`` or run one model (first array) on the inputs (the other arrays).

    ``request["class"]`` is ``package.module:Class`` or ``path/to/file.py:Class``; ``request["folder"]`` is searched
    first for the module. The class has ``run(model_bytes, inputs) -> outputs``, both dictionaries by name, and perhaps
    ``run_way(way, model_bytes, inputs) -> outputs``, which computes the same in another way.
    """
    if request["do"] == "describe":
        Course()
        return {"version": str(getattr(_instance(request["class"], request["folder"]), "version", ""))}, []
    return each(request["variants"], lambda place, options: _run(place, options.get("way", ""), request, arrays))


def _run(place: int, way: str, request: dict[str, Any], arrays: list[Any]) -> Answer:
    course = Course(place)

    def compute() -> Answer:
        target = _instance(request["class"], request["folder"])
        course.at("run")
        feeds = {about["name"]: value for about, value in zip(request["inputs"], arrays[1:])}  # noqa: B905 - Python 3.9
        outputs = _other(target)(way, bytes(arrays[0]), feeds) if way else target.run(bytes(arrays[0]), feeds)
        return _carried(outputs)

    return attempt(course, compute, _failed)


class _NoAnswer(Exception):
    """What the class gave is nothing that it may give."""


def _carried(outputs: Any) -> Answer:
    if not isinstance(outputs, dict) or not all(isinstance(name, str) for name in outputs):
        raise _NoAnswer(f"run() gave {type(outputs).__name__}, expected a dict by name")
    if len(outputs) > MOST_OUTPUTS:
        raise _NoAnswer(f"run() gave {len(outputs)} outputs, expected at most {MOST_OUTPUTS}")
    try:
        return named({name: _plain(value) for name, value in outputs.items()})
    except TypeError as error:
        raise _NoAnswer(str(error)) from error


def _failed(error: Exception, _stage: str) -> Failure:
    if isinstance(error, _NoAnswer):
        return Failure("protocol", str(error))
    return Failure("unsupported" if isinstance(error, NotImplementedError) else "rejected", first_line(error), stack())


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
        try:
            spec.loader.exec_module(module)
        except ImportError as error:
            if "relative import" not in str(error):
                raise
            raise ImportError(f"{error}; name the class by its package, package.module:{class_name}") from error
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
