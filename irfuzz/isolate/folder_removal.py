"""Removes folders that something hostile has filled: however deep they are, and whatever their permissions.

``shutil.rmtree`` goes down by recursion with a descriptor for each level, so a thousand folders in one another stop it.
It runs in workers too: standard library only.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Container
    from typing import TypeAlias  # workers of an older Python lack it

_SETFLAGS = 0x40086602
"""``FS_IOC_SETFLAGS`` of Linux."""

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


def remove_folder(path: str | os.PathLike[str], *, dir_fd: int | None = None) -> None:
    """Remove a folder with all that is in it; what cannot be removed stays, without an error. No link is followed.

    Args:
        path: of the folder; nothing happens if there is none.
        dir_fd: of the folder in which a relative ``path`` is; the working folder if omitted.
    """
    with contextlib.suppress(OSError):
        root = _opened(path, dir_fd)
        try:
            _empty(root)
        finally:
            os.close(root)
        os.rmdir(path, dir_fd=dir_fd)


Contents: TypeAlias = "dict[str, Contents | None]"
"""What is in a folder: the contents of folders by name, and ``None`` for all that is none."""


DEEPEST = 32
"""Levels below a folder down to which its contents are looked at."""


def contents(path: str | os.PathLike[str]) -> Contents:
    """What is in a folder now, with all that is in its subfolders.

    Args:
        path: of the folder; one that cannot be read counts as empty, and so does one more than ``DEEPEST`` levels down.
    """
    found: Contents = {}
    waiting = [(os.fspath(path), found, 0)]
    while waiting:
        folder, inside, level = waiting.pop()
        with contextlib.suppress(OSError), os.scandir(folder) as entries:
            for entry in entries:
                if not entry.is_dir(follow_symlinks=False):
                    inside[entry.name] = None
                    continue
                below = inside[entry.name] = {}
                if level < DEEPEST:
                    waiting.append((entry.path, below, level + 1))
    return found


def empty_folder(path: str | os.PathLike[str], *, keep: Contents) -> None:
    """Remove what is in a folder but for some of it; what cannot be removed stays, without an error.

    No link is followed, whatever has become of the folders in between.

    Args:
        path: of the folder; nothing happens if there is none.
        keep: what stays.
    """
    with contextlib.suppress(OSError):
        root = _opened(path, None)
        try:
            _keep_only(root, keep)
        finally:
            os.close(root)


def _keep_only(root: int, keep: Contents) -> None:
    for name in _without_files(root, keep):
        remove_folder(name, dir_fd=root)
    for name, inner in keep.items():
        if inner is None:
            continue
        with contextlib.suppress(OSError):  # it is gone, or no folder any more
            folder = _opened(name, root)
            try:
                _keep_only(folder, inner)
            finally:
                os.close(folder)


def _empty(root: int) -> None:
    """Remove all that is in a folder: its subfolders are moved up into it one by one, so that none is ever deep.

    Its own files go last, its lock among them: if this is cut short, the next campaign still knows the folder.
    """
    mark = os.urandom(8).hex()
    number = 0
    with os.scandir(root) as entries:
        waiting = [entry.name for entry in entries if entry.is_dir(follow_symlinks=False)]
    while waiting:
        name = waiting.pop()
        with contextlib.suppress(OSError):
            folder = _opened(name, root)
            try:
                for inner in _without_files(folder):
                    number += 1
                    with contextlib.suppress(OSError):
                        moved = f"{mark}-{number}"
                        os.rename(inner, moved, src_dir_fd=folder, dst_dir_fd=root)
                        waiting.append(moved)
            finally:
                os.close(folder)
            os.rmdir(name, dir_fd=root)
    _without_files(root)


def _without_files(folder: int, keep: Container[str] = ()) -> list[str]:
    """Remove what is no folder from a folder; the names of those that are, but for those of ``keep``."""
    names: list[str] = []
    with os.scandir(folder) as entries:
        found = [(e.name, e.is_dir(follow_symlinks=False)) for e in entries if e.name not in keep]
    for name, is_folder in found:
        if is_folder:
            names.append(name)
            continue
        with contextlib.suppress(OSError):
            try:
                os.unlink(name, dir_fd=folder)
            except PermissionError:  # marked as one that never changes, as root may
                _unmark(folder)
                file = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=folder)
                try:
                    _unmark(file)
                finally:
                    os.close(file)
                os.unlink(name, dir_fd=folder)
    return names


def _opened(path: str | os.PathLike[str], dir_fd: int | None) -> int:
    """A descriptor of a folder, in which its owner may do everything from then on.

    Raises:
        OSError: it is none, or another user's.
    """
    place = os.open(path, os.O_PATH | _FOLDER, dir_fd=dir_fd)
    try:
        this = f"/proc/self/fd/{place}"  # whatever becomes of the path
        with contextlib.suppress(OSError):  # another user's, or its file system has no permissions
            os.chmod(this, 0o700)  # noqa: PTH101 - beside ``os.open``
        return os.open(this, _FOLDER & ~os.O_NOFOLLOW)
    finally:
        os.close(place)


def _unmark(descriptor: int) -> None:
    """Allow changes of a file or folder that is marked immutable."""
    with contextlib.suppress(OSError):
        fcntl.ioctl(descriptor, _SETFLAGS, bytes(8))
