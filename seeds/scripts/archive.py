"""Arrays enter, an npz file leaves, with the same bytes from every version of Python and NumPy."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Mapping
from pathlib import Path

import numpy as np


def write_npz(path: Path, arrays: Mapping[str, np.ndarray]) -> None:
    """What ``numpy.savez_compressed`` writes, without the dates and flags that differ between versions."""
    with zipfile.ZipFile(path, "w") as archive:
        for name, array in arrays.items():
            buffer = io.BytesIO()
            np.lib.format.write_array(buffer, np.asanyarray(array), version=(1, 0), allow_pickle=False)
            about = zipfile.ZipInfo(f"{name}.npy", date_time=(1980, 1, 1, 0, 0, 0))
            about.compress_type = zipfile.ZIP_DEFLATED
            about.create_system = 3
            about.external_attr = 0o644 << 16
            archive.writestr(about, buffer.getvalue(), compresslevel=9)
