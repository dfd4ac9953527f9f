"""Runs a model on the DNN module of OpenCV."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Generator
from typing import Any

import cv2
import numpy as np
import onnx

GAP = re.compile(
    r"-213:|is not supported|[Uu]nsupported|Can't create layer|(?i:not (yet )?(supported|implemented))"
    r"|/(onnx/|layers/)[\w/]*\.cpp|function '[^']*(getTypes|getMemoryShapes)"
)
"""Its importer and its layers state by assertions what they take; the C++ file stands in the message.

What fails elsewhere, as the plan for the memory of buffers does, is no statement about a model.
"""

ENGINES = {"auto": cv2.dnn.ENGINE_AUTO, "classic": cv2.dnn.ENGINE_CLASSIC} if hasattr(cv2.dnn, "ENGINE_AUTO") else {}


def version() -> str:
    """Of the installed OpenCV."""
    return str(cv2.__version__)


def warm() -> None:
    """Make it single-threaded."""
    cv2.setNumThreads(1)


def load(model: bytes, engine: str = "auto") -> Callable[[dict[str, Any]], dict[str, Any]]:
    """Read the model with one of its two engines; ``auto`` falls back from the new one to the classic one.

    Args:
        model: ONNX bytes.
        engine: key of ``ENGINES``; a release without engines has only ``auto``.
    """
    if engine != "auto" and engine not in ENGINES:
        raise NotImplementedError(f"OpenCV {cv2.__version__} has no engine {engine}")
    with _in_one_line():
        network = cv2.dnn.readNetFromONNX(np.frombuffer(model, np.uint8), *([ENGINES[engine]] if ENGINES else []))
    graph = onnx.load_model_from_string(model).graph
    names = [value.name for value in graph.output]
    read = {name for node in graph.node for name in node.input} | set(names)

    def run(inputs: dict[str, Any]) -> dict[str, Any]:
        with _in_one_line():
            for name, value in inputs.items():
                if name in read:
                    network.setInput(np.ascontiguousarray(value).reshape(value.shape), name)
            found = dict(zip(names, network.forward(names)))  # noqa: B905 - Python 3.9
        if any(value is None for value in found.values()):
            raise NotImplementedError("OpenCV has no matrix without elements")
        return {name: np.array(value) for name, value in found.items()}

    return run


class Refused(Exception):
    """What OpenCV says, in one line: the reason stands behind the first one of its own message."""


@contextlib.contextmanager
def _in_one_line() -> Generator[None, None, None]:
    try:
        yield
    except cv2.error as error:
        raise Refused(" ".join(str(error).split())) from None
