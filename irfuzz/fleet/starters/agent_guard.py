"""Runs a command and ends it when standard input is closed, which also happens when the parent process dies.

``python -m irfuzz.fleet.starters.agent_guard COMMAND...``; the exit code is that of the command.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Sequence
from typing import IO

GRACE = 10.0
"""Seconds between SIGTERM, by which an agent ends cleanly, and SIGKILL."""


def guard(words: Sequence[str], held: IO[bytes]) -> int:
    """Run a command as long as a stream is open; its exit code.

    Args:
        words: the command.
        held: ends when the command is to end; what comes through it is not read.
    """
    process = subprocess.Popen(words, stdin=subprocess.DEVNULL)
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, lambda _number, _frame: process.terminate())
    threading.Thread(target=_end_with, args=(held, process), daemon=True).start()
    return process.wait()


def _end_with(held: IO[bytes], process: subprocess.Popen[bytes]) -> None:
    with contextlib.suppress(OSError):
        while os.read(held.fileno(), 4096):
            continue
    process.terminate()
    try:
        process.wait(GRACE)
    except subprocess.TimeoutExpired:
        process.kill()


if __name__ == "__main__":
    sys.exit(guard(sys.argv[1:], sys.stdin.buffer))
