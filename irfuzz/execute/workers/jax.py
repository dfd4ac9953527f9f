# pyright: reportAttributeAccessIssue=false
"""Runs generated JAX modules, eagerly or compiled as a whole.

Runs in the worker's interpreter: imports only the standard library, numpy, ml_dtypes and JAX.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Generator
from typing import Any

import jax
import ml_dtypes
import numpy as np

from .generated_module_runner import Framework
from .runs import Answer, Course, first_line

UNKNOWN = (
    jax.errors.ConcretizationTypeError,
    jax.errors.NonConcreteBooleanIndexError,
    jax.errors.TracerArrayConversionError,
    jax.errors.TracerIntegerConversionError,
)
"""What JAX raises if a shape, a branch or an index needs a number of an input, which it does not know yet."""


def handle(request: dict[str, Any], arrays: list[Any]) -> Answer:
    """Answer ``{"do": "describe"}`` or run a module (see ``Framework.answer``)."""
    if request["do"] == "describe":
        return {"version": jax.__version__}, []
    return JAX.answer(request, arrays)


@functools.cache
def open_device() -> str:
    """Start CUDA and multiply two matrices; why that fails, empty if it does not."""
    try:
        one = jax.device_put(np.ones((2, 2), np.float32), jax.devices("gpu")[0])
        jax.block_until_ready(one @ one)
    except Exception as error:  # noqa: BLE001 - whatever the plug-in raises is the answer
        return first_line(error)
    return ""


@contextlib.contextmanager
def _placed(_module: dict[str, Any], device: str) -> Generator[None]:
    """Computes on the device, with products and convolutions of float32 in float32."""
    if not device:
        yield
        return
    jax.config.update("jax_default_matmul_precision", "highest")
    with jax.default_device(jax.devices("gpu")[0]):
        yield


def _eager(
    module: dict[str, Any], weights: dict[str, Any], inputs: dict[str, Any], course: Course, _more: str
) -> dict[str, Any]:
    course.at("run")
    return module["forward"](*module["tensors"](weights, inputs))


def _jit(
    module: dict[str, Any], weights: dict[str, Any], inputs: dict[str, Any], course: Course, _more: str
) -> dict[str, Any]:
    """``jax.jit`` of the module, with its weights as constants; numbers that it needs to know are so, too."""
    course.at("convert")
    made, given = module["tensors"](weights, inputs)
    traced, rest = _traced(module["forward"], made, given)
    course.at("compile")
    compiled = traced.compile()
    course.at("run")
    return compiled(rest)


def _traced(forward: Any, weights: dict[str, Any], given: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
    """The traced function, and the inputs that it takes; what it has to know of the others is part of it.

    Raises:
        NotImplementedError: it would have to know all of them, or one that says no sizes, axes, scales or ratios.
    """
    kind = ""
    for may_be_known in (lambda _: False, _lone, _integers, _vectors):
        fixed = {n: np.asarray(x) for n, x in given.items() if isinstance(x, jax.Array) and may_be_known(x)}
        rest = {name: value for name, value in given.items() if name not in fixed}
        if given and not rest:
            break
        try:
            return jax.jit(lambda values, known=fixed: forward(weights, {**known, **values})).lower(rest), rest
        except UNKNOWN as error:
            kind = type(error).__name__
    raise NotImplementedError(f"jax.jit: a shape, branch or index depends on an input ({kind})")


def _lone(value: jax.Array) -> bool:
    """Whether an input may say an axis, a count or a ratio: what JAX's users name in ``static_argnums``."""
    return bool(value.size == 1)


def _integers(value: jax.Array) -> bool:
    """Whether it may say sizes, too."""
    return _lone(value) or (value.ndim < 2 and value.dtype.kind in "iub")


def _vectors(value: jax.Array) -> bool:
    """Whether it may say scales, too."""
    return bool(value.ndim < 2)


def _declined(error: BaseException, _stage: str) -> bool:
    """Whether JAX or XLA says that it lacks something."""
    return isinstance(error, NotImplementedError) or str(error).startswith("UNIMPLEMENTED")


def _bits(value: Any) -> Any:
    if getattr(value, "dtype", None) != ml_dtypes.bfloat16:
        return None
    return np.ascontiguousarray(value).reshape(-1).view(np.uint8)


JAX = Framework("jax", {"eager": _eager, "jit": _jit}, _declined, _bits, (), _placed)
