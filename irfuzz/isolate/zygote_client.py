"""Starts a zygote from a worker's specification, forks children from it, reports their deaths, and ends all of it."""

from __future__ import annotations

import contextlib
import json
import os
import select
import socket
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from irfuzz import stop_request
from irfuzz.isolate import linux, stray_processes
from irfuzz.isolate.output_log import OutputLog
from irfuzz.isolate.sandbox_report import allowed_to_all
from irfuzz.isolate.scratch_folder import ScratchFolder
from irfuzz.isolate.scratch_quota import ScratchQuota
from irfuzz.isolate.worker_spec_and_reply import Limits, StartError, WorkerSpec
from irfuzz.process_limits import on_memory

SINGLE_THREADED = {
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "NUMEXPR_NUM_THREADS": "1",
    "TF_NUM_INTRAOP_THREADS": "1",
    "TF_NUM_INTEROP_THREADS": "1",
    "TF_CPP_MIN_LOG_LEVEL": "3",
    "ORT_DISABLE_TELEMETRY": "1",
    "PYTHONHASHSEED": "0",
}
"""Environment of every worker: one thread a worker, quiet, repeatable. ``WorkerSpec.env`` overrides it."""

SCRIPT = Path(__file__).with_name("zygote.py")
ANSWER_SECONDS = 15.0
"""How long a zygote may take to fork or kill: far more than it needs even on a busy machine."""
MESSAGE = 65536


_scratch: set[ScratchFolder] = set()
"""Folders of the zygotes that run, for a process that has to end without closing them."""


def end_everything() -> None:
    """Kill all processes below this one, whoever started them; they are not reaped here."""
    for pid in linux.descendants(os.getpid()):
        linux.kill(pid)


def remove_scratch() -> None:
    """Remove the folders of zygotes that nobody is going to close; for a process that ends at once."""
    for folder in _scratch.copy():
        folder.close()


stop_request.at_stop(end_everything)


class ZygoteGone(Exception):
    """The zygote itself died or no longer answers, which only a hostile child or the machine can cause."""


@dataclass(frozen=True, slots=True)
class ChildDeath:
    """The end of a child: wait status, largest resident size in bytes, and whether the zygote was asked to kill it."""

    status: int
    peak: int
    killed: bool


class ZygoteClient:
    """The process that has imported the component, seen from irfuzz."""

    __slots__ = (
        "_deadline",
        "_folder",
        "_hello",
        "_limits",
        "_log",
        "_owner",
        "_process",
        "_spec",
        "child",
        "control",
        "death",
        "quota",
        "resident",
        "scratch",
        "versions",
    )  # fmt: skip

    def __init__(self, spec: WorkerSpec, limits: Limits) -> None:
        """Start the interpreter and return at once; ``ready`` waits for its imports.

        Raises:
            StartError: the interpreter or the handler file cannot be run.
            UsageError: what the user leaves to workers is not what can be left.
        """
        if not sys.platform.startswith("linux"):
            raise StartError(f"worker processes need Linux (memfd, prctl, /proc), this is {sys.platform}")
        if not spec.handler.is_file():
            raise StartError(f"worker {spec.name}: no handler file {spec.handler}")
        allowed = [*spec.allowed, *allowed_to_all()]
        self._spec = spec
        self._limits = limits
        self._owner = os.getpid()
        self._log = OutputLog(limits.log_bytes)
        self.child: int | None = None
        self.death: ChildDeath | None = None
        self.resident = 0
        self.versions: dict[str, str] = {}
        self._folder = ScratchFolder()
        self.scratch = self._folder.path
        self.quota = ScratchQuota(self.scratch, limits.file_bytes)
        _scratch.add(self._folder)
        # Whole messages, and file descriptors with them.
        self.control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        try:
            self._process = stray_processes.start(
                [spec.python, str(SCRIPT), str(theirs.fileno())],
                stdin=subprocess.DEVNULL, stdout=self._log.fd, stderr=self._log.fd,
                pass_fds=[theirs.fileno(), self._folder.lock],  # it holds its folder, whatever becomes of us
                env=self._environment(), cwd=self.scratch,
                start_new_session=True,  # Ctrl-C in the terminal is for irfuzz alone
            )  # fmt: skip
        except OSError as error:
            self._free()
            raise StartError(
                f"worker {spec.name}: cannot run interpreter {spec.python}: {error.strerror}; "
                "name the Python executable of the environment that holds the component"
            ) from error
        finally:
            theirs.close()
        self._hello = False
        self._deadline = time.monotonic() + limits.start_seconds + ANSWER_SECONDS
        setup = {
            "preload": list(spec.preload),
            "handler": str(spec.handler.resolve()),
            "scratch": str(self.scratch),
            "allowed": allowed,
            "start_seconds": limits.start_seconds,
        }
        with contextlib.suppress(OSError):  # already dead: ``ready`` says why
            self.control.send(json.dumps(setup).encode())

    def _environment(self) -> dict[str, str]:
        env = {**os.environ, **SINGLE_THREADED, "TMPDIR": str(self.scratch)}
        if os.path.realpath(self._spec.python) != os.path.realpath(sys.executable):
            # Another interpreter must not import this one's packages.
            for name in ("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV"):
                env.pop(name, None)
        env.update(self._spec.env)
        return env

    @property
    def pid(self) -> int:
        """Process id of the zygote."""
        return self._process.pid

    def ready(self) -> None:
        """Wait until everything is imported; returns at once if it is.

        Raises:
            StartError: it is not going to be; the message names the interpreter and the module.
        """
        if self._hello:
            return
        who = f"worker {self._spec.name}: interpreter {self._spec.python}"
        step = ""
        while True:
            try:
                message = self._receive(self._deadline - time.monotonic())
            except ZygoteGone:
                with contextlib.suppress(subprocess.TimeoutExpired):
                    self._process.wait(ANSWER_SECONDS)
                words = self._log.text().strip()  # one that does not end is destroyed, and its log with it
                code = self._finish()
                self.close()
                how = f"died with {linux.signal_name(-code)}" if code < 0 else f"ended with code {code}"
                if code == -14:  # SIGALRM: the kernel's own timer, set by the zygote
                    how = f"was not ready after {self._limits.start_seconds:g} s"
                where = f" while importing {step}" if step else " before it ran irfuzz's script; is it a Python?"
                raise StartError(f"{who} {how}{where}{on_memory()}" + (f"\n{words}" if words else "")) from None
            if message["op"] == "importing":
                step = message["what"]
            elif message["op"] == "failed":
                self.close()
                raise StartError(self._explain(who, message))
            elif message["op"] == "ready":
                self.resident = message["resident"]
                self.versions = {"python": message["python"], "numpy": message["numpy"]}
                self.quota.begin()
                self._hello = True
                return

    @staticmethod
    def _explain(who: str, failed: dict[str, Any]) -> str:
        if failed["missing"] is not None:
            return (
                f"{who} has no module {failed['missing']} (needed by {failed['what']}); "
                "install it in that environment or name another interpreter"
            )
        why = f"{failed['type']}: {failed['message']}{on_memory()}"
        return f"{who} failed to import {failed['what']}: {why}\n{failed['traceback']}"

    def _receive(self, seconds: float) -> dict[str, Any]:
        """The next message of the zygote."""
        poll = select.poll()
        poll.register(self.control, select.POLLIN)
        try:
            raw = self.control.recv(MESSAGE) if poll.poll(max(0.0, seconds) * 1000) else b""
        except OSError as error:
            raise ZygoteGone(str(error)) from error
        if not raw:
            raise ZygoteGone("closed its socket")
        return json.loads(raw)

    def _command(self, message: dict[str, Any], fds: list[int] | None = None) -> None:
        try:
            socket.send_fds(self.control, [json.dumps(message).encode()], fds or [])
        except OSError as error:
            raise ZygoteGone(str(error)) from error

    def hear(self, seconds: float = 0.0) -> ChildDeath | None:
        """The death of the child, if it is told within ``seconds``.

        Raises:
            ZygoteGone: it is the zygote that died.
        """
        end = time.monotonic() + seconds
        poll = select.poll()
        poll.register(self.control, select.POLLIN)
        while self.death is None and poll.poll(max(0.0, end - time.monotonic()) * 1000):
            message = self._receive(0)
            if message["op"] == "died" and message["pid"] == self.child:
                self.death = ChildDeath(message["status"], message["peak"], message["killed"])
        return self.death

    def fork(self, data_fd: int, log_fd: int, cwd: Path) -> int:
        """Make a child that serves requests, in place of the one before it.

        Args:
            data_fd: stream socket that the child reads requests from.
            log_fd: takes what it prints.
            cwd: its working folder.

        Returns:
            Its process id.

        Raises:
            StartError: the machine refuses another process.
            ZygoteGone: the zygote died.
        """
        self.death = None
        self._command(
            {
                "op": "fork", "cwd": str(cwd), "file_bytes": self._limits.file_bytes,
                "memory_bytes": self._limits.memory_bytes, "request_bytes": 1 << 40,
                "result_bytes": self._limits.result_bytes,
            },
            [data_fd, log_fd],
        )  # fmt: skip
        while True:
            message = self._receive(ANSWER_SECONDS)
            if message["op"] == "nofork":
                raise StartError(f"worker {self._spec.name}: cannot fork a child: {message['message']}")
            if message["op"] == "forked":
                self.child = message["pid"]
                return message["pid"]

    def kill(self, dump: bool) -> ChildDeath:
        """End the child, its session and its orphans; with ``dump`` its log gets a traceback first.

        Raises:
            ZygoteGone: the zygote died or does not manage it.
        """
        self._command({"op": "kill", "dump": dump})
        death = self.hear(ANSWER_SECONDS)
        if death is None:
            raise ZygoteGone("did not report the end of its child")
        return death

    def _finish(self) -> int:
        """Wait for the zygote, kill it and all below it if it does not end; its return code."""
        try:
            return self._process.wait(ANSWER_SECONDS)
        except subprocess.TimeoutExpired:
            return self.destroy()

    def destroy(self) -> int:
        """Kill the zygote and everything below it without its help, and free what it had.

        Returns:
            Its return code; -N if it died by signal N.
        """
        below = linux.descendants(self._process.pid) if self._process.poll() is None else []
        if self._process.returncode is None:
            linux.kill(self._process.pid)
            self._process.wait()
        for pid in [*below, *([self.child] if self.child is not None and self.death is None else [])]:
            linux.kill(pid)
        code = self._process.wait()
        self._free()
        return code

    def close(self) -> None:
        """End everything and reap it; may be called twice. A fork of irfuzz only closes its copies of descriptors."""
        if os.getpid() != self._owner:
            self.control.close()
            self._log.close()
            self._folder.release()
            return
        self.control.close()  # the zygote takes that as the command to leave
        if self._hello:
            self._finish()
            self._free()
        else:
            self.destroy()  # it imports, perhaps for ever, and hears nothing

    def _free(self) -> None:
        stray_processes.end_strays()
        self.control.close()
        self._log.close()
        self._folder.close()
        _scratch.discard(self._folder)
