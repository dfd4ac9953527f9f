"""How a worker is described, its limits, and what it answers."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, TypeAlias

import numpy as np

from irfuzz.errors import UsageError
from irfuzz.isolate.transport import Tagged

Value: TypeAlias = "np.ndarray | Tagged | bytes | list[Value] | None"
"""What crosses the process border: a tensor of any numpy or ml_dtypes type (strings as object array of str or bytes),
bytes, a sequence, an empty optional. ``Tagged`` only where ml_dtypes lacks a type."""

ExitKind: TypeAlias = Literal["ok", "error", "crash", "exited", "hang", "memory", "protocol"]

GIB = 1 << 30


class StartError(UsageError):
    """A worker cannot be started: no such interpreter, a module that is missing or fails or dies on import."""


@dataclass(frozen=True, slots=True)
class WorkerSpec:
    """One component in one environment.

    Attributes:
        name: how messages call it.
        handler: Python file with ``handle(request: dict, values: list) -> (dict, list)``, and optionally ``warm()``
            (run in each child after the fork, before its first request) and ``describe() -> dict`` (component and
            version). It may import only the standard library, numpy and the component. If it has ``program() -> list``,
            that command takes the place of each child and speaks the protocol itself (docs/worker_protocol.md).
        preload: modules that are imported once, before any fork.
        python: interpreter of the component's environment (Python 3.7 or newer with numpy).
        env: environment variables on top of irfuzz's own and of ``worker.SINGLE_THREADED``.
        allowed: what the sandbox leaves to it (docs/security.md): ``network``, ``files`` (it may change all that the
            user may), ``home`` (the user's own), or paths that it may change.
    """

    name: str
    handler: Path
    preload: tuple[str, ...] = ()
    python: str = sys.executable
    env: Mapping[str, str] = field(default_factory=dict)
    allowed: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Limits:
    """What a request may take.

    Attributes:
        seconds: wall time of one request.
        memory_bytes: memory of the child and its children over that of the zygote; ``None`` for no limit.
        start_seconds: wall time of all imports, and of ``warm()`` and ``describe()``.
        answer_bytes: longest answer that is accepted.
        result_bytes: most bytes of the values of one request's answer; a handler that gives more has raised
            ``NotImplementedError``, and they stay in the child. ``None`` for no limit of their own.
        file_bytes: longest file that a child may write, and what may lie in the worker's scratch folder between two
            requests: of more all is removed, and a new child goes on.
        log_bytes: how much of what a child prints during one request is kept.
    """

    seconds: float = 10.0
    memory_bytes: int | None = 4 * GIB
    start_seconds: float = 120.0
    answer_bytes: int = GIB
    result_bytes: int | None = None
    file_bytes: int = GIB
    log_bytes: int = 1 << 20


@dataclass(frozen=True, slots=True)
class Reply:
    """What became of one request.

    Attributes:
        exit: ``ok``; ``error`` (the handler raised); ``crash`` (died by a signal); ``exited`` (ended itself);
            ``hang`` (over its time); ``memory`` (over its memory); ``protocol`` (rubbish, or a closed pipe).
        response: what the handler returned first, if ``ok``.
        values: what it returned second.
        error: ``type``, ``message`` and ``traceback`` of the exception, if there was one.
        signal: name of the signal, if ``crash``.
        exit_code: if ``exited``.
        log: what was printed during the request, head and tail, unless ``ok``.
        seconds: wall time of the handler; if it did not answer, of the whole request.
        detail: one line that says what happened, unless ``ok``.
        served: requests that this child had answered before. If it is not 0, something that an earlier request left
            behind may be the cause: ``call(..., fresh=True)`` tells.
        memory: bytes of RAM that the child held more than its zygote, at the answer or (if it died) at its peak.
        warming: True if it was not the request but ``warm()`` that failed, so that the request never ran.
        before: what went wrong in the child after its previous answer (it died, it wrote again); empty otherwise.
        each: if several requests were sent as one and were answered, the reply to each, as far as it came.
        place: of several requests that were sent as one, the place of the one that failed or ran.
    """

    exit: ExitKind
    response: dict[str, Any] = field(default_factory=dict)
    values: list[Value] = field(default_factory=list)
    error: dict[str, str] = field(default_factory=dict)
    signal: str = ""
    exit_code: int | None = None
    log: str = ""
    seconds: float = 0.0
    detail: str = ""
    served: int = 0
    memory: int = 0
    warming: bool = False
    before: str = ""
    each: list[Reply] = field(default_factory=list["Reply"])
    place: int = 0
