"""Runs generated Keras modules on the back end that ``KERAS_BACKEND`` names; Keras takes one for a process's life.

Runs in the worker's interpreter: imports only the standard library, numpy, Keras and its back end.
"""

from __future__ import annotations

import importlib
import os
import re
from typing import Any

import keras

from .generated_module_runner import Framework
from .runs import Answer, Course

BACKEND = os.environ.get("KERAS_BACKEND", "tensorflow")

GAP = re.compile(
    r"(?i:not (currently |yet )?(supported|implemented)|unsupported|unimplemented|no implementation)"
    r"|only supports|No registered .* OpKernel|Could not find device for node"
    r"|Keyword argument not understood"
    r"|module '?keras\S* has no attribute|requires (arguments|ndarray or scalar|.*floating)"
)
"""What Keras and its back ends say of what they do not claim to do; an older Keras lacks what a newer one has."""


def warm() -> None:
    """Make the back end single-threaded. Called once, before the first request."""
    if BACKEND == "tensorflow":
        config: Any = getattr(importlib.import_module("tensorflow"), "config", None)
        if hasattr(config, "threading"):  # from TensorFlow 1.14 on; older ones obey the environment
            config.threading.set_intra_op_parallelism_threads(1)
            config.threading.set_inter_op_parallelism_threads(1)
    elif BACKEND == "torch":
        importlib.import_module("torch").set_num_threads(1)


def handle(request: dict[str, Any], arrays: list[Any]) -> Answer:
    """Answer ``{"do": "describe"}`` or run a module (see ``Framework.answer``)."""
    if request["do"] == "describe":
        return {"version": str(keras.__version__)}, []
    return KERAS.answer(request, arrays)


def _run(
    module: dict[str, Any], weights: dict[str, Any], inputs: dict[str, Any], course: Course, _more: str
) -> dict[str, Any]:
    """Build the functional model for inputs of these sizes, and call it."""
    clear: Any = getattr(keras.backend, "clear_session", None)
    if clear is not None:  # Theano has no session
        clear()
    model, names = module["functional"](module["forward"], *module["tensors"](weights, inputs))
    course.at("run")
    return dict(zip(names, module["evaluated"](model, inputs)))  # noqa: B905 - Python 3.7


def _declined(error: BaseException, _stage: str) -> bool:
    """Whether Keras or its back end says that it lacks something."""
    if isinstance(error, NotImplementedError):
        return True
    return GAP.search(type(error).__name__ + ": " + str(error)) is not None


KERAS = Framework("keras", {BACKEND: _run}, _declined, lambda _value: None)
