"""Runs a command so that everything it started ends with it, and with the process that asked for it.

Run by path in an interpreter of its own: standard library only, and ``linux.py`` beside it.
"""

from __future__ import annotations

import importlib.util
import json
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


def guarded(
    command: Sequence[str],
    *,
    file_bytes: int | None = None,
    data_bytes: int | None = None,
    folder: Path | None = None,
    allowed: Sequence[str] = (),
) -> list[str]:
    """The words that run ``command`` under guard; to end it early, send SIGTERM to their process.

    The guard ends with this process, too: it must be started from here.

    Args:
        command: program and arguments.
        file_bytes: longest file that it may write; ``None`` for no limit.
        data_bytes: private memory that each of its processes may take; it may raise that for itself.
        folder: of its own, which is all that it may change, in a worker's sandbox; ``None`` for no sandbox.
        allowed: what the sandbox leaves to it (``WorkerSpec.allowed``).
    """
    # Without site: an environment's start-up files take longer than everything else here.
    limits = [str(-1 if most is None else most) for most in (file_bytes, data_bytes)]
    words = ["" if folder is None else str(folder), json.dumps([*allowed])]
    return [sys.executable, "-I", "-S", str(Path(__file__).resolve()), str(os.getpid()), *limits, *words, *command]


def main(parent: int, limits: tuple[int, int], sandbox: tuple[str, list[str]], command: Sequence[str]) -> int:
    """Run a command, and end everything that it left behind.

    Args:
        parent: process id of who asked for it; nothing is run if that is gone.
        limits: bytes of a file, and of memory; -1 for none.
        sandbox: the folder that the command may change, empty for no sandbox, and what is left to it.
        command: program and arguments.

    Returns:
        Its exit code; 128 + N if it died by signal N.
    """
    linux = _beside("linux")

    def leave(_number: int, _frame: FrameType | None) -> None:
        linux.end_all_children(SECONDS)
        os._exit(128 + signal.SIGTERM)

    signal.signal(signal.SIGTERM, leave)
    linux.adopt_orphans()
    linux.signal_at_parents_death(signal.SIGTERM)
    if os.getppid() != parent:
        return 128 + signal.SIGTERM
    file_bytes, data_bytes = limits
    folder, allowed = sandbox
    walls = _beside("sandbox")
    writable = walls.writable_for(folder, allowed) if folder else None
    if folder:
        walls.confine_zygote(folder, allowed)
    me = os.getpid()

    def limit() -> None:
        linux.signal_at_parents_death(signal.SIGKILL)  # if this process is killed nobody ends the command
        if os.getppid() != me:
            os._exit(128 + signal.SIGKILL)
        walls.confine_child(writable)
        if file_bytes >= 0:
            linux.lower_limit(resource.RLIMIT_FSIZE, file_bytes)
        if data_bytes >= 0:
            linux.lower_limit(resource.RLIMIT_DATA, data_bytes, hard=False)

    code = subprocess.Popen(list(command), preexec_fn=limit).wait()  # noqa: PLW1509 - there is one thread
    linux.end_all_children(SECONDS)
    return code if code >= 0 else 128 - code


def _beside(name: str) -> Any:
    """A file of this folder as a module."""
    spec = importlib.util.spec_from_file_location(f"irfuzz_isolate_{name}", Path(__file__).with_name(f"{name}.py"))
    assert spec is not None
    assert spec.loader is not None
    module: Any = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


if __name__ == "__main__":
    _parent, _file, _data, _folder, _allowed, *_command = sys.argv[1:]
    sys.exit(main(int(_parent), (int(_file), int(_data)), (_folder, json.loads(_allowed)), _command))
