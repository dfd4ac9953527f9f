"""The frameworks that programs are exported to, for tests that hold for each of them (fixture ``framework``)."""

from __future__ import annotations

import importlib
import importlib.util
import os
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import onnx_ir as ir

from irfuzz.execute.adapters.generated_source import TENSORFLOW
from irfuzz.export.source.module_source import ModuleSource
from irfuzz.ir.program import Program

NAMES = ("torch", "tensorflow", "numpy")

PACKAGES = {"numpy": "array"}
"""Below ``irfuzz.export``, where they are called otherwise."""

# As in the workers; TensorFlow reads these when it is imported.
for name, value in TENSORFLOW.env.items():
    os.environ.setdefault(name, value)

chosen = ["torch"]
"""The one that tests use now."""


def loaded_worker(package: Path, framework: str) -> ModuleType:
    """The worker's handler, called in this process; ``package`` is irfuzz's folder."""
    folder = package / "execute/workers"
    spec = importlib.util.spec_from_file_location(
        f"{framework}_worker", folder / f"{framework}.py", submodule_search_locations=[str(folder)]
    )
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    if framework == "torch":
        module.warm()
    return module


def exporter() -> Any:
    """The package that exports to it."""
    return importlib.import_module(f"irfuzz.export.{PACKAGES.get(chosen[0], chosen[0])}")


def lower(program: Program) -> ModuleSource:
    """The program's source in it."""
    return exporter().lower(program)


def lower_model(model: ir.Model) -> ModuleSource:
    """The model's source in it."""
    return exporter().lower_model(model)
