"""Reports whether a module can be imported, and all that is installed beside it.

Runs in the worker's interpreter: imports only the standard library and that module.
"""

from __future__ import annotations

import importlib
import re
import sys
from typing import Any

LACKING = re.compile(r"operator torchvision::(\w+) does not exist")
"""How a torchvision that was built for another torch ends when it is imported."""

MOST = 32


def handle(request: dict[str, Any], arrays: list[Any]) -> tuple[dict[str, Any], list[Any]]:
    """Import ``request["module"]`` and tell the versions of Python and of every distribution, and what was odd."""
    lacking = _import(request["module"])
    return {"python": sys.version.split()[0], "packages": _distributions(), "lacking": lacking}, []


def _distributions() -> dict[str, str]:
    """Names and versions of all that is installed."""
    if sys.version_info >= (3, 8):  # noqa: UP036 - the interpreter is whichever the user named
        metadata: Any = importlib.import_module("importlib.metadata")
        return {d.metadata["Name"]: d.version for d in metadata.distributions()}
    return {d.project_name: d.version for d in importlib.import_module("pkg_resources").working_set}


def _import(name: str) -> list[str]:
    """Import a module, and name the operators of torchvision that had to be declared, without a kernel, to get there.

    onnx2torch imports torchvision for two operators only, and no torchvision is published for torch's builds for CPUs.
    """
    declared: list[str] = []
    while True:
        try:
            importlib.import_module(name)
        except RuntimeError as error:
            missing = LACKING.search(str(error))
            if missing is None or missing[1] in declared or len(declared) == MOST:
                raise
            for module in [m for m in sys.modules if m.partition(".")[0] in ("torchvision", name.partition(".")[0])]:
                del sys.modules[module]
            importlib.import_module("torch").library.define(f"torchvision::{missing[1]}", "(Tensor x) -> Tensor")
            declared.append(missing[1])
        else:
            return declared
