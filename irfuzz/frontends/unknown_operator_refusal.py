"""Refuses operators that a domain of ONNX's lacks; those of other domains are carried."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cache

import onnx
import onnx.defs

from irfuzz.errors import InvalidProgram

_NEWEST_IR = onnx.IR_VERSION
"""The newest IR version that the installed onnx reads."""


@cache
def _newest_opsets() -> Mapping[str, int]:
    """The newest opset of each domain that the installed onnx defines."""
    newest: dict[str, int] = {}
    for schema in onnx.defs.get_all_schemas_with_history():
        newest[schema.domain] = max(newest.get(schema.domain, 0), schema.since_version)
    newest[""] = onnx.defs.onnx_opset_version()
    return newest


def check_operators(model: onnx.ModelProto) -> None:
    """Check that no node claims an operator of ONNX's that does not exist.

    Nodes of domains that neither ONNX nor the model defines are let through: they are carried
    (``irfuzz.ir.inference.opaque_nodes``).

    Args:
        model: its main graph and functions are looked at, bodies included.

    Raises:
        InvalidProgram: an IR version or opset that onnx does not know, a domain that is not imported,
            an operator that does not exist (or no longer does) at the imported opset.
    """
    if not 1 <= model.ir_version <= _NEWEST_IR:
        raise InvalidProgram(f"IR version {model.ir_version} is unknown; expected 1 to {_NEWEST_IR}")
    functions = {(_domain(f.domain), f.name, f.overload) for f in model.functions}
    imports = _imports(model.opset_import)
    if not imports:
        raise InvalidProgram("the model imports no opset")
    for node in nodes_in(model.graph.node):
        _check_node(node, imports, functions)
    for function in model.functions:
        own = _imports(function.opset_import)
        for node in nodes_in(function.node):
            _check_node(node, own, functions)


def _called(node: onnx.NodeProto) -> tuple[str, str, str]:
    return _domain(node.domain), node.op_type, node.overload


def _imports(entries: Iterable[onnx.OperatorSetIdProto]) -> dict[str, int]:
    newest = _newest_opsets()
    imports: dict[str, int] = {}
    for entry in entries:
        domain = _domain(entry.domain)
        if domain in newest and not 1 <= entry.version <= newest[domain]:
            raise InvalidProgram(
                f"opset {entry.version} of domain '{domain or 'ai.onnx'}' is unknown; expected 1 to {newest[domain]}"
            )
        imports[domain] = entry.version
    return imports


def _domain(domain: str) -> str:
    return "" if domain == "ai.onnx" else domain


def nodes_in(nodes: Iterable[onnx.NodeProto]) -> Iterator[onnx.NodeProto]:
    """The nodes of a graph or function and of all subgraphs, outer ones first; the order is not that of the graph."""
    pending: list[onnx.NodeProto] = list(nodes)
    while pending:
        node = pending.pop()
        yield node
        for attribute in node.attribute:
            if attribute.HasField("g"):
                pending.extend(attribute.g.node)
            for graph in attribute.graphs:
                pending.extend(graph.node)


def _check_node(node: onnx.NodeProto, imports: Mapping[str, int], functions: set[tuple[str, str, str]]) -> None:
    domain = _domain(node.domain)
    title = f"node '{node.name or ', '.join(node.output)}'"
    if domain not in imports:
        raise InvalidProgram(f"{title}: domain '{domain or 'ai.onnx'}' of operator {node.op_type} is not imported")
    if _called(node) in functions:
        return
    if domain not in _newest_opsets():
        return
    if not onnx.defs.has(node.op_type, domain=domain):
        raise InvalidProgram(f"{title}: unknown operator {node.op_type} in domain '{domain or 'ai.onnx'}'")
    try:
        schema = onnx.defs.get_schema(node.op_type, max_inclusive_version=imports[domain], domain=domain)
    except onnx.defs.SchemaError:
        raise InvalidProgram(
            f"{title}: operator {node.op_type} does not exist yet at opset {imports[domain]}"
        ) from None
    if schema.deprecated:
        raise InvalidProgram(
            f"{title}: operator {node.op_type} is deprecated since opset {schema.since_version}; "
            f"the model imports {imports[domain]}"
        )
