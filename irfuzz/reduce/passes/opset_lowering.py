"""The oldest opset: declares the oldest version of ONNX that still shows the fault."""

from __future__ import annotations

from collections.abc import Iterator

from onnx import defs

from irfuzz.errors import InvalidProgram
from irfuzz.ir.inference.call_output_types import schema_of
from irfuzz.ir.program import Program
from irfuzz.ir.subgraphs import nodes_within
from irfuzz.reduce.session import Session

OLDEST = 7
"""No component under test promises to know older ones."""


def lower_opset(session: Session) -> bool:
    """Declare the oldest opset at which every operator still means the same and the fault shows.

    Only numbers change: a version that spells an operator in another way (axes as an attribute) is not gone behind.
    Programs with local functions or operators of other domains stay as they are.
    """
    for opset in _versions(session.program):
        candidate = _at(session.program, opset)
        if candidate is not None and session.attempt(candidate, session.inputs):
            return True
    return False


def _versions(program: Program) -> Iterator[int]:
    """Older opsets, the oldest first, without those that differ from an older one for no operator of the program."""
    nodes = [n for node in program.nodes() for n in (node, *nodes_within(node))]
    if program.model.functions or any(n.domain not in ("", "ai.onnx") for n in nodes):
        return
    seen: set[tuple[int, ...]] = set()
    for opset in range(OLDEST, program.opset):
        schemas = [(schema_of(n.op_type, opset), schema_of(n.op_type, program.opset)) for n in nodes]
        since = tuple(0 if old is None else old.since_version for old, _ in schemas)
        if since not in seen and all(
            old is not None and new is not None and _alike(old, new) for old, new in schemas
        ):  # fmt: skip
            seen.add(since)
            yield opset


def _alike(old: defs.OpSchema, new: defs.OpSchema) -> bool:
    """True if both versions take the same inputs and attributes, with the same defaults."""
    if old.since_version == new.since_version:
        return True
    parts = [
        (
            [(p.name, p.option, p.is_homogeneous) for p in schema.inputs],
            [(p.name, p.option) for p in schema.outputs],
            {n: (a.type, a.required, a.default_value.SerializeToString()) for n, a in schema.attributes.items()},
        )
        for schema in (old, new)
    ]
    return parts[0] == parts[1]


def _at(program: Program, opset: int) -> Program | None:
    proto = program.to_proto()
    for entry in proto.opset_import:
        if entry.domain in ("", "ai.onnx"):
            entry.version = opset
    try:
        return Program.from_proto(proto)
    except InvalidProgram:
        return None
