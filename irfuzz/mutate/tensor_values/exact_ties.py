"""``exact-ties``: equal elements reach an operator that must choose among them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import onnx_ir as ir

from irfuzz.choices import Choices
from irfuzz.facts import TensorFact
from irfuzz.ir.program import Program
from irfuzz.mutate.editing.layer_rewiring import largest, predict, splice_in
from irfuzz.mutate.editing.mutation_sites import flow_values, main_uses, node_after, tensor_fact, value_at
from irfuzz.mutate.editing.node_inserter import Inserter
from irfuzz.mutate.editing.operator_type_portability import CASTABLE, runs
from irfuzz.mutate.editing.value_adaptation import why_not
from irfuzz.mutate.mutator_context import Context
from irfuzz.mutate.mutator_protocol import Profile, Relation, Skipped
from irfuzz.spec import OpSpec, with_trait

# What a mutant's call of each is given; a window, which needs no axis, lies along all of them.
CHOOSERS: Mapping[str, tuple[str, ...]] = {
    "TopK": ("axis", "largest"),
    "ArgMax": ("axis", "keepdims", "select_last_index"),
    "ArgMin": ("axis", "keepdims", "select_last_index"),
    "Hardmax": ("axis",),
    "MaxPool": (),
    "ReduceMax": ("keepdims",),
    "ReduceMin": ("keepdims",),
}
"""Operators whose result hangs on the order of equal elements, or that compare them, with the attributes drawn."""

_COARSE = ("Round", "Floor", "Ceil", "Sign")
"""Operators that make equal what was close; a cast to bool and back does for all types."""

_TRIES = 6


@dataclass(frozen=True, slots=True)
class ExactTies:
    """Makes a value coarse, and lets an operator choose: one that reads it already, or a new one.

    Only results that ONNX prescribes are read: the first of equal elements in TopK-11 and ArgMax-12 (or the last, by
    attribute), the value and not the place in MaxPool.
    """

    context: Context
    name: ClassVar[str] = "exact-ties"
    version: ClassVar[int] = 1
    relation: ClassVar[Relation] = Relation.CHANGED
    profile: ClassVar[Profile] = Profile(weight=0.5)

    def sites(self, program: Program) -> list[str]:
        """Numbers, but no booleans, that flow between layers and have an axis of two elements at least or of
        open size.
        """
        return [v.name for v in flow_values(program) if v.name and _can(tensor_fact(program, v))]

    def apply(self, program: Program, site: str, choices: Choices) -> str | Skipped:
        """Draw how the value is made coarse (Round, Floor, Ceil, Sign, or a Cast to booleans and back), and who
        chooses.

        An operator of ``CHOOSERS`` that reads the value already reads the coarse one; else a new one is inserted, and
        its result takes the value's place.
        """
        value = value_at(program, site)
        specs, opset, fact = self.context.specs, program.opset, tensor_fact(program, value)
        if not _can(fact):
            return Skipped("no numbers among which to choose")
        ways = [op for op in _COARSE if runs(specs, op, opset, fact.dtype)]
        way = choices.pick([*ways, "Cast"])
        there = [use for use in main_uses(program, value) if use[0].op_type in CHOOSERS and use[1] == 0]
        if there and choices.boolean(0.7):
            inserter = Inserter(program, there[0][0])
            program.replace_uses(value, _coarse(inserter, value, way, fact), users=there)
            return f"ties by {way} in {site}, read by {there[0][0].op_type}"
        limit = largest(program)
        for _ in range(_TRIES):
            op = self.context.prefer(choices, tuple(CHOOSERS), lambda name: ("ties", name, way))
            spec = specs.get(op, opset)
            drawn = None if spec is None else _call(spec, fact, choices)
            if spec is None or drawn is None:
                continue
            attrs, more, count = *drawn, _outputs(spec)
            rest = [TensorFact(ir.DataType.INT64, (1,), value=(k,)) for k in more]
            result = predict(specs, opset, op, [fact.without_value(), *rest], attrs, count, limit)
            if isinstance(result, Skipped):
                continue
            read = choices.index(count)
            if why_not(specs, opset, result[read], fact) is not None:
                continue
            inserter = Inserter(program, node_after(program, value))
            coarse = _coarse(inserter, value, way, fact)
            node = inserter.node(op, [coarse, *(inserter.ints([k]) for k in more)], attrs, count)
            splice_in(program, specs, inserter, value, node.outputs[read], choices)
            return f"{op} chooses among ties by {way} in {site}"
        return Skipped("no operator that chooses takes it")


def _can(fact: TensorFact) -> bool:
    return (
        fact.dtype in CASTABLE
        and fact.dtype is not ir.DataType.BOOL
        and any(type(size) is not int or size > 1 for size in fact.shape or ())
    )


def _outputs(spec: OpSpec) -> int:
    return sum(formal.option == "single" for formal in spec.outputs)


def _call(spec: OpSpec, fact: TensorFact, choices: Choices) -> tuple[dict[str, Any], Sequence[int]] | None:
    """Attributes, and the elements of further inputs."""
    shape = fact.shape or ()
    if not CHOOSERS[spec.op]:
        return ({"kernel_shape": [2] * (len(shape) - 2)}, ()) if len(shape) > 2 else None
    axes = [axis for axis, size in enumerate(shape) if type(size) is int and size > 1]
    if not axes:
        return None
    axis = choices.pick(axes)
    attrs = {name: axis if name == "axis" else choices.integer(0, 1) for name in CHOOSERS[spec.op]}
    if _outputs(spec) == 1:
        return attrs, ()
    size = shape[axis]
    assert type(size) is int
    return attrs | {"sorted": 1}, [choices.integer(1, min(size, 8))]


def _coarse(inserter: Inserter, value: ir.Value, way: str, fact: TensorFact) -> ir.Value:
    if way in with_trait("casts"):
        return inserter.cast(inserter.cast(value, ir.DataType.BOOL), fact.dtype)
    return inserter.value(way, value)
