"""Refuses environments whose installed distributions cannot work together, with a usage error."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version

from irfuzz.errors import UsageError

_SAME_FILES = ("onnxruntime", "onnxruntime-gpu")
"""Distributions that install one package over each other; ``pip check`` does not notice."""


def check_environment() -> None:
    """Refuse to run in an environment whose results would mean nothing; imports no framework.

    Raises:
        UsageError: ``onnxruntime`` and ``onnxruntime-gpu`` are both installed, so that the files of one lie among
            those of the other and no version number says which of them runs.
    """
    found = [f"{name} {number}" for name in _SAME_FILES if (number := installed_version(name)) is not None]
    if len(found) > 1:
        raise UsageError(
            f"{' and '.join(found)} are both installed and overwrite each other's files; run "
            f"`pip uninstall {' '.join(_SAME_FILES)}`, then install one of them again "
            "(irfuzz[onnxruntime] or irfuzz[gpu])"
        )


def installed_version(distribution: str) -> str | None:
    """The version of an installed distribution, or ``None``; reads its metadata and imports nothing.

    Args:
        distribution: its name on PyPI, which need not be that of the package (``onnxruntime-gpu``).
    """
    try:
        return version(distribution)
    except PackageNotFoundError:
        return None
