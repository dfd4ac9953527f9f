"""Converts exported programs and modules of PyTorch with ``torch.onnx``; runs in a process of its own."""

from __future__ import annotations

import json
import os
import re
import warnings
import zipfile
from collections.abc import Iterator, Mapping
from typing import Any

OPSET = 17
IR_VERSION = 8
EXPORTER_OPSET = 18
"""The lowest opset that the exporter has operators for; from there it is converted down."""

TARGET = re.compile(
    r"torch\.ops\.(aten|prims?|higher_order|quantized(_decomposed)?|torchvision|onnx|onnx_symbolic)(\.\w+){1,2}"
    r"|torch\.sym_\w+|_operator\.\w+|math\.\w+"
)
"""Functions that a program in a file may call: operators, not whatever else can be reached from ``torch``."""

SIZE = re.compile(
    r"(?:Symbol\('[a-z]\w*'|[a-z]+=(?:True|False)|Integer|Rational|Float|Add|Mul|Pow|Max|Min|Mod|PythonMod|ModularIndexing"
    r"|FloorDiv|CeilDiv|CleanDiv|IntTrueDiv|FloatTrueDiv|FloatPow|PowByNatural|ToFloat|TruncToInt|TruncToFloat|CeilToInt"
    r"|FloorToInt|RoundToInt|RoundDecimal|Where|Identity|Equality|Unequality|StrictGreaterThan|GreaterThan|StrictLessThan"
    r"|LessThan|And|Or|Not|true|false|-?\d+|[(), ])*"
)
"""Expressions of sizes, as SymPy writes them: PyTorch has them evaluated as Python."""


class NotAModel(Exception):
    """What was given is not such a model; the message says why."""


def handle(request: dict[str, Any], _values: list[Any]) -> tuple[dict[str, Any], list[Any]]:
    """Convert the ``.pt2`` file ``request["path"]``."""
    return {}, [exported_program_file(request["path"])]


def exported_program_file(path: str) -> bytes:
    """A program that ``torch.export.save`` wrote, loaded without running anything that the file brings along."""
    import torch

    _check_archive(path)
    # ``torch.export.load`` falls back to full unpickling; this makes PyTorch refuse to.
    os.environ["TORCH_FORCE_WEIGHTS_ONLY_LOAD"] = "1"
    program = torch.export.load(path)
    # Conditions on the inputs as Python source, which exporting would compile.
    program._guards_code = []  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]
    return exported_program(program)


def _check_archive(path: str) -> None:
    """See that an archive holds tensors and a graph of operators only, nothing that loading would run."""
    try:
        with zipfile.ZipFile(path) as archive:
            names = archive.namelist()
            if not any(name.endswith("archive_format") for name in names):
                raise NotAModel("not a PyTorch ExportedProgram: no archive_format in it; write it by torch.export.save")
            if any("/aotinductor/" in name for name in names):
                raise NotAModel(
                    "it holds compiled code (AOTInductor), which is not run; save the ExportedProgram alone"
                )
            for name in names:
                if name.endswith(".json"):
                    _check_json(name.rpartition("/")[2], json.loads(archive.read(name)))
    except zipfile.BadZipFile as error:
        raise NotAModel(f"not a PyTorch ExportedProgram ({error})") from None
    except ValueError as error:  # JSON
        raise NotAModel(f"a damaged ExportedProgram ({error})") from None


def _check_json(name: str, content: Any) -> None:
    for key, value in _entries(content):
        if key == "use_pickle" and value:
            raise NotAModel(f"{name} names a pickled Python object, which is not read; give file.py:factory")
        if key == "target" and isinstance(value, str) and not TARGET.fullmatch(value):
            raise NotAModel(f"{name} calls '{value[:80]}'; expected operators (torch.ops.aten...)")
        if key == "expr_str" and isinstance(value, str) and not SIZE.fullmatch(value):
            raise NotAModel(f"{name} has a size '{value[:80]}'; expected arithmetic of symbols and numbers")


def _entries(content: Any) -> Iterator[tuple[str, Any]]:
    pending = [content]
    while pending:
        current = pending.pop()
        if isinstance(current, dict):
            yield from current.items()
            pending.extend(current.values())
        elif isinstance(current, list):
            pending.extend(current)


def module(model: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> bytes:
    """A module in evaluation mode and the example inputs of one call."""
    import torch

    with torch.no_grad():
        return _export(model.eval(), args=args, kwargs=dict(kwargs))


def exported_program(program: Any) -> bytes:
    """An ``ExportedProgram``."""
    return _export(program)


def _export(what: Any, **arguments: Any) -> bytes:
    """By the exporter that builds on torch.export (``dynamo=True``); the older one, by TorchScript, is deprecated."""
    import torch

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            exported = torch.onnx.export(what, dynamo=True, opset_version=EXPORTER_OPSET, verbose=False, **arguments)
        except torch.onnx.OnnxExporterError as error:  # it tells how to write to PyTorch; its cause tells what is wrong
            raise error.__cause__ or error from None
    assert exported is not None
    return _lowered(exported.model_proto).SerializeToString(deterministic=True)


def _lowered(model: Any) -> Any:
    """The same model at ``OPSET`` if ONNX's converter manages that, without the exporter's notes on its sources."""
    import onnx.checker
    import onnx.version_converter

    graph = model.graph
    parts = [model, graph, *model.functions, *_nodes(graph), *graph.input, *graph.output, *graph.value_info]
    for part in (*parts, *graph.initializer):
        part.ClearField("metadata_props")
        part.ClearField("doc_string")
    if all(o.version <= OPSET for o in model.opset_import if not o.domain):
        model.ir_version = IR_VERSION
        return model
    try:
        result = onnx.version_converter.convert_version(_without_defaults(model), OPSET)
        result.ir_version = IR_VERSION
        onnx.checker.check_model(result, full_check=True)
    except Exception as error:  # noqa: BLE001 - whatever C++ raises: the exporter's own opset is the next best
        print(f"kept as the exporter wrote it: {error}")
        return model
    return result


def _without_defaults(model: Any) -> Any:
    """A copy without attributes that are new since ``OPSET`` and stand at their default.

    The converter leaves them where they are, and then they are unknown: ``noop_with_empty_axes`` of ReduceMean.
    """
    import onnx
    import onnx.defs

    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    version = max(o.version for o in model.opset_import if not o.domain)
    for node in _nodes(copy.graph):
        if node.domain or not onnx.defs.has(node.op_type, max_inclusive_version=OPSET):
            continue
        known = onnx.defs.get_schema(node.op_type, OPSET).attributes
        now = onnx.defs.get_schema(node.op_type, version).attributes
        for attribute in list(node.attribute):
            name = attribute.name
            if name not in known and name in now and _same(attribute, now[name].default_value):
                node.attribute.remove(attribute)
    return copy


def _same(attribute: Any, default: Any) -> bool:
    import onnx.helper

    if attribute.type != default.type:
        return False
    return bool(onnx.helper.get_attribute_value(attribute) == onnx.helper.get_attribute_value(default))


def _nodes(graph: Any) -> Iterator[Any]:
    for node in graph.node:
        yield node
        for attribute in node.attribute:
            if attribute.HasField("g"):
                yield from _nodes(attribute.g)
