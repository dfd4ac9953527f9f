"""Traces a generated TensorFlow module and returns the files of a SavedModel.

Runs in the worker's interpreter: imports only the standard library and TensorFlow.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import tensorflow as tf

from .generated_module_runner import bits_of, load


def handle(request: dict[str, Any], arrays: list[Any]) -> tuple[dict[str, Any], list[Any]]:
    """The paths of the files, and what they hold.

    ``request`` holds ``source``, ``arrays`` (names of the values) and ``inputs``: ``name``, ``place`` (its name in the
    signature), ``dtype`` (TensorFlow's name) and ``shape`` (``None`` for sizes that differ from call to call).

    Raises:
        NotImplementedError: what the module computes with can only be known in an eager run, or it gives no tensors.
    """
    names = load(request["source"])
    weights = bits_of(dict(zip(request["arrays"], arrays)))  # noqa: B905 - Python 3.9
    about = request["inputs"]
    specs = [tf.TensorSpec(i["shape"], tf.dtypes.as_dtype(i["dtype"]), name=i["place"]) for i in about]

    def serve(*values: Any) -> dict[str, Any]:
        made, _ = names["tensors"](weights, {})
        found = names["forward"](made, {i["name"]: value for i, value in zip(about, values)})  # noqa: B905
        for name, value in found.items():
            if not tf.is_tensor(value):
                raise NotImplementedError(f"output {name!r} is no tensor, and a SavedModel gives nothing else")
        return {name: tf.identity(value) for name, value in found.items()}

    module: Any = tf.Module()
    module.serve = tf.function(serve, input_signature=specs, autograph=False)
    try:
        signature = module.serve.get_concrete_function()
    except (tf.errors.OperatorNotAllowedInGraphError, TypeError, AttributeError) as error:
        line = (str(error).strip().splitlines() or [""])[0]
        raise NotImplementedError(f"it depends on sizes or values that only an eager run knows: {line}") from error
    with tempfile.TemporaryDirectory() as folder:
        tf.saved_model.save(module, folder, signatures=signature)
        files = sorted(path for path in Path(folder).rglob("*") if path.is_file())
        return {"files": [p.relative_to(folder).as_posix() for p in files]}, [p.read_bytes() for p in files]
