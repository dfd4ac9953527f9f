"""``file.py:function`` that gives samples enters, their arrays leave; runs in a process of its own."""

from __future__ import annotations

import importlib.util
import itertools
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np


def handle(request: dict[str, Any], _values: list[Any]) -> tuple[dict[str, Any], list[Any]]:
    """Call ``request["function"]`` of ``request["path"]``; at most ``request["most"]`` samples, where that is given."""
    os.chdir(request["folder"])
    script, name = _factory(), request["function"]
    made = script.call(script.function_of(request["path"], name), name)
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
        raise script.FactoryError(f"{name}() raised {script.told(error)}") from error
    if wrong:
        raise script.FactoryError(f"{name}() gave {wrong}; expected a dict of arrays by input name")
    return {"names": names}, arrays


def _array(value: Any) -> Any:
    """As a tensor; texts as objects."""
    array = np.asarray(value)
    return array.astype(object) if array.dtype.kind in "SU" else array


def _factory() -> Any:
    """How functions of users are found and called: the file beside this one, which cannot be imported by name."""
    spec = importlib.util.spec_from_file_location("irfuzz_factory", Path(__file__).with_name("factory.py"))
    assert spec is not None
    assert spec.loader is not None
    loaded = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(loaded)
    return loaded
