"""Runs generated TensorFlow modules.

Runs in the worker's interpreter: imports only the standard library, numpy and TensorFlow.
"""

from __future__ import annotations

import contextlib
import functools
import re
from collections.abc import Generator
from typing import Any

import tensorflow as tf

from .generated_module_runner import Framework, Mode
from .runs import Answer, Course, first_line


def warm() -> None:
    """Make TensorFlow single-threaded. Called once, before the first request."""
    tf.config.threading.set_intra_op_parallelism_threads(1)
    tf.config.threading.set_inter_op_parallelism_threads(1)


def handle(request: dict[str, Any], arrays: list[Any]) -> Answer:
    """Answer ``{"do": "describe"}`` or run a module (see ``Framework.answer``)."""
    if request["do"] == "describe":
        return {"version": tf.__version__}, []
    return TENSORFLOW.answer(request, arrays)


@functools.cache
def open_device() -> str:
    """Start CUDA and multiply two matrices; why that fails, empty if it does not."""
    if not tf.test.is_built_with_cuda():
        return f"tensorflow {tf.__version__} is built without CUDA"
    try:
        if not tf.config.list_physical_devices("GPU"):
            return "TensorFlow sees no GPU; pip install 'tensorflow[and-cuda]' brings CUDA's libraries"
        with tf.device("/GPU:0"):
            one = tf.ones((2, 2))
            found = tf.linalg.matmul(one, one)
    except Exception as error:  # noqa: BLE001 - whatever the driver raises is the answer
        return first_line(error)
    return "" if "GPU" in found.device else f"TensorFlow multiplies on {found.device}"


@contextlib.contextmanager
def _placed(_module: dict[str, Any], device: str) -> Generator[None]:
    """Computes on the device whatever has a kernel there, with products and convolutions of float32 in float32."""
    if not device:
        yield
        return
    tf.config.experimental.enable_tensor_float_32_execution(enabled=False)
    with tf.device("/GPU:0"):
        yield


def _eager(
    module: dict[str, Any], weights: dict[str, Any], inputs: dict[str, Any], course: Course, _more: str
) -> dict[str, Any]:
    course.at("run")
    return module["forward"](*module["tensors"](weights, inputs))


def _function(
    module: dict[str, Any],
    weights: dict[str, Any],
    inputs: dict[str, Any],
    course: Course,
    _more: str,
    *,
    xla: bool = False,
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


MODES: dict[str, Mode] = {
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
    r"(?i:unsupported|not supported|compile-time constant|not compilable|unimplemented|no registered .*XLA_[CG]PU_JIT"
    r"|uncompilable|could not find compiler|dynamic shape)"
)


def _declined(error: BaseException, stage: str) -> bool:
    """Whether TensorFlow says that it lacks something: a kernel, or a way to trace or compile this."""
    if isinstance(error, (NotImplementedError, tf.errors.UnimplementedError)):
        return True
    text = str(error)
    if stage == "convert":
        return isinstance(error, UNTRACED) and SAYS_UNTRACED.search(text) is not None
    return stage == "compile" and isinstance(error, tf.errors.OpError) and XLA_GAP.search(text) is not None


def _bits(value: Any) -> Any:
    if not tf.is_tensor(value) or value.dtype != tf.bfloat16:
        return None
    return tf.reshape(tf.bitcast(value, tf.uint8), (-1,)).numpy()


TENSORFLOW = Framework("tensorflow", MODES, _declined, _bits, (tf.errors.ResourceExhaustedError,), _placed)
