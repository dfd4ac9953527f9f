"""``rare-dtype``: a layer computes in an element type that ONNX allows and ONNXRuntime has no CPU kernel for."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import onnx_ir as ir

from irfuzz.choices import Choices
from irfuzz.errors import InvalidProgram
from irfuzz.facts import TensorFact
from irfuzz.ir.calls import Call, hashable_attrs, infer_attribute_types
from irfuzz.ir.infer import infer_call
from irfuzz.ir.program import Program
from irfuzz.mutate.adapt import guarded
from irfuzz.mutate.context import Context
from irfuzz.mutate.insert import Inserter
from irfuzz.mutate.portable import CASTABLE
from irfuzz.mutate.relayer import attributes, facts_of
from irfuzz.mutate.sites import is_exact, layer_sites, node_at
from irfuzz.mutate.types import Relation, Skipped
from irfuzz.spec import OpSpec, check_call

_BFLOAT16_CAST = 13
"""First opset whose Cast knows bfloat16."""


@dataclass(frozen=True, slots=True)
class _Way:
    """Inputs that get another element type, and what comes out."""

    indices: tuple[int, ...]
    dtype: ir.DataType
    outputs: tuple[TensorFact, ...]


@dataclass(frozen=True, slots=True)
class RareDtype:
    """COMET's MDtype beyond what runs everywhere: casts around a layer, to a type for which no kernel was found."""

    context: Context
    name: ClassVar[str] = "rare-dtype"
    version: ClassVar[int] = 1
    relation: ClassVar[Relation] = Relation.CHANGED

    def sites(self, program: Program) -> list[str]:
        """Layers whose element types were measured."""
        return layer_sites(program, self.context.specs, overlaid=True)

    def apply(self, program: Program, site: str, choices: Choices) -> str | Skipped:
        """Draw a type, types that no program has shown first, and cast around the node."""
        node = node_at(program, site)
        op = node.op_type
        spec = self.context.specs.get(op, program.opset)
        if spec is None:
            return Skipped("unknown operator")
        ways = _ways(program, node, spec)
        if not ways:
            return Skipped("no other element type that ONNX allows here")
        wanted = self.context.wanted
        if wanted is None:
            way = self.context.prefer(choices, ways, lambda w: ("dtype", op, w.indices[0], w.dtype.value))
        else:
            way = choices.weighted(
                ways, [0.01 + (wanted.dtype(op, w.dtype.name) if w.indices[0] == 0 else 0.0) for w in ways]
            )
        inserter = Inserter(program, node)
        casts: dict[ir.Value, ir.Value] = {}
        inputs = list(node.inputs)
        for index in way.indices:
            value = inputs[index]
            assert value is not None
            if value not in casts:
                casts[value] = inserter.cast(guarded(inserter, value, way.dtype), way.dtype)
            inputs[index] = casts[value]
        new = inserter.node(op, inputs, attributes(node), len(node.outputs))
        for old, result, fact in zip(node.outputs, new.outputs, way.outputs, strict=True):
            own = program.tensor(old)
            if own is not None and (old.uses() or old.is_graph_output()):
                back = (
                    inserter.cast(guarded(inserter, result, own.dtype), own.dtype)
                    if own.dtype != fact.dtype
                    else result
                )
                program.replace_uses(old, back, outputs=True)
        program.prune()
        return f"{op} at {site} computes in {way.dtype.name}"


def _ways(program: Program, node: ir.Node, spec: OpSpec) -> list[_Way]:
    """Types of each variable that the schema allows, that were not measured to run, and to which casts lead."""
    facts = facts_of(program, node.inputs)
    if not all(f is None or isinstance(f, TensorFact) for f in facts):
        return []
    reach = (*CASTABLE, ir.DataType.BFLOAT16) if program.opset >= _BFLOAT16_CAST else CASTABLE
    ways: list[_Way] = []
    for variable in dict.fromkeys(formal.type_str for formal in spec.inputs):
        indices = tuple(
            i for i, f in enumerate(facts) if f and (g := spec.formal(i)) is not None and g.type_str == variable
        )
        current = facts[indices[0]] if indices else None
        if not isinstance(current, TensorFact) or current.dtype not in CASTABLE:
            continue
        if any(is_exact(node, i, current.dtype) for i in indices):
            continue
        formal = spec.formal(indices[0])
        measured = spec.portable.get(variable, ())
        for dtype in reach:
            if formal is None or dtype not in formal.dtypes or dtype in measured:
                continue
            new = tuple(
                replace(f.without_value(), dtype=dtype, low=None, high=None)
                if i in indices and isinstance(f, TensorFact)
                else f
                for i, f in enumerate(facts)
            )
            outputs = _outputs(program, node, spec, new)
            if outputs is not None:
                ways.append(_Way(indices, dtype, outputs))
    return ways


def _outputs(program: Program, node: ir.Node, spec: OpSpec, facts: tuple[object, ...]) -> tuple[TensorFact, ...] | None:
    """What the call gives; ``None`` where it is not valid or gives other shapes than before."""
    known = tuple(f for f in facts if f is None or isinstance(f, TensorFact))
    attrs = attributes(node)
    try:
        typed = hashable_attrs(infer_attribute_types(spec.op, program.opset, "", attrs))
        if check_call(spec, known, {name: value for name, _, value in typed}):
            return None
        found = infer_call(Call("", spec.op, program.opset, typed, known, (True,) * len(node.outputs)))
    except InvalidProgram:
        return None
    outputs: list[TensorFact] = []
    for value, fact in zip(node.outputs, found, strict=True):
        own = program.tensor(value)
        if not isinstance(fact, TensorFact) or own is None or own.shape != fact.shape:
            return None
        if own.dtype != fact.dtype and (
            own.dtype not in CASTABLE or fact.dtype not in (*CASTABLE, ir.DataType.BFLOAT16)
        ):
            return None
        outputs.append(fact)
    return tuple(outputs)
