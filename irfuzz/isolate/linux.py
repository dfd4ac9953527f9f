"""The few Linux calls that Python lacks: memory, children, deaths and cores of processes.

It runs in workers too: standard library only.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import resource
import signal
import time
from pathlib import Path

PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36
PAGE = os.sysconf("SC_PAGESIZE")


def _prctl(option: int, argument: int) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(option, ctypes.c_ulong(argument), 0, 0, 0) != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"prctl({option}, {argument}): {os.strerror(number)}")


def signal_at_parents_death(number: int) -> None:
    """Have the kernel send this process a signal when its parent (in fact the parent's thread that made it) dies.

    A parent that is gone already sends nothing: compare ``os.getppid()`` afterwards.
    """
    _prctl(PR_SET_PDEATHSIG, number)


def adopt_orphans() -> None:
    """Become the new parent of descendants whose parent dies, so that they can be found and ended."""
    _prctl(PR_SET_CHILD_SUBREAPER, 1)


def signal_name(number: int) -> str:
    """``SIGSEGV`` for 11; ``SIG40`` for one without a name."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"SIG{number}"


def children(pid: int) -> list[int]:
    """Process ids of the children of all threads of a process; empty if it is gone.

    A kernel without ``/proc/PID/task/TID/children`` has all processes looked through.
    """
    found: list[int] = []
    try:
        for task in Path(f"/proc/{pid}/task").iterdir():
            found += map(int, (task / "children").read_text().split())
    except FileNotFoundError:
        # The process is gone, or the kernel was built without CONFIG_PROC_CHILDREN.
        return [] if Path("/proc/self/task").joinpath(str(os.getpid()), "children").exists() else _children_by_scan(pid)
    except OSError:
        return found
    return found


def _children_by_scan(pid: int) -> list[int]:
    found: list[int] = []
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            parent = (process / "stat").read_text().rpartition(")")[2].split()[1]
            if int(parent) == pid:
                found.append(int(process.name))
    return found


def descendants(pid: int) -> list[int]:
    """Process ids of all that stem from a process, itself not among them, at about this moment.

    Orphans that another process adopted are not found.
    """
    found: list[int] = []
    todo = [pid]
    while todo:
        below = children(todo.pop())
        found += below
        todo += below
    return found


def resident(pid: int) -> int:
    """Bytes of memory that a process holds in RAM; 0 if it is gone."""
    try:
        return int(Path(f"/proc/{pid}/statm").read_bytes().split()[1]) * PAGE
    except (OSError, IndexError):
        return 0


def is_running(pid: int) -> bool:
    """Whether a process runs; one that has ended, and gave its files and locks back, does not, be it reaped or not."""
    try:
        return Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()[0] not in (b"Z", b"X")
    except (OSError, IndexError):
        return False


def processor_times(pid: int) -> dict[int, tuple[int, int]]:
    """How long each thread of a process ran, and was ready to run and had no processor, by thread; empty if unknown.

    In nanoseconds since the thread began (the first two numbers of ``schedstat``).
    """
    found: dict[int, tuple[int, int]] = {}
    with contextlib.suppress(OSError):
        for task in Path(f"/proc/{pid}/task").iterdir():
            with contextlib.suppress(OSError, ValueError):
                ran, waited, _ = map(int, (task / "schedstat").read_bytes().split())
                found[int(task.name)] = ran, waited
    return found


def is_ready(task: int) -> bool:
    """Whether a thread has a processor, or waits for nothing else."""
    try:
        return Path(f"/proc/{task}/stat").read_bytes().rpartition(b")")[2].split()[0] == b"R"
    except (OSError, IndexError):
        return False


def data_size() -> int:
    """Bytes of this process that ``RLIMIT_DATA`` counts: private writable memory, reservations left out."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmData:"):
            return int(line.split()[1]) * 1024
    raise OSError("/proc/self/status has no VmData")


def lower_limit(which: int, most: int, *, hard: bool = True) -> None:
    """Set a limit of this process to ``most``, or to its hard limit if that is lower.

    Args:
        which: of ``resource``, such as ``RLIMIT_FSIZE``.
        most: the new limit.
        hard: the hard limit goes down, too, so that nothing raises it again.
    """
    ceiling = resource.getrlimit(which)[1]
    limit = most if ceiling == resource.RLIM_INFINITY else min(most, ceiling)
    resource.setrlimit(which, (limit, limit if hard else ceiling))


def kill(pid: int) -> None:
    """Send SIGKILL to a process and the group it leads; silent if they are gone. It is not waited for."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, signal.SIGKILL)
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)


def wait_for(pid: int, seconds: float) -> tuple[int, int] | None:
    """Wait for a child's end, and reap it.

    Args:
        pid: of a child of this process.
        seconds: how long; 0 looks once.

    Returns:
        Wait status and largest resident size in bytes, or ``None`` if it lives longer than ``seconds``.
    """
    end = time.monotonic() + seconds
    pause = 0.0002
    while True:
        gone, status, usage = os.wait4(pid, os.WNOHANG)
        if gone:
            return status, usage.ru_maxrss * 1024
        if time.monotonic() >= end:
            return None
        time.sleep(pause)
        pause = min(pause * 2, 0.01)


def end_all_children(seconds: float) -> int:
    """Kill and reap every child of this process, and the orphans that become its children, until none is left.

    Args:
        seconds: when to give up, since the kernel may hold a process.

    Returns:
        How many were reaped.
    """
    end = time.monotonic() + seconds
    reaped = 0
    while True:
        for pid in children(os.getpid()):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        try:
            while os.waitpid(-1, os.WNOHANG)[0]:
                reaped += 1
        except ChildProcessError:
            return reaped
        if time.monotonic() >= end:
            return reaped
        time.sleep(0.001)


def stay_on_core(number: int, of: int) -> None:
    """Keep this process, and all that it starts from now on, on one core, if ``of`` such processes fill them all.

    A job and its worker take turns, so that nothing is lost by sharing a core, and neither moves about.
    """
    cores = sorted(os.sched_getaffinity(0))
    if of >= len(cores):
        os.sched_setaffinity(0, {cores[number % len(cores)]})
