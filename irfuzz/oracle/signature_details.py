"""What matters in a reduced program with wrong outputs beside its operators: passes, types, attributes, no elements."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

import onnx_ir as ir
from onnx import defs, helper

from irfuzz.ir.inference.call_output_types import schema_of
from irfuzz.spec import has_trait, trait_values

if TYPE_CHECKING:
    from irfuzz.ir.program import Program
    from irfuzz.oracle.verdict import Verdict

_ODD_FLOATS = frozenset({ir.DataType.FLOAT16, ir.DataType.DOUBLE, ir.DataType.BFLOAT16})
"""What reduction tries to compute in single precision; where such are left the fault needs them."""

EMPTY = "empty"
"""Of a fault that shows in tensors without elements."""

_GRAPHS = frozenset({ir.AttributeType.GRAPH, ir.AttributeType.GRAPHS})


def details(verdict: Verdict, program: Program) -> str:
    """``by=Pad_Fusion;float16;Resize.mode=cubic``: passes, odd floats, and attributes that are not at their defaults.

    ``empty`` says that a tensor has no elements.

    Reduction brings every attribute that it can to its default, so that those left take part in the fault. Of texts the
    value is told, of other attributes the name alone: a fault of strides is one whatever they are.
    """
    by = verdict.pass_text or verdict.place
    by_whom = [f"by={by}"] if by else []
    kinds = [*floats_of(verdict, program), *([EMPTY] if sees_empty(verdict, program) else [])]
    return ";".join([*by_whom, *kinds, *odd_attributes(verdict, program)])


def floats_of(verdict: Verdict, program: Program) -> list[str]:
    """Odd floating-point types of what computes the verdict's output, sorted.

    Args:
        verdict: names the output; without one, or if the program lacks it, all nodes of the main graph count. Nodes
            with the trait ``incidental`` never do.
        program: in which it is computed.

    Returns:
        Those of ``bfloat16``, ``double`` and ``float16`` that a node reads or gives.
    """
    nodes = _computing(verdict, program)
    return sorted({kind for node in nodes if not has_trait(node, "incidental") for kind in _floats(program, node)})


def odd_attributes(verdict: Verdict, program: Program) -> list[str]:
    """Attributes that are not at their defaults, of what computes the verdict's output, sorted.

    Nodes with the trait ``transparent`` do not count.

    Returns:
        Texts such as ``ReduceSum.noop_with_empty_axes``, each once.
    """
    nodes = _computing(verdict, program)
    return sorted({text for node in nodes if not has_trait(node, "transparent") for text in _attributes(program, node)})


def sees_empty(verdict: Verdict, program: Program) -> bool:
    """Whether what computes the verdict's output reads or gives data without elements.

    A shape that is read does not count: that of a scalar has no elements.
    """
    for node in _computing(verdict, program):
        exact = trait_values("exact_inputs", node.domain).get(node.op_type, ())
        data = [value for place, value in enumerate(node.inputs) if place not in exact]
        for value in (*data, *node.outputs):
            fact = None if value is None else program.tensor(value)
            if fact is not None and fact.shape is not None and 0 in fact.shape:
                return True
    return False


def _computing(verdict: Verdict, program: Program) -> Iterable[ir.Node]:
    output = program.value(verdict.output) if verdict.output else None
    return program.nodes() if output is None else program.ancestors(output)


def _floats(program: Program, node: ir.Node) -> Iterator[str]:
    for value in (*node.inputs, *node.outputs):
        fact = None if value is None else program.tensor(value)
        if fact is not None and fact.dtype in _ODD_FLOATS:
            yield fact.dtype.name.lower()


def _attributes(program: Program, node: ir.Node) -> Iterator[str]:
    schema = schema_of(node.op_type, program.opset, node.domain)
    for name, attribute in node.attributes.items():
        about = None if schema is None else schema.attributes.get(name)
        if about is None or about.required or attribute.type in _GRAPHS or attribute.value is None:
            continue
        value: Any = attribute.value
        if value == _default(about):
            continue
        yield f"{node.op_type}.{name}" + (f"={value}" if attribute.type is ir.AttributeType.STRING else "")


def _default(about: defs.OpSchema.Attribute) -> Any:
    if not about.default_value.name:
        return None
    value = helper.get_attribute_value(about.default_value)
    return value.decode(errors="replace") if isinstance(value, bytes) else value
