"""A reduced program of wrong values enters; what matters beside its operators leaves, and which are of one cause."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

import onnx_ir as ir
from onnx import defs, helper

from irfuzz.ir.calls import schema_of
from irfuzz.spec import has_trait

if TYPE_CHECKING:
    from irfuzz.ir.program import Program
    from irfuzz.oracle.types import Verdict

_ODD_FLOATS = frozenset({ir.DataType.FLOAT16, ir.DataType.DOUBLE, ir.DataType.BFLOAT16})
"""What reduction tries to compute in single precision; where such are left the fault needs them."""

_GRAPHS = frozenset({ir.AttributeType.GRAPH, ir.AttributeType.GRAPHS})


def details(verdict: Verdict, program: Program) -> str:
    """``by=Pad_Fusion;float16;Resize.mode=cubic``: passes, odd floats, and attributes that are not at their defaults.

    Reduction brings every attribute that it can to its default, so that those left take part in the fault. Of texts the
    value is told, of other attributes the name alone: a fault of strides is one whatever they are.
    """
    output = program.value(verdict.output) if verdict.output else None
    nodes = program.nodes() if output is None else program.ancestors(output)
    by = verdict.pass_text or verdict.place
    kinds = {kind for node in nodes if not has_trait(node, "incidental") for kind in _floats(program, node)}
    attributes = {text for node in nodes if not has_trait(node, "transparent") for text in _attributes(program, node)}
    return ";".join([*([f"by={by}"] if by else []), *sorted(kinds), *sorted(attributes)])


def same_cause(signature: str, stored: Iterable[str]) -> str | None:
    """The stored signature of wrong values whose cause is the same, if there is one.

    It has the same symptom, target, operators, passes (as far as both are known) and floats, and no attribute that is
    missing here: what shows with fewer does not need the others. One without details, as older versions of irfuzz
    stored them, is the same.
    """
    if signature.partition("|")[0] not in ("difference", "nan-inf"):
        return None
    place, passes, floats, attributes = _read(signature)
    for other in stored:
        there, its_passes, its_floats, its_attributes = _read(other)
        if there != place:
            continue
        known = not passes or not its_passes or passes == its_passes
        if other.count("|") < 3 or (known and floats == its_floats and its_attributes <= attributes):
            return other
    return None


def place_of(signature: str) -> str:
    """Symptom, target and operators of a signature of values."""
    return "|".join(signature.split("|")[:3])


def _read(signature: str) -> tuple[str, str, frozenset[str], frozenset[str]]:
    """Place, passes, floats and attributes."""
    words = [word for word in "|".join(signature.split("|")[3:]).split(";") if word]
    passes = next((word for word in words if word.startswith("by=")), "")
    attributes = frozenset(word for word in words if "." in word and word != passes)
    return place_of(signature), passes, frozenset(words) - attributes - {passes}, attributes


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
