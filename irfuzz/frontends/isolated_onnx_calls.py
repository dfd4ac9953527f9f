"""Runs onnx's parsers, checker and version converter on a serialised model in a process of their own."""

from __future__ import annotations

from pathlib import Path
from typing import Self

import numpy as np

from irfuzz.errors import InvalidProgram
from irfuzz.isolate import Limits, Reply, Worker, WorkerSpec

_HANDLER = Path(__file__).with_name("isolated_onnx_worker.py")
_HOW = {
    "crash": "crashed on it",
    "exited": "ended on it",
    "hang": "did not finish within its time",
    "memory": "took more memory than irfuzz allows it",
    "protocol": "did not answer",
}


LARGER = 1 << 20
"""Bytes of a model for which onnx may take as long again as for a small one: hundreds of times what it needs."""


class OnnxChecker:
    """onnx's own C++ code at arm's length: a model that makes it crash or hang is refused and nothing else happens.

    Starts on the first use and serves any number of models, from one thread. Always ``close`` it (or use ``with``).
    """

    def __init__(self, seconds: float = 8.0, memory_bytes: int = 4 << 30) -> None:
        """Start nothing yet.

        Args:
            seconds: wall time for a small model; every ``LARGER`` bytes allow it as much again.
            memory_bytes: memory for one model; four times its size if that is more.
        """
        self._seconds = seconds
        self._memory = memory_bytes
        self._worker: Worker | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End the process; may be called twice. A later call starts another one."""
        if self._worker is not None:
            self._worker.close()
            self._worker = None

    def check(self, data: bytes) -> None:
        """``onnx.checker.check_model(data, full_check=True)``, in the process.

        Args:
            data: a serialised model.

        Raises:
            InvalidProgram: what the checker says, or that it did not survive the model.
        """
        reason = self._call("check", data).response.get("reason")
        if reason:
            raise InvalidProgram(f"onnx.checker: {reason}")

    def weigh(self, data: bytes | memoryview) -> None:
        """See whether protobuf can read a model without taking more than the memory allowed.

        Raises:
            InvalidProgram: it cannot.
        """
        self._call("weigh", np.frombuffer(data, np.uint8))

    def upgrade(self, data: bytes, opset: int) -> bytes:
        """The model converted to a newer opset of the default domain, by onnx's own converter.

        Raises:
            InvalidProgram: it cannot be converted, or the converter did not survive it.
        """
        reply = self._call("upgrade", data, opset=opset)
        if reason := reply.response.get("reason"):
            raise InvalidProgram(f"onnx.version_converter: {reason}")
        (model,) = reply.values
        if not isinstance(model, bytes):
            raise InvalidProgram("onnx.version_converter returned no model")
        return model

    def translate(self, data: bytes, text_format: str) -> bytes:
        """Read a model in one of onnx's text formats (``onnxtxt``, ``json``, ``textproto``) and serialise it.

        Raises:
            InvalidProgram: it is not in that format.
        """
        (model,) = self._call("translate", data, text_format).values
        if not isinstance(model, bytes):
            raise InvalidProgram("the parser returned no model")
        return model

    def _call(self, task: str, data: bytes | np.ndarray, text_format: str = "", *, opset: int = 0) -> Reply:
        if 4 * len(data) > self._memory:
            self.close()
            self._memory = 4 * len(data)
        if self._worker is None:
            spec = WorkerSpec("onnx-checker", _HANDLER, preload=("onnx", "onnx.checker", "onnx.shape_inference"))
            self._worker = Worker(spec, Limits(seconds=self._seconds, memory_bytes=self._memory))
        allowed = self._seconds * (1 + len(data) / LARGER)
        reply = self._worker.call({"task": task, "format": text_format, "opset": opset}, [data], seconds=allowed)
        if reply.exit == "error":
            raise InvalidProgram(f"onnx cannot read it: {reply.error.get('message') or reply.error.get('type')}")
        if reply.exit != "ok":
            raise InvalidProgram(f"onnx {_HOW[reply.exit]}: {reply.detail}")
        return reply
