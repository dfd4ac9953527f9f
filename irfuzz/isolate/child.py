"""The process in which a component under test runs: it answers requests over a socket until that closes.

It is forked from the zygote and may die in any way; it needs only Python 3.7, numpy and what the handler imports.
"""

from __future__ import annotations

import contextlib
import errno
import faulthandler
import io
import os
import resource
import signal
import socket
import sys
import time
import traceback
from types import ModuleType
from typing import Any

PIPE_GONE = 113
"""Exit code of a child that could not answer because its socket was closed under it."""
MAX_TEXT = 16000
LOG_START = 8
"""Length of the number at the beginning of the log that tells which of several requests is being answered."""


class LossyLog(io.RawIOBase):
    """Standard output or error, bounded: what no longer fits is dropped without an error for who prints."""

    def __init__(self, fd: int) -> None:
        self._fd = fd

    def writable(self) -> bool:
        return True

    def fileno(self) -> int:
        return self._fd

    def write(self, data: Any) -> int:
        with contextlib.suppress(OSError):
            os.write(self._fd, data)
        return memoryview(data).nbytes


class BoundedHandler:
    """A handler that raises ``NotImplementedError`` instead of giving values that take too many bytes.

    Args:
        handler: what answers; it is asked for everything else, too.
        most: bytes; ``None`` for no limit.
    """

    def __init__(self, handler: Any, most: int | None) -> None:
        self._handler = handler
        self._most = most

    def __getattr__(self, name: str) -> Any:
        return getattr(self._handler, name)

    def handle(self, request: dict[str, Any], values: list[Any]) -> Any:
        answer = self._handler.handle(request, values)
        if self._most is not None and isinstance(answer, tuple) and answer:
            size = _size(answer[-1])
            if size > self._most:
                raise NotImplementedError(f"outputs of {size >> 20} MiB; at most {self._most >> 20} MiB are compared")
        return answer


def _size(value: Any) -> int:
    """Bytes of what a handler gives; what is no value has none."""
    if isinstance(value, list):
        return sum(map(_size, value))
    return len(value) if isinstance(value, bytes) else getattr(value, "nbytes", 0)


def _redirect(log_fd: int) -> None:
    """Let file descriptors 0, 1 and 2 be nothing, the log and the log."""
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.dup2(log_fd, 1)
    os.dup2(log_fd, 2)
    if null > 2:
        os.close(null)
    os.set_inheritable(log_fd, False)  # noqa: FBT003 - stays open for us alone
    for name, fd in (("stdout", 1), ("stderr", 2)):
        stream = io.TextIOWrapper(
            io.BufferedWriter(LossyLog(fd)), "utf-8", "backslashreplace", line_buffering=True, write_through=fd == 2
        )
        setattr(sys, name, stream)
        setattr(sys, f"__{name}__", stream)


def _limit(setup: dict[str, Any]) -> None:
    from .linux import lower_limit

    # The limit 1 stops core dumps to files and, unlike 0, also those to a program (core(5)).
    lower_limit(resource.RLIMIT_CORE, 1)
    lower_limit(resource.RLIMIT_FSIZE, setup["file_bytes"])
    if setup["data_bytes"] is not None:
        # Private writable memory only: RLIMIT_AS would count the address space that CUDA and allocators merely reserve.
        # The hard limit stays, so that an answer can still be made after memory ran out.
        lower_limit(resource.RLIMIT_DATA, setup["data_bytes"], hard=False)


def _become(command: list[str], data: socket.socket, setup: dict[str, Any]) -> None:
    """Put another program in the place of this process, which keeps its socket, its log, its limits and its sandbox.

    Args:
        command: of the handler; the number of the socket and the most bytes of a result (0 for no limit) are added.
        data: stream socket to the parent.
        setup: as for ``run``.
    """
    os.set_inheritable(data.fileno(), True)  # noqa: FBT003 - keyword is not accepted
    os.execv(command[0], [*command, str(data.fileno()), str(setup["result_bytes"] or 0)])  # noqa: S606 - no shell is wanted


def run(transport: ModuleType, handler: ModuleType, data: socket.socket, log_fd: int, setup: dict[str, Any]) -> None:
    """Serve requests until the socket closes; never returns.

    Args:
        transport: the module ``transport.py``.
        handler: the loaded handler file.
        data: stream socket to the parent.
        log_fd: takes standard output and error.
        setup: ``cwd``, ``file_bytes``, ``data_bytes`` and ``result_bytes`` (or ``None``), ``request_bytes``.
    """
    code = 1
    try:
        os.chdir(setup["cwd"])
        _redirect(log_fd)
        _limit(setup)
        if hasattr(handler, "program"):
            _become(handler.program(), data, setup)
        bounded = BoundedHandler(_watched(handler), setup["result_bytes"])
        served = HandlerInOwnFolder(bounded, setup["cwd"])
        faulthandler.enable(file=2, all_threads=False)
        faulthandler.register(signal.SIGUSR1, file=2, all_threads=True)
        code = _serve(transport, served, data, log_fd, setup["request_bytes"])
    except SystemExit as leave:
        code = leave.code if isinstance(leave.code, int) else int(leave.code is not None)
    except BaseException:  # noqa: BLE001 - the last line of defence before os._exit, which would say nothing
        traceback.print_exc()
    finally:
        with contextlib.suppress(Exception):
            sys.stdout.flush()
        os._exit(code & 0xFF)


class HandlerInOwnFolder:
    """A handler of which every request begins in the child's own folder.

    An earlier request may have left or removed that: then it is made again, so that nothing is written elsewhere.
    """

    def __init__(self, handler: Any, cwd: str) -> None:
        self._handler = handler
        self._cwd = cwd

    def __getattr__(self, name: str) -> Any:
        return getattr(self._handler, name)

    def handle(self, request: dict[str, Any], values: list[Any]) -> Any:
        """What the handler answers."""
        with contextlib.suppress(OSError):
            try:
                os.chdir(self._cwd)
            except FileNotFoundError:
                os.makedirs(self._cwd)  # noqa: PTH103 - as text
                os.chdir(self._cwd)
        return self._handler.handle(request, values)


def _watched(handler: Any) -> Any:
    """The handler; if ``IRFUZZ_LINES`` names Python code, its answers tell which lines of that ran (``lines``)."""
    names = os.environ.get("IRFUZZ_LINES")
    if not names:
        return handler
    from .line_tracer import TracedHandler

    return TracedHandler(handler, names.split(os.pathsep))


def _serve(transport: Any, handler: Any, data: socket.socket, log_fd: int, request_bytes: int) -> int:
    reader = transport.FrameReader(data.recv_into, request_bytes)
    while True:
        try:
            request_id, meta, body = reader.read()
        except transport.Closed:
            return 0
        except OSError:
            return PIPE_GONE
        message, values = transport.decode(meta, body)
        parts = _answer(transport, handler, request_id, message, values, log_fd)
        del message, values, body
        try:
            transport.write(data.sendmsg, parts)
        except OSError:
            return PIPE_GONE
        del parts


def _answer(
    transport: Any, handler: Any, request_id: int, message: dict[str, Any], values: list[Any], log_fd: int
) -> list[Any]:
    """Run the handler and encode what it says or raises."""
    began = time.perf_counter()
    try:
        response, results = _dispatch(handler, message, values, log_fd)
        seconds = time.perf_counter() - began
        return transport.encode(request_id, {"exit": "ok", "response": response, "seconds": seconds}, results)
    except SystemExit:
        raise
    except BaseException as error:  # noqa: BLE001 - whatever the component raises is the answer
        seconds = time.perf_counter() - began
        kind = "memory" if isinstance(error, MemoryError) else "error"
        soft, hard = resource.getrlimit(resource.RLIMIT_DATA)
        resource.setrlimit(resource.RLIMIT_DATA, (hard, hard))  # room to tell it
        try:
            return transport.encode(request_id, {"exit": kind, "error": _tell(error), "seconds": seconds})
        finally:
            resource.setrlimit(resource.RLIMIT_DATA, (soft, hard))


def _tell(error: BaseException) -> dict[str, str]:
    """Type, message and traceback as text of bounded length, even of an exception that cannot be printed."""
    try:
        message = str(error)
    except Exception as second:  # noqa: BLE001 - __str__ of a foreign exception
        message = f"(its message cannot be shown: {type(second).__name__})"
    if isinstance(error, OSError) and error.errno == errno.EFBIG:
        message += (
            f"; the limit on the size of a file (ulimit -f) is {resource.getrlimit(resource.RLIMIT_FSIZE)[0]} bytes"
        )
    try:
        trace = "".join(traceback.format_exception(type(error), error, error.__traceback__))
    except Exception as second:  # noqa: BLE001
        trace = f"(its traceback cannot be shown: {type(second).__name__})"
    return {"type": type(error).__name__, "message": message[:MAX_TEXT], "traceback": trace[-MAX_TEXT:]}


def _dispatch(handler: Any, message: dict[str, Any], values: list[Any], log_fd: int) -> Any:
    kind = message["kind"]
    if kind == "calls":
        return _each(handler, message["calls"], values, log_fd)
    if kind == "warm":
        if hasattr(handler, "warm"):
            handler.warm()
        return {}, []
    if kind == "describe":
        return (handler.describe() if hasattr(handler, "describe") else {}), []
    return _checked(handler, handler.handle(message["request"], values))


def _each(handler: Any, calls: list[dict[str, Any]], values: list[Any], log_fd: int) -> Any:
    """Answer requests one after the other, up to the first that raises."""
    answers: list[dict[str, Any]] = []
    results: list[Any] = []
    at = 0
    for place, call in enumerate(calls):
        with contextlib.suppress(OSError):  # a component may have closed whatever it found open
            os.pwrite(log_fd, place.to_bytes(LOG_START, "little"), 0)
            os.lseek(log_fd, LOG_START, os.SEEK_SET)  # what earlier requests printed is nobody's concern any more
        mine = values[at : at + call["count"]]
        at += len(mine)
        began = time.perf_counter()
        try:
            response, made = _checked(handler, handler.handle(call["request"], mine))
        except (SystemExit, MemoryError):
            raise
        except BaseException as error:  # noqa: BLE001 - whatever the component raises is the answer
            answers.append({"exit": "error", "error": _tell(error), "seconds": time.perf_counter() - began})
            break
        seconds = time.perf_counter() - began
        answers.append({"exit": "ok", "response": response, "seconds": seconds, "count": len(made)})
        results.extend(made)
    return {"answers": answers}, results


def _checked(handler: Any, answer: Any) -> Any:
    if not (isinstance(answer, tuple) and len(answer) == 2 and isinstance(answer[0], dict)):
        what = type(answer).__name__
        raise TypeError(f"handle() of {handler.__file__} returned {what}; expected (dict, list of values)")
    return answer
