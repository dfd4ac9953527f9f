"""Targets at their worst, each in one way; name them as ``tests/planted_targets/hostile.py:ForkBomb``.

Most compute what onnx's reference evaluator computes, so that nothing but the harm itself gives them away. What they
take is bounded: a few gigabytes, some hundred processes.
"""

from __future__ import annotations

import contextlib
import ctypes
import mmap
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np

FOREVER = 3600
"""Seconds; longer than any campaign of a test."""

GIB = 1 << 30


def _evaluate(model: bytes, inputs: dict[str, Any]) -> dict[str, Any]:
    import onnx.reference

    evaluator = onnx.reference.ReferenceEvaluator(model)
    return dict(zip(evaluator.output_names, evaluator.run(None, inputs), strict=True))


class _Right:
    """Computes what it should after, or before, it has done its harm."""

    def run(self, model: bytes, inputs: dict[str, Any]) -> dict[str, Any]:
        self.harm()
        return _evaluate(model, inputs)

    def harm(self) -> None:
        """What is wrong with it."""


class Nothing(_Right):
    """Nothing is wrong with it: what a campaign does beside the others is compared with this."""


# ---- it does not come back -----------------------------------------------------------------------


class Spins(_Right):
    """Computes for ever, and ignores every signal that can be ignored."""

    def harm(self) -> None:
        for number in range(1, 32):
            if number not in (signal.SIGKILL, signal.SIGSTOP):
                signal.signal(number, signal.SIG_IGN)
        while True:
            pass


class HoldsTheLock(_Right):
    """Waits in C for ever and keeps the interpreter's lock."""

    def harm(self) -> None:
        ctypes.PyDLL(None).sleep(FOREVER)


class Stops(_Right):
    """Stops its process."""

    def harm(self) -> None:
        os.kill(os.getpid(), signal.SIGSTOP)


class StopsParent(_Right):
    """Stops the process that started it, and waits."""

    def harm(self) -> None:
        os.kill(os.getppid(), signal.SIGSTOP)
        time.sleep(FOREVER)


class Slow(_Right):
    """Takes a hundred times as long as it should."""

    def run(self, model: bytes, inputs: dict[str, Any]) -> dict[str, Any]:
        began = time.monotonic()
        outputs = _evaluate(model, inputs)
        time.sleep(99 * (time.monotonic() - began))
        return outputs


class NearlyHangs(_Right):
    """Takes four seconds for every program, which is within the usual limit."""

    def harm(self) -> None:
        time.sleep(4)


# ---- processes -----------------------------------------------------------------------------------


class ForkBomb(_Right):
    """Becomes 128 processes, each in a session of its own, that wait."""

    def harm(self) -> None:
        for _ in range(7):
            with contextlib.suppress(OSError):
                if os.fork() == 0:
                    os.setsid()
        time.sleep(FOREVER)


class LeavesChild(_Right):
    """Leaves a process behind at every call: of another session, with no parent, no descriptors, no environment."""

    def harm(self) -> None:
        middle = os.fork()
        if middle == 0:
            os.setsid()
            if os.fork() == 0:
                os.closerange(0, 1 << 12)
                os.execve("/bin/sleep", ["sleep", str(FOREVER)], {})
            os._exit(0)
        os.waitpid(middle, 0)


class KillsParent(_Right):
    """Kills the process that started it, and waits."""

    def harm(self) -> None:
        os.kill(os.getppid(), signal.SIGKILL)
        time.sleep(FOREVER)


class LeavesChildAndKillsParent(_Right):
    """Leaves a process of another session behind, and kills the process that would have ended it."""

    def harm(self) -> None:
        subprocess.Popen(["/bin/sleep", str(FOREVER)], start_new_session=True, close_fds=True)
        os.kill(os.getppid(), signal.SIGKILL)
        time.sleep(FOREVER)


class DiesLater(_Right):
    """Answers, and aborts a moment later."""

    def harm(self) -> None:
        threading.Timer(0.05, os.abort).start()


class OverflowsStack(_Right):
    """Calls itself through C until the stack ends."""

    def harm(self) -> None:
        box: list[Any] = []
        box.append(ctypes.CFUNCTYPE(None, ctypes.c_int)(lambda n: box[0](n + 1)))
        sys.setrecursionlimit(1 << 30)
        box[0](0)


# ---- memory and disk -----------------------------------------------------------------------------


class SharedHog(_Right):
    """Takes 6 GiB of shared memory, which no limit of a process counts."""

    def harm(self) -> None:
        kept: list[mmap.mmap] = []
        for _ in range(6 * 64):
            kept.append(mmap.mmap(-1, 16 << 20))
            kept[-1].write(b"x" * (16 << 20))
        time.sleep(FOREVER)


class Leaks(_Right):
    """Keeps 50 MB more at every call."""

    kept: list[np.ndarray]

    def __init__(self) -> None:
        self.kept = []

    def harm(self) -> None:
        self.kept.append(np.ones(50_000_000, np.uint8))


class LongFile(_Right):
    """Writes a file of 3 GiB into its working folder."""

    def harm(self) -> None:
        block = bytes(64 << 20)
        with Path("long").open("wb") as file:
            file.writelines(block for _ in range(48))


class Litters(_Right):
    """Leaves 8 MiB in the folder of temporary files at every call."""

    def harm(self) -> None:
        file, _ = tempfile.mkstemp()
        os.write(file, bytes(8 << 20))
        os.close(file)


class Hoards(_Right):
    """Opens files until it may open no more."""

    def harm(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                os.open(os.devnull, os.O_RDONLY)


# ---- what it finds about itself ------------------------------------------------------------------


class Chatters(_Right):
    """Prints 1 GiB at every call."""

    def harm(self) -> None:
        block = b"chatter\n" * (1 << 17)
        for _ in range(512):
            for fd in (1, 2):
                with contextlib.suppress(OSError):
                    os.write(fd, block)


class ClosesAll(_Right):
    """Closes every descriptor that it has."""

    def harm(self) -> None:
        os.closerange(0, 1 << 12)


class ChangesFolder(_Right):
    """Leaves its working folder for the one above, and writes there."""

    def harm(self) -> None:
        os.chdir("..")
        Path(f"stray-{time.monotonic_ns()}").write_bytes(bytes(1 << 20))


class RemovesFolder(_Right):
    """Removes its working folder."""

    def harm(self) -> None:
        with contextlib.suppress(OSError):
            shutil.rmtree(Path.cwd())


class RemovesTemporary(_Right):
    """Removes the folder of temporary files, with all that irfuzz has there for its process."""

    def harm(self) -> None:
        shutil.rmtree(tempfile.gettempdir(), ignore_errors=True)


class SpoilsInputs:
    """Overwrites its inputs, and removes them."""

    def run(self, model: bytes, inputs: dict[str, Any]) -> dict[str, Any]:
        outputs = _evaluate(model, inputs)
        for value in inputs.values():
            if isinstance(value, np.ndarray) and value.dtype != object:
                value[...] = np.zeros((), value.dtype)
        inputs.clear()
        return outputs


# ---- what it answers -----------------------------------------------------------------------------


class _Wrong:
    """Computes what it should, and spoils it."""

    def run(self, model: bytes, inputs: dict[str, Any]) -> dict[str, Any]:
        outputs = _evaluate(model, inputs)
        return {name: self.spoilt(value) if isinstance(value, np.ndarray) else value for name, value in outputs.items()}

    def spoilt(self, value: np.ndarray) -> np.ndarray:
        """What becomes of a tensor."""
        raise NotImplementedError


class WrongType(_Wrong):
    """Answers in double what should be float."""

    def spoilt(self, value: np.ndarray) -> np.ndarray:
        return value.astype(np.float64) if value.dtype == np.float32 else value


class WrongShape(_Wrong):
    """Answers with a dimension too many."""

    def spoilt(self, value: np.ndarray) -> np.ndarray:
        return value[None]


class NotNumbers(_Wrong):
    """Answers NaN."""

    def spoilt(self, value: np.ndarray) -> np.ndarray:
        return np.full_like(value, np.nan) if value.dtype.kind == "f" else value


class Fickle(_Wrong):
    """Answers something else each time."""

    def spoilt(self, value: np.ndarray) -> np.ndarray:
        if value.dtype.kind != "f":
            return value
        return (value + np.random.default_rng().integers(1, 100, value.shape)).astype(value.dtype)


class LongAnswer(_Right):
    """Answers with 2 GiB."""

    def run(self, model: bytes, inputs: dict[str, Any]) -> dict[str, Any]:
        return {name: np.zeros(2 * GIB, np.uint8) for name in list(_evaluate(model, inputs))[:1]}


class ManyAnswers(_Right):
    """Answers with half a million outputs that nobody asked for."""

    def run(self, model: bytes, inputs: dict[str, Any]) -> dict[str, Any]:
        return {**_evaluate(model, inputs), **{f"output {n}": np.zeros(1, np.uint8) for n in range(500_000)}}


class NoAnswer(_Right):
    """Answers with none of the outputs."""

    def run(self, model: bytes, inputs: dict[str, Any]) -> dict[str, Any]:
        return {}


class LongMessage(_Right):
    """Refuses every model with a message of half a gigabyte."""

    def harm(self) -> None:
        raise ValueError("x" * (GIB // 2))


class NewMessage(_Right):
    """Refuses every model with a message of its own."""

    def harm(self) -> None:
        raise ValueError(f"cannot do {os.urandom(8).hex()}")


class NoMessage(_Right):
    """Refuses every model with an exception that cannot be shown."""

    def harm(self) -> None:
        class Mute(Exception):
            def __str__(self) -> str:
                raise RuntimeError("no")

        raise Mute
