"""Finds shipped data folders on disk: in a wheel, an editable install or a checkout."""

from __future__ import annotations

from pathlib import Path

from irfuzz.errors import InternalError

_PACKAGE = Path(__file__).resolve().parent


def ops_dir() -> Path:
    """The folder of operator overlays (``*.toml``), as ``data_dir`` finds it.

    Raises:
        InternalError: the installation lacks it.
    """
    return data_dir("ops")


def seeds_dir() -> Path:
    """The folder of seed models with its ``index.toml``, as ``data_dir`` finds it.

    Raises:
        InternalError: the installation lacks it.
    """
    return data_dir("seeds")


def data_dir(name: str, package: Path = _PACKAGE) -> Path:
    """The folder of shipped data called ``name``, for the package that lies in ``package``.

    A wheel carries it as ``irfuzz/_data/NAME``. In a checkout, and in an editable install (whose modules are
    those of the checkout), it stands beside the package and a ``pyproject.toml``; without that file a folder
    called ``ops`` beside the package belongs to somebody else.

    Raises:
        InternalError: it is in neither place.
    """
    installed = package / "_data" / name
    if installed.is_dir():
        return installed
    root = package.parent
    if (root / "pyproject.toml").is_file() and (root / name).is_dir():
        return root / name
    raise InternalError(
        f"irfuzz's data folder {name!r} is missing: expected {installed}, or {root / name} beside a pyproject.toml; "
        "install irfuzz again"
    )
