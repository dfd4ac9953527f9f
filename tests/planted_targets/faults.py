"""Targets that go wrong in one way each; name them as ``tests/planted_targets/faults.py:Segfault``."""

from __future__ import annotations

import ctypes
import os
import shutil
import signal
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np


class Segfault:
    """Reads address 0."""

    def run(self, model: bytes, inputs: dict[str, Any]) -> dict[str, Any]:
        ctypes.string_at(0)
        return {}


class Abort:
    """Ends as a failed assertion in C does."""

    def run(self, model: bytes, inputs: dict[str, Any]) -> dict[str, Any]:
        os.abort()


class Fpe:
    """Dies by SIGFPE, as an integer division by zero in a kernel does."""

    def run(self, model: bytes, inputs: dict[str, Any]) -> dict[str, Any]:
        os.kill(os.getpid(), signal.SIGFPE)
        time.sleep(5)
        return {}


class Hang:
    """Never answers."""

    def run(self, model: bytes, inputs: dict[str, Any]) -> dict[str, Any]:
        while True:
            time.sleep(1)


class Raises:
    """Refuses every model."""

    def run(self, model: bytes, inputs: dict[str, Any]) -> dict[str, Any]:
        raise ValueError(f"{len(model)} bytes are not to my taste")


class RemovesFolder:
    """Removes its working folder, and refuses every model."""

    def run(self, model: bytes, inputs: dict[str, Any]) -> dict[str, Any]:
        shutil.rmtree(Path.cwd())
        raise ValueError("no working folder is left")


class RaisesLate:
    """Refuses every model, in a script only after a minute."""

    def run(self, model: bytes, inputs: dict[str, Any]) -> dict[str, Any]:
        if Path(sys.argv[0]).name in ("repro.py", "compare.py"):
            time.sleep(60)
        raise ValueError("not to my taste")


class Choosy:
    """Refuses every model, those with an Exp for another reason."""

    def run(self, model: bytes, inputs: dict[str, Any]) -> dict[str, Any]:
        if b"Exp" in model:
            raise ValueError("this one I cannot stand at all")
        raise KeyError("no reason")


class Unwritten:
    """Says that it has no kernel."""

    def run(self, model: bytes, inputs: dict[str, Any]) -> dict[str, Any]:
        raise NotImplementedError("no kernel for anything yet")


class Exits:
    """Ends its own process."""

    def run(self, model: bytes, inputs: dict[str, Any]) -> dict[str, Any]:
        os._exit(3)


class SysExit:
    """Ends its own process the polite way."""

    def run(self, model: bytes, inputs: dict[str, Any]) -> dict[str, Any]:
        sys.exit(4)


class Greedy:
    """Takes more memory than there is."""

    def run(self, model: bytes, inputs: dict[str, Any]) -> dict[str, Any]:
        kept = []
        while True:
            kept.append(np.ones(1 << 24, np.uint8))


class Leaks:
    """Keeps 64 MiB more at every call, and answers correctly as long as it can."""

    def __init__(self) -> None:
        self.kept: list[np.ndarray] = []

    def run(self, model: bytes, inputs: dict[str, Any]) -> dict[str, Any]:
        self.kept.append(np.ones(1 << 26, np.uint8))
        return _evaluate(model, inputs)


class NoDictionary:
    """Answers with a list."""

    def run(self, model: bytes, inputs: dict[str, Any]) -> Any:
        return [1, 2, 3]


class NoArrays:
    """Answers with things that are no values."""

    def run(self, model: bytes, inputs: dict[str, Any]) -> dict[str, Any]:
        return {"y": object()}


class Scribbles:
    """Writes rubbish into every socket it finds, the one to irfuzz among them."""

    def run(self, model: bytes, inputs: dict[str, Any]) -> dict[str, Any]:
        for fd in _sockets():
            os.write(fd, b"rubbish " * 16)
        time.sleep(5)
        return {}


class ClosesPipe:
    """Closes every socket it finds and goes on."""

    def run(self, model: bytes, inputs: dict[str, Any]) -> dict[str, Any]:
        for fd in _sockets():
            os.close(fd)
        time.sleep(5)
        return {}


class ThirdTime:
    """Crashes at its third call, whatever the model; alone, every model passes."""

    def __init__(self) -> None:
        self.calls = 0

    def run(self, model: bytes, inputs: dict[str, Any]) -> dict[str, Any]:
        self.calls += 1
        if self.calls == 3:
            ctypes.string_at(0)
        return _evaluate(model, inputs)


class WrongNumbers:
    """Adds one to every floating-point output of a model that has a Relu, and is right elsewhere."""

    def run(self, model: bytes, inputs: dict[str, Any]) -> dict[str, Any]:
        outputs = _evaluate(model, inputs)
        if b"Relu" not in model:
            return outputs
        return {name: value + 1 if value.dtype.kind == "f" else value for name, value in outputs.items()}


class Picky:
    """Refuses every model that has one of many operators, with another message for each of them."""

    def run(self, model: bytes, inputs: dict[str, Any]) -> dict[str, Any]:
        import onnx

        for node in onnx.load_model_from_string(model).graph.node:
            if node.op_type not in ("Cast", "Reshape", "Identity"):
                raise ValueError(f"{node.op_type} is not to my taste")
        return _evaluate(model, inputs)


class Faithful:
    """Computes what onnx's reference evaluator computes."""

    version = "1.2.3"

    def run(self, model: bytes, inputs: dict[str, Any]) -> dict[str, Any]:
        return _evaluate(model, inputs)


def _evaluate(model: bytes, inputs: dict[str, Any]) -> dict[str, Any]:
    import onnx.reference

    evaluator = onnx.reference.ReferenceEvaluator(model)
    return dict(zip(evaluator.output_names, evaluator.run(None, inputs), strict=True))


def _sockets() -> list[int]:
    found = []
    for link in list(Path("/proc/self/fd").iterdir()):
        try:
            if str(link.readlink()).startswith("socket:"):
                found.append(int(link.name))
        except OSError:
            continue
    return found
