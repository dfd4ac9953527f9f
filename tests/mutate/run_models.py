"""Run by itself: loads and runs every model of a folder on ONNXRuntime without optimisation, prints JSON lines."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import onnxruntime as ort


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
                found = session.run(None, dict(inputs))
            answer["outputs"] = [[list(array.shape), str(array.dtype)] for array in found]
        except Exception as error:  # whatever the component says is the result
            answer["error"] = str(error)[-300:]
        print(json.dumps(answer), flush=True)


main(Path(sys.argv[1]))
