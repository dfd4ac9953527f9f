"""Finds out from a path what kind of model it names."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

from irfuzz.errors import InvalidProgram
from irfuzz.frontends.regular_file_opening import open_plain

Kind: TypeAlias = Literal["onnx", "keras", "saved_model", "graph_def", "exported_program", "factory"]

FACTORY = re.compile(r"(?P<file>.+\.py):(?P<name>[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*)", re.DOTALL)
"""``path/to/file.py:factory``: a function of the user's that makes a model."""

_KERAS = (".keras", ".h5", ".hdf5")
_ONNX_FIRST_BYTE = b"\x08"
"""How a serialised ``ModelProto`` begins (field 1, a number); a ``GraphDef`` begins with a node, which is no number."""

_HINTS = {
    ".py": "a Python file; name the function in it that makes the model, such as {path}:make_model",
    ".pt": "PyTorch's pickles are not read; save with torch.export.save as .pt2, or give file.py:factory",
    ".pth": "PyTorch's pickles are not read; save with torch.export.save as .pt2, or give file.py:factory",
    ".tflite": "TensorFlow Lite models are not read; give the Keras model or SavedModel it was made from",
}


@dataclass(frozen=True, slots=True)
class ModelSource:
    """Where a model comes from.

    Attributes:
        kind: which front end takes it.
        path: the file or, of a SavedModel, the folder.
        factory: name of the function, of a factory.
    """

    kind: Kind
    path: Path
    factory: str = ""


def is_saved_model(path: Path) -> bool:
    """Whether ``path`` is a folder that TensorFlow calls a SavedModel: it has a file ``saved_model.pb``."""
    return (path / "saved_model.pb").is_file()


def is_factory(path: Path) -> bool:
    """Whether ``path`` is ``file.py:factory``, and no file by that very name; the file is not opened."""
    return FACTORY.fullmatch(str(path)) is not None and not path.exists()


def source_of(path: Path) -> ModelSource:
    """What ``path`` names; only a ``.pb`` file is opened for that, and nothing is imported.

    Raises:
        InvalidProgram: a kind of file that cannot be read, and what to give instead.
    """
    found = FACTORY.fullmatch(str(path))
    if found is not None and not path.exists():
        return ModelSource("factory", Path(found["file"]), found["name"])
    if path.name == "saved_model.pb":
        return ModelSource("saved_model", path.parent)
    if is_saved_model(path):
        return ModelSource("saved_model", path)
    suffix = path.suffix.lower()
    if suffix in _KERAS:
        return ModelSource("keras", path)
    if suffix == ".pt2":
        return ModelSource("exported_program", path)
    if suffix == ".pb" and path.is_file() and not _begins_like_onnx(path):
        return ModelSource("graph_def", path)
    if suffix in _HINTS and path.exists():
        raise InvalidProgram(_HINTS[suffix].format(path=path))
    return ModelSource("onnx", path)


def _begins_like_onnx(path: Path) -> bool:
    with open_plain(path) as (file, _):
        return file.read(1) in (_ONNX_FIRST_BYTE, b"")
