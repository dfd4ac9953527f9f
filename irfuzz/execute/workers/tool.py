"""A model or generated source enters, what a converter or a tool makes of it leaves: a model, or its values.

Runs in the worker's interpreter: imports only the standard library, numpy and the tool's own file, which the variable
``IRFUZZ_TOOL`` names (``tools/``). That file has ``version() -> str`` and one of

- ``convert(model: bytes, **options) -> bytes``: a model for a model,
- ``load(model: bytes, **options) -> callable``: of a model something that takes and gives dictionaries of arrays,
- ``export(source: str, arrays: dict, inputs: dict, **options) -> bytes``: a model for a generated module,
- ``compute(source: str, arrays: dict, inputs: dict, **options) -> dict``: what a generated module computes,

and optionally ``passes() -> list``, names of which ``convert`` leaves out those in its option ``off`` (with commas
between them), and which a run with the option ``tell`` gives as its log; ``GAP``, a pattern of messages that mean "not
supported", and ``FAULT``, one of messages that do not.
"""

from __future__ import annotations

import importlib.util
import os
import re
import sys
import tempfile
import time
import traceback
from pathlib import Path
from typing import Any

import numpy as np

GAP = re.compile(r"(?i:not (currently |yet )?(supported|implemented)|unsupported|no implementation)")
"""What a component says of what it does not claim to do."""


def _load(path: Path) -> Any:
    """The tool's file as a module, imported before the fork."""
    spec = importlib.util.spec_from_file_location(f"irfuzz_tool_{path.stem.replace('-', '_')}", path)
    if spec is None or spec.loader is None:
        raise ImportError(f"{path} cannot be loaded as a Python module")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


TOOL = _load(Path(os.environ["IRFUZZ_TOOL"]))


def warm() -> None:
    """Let the tool prepare itself, where it has to. Called once, before the first request."""
    if hasattr(TOOL, "warm"):
        TOOL.warm()


def handle(request: dict[str, Any], arrays: list[Any]) -> tuple[dict[str, Any], list[Any]]:
    """Answer ``{"do": "describe"}``, or convert for each variant.

    The values of a request are the model (or, where ``arrays`` names some, the generated module's arrays), then the
    inputs that ``inputs`` names; more may follow, which concern somebody else. A variant that converts to a model
    answers ``model`` (bytes), ``feeds`` (names of the inputs that this model has) and ``invalid`` (what onnx's checker
    has against it).
    """
    if request["do"] == "describe":
        return {"version": TOOL.version(), **(TOOL.limits() if hasattr(TOOL, "limits") else {})}, []
    runs: list[dict[str, Any]] = []
    values: list[Any] = []
    for index, variant in enumerate(request["variants"]):
        started = time.perf_counter()
        options = {key: value for key, value in variant.items() if key != "tool"}
        with tempfile.TemporaryDirectory(dir=Path.cwd()) as scratch:
            tempfile.tempdir = scratch
            try:
                status, outputs = _one(request, arrays, options, index)
            finally:
                tempfile.tempdir = None
        status["seconds"] = time.perf_counter() - started
        runs.append(status)
        values.extend(outputs)
    return {"runs": runs}, values


def _one(
    request: dict[str, Any], arrays: list[Any], options: dict[str, Any], index: int
) -> tuple[dict[str, Any], list[Any]]:
    stage = _at(index, "convert")
    names = [about["name"] for about in request["inputs"]]
    tell = options.pop("tell", "")
    if not options.get("off"):
        options.pop("off", None)
    try:
        if hasattr(TOOL, "load"):
            run = TOOL.load(bytes(arrays[0]), **options)
            stage = _at(index, "run")
            return _values(stage, run(dict(zip(names, arrays[1:]))))  # noqa: B905 - Python 3.9
        if "arrays" in request:
            count = len(request["arrays"])
            weights = dict(zip(request["arrays"], arrays))  # noqa: B905
            inputs = dict(zip(names, arrays[count:]))  # noqa: B905
            if hasattr(TOOL, "compute"):
                stage = _at(index, "run")
                return _values(stage, TOOL.compute(request["source"], weights, inputs, **options))
            made = TOOL.export(request["source"], weights, inputs, **options)
        else:
            made = TOOL.convert(bytes(arrays[0]), **options)
        return _model(made, "\n".join(TOOL.passes()) if tell == "registered" and hasattr(TOOL, "passes") else "")
    except MemoryError as error:
        return {"stage": stage, "exit": "memory", "error": f"MemoryError: {error}"}, []
    except Exception as raised:  # noqa: BLE001 - what the tool raises is the result
        error = _first_cause(raised)
        return {
            "stage": stage,
            "exit": _classify(error),
            "error": f"{type(error).__name__}: {_first_line(error)}",
            "log": _where(error),
        }, []


def _model(made: bytes, log: str) -> tuple[dict[str, Any], list[Any]]:
    """A model, which inputs it still has, and what onnx's checker says against it."""
    import onnx
    import onnx.checker

    invalid = ""
    try:
        onnx.checker.check_model(made)
    except onnx.checker.ValidationError as error:
        invalid = _first_line(error)
    graph = onnx.ModelProto.FromString(made).graph
    held = {t.name for t in graph.initializer} | {t.values.name for t in graph.sparse_initializer}
    feeds = np.array([v.name for v in graph.input if v.name not in held], dtype=object)
    outputs = [{"name": name} for name in ("model", "feeds", "invalid")]
    return {"stage": "convert", "exit": "ok", "outputs": outputs, "log": log}, [
        np.frombuffer(made, np.uint8), feeds, np.array(invalid, dtype=object),
    ]  # fmt: skip


def _values(stage: str, outputs: dict[str, Any]) -> tuple[dict[str, Any], list[Any]]:
    return {"stage": stage, "exit": "ok", "outputs": [{"name": name} for name in outputs]}, list(outputs.values())


def _first_cause(error: BaseException) -> BaseException:
    """What an error was raised from in the end: wrappers say the same of everything, but for what they call a gap."""
    while error.__cause__ is not None and not isinstance(error, NotImplementedError):
        error = error.__cause__
    return error


def _classify(error: BaseException) -> str:
    """Errors of Python's own kinds (``KeyError``, ``AssertionError``) mean that nobody thought of it."""
    if isinstance(error, NotImplementedError):
        return "unsupported"
    text = f"{type(error).__name__}: {error}"
    fault = getattr(TOOL, "FAULT", None)
    if fault is not None and fault.search(text):
        return "rejected"
    if isinstance(error, (KeyError, IndexError, AttributeError, AssertionError, ZeroDivisionError)):
        own = getattr(TOOL, "GAP", None)
        return "unsupported" if own is not None and own.search(text) else "rejected"
    gaps = [pattern for pattern in (GAP, getattr(TOOL, "GAP", None)) if pattern is not None]
    return "unsupported" if any(pattern.search(text) for pattern in gaps) else "rejected"


def _first_line(error: BaseException) -> str:
    lines = [line for line in str(error).strip().splitlines() if line.strip()]
    if lines:
        return lines[0][:500]
    frames = traceback.extract_tb(error.__traceback__)
    return f"in {frames[-1].name} of {Path(frames[-1].filename).stem}" if frames else ""


def _where(error: BaseException) -> str:
    """The stack without source lines, whose words would be taken for the component's own; then the whole message."""
    frames = traceback.extract_tb(error.__traceback__)
    lines = [f"{frame.filename}:{frame.lineno} {frame.name}" for frame in frames if frame.filename != __file__]
    return "\n".join([*lines, f"{type(error).__name__}: {error}"])[-6000:]


def _at(variant: int, stage: str) -> str:
    """Leave word of how far it came: the last such line tells where the process died."""
    os.write(2, f"irfuzz-at {variant} {stage}\n".encode())
    return stage
