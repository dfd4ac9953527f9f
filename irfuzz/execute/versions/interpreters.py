"""Finds the Python interpreter that a version names."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

from irfuzz.errors import UsageError
from irfuzz.execute.versions.environments import version_key

OLDEST = (3, 7)
"""What the code of workers keeps to."""

_VERSION = re.compile(r"3\.\d+(\.\d+)?")


def find_interpreter(wanted: str) -> str:
    """The interpreter that ``3.7`` or ``3.7.16`` names, on the path or among pyenv's; a path stays what it is.

    Raises:
        UsageError: there is none, or it is older than what workers keep to.
    """
    if _VERSION.fullmatch(wanted) is None:
        return wanted
    if tuple(map(int, wanted.split(".")[:2])) < OLDEST:
        raise UsageError(f"--python {wanted}: workers need Python {OLDEST[0]}.{OLDEST[1]} or newer")
    found = next(_candidates(wanted), None)
    if found is None:
        raise UsageError(f"--python {wanted}: no python{wanted} on the path, and none of pyenv; give its path")
    return found


def _candidates(wanted: str) -> Iterator[str]:
    """Those of pyenv first: its shims on the path run only what the folder has chosen."""
    root = Path(os.environ.get("PYENV_ROOT") or "~/.pyenv").expanduser()
    versions = [f for f in (root / "versions").glob("3.*") if f.name == wanted or f.name.startswith(wanted + ".")]
    for folder in sorted(versions, key=lambda f: version_key(f.name), reverse=True):
        if os.access(folder / "bin" / "python", os.X_OK):
            yield str(folder / "bin" / "python")
    on_path = shutil.which(f"python{wanted}")
    if on_path is not None and root not in Path(on_path).parents:
        yield on_path
