"""Makes a program of a range of another program's nodes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import onnx
from onnx import numpy_helper

from irfuzz.errors import InvalidProgram
from irfuzz.facts import TensorFact
from irfuzz.ir.fact_type_conversion import proto_of_fact
from irfuzz.ir.input_domain import InputDomain, input_domain, set_input_domain
from irfuzz.ir.program import Program


def part(program: Program, first: int, end: int) -> Program | None:
    """The nodes from ``first`` to before ``end``; what they read is an input, or a constant if it is known.

    Returns:
        ``None`` if they cannot stand alone: they read, or give, what is no tensor.
    """
    whole = program.to_proto()
    nodes = whole.graph.node[first:end]
    graph = onnx.GraphProto(name="part", node=nodes)
    constants = {tensor.name: tensor for tensor in whole.graph.initializer}
    made = {name for node in nodes for name in node.output if name}
    limits: dict[str, InputDomain] = {}
    for name in dict.fromkeys(name for node in nodes for name in _reads(node) if name not in made):
        fact = _fact(program, name)
        if fact is None:
            return None
        if name in constants:
            graph.initializer.append(constants[name])
        elif fact.known:
            array = np.array(fact.value, fact.dtype.numpy()).reshape(fact.static_shape or ())
            graph.initializer.append(numpy_helper.from_array(array, name))
        else:
            graph.input.append(onnx.ValueInfoProto(name=name, type=proto_of_fact(fact)))
            value = program.value(name)
            domain = None if value is None else input_domain(value)
            if domain is None and fact.low is not None and fact.high is not None:
                domain = InputDomain(float(fact.low), float(fact.high))
            if domain is not None and (domain.exact is not None or np.isfinite([domain.low, domain.high]).all()):
                limits[name] = domain
    outside = {name for node in (*whole.graph.node[:first], *whole.graph.node[end:]) for name in _reads(node)}
    inside = {name for node in nodes for name in _reads(node)}
    outside |= {value.name for value in whole.graph.output}
    for name in [name for node in nodes for name in node.output if name and (name in outside or name not in inside)]:
        fact = _fact(program, name)
        if fact is None or fact.shape is None:
            return None
        graph.output.append(onnx.ValueInfoProto(name=name, type=proto_of_fact(fact)))
    model = onnx.ModelProto(ir_version=whole.ir_version, graph=graph, functions=whole.functions)
    model.opset_import.extend(whole.opset_import)
    try:
        result = Program.from_proto(model)
    except InvalidProgram:
        return None
    for value in result.graph.inputs:
        if value.name in limits:
            set_input_domain(value, limits[value.name])
    return result


def _fact(program: Program, name: str) -> TensorFact | None:
    value = program.value(name)
    fact = None if value is None else program.fact(value)
    return fact if isinstance(fact, TensorFact) else None


def _reads(node: onnx.NodeProto) -> list[str]:
    """Names that a node and its bodies read from outside of them."""
    names = [name for name in node.input if name]
    for attribute in node.attribute:
        for body in [attribute.g] if attribute.type == onnx.AttributeProto.GRAPH else attribute.graphs:
            own = {v.name for v in body.input} | {t.name for t in body.initializer}
            own |= {name for inner in body.node for name in inner.output}
            names += [name for inner in body.node for name in _reads(inner) if name not in own]
            names += [v.name for v in body.output if v.name not in own]
    return names


def side_by_side(models: Sequence[onnx.ModelProto]) -> onnx.ModelProto:
    """One model of several of the same opset that share no name; a single one as it is.

    Args:
        models: at least one. Opset imports and functions come from the first, nodes, inputs, outputs, initializers and
            declared types from all, in order.

    Returns:
        A copy if there are several; none of them is changed.
    """
    if len(models) == 1:
        return models[0]
    whole = onnx.ModelProto()
    whole.CopyFrom(models[0])
    for model in models[1:]:
        for kind in ("node", "input", "output", "initializer", "value_info"):
            getattr(whole.graph, kind).extend(getattr(model.graph, kind))
    return whole
