"""The text and arrays of an exported module enter, two files leave."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from irfuzz.frontends.onnx_file import save_file

MODULE, WEIGHTS = "model.py", "weights.npz"


def npz_of(arrays: Mapping[str, np.ndarray]) -> bytes:
    """An npz of members of any name (``numpy.savez`` takes names as keywords, and some are its own)."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as members:
        for name, array in arrays.items():
            with members.open(f"{name}.npy", "w", force_zip64=True) as member:
                np.lib.format.write_array(member, np.asanyarray(array), allow_pickle=False)
    return buffer.getvalue()


def write_module(folder: Path, source: str, arrays: Mapping[str, np.ndarray]) -> tuple[Path, Path]:
    """Write an exported module; the paths of its source and of its arrays.

    Raises:
        UsageError: the folder cannot be written.
    """
    module, weights = folder / MODULE, folder / WEIGHTS
    save_file(npz_of(arrays), weights)
    save_file(source.encode(), module)
    return module, weights
