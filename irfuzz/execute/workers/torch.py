"""A generated PyTorch module and its arrays enter, the arrays that it computes leave.

Runs in the worker's interpreter: imports only the standard library, numpy and torch.
"""

from __future__ import annotations

import os
import time
import traceback
from collections.abc import Callable
from types import CodeType
from typing import Any

import torch

BFLOAT16 = 16
"""Its number among ONNX's element types."""
MAX_CODE = 4096

_CODE: dict[str, CodeType] = {}
"""Compiled top-level definitions by their text: modules share most of their support functions."""


def warm() -> None:
    """Make torch single-threaded. Called once, before the first request."""
    torch.set_num_threads(1)


def handle(request: dict[str, Any], arrays: list[Any]) -> tuple[dict[str, Any], list[Any]]:
    """Answer ``{"do": "describe"}`` or run a module.

    ``request`` holds ``source``, ``arrays`` (names of the first values) and ``inputs`` (``{"name"}`` of the rest). The
    values of the outputs follow one another in the order in which the module gives them.
    """
    if request["do"] == "describe":
        return {"version": torch.__version__}, []
    count = len(request["arrays"])
    weights = dict(zip(request["arrays"], arrays[:count]))  # noqa: B905 - Python 3.9
    inputs = dict(zip((about["name"] for about in request["inputs"]), arrays[count:]))  # noqa: B905
    runs: list[dict[str, Any]] = []
    values: list[Any] = []
    for variant in range(len(request["variants"])):
        status, outputs = _run(variant, request["source"], weights, inputs)
        runs.append(status)
        values.extend(outputs)
    return {"runs": runs}, values


def _run(
    variant: int, source: str, weights: dict[str, Any], inputs: dict[str, Any]
) -> tuple[dict[str, Any], list[Any]]:
    started = time.perf_counter()
    stage = _at(variant, "compile")
    values: list[Any] = []
    try:
        torch.set_num_threads(1)
        module = load(source)
        stage = _at(variant, "run")
        with torch.inference_mode():
            outputs = module["forward"](*module["tensors"](_bits(weights), _bits(inputs)))
            about = [_about(name, value) for name, value in outputs.items()]
            values = [_plain(value, module["to_array"]) for value in outputs.values()]
        status: dict[str, Any] = {"stage": stage, "exit": "ok", "outputs": about}
    except MemoryError as error:
        status = {"stage": stage, "exit": "memory", "error": f"MemoryError: {error}"}
    except Exception as error:  # noqa: BLE001 - what torch raises is the result
        lines = str(error).strip().splitlines() or [""]
        status = {
            "stage": stage,
            "exit": "unsupported" if isinstance(error, NotImplementedError) else "rejected",
            "error": f"{type(error).__name__}: {lines[0][:500]}",
            "log": traceback.format_exc()[-4000:],
        }
        values = []
    status["seconds"] = time.perf_counter() - started
    return status, values


def load(source: str) -> dict[str, Any]:
    """The names that a generated module defines; its definitions are two blank lines apart and compiled one by one."""
    names: dict[str, Any] = {"__name__": "generated"}
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
    if isinstance(value, torch.Tensor) and value.dtype == torch.bfloat16:
        return {"name": name, "raw": BFLOAT16, "shape": list(value.shape)}
    return {"name": name}


def _plain(value: Any, to_array: Callable[[Any], Any]) -> Any:
    if isinstance(value, torch.Tensor) and value.dtype == torch.bfloat16:
        return value.contiguous().reshape(-1).view(torch.uint8).numpy()
    return to_array(value)


def _at(variant: int, stage: str) -> str:
    """Leave word of how far it came: the last such line tells where the process died."""
    os.write(2, f"irfuzz-at {variant} {stage}\n".encode())
    return stage
