"""What the runtimes say of each model without irfuzz, on sensible inputs: the verdict that irfuzz is measured by.

    python -m benchmarks.real_models.expected [--cache FOLDER] [--held-out] [ID ...]

onnxruntime without and with all optimisations, ONNX's reference evaluator and PyTorch through onnx2torch run three
samples each, in a process of their own and for at most a minute. A model is expected to "agree" if all levels of
onnxruntime and PyTorch, if it can run the model, are as near as the precision of its outputs allows; a reference
evaluator that fails or is alone does not change that, but is noted.
"""

from __future__ import annotations

import json
import multiprocessing
import re
import sys
from collections.abc import Callable, Sequence
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.real_models.catalogue import EXPECTED, Model, chosen, models, parser
from benchmarks.real_models.sensible_inputs import sample

Outputs = list[list[np.ndarray]]
"""For each sample the model's outputs."""
SAMPLES, LIMIT = 3, 60.0
NEAR = {"float16": 2e-2, "float32": 1e-3, "float64": 1e-3}
"""Largest difference for an agreement, as a part of the output's largest magnitude; other types must be equal."""
NEAR_QUANTISED = 4e-2
"""The same for a model that rounds its own activations to eight bits: where one lies at a tie, the last bit of a float
decides about a whole step, and a step is 1/255 of the range at every layer."""


def as_arrays(value: Any) -> list[np.ndarray]:
    """An output as arrays: of a list of maps (ZipMap) the values in the order of their keys."""
    if isinstance(value, list):
        return [np.array([[row[key] for key in sorted(row)] for row in value])]
    return [np.asarray(value)]


def with_onnxruntime(level: str) -> Callable[[Path, list[dict[str, np.ndarray]]], Outputs]:
    def run(path: Path, inputs: list[dict[str, np.ndarray]]) -> Outputs:
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.graph_optimization_level = getattr(onnxruntime.GraphOptimizationLevel, level)
        options.log_severity_level = 4
        session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
        return [[array for value in session.run(None, one) for array in as_arrays(value)] for one in inputs]

    return run


def with_reference(path: Path, inputs: list[dict[str, np.ndarray]]) -> Outputs:
    from onnx.reference import ReferenceEvaluator

    evaluator = ReferenceEvaluator(str(path))
    return [[array for value in evaluator.run(None, one) for array in as_arrays(value)] for one in inputs]


def converter_to_torch() -> Callable[[str], Any]:
    """onnx2torch imports torchvision; what a torchvision for another torch lacks is declared without a kernel."""
    import torch

    for _ in range(8):
        try:
            from onnx2torch import convert
        except RuntimeError as error:
            lacking = re.search(r"torchvision::\w+", str(error))
            if lacking is None:
                raise
            torch.library.define(lacking[0], "(Tensor x) -> Tensor")
            for name in [name for name in sys.modules if name.startswith(("torchvision", "onnx2torch"))]:
                del sys.modules[name]
        else:
            return convert
    raise ImportError("torchvision lacks too many operators")


def with_torch(path: Path, inputs: list[dict[str, np.ndarray]]) -> Outputs:
    import torch

    convert = converter_to_torch()
    network = convert(str(path)).eval()
    found: Outputs = []
    with torch.no_grad():
        for one in inputs:
            value = network(*(torch.from_numpy(array) for array in one.values()))
            found.append([part.numpy() for part in (value if isinstance(value, (tuple, list)) else [value])])
    return found


RUNTIMES = {
    "onnxruntime, no optimisation": with_onnxruntime("ORT_DISABLE_ALL"),
    "onnxruntime, all optimisations": with_onnxruntime("ORT_ENABLE_ALL"),
    "reference evaluator": with_reference,
    "onnx2torch": with_torch,
}
BASE, WITNESS = "onnxruntime, no optimisation", "reference evaluator"


def work(end: Connection, runtime: str, path: Path, inputs: list[dict[str, np.ndarray]]) -> None:
    try:
        end.send((RUNTIMES[runtime](path, inputs), ""))
    except Exception as error:  # noqa: BLE001  # whatever a runtime raises on the model is the result
        end.send((None, f"{type(error).__name__}: {' '.join(str(error).split())[:160]}"))


def outputs_of(runtime: str, path: Path, inputs: list[dict[str, np.ndarray]]) -> tuple[Outputs | None, str]:
    """What a runtime computes in a process of its own, or why it computes nothing."""
    context = multiprocessing.get_context("spawn")
    here, there = context.Pipe(duplex=False)
    process = context.Process(target=work, args=(there, runtime, path, inputs))
    process.start()
    there.close()
    try:
        return here.recv() if here.poll(LIMIT) else (None, f"not done after {LIMIT:.0f} s")
    except EOFError:
        return None, "its process died"
    finally:
        process.kill()
        process.join()


def quantises(path: Path) -> bool:
    """Whether the model rounds what it computes."""
    import onnx

    return any("Quantize" in node.op_type for node in onnx.load(path, load_external_data=False).graph.node)


def difference(a: np.ndarray, b: np.ndarray, near: float = 0.0) -> tuple[float, bool]:
    """The largest difference of two arrays and whether it is within ``near`` or the precision of their type."""
    if a.shape != b.shape or a.dtype.kind != b.dtype.kind:
        return float("inf"), False
    if a.dtype.kind != "f":
        return float(np.sum(a != b)), bool(np.array_equal(a, b))
    wide, other = a.astype(np.float64), b.astype(np.float64)
    if not np.array_equal(np.isfinite(wide), np.isfinite(other)):
        return float("inf"), False
    finite = np.isfinite(wide)
    if not finite.any():
        return 0.0, True
    largest = float(np.max(np.abs(wide - other)[finite]))
    return largest, largest <= max(near, NEAR[a.dtype.name]) * float(np.max(np.abs(wide[finite])))


def compared(base: Outputs, other: Outputs, near: float = 0.0) -> tuple[float, bool]:
    """The same over all samples and outputs."""
    pairs = [(a, b) for row, its in zip(base, other, strict=True) for a, b in zip(row, its, strict=True)]
    found = [difference(a, b, near) for a, b in pairs]
    return max(distance for distance, _ in found), all(agrees for _, agrees in found)


def expectation(model: Model, path: Path) -> dict[str, Any]:
    """The expected verdict with the differences that it rests on."""
    inputs = [sample(model, number) for number in range(SAMPLES)]
    base, why = outputs_of(BASE, path, inputs)
    if base is None:
        return {"verdict": "does not run", "runtimes": {BASE: why}}
    runtimes: dict[str, Any] = {BASE: "the others are compared with it"}
    verdict, largest = "agree", 0.0
    near = NEAR_QUANTISED if quantises(path) else 0.0
    for runtime in RUNTIMES:
        if runtime == BASE:
            continue
        outputs, why = outputs_of(runtime, path, inputs)
        if outputs is None:
            runtimes[runtime] = why
            continue
        distance, agrees = compared(base, outputs, near)
        runtimes[runtime] = {"largest difference": distance, "agrees": agrees}
        if runtime != WITNESS:
            largest, verdict = max(largest, distance), verdict if agrees else "disagree"
    return {"verdict": verdict, "largest difference": largest, "runtimes": runtimes}


def versions(names: Sequence[str] = ("onnx", "onnxruntime", "onnx2torch", "torch")) -> dict[str, str]:
    from importlib.metadata import version

    return {name: version(name) for name in names}


def main() -> None:
    options = parser(__doc__).parse_args()
    which, wanted = chosen(options)
    file = EXPECTED[which]
    held: dict[str, Any] = json.loads(file.read_text())["models"] if file.exists() else {}
    for model in wanted:
        held[model.id] = expectation(model, model.path(options.cache))
        print(f"{model.id}: {held[model.id]['verdict']}", file=sys.stderr, flush=True)
    rows = {model.id: held[model.id] for model in models(which) if model.id in held}
    file.write_text(json.dumps({"versions": versions(), "models": rows}, indent=1) + "\n")


if __name__ == "__main__":
    main()
