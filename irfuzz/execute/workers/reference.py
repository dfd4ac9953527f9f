"""Runs ONNX models on onnx's reference evaluator.

Runs in the worker's interpreter: imports only the standard library, numpy and onnx.
"""

from __future__ import annotations

import os
import re
from typing import Any

import onnx
import onnx.reference

from .runs import Answer, Course, Failure, attempt, first_line

# The evaluator raises these, through plain ValueError or RuntimeError, where an operator is not written for a case.
GAP = re.compile(
    r"(?i:not (currently |yet )?(supported|implemented)|unsupported|no implementation|is unknown, known functions)"
)


def handle(request: dict[str, Any], arrays: list[Any]) -> Answer:
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
    course = Course()

    def compute() -> Answer:
        _refuse_odd(arrays[1:], "takes")
        course.at("compile")
        evaluator = onnx.reference.ReferenceEvaluator(_whole(bytes(arrays[0]), request.get("folder")))
        course.at("run")
        values: list[Any] = list(evaluator.run(None, dict(zip((i["name"] for i in request["inputs"]), arrays[1:]))))  # noqa: B905
        _refuse_odd(values, "gives")
        return {"outputs": [{"name": name} for name in evaluator.output_names]}, values

    status, values = attempt(course, compute, _failed)
    return {"runs": [status]}, values


def _failed(error: Exception, _stage: str) -> Failure:
    if isinstance(error, _NoSuchType):
        return Failure("unsupported", str(error))
    gap = isinstance(error, NotImplementedError) or GAP.search(str(error)) is not None
    return Failure("unsupported" if gap else "rejected", first_line(error), str(error)[:4000])


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
    """True for a tensor of a type that numpy lacks, if ml_dtypes is missing.

    Before 1.19 onnx had types of its own for them: numpy's integers with a field whose name is the type's.
    """
    if isinstance(value, list):
        return any(_odd(item) for item in value)
    return hasattr(value, "raw") or getattr(getattr(value, "dtype", None), "fields", None) is not None


class _NoSuchType(Exception):
    """numpy has no numbers of this type."""


def _refuse_odd(values: list[Any], verb: str) -> None:
    if any(map(_odd, values)):
        raise _NoSuchType(f"onnx {onnx.__version__} {verb} tensors of types that numpy lacks as numbers of its own")
