"""``quantise-region``: a layer computes on quantised numbers, between Q and DQ, or by an integer operator."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import onnx_ir as ir

from irfuzz.choices import Choices
from irfuzz.facts import TensorFact
from irfuzz.ir.program import Program
from irfuzz.mutate.editing.convex_regions import needs_declaration
from irfuzz.mutate.editing.layer_rewiring import dims_of, splice_in
from irfuzz.mutate.editing.mutation_sites import (
    exact_values,
    is_exact,
    layer_nodes,
    main_uses,
    node_after,
    node_at,
    tensor_fact,
)
from irfuzz.mutate.editing.node_inserter import Inserter
from irfuzz.mutate.layers.integer_operator_replacement import integer_layer
from irfuzz.mutate.layers.quantisation_scheme import (
    QuantisationScheme,
    dequantise,
    of_constant,
    of_value,
    parameters,
    quantise,
)
from irfuzz.mutate.mutator_context import Context
from irfuzz.mutate.mutator_protocol import Profile, Relation, Skipped
from irfuzz.spec import OpSpec, has_trait, trait_values

FIRST_OPSET = 10
"""Version that has QuantizeLinear."""

_PER_AXIS = 13
"""First opset whose QuantizeLinear has an axis."""

_DYNAMIC = 11
"""First opset that has DynamicQuantizeLinear."""

_D = ir.DataType
_INTEGERS = (_D.UINT8, _D.INT8, _D.UINT16, _D.INT16, _D.UINT4, _D.INT4)


@dataclass(frozen=True, slots=True)
class QuantiseRegion:
    """Q/DQ pairs on inputs, weights (per tensor and per axis) and outputs, or QLinear and Integer operators."""

    context: Context
    name: ClassVar[str] = "quantise-region"
    version: ClassVar[int] = 1
    relation: ClassVar[Relation] = Relation.CHANGED
    profile: ClassVar[Profile] = Profile(grows=True)

    def sites(self, program: Program) -> list[str]:
        """Layers that read and compute float32 and are not quantised yet, from opset 10 on."""
        if program.opset < FIRST_OPSET:
            return []
        return [
            program.site_of(node)
            for node in layer_nodes(program, self.context.specs)
            if not has_trait(node, "quantised")
            and _is_real(program, node.outputs[0])
            and any(v is not None and _is_real(program, v) for v in node.inputs)
        ]

    def apply(self, program: Program, site: str, choices: Choices) -> str | Skipped:
        """Draw the way, the integer type and the ranges: pairs of QuantizeLinear and DequantizeLinear around the layer,
        or an integer operator in its place.

        Pairs stand in front of some inputs and mostly behind the result, or behind its only reader if that computes on
        it alone, as an activation does. Constants may be stored as integers.
        """
        node = node_at(program, site)
        ways = list(trait_values("integer_forms").get(node.op_type, ())) if program.opset >= _DYNAMIC else []
        way = choices.pick(["pairs", *ways])
        if way != "pairs":
            return integer_layer(program, self.context, node, way, choices)
        return self._pairs(program, node, choices)

    def _pairs(self, program: Program, node: ir.Node, choices: Choices) -> str | Skipped:
        types = self._types(program.opset)
        if not types:
            return Skipped("no integer type that runs")
        exact = exact_values(program)
        inputs = [
            index
            for index, value in enumerate(node.inputs)
            if value is not None
            and _is_real(program, value)
            and not is_exact(node, index, _D.FLOAT)
            and (value not in exact or program.constant_of(value) is not None)
        ]
        chosen = [index for index in inputs if choices.boolean(0.8)]
        end = self._end(program, node, exact, choices)
        behind = choices.boolean(0.7) or not chosen
        if needs_declaration(program, node) or (end is not node and needs_declaration(program, end)):
            return Skipped("an output that only its declaration types")
        if behind and dims_of([tensor_fact(program, end.outputs[0])]) is None:
            return Skipped("a size that has no name")
        dtype = types[0] if choices.boolean(0.3) else choices.pick(types)
        for index in chosen:
            value = node.inputs[index]
            assert value is not None
            program.set_input(node, index, self._input(program, node, index, value, dtype, choices))
        if behind:
            output = end.outputs[0]
            inserter = Inserter(program, node_after(program, output))
            plan = self._plan(program, output, dtype, choices, weight=False)
            splice_in(program, self.context.specs, inserter, output, _pair(inserter, output, plan, choices), choices)
        program.prune()
        what = f"{node.op_type} at {node.outputs[0].name}" + ("" if end is node else f" with {end.op_type}")
        return f"{what} between Q and DQ of {dtype.name}: {len(chosen)} inputs, {int(behind)} outputs"

    def _end(self, program: Program, node: ir.Node, exact: set[ir.Value], choices: Choices) -> ir.Node:
        """The layer, or the only reader of its result if that is a layer of one input: an activation, mostly."""
        uses = main_uses(program, node.outputs[0])
        if len(uses) != 1 or node.outputs[0].is_graph_output() or not choices.boolean():
            return node
        reader = uses[0][0]
        computed = [v for v in reader.inputs if v is not None and program.constant_of(v) is None]
        fitting = (
            len(computed) == 1
            and reader.domain in ("", "ai.onnx")
            and not has_trait(reader, "quantised")
            and len(reader.outputs) == 1
            and reader.outputs[0] not in exact
            and _is_real(program, reader.outputs[0])
            and (reader.outputs[0].uses() or reader.outputs[0].is_graph_output())
        )
        return reader if fitting else node

    def _input(
        self, program: Program, node: ir.Node, index: int, value: ir.Value, dtype: ir.DataType, choices: Choices
    ) -> ir.Value:
        """What stands in for an input: a pair behind it, or a constant that is stored as integers."""
        inserter = Inserter(program, node)
        array = program.const_array(value)
        if array is None and program.opset >= _DYNAMIC and choices.boolean(0.15):
            made = inserter.node("DynamicQuantizeLinear", [value], outputs=3).outputs
            return inserter.value("DequantizeLinear", *made)
        plan = self._plan(program, value, dtype, choices, weight=array is not None)
        if array is None or choices.boolean(0.3):
            return _pair(inserter, value, plan, choices)
        if array.ndim == 1 and index == 2 and choices.boolean():
            return _bias(inserter, array, choices)
        scale, zero = parameters(inserter, plan)
        stored = inserter.constant(plan.quantise(array), "quantised")
        return dequantise(inserter, stored, plan, scale, None if not plan.zero.any() and choices.boolean() else zero)

    def _plan(
        self, program: Program, value: ir.Value, dtype: ir.DataType, choices: Choices, *, weight: bool
    ) -> QuantisationScheme:
        symmetric = choices.boolean(0.6 if weight else 0.3)
        shape = tensor_fact(program, value).shape or ()
        axes = [i for i, size in enumerate(shape) if type(size) is int and size > 0]
        axis = None
        if axes and program.opset >= _PER_AXIS and choices.boolean(0.5 if weight else 0.15):
            axis = choices.pick(axes)
        array = program.const_array(value) if weight else None
        if array is not None:
            return of_constant(array, dtype, symmetric=symmetric, axis=axis)
        return of_value(program, value, dtype, choices, symmetric=symmetric, axis=axis)

    def _types(self, opset: int) -> list[ir.DataType]:
        """Integer types to and from which both operators run, 8 bits first."""
        specs = self.context.specs
        to, back = specs.get("QuantizeLinear", opset), specs.get("DequantizeLinear", opset)
        if to is None or back is None:
            return []
        return [d for d in _INTEGERS if _runs_at(to, 2, d) and _runs_at(back, 0, d)]


def _runs_at(spec: OpSpec, index: int, dtype: ir.DataType) -> bool:
    formal = spec.formal(index)
    if formal is None or dtype not in formal.dtypes:
        return False
    measured = spec.portable.get(formal.type_str)
    return dtype in (_D.UINT8, _D.INT8) if measured is None else dtype in measured


def _is_real(program: Program, value: ir.Value) -> bool:
    fact = program.fact(value)
    return isinstance(fact, TensorFact) and fact.dtype is _D.FLOAT and fact.shape is not None and 0 not in fact.shape


def _pair(inserter: Inserter, value: ir.Value, plan: QuantisationScheme, choices: Choices) -> ir.Value:
    scale, zero = parameters(inserter, plan)
    middle = quantise(inserter, value, plan, scale, zero)
    return dequantise(inserter, middle, plan, scale, None if not plan.zero.any() and choices.boolean(0.3) else zero)


def _bias(inserter: Inserter, array: np.ndarray, choices: Choices) -> ir.Value:
    """A constant stored as int32, as converters store what is added to a sum of products."""
    scale = np.float32(choices.pick((2.0**-8, 2.0**-12, 1e-3)))
    real = np.nan_to_num(array.astype(np.float64), posinf=0.0, neginf=0.0) / float(scale)
    stored = inserter.constant(np.clip(np.rint(real), -(2**31), 2**31 - 1).astype(np.int32), "bias")
    return inserter.value("DequantizeLinear", stored, inserter.constant(np.asarray(scale), "scale"))
