"""Ends what workers left behind after somebody killed the zygote that would have ended it.

An orphan becomes the child of the nearest process above it that adopts orphans: of its zygote as long as that lives,
then of this process, if it adopts any. A child of this process that it did not start and that is of another session is
such an orphan: each child of a zygote leads a session, and nobody gets out of one into this process's own. So what
others have started here, such as an oracle of the user's that has a process to ask, stays as it is.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import threading
import time
import weakref
from typing import Any, cast

from irfuzz.isolate import linux

SECONDS = 5.0
"""How long killed processes may take to go."""

# Of the process as a whole, as its children are.
_lock = threading.Lock()
_started: weakref.WeakSet[subprocess.Popen[bytes]] = weakref.WeakSet()
_adopting = False


def adopt() -> None:
    """Adopt orphans from now on; for a process that starts others in sessions of their own through ``start`` alone."""
    global _adopting  # noqa: PLW0603 - a property of the process
    linux.adopt_orphans()
    _adopting = True


def start(command: list[str], **options: Any) -> subprocess.Popen[bytes]:
    """Start a process that is no stray one.

    Args:
        command: program and arguments.
        options: of ``subprocess.Popen``.

    Raises:
        OSError: it cannot be started.
    """
    with _lock:
        process = cast("subprocess.Popen[bytes]", subprocess.Popen(command, **options))
        _started.add(process)
    return process


def end_strays() -> int:
    """Kill and reap the orphans that this process adopted, with all below them; nothing if it adopts none.

    Returns:
        How many were reaped.
    """
    reaped = 0
    end = time.monotonic() + SECONDS
    while _adopting:
        with _lock:
            own = {process.pid for process in _started if process.returncode is None}
            strays = [pid for pid in linux.children(os.getpid()) if pid not in own and _is_of_another_session(pid)]
        if not strays or time.monotonic() > end:
            break
        for pid in strays:
            linux.kill(pid)
            with contextlib.suppress(ChildProcessError):
                reaped += os.waitpid(pid, os.WNOHANG)[0] == pid
        time.sleep(0.001)
    return reaped


def _is_of_another_session(pid: int) -> bool:
    try:
        return os.getsid(pid) != os.getsid(0)
    except ProcessLookupError:
        return False
