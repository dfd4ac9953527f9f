"""Fewer bodies and functions: makes plain nodes of calls and control flow, and makes what stays smaller."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import onnx_ir as ir

from irfuzz.facts import TensorFact
from irfuzz.ir.inlining import MAX_TURNS, drop_uncalled, function_of, inline_call, turns_of, why_not_inlined, write_out
from irfuzz.ir.program import Program
from irfuzz.ir.subgraphs import bodies_of, control_flow_of
from irfuzz.ir.value import fact_of, is_constant, new_value
from irfuzz.reduce.session import NotPossible, Session


def inline_calls(session: Session) -> bool:
    """Calls of local functions become what they compute: all of them, else one after the other.

    For example ``y = f(x)`` -> ``y = Relu(x)``, if that is what ``f`` computes. Functions that nothing calls are
    dropped.
    """
    if not session.program.model.functions:
        return False
    if session.edit(_inline_all):
        return True
    return session.each(lambda program, site=site: _inline(program, site) for site in session.sites())


def _inline_all(program: Program) -> None:
    if not any(function_of(program, node) is not None for node in program.nodes()) and not drop_uncalled(program):
        raise NotPossible
    while calls := [n for n in program.nodes() if function_of(program, n) is not None]:
        if why_not_inlined(program, calls[0]) is not None:
            raise NotPossible
        inline_call(program, calls[0])


def _inline(program: Program, site: str) -> None:
    node = program.node(site)
    if node is None or function_of(program, node) is None or why_not_inlined(program, node) is not None:
        raise NotPossible
    inline_call(program, node)


def unwrap_bodies(session: Session) -> bool:
    """An If becomes one of its branches, a Loop or Scan so many turns as it is known to have, or one.

    For each of them the known number of turns is tried first; a number above ``MAX_TURNS`` is not written out.
    """
    ways = [(site, place, known) for site in session.sites() for place in range(2) for known in (True, False)]
    return session.each(lambda program, way=way: _unwrap(program, *way) for way in ways)


def _unwrap(program: Program, site: str, place: int, known: bool) -> None:
    node = program.node(site)
    kind = "" if node is None else control_flow_of(node)
    bodies = [] if node is None else list(bodies_of(node))
    if node is None or place >= len(bodies) or kind not in ("branch", "loop", "scan"):
        raise NotPossible
    if kind == "branch":
        turns = 1 if known else None
    else:
        turns = turns_of(program, node) if known else 1
    if turns is None or turns > MAX_TURNS or any(v is None for v in node.inputs[2:]):
        raise NotPossible
    write_out(program, node, bodies[place], turns)


def simplify_bodies(session: Session) -> bool:
    """In bodies that stay, zeros are given instead of what is computed, and what nothing reads is dropped.

    Only outputs of static shape become zeros, and none of strings or Booleans: a condition that is always false is no
    simpler.
    """
    found = session.edit(_drop_dead)
    places = [
        (session.program.site_of(node), place, index)
        for node in session.program.nodes()
        for place, body in enumerate(bodies_of(node))
        for index in range(len(body.outputs))
    ]
    return session.each(lambda program, at=at: _zeros(program, *at) for at in places) | found


def _zeros(program: Program, site: str, place: int, index: int) -> None:
    node = program.node(site)
    bodies = [] if node is None else list(bodies_of(node))
    if node is None or place >= len(bodies) or index >= len(bodies[place].outputs):
        raise NotPossible
    body = bodies[place]
    old = body.outputs[index]
    fact, maker = fact_of(old), old.producer()
    shape = fact.static_shape if isinstance(fact, TensorFact) else None
    if shape is None or maker is None or is_constant(maker) or old in body.outputs[:index]:
        raise NotPossible
    assert isinstance(fact, TensorFact)
    if fact.dtype in (ir.DataType.STRING, ir.DataType.BOOL):
        raise NotPossible  # a condition that is always false is no simpler
    new = new_value(program.fresh("zeros"), old.type, old.shape, fact)
    tensor = ir.tensor(np.zeros(shape, fact.dtype.numpy()), dtype=fact.dtype)
    body.append(ir.Node("", "Constant", (), [ir.AttrTensor("value", tensor)], outputs=[new]))
    body.outputs[index] = new
    _prune(body)
    program.changed_inside(node)


def _drop_dead(program: Program) -> None:
    bodies = [b for node in program.nodes() for b in bodies_of(node)]
    if not any([_prune(body) for body in bodies]):  # noqa: C419 - all of them
        raise NotPossible
    program.names_freed()


def _prune(body: ir.Graph) -> bool:
    """Remove nodes and initializers that no output of a body needs."""
    found = False
    outputs = set(body.outputs)
    for node in reversed(list(body)):
        found |= any([_prune(inner) for inner in bodies_of(node)])  # noqa: C419 - all of them
        if not any(o.uses() or o in outputs for o in node.outputs):
            _let_go([node])
            body.remove(node, safe=True)
            found = True
    for name, value in list(body.initializers.items()):
        if not value.uses() and value not in outputs and not value.is_graph_input():
            del body.initializers[name]
            found = True
    return found


def _let_go(nodes: Iterable[ir.Node]) -> None:
    """Let what stands in the bodies of nodes that are removed read nothing any more."""
    for node in nodes:
        for body in bodies_of(node):
            for inner in body.all_nodes():
                for index in range(len(inner.inputs)):
                    inner.replace_input_with(index, None)
