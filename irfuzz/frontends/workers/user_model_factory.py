"""Calls a user's ``file.py:factory`` and converts what it returns to ONNX; runs in a process of its own."""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.util
import os
import random
import sys
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

EXPECTED = (
    "a keras.Model, (torch.nn.Module, example inputs), a torch.export.ExportedProgram, an onnx_graphsurgeon.Graph, "
    "an onnx.ModelProto or an onnx_ir.Model"
)


class FactoryError(Exception):
    """The user's file or function is wrong; the message says how."""


def handle(request: dict[str, Any], _values: list[Any]) -> tuple[dict[str, Any], list[Any]]:
    """Run the function ``request["factory"]`` of ``request["path"]`` in the folder ``request["folder"]``."""
    os.chdir(request["folder"])
    path, name = request["path"], request["factory"]
    made = call(function_of(path, name), name)
    return {}, [
        _to_onnx(made, name, architecture=bool(request.get("architecture")), layers=bool(request.get("layers")))
    ]


class SeedTorch(importlib.abc.MetaPathFinder):
    """Seeds PyTorch, which starts from the machine's entropy, whenever it is imported."""

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> Any:  # noqa: ARG002 - the protocol's
        """The module's own specification, with a seed after its execution."""
        if fullname != "torch":
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(fullname)
        if spec is not None and spec.loader is not None:
            execute = spec.loader.exec_module

            def and_seed(module: Any) -> None:
                execute(module)
                module.manual_seed(0)

            spec.loader.exec_module = and_seed
        return spec


def function_of(path: str, name: str) -> Any:
    """The function of that name in a file of the user's.

    Raises:
        FactoryError: there is none, or importing the file raises.
    """
    spec = importlib.util.spec_from_file_location(Path(path).stem, path)
    if spec is None or spec.loader is None:
        raise FactoryError("it cannot be loaded as a Python module")
    loaded = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = loaded
    sys.path.insert(0, str(Path(path).parent))
    # Weights that the file draws without a seed are the same each time; Keras draws its own seed from ``random``.
    random.seed(0)
    np.random.seed(0)
    sys.meta_path.insert(0, SeedTorch())
    try:
        spec.loader.exec_module(loaded)
    except MemoryError:
        raise
    except Exception as error:
        raise FactoryError(f"importing it raised {told(error)}") from error
    found: Any = loaded
    for part in name.split("."):
        if not hasattr(found, part):
            known = [n for n, v in vars(loaded).items() if callable(v) and getattr(v, "__module__", "") == spec.name]
            hint = f"; it defines {', '.join(known)}" if known else ""
            raise FactoryError(f"it has no '{name}'{hint}")
        found = getattr(found, part)
    if not callable(found):
        raise FactoryError(f"'{name}' is a {type(found).__name__}; expected a function that takes no arguments")
    return found


def call(function: Any, name: str) -> Any:
    """What it returns.

    Raises:
        FactoryError: it raises.
    """
    try:
        return function()
    except MemoryError:
        raise
    except Exception as error:
        raise FactoryError(f"{name}() raised {told(error)}") from error


def told(error: BaseException) -> str:
    """Type and first line of an error."""
    lines = str(error).strip().splitlines() or [""]
    return f"{type(error).__name__}: {lines[0]}".rstrip(": ")


def _to_onnx(made: Any, name: str, *, architecture: bool, layers: bool) -> bytes:
    """By the package that the object's class comes from; none is imported to find out."""
    if _is(made, "keras", "Model") or _is(made, "tensorflow", "keras.Model"):
        return _sibling("tensorflow").keras_model(made, architecture=architecture, layers=layers)
    if _is(made, "torch", "export.ExportedProgram"):
        return _sibling("torch").exported_program(made)
    if _is(made, "torch", "nn.Module"):
        raise FactoryError(f"{name}() returned a module without example inputs; return (module, inputs)")
    parts = _parts(made)
    if parts and _is(parts[0], "torch", "nn.Module"):
        if len(parts) != 2:
            raise FactoryError(f"{name}() returned a module and {len(parts) - 1} more; expected (module, inputs)")
        args, kwargs = _call_of(parts[1], name)
        return _sibling("torch").module(parts[0], args, kwargs)
    if _is(made, "onnx_graphsurgeon", "Graph"):
        return _graphsurgeon(made)
    if _is(made, "onnx", "ModelProto"):
        return made.SerializeToString()
    if _is(made, "onnx_ir", "Model"):
        return sys.modules["onnx_ir"].to_proto(made).SerializeToString()
    raise FactoryError(f"{name}() returned {type(made).__module__}.{type(made).__qualname__}; expected {EXPECTED}")


def _parts(value: Any) -> list[Any]:
    return list(value) if isinstance(value, tuple) else []


def _graphsurgeon(graph: Any) -> bytes:
    """With the IR version that belongs to its opset; onnx-graphsurgeon writes the newest there is."""
    import onnx.helper

    model = sys.modules["onnx_graphsurgeon"].export_onnx(graph)
    model.ir_version = onnx.helper.find_min_ir_version_for(model.opset_import, ignore_unknown=True)
    return model.SerializeToString()


def _is(value: Any, package: str, name: str) -> bool:
    found: Any = sys.modules.get(package)
    for part in name.split("."):
        found = getattr(found, part, None)
    return isinstance(found, type) and isinstance(value, found)


def _call_of(inputs: Any, name: str) -> tuple[tuple[Any, ...], Mapping[str, Any]]:
    """Positional and named arguments of one call of the module."""
    if _is(inputs, "torch", "Tensor"):
        return (inputs,), {}
    if isinstance(inputs, list | tuple):
        return tuple(inputs), {}
    if isinstance(inputs, Mapping) and all(isinstance(key, str) for key in inputs):
        return (), inputs
    raise FactoryError(
        f"{name}() returned a module and {type(inputs).__name__}; expected example inputs: a tensor, a tuple of "
        "positional ones or a dict of named ones"
    )


def _sibling(name: str) -> ModuleType:
    """Another file of this folder, which must not be importable as ``torch`` or ``tensorflow``."""
    return importlib.import_module(f".{name}", __package__)
