"""Writes ``ops/com.microsoft/schemas.json``: the operators that onnxruntime registers and onnx does not know.

``python -m tests.spec.export_schemas`` with the onnxruntime installed whose operators are meant.
"""

from __future__ import annotations

import importlib
import json
from typing import Any

import onnx

from irfuzz.shipped_folders import ops_dir
from irfuzz.spec.operator_registry import SCHEMAS
from irfuzz.spec.operator_signatures import EXPORT_VERSION
from irfuzz.spec.operator_traits import RUNTIME

_EVERY = 2**31 - 1
"""Last version of an operator that a kernel without an end runs."""


def exported() -> dict[str, Any]:
    """What the installed onnxruntime has in its own domain, as the file holds it."""
    import onnxruntime

    state: Any = importlib.import_module("onnxruntime.capi.onnxruntime_pybind11_state")

    kernels = [k for k in state.get_all_opkernel_def() if k.domain == RUNTIME and k.provider == "CPUExecutionProvider"]
    schemas = [s for s in state.get_all_operator_schema() if s.domain == RUNTIME]
    return {
        "format": EXPORT_VERSION,
        "domain": RUNTIME,
        "runtime": f"onnxruntime {onnxruntime.__version__}",
        "operators": [_operator(s, kernels) for s in sorted(schemas, key=lambda s: (s.name, s.since_version))],
    }


def text(data: dict[str, Any]) -> str:
    """The file: one line an operator, so that two versions can be compared."""
    head = {key: value for key, value in data.items() if key != "operators"}
    lines = ",\n".join(f"  {json.dumps(operator)}" for operator in data["operators"])
    return f'{json.dumps(head)[:-1]}, "operators": [\n{lines}\n]}}\n'


def _operator(schema: Any, kernels: list[Any]) -> dict[str, Any]:
    version = schema.since_version
    runs = [
        {name: sorted(types) for name, types in sorted(kernel.type_constraints.items())}
        for kernel in kernels
        if kernel.op_name == schema.name and kernel.version_range[0] <= version <= (kernel.version_range[1] or _EVERY)
    ]
    table = {
        "op": schema.name,
        "since": version,
        "deprecated": bool(schema.deprecated),
        "min_inputs": schema.min_input,
        "inputs": [_formal(f) for f in schema.inputs],
        "outputs": [_formal(f) for f in schema.outputs],
        "types": {t.type_param_str: sorted(t.allowed_type_strs) for t in schema.type_constraints},
        "attributes": {name: _attribute(a) for name, a in sorted(schema.attributes.items())},
        "kernels": sorted(runs, key=json.dumps),
    }
    return {key: value for key, value in table.items() if value not in (False, [], {})}


def _formal(formal: Any) -> dict[str, Any]:
    option = str(formal.option).rpartition(".")[2].lower()
    table = {"name": formal.name, "type": formal.typeStr}
    if option != "single":
        table["option"] = option
    if option == "variadic" and not formal.isHomogeneous:
        table["each_own"] = True
    return table


def _attribute(attribute: Any) -> dict[str, Any]:
    table: dict[str, Any] = {"type": str(attribute.type).rpartition(".")[2]}
    if attribute.required:
        table["required"] = True
    if attribute._default_value:
        value = onnx.helper.get_attribute_value(onnx.AttributeProto.FromString(attribute._default_value))
        table["default"] = value.decode() if isinstance(value, bytes) else value
    return table


if __name__ == "__main__":
    path = ops_dir() / RUNTIME / SCHEMAS
    path.parent.mkdir(exist_ok=True)
    path.write_text(text(exported()), encoding="utf-8")
    print(path)
