"""Run by itself: loads and runs every model of a folder on ONNXRuntime without optimisation, prints JSON lines."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import onnxruntime as ort


def about(array: np.ndarray) -> list[object]:
    """Shape and type."""
    return [list(array.shape), str(array.dtype)]


def main(folder: Path) -> None:
    """One JSON line a model: its name and the shapes and dtypes of its outputs, or what went wrong."""
    ort.set_default_logger_severity(4)
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    for path in sorted(folder.glob("*.onnx")):
        answer: dict[str, object] = {"name": path.name}
        try:
            session = ort.InferenceSession(path.read_bytes(), options, providers=["CPUExecutionProvider"])
            with np.load(path.with_suffix(".npz")) as inputs:
                given = {name: ort.OrtValue.ortvalue_from_numpy(value) for name, value in inputs.items()}
                found = session.run_with_ort_values(None, given)
            # bfloat16 has no array of NumPy's, but a shape and a type.
            answer["outputs"] = [
                [list(v.shape()), "bfloat16"] if v.data_type() == "tensor(bfloat16)" else about(v.numpy())
                for v in found
            ]
        except Exception as error:  # whatever the component says is the result
            answer["error"] = str(error)[-300:]
        print(json.dumps(answer), flush=True)


main(Path(sys.argv[1]))
