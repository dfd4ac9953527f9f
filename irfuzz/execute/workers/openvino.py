"""Runs ONNX models on OpenVINO's CPU plugin.

Runs in the worker's interpreter: imports only the standard library, numpy and openvino.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import openvino

from .runs import Answer, Course, Failure, attempt, in_order, stack

SETTINGS = {
    # By default some processors compute in bfloat16, which is no fault of a model.
    "INFERENCE_PRECISION_HINT": "f32",
    "INFERENCE_NUM_THREADS": 1,
    "NUM_STREAMS": 1,
}
NARROWED = {"f64": "float", "f16": "float", "bf16": "float", "u64": "int32", "u32": "int32"}
"""Types that the CPU plugin takes and computes in another one, as its documentation says; int64 becomes int32."""
KNOWN = frozenset((*NARROWED, "f32", "i8", "i16", "i32", "i64", "u8", "u16", "boolean", "string"))
"""Types whose elements its arrays show as numbers; those of others are bits in arrays of bytes."""
INT32 = 2**31
# OpenVINO's operators, of which irfuzz knows nothing else.
GROWING = frozenset(
    ("Add", "Subtract", "Multiply", "Power", "Negative", "Abs", "ReduceSum", "ReduceProd", "ReduceL1", "ReduceL2",
     "CumSum", "MatMul", "BitwiseLeftShift", "SquaredDifference", "Range", "Einsum", "ScatterElementsUpdate")
)  # fmt: skip
"""What makes larger integers of smaller ones."""
GAP = re.compile(
    r"(?i:No conversion rule found|not (currently |yet )?(supported|implemented)|unsupported|(doesn't|does not) support"
    r"|only supports?\b|NotImplemented)"
)
MEMORY = re.compile(r"bad_alloc|Failed to allocate|not enough memory", re.IGNORECASE)


def handle(request: dict[str, Any], arrays: list[Any]) -> Answer:
    """Answer ``{"do": "describe"}`` or run one model (first array) on the inputs (the other arrays).

    A run request has ``inputs`` (``{"name"}`` each), ``outputs`` (names) and ``variants``, of which there is one.
    """
    if request["do"] == "describe":
        version = openvino.__version__.partition("-")[0]
        return {"version": version, **_limits(request, arrays[1:])}, []
    course = Course()
    status, values = attempt(course, lambda: _run(request, arrays, course), _failed)
    return {"runs": [status]}, values


def _failed(error: Exception, _stage: str) -> Failure:
    text = str(error)
    how = "unsupported" if isinstance(error, NotImplementedError) or GAP.search(text) else "rejected"
    log = (text[:2000] + "\n" + stack())[-4000:]
    return Failure("memory" if MEMORY.search(text) else how, f"{type(error).__name__}: {_told(text)}", log)


def _run(request: dict[str, Any], arrays: list[Any], course: Course) -> Answer:
    given = dict(zip((about["name"] for about in request["inputs"]), arrays[1:]))  # noqa: B905 - Python 3.9
    for name, array in given.items():
        if not isinstance(array, np.ndarray) or array.dtype.kind in "OUS" or array.dtype.isbuiltin != 1:
            raise NotImplementedError(f"openvino's Python interface cannot feed {name!r}")
        if array.dtype == np.int64 and array.size and (array.max() >= INT32 or array.min() < -INT32):
            raise NotImplementedError(f"the CPU plugin computes int64 in int32, and {name!r} has larger numbers")
    core = openvino.Core()
    model = core.read_model(bytes(arrays[0]))
    for node in model.get_ops():
        for output in node.outputs():
            kind = output.get_element_type().get_type_name()
            if kind in NARROWED:
                raise NotImplementedError(f"the CPU plugin computes {kind} in {NARROWED[kind]}")
    for result in model.get_results():
        grown = _grown(result)
        if grown:
            raise NotImplementedError(f"the CPU plugin computes int64 in int32, and {grown} may leave that")
    for result in model.outputs:
        kind = result.get_element_type().get_type_name()
        if kind not in KNOWN:
            raise NotImplementedError(f"openvino's Python interface gives {kind} as bytes")
    course.at("compile")
    compiled = core.compile_model(model, "CPU", SETTINGS)
    course.at("run")
    ports = [port.get_names() & given.keys() for port in compiled.inputs]
    # An input that nothing reads is dropped. One that lost its name would be left as the memory is: OpenVINO shall say.
    feeds = {name: given[name] for port in ports for name in port} if all(ports) else given
    found = compiled.create_infer_request().infer(feeds, share_inputs=False)
    return in_order(request["outputs"], [np.array(found[output]) for output in compiled.outputs])


def _grown(result: Any) -> str:
    """The operation, if any, from which an int64 output has numbers that may not fit into int32."""
    left, seen = [result], set()
    while left:
        node = left.pop()
        for port in node.inputs():
            source = port.get_source_output()
            inner = source.get_node()
            if source.get_element_type().get_type_name() != "i64" or inner.get_friendly_name() in seen:
                continue
            if inner.get_type_name() in GROWING:
                return str(inner.get_type_name())
            seen.add(inner.get_friendly_name())
            left.append(inner)
    return ""


def _limits(request: dict[str, Any], models: list[Any]) -> dict[str, int]:
    """The newest opset and IR version of which a model loads; the models follow the request's lists, newest first."""
    found: dict[str, int] = {}
    core = openvino.Core()
    for key, numbers in (("opset", request["opsets"]), ("ir", request["irs"])):
        for number, model in zip(numbers, models):  # noqa: B905 - Python 3.9
            try:
                core.read_model(bytes(model))
            except Exception:  # noqa: BLE001, S112 - whatever it raises about the version is a no
                continue
            found[key] = number
            break
        models = models[len(numbers) :]
    return found


def _told(text: str) -> str:
    """What an error says, without the lines that name OpenVINO's own source files."""
    lines = [line.strip() for line in text.splitlines()]
    said = [
        line
        for line in lines
        if line and not re.match(r"Exception from |FrontEnd API failed|Model wasn't|Summary:", line)
    ]
    return " ".join(said[:3])[:500]
