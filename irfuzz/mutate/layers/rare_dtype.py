"""``rare-dtype``: a layer computes in an element type that ONNX allows and ONNXRuntime has no CPU kernel for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import ClassVar

import onnx.defs
import onnx_ir as ir

from irfuzz.choices import Choices
from irfuzz.errors import InvalidProgram
from irfuzz.facts import TensorFact
from irfuzz.ir.inference.call_output_types import CallKey, hashable_attrs, infer_attribute_types
from irfuzz.ir.inference.graph_facts import infer_call
from irfuzz.ir.program import Program
from irfuzz.mutate.editing.layer_rewiring import attributes, facts_of, largest, sized_sites
from irfuzz.mutate.editing.mutation_sites import is_exact, layer_nodes, value_at
from irfuzz.mutate.editing.node_inserter import Inserter
from irfuzz.mutate.editing.operator_type_portability import CASTABLE
from irfuzz.mutate.editing.value_adaptation import guarded
from irfuzz.mutate.insertion.drawn_call_inserter import Grower
from irfuzz.mutate.model_interface.expose_value import MOST_OUTPUTS
from irfuzz.mutate.mutator_context import Context
from irfuzz.mutate.mutator_protocol import MutatorUse, Profile, PublishedOperator, Relation, Skipped
from irfuzz.spec import OpSpec, check_call

_FRESH = 0.7
"""How often a new layer is put behind the value."""

_BODIED = 30.0
"""How much more often an operator is drawn that ONNX defines by a function: without a kernel its body is run, in types
that nobody may have tried, while of others a missing kernel is all there is to find."""

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
    version: ClassVar[int] = 2
    relation: ClassVar[Relation] = Relation.CHANGED
    profile: ClassVar[Profile] = Profile(
        weight=0.0,
        campaign_weight=1.0,
        cost=0.7,
        use=MutatorUse.ON_DEMAND,
        papers=(
            PublishedOperator("comet", 1, "MDtype", "Mutate Datatype", note="rare types on request only", beside=True),
        ),
    )

    def sites(self, program: Program) -> list[str]:
        """Values between layers, all of whose sizes are known or have names."""
        return sized_sites(program)

    def apply(self, program: Program, site: str, choices: Choices) -> str | Skipped:
        """Draw a type, rarely shown ones first, and cast around the layer at a value, or around a new one behind it."""
        value = value_at(program, site)
        if choices.boolean(_FRESH):
            node = self._fresh(program, value, choices)
            if node is None:
                return Skipped("no call was found")
            fresh = f"{node.op_type} behind {site}"
            done = self._retype(program, node, fresh, choices)
            return fresh if isinstance(done, Skipped) else done
        node = value.producer()
        if node is None or node not in layer_nodes(program, self.context.specs):
            return Skipped("not a layer")
        return self._retype(program, node, f"{node.op_type} at {site}", choices)

    def _fresh(self, program: Program, value: ir.Value, choices: Choices) -> ir.Node | None:
        """A new layer that reads a value, of an operator of which rare types are missing, as an output."""
        if len(program.graph.outputs) >= MOST_OUTPUTS:
            return None
        wanted = self.context.wanted

        def choose(specs: Sequence[OpSpec]) -> OpSpec:
            weights = [
                1.0 if wanted is None else 0.01 + sum(wanted.dtype(s.op, d.name) for d in rare_types(s)) for s in specs
            ]
            bodied = [_BODIED if rare_types(s) and has_body(s) else 1.0 for s in specs]
            return choices.weighted(specs, [w * b for w, b in zip(weights, bodied, strict=True)])

        grower = Grower(self.context, Inserter(program, None), choices, largest(program))
        result = grower.layer(value, choose)
        if result is None:
            return None
        program.add_output(result)
        return result.producer()

    def _retype(self, program: Program, node: ir.Node, where: str, choices: Choices) -> str | Skipped:
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
        return f"{where} computes in {way.dtype.name}"


@lru_cache(maxsize=512)
def has_body(spec: OpSpec) -> bool:
    """Whether ONNX defines the operator, at the version of ``spec``, by a function of others; false for operators of
    other domains.
    """
    if spec.domain:
        return False
    schema = onnx.defs.get_schema(spec.op, spec.since, "")
    return any(getattr(schema, name) for name in ("has_function", "has_context_dependent_function"))


@lru_cache(maxsize=512)
def rare_types(spec: OpSpec) -> tuple[ir.DataType, ...]:
    """Element types of the first input that casts lead to, bfloat16 among them, and that were not measured to run."""
    formal = spec.formal(0)
    measured = () if formal is None else spec.portable.get(formal.type_str, ())
    reach = (*CASTABLE, ir.DataType.BFLOAT16)
    return () if formal is None else tuple(d for d in reach if d in formal.dtypes and d not in measured)


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
    """What the call gives; ``None`` if it is not valid or gives other shapes than before."""
    known = tuple(f for f in facts if f is None or isinstance(f, TensorFact))
    attrs = attributes(node)
    try:
        typed = hashable_attrs(infer_attribute_types(spec.op, program.opset, "", attrs))
        if check_call(spec, known, {name: value for name, _, value in typed}):
            return None
        found = infer_call(CallKey("", spec.op, program.opset, typed, known, (True,) * len(node.outputs)))
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
