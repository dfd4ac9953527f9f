"""Types of opaque nodes' outputs that the model does not state: from a runtime's inference, or from a run of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import onnx

from irfuzz.facts import OpaqueFact
from irfuzz.ir.carried import VerbatimType
from irfuzz.ir.opaque import forget, is_foreign, is_typed
from irfuzz.ir.types import declare, fact_of_proto
from irfuzz.ir.value import fact_of, set_verbatim

if TYPE_CHECKING:
    import onnx_ir as ir

    from irfuzz.frontends.convert import Converters
    from irfuzz.ir.program import Program


def opaque_nodes(program: Program) -> list[ir.Node]:
    """The nodes of the main graph that neither ONNX nor a function of the model defines."""
    return [node for node in program.graph if is_foreign(node) and program.inference.is_opaque(node)]


def untyped(program: Program) -> dict[str, ir.Value]:
    """The outputs of a program's opaque nodes whose type, or rank, nobody has said yet, by name."""
    return {v.name: v for node in opaque_nodes(program) for v in node.outputs if v.name and not is_typed(fact_of(v))}


def complete_types(program: Program, lacking: Mapping[str, ir.Value], converters: Converters) -> str:
    """Declare the types that opaque nodes' outputs lack, and infer the program again.

    Args:
        program: inferred; it is edited.
        lacking: as ``untyped`` gives it.
        converters: ask the runtime.

    Returns:
        Which are still unknown, and why; empty where none is.

    Raises:
        InvalidProgram: a node is ill-typed for what the runtime says.
    """
    found, reason = converters.types(program.to_bytes(), list(lacking))
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
