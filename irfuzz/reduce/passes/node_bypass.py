"""Fewer nodes: lets what reads a node read an earlier value instead, of the same type if it can be."""

from __future__ import annotations

from collections.abc import Iterator

import onnx_ir as ir

from irfuzz.facts import TensorFact
from irfuzz.ir.program import Program
from irfuzz.reduce.session import Change, NotPossible, Session, infer_anew

TRIES = 3
"""Earlier values tried for one node: the first of the program, one half way, and the nearest."""


def bypass_nodes(session: Session) -> bool:
    """Bypass whole stretches if that works, else single nodes; the last nodes first.

    What reads a node's first output reads an earlier value of the same type and shape that the node depends on: the
    first of the program, one half way, or the nearest. For example ``Relu(Neg(Exp(x)))`` -> ``Relu(x)``.
    """
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


def skip_nodes(session: Session) -> bool:
    """Let what reads a node read one of its inputs, of whatever shape, if all that follows is still well-typed.

    Element types have to be equal. Inputs of equal shape are left to ``bypass_nodes``, and graph outputs are not
    skipped. For example ``Relu(Transpose(x))`` -> ``Relu(x)``.
    """
    return session.each(_skips(session))


def _skips(session: Session) -> Iterator[Change]:
    for site in reversed(session.sites()):
        node = session.program.node(site)
        for index in range(0 if node is None else len(node.inputs)):
            yield lambda program, site=site, index=index: _skip(program, site, index)


def _skip(program: Program, site: str, index: int) -> None:
    node = program.node(site)
    source = None if node is None or index >= len(node.inputs) else node.inputs[index]
    if node is None or source is None:
        raise NotPossible
    result = node.outputs[0]
    one, other = program.tensor(source), program.tensor(result)
    if one is None or other is None or one.dtype != other.dtype or one.shape == other.shape:
        raise NotPossible  # what has the same type is left to ``bypass_nodes``
    if result.is_graph_output() or source.graph is not program.graph:
        raise NotPossible  # the fault has to show behind it
    for user, place in list(result.uses()):
        user.replace_input_with(place, source)
    infer_anew(program)
