"""Plainer nodes: drops inputs and attributes that operators can do without."""

from __future__ import annotations

from collections.abc import Iterator

import onnx.defs
import onnx_ir as ir

from irfuzz.ir.inference.call_output_types import schema_of
from irfuzz.ir.inlining import function_of
from irfuzz.ir.program import Program
from irfuzz.reduce.session import Change, NotPossible, Session, infer_anew

_GRAPHS = (ir.AttributeType.GRAPH, ir.AttributeType.GRAPHS)
_VARIADIC = onnx.defs.OpSchema.FormalParameterOption.Variadic


def drop_optional_inputs(session: Session) -> bool:
    """Leave out inputs that the operator does not need, the last ones first.

    What it needs is what its schema at the program's opset says; of operands in any number (Concat, Sum) the last is
    left out. Inputs of bodies stay.
    """
    return session.each(_dropping_inputs(session))


def _dropping_inputs(session: Session) -> Iterator[Change]:
    for site in session.sites():
        node = session.program.node(site)
        schema = None if node is None else schema_of(node.op_type, session.program.opset, node.domain)
        if node is None or schema is None:
            continue
        # What a subgraph takes must stay; it cannot be seen from the schema.
        inner = any(attr.type in _GRAPHS for attr in node.attributes.values())
        for position in reversed(range(schema.min_input, len(node.inputs))):
            variadic = position >= len(schema.inputs) - 1 and schema.inputs[-1].option is _VARIADIC
            node = session.program.node(site)
            if node is not None and (not variadic or (position == len(node.inputs) - 1 and not inner)):
                yield lambda program, site=site, position=position: _drop_input(program, site, position)


def _drop_input(program: Program, site: str, position: int) -> None:
    node = program.node(site)
    if node is None or position >= len(node.inputs) or node.inputs[position] is None:
        raise NotPossible
    node.replace_input_with(position, None)
    while node.inputs and node.inputs[-1] is None:
        node.resize_inputs(len(node.inputs) - 1)
    infer_anew(program)


def drop_attributes(session: Session) -> bool:
    """Leave attributes at their defaults: all of a node at once, else one by one.

    Bodies stay, and so do parameters of local functions that have no default. An operator that needs an attribute makes
    the candidate invalid, and it is not tried.
    """
    found = False
    for site in session.sites():
        node = session.program.node(site)
        if node is None:
            continue
        function = function_of(session.program, node)
        # A parameter of a local function that has no default must be given.
        needed = {name for name, attr in function.attributes.items() if attr.value is None} if function else set()
        names = [n for n, attr in node.attributes.items() if attr.type not in _GRAPHS and n not in needed]
        if len(names) > 1 and session.edit(lambda program, site=site, names=names: _drop(program, site, names)):
            found = True
        else:
            found |= session.each(lambda program, site=site, name=name: _drop(program, site, [name]) for name in names)
    return found


def _drop(program: Program, site: str, names: list[str]) -> None:
    node = program.node(site)
    if node is None or any(name not in node.attributes for name in names):
        raise NotPossible
    for name in names[1:]:
        del node.attributes[name]
    program.set_attr(node, names[0], None)
