"""Large weights in a finding's folder: they are links to what the campaign holds once, and its scripts read them there.

A model of 100 MB that stood whole in every folder would fill a disk with a few suspects. Below ``LINKED`` bytes a
folder has one ``model.onnx``, which goes into a bug report as it is.
"""

from __future__ import annotations

import io
import json
import re
from pathlib import Path

import numpy as np

from irfuzz.export.module_file_writing import npz_of
from irfuzz.store.blob_store import SUFFIX, FolderBlobs
from irfuzz.store.model_blob_packing import link_blob

LINKED = 16 << 20
"""Bytes of a model from which on its weights are links."""

LARGE_ARRAY = 1 << 16
"""Bytes from which on an array of such a folder is a link."""

ABOUT = "__linked__"
"""Member of an npz: JSON with name, file, dtype and shape of each array that stands in a file beside it."""

READ_MODEL = '''
def read_model():
    """The model with its weights, which are files beside it; onnx itself reads none that has several links."""
    import onnx

    model = onnx.load(HERE / "model.onnx", load_external_data=False)
    parts = [model]
    while parts:
        part = parts.pop()
        place = {entry.key: entry.value for entry in part.external_data} if isinstance(part, onnx.TensorProto) else {}
        if place:
            del part.external_data[:]
            part.data_location = onnx.TensorProto.DEFAULT
            part.raw_data = (HERE / place["location"]).read_bytes()
            continue
        for field, value in part.ListFields():
            if field.message_type is not None:
                parts += value if hasattr(value, "append") else [value]
    return model.SerializeToString()
'''

READ_WEIGHTS = f'''
class Weights(dict):
    """Arrays of an npz, the large ones from files beside it."""

    def __init__(self, path):
        stored = np.load(path)
        super().__init__({{name: stored[name + ".npy"] for name in stored.files if name != "{ABOUT}"}})
        for name, file, dtype, shape in json.loads(str(stored["{ABOUT}.npy"])):
            self[name] = np.fromfile(HERE / file, dtype).reshape(shape)
        self.files = list(self)

    def __missing__(self, name):
        return self[name.removesuffix(".npy")]
'''

_HERE = "HERE = Path(__file__).resolve().parent\n"
_WEIGHTS = re.compile(r"np\.load\((HERE / (?:\"\w+_weights\.npz\"|\(converter\.FRAMEWORK \+ \"_weights\.npz\"\)))\)")


def is_linked(model: bytes) -> bool:
    """Whether a model has so many weights that they are links: at least ``LINKED`` bytes in all.

    Args:
        model: serialised in one piece.
    """
    return len(model) >= LINKED


def reading_links(script: str) -> str:
    """A script that reads ``model.onnx`` and ``*_weights.npz``, as one that follows their links.

    Args:
        script: as ``repro_source`` writes it; what in it reads those files is replaced, and the readers are added.
    """
    # ONNXRuntime and OpenVINO find the files by the model's own path.
    read = '(HERE / "model.onnx").read_bytes()'
    script = script.replace(f"InferenceSession({read}, ", 'InferenceSession(str(HERE / "model.onnx"), ')
    script = script.replace(read, "read_model()")
    script = _WEIGHTS.sub(r"Weights(\1)", script)
    script = script.replace("model.onnx, inputs.npz", "model.onnx, *.bin, inputs.npz", 1)
    readers = READ_MODEL if "read_model()" in script else ""
    if "Weights(" in script:
        readers += ("\n" if readers else "") + READ_WEIGHTS
        if "import json\n" not in script:
            script = script.replace("import sys\n", "import json\nimport sys\n", 1)
    return script.replace(_HERE, f"{_HERE}\n{readers}".rstrip("\n") + "\n", 1)


def write_weights(data: bytes, path: Path, blobs: FolderBlobs) -> None:
    """Write an npz whose large arrays are links to ``blobs``.

    Arrays of numbers of at least ``LARGE_ARRAY`` bytes go into files beside it, which its member ``__linked__`` names.

    Args:
        data: of a whole npz.
        path: of the new one.
        blobs: get the arrays that they do not have.

    Raises:
        OSError: it cannot be written.
    """
    stored = np.load(io.BytesIO(data), allow_pickle=False)
    arrays: dict[str, np.ndarray] = {}
    linked: list[tuple[str, str, str, list[int]]] = []
    for name in stored.files:
        array = stored[f"{name}.npy"]
        if array.nbytes < LARGE_ARRAY or array.dtype.kind not in "fiub":
            arrays[name] = array
            continue
        digest = blobs.put(np.ascontiguousarray(array).tobytes())
        link_blob(digest, path.parent, blobs)
        linked.append((name, f"{digest}{SUFFIX}", array.dtype.str, list(array.shape)))
    path.write_bytes(npz_of({**arrays, ABOUT: np.array(json.dumps(linked))}))
