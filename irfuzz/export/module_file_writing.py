"""Writes the text and arrays of an exported module as two files."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from irfuzz.frontends.onnx_file import save_file

MODULE, WEIGHTS = "model.py", "weights.npz"


def npz_of(arrays: Mapping[str, np.ndarray], *, compressed: bool = False) -> bytes:
    """An npz with the same bytes from every version of Python and NumPy, and with members of any name.

    ``numpy.savez`` takes names as keywords, of which some are its own, and writes what its zip library likes.

    Args:
        arrays: by the name that each has in the npz; members are written in this order, and no array is pickled.
        compressed: deflate the members; they are stored as they are if not.

    Returns:
        The content of the file; nothing is written to disk.
    """
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for name, array in arrays.items():
            member = io.BytesIO()
            np.lib.format.write_array(member, np.asanyarray(array), version=(1, 0), allow_pickle=False)
            about = zipfile.ZipInfo(f"{name}.npy", date_time=(1980, 1, 1, 0, 0, 0))
            about.compress_type = zipfile.ZIP_DEFLATED if compressed else zipfile.ZIP_STORED
            about.create_system = 3  # Unix, wherever it is written
            about.external_attr = 0o644 << 16
            archive.writestr(about, member.getvalue(), compresslevel=9)
    return file.getvalue()


def write_module(folder: Path, source: str, arrays: Mapping[str, np.ndarray]) -> tuple[Path, Path]:
    """Write an exported module as ``model.py`` and ``weights.npz``; the arrays are not compressed.

    Args:
        folder: both files are put into it and replace any of these names.
        source: text of the module (``ModuleSource.source``), written as UTF-8.
        arrays: what it reads (``ModuleSource.arrays``).

    Returns:
        The paths of its source and of its arrays.

    Raises:
        UsageError: the folder cannot be written.
    """
    module, weights = folder / MODULE, folder / WEIGHTS
    save_file(npz_of(arrays), weights)
    save_file(source.encode(), module)
    return module, weights
