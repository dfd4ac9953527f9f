"""Runs a command so that everything it started ends with it, and with the process that asked for it.

Run by path in an interpreter of its own: standard library only, and ``linux.py`` beside it.
"""

from __future__ import annotations

import importlib.util
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from types import FrameType
from typing import Any

SECONDS = 5.0
"""How long killed processes may take to go."""


def guarded(command: Sequence[str]) -> list[str]:
    """The words that run ``command`` under guard; to end it early, send SIGTERM to their process.

    The guard ends with this process, too: it must be started from here.
    """
    # Without site: an environment's start-up files take longer than everything else here.
    return [sys.executable, "-I", "-S", str(Path(__file__).resolve()), str(os.getpid()), *command]


def main(parent: int, command: Sequence[str]) -> int:
    """Run a command, and end everything that it left behind.

    Args:
        parent: process id of who asked for it; nothing is run if that is gone.
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
    code = subprocess.Popen(list(command)).wait()
    linux.end_all_children(SECONDS)
    return code if code >= 0 else 128 - code


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), sys.argv[2:]))
