"""``invalid-element``: a call gets a constant that no component may accept, as a zero among integer divisors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import onnx_ir as ir

from irfuzz.choices import Choices
from irfuzz.facts import TensorFact
from irfuzz.ir.inference.graph_facts import fact_of_elements
from irfuzz.ir.program import Program
from irfuzz.mutate.editing.call_inputs import materialise
from irfuzz.mutate.editing.layer_rewiring import dims_of, largest, sized_sites
from irfuzz.mutate.editing.mutation_sites import is_exact_input, node_after, tensor_fact, value_at
from irfuzz.mutate.editing.node_inserter import Inserter
from irfuzz.mutate.editing.operator_type_portability import INTEGER_LIMITS
from irfuzz.mutate.editing.value_adaptation import adapt, within
from irfuzz.mutate.insertion.layer_sampling import DrawnLayer, draw_behind, draw_free, layers
from irfuzz.mutate.model_interface.expose_value import MOST_OUTPUTS
from irfuzz.mutate.mutator_context import Context
from irfuzz.mutate.mutator_protocol import MutatorUse, Profile, Relation, Skipped
from irfuzz.spec import OpSpec
from irfuzz.spec.constraints.rule_breaking_values import beyond

_TRIES = 8
_DIVISION = 0.15
"""How often the operator is a division."""


@dataclass(frozen=True, slots=True)
class InvalidElement:
    """Inserts a call with a constant of indices, axes, sizes or divisors, and spoils one element of it.

    Integer divisors become zero; elsewhere an element lies just beyond a rule of ``ops/``. Facts stay those of the
    valid call: of what an invalid program computes nothing can be said. The engine makes no further edit, and nobody
    mutates the result.
    """

    context: Context
    name: ClassVar[str] = "invalid-element"
    version: ClassVar[int] = 2
    relation: ClassVar[Relation] = Relation.INVALID
    profile: ClassVar[Profile] = Profile(weight=0.0, campaign_weight=0.75, use=MutatorUse.ON_DEMAND, covers=False)

    def sites(self, program: Program) -> list[str]:
        """Values between layers of a program that may have one more output, all of whose sizes are known or
        have names.
        """
        if len(program.graph.outputs) >= MOST_OUTPUTS:
            return []
        return sized_sites(program)

    def apply(self, program: Program, site: str, choices: Choices) -> str | Skipped:
        """Draw a call until one of its constants can be spoilt; its first result becomes an output.

        A divisor gets one zero or nothing but zeros; another constant gets elements just beyond a rule. The program is
        invalid then, on purpose. Skipped after eight calls.
        """
        value = value_at(program, site)
        fact, opset, limit = tensor_fact(program, value), program.opset, largest(program)
        if dims_of([fact]) is None:
            return Skipped("a size that has no name")
        specs = [
            s for s in layers(self.context.specs, opset, fact.dtype) if {"exact_inputs", "divides"} & s.traits.keys()
        ]
        divisions = [s for s in specs if "divides" in s.traits]
        for _ in range(_TRIES if specs else 0):
            spec = choices.pick(divisions if divisions and choices.boolean(_DIVISION) else specs)
            draw = draw_behind if choices.boolean() else draw_free
            layer = draw(self.context, choices, opset, spec, fact, limit)
            spoilt = None if layer is None else _spoil(spec, layer, choices)
            if layer is None or spoilt is None:
                continue
            position, array, valid = spoilt
            inserter = Inserter(program, node_after(program, value))
            given: dict[int, ir.Value] = {}
            if layer.position is not None and layer.given is not None:
                plain = TensorFact(layer.given.dtype, layer.given.shape)
                taken = adapt(self.context.specs, inserter, value, plain, choices)
                given[layer.position] = within(inserter, taken, layer.given.low, layer.given.high)
            inputs = materialise(program, inserter, spec.op, layer.call, given, choices)
            # Whatever stood there, the node reads a constant of the same type that it alone reads.
            constant = inserter.constant(valid, "c")
            inputs[position] = constant
            node = inserter.node(spec.op, inputs, layer.call.attrs, layer.call.outputs)
            program.add_output(node.outputs[0])
            constant.const_value = ir.Tensor(array, name=constant.name)
            return f"{spec.op} behind {site} reads {array.tolist()} as its input {position}"
        return Skipped("no call with a constant that could be spoilt")


def _spoil(spec: OpSpec, layer: DrawnLayer, choices: Choices) -> tuple[int, np.ndarray, np.ndarray] | None:
    """An input, the elements that it must not have, and some that it may."""
    call = layer.call
    for position in choices.sample(range(len(call.inputs)), len(call.inputs)):
        plan = call.inputs[position]
        if plan is None or position == layer.position or not is_exact_input(spec.op, position, plan.fact.dtype):
            continue
        shape = plan.fact.static_shape
        if shape is None or plan.fact.dtype not in INTEGER_LIMITS:
            continue
        kind = plan.fact.dtype.numpy()
        if position == 1 and "divides" in spec.traits:
            array = np.ones(shape, kind)
            if not array.size:
                continue
            if choices.boolean():
                array.reshape(-1)[choices.index(array.size)] = 0
            else:
                array[...] = 0
            return position, array, np.ones(shape, kind)
        if plan.value is None or not np.asarray(plan.value).size:
            continue
        facts = [None if p is None else p.fact for p in call.inputs]
        if layer.position is not None:
            facts[layer.position] = layer.given
        array = np.array(plan.value, dtype=kind)
        facts[position] = fact_of_elements(TensorFact(plan.fact.dtype, shape), array)
        crafted = [one for one in beyond(spec, facts, call.attrs) if one.position == position]
        if crafted:
            return position, np.array(choices.pick(crafted).value, kind).reshape(array.shape), array
    return None
