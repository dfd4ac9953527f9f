"""Runs a command so that everything it started ends with it, and with the process that asked for it.

Run by path in an interpreter of its own: standard library only, and ``linux.py`` beside it.
"""

from __future__ import annotations

import importlib.util
import os
import resource
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from types import FrameType
from typing import Any

SECONDS = 5.0
"""How long killed processes may take to go."""


def guarded(command: Sequence[str], *, file_bytes: int | None = None, data_bytes: int | None = None) -> list[str]:
    """The words that run ``command`` under guard; to end it early, send SIGTERM to their process.

    The guard ends with this process, too: it must be started from here.

    Args:
        command: program and arguments.
        file_bytes: longest file that it may write; ``None`` for no limit.
        data_bytes: private memory that each of its processes may take; it may raise that for itself.
    """
    # Without site: an environment's start-up files take longer than everything else here.
    limits = [str(-1 if most is None else most) for most in (file_bytes, data_bytes)]
    return [sys.executable, "-I", "-S", str(Path(__file__).resolve()), str(os.getpid()), *limits, *command]


def main(parent: int, limits: tuple[int, int], command: Sequence[str]) -> int:
    """Run a command, and end everything that it left behind.

    Args:
        parent: process id of who asked for it; nothing is run if that is gone.
        limits: bytes of a file, and of memory; -1 for none.
        command: program and arguments.

    Returns:
        Its exit code; 128 + N if it died by signal N.
    """
    spec = importlib.util.spec_from_file_location("irfuzz_isolate_linux", Path(__file__).with_name("linux.py"))
    assert spec is not None
    assert spec.loader is not None
    linux: Any = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(linux)

    def leave(_number: int, _frame: FrameType | None) -> None:
        linux.end_all_children(SECONDS)
        os._exit(128 + signal.SIGTERM)

    signal.signal(signal.SIGTERM, leave)
    linux.adopt_orphans()
    linux.signal_at_parents_death(signal.SIGTERM)
    if os.getppid() != parent:
        return 128 + signal.SIGTERM
    file_bytes, data_bytes = limits
    me = os.getpid()

    def limit() -> None:
        linux.signal_at_parents_death(signal.SIGKILL)  # if this process is killed nobody ends the command
        if os.getppid() != me:
            os._exit(128 + signal.SIGKILL)
        if file_bytes >= 0:
            linux.lower_limit(resource.RLIMIT_FSIZE, file_bytes)
        if data_bytes >= 0:
            linux.lower_limit(resource.RLIMIT_DATA, data_bytes, hard=False)

    code = subprocess.Popen(list(command), preexec_fn=limit).wait()  # noqa: PLW1509 - there is one thread
    linux.end_all_children(SECONDS)
    return code if code >= 0 else 128 - code


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), (int(sys.argv[2]), int(sys.argv[3])), sys.argv[4:]))
