"""Fewer nodes and plainer ones: a session enters; nodes are bypassed, optional inputs and attributes dropped."""

from __future__ import annotations

from irfuzz.errors import InvalidProgram
from irfuzz.facts import TensorFact
from irfuzz.ir.calls import schema_of
from irfuzz.reduce.outputs import drop_unused_inputs
from irfuzz.reduce.session import Session


def bypass_nodes(session: Session) -> bool:
    """Let the readers of a node read one of its inputs of the same type and shape, last nodes first."""
    found = False
    for site in [session.program.site_of(n) for n in reversed(session.program.nodes())]:
        node = session.program.node(site)
        if node is None:
            continue
        output = session.program.fact(node.outputs[0])
        for position, value in enumerate(node.inputs):
            if value is None or not _alike(session.program.fact(value), output):
                continue
            candidate = session.program.clone()
            copy = candidate.node(site)
            assert copy is not None
            source = copy.inputs[position]
            assert source is not None
            try:
                candidate.replace_uses(copy.outputs[0], source, outputs=True)
                candidate.prune()
            except InvalidProgram:
                continue
            drop_unused_inputs(candidate)
            if session.attempt(candidate):
                found = True
                break
    return found


def _alike(a: object, b: object) -> bool:
    return isinstance(a, TensorFact) and isinstance(b, TensorFact) and (a.dtype, a.shape) == (b.dtype, b.shape)


def drop_optional_inputs(session: Session) -> bool:
    """Leave out inputs that the operator does not need."""
    found = False
    for site in [session.program.site_of(n) for n in session.program.nodes()]:
        node = session.program.node(site)
        if node is None:
            continue
        schema = schema_of(node.op_type, session.program.opset, node.domain)
        for position in reversed(range(schema.min_input if schema else len(node.inputs), len(node.inputs))):
            if position >= len(node.inputs) or node.inputs[position] is None:
                continue
            candidate = session.program.clone()
            copy = candidate.node(site)
            assert copy is not None
            try:
                candidate.set_input(copy, position, None)
                while copy.inputs and copy.inputs[-1] is None:
                    copy.resize_inputs(len(copy.inputs) - 1)
                candidate.prune()
            except InvalidProgram:
                continue
            drop_unused_inputs(candidate)
            if session.attempt(candidate):
                found = True
                node = session.program.node(site)
                if node is None:
                    break
    return found


def drop_attributes(session: Session) -> bool:
    """Leave attributes at their defaults."""
    found = False
    for site in [session.program.site_of(n) for n in session.program.nodes()]:
        node = session.program.node(site)
        if node is None or node.op_type == "Constant":
            continue
        for name in list(node.attributes):
            candidate = session.program.clone()
            copy = candidate.node(site)
            assert copy is not None
            try:
                candidate.set_attr(copy, name, None)
            except InvalidProgram:
                continue
            found |= session.attempt(candidate)
    return found
