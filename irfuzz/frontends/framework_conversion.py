"""Converts models of other frameworks to ONNX; framework and user's code run in worker processes."""

from __future__ import annotations

import importlib.util
import os
import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np

from irfuzz.errors import InvalidProgram
from irfuzz.frontends.model_kind_detection import Kind, ModelSource
from irfuzz.frontends.regular_file_opening import open_plain
from irfuzz.isolate import Limits, Reply, StartError, Value, Worker, WorkerSpec
from irfuzz.isolate.sandbox import WORDS

_WORKERS = Path(__file__).parent / "workers"

OWN_ERRORS = ("NotAModel", "FactoryError")
"""Exceptions of the handlers that say all there is to say; those of other types are a component's."""


@dataclass(frozen=True, slots=True)
class FrontEnd:
    """How one kind of model becomes ONNX.

    Attributes:
        component: what errors call whoever converts.
        handler: its worker file.
        needs: modules that must be installed.
        extras: what to install if one is not.
        preload: what the worker imports once, for all models.
        allowed: what the sandbox leaves to the worker.
    """

    component: str
    handler: str
    needs: tuple[str, ...] = ()
    extras: str = ""
    preload: tuple[str, ...] = ()
    allowed: tuple[str, ...] = ()


_TENSORFLOW = FrontEnd(
    "tf2onnx", "tensorflow.py", ("tensorflow", "tf2onnx"), "tensorflow", ("tensorflow", "keras", "tf2onnx")
)
FRONT_ENDS: Mapping[Kind, FrontEnd] = {
    "keras": _TENSORFLOW,
    "saved_model": _TENSORFLOW,
    "graph_def": _TENSORFLOW,
    "exported_program": FrontEnd(
        "torch.onnx", "torch.py", ("torch", "onnxscript"), "torch,converters", ("torch", "torch.onnx", "onnx")
    ),
    # Nothing before the fork: a module of the user's that dies on import must not take more with it.
    # It is the user's own program, which may fetch weights and keep them.
    "factory": FrontEnd("the factory", "user_model_factory.py", allowed=WORDS),
}
"""By kind; ``onnx`` needs none."""

RUNTIME = FrontEnd(
    "onnxruntime", "onnxruntime_type_inference.py", ("onnxruntime",), "onnxruntime", ("onnx", "onnxruntime")
)
"""Types the values of operators that irfuzz has no schema for."""

SCRIPT = FrontEnd("the script", "user_sample_function.py", allowed=WORDS)
"""Runs functions of users that give samples."""

_NAMED = {
    "tensorflow": "tensorflow",
    "keras": "tensorflow",
    "tf2onnx": "tensorflow",
    "torch": "torch,converters",
    "onnxscript": "torch,converters",
    "onnx_graphsurgeon": "converters",
}
"""The extras that bring a module which a factory imports."""

_NOT_FOUND = re.compile(r"No module named '(\w+)|import of (\w+) halted")

_HOW = {
    "crash": "crashed on it",
    "exited": "ended on it",
    "memory": "took more than the {memory} MiB it may",
    "protocol": "did not answer",
}


class Converters:
    """Front ends at arm's length: whatever the framework or the user's code does, it happens in a process of theirs.

    Each starts on its first use and serves any number of models, from one thread. Always ``close`` (or use ``with``).
    """

    def __init__(self, seconds: float = 300.0, memory_bytes: int = 8 << 30) -> None:
        """Start nothing yet.

        Args:
            seconds: wall time for one model.
            memory_bytes: memory for one model, beyond what the framework takes.
        """
        self._limits = Limits(seconds=seconds, memory_bytes=memory_bytes)
        self._workers: dict[FrontEnd, Worker] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End all processes; may be called twice. A later call starts them again."""
        for worker in self._workers.values():
            worker.close()
        self._workers.clear()

    def convert(
        self, source: ModelSource, max_bytes: int, *, architecture: bool = False, layers: bool = False
    ) -> bytes:
        """A serialised ``ModelProto``, unchecked.

        Args:
            source: of any kind but ``onnx``.
            max_bytes: largest file that is given to a framework.
            architecture: variables of TensorFlow and Keras are neither folded nor merged, whatever they start as, and
                the model says which initializers they are (``irfuzz.ir.trainable_parameters``).
            layers: a Keras model becomes a graph of its layers, which Keras targets run as they are; others do not
                differ.

        Raises:
            InvalidProgram: it is not such a model, cannot be converted, or what converts is not installed.
        """
        front_end = FRONT_ENDS[source.kind]
        for module in front_end.needs:
            if importlib.util.find_spec(module) is None:
                raise InvalidProgram(_missing(module, front_end.extras))
        _check_file(source, max_bytes)
        request = {
            "kind": source.kind,
            "path": str(source.path.absolute()),
            "factory": source.factory,
            "architecture": architecture,
            "layers": layers,
            "folder": os.getcwd(),  # noqa: PTH109 - as text
        }
        try:
            # Code of the user's gets a process that nobody else has used.
            reply = self._worker(front_end).call(request, fresh=source.kind == "factory")
        except StartError as error:
            raise InvalidProgram(f"{front_end.component} cannot be started: {str(error).splitlines()[0]}") from None
        (model,) = self._values(front_end, reply)
        if not isinstance(model, bytes):
            raise InvalidProgram(f"{front_end.component} returned no model")
        return model

    def types(self, model: bytes, names: Sequence[str]) -> tuple[dict[str, bytes], str]:
        """Types of values of a model, as ONNXRuntime infers them or sees them in a run.

        Returns:
            A serialised ``TypeProto`` by name, and why there is none, or none with a rank, of those that lack it.
        """
        if importlib.util.find_spec(RUNTIME.needs[0]) is None:
            return {}, _missing(RUNTIME.needs[0], RUNTIME.extras)
        try:
            reply = self._worker(RUNTIME).call({"names": list(names)}, [model])
            found = self._values(RUNTIME, reply)
        except StartError as error:
            return {}, f"onnxruntime cannot be started: {str(error).splitlines()[0]}"
        except InvalidProgram as error:
            return {}, str(error)
        named = zip(reply.response["names"], found, strict=True)
        return {name: bytes(v) for name, v in named if isinstance(v, bytes)}, str(reply.response["reason"])

    def samples(self, path: Path, function: str, most: int | None = None) -> list[dict[str, np.ndarray]]:
        """What a function of the user's gives: arrays by name, a dict for each sample.

        Args:
            path: Python file.
            function: in it; takes nothing, gives an iterable of dicts.
            most: so many samples are asked for, at most.

        Raises:
            InvalidProgram: there is no such file or function, or it gives something else.
        """
        with open_plain(path):
            pass
        request = {"path": str(path.absolute()), "function": function, "most": most, "folder": str(Path.cwd())}
        reply = self._worker(SCRIPT).call(request, fresh=True)
        arrays = [v for v in self._values(SCRIPT, reply) if isinstance(v, np.ndarray)]
        names: list[list[str]] = reply.response["names"]
        if len(arrays) != sum(map(len, names)):
            raise InvalidProgram("the script: values of a type that numpy does not have")
        left = iter(arrays)
        return [{name: next(left) for name in row} for row in names]

    def _worker(self, front_end: FrontEnd) -> Worker:
        worker = self._workers.get(front_end)
        if worker is None:
            env = {"KERAS_BACKEND": "tensorflow", "CUDA_VISIBLE_DEVICES": "-1"}
            if not front_end.preload:
                env["PYTHONPATH"] = os.pathsep.join(p for p in sys.path if p)
            spec = WorkerSpec(
                front_end.component, _WORKERS / front_end.handler, front_end.preload, env=env, allowed=front_end.allowed
            )
            worker = self._workers[front_end] = Worker(spec, self._limits)
        return worker

    def _values(self, front_end: FrontEnd, reply: Reply) -> list[Value]:
        who = front_end.component
        if reply.exit == "error":
            raise InvalidProgram(_explain(who, reply.error))
        if reply.exit == "hang":
            raise InvalidProgram(f"{who} did not finish within {self._limits.seconds:g} s")
        if reply.exit != "ok":
            how = _HOW[reply.exit].format(memory=(self._limits.memory_bytes or 0) >> 20)
            raise InvalidProgram(f"{who} {how} ({reply.detail})")
        return list(reply.values)


def _check_file(source: ModelSource, max_bytes: int) -> None:
    """See that there is a plain file of a size that is read, before a framework is started."""
    path = source.path / "saved_model.pb" if source.kind == "saved_model" else source.path
    with open_plain(path) as (_, size):
        if size == 0:
            raise InvalidProgram("the file is empty")
        if size > max_bytes:
            raise InvalidProgram(f"the file has {size} bytes; at most {max_bytes} are read")


def _explain(who: str, error: Mapping[str, Any]) -> str:
    """One line that says what is wrong, in the words of whoever noticed."""
    kind, message = str(error["type"]), str(error["message"])
    missing = _NOT_FOUND.search(message)
    if missing is not None and (missing[1] or missing[2]) in _NAMED:
        module = missing[1] or missing[2]
        return f"{_first_line(message)}: {_missing(module, _NAMED[module])}"
    if kind in OWN_ERRORS:
        return _first_line(message)
    return f"{who}: {kind}: {_first_line(message)}"


def _first_line(message: str) -> str:
    """The first line that says something, cut if it is very long."""
    lines = [line.strip() for line in message.splitlines() if line.strip()]
    return lines[0][:500] if lines else "no reason given"


def _missing(module: str, extras: str) -> str:
    return f"{module} is not installed; pip install 'irfuzz[{extras}]'"
