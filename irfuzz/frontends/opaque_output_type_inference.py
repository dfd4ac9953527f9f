"""Types of opaque nodes' outputs that the model does not state: from a runtime's inference, or from a run of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

import onnx

from irfuzz.errors import InvalidProgram
from irfuzz.facts import OpaqueFact
from irfuzz.frontends.serialized_weight_separation import LARGE
from irfuzz.ir.fact_type_conversion import declare, fact_of_proto
from irfuzz.ir.inference.opaque_nodes import forget, is_foreign, is_typed
from irfuzz.ir.serialization.preserved_unsupported_fields import VerbatimType
from irfuzz.ir.value import fact_of, set_verbatim

if TYPE_CHECKING:
    import onnx_ir as ir

    from irfuzz.frontends.framework_conversion import Converters
    from irfuzz.ir.program import Program


WHOLE = 64 << 20
"""Bytes of weights up to which a runtime gets a model as it is."""


def opaque_nodes(program: Program) -> list[ir.Node]:
    """The nodes of the main graph that neither ONNX, an overlay nor a function of the model defines, in its order."""
    return [node for node in program.graph if is_foreign(node) and program.inference.is_opaque(node)]


def untyped(program: Program) -> dict[str, ir.Value]:
    """The outputs of a program's opaque nodes whose type, or rank, nobody has said yet, by name."""
    return {v.name: v for node in opaque_nodes(program) for v in node.outputs if v.name and not is_typed(fact_of(v))}


def _asked(program: Program, names: Iterable[str], converters: Converters) -> tuple[dict[str, bytes], str]:
    """What ``Converters.types`` says; of a large model first without its weights, which only some operators look at."""
    weights = [v for v in program.graph.initializers.values() if v.const_value is not None and not v.is_graph_input()]
    large = [v.name or "" for v in weights if v.const_value is not None and v.const_value.nbytes >= LARGE]
    if sum(v.const_value.nbytes for v in weights if v.const_value is not None) > WHOLE:
        found, reason = converters.types(_without(program, large), list(names))
        if found:
            return found, reason
    try:
        data = program.to_bytes()
    except InvalidProgram as error:  # more than protobuf can say
        return {}, str(error)
    return converters.types(data, list(names))


def _without(program: Program, weights: Iterable[str]) -> bytes:
    """The model with some of its weights as inputs of the same type."""
    copy = program.clone()
    for name in weights:
        value = copy.graph.initializers.pop(name)
        declare(value, fact_of(value))
        value.const_value = None
        copy.graph.inputs.append(value)
    return copy.to_bytes()


def complete_types(program: Program, lacking: Mapping[str, ir.Value], converters: Converters) -> str:
    """Declare the types that opaque nodes' outputs lack, and infer the program again.

    Args:
        program: inferred; it is edited.
        lacking: as ``untyped`` gives it.
        converters: ask the runtime.

    Returns:
        Which are still unknown, and why; empty if none is.

    Raises:
        InvalidProgram: a node is ill-typed for what the runtime says.
    """
    found, reason = _asked(program, lacking, converters)
    for name, data in found.items():
        proto = onnx.TypeProto.FromString(data)
        fact, value = fact_of_proto(proto), lacking[name]
        declare(value, fact)
        if isinstance(fact, OpaqueFact):  # what onnx-ir has no type for
            set_verbatim(value, VerbatimType(value.type, value.shape, data))
        program.inference.size_names |= {d.dim_param for d in proto.tensor_type.shape.dim if d.dim_param}
    if found:
        for node in opaque_nodes(program):
            forget(node)
        program.infer()
    left = [value for value in lacking.values() if not is_typed(fact_of(value))]
    if not left:
        return ""
    nodes = dict.fromkeys(node for value in left if (node := value.producer()) is not None)
    operators = ", ".join(dict.fromkeys(f"{node.domain}.{node.op_type}" for node in nodes))
    first = next(iter(nodes))
    return (
        f"node {first.name or left[0].name!r}: the types of what {operators} gives are not known "
        f"({reason or 'onnxruntime tells none'}); declare them in value_info, and if no target runs the operator give "
        "one of your own that loads the library with it (docs/extending.md)"
    )
