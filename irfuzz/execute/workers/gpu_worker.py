"""Runs the handler of a component in a process that imported it itself.

What a GPU's driver knows of a process is lost in a fork, and some components start the driver when they are imported.
So nothing is imported before the fork, and the device is opened before the first request's time begins.

Runs in the worker's interpreter: imports only the standard library.
"""

from __future__ import annotations

import importlib
import os
from typing import Any

from .runs import Answer

WORKER = "IRFUZZ_GPU_WORKER"
"""Environment variable: the name of the handler file, without its ending."""


def warm() -> None:
    """Import the component and open the device. Called once, before the first request."""
    own = _own()
    if hasattr(own, "warm"):
        own.warm()
    own.open_device()


def handle(request: dict[str, Any], arrays: list[Any]) -> Answer:
    """What the component's own handler answers; to ``describe`` also ``device``, why the GPU cannot be used."""
    answer, values = _own().handle(request, arrays)
    if request["do"] == "describe":
        answer = {**answer, "device": _own().open_device()}
    return answer, values


def _own() -> Any:
    return importlib.import_module(f".{os.environ[WORKER]}", __package__)
