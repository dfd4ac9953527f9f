"""The frameworks that programs are exported to, for tests that hold for each of them (fixture ``framework``)."""

from __future__ import annotations

import importlib
import os
from typing import Any

import onnx_ir as ir

from irfuzz.execute.tensorflow import TensorflowAdapter
from irfuzz.export.source.module import ModuleSource
from irfuzz.ir.program import Program

NAMES = ("torch", "tensorflow")

# As in the workers; TensorFlow reads these when it is imported.
for name, value in TensorflowAdapter().env.items():
    os.environ.setdefault(name, value)

chosen = ["torch"]
"""The one that tests use now."""


def exporter() -> Any:
    """The package that exports to it."""
    return importlib.import_module(f"irfuzz.export.{chosen[0]}")


def lower(program: Program) -> ModuleSource:
    """The program's source in it."""
    return exporter().lower(program)


def lower_model(model: ir.Model) -> ModuleSource:
    """The model's source in it."""
    return exporter().lower_model(model)
