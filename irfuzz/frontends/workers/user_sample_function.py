"""Calls a user's ``file.py:function`` that gives samples; runs in a process of its own."""

from __future__ import annotations

import itertools
import os
from collections.abc import Mapping
from typing import Any

import numpy as np

from .user_model_factory import FactoryError, call, function_of, told


def handle(request: dict[str, Any], _values: list[Any]) -> tuple[dict[str, Any], list[Any]]:
    """Call ``request["function"]`` of ``request["path"]``; at most ``request["most"]`` samples, if that is given."""
    os.chdir(request["folder"])
    name = request["function"]
    made = call(function_of(request["path"], name), name)
    names: list[list[str]] = []
    arrays: list[Any] = []
    wrong = ""
    try:
        for number, sample in enumerate(itertools.islice(made, request["most"])):
            if not isinstance(sample, Mapping) or not all(isinstance(key, str) for key in sample):
                wrong = f"{type(sample).__name__} as sample {number}"
                break
            names.append(list(sample))
            arrays += [_array(value) for value in sample.values()]
    except MemoryError:
        raise
    except Exception as error:
        raise FactoryError(f"{name}() raised {told(error)}") from error
    if wrong:
        raise FactoryError(f"{name}() gave {wrong}; expected a dict of arrays by input name")
    return {"names": names}, arrays


def _array(value: Any) -> Any:
    """As a tensor; texts as objects."""
    array = np.asarray(value)
    return array.astype(object) if array.dtype.kind in "SU" else array
