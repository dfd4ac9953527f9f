"""A generated PyTorch module and its arrays enter, the arrays that it computes leave.

Runs in the worker process: needs nothing but numpy and torch.
"""

from __future__ import annotations

from types import CodeType

import torch

_CODE: dict[str, CodeType] = {}
"""Compiled top-level definitions by their text: modules share most support functions."""

MAX_CODE = 4096


def warm() -> None:
    """Make torch single-threaded. Called once, before the first request."""
    torch.set_num_threads(1)


def load(source: str) -> dict:
    """The names that a generated module defines. Its definitions are two blank lines apart and are compiled one by one."""
    names: dict = {"__name__": "irfuzz_generated"}
    for text in source.split("\n\n\n"):
        code = _CODE.get(text)
        if code is None:
            if len(_CODE) >= MAX_CODE:
                _CODE.clear()
            code = _CODE[text] = compile(text, "<generated>", "exec")
        exec(code, names)
    return names


def handle(request: dict, values: list) -> tuple[dict, list]:
    """Run a module.

    ``request`` holds ``source``, ``arrays`` and ``inputs`` (names of the values, arrays first) and ``outputs`` (names
    to give back, in order). Raises what torch raises.
    """
    if request["op"] == "version":
        return {"version": torch.__version__}, []
    if request["op"] != "run":
        raise ValueError(f"unknown op {request['op']!r}, expected 'run' or 'version'")
    torch.set_num_threads(1)
    count = len(request["arrays"])
    arrays = dict(zip(request["arrays"], values[:count], strict=True))
    inputs = dict(zip(request["inputs"], values[count:], strict=True))
    outputs = load(request["source"])["run"](arrays, inputs)
    return {"version": torch.__version__}, [outputs[name] for name in request["outputs"]]
