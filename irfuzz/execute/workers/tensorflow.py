"""A generated TensorFlow module and its arrays enter, the arrays that it computes leave.

Runs in the worker's interpreter: imports only the standard library, numpy and TensorFlow.
"""

from __future__ import annotations

import functools
import importlib.util
import os
import re
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from types import CodeType
from typing import Any

import tensorflow as tf

BFLOAT16 = 16
"""Its number among ONNX's element types."""
MAX_CODE = 4096

_CODE: dict[str, CodeType] = {}
"""Compiled top-level definitions by their text: modules share most of their support functions."""


def warm() -> None:
    """Make TensorFlow single-threaded. Called once, before the first request."""
    tf.config.threading.set_intra_op_parallelism_threads(1)
    tf.config.threading.set_inter_op_parallelism_threads(1)


def handle(request: dict[str, Any], arrays: list[Any]) -> tuple[dict[str, Any], list[Any]]:
    """Answer ``{"do": "describe"}`` or run a module.

    ``request`` holds ``source``, ``arrays`` (names of the first values), ``inputs`` (``{"name"}`` of the rest) and
    ``variants`` (``mode``, a key of ``MODES``, or ``way``, one of ``ways/tensorflow.py``). The
    values of the outputs follow one another in the order in which the module gives them.
    """
    if request["do"] == "describe":
        return {"version": tf.__version__}, []
    count = len(request["arrays"])
    weights = dict(zip(request["arrays"], arrays[:count]))  # noqa: B905 - Python 3.9
    inputs = dict(zip((about["name"] for about in request["inputs"]), arrays[count:]))  # noqa: B905
    runs: list[dict[str, Any]] = []
    values: list[Any] = []
    for variant, options in enumerate(request["variants"]):
        mode, way = options.get("mode", "eager"), options.get("way", "")
        status, outputs = _run(variant, mode, way, request["source"], weights, inputs)
        runs.append(status)
        values.extend(outputs)
    return {"runs": runs}, values


class _Course:
    """How far a run has come: where it stands when it dies, or raises."""

    def __init__(self, variant: int) -> None:
        self._variant = variant
        self.stage = "import"

    def at(self, stage: str) -> None:
        self.stage = stage
        os.write(2, f"irfuzz-at {self._variant} {stage}\n".encode())


def _run(
    variant: int, mode: str, way: str, source: str, weights: dict[str, Any], inputs: dict[str, Any]
) -> tuple[dict[str, Any], list[Any]]:
    started = time.perf_counter()
    course = _Course(variant)
    values: list[Any] = []
    try:
        course.at("compile" if mode == "eager" else "import")
        module = load(source)
        if way:
            course.at("run")
            outputs = _ways().run(way, module, *module["tensors"](_bits(weights), _bits(inputs)))
        else:
            outputs = MODES[mode](module, _bits(weights), _bits(inputs), course)
        about = [_about(name, value) for name, value in outputs.items()]
        values = [_plain(value, module["to_array"]) for value in outputs.values()]
        status: dict[str, Any] = {"stage": course.stage, "exit": "ok", "outputs": about}
    except (MemoryError, tf.errors.ResourceExhaustedError) as error:
        status = {"stage": course.stage, "exit": "memory", "error": f"{type(error).__name__}: {error}"}
    except Exception as error:  # noqa: BLE001 - what TensorFlow raises is the result
        lines = str(error).strip().splitlines() or [""]
        status = {
            "stage": course.stage,
            "exit": "unsupported" if _declined(error, course.stage) else "rejected",
            "error": f"{type(error).__name__}: {lines[0][:500]}",
            "log": traceback.format_exc()[-4000:],
        }
        values = []
    status["seconds"] = time.perf_counter() - started
    return status, values


@functools.cache
def _ways() -> Any:
    """Other ways to run the same, in a file that findings take along."""
    path = Path(__file__).parent / "ways" / "tensorflow.py"
    spec = importlib.util.spec_from_file_location("irfuzz_ways", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _eager(module: dict[str, Any], weights: dict[str, Any], inputs: dict[str, Any], course: _Course) -> dict[str, Any]:
    course.at("run")
    return module["forward"](*module["tensors"](weights, inputs))


def _function(
    module: dict[str, Any], weights: dict[str, Any], inputs: dict[str, Any], course: _Course, *, xla: bool = False
) -> dict[str, Any]:
    """``tf.function`` of the module, with its weights as constants; ``xla`` has XLA compile it."""
    course.at("convert")
    made, given = module["tensors"](weights, inputs)
    nothing = [name for name, value in given.items() if value is None]
    given = {name: value for name, value in given.items() if value is not None}
    traced = tf.function(
        lambda values: module["forward"](made, {**values, **dict.fromkeys(nothing)}),
        autograph=False,
        jit_compile=xla or None,
    )
    traced.get_concrete_function(given)
    course.at("compile" if xla else "run")  # the first call compiles
    outputs = traced(given)
    course.at("run")
    return outputs


MODES: dict[str, Callable[[dict[str, Any], dict[str, Any], dict[str, Any], _Course], dict[str, Any]]] = {
    "eager": _eager,
    "function": _function,
    "xla": functools.partial(_function, xla=True),
}
"""The ways to run a module."""

UNTRACED = (tf.errors.OperatorNotAllowedInGraphError, TypeError, AttributeError, ValueError)
"""What Python raises where it reads elements of a tensor that has none yet, since it is only being traced."""
SAYS_UNTRACED = re.compile(
    r"symbolic|numpy\(\)|'numpy'|__array__|as a Python `?bool|Iterating over|in Graph execution|out of scope"
    r"|tf\.function|unknown (rank|shape)|None values not supported|NoneType|Cannot convert a partially known"
)
XLA_GAP = re.compile(
    r"(?i:unsupported|not supported|compile-time constant|not compilable|unimplemented|no registered .*XLA_CPU_JIT"
    r"|uncompilable|could not find compiler|dynamic shape)"
)


def _declined(error: Exception, stage: str) -> bool:
    """Whether TensorFlow says that it lacks something: a kernel, or a way to trace or compile this."""
    if isinstance(error, (NotImplementedError, tf.errors.UnimplementedError)):
        return True
    text = str(error)
    if stage == "convert":
        return isinstance(error, UNTRACED) and SAYS_UNTRACED.search(text) is not None
    return stage == "compile" and isinstance(error, tf.errors.OpError) and XLA_GAP.search(text) is not None


def load(source: str) -> dict[str, Any]:
    """The names that a generated module defines; its definitions are two blank lines apart and compiled one by one."""
    names: dict[str, Any] = {"__name__": "generated", "__source__": source}
    for text in source.split("\n\n\n"):
        code = _CODE.get(text)
        if code is None:
            if len(_CODE) >= MAX_CODE:
                _CODE.clear()
            code = _CODE[text] = compile(text, "<generated>", "exec")
        exec(code, names)  # noqa: S102 - running generated source is what this worker is for
    return names


def _bits(values: dict[str, Any]) -> dict[str, Any]:
    """Values as the module takes them: bit patterns where the transport tagged them."""
    return {name: getattr(value, "raw", value) for name, value in values.items()}


def _about(name: str, value: Any) -> dict[str, Any]:
    """An output's name; bfloat16, which numpy lacks, travels as raw bytes with its type and shape."""
    if tf.is_tensor(value) and value.dtype == tf.bfloat16:
        return {"name": name, "raw": BFLOAT16, "shape": list(value.shape)}
    return {"name": name}


def _plain(value: Any, to_array: Callable[[Any], Any]) -> Any:
    if tf.is_tensor(value) and value.dtype == tf.bfloat16:
        return tf.reshape(tf.bitcast(value, tf.uint8), (-1,)).numpy()
    return to_array(value)
