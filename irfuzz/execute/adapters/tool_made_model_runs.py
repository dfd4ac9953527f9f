"""Runs models that tools made on a runtime without optimisation; what it computes is the tool's result."""

from __future__ import annotations

import hashlib
import sys
import threading
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from irfuzz.errors import UsageError
from irfuzz.execute.adapters import inferred_type_check
from irfuzz.execute.adapters.adapter import SINGLE_THREAD, WORKERS, Request
from irfuzz.execute.adapters.converter_tools import BASELINE, ToolAdapter
from irfuzz.execute.reply_parsing import answered, failed
from irfuzz.execute.run_types import Exit, RunResult, Stage, Target
from irfuzz.isolate import Limits, Worker, WorkerSpec

_TARGET = Target(name=BASELINE, component="onnxruntime", interpreter=sys.executable, options={"level": "disabled"})

_ENDS = {Exit.CRASH: "dies of", Exit.EXITED: "ends at", Exit.HANG: "hangs with", Exit.MEMORY: "lacks memory for"}

BEFORE = "and runs the one before: "
"""What stands before the runtime's own words in an error of a model that a tool made."""


_REMEMBERED = 256
"""So many of the latest results are kept: of one program two in five tools make a model that another made as well."""

_REMEMBERED_BYTES = 1 << 16
"""Larger outputs are not."""

_COMPARED_BYTES = 1 << 24
"""Nor is what a larger model gave: to find out that it is the same takes longer than what that saves."""


class Baseline:
    """One worker of ONNXRuntime without optimisation, for all tools of a runner, whatever thread asks."""

    def __init__(self, limits: Limits) -> None:
        env = {**SINGLE_THREAD, "ORT_DISABLE_TELEMETRY": "1"}
        self._worker = Worker(WorkerSpec("baseline", WORKERS / "onnxruntime.py", ("onnxruntime",), env=env), limits)
        self._lock = threading.Lock()
        self._results: OrderedDict[bytes, RunResult] = OrderedDict()

    def start(self) -> None:
        """Begin with the imports, so that the first model need not wait for them."""
        self._worker.start()

    def close(self) -> None:
        """End the worker."""
        with self._lock:
            self._worker.close()

    def finish(
        self, adapter: ToolAdapter, results: Sequence[RunResult], request: Request, *, fresh: bool
    ) -> list[RunResult]:
        """Results with what the made models compute in place of the models.

        Args:
            adapter: of the tools.
            results: of its targets; what did not end well, or made no model, stays as it is.
            request: that they answered; it holds the model from which they made theirs, and its inputs.
            fresh: run each made model in a new process.

        Returns:
            In the same order. A made model that fails is only the tool's fault if the one before it runs.
        """
        return [
            self._finished(adapter, r, request, fresh=fresh) if r.exit is Exit.OK and "model" in r.outputs else r
            for r in results
        ]

    def _finished(self, adapter: ToolAdapter, result: RunResult, request: Request, *, fresh: bool) -> RunResult:
        message, blobs = request
        at, about = message["before"]["at"], message["before"]["inputs"]
        before, inputs = blobs[at], list(blobs[at + 1 : at + 1 + len(about)])
        made, feeds = result.outputs["model"], result.outputs["feeds"]
        assert isinstance(made, np.ndarray)
        assert isinstance(feeds, np.ndarray)
        if adapter.gives == "types":
            return self._compared(result, request, made.tobytes(), fresh=fresh)
        kept = [(a, v) for a, v in zip(about, inputs, strict=True) if a["name"] in set(feeds)]
        ran = self._run(made, [a for a, _ in kept], [v for _, v in kept], fresh=fresh)
        seconds = result.seconds + ran.seconds
        if ran.exit is Exit.OK:
            return replace(ran, target=result.target, seconds=seconds, log=ran.log, passes=result.passes)
        whole = self._run(before, about, inputs, fresh=False)
        if whole.exit is not Exit.OK:
            return _nobodys(result, whole)
        invalid = str(result.outputs["invalid"])
        if ran.exit is Exit.UNSUPPORTED and invalid:
            error = f"onnx.checker refuses the model that it made: {invalid}"
            return replace(ran, target=result.target, stage=Stage.CONVERT, exit=Exit.REJECTED, error=error[:500])
        end = _ENDS.get(ran.exit, "has no kernel for" if ran.exit is Exit.UNSUPPORTED else "refuses")
        error = f"onnxruntime without optimisation {end} the model that it made, {BEFORE}{ran.error}"
        return replace(ran, target=result.target, stage=Stage.RUN, error=error[:500], seconds=seconds)

    def _compared(self, result: RunResult, request: Request, made: bytes, *, fresh: bool) -> RunResult:
        """Inferred types against computed values; the outputs are those of the model as it was."""
        message, blobs = request
        at, about, own = (message["before"][key] for key in ("at", "inputs", "outputs"))
        tapped, inputs = blobs[at], list(blobs[at + 1 : at + 1 + len(about)])
        ran = self._run(tapped, about, inputs, fresh=fresh)
        if ran.exit is not Exit.OK:
            return _nobodys(result, ran)
        shapes = {a["name"]: tuple(a.get("shape", np.shape(v))) for a, v in zip(about, inputs, strict=True)}
        told = inferred_type_check.contradictions(made, inferred_type_check.sizes_of(tapped, shapes), ran.outputs)
        if told:
            error = f"InferenceError: {told[0]}"
            return replace(
                result, stage=Stage.RUN, exit=Exit.REJECTED, outputs={}, error=error[:500], log="\n".join(told)
            )
        return replace(result, stage=Stage.RUN, outputs={name: ran.outputs[name] for name in own})

    def _run(self, model: Any, about: list[Any], inputs: list[Any], *, fresh: bool) -> RunResult:
        """What the runtime does with a model; one that it ran lately on the same inputs does not run again."""
        message = {"do": "run", "inputs": about, "variants": [{"level": "disabled"}]}
        data = model.tobytes() if isinstance(model, np.ndarray) else model
        key = b"" if fresh else _digest(data, about, inputs)
        with self._lock:
            if key in self._results:
                return replace(self._results[key], seconds=0.0)
            try:
                reply = self._worker.call(message, [data, *inputs], fresh=fresh)
            except UsageError as error:
                return RunResult(_TARGET, Stage.IMPORT, Exit.UNSUPPORTED, error=str(error)[:500])
            if reply.exit != "ok":
                return failed(reply, [_TARGET])[0]
            result = answered(reply, [_TARGET])[0]
            if key:
                self._remember(key, result)
            return result

    def _remember(self, key: bytes, result: RunResult) -> None:
        size = sum(value.nbytes for value in result.outputs.values() if isinstance(value, np.ndarray))
        if size > _REMEMBERED_BYTES or not all(isinstance(v, np.ndarray) for v in result.outputs.values()):
            return
        self._results[key] = result
        if len(self._results) > _REMEMBERED:
            self._results.popitem(last=False)


def _digest(model: Any, about: list[Any], inputs: list[Any]) -> bytes:
    """What is the same for the same model on the same inputs alone.

    It is empty for a large model, and if an input is anything but a tensor of numbers.
    """
    arrays = [value for value in inputs if isinstance(value, np.ndarray) and not value.dtype.hasobject]
    if len(model) > _COMPARED_BYTES or len(arrays) < len(inputs):
        return b""
    digest = hashlib.blake2b(model, digest_size=16)
    digest.update(repr((about, [(array.dtype.name, array.shape) for array in arrays])).encode())
    for array in arrays:
        digest.update(array.tobytes())
    return digest.digest()


def _nobodys(result: RunResult, before: RunResult) -> RunResult:
    """What cannot be compared: the model itself does not run there."""
    error = f"onnxruntime without optimisation does not run the model before it: {before.error}"
    return replace(result, stage=Stage.RUN, exit=Exit.UNSUPPORTED, outputs={}, error=error[:500])
