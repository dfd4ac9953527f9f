"""Runs ONNX models on IREE's local CPU device.

Runs in the worker's interpreter: imports only the standard library, numpy, onnx and IREE (iree-base-compiler and
iree-base-runtime).
"""

from __future__ import annotations

import importlib.metadata
import os
import re
import tempfile
from typing import Any

import iree.runtime
import numpy as np
import onnx
import onnx.shape_inference
from iree.compiler.api import Output, Session, Source
from iree.compiler.extras import onnx_importer
from iree.compiler.ir import Context

from .runs import Answer, Course, Failure, attempt, in_order, stack

FLAGS = (
    "--iree-input-type=onnx",
    "--iree-hal-target-backends=llvm-cpu",
    "--iree-llvmcpu-target-cpu=host",
    "--iree-input-demote-f64-to-f32=false",  # which is the default
)
FUNCTION = "main_graph"
GAP = re.compile(
    r"failed to legalize|not (yet )?(supported|implemented)|unsupported|unimplemented|OnnxImportError", re.IGNORECASE
)
"""IREE has no lowering for it, or for that form of it."""

MEMORY = re.compile(r"bad_alloc|RESOURCE_EXHAUSTED|out of memory", re.IGNORECASE)


class Failed(Exception):
    """The compiler said no; what it said."""


def handle(request: dict[str, Any], arrays: list[Any]) -> Answer:
    """Answer ``{"do": "describe"}`` or run one model (first array) on the inputs (the other arrays).

    A run request has ``inputs`` (``{"name"}`` each), ``outputs`` (names) and ``variants``, of which there is one.
    """
    if request["do"] == "describe":
        limits = {"opset": onnx.defs.onnx_opset_version(), "ir": onnx.IR_VERSION}  # its own are those of each operator
        return {"version": importlib.metadata.version("iree-base-compiler"), **limits}, []
    course = Course()
    status, values = attempt(course, lambda: _run(request, arrays, course), _failed)
    return {"runs": [status]}, values


def _failed(error: Exception, _stage: str) -> Failure:
    text = f"{type(error).__name__}: {error}"
    lacking = isinstance(error, NotImplementedError) or GAP.search(text)
    how = "memory" if MEMORY.search(text) else "unsupported" if lacking else "rejected"
    return Failure(how, " ".join(text.split())[:500], stack())


def _run(request: dict[str, Any], arrays: list[Any], course: Course) -> Answer:
    given = dict(zip((about["name"] for about in request["inputs"]), arrays[1:]))  # noqa: B905 - Python 3.9
    for name, array in given.items():
        if not isinstance(array, np.ndarray) or array.dtype.kind in "OUSV":
            raise NotImplementedError(f"IREE's Python interface cannot be fed {name!r}")
    model = onnx.shape_inference.infer_shapes(onnx.load_model_from_string(bytes(arrays[0])), data_prop=True)
    model.graph.name = FUNCTION
    info = onnx_importer.ModelInfo(model)
    module = info.create_module(context=Context()).operation
    onnx_importer.NodeImporter.define_function(info.main_graph, module).import_all()
    course.at("compile")
    code = _compiled(str(module).encode())
    course.at("run")
    context = iree.runtime.SystemContext(config=iree.runtime.Config("local-sync"))
    context.add_vm_module(iree.runtime.VmModule.copy_buffer(context.instance, code))
    held = {tensor.name for tensor in model.graph.initializer}
    feeds = [given[value.name] for value in model.graph.input if value.name not in held]
    found = context.modules.module[FUNCTION](*feeds)
    values = [np.array(value) for value in (found if isinstance(found, (list, tuple)) else [found])]
    kinds = [onnx.helper.tensor_dtype_to_np_dtype(v.type.tensor_type.elem_type) for v in model.graph.output]
    return in_order(request["outputs"], [_signed(v, kind) for v, kind in zip(values, kinds)])  # noqa: B905


def _signed(value: np.ndarray, kind: np.dtype) -> np.ndarray:
    """Integers with the sign that the model declares: IREE's have none, and its Python interface calls them signed."""
    same = kind.kind == "u" and value.dtype.kind == "i" and value.dtype.itemsize == kind.itemsize
    return value.view(kind) if same else value


def _compiled(source: bytes) -> bytes:
    """What the compiler makes of a module; its complaints go to file descriptor 2, and from there into the error."""
    session = Session()
    session.set_flags(*FLAGS)
    call = session.invocation()
    call.enable_console_diagnostics()
    kept = os.dup(2)
    with tempfile.TemporaryFile() as told:
        os.dup2(told.fileno(), 2)
        try:
            done = call.parse_source(Source.wrap_buffer(session, source)) and call.execute()
        finally:
            os.dup2(kept, 2)
            os.close(kept)
        if not done:
            told.seek(0)
            lines = [line for line in told.read().decode(errors="replace").splitlines() if "error:" in line]
            raise Failed(lines[0].partition("error:")[2].strip() if lines else "the compiler gave no reason")
    made = Output.open_membuffer()
    call.output_vm_bytecode(made)
    return bytes(made.map_memory())
