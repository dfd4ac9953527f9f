"""Writes a program as a SavedModel: TensorFlow traces the generated module in a process of its own."""

from __future__ import annotations

import importlib.util
from pathlib import Path, PurePosixPath
from typing import Any

import onnx_ir as ir

from irfuzz.errors import Unsupported, UsageError
from irfuzz.execute.adapters.adapter import WORKERS
from irfuzz.execute.adapters.generated_source import TENSORFLOW as ADAPTER
from irfuzz.export.source.python_identifiers import PythonIdentifiers
from irfuzz.export.tensorflow import lower
from irfuzz.export.tensorflow.source_conventions import TENSORFLOW
from irfuzz.frontends.onnx_file import save_file
from irfuzz.ir.program import Program
from irfuzz.isolate import Limits, Worker, WorkerSpec

COMPONENT = "SavedModel"


def save_savedmodel(program: Program, folder: Path, seconds: float = 300.0) -> dict[str, str]:
    """Write a SavedModel whose signature ``serving_default`` computes the program.

    Args:
        program: what to write.
        folder: into which it is written; it must exist.
        seconds: how long TensorFlow may take.

    Returns:
        The name that each input of the program has in the signature; outputs keep theirs.

    Raises:
        Unsupported: TensorFlow has no exact form of it, or none without an eager run.
        UsageError: TensorFlow is not there, or the folder cannot be written.
    """
    if importlib.util.find_spec("tensorflow") is None:
        raise UsageError("tensorflow is not installed; pip install 'irfuzz[tensorflow]'")
    source = lower(program)
    names = PythonIdentifiers(())
    places = {name: names.of(name) for name in source.inputs}
    message = {
        "source": source.source,
        "arrays": list(source.arrays),
        "inputs": [_described(program, name, place) for name, place in places.items()],
    }
    spec = WorkerSpec(COMPONENT, WORKERS / "savedmodel_export.py", preload=ADAPTER.preload, env=ADAPTER.env)
    with Worker(spec, Limits(seconds=seconds)) as worker:
        reply = worker.call(message, list(source.arrays.values()))
    if reply.exit == "error":
        kind, why = reply.error["type"], (reply.error["message"].strip().splitlines() or [""])[0]
        raise Unsupported(COMPONENT, "model", why if kind == "NotImplementedError" else f"{kind}: {why}")
    if reply.exit != "ok":
        raise Unsupported(COMPONENT, "model", f"TensorFlow did not save it: {reply.exit} {reply.detail}")
    for path, data in zip(reply.response["files"], reply.values, strict=True):
        if not isinstance(data, bytes) or PurePosixPath(path).is_absolute() or ".." in PurePosixPath(path).parts:
            raise UsageError(f"TensorFlow gave a file that is none of a SavedModel: {path!r}")
        try:
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise UsageError(f"{folder}: cannot be written: {error.strerror}") from None
        save_file(data, folder / path)
    return places


def _described(program: Program, name: str, place: str) -> dict[str, Any]:
    """An input as the signature declares it."""
    value = next(v for v in program.graph.inputs if v.name == name)
    if not isinstance(value.type, ir.TensorType):
        raise Unsupported(COMPONENT, f"input {name!r}", "it is no tensor")
    dtype = TENSORFLOW.dtypes[value.type.dtype].removeprefix("tf.")
    shape = None if value.shape is None else [d if isinstance(d, int) else None for d in value.shape.dims]
    return {"name": name, "place": place, "dtype": dtype, "shape": shape}
