"""Named values as one ``npz`` file without pickled parts, written and read."""

from __future__ import annotations

import io
import json
import math
import struct
import tokenize
import zipfile
import zlib
from collections.abc import Mapping
from typing import Any, TypeAlias

import ml_dtypes
import numpy as np

from irfuzz.errors import InvalidProgram

Value: TypeAlias = "np.ndarray | list[Value] | None"

SCHEMA = 1
MANIFEST = "__irfuzz__"
"""Member that says how the arrays make up the values; JSON text."""


UNPACKED = 256 << 20
PACKED_BY = 100
"""An archive may unpack to ``UNPACKED`` bytes, and to ``PACKED_BY`` times its own: deflate alone reaches 1000 times."""

DAMAGED: tuple[type[Exception], ...] = (
    *(ValueError, OSError, EOFError, KeyError, TypeError, SyntaxError, OverflowError, RuntimeError),
    *(zipfile.BadZipFile, zlib.error, struct.error, tokenize.TokenError),
)
"""What ``zipfile`` and NumPy raise for files that are damaged; ``RuntimeError`` if one is said to be encrypted or
packed in an unknown way.
"""

_HEADERS = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}


def pack(values: Mapping[str, Value]) -> bytes:
    """Values as the bytes of an npz file.

    Plain tensors are members under their own names, if a zip file can have such a member. dtypes that npz cannot
    hold are stored as unsigned integers of the same width, strings as text in the manifest, sequences item by item; the
    manifest says which.
    """
    arrays: dict[str, np.ndarray] = {}

    def put(value: Value, key: str) -> Any:
        if value is None:
            return None
        if isinstance(value, list):
            return {"items": [put(item, f"{key}/{i}") for i, item in enumerate(value)]}
        array = np.asarray(value)
        if array.dtype.kind in "OUS":
            texts = [
                t.decode("utf-8", "surrogateescape") if isinstance(t, bytes) else str(t) for t in array.ravel().tolist()
            ]
            # Fixed-width text cannot end in NUL, which JSON can say.
            return {"strings": texts, "shape": list(array.shape)}
        name = array.dtype.name
        if array.dtype.kind == "V" or hasattr(ml_dtypes, name):
            array = np.ascontiguousarray(array).view(f"u{array.dtype.itemsize}").reshape(array.shape)
        key = _member(key, arrays)
        arrays[key] = array
        return {"array": key, "dtype": name}

    manifest = {"schema": SCHEMA, "values": {name: put(value, name) for name, value in values.items()}}
    buffer = io.BytesIO()
    members: dict[str, Any] = {**arrays, MANIFEST: np.array(json.dumps(manifest))}
    np.savez(buffer, allow_pickle=False, **members)
    return buffer.getvalue()


def _member(name: str, taken: Mapping[str, np.ndarray]) -> str:
    """``name``, or what comes closest if a zip file or ``numpy.savez`` cannot have a member of that name."""
    key = name.replace("\0", "_")
    if key.endswith(".npy"):
        key += "_"  # numpy would drop the suffix
    while key in taken or key in ("file", "allow_pickle", MANIFEST):
        key += "_"
    return key


def unpack(data: bytes, name: str = "npz") -> dict[str, Value]:
    """The values of an npz file made by ``pack``, or of a plain one (every member a tensor).

    Raises:
        InvalidProgram: it is not such a file; ``name`` is what the message calls it.
    """
    try:
        if data.startswith(np.lib.format.MAGIC_PREFIX):
            raise InvalidProgram(f"{name}: not an npz file of arrays by name (numpy.savez), but one array")
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            _weigh(archive, len(data))
            arrays = {info.filename.removesuffix(".npy"): _array(archive, info) for info in archive.infolist()}
    except DAMAGED as error:
        raise InvalidProgram(f"{name}: not an npz file: {str(error) or type(error).__name__}") from None
    if MANIFEST not in arrays:
        return dict(arrays)
    try:
        manifest = json.loads(str(arrays[MANIFEST]))
        if manifest["schema"] != SCHEMA:
            raise InvalidProgram(f"{name}: expected schema {SCHEMA}, got {manifest['schema']}")
        return {key: _take(entry, arrays) for key, entry in manifest["values"].items()}
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError) as error:
        raise InvalidProgram(f"{name}: its manifest does not fit its arrays: {error!r}") from None


def _weigh(archive: zipfile.ZipFile, size: int) -> None:
    """See that an archive of so many bytes does not unpack to far more.

    Raises:
        ValueError: it does.
    """
    whole, most = sum(info.file_size for info in archive.infolist()), UNPACKED + PACKED_BY * size
    if whole > most:
        raise ValueError(f"its {size} bytes unpack to {whole}; at most {most} are taken")


def _array(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> np.ndarray:
    """One member, whose header is held against its size before memory is taken."""
    with archive.open(info) as member:
        version = np.lib.format.read_magic(member)
        if version not in _HEADERS:  # version 3 is for names of fields, which no tensor has
            raise ValueError(f"{info.filename}: version {version} of the npy format; expected 1 or 2")
        shape, _, dtype = _HEADERS[version](member)
        if (said := math.prod(shape) * dtype.itemsize) > info.file_size:
            raise ValueError(f"{info.filename}: its header says {said} bytes, more than the {info.file_size} of it")
    with archive.open(info) as member:
        return np.lib.format.read_array(member, allow_pickle=False)


def _take(entry: Any, arrays: Mapping[str, np.ndarray]) -> Value:
    if entry is None:
        return None
    if "items" in entry:
        return [_take(item, arrays) for item in entry["items"]]
    if "strings" in entry:
        array = np.empty(len(entry["strings"]), dtype=object)
        array[:] = entry["strings"]
        return array.reshape(entry["shape"])
    array = arrays[entry["array"]]
    if array.dtype.name == entry["dtype"]:
        return array
    return array.view(np.dtype(getattr(ml_dtypes, entry["dtype"]))).reshape(array.shape)
