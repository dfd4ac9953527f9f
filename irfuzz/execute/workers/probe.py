"""The name of a module enters; whether it can be imported, and everything that is installed beside it, leaves.

Runs in the worker's interpreter: imports only the standard library and that module.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import sys
from typing import Any


def handle(request: dict[str, Any], arrays: list[Any]) -> tuple[dict[str, Any], list[Any]]:
    """Import ``request["module"]`` and tell the versions of Python and of every distribution."""
    importlib.import_module(request["module"])
    found = {d.metadata["Name"]: d.version for d in importlib.metadata.distributions()}
    return {"python": sys.version.split()[0], "packages": found}, []
