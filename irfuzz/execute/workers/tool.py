"""Runs a converter or tool on a model or generated source: it makes a model, or computes values.

Runs in the worker's interpreter: imports only the standard library, numpy and the tool's own file in ``tools/``, which
the variable ``IRFUZZ_TOOL`` names. That file has ``version() -> str`` and one of

- ``convert(model: bytes, **options) -> bytes``: a model for a model,
- ``load(model: bytes, **options) -> callable``: of a model something that takes and gives dictionaries of arrays,
- ``export(source: str, arrays: dict, inputs: dict, **options) -> bytes``: a model for a generated module,
- ``build(source: str, arrays: dict, inputs: dict, **options) -> callable``: of a generated module something that takes
  and gives dictionaries of arrays,

and optionally ``passes() -> list``, names of which ``convert`` leaves out those in its option ``off`` (with commas
between them; ``first`` names those of a conversion before it), and which a run with the option ``tell`` gives as its
``passes``; ``GAP``, a pattern of messages that mean "not supported", and ``FAULT``, one of messages that do not.
"""

from __future__ import annotations

import importlib
import os
import re
import tempfile
import traceback
from pathlib import Path
from typing import Any

import numpy as np

from .runs import Answer, Course, Failure, attempt, each, named

_HERE = Path(__file__).parent

GAP = re.compile(r"(?i:not (currently |yet )?(supported|implemented)|unsupported|no implementation)")
"""What a component says of what it does not claim to do."""

TOOL: Any = importlib.import_module(f".tools.{os.environ['IRFUZZ_TOOL']}", __package__)
"""The tool's file, imported before the fork."""


def warm() -> None:
    """Let the tool prepare itself, if it has to. Called once, before the first request."""
    if hasattr(TOOL, "warm"):
        TOOL.warm()


def handle(request: dict[str, Any], arrays: list[Any]) -> Answer:
    """Answer ``{"do": "describe"}``, or convert for each variant.

    The values of a request are the model (or, if ``arrays`` names some, the generated module's arrays), then the
    inputs that ``inputs`` names; more may follow, which concern somebody else. A variant that converts to a model
    answers ``model`` (bytes), ``feeds`` (names of the inputs that this model has) and ``invalid`` (what onnx's checker
    has against it).
    """
    if request["do"] == "describe":
        return {"version": TOOL.version(), **(TOOL.limits() if hasattr(TOOL, "limits") else {})}, []
    return each(request["variants"], lambda place, options: _run(request, arrays, options, place))


def _run(request: dict[str, Any], arrays: list[Any], options: dict[str, Any], place: int) -> Answer:
    course = Course(place, "convert")
    with tempfile.TemporaryDirectory(dir=Path.cwd()) as scratch:
        tempfile.tempdir = scratch
        try:
            return attempt(course, lambda: _made(request, arrays, options, course), _failed)
        finally:
            tempfile.tempdir = None


def _made(request: dict[str, Any], arrays: list[Any], variant: dict[str, Any], course: Course) -> Answer:
    asked = ("tool", "tell", "rules", "first")
    options = {key: value for key, value in variant.items() if key not in asked and (key != "off" or value)}
    names = [about["name"] for about in request["inputs"]]
    if hasattr(TOOL, "load"):
        run = TOOL.load(bytes(arrays[0]), **options)
        course.at("run")
        return named(run(dict(zip(names, arrays[1:]))))  # noqa: B905 - Python 3.9
    if "arrays" not in request:
        passes = TOOL.passes() if variant.get("tell") == "registered" and hasattr(TOOL, "passes") else []
        model = bytes(arrays[0])
        if "first" in variant:
            model = TOOL.convert(model, **{**options, "off": variant["first"]})
        return _model(TOOL.convert(model, **options), passes)
    weights = dict(zip(request["arrays"], arrays))  # noqa: B905
    inputs = dict(zip(names, arrays[len(request["arrays"]) :]))  # noqa: B905
    if hasattr(TOOL, "build"):
        run = TOOL.build(request["source"], weights, inputs, **options)
        course.at("run")
        return named(run(inputs))
    return _model(TOOL.export(request["source"], weights, inputs, **options), [])


def _model(made: bytes, passes: list[str]) -> Answer:
    """A model, which inputs it still has, and what onnx's checker says against it; ``passes`` go along."""
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
    more, values = named(
        {"model": np.frombuffer(made, np.uint8), "feeds": feeds, "invalid": np.array(invalid, dtype=object)}
    )
    return {**more, "passes": passes}, values


def _failed(raised: Exception, _stage: str) -> Failure:
    error = _first_cause(raised)
    return Failure(_classify(error), f"{type(error).__name__}: {_first_line(error)}", _where(error))


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
    frames = [frame for frame in frames if Path(frame.filename).parent != _HERE]
    lines = [f"{frame.filename}:{frame.lineno} {frame.name}" for frame in frames]
    return "\n".join([*lines, f"{type(error).__name__}: {error}"])[-6000:]
