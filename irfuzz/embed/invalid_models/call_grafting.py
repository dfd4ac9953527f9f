"""Puts calls of one model into the scope of another."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import onnx

from irfuzz.embed.invalid_models.checker_schemas import schema_of
from irfuzz.embed.invalid_models.random_model_parts import COMMON, CallScope, PartDrawer, version_in, within

MOST = 4
"""Calls that are taken at once."""


def graft(
    donor: onnx.ModelProto, scope: CallScope, versions: dict[str, int], parts: PartDrawer
) -> list[onnx.NodeProto]:
    """Calls of another model with names of their own; what they read that is not there is added to the scope.

    Args:
        donor: stays as it is.
        scope: of the place at which they are put.
        versions: of the domains there; a call that does not stand at them is left out.
        parts: every draw comes from here.
    """
    nodes = donor.graph.node
    if not nodes:
        return []
    start = parts.choices.index(len(nodes))
    taken: list[onnx.NodeProto] = []
    theirs = {entry.domain: entry.version for entry in donor.opset_import}
    for original in nodes[start : start + parts.choices.integer(1, MOST)]:
        node = onnx.NodeProto()
        node.CopyFrom(original)
        version = version_in(versions, node.domain)
        if version is None:
            version = version_in(theirs, node.domain) or 0
            scope.imports[node.domain] = version
        schema = schema_of(node.domain, node.op_type, version)
        if schema is None or not parts.fit(node, schema, versions):
            scope.imports.pop(node.domain, None)
            continue
        taken.append(node)
    names: dict[str, str] = {"": ""}
    for node in taken:
        for holder, at in _reads(node):
            holder[at] = names[holder[at]] if holder[at] in names else _brought(holder[at], donor, names, scope, parts)
        for at, name in enumerate(node.output):
            node.output[at] = names[name] = parts.name() if name else ""
        node.name = ""
    return taken


def _reads(node: onnx.NodeProto) -> Iterator[tuple[Any, int]]:
    """Where a node, or a graph in it, names a value of the graph around it."""
    for at in range(len(node.input)):
        yield node.input, at
    for graph in within([node]):
        own = {value.name for value in (*graph.input, *graph.initializer)}
        own |= {name for inner in graph.node for name in inner.output}
        for inner in graph.node:
            for at, name in enumerate(inner.input):
                if name and name not in own:
                    yield inner.input, at


def _brought(name: str, donor: onnx.ModelProto, names: dict[str, str], scope: CallScope, parts: PartDrawer) -> str:
    """What stands for a value of the donor: the same constant or input, something there, or a new input."""
    if scope.known and parts.chance(30):
        return parts.choices.pick(list(scope.known))
    made = names[name] = parts.name()
    tensor = next((t for t in donor.graph.initializer if t.name == name), None)
    if tensor is not None:
        scope.constants.append(onnx.TensorProto())
        scope.constants[-1].CopyFrom(tensor)
        scope.constants[-1].name = made
        return made
    rows = (*donor.graph.input, *donor.graph.value_info)
    known = next((v for v in rows if v.name == name and v.type.tensor_type.HasField("shape")), None)
    scope.inputs.append(onnx.ValueInfoProto(name=made))
    if known is not None:
        scope.inputs[-1].type.CopyFrom(known.type)
    else:
        parts.type_of(parts.word_of(COMMON), scope.inputs[-1].type)
    return made
