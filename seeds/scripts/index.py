"""``index.toml``: one entry a seed, read and written."""

from __future__ import annotations

import hashlib
import json
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx

from .seed import Input, Seed

SCHEMA = 1
"""Version of the layout of ``index.toml``."""

_HEADER = "# Written by `python -m seeds.scripts.build`; docs/seeds.md explains the fields.\n"


def sha256(path: Path) -> str:
    """Hexadecimal digest of a file."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def entry(
    seed: Seed, model: Path, data: Path, *, script: str, quality: Mapping[str, float], versions: Mapping[str, str]
) -> dict[str, Any]:
    """Describe a seed whose files have been written.

    Args:
        seed: what was built.
        model: its ONNX file.
        data: its npz file with one array an input and, where it learned something, ``labels``.
        script: what built it, relative to the checkout.
        quality: how right the ONNX model is on that data, by the measure's name; empty without labels.
        versions: packages that it was built with.

    Raises:
        ValueError: the seed describes other inputs or outputs than its model has.
    """
    graph = seed.model.graph
    if [i.name for i in seed.inputs] != [v.name for v in graph.input]:
        raise ValueError(f"{seed.name}: described inputs {[i.name for i in seed.inputs]} are not those of the model")
    meanings = (seed.output,) if isinstance(seed.output, str) else seed.output
    if len(meanings) != len(graph.output):
        raise ValueError(f"{seed.name}: {len(meanings)} outputs are described, the model has {len(graph.output)}")
    labelled: dict[str, Any] = {}
    if seed.labels is not None:
        labelled = {"labels": "labels", **quality}
    return {
        "name": seed.name,
        "file": model.name,
        "title": seed.title,
        "origin": seed.origin,
        "reference": seed.reference,
        "script": script,
        "licence": seed.licence,
        "sha256": sha256(model),
        "opset": seed.model.opset_import[0].version,
        "ir_version": seed.model.ir_version,
        "nodes": len(graph.node),
        "operators": operators(graph),
        "built_with": dict(versions),
        "inputs": [
            {**_value(v), **_range(i), "meaning": i.meaning} for i, v in zip(seed.inputs, graph.input, strict=True)
        ],
        "outputs": [{**_value(v), "meaning": m} for v, m in zip(graph.output, meanings, strict=True)],
        "data": {
            "file": data.name,
            "sha256": sha256(data),
            "samples": len(next(iter(seed.samples.values()))),
            **labelled,
            "licence": seed.data.licence,
            "origin": seed.data.origin,
        },
    }


def operators(graph: onnx.GraphProto) -> list[str]:
    """Names of all operators of a graph and of the graphs inside it, sorted."""
    names = {node.op_type for node in graph.node}
    for node in graph.node:
        for attribute in node.attribute:
            for inner in (attribute.g, *attribute.graphs):
                names.update(operators(inner))
    return sorted(names)


def _range(described: Input) -> dict[str, float]:
    if described.low is None or described.high is None:
        return {}
    return {"low": described.low, "high": described.high}


def _value(value: onnx.ValueInfoProto) -> dict[str, Any]:
    tensor = value.type.tensor_type
    if tensor.elem_type == onnx.TensorProto.STRING:
        dtype = "string"
    else:
        dtype = np.dtype(onnx.helper.tensor_dtype_to_np_dtype(tensor.elem_type)).name
    shape = [d.dim_param if d.HasField("dim_param") else d.dim_value for d in tensor.shape.dim]
    return {"name": value.name, "dtype": dtype, "shape": shape}


def read(path: Path) -> dict[str, dict[str, Any]]:
    """Entries by name; empty where there is no index yet.

    Raises:
        ValueError: the file has another schema version.
    """
    if not path.exists():
        return {}
    content = tomllib.loads(path.read_text(encoding="utf-8"))
    if content.get("schema") != SCHEMA:
        raise ValueError(f"{path}: schema is {content.get('schema')!r}, expected {SCHEMA}")
    return {e["name"]: e for e in content.get("seeds", [])}


def write(path: Path, entries: Sequence[Mapping[str, Any]]) -> None:
    """Write entries in the given order."""
    lines = [_HEADER, f"schema = {SCHEMA}\n"]
    for item in entries:
        lines.append("\n[[seeds]]\n")
        lines += [f"{key} = {_toml(value)}\n" for key, value in item.items() if key not in ("inputs", "outputs")]
        for key in ("inputs", "outputs"):
            lines.append(f"{key} = [\n")
            lines += [f"    {_toml(each)},\n" for each in item[key]]
            lines.append("]\n")
    path.write_text("".join(lines), encoding="utf-8")


def _toml(value: object) -> str:
    match value:
        case bool() | int() | float() | str():
            # TOML's basic strings and numbers are JSON's, for what stands in an index.
            return json.dumps(value, ensure_ascii=False)
        case list():
            return f"[{', '.join(map(_toml, value))}]"
        case dict():
            return f"{{ {', '.join(f'{_key(k)} = {_toml(v)}' for k, v in value.items())} }}"
        case _:
            raise TypeError(f"cannot write {type(value).__name__} to TOML: {value!r}")


def _key(key: str) -> str:
    return key if key.replace("-", "").replace("_", "").isalnum() else json.dumps(key)
