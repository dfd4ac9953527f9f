"""Puts QLinear or Integer operators, between quantised numbers, in the place of a Conv or MatMul."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import onnx_ir as ir

from irfuzz.choices import Choices
from irfuzz.facts import TensorFact
from irfuzz.mutate.editing.layer_rewiring import attributes, largest, predict, put_in_place, restorable
from irfuzz.mutate.editing.mutation_sites import exact_values, tensor_fact
from irfuzz.mutate.editing.node_inserter import Inserter
from irfuzz.mutate.layers.quantisation_scheme import QuantisationScheme, of_constant, of_value, parameters, quantise
from irfuzz.mutate.mutator_protocol import Skipped
from irfuzz.spec import has_trait, with_trait

if TYPE_CHECKING:
    from irfuzz.ir.program import Program
    from irfuzz.mutate.mutator_context import Context

_D = ir.DataType
_PAIRS = ((_D.UINT8, _D.UINT8), (_D.UINT8, _D.INT8), (_D.INT8, _D.INT8))
"""Types of data and weights."""


@dataclass(frozen=True, slots=True)
class _Plan:
    """How both operands, and the result if the operator quantises it, become integers."""

    data: QuantisationScheme
    weight: QuantisationScheme
    result: QuantisationScheme


def integer_layer(program: Program, context: Context, node: ir.Node, way: str, choices: Choices) -> str | Skipped:
    """Replace a layer by the integer operator ``way``; its result is real again.

    ``QLinear`` operators have fixed scales for data, weights and result; for the others DynamicQuantizeLinear measures
    the data. The result must have the old shape.

    Args:
        program: it is edited unless the answer is ``Skipped``.
        context: specs.
        node: a Conv or MatMul of floats.
        way: an operator among its ``integer_forms``.
        choices: draw types, scales and zero points.
    """
    specs, opset = context.specs, program.opset
    data, weight, bias = node.inputs[0], node.inputs[1], node.inputs[2] if len(node.inputs) > 2 else None
    if data is None or weight is None:
        return Skipped("an operand is missing")
    output, fact = node.outputs[0], tensor_fact(program, node.outputs[0])
    if any(v in exact_values(program) for v in (data, output)):
        return Skipped("its data decides a shape")
    if bias is not None and way in with_trait("quantised") and program.constant_of(bias) is None:
        return Skipped("a computed bias has no fixed scale")
    plan = _plan(program, node, data, weight, way, choices)
    given = [_integers(program, data, plan.data), _integers(program, weight, plan.weight)]
    if way in with_trait("quantised"):
        scalar = [(TensorFact(_D.FLOAT, s.scale.shape), TensorFact(s.dtype, s.zero.shape)) for s in _all(plan)]
        facts = [given[0], *scalar[0], given[1], *scalar[1], *scalar[2]]
        facts += [TensorFact(_D.INT32, tensor_fact(program, bias).shape)] if bias is not None else []
    else:
        facts = [*given, TensorFact(plan.data.dtype, ()), TensorFact(plan.weight.dtype, ())]
    found = predict(specs, opset, way, facts, node.attributes, 1, largest(program))
    if isinstance(found, Skipped):
        return found
    reason = restorable(program, specs, [output], [TensorFact(_D.FLOAT, found[0].shape)])
    if reason is not None:
        return reason
    if found[0].shape != fact.shape:
        return Skipped("the integer operator gives another shape")
    inserter = Inserter(program, node)
    build = _linear if way in with_trait("quantised") else _dynamic
    result = build(inserter, node, way, plan, bias)
    put_in_place(program, specs, inserter, [output], [result], choices)
    return f"{node.op_type} at {output.name} as {way} of {plan.data.dtype.name} and {plan.weight.dtype.name}"


def _all(plan: _Plan) -> tuple[QuantisationScheme, QuantisationScheme, QuantisationScheme]:
    return plan.data, plan.weight, plan.result


def _plan(program: Program, node: ir.Node, data: ir.Value, weight: ir.Value, way: str, choices: Choices) -> _Plan:
    kind, weight_kind = choices.pick(_PAIRS)
    if way not in with_trait("quantised"):
        kind = _D.UINT8  # what DynamicQuantizeLinear gives
        weight_kind = choices.pick((_D.UINT8, _D.INT8))
    array = program.const_array(weight)
    # One zero point for all channels is what runtimes take, so weights per channel are symmetric.
    channels = (
        has_trait(node, "neuron_axes") and way in with_trait("quantised") and array is not None and choices.boolean()
    )
    symmetric = channels or choices.boolean()
    if array is not None:
        weights = of_constant(array, weight_kind, symmetric=symmetric, axis=0 if channels else None)
    else:
        weights = of_value(program, weight, weight_kind, choices, symmetric=symmetric)
    return _Plan(
        of_value(program, data, kind, choices, symmetric=choices.boolean(0.3)),
        weights,
        of_value(program, node.outputs[0], kind, choices, symmetric=choices.boolean(0.3)),
    )


def _integers(program: Program, value: ir.Value, plan: QuantisationScheme) -> TensorFact:
    return TensorFact(plan.dtype, tensor_fact(program, value).shape)


def _weight(inserter: Inserter, value: ir.Value, plan: QuantisationScheme, scale: ir.Value, zero: ir.Value) -> ir.Value:
    array = inserter.program.const_array(value)
    if array is None:
        return quantise(inserter, value, plan, scale, zero)
    return inserter.constant(plan.quantise(array), "quantised")


def _linear(inserter: Inserter, node: ir.Node, way: str, plan: _Plan, bias: ir.Value | None) -> ir.Value:
    """Everything has a fixed scale; the result is quantised before it is real again."""
    data, weight = node.inputs[0], node.inputs[1]
    assert data is not None
    assert weight is not None
    (ds, dz), (ws, wz), (rs, rz) = (parameters(inserter, s) for s in _all(plan))
    given = [quantise(inserter, data, plan.data, ds, dz), ds, dz]
    given += [_weight(inserter, weight, plan.weight, ws, wz), ws, wz, rs, rz]
    if bias is not None:
        array = inserter.program.const_array(bias)
        assert array is not None
        scale = plan.data.scale.astype(np.float64) * plan.weight.scale.astype(np.float64)
        real = np.nan_to_num(array.astype(np.float64), posinf=0.0, neginf=0.0) / scale
        given.append(inserter.constant(np.clip(np.rint(real), -(2**30), 2**30).astype(np.int32), "bias"))
    result = inserter.node(way, given, attributes(node)).outputs[0]
    return inserter.value("DequantizeLinear", result, rs, rz)


def _dynamic(inserter: Inserter, node: ir.Node, way: str, plan: _Plan, bias: ir.Value | None) -> ir.Value:
    """The data's scale is measured at run time; the integer sums are scaled back to real numbers."""
    data, weight = node.inputs[0], node.inputs[1]
    assert data is not None
    assert weight is not None
    numbers, scale, zero = inserter.node("DynamicQuantizeLinear", [data], outputs=3).outputs
    ws, wz = parameters(inserter, plan.weight)
    given = [numbers, _weight(inserter, weight, plan.weight, ws, wz), zero, wz]
    sums = inserter.node(way, given, attributes(node)).outputs[0]
    real = inserter.value("Mul", inserter.cast(sums, _D.FLOAT), inserter.value("Mul", scale, ws))
    if bias is None:
        return real
    spatial = (inserter.fact(real).rank or 2) - 2
    wide = inserter.unsqueeze(bias, range(1, spatial + 1)) if spatial else bias
    return inserter.value("Add", real, wide)
