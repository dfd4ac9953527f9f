"""Run by itself: runs pairs of models of a folder on ONNXRuntime and PyTorch, prints what differs as JSON lines."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import onnxruntime as ort

from irfuzz.export.torch import lower
from irfuzz.ir.program import Program


def main(folder: Path) -> None:
    """One JSON line a pair ``N.a.onnx``, ``N.b.onnx`` with ``N.npz``: largest differences of common outputs."""
    ort.set_default_logger_severity(4)
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    for path in sorted(folder.glob("*.npz")):
        with np.load(path) as loaded:
            inputs = dict(loaded)
        found: list[dict[str, np.ndarray]] = []
        for kind in "ab":
            data = (folder / f"{path.stem}.{kind}.onnx").read_bytes()
            session = ort.InferenceSession(data, options, providers=["CPUExecutionProvider"])
            names = [o.name for o in session.get_outputs()]
            given = {i.name: inputs[i.name] for i in session.get_inputs()}
            found.append(dict(zip(names, session.run(names, given), strict=True)))
        source = lower(Program.from_bytes((folder / f"{path.stem}.b.onnx").read_bytes()))
        module: dict[str, object] = {}
        exec(compile(source.source, "lowered", "exec"), module)
        lowered = module["run"](source.arrays, inputs)  # type: ignore[operator]
        same = {n: _distance(found[0][n], found[1][n]) for n in found[0] if n in found[1]}
        torch = {n: _distance(found[1][n], lowered[n]) for n in found[1]}
        print(json.dumps({"name": path.stem, "pair": same, "torch": torch}), flush=True)


def _distance(a: np.ndarray, b: np.ndarray) -> float:
    """Largest difference relative to the largest element; infinite for other types, shapes, NaN and infinities."""
    if a.shape != b.shape or a.dtype != b.dtype:
        return float("inf")
    x, y = a.astype(np.float64), b.astype(np.float64)
    if not np.array_equal(np.isfinite(x), np.isfinite(y)) or not a.size:
        return float("inf") if a.size else 0.0
    x, y = x[np.isfinite(x)], y[np.isfinite(y)]
    return float(np.abs(x - y).max() / max(1.0, np.abs(x).max())) if x.size else 0.0


main(Path(sys.argv[1]))
