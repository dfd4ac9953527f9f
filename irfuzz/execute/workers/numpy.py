"""Runs generated NumPy modules on their arrays.

Runs in the worker's interpreter: imports only the standard library, numpy and ml_dtypes.
"""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np

from .generated_module_runner import Framework
from .runs import Answer, Course


def handle(request: dict[str, Any], arrays: list[Any]) -> Answer:
    """Answer ``{"do": "describe"}`` or run a module (see ``Framework.answer``)."""
    if request["do"] == "describe":
        return {"version": np.__version__}, []
    return NUMPY.answer(request, arrays)


def _eager(
    module: dict[str, Any], weights: dict[str, Any], inputs: dict[str, Any], course: Course, _more: str
) -> dict[str, Any]:
    course.at("run")
    with np.errstate(all="ignore"):
        return module["forward"](*module["tensors"](weights, inputs))


def _declined(error: BaseException, _stage: str) -> bool:
    """The support functions say so if they do not compute something."""
    return isinstance(error, NotImplementedError)


def _bits(value: Any) -> Any:
    if not isinstance(value, (np.ndarray, np.generic)) or value.dtype != ml_dtypes.bfloat16:
        return None
    return np.ascontiguousarray(value).reshape(-1).view(np.uint8)


NUMPY = Framework("numpy", {"eager": _eager}, _declined, _bits)
