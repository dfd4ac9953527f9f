"""Runs scripts of findings in fresh processes, each on a copy of its folder and under the limits of a worker."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from irfuzz.isolate import Limits, stray_processes
from irfuzz.isolate.guard import guarded
from irfuzz.isolate.printed_output import ended, printed
from irfuzz.isolate.sandbox_report import allowed_to_all
from irfuzz.isolate.scratch_folder import ScratchFolder
from irfuzz.report.repro_scripts.code_templates import FROM_HERE

IMPORTS = 1 << 30
"""Bytes that a framework may take before it has run anything."""

WORKER = Limits()


@dataclass(frozen=True, slots=True)
class ScriptEnd:
    """How a script ended.

    Attributes:
        code: its exit code; ``None`` if it was ended for taking too long.
        output: what it printed; of much the beginning and the end.
    """

    code: int | None
    output: bytes

    @property
    def shows(self) -> bool:
        """Whether it is a ``repro.py`` that shows its fault; a script that cannot be run at all exits with 1 too."""
        return self.code == 1 and b"the fault shows" in self.output.splitlines()


@contextmanager
def copied(folder: Path) -> Generator[tuple[Path, Path]]:
    """A copy of a finding's folder and an empty working folder beside it; both are removed afterwards.

    A target that empties its working folder, or that in which its model lies, takes nothing of the user's.
    """
    with ScratchFolder("replay") as scratch:
        own, work = scratch.path / "finding", scratch.path / "work"
        shutil.copytree(folder, own)  # links to weights become files of their own
        work.mkdir()
        yield own, work


def run_script(
    command: Sequence[str],
    work: Path,
    env: Mapping[str, str],
    *,
    seconds: float,
    limits: Limits = WORKER,
    errors: bool,
    allowed: Sequence[str] = (),
) -> ScriptEnd:
    """Run a command in a working folder and a worker's sandbox, with temporary files beside it.

    All that it started is ended with it.

    Args:
        command: program and arguments.
        work: its working folder, in a scratch folder.
        env: its environment.
        seconds: after which it is ended.
        limits: of memory, beyond what a framework takes, and of files.
        errors: what it writes to standard error is part of its output.
        allowed: what the sandbox leaves to it, beside what the user leaves to all workers.
    """
    data = None if limits.memory_bytes is None else limits.memory_bytes + IMPORTS
    process = stray_processes.start(
        guarded(
            command,
            file_bytes=limits.file_bytes,
            data_bytes=data,
            folder=work.parent,
            allowed=[*allowed, *allowed_to_all()],
        ),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT if errors else subprocess.DEVNULL,
        start_new_session=True,
        cwd=work,
        env={**env, "TMPDIR": str(work.parent)},
    )
    try:
        output = printed(process, seconds)
    except subprocess.TimeoutExpired as error:
        process.terminate()  # the guard ends what the script has started, too
        ended(process)
        return ScriptEnd(None, error.output)
    except BaseException:
        process.terminate()
        ended(process)
        raise
    return ScriptEnd(process.returncode, output)


def replays(
    folder: Path,
    *,
    seconds: float,
    python: str = sys.executable,
    limits: Limits = WORKER,
    allowed: Sequence[str] = (),
) -> tuple[bool, str]:
    """Run a folder's ``repro.py`` in a fresh process, on a copy of the folder.

    Args:
        folder: made by ``write_bundle``.
        seconds: after which it is ended, and counts as not shown.
        python: the interpreter of the environment that holds the blamed version.
        limits: of memory, beyond what a framework takes, and of files.
        allowed: what the sandbox leaves to it.

    Returns:
        Whether it said that the fault shows and exited with 1, and what it printed.
    """
    try:
        end = run_repro(folder, seconds=seconds, python=python, limits=limits, allowed=allowed)
    except OSError as error:  # no room for temporary files is no room in the campaign's folder
        return False, f"it cannot be run: {error}"
    text = end.output.decode(errors="replace")
    if end.code is None:
        return False, f"{text}\nended after {seconds:.3g} s"
    return end.shows, text


def run_repro(
    folder: Path,
    *,
    seconds: float,
    python: str = sys.executable,
    limits: Limits = WORKER,
    allowed: Sequence[str] = (),
) -> ScriptEnd:
    """Run a folder's ``repro.py`` as ``replays`` does, for callers that tell 0 (it does not show) from 2 (it cannot be
    told).

    Args:
        folder: see ``replays``.
        seconds: likewise.
        python: likewise.
        limits: likewise.
        allowed: likewise.

    Raises:
        OSError: it cannot be run.
    """
    env = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": "1"}
    if python == sys.executable:
        env["PYTHONPATH"] = os.pathsep.join(_path(folder / "repro.py"))
    else:
        env.pop("PYTHONPATH", None)  # another environment must not import this one's packages
    with copied(folder) as (own, work):
        command = [python, str(own / "repro.py")]
        return run_script(command, work, env, seconds=seconds, limits=limits, errors=True, allowed=allowed)


def _path(script: Path) -> list[str]:
    """Where modules are found: along this process's path, and classes of the user's from this process's folder.

    That comes last, and only for scripts that look there: its files may have the names of other modules.
    """
    path = [str(Path(place).absolute()) for place in sys.path if place]
    return [*path, str(Path.cwd())] if FROM_HERE in script.read_text(encoding="utf-8") else path
