"""``change-dtype``: a layer computes in another element type, between casts (COMET's MDtype, table 3)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import onnx_ir as ir

from irfuzz.choices import Choices
from irfuzz.facts import TensorFact
from irfuzz.ir.program import Program
from irfuzz.mutate.editing.layer_rewiring import attributes, facts_of, largest, put_in_place, replacement
from irfuzz.mutate.editing.mutation_sites import is_exact, layer_sites, node_at
from irfuzz.mutate.editing.node_inserter import Inserter
from irfuzz.mutate.editing.operator_type_portability import CASTABLE
from irfuzz.mutate.editing.value_adaptation import cast
from irfuzz.mutate.mutator_context import Context
from irfuzz.mutate.mutator_protocol import Profile, PublishedOperator, Relation, Skipped
from irfuzz.spec import has_trait

_TRIES = 5


@dataclass(frozen=True, slots=True)
class ChangeDtype:
    """Casts all inputs of one type variable, runs the layer, casts its outputs back."""

    context: Context
    name: ClassVar[str] = "change-dtype"
    version: ClassVar[int] = 1
    relation: ClassVar[Relation] = Relation.CHANGED
    profile: ClassVar[Profile] = Profile(
        weight=1.5,
        papers=(PublishedOperator("comet", 1, "MDtype", "Mutate Datatype", note="rare types on request only"),),
    )

    def sites(self, program: Program) -> list[str]:
        """Layers whose operator has rules under ``ops/``, and so measured element types."""
        return layer_sites(program, self.context.specs, overlaid=True)

    def apply(self, program: Program, site: str, choices: Choices) -> str | Skipped:
        """Draw a type variable and a type that is known to run, and cast around the node.

        Before: ``y = op(x)``. After: ``y = Cast(op(Cast(x)))``; all inputs of the variable are cast, floats within the
        range of integers, and a constant is sometimes stored in the new type instead.
        """
        node = node_at(program, site)
        specs = self.context.specs
        op = node.op_type
        spec = specs.get(op, program.opset)
        if spec is None:
            return Skipped("unknown operator")
        facts = facts_of(program, node.inputs)
        options = []
        for variable in dict.fromkeys(formal.type_str for formal in spec.inputs):
            indices = [
                i
                for i in range(len(facts))
                if (f := spec.formal(i)) is not None and f.type_str == variable and facts[i]
            ]
            current = facts[indices[0]] if indices else None
            if not isinstance(current, TensorFact) or current.dtype not in CASTABLE:
                continue
            if not has_trait(node, "limits_by_inputs") and any(is_exact(node, i, current.dtype) for i in indices):
                continue
            measured = spec.portable.get(variable, ())
            for dtype in CASTABLE:
                if dtype == current.dtype or dtype not in measured:
                    continue
                if dtype.is_integer() and has_trait(node, "divides"):
                    continue  # a divisor may round to 0
                new = [
                    replace(f.without_value(), dtype=dtype) if i in indices and isinstance(f, TensorFact) else f
                    for i, f in enumerate(facts)
                ]
                options.append((indices, dtype, new))
        if not options:
            return Skipped("no other element type")
        limit = largest(program)
        found = None
        for _ in range(_TRIES):
            option = self.context.prefer(choices, options, lambda o: ("dtype", op, o[0][0], o[1].value))
            if replacement(program, specs, node, option[2], node.attributes, limit) is not None:
                found = option
                break
            options.remove(option)
            if not options:
                break
        if found is None:
            return Skipped("no other element type that the operator takes here")
        indices, dtype, _ = found
        inserter = Inserter(program, node)
        casts: dict[str, ir.Value] = {}
        inputs = list(node.inputs)
        for index in indices:
            value = inputs[index]
            assert value is not None
            assert value.name is not None
            if value.name not in casts:
                casts[value.name] = _converted(program, inserter, value, dtype, choices)
            inputs[index] = casts[value.name]
        before = facts[indices[0]]
        assert isinstance(before, TensorFact)
        new_node = inserter.node(op, inputs, attributes(node), len(node.outputs))
        put_in_place(program, specs, inserter, node.outputs, new_node.outputs, choices)
        return f"{op} at {site} computes in {dtype.name} instead of {before.dtype.name}"


def _converted(program: Program, inserter: Inserter, value: ir.Value, dtype: ir.DataType, choices: Choices) -> ir.Value:
    """A cast, or for a constant sometimes another constant."""
    tensor = program.constant_of(value)
    if tensor is not None and tensor.dtype.is_floating_point() and dtype.is_floating_point() and choices.boolean():
        with np.errstate(over="ignore"):  # a number beyond the type's range becomes infinite, as in Cast
            return inserter.constant(tensor.numpy().astype(dtype.numpy()), "cast")
    return cast(inserter, value, dtype)
