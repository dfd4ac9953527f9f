"""Takes from a process, and from all that it starts, what a component under test has no business with.

It gets a network of its own with nothing but a loopback and shared memory of its own, may change files in its own
folder only, and finds an empty home there; all as far as the kernel allows, and none of it can be undone. Run by path
it tries that on itself and writes what holds here. It runs in workers too: Python 3.7 and the standard library only.
docs/security.md says what is left.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import fcntl
import functools
import json
import os
import platform
import site
import socket
import stat
import struct
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

SHARED_MEMORY = "/dev/shm"  # noqa: S108 - it is no temporary folder
"""The folder of named semaphores and shared memory; what a killed process leaves there stays until it is removed."""

WORDS = ("network", "files", "home")
"""What may be given back by name; anything else that is given back is a path that may be changed."""

CACHES = ("~/.nv/ComputeCache",)
"""Kept for later runs if they are there: what a GPU's driver compiled, minutes of work. No processor runs it."""

HOMES = {
    "XDG_CACHE_HOME": ".cache",
    "XDG_CONFIG_HOME": ".config",
    "XDG_DATA_HOME": ".local/share",
    "XDG_STATE_HOME": ".local/state",
    "XDG_RUNTIME_DIR": ".run",
}
"""Where a desktop's programs keep what is theirs, in a home."""

DEVICES = ("null", "zero", "full", "random", "urandom", "tty", "ptmx", "pts", "shm", "dri", "kfd", "accel", "dxg")
"""What may be written in ``/dev``, besides ``nvidia*``: never a disk, whoever the user is."""

_THREADS = ("/proc/self/task",)
"""Where NVIDIA's driver (570 and newer) names the threads that it starts: without it ``cuInit`` fails with 304. It is
this process's own folder, so that what it starts in turn has no CUDA (https://github.com/NVIDIA/OpenShell/issues/1486).
"""

_CLONE_NEWNS, _CLONE_NEWUSER, _CLONE_NEWNET = 0x20000, 0x10000000, 0x40000000
_MS_NOSUID, _MS_NODEV, _MS_BIND, _MS_REC, _MS_SLAVE = 1 << 1, 1 << 2, 1 << 12, 1 << 14, 1 << 19
_MNT_DETACH = 2
_PR_SET_NO_NEW_PRIVS = 38
_SIOCGIFFLAGS, _SIOCSIFFLAGS, _IFF_UP = 0x8913, 0x8914, 1

_LANDLOCK_CREATE_RULESET, _LANDLOCK_ADD_RULE, _LANDLOCK_RESTRICT_SELF = 444, 445, 446
_OLDEST_LANDLOCK = 2
"""The first version that allows a file to be renamed into another folder; compilers and caches do that."""
_WRITE_FILE, _TRUNCATE = 1 << 1, 1 << 14
_CHANGES = _WRITE_FILE | sum(1 << bit for bit in range(4, 14))
"""Writing, removing, making of every kind, and moving (``LANDLOCK_ACCESS_FS_*``); reading is left alone."""
_SCOPES = 0b11
"""Sockets with abstract names, and signals, end at the sandbox (version 6 of Landlock)."""

_MACHINES = {
    "x86_64": (0xC000003E, 317, 41, 302),
    "aarch64": (0xC00000B7, 277, 198, 261),
    "riscv64": (0xC00000F3, 277, 198, 261),
}
"""``AUDIT_ARCH``, and the numbers of ``seccomp``, ``socket`` and ``prlimit64``, by machine."""
_IO_URING_SETUP = 425
_X32 = 0x40000000


def confine_zygote(folder: str, allowed: Sequence[str]) -> dict[str, str]:
    """Take home, network and the machine's shared memory from this process, and from all that it starts from now on.

    It has one thread yet.

    Args:
        folder: of its own; the home is made there.
        allowed: what it needs all the same: ``WORDS``, and paths that it may change (``~`` is the user's home); a
            folder is made of what is not there.

    Returns:
        What holds, by word, and by what means; a word is missing if nothing does.
    """
    for path in _paths(allowed, caches=()):
        with contextlib.suppress(OSError):
            path.mkdir(parents=True, exist_ok=True)
    holds = {}
    if "home" not in allowed:
        holds["home"] = _own_home(folder, _paths(allowed))
    own = [
        *(["network"] if "network" not in allowed else []),
        *(["memory"] if _keeps_own_memory(folder, allowed) else []),
    ]
    entered = _own_namespaces(own)
    if "network" in own:
        holds["network"] = "namespace" if "network" in entered else "seccomp" if _refuse_internet_sockets() else ""
    if "memory" in entered:
        holds["memory"] = "mount namespace"
    return {word: how for word, how in holds.items() if how}


def confine_child(writable: Sequence[str] | None) -> dict[str, str]:
    """Let this process, and all that it starts from now on, change files below these paths only, and no process.

    Args:
        writable: of ``writable_for``.

    Returns:
        As ``confine_zygote``.
    """
    if writable is None:
        return {}
    how = _read_only_but(writable)
    _keep_limits_of_others()
    return {"files": how} if how else {}


def writable_for(folder: str, allowed: Sequence[str]) -> list[str] | None:
    """What a child may change: its folder and what it needs; ``None`` for everything. Asked before the home changes."""
    if "files" in allowed:
        return None
    return [folder, *map(str, _paths(allowed)), *([str(Path.home())] if "home" in allowed else [])]


def _paths(allowed: Sequence[str], caches: Sequence[str] = CACHES) -> list[Path]:
    return [Path(path).expanduser() for path in (*caches, *allowed) if path not in WORDS]


# ---- home -----------------------------------------------------------------------------------


def _own_home(folder: str, kept: Iterable[Path]) -> str:
    """Make an empty home in a folder; what is ``kept`` of the user's and is there is linked into it."""
    before, home = Path.home(), Path(folder, "home")
    # Processes that it starts find what `pip install --user` installed all the same.
    os.environ.setdefault("PYTHONUSERBASE", site.getuserbase())
    os.environ["HOME"] = str(home)
    for variable, name in HOMES.items():
        (home / name).mkdir(0o700, parents=True, exist_ok=True)
        os.environ[variable] = str(home / name)
    for path in kept:
        if path.exists() and before in path.parents and not (home / path.relative_to(before)).exists():
            (home / path.relative_to(before)).parent.mkdir(parents=True, exist_ok=True)
            (home / path.relative_to(before)).symlink_to(path)
    return "scratch"


# ---- network and shared memory --------------------------------------------------------------


def _keeps_own_memory(folder: str, allowed: Sequence[str]) -> bool:
    """Whether a process with a folder that is left this much has shared memory of its own.

    Not if ``/dev/shm`` is left to it, nor if that is the temporary folder, in which others make folders for it later.
    """
    place = Path(SHARED_MEMORY)
    if "files" in allowed or Path(folder).parent == place:
        return False
    return not any(path in (place, *place.parents) for path in _paths(allowed, caches=()))


def _own_namespaces(words: Sequence[str]) -> list[str]:
    """Leave the network, for a namespace with a loopback and nothing else, and the machine's shared memory.

    Args:
        words: ``network``, ``memory``.

    Returns:
        Those that hold: all, if the machine allows it.
    """
    entered = [word for word in words if _entered(word)]  # the user may administer the machine
    rest = [word for word in words if word not in entered]
    # A user namespace without a user in it is of no use, and there is no way back: another process tries it first. One
    # who administers the machine has rights to lose there, which shared memory alone is not worth.
    tries: list[list[str]] = [rest, ["network"]] if "network" in rest else [rest] if rest and os.geteuid() else []
    for some in tries:
        if _succeeds_in_a_fork(functools.partial(_enter_namespaces, some)):
            _enter_namespaces(some)
            return entered + some
    return entered


def _entered(word: str) -> bool:
    """Enter a namespace with the rights that this process has; false if they do not suffice."""
    flag, prepare = _NAMESPACES[word]
    try:
        _checked(_libc().unshare(flag))
        prepare()
    except OSError:
        return False
    return True


def _enter_namespaces(words: Sequence[str]) -> None:
    """Enter a user namespace, in which everybody may make others, as the same user without more rights.

    Raises:
        OSError: the machine does not allow it.
    """
    user, group = os.geteuid(), os.getegid()
    _checked(_libc().unshare(_CLONE_NEWUSER | sum(_NAMESPACES[word][0] for word in words)))
    for name, text in (("setgroups", "deny"), ("uid_map", f"{user} {user} 1"), ("gid_map", f"{group} {group} 1")):
        with open(f"/proc/self/{name}", "w") as file:  # noqa: PTH123
            file.write(text)
    for word in words:
        _NAMESPACES[word][1]()
    if user:
        header, nothing = struct.pack("=Ii", 0x20080522, 0), bytes(24)  # version 3 of capabilities, of this process
        _checked(_libc().capset(header, nothing))


def _mount_own_memory() -> None:
    """Put an empty file system over ``/dev/shm``, which ends with the last process that sees it.

    Folders that are there are seen in it: named memory is a file, and the temporary folder may be one of them.

    Raises:
        OSError: there is no such place, or nothing may be mounted.
    """
    before = os.open(SHARED_MEMORY, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        _mount("none", "/", flags=_MS_REC | _MS_SLAVE)  # nobody outside sees what is mounted here
        _mount("tmpfs", SHARED_MEMORY, "tmpfs", _MS_NOSUID | _MS_NODEV, "mode=1777")
        try:
            with os.scandir(before) as entries:
                for name in [entry.name for entry in entries if entry.is_dir(follow_symlinks=False)]:
                    _bind(f"/proc/self/fd/{before}/{name}", f"{SHARED_MEMORY}/{name}")
        except OSError:
            _libc().umount2(SHARED_MEMORY.encode(), _MNT_DETACH)
            raise
    finally:
        os.close(before)


def _bind(folder: str, place: str) -> None:
    """Let a folder be seen at a new place, unless it was removed meanwhile.

    Raises:
        OSError: that is not allowed.
    """
    os.mkdir(place)  # noqa: PTH102 - as text
    try:
        _mount(folder, place, flags=_MS_BIND | _MS_REC)
    except FileNotFoundError:
        os.rmdir(place)  # noqa: PTH106


def _mount(source: str, place: str, kind: str = "", flags: int = 0, options: str = "") -> None:
    text = [os.fsencode(one) for one in (source, place, kind)]
    _checked(_libc().mount(*text, ctypes.c_ulong(flags), os.fsencode(options)))


def _raise_loopback() -> None:
    """Let processes of a new network namespace talk to one another."""
    with contextlib.suppress(OSError), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        flags = fcntl.ioctl(any_socket, _SIOCGIFFLAGS, struct.pack("16sh14x", b"lo", 0))
        up = struct.unpack("16sh14x", flags)[1] | _IFF_UP
        fcntl.ioctl(any_socket, _SIOCSIFFLAGS, struct.pack("16sh14x", b"lo", up))


_NAMESPACES: dict[str, tuple[int, Callable[[], None]]] = {
    "network": (_CLONE_NEWNET, _raise_loopback),
    "memory": (_CLONE_NEWNS, _mount_own_memory),
}
"""The flag of each, and what has to be done in it."""


def _succeeds_in_a_fork(function: Any) -> bool:
    """Whether a function raises nothing in another process."""
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            function()
            code = 0
        finally:
            os._exit(code)
    return os.waitpid(pid, 0)[1] == 0


def _refuse_internet_sockets() -> bool:
    """Have the kernel refuse every socket but those between processes and to itself, with EPERM.

    Returns:
        Whether it does.
    """
    if platform.machine() not in _MACHINES:
        return False
    audit, seccomp, making_a_socket, _ = _MACHINES[platform.machine()]
    program = [
        (_LOAD, 0, 0, 4),  # the architecture
        (_EQUAL, 0, 7, audit),
        (_LOAD, 0, 0, 0),  # the call's number
        (_AT_LEAST, 5, 0, _X32),
        (_EQUAL, 4, 0, _IO_URING_SETUP),  # which makes sockets, too
        (_EQUAL, 0, 4, making_a_socket),
        (_LOAD, 0, 0, 16),  # the socket's family
        (_EQUAL, 2, 0, socket.AF_UNIX),
        (_EQUAL, 1, 2, socket.AF_NETLINK),
        _MISSING,
        _ALLOWED,
        _REFUSED,
    ]
    return _filter_calls(program, seccomp)


def _keep_limits_of_others() -> None:
    """Have the kernel refuse, with EPERM, that this process sets limits of another one, as of its open files.

    The kernel allows that among processes of one user, and no other part of the sandbox sees it.
    """
    if platform.machine() not in _MACHINES:
        return
    audit, seccomp, _, setting_limits = _MACHINES[platform.machine()]
    program = [
        (_LOAD, 0, 0, 4),  # the architecture
        (_EQUAL, 0, 9, audit),
        (_LOAD, 0, 0, 0),  # the call's number
        (_AT_LEAST, 7, 0, _X32),
        (_EQUAL, 0, 7, setting_limits),
        (_LOAD, 0, 0, 16),  # whose
        (_EQUAL, 5, 0, 0),  # its own
        (_LOAD, 0, 0, 32),  # where the new limit stands, in two halves: nowhere if it only asks
        (_EQUAL, 0, 4, 0),
        (_LOAD, 0, 0, 36),
        (_EQUAL, 1, 2, 0),
        _MISSING,
        _ALLOWED,
        _REFUSED,
    ]
    _filter_calls(program, seccomp)


_LOAD, _EQUAL, _AT_LEAST, _GIVE = 0x20, 0x15, 0x35, 0x06
"""Codes of a filter: load a word of the call; jump as it equals a constant, or is at least it; return."""
_MISSING = (_GIVE, 0, 0, 0x00050000 | errno.ENOSYS)
_ALLOWED = (_GIVE, 0, 0, 0x7FFF0000)
_REFUSED = (_GIVE, 0, 0, 0x00050000 | errno.EPERM)


def _filter_calls(program: Sequence[tuple[int, int, int, int]], seccomp: int) -> bool:
    """Have the kernel run a filter before each system call of this process.

    Args:
        program: code, how many rows to skip if it holds and if not, and a constant.
        seccomp: number of that system call.

    Returns:
        Whether it does.
    """
    code = ctypes.create_string_buffer(b"".join(struct.pack("=HBBI", *row) for row in program))
    pointed = _Program(len(program), ctypes.addressof(code))
    with contextlib.suppress(OSError):
        _without_new_rights()
        # Flag 4: older kernels slow down each process with a filter otherwise (SSBD).
        _system_call(seccomp, 1, 4, ctypes.byref(pointed))
        return True
    return False


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("code", ctypes.c_void_p))


# ---- files ----------------------------------------------------------------------------------


class _Ruleset(ctypes.Structure):
    _fields_ = (("files", ctypes.c_uint64), ("net", ctypes.c_uint64), ("scopes", ctypes.c_uint64))


class _Beneath(ctypes.Structure):
    _pack_ = 1
    _fields_ = (("access", ctypes.c_uint64), ("place", ctypes.c_int32))


def _read_only_but(paths: Sequence[str]) -> str:
    """Have the kernel refuse changes of files, but below ``paths`` and in devices that compute (Landlock)."""
    try:
        version = _system_call(_LANDLOCK_CREATE_RULESET, None, ctypes.c_size_t(0), 1)
        if version < _OLDEST_LANDLOCK:
            return ""
        changes = _CHANGES | (_TRUNCATE if version >= 3 else 0)
        rules = _Ruleset(changes, 0, _SCOPES if version >= 6 else 0)
        ruleset = _system_call(_LANDLOCK_CREATE_RULESET, ctypes.byref(rules), ctypes.c_size_t(ctypes.sizeof(rules)), 0)
    except OSError:
        return ""
    try:
        devices = _devices()
        for path in (*paths, *devices, *(_THREADS if _has_gpu(devices) else ())):
            with contextlib.suppress(OSError):  # not there: nothing to change
                _allow(ruleset, path, changes)
        _without_new_rights()
        _system_call(_LANDLOCK_RESTRICT_SELF, ruleset, 0)
    except OSError:
        return ""
    finally:
        os.close(ruleset)
    return f"Landlock {version}"


def _allow(ruleset: int, path: str, changes: int) -> None:
    place = os.open(path, os.O_PATH | os.O_CLOEXEC)
    try:
        if not stat.S_ISDIR(os.fstat(place).st_mode):
            changes &= _WRITE_FILE | _TRUNCATE
        rule = _Beneath(changes, place)
        _system_call(_LANDLOCK_ADD_RULE, ruleset, 1, ctypes.byref(rule), 0)
    finally:
        os.close(place)


def _devices(folder: str = "/dev") -> list[str]:
    with contextlib.suppress(OSError):
        return [str(path) for path in Path(folder).iterdir() if path.name in DEVICES or path.name.startswith("nvidia")]
    return []


def _has_gpu(devices: Iterable[str]) -> bool:
    """Whether some of the devices are NVIDIA's (``dxg`` under WSL)."""
    return any(Path(device).name.startswith("nvidia") or Path(device).name == "dxg" for device in devices)


# ---- the kernel -----------------------------------------------------------------------------


def _libc() -> Any:
    return ctypes.CDLL(None, use_errno=True)


def _checked(answer: int) -> int:
    if answer < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return answer


def _system_call(number: int, *arguments: Any) -> int:
    return _checked(_libc().syscall(ctypes.c_long(number), *arguments))


def _without_new_rights() -> None:
    """No program that is started gains rights; without this the kernel takes no restriction of an ordinary user."""
    _checked(_libc().prctl(_PR_SET_NO_NEW_PRIVS, *map(ctypes.c_ulong, (1, 0, 0, 0))))


def main(folder: str, allowed: Sequence[str]) -> None:
    """Confine this process as a worker with a folder, and write what holds as JSON."""
    writable = writable_for(folder, allowed)
    sys.stdout.write(json.dumps({**confine_zygote(folder, allowed), **confine_child(writable)}))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
