"""ONNX bytes and inputs enter, the outputs of onnx's reference evaluator leave.

Runs in the worker's interpreter: imports only the standard library, numpy and onnx.
"""

from __future__ import annotations

import os
import re
import time
from typing import Any

import onnx
import onnx.reference

# The evaluator raises these, through plain ValueError or RuntimeError, where an operator is not written for a case.
GAP = re.compile(
    r"(?i:not (currently |yet )?(supported|implemented)|unsupported|no implementation|is unknown, known functions)"
)


def handle(request: dict[str, Any], arrays: list[Any]) -> tuple[dict[str, Any], list[Any]]:
    """Answer ``{"do": "describe"}`` or run one model (first array) on the inputs (the other arrays).

    ``folder`` is where its external data are.
    """
    if request["do"] == "describe":
        return {
            "version": onnx.__version__,
            "opset": onnx.defs.onnx_opset_version(),
            "ir": int(onnx.IR_VERSION),
            "maps": True,
        }, []
    started = time.perf_counter()
    stage = _at("import")
    names = [about["name"] for about in request["inputs"]]
    if any(_odd(value) for value in arrays[1:]):
        return _no_such_type(stage, "takes", started)
    stage = _at("compile")
    try:
        evaluator = onnx.reference.ReferenceEvaluator(_whole(bytes(arrays[0]), request.get("folder")))
        stage = _at("run")
        feeds = dict(zip(names, arrays[1:]))  # noqa: B905 - Python 3.9
        values = evaluator.run(None, feeds)
        if any(_odd(value) for value in values):
            return _no_such_type(stage, "gives", started)
        outputs = [{"name": name} for name in evaluator.output_names]
        status: dict[str, Any] = {"stage": stage, "exit": "ok", "outputs": outputs}
    except MemoryError as error:
        status, values = {"stage": stage, "exit": "memory", "error": f"MemoryError: {error}"}, []
    except Exception as error:  # noqa: BLE001 - the component's own error is the result
        gap = isinstance(error, NotImplementedError) or GAP.search(str(error)) is not None
        lines = str(error).strip().splitlines() or [""]
        status = {
            "stage": stage,
            "exit": "unsupported" if gap else "rejected",
            "error": f"{type(error).__name__}: {lines[0][:500]}",
            "log": str(error)[:4000],
        }
        values = []
    status["seconds"] = time.perf_counter() - started
    return {"runs": [status]}, list(values)


def _whole(data: bytes, folder: str | None) -> Any:
    """The model, with its external data read in; onnx itself reads none from a file that has several links."""
    if folder is None:
        return data
    model = onnx.ModelProto.FromString(data)
    for tensor in model.graph.initializer:
        if tensor.data_location == onnx.TensorProto.EXTERNAL:
            place = {entry.key: entry.value for entry in tensor.external_data}
            with open(os.path.join(folder, place["location"]), "rb") as file:  # noqa: PTH118, PTH123
                file.seek(int(place["offset"]))
                tensor.raw_data = file.read(int(place["length"]))
            tensor.ClearField("external_data")
            tensor.ClearField("data_location")
    return model


def _odd(value: Any) -> bool:
    """True for a tensor of a type that numpy lacks, where ml_dtypes is missing.

    Before 1.19 onnx had types of its own for them: numpy's integers with a field whose name is the type's.
    """
    if isinstance(value, list):
        return any(_odd(item) for item in value)
    return hasattr(value, "raw") or getattr(getattr(value, "dtype", None), "fields", None) is not None


def _no_such_type(stage: str, verb: str, started: float) -> tuple[dict[str, Any], list[Any]]:
    why = f"onnx {onnx.__version__} {verb} tensors of types that numpy lacks as numbers of its own"
    return {
        "runs": [{"stage": stage, "exit": "unsupported", "error": why, "seconds": time.perf_counter() - started}]
    }, []


def _at(stage: str) -> str:
    """Leave word of how far it came: the last such line tells where the process died."""
    os.write(2, f"irfuzz-at 0 {stage}\n".encode())
    return stage
