"""Fewer nodes: a session enters; what reads a node reads an earlier value of the same type and shape instead."""

from __future__ import annotations

from collections.abc import Iterator

import onnx_ir as ir

from irfuzz.facts import TensorFact
from irfuzz.ir.program import Program
from irfuzz.reduce.session import Change, NotPossible, Session

TRIES = 3
"""Earlier values tried for one node: the first of the program, one half way, and the nearest."""


def bypass_nodes(session: Session) -> bool:
    """Bypass whole stretches where that works, else single nodes; the last nodes first."""
    return session.each(_changes(session))


def _changes(session: Session) -> Iterator[Change]:
    for site in reversed(session.sites()):
        node = session.program.node(site)
        alike = [] if node is None else _alike_before(session.program, node)
        chosen = dict.fromkeys([*alike[:1], *alike[len(alike) // 2 :][:1], *alike[-1:]])
        yield from (lambda program, name=name, site=site: _bypass(program, site, name) for name in list(chosen)[:TRIES])


def _alike_before(program: Program, node: ir.Node) -> list[str]:
    """Values that the node depends on and that could stand for its first output, the earliest first."""
    fact = program.tensor(node.outputs[0])
    if fact is None:
        return []
    ancestors = program.ancestors(node.outputs[0])
    values = dict.fromkeys(v for n in program.nodes() if n in ancestors for v in n.inputs if v is not None)
    return [
        v.name or ""
        for v in values
        if v is not node.outputs[0] and v.graph is program.graph and _alike(program.tensor(v), fact)
    ]


def _alike(a: TensorFact | None, b: TensorFact) -> bool:
    return a is not None and (a.dtype, a.shape) == (b.dtype, b.shape)


def _bypass(program: Program, site: str, by: str) -> None:
    node, value = program.node(site), program.value(by)
    if node is None or value is None or value is node.outputs[0]:
        raise NotPossible
    # A graph output cannot be a graph input: then the node stays, and only its readers change.
    if not program.replace_uses(node.outputs[0], value, outputs=True):
        raise NotPossible
