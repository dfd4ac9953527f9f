"""Draws calls of a layer's operator anew, with its attributes but one, if its own inputs allow no other value."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import onnx
import onnx_ir as ir
from onnx import helper, numpy_helper

from irfuzz.choices import Choices
from irfuzz.errors import InvalidProgram, Unsupported
from irfuzz.execute.run_types import Value
from irfuzz.facts import TensorFact
from irfuzz.generate.input_values import make_inputs
from irfuzz.ir.program import Program
from irfuzz.ir.value import is_constant
from irfuzz.localize.nodes.parameter_variants import NUMBERS, other_values, plain, text_of
from irfuzz.spec import OpSpec, SampledCall, Specs, sample_call
from irfuzz.spec.operator_spec import AttrSpec, ValueDomain

DRAWS, TRIES = 16, 80
"""Calls with one value of an attribute, at most; and how many are drawn to have as many of the wanted type."""


@dataclass(frozen=True, slots=True)
class RedrawnLayer:
    """A layer with other inputs.

    Attributes:
        parameter: the attribute that has another value; empty for the layer with its own.
        was: its value, as text.
        now: the other one.
        calls: programs of it alone, with values of their inputs.
    """

    parameter: str
    was: str
    now: str
    calls: tuple[tuple[Program, dict[str, Value]], ...]


def redrawn_layers(program: Program, specs: Specs) -> Iterator[RedrawnLayer]:
    """The layer with inputs that are drawn anew: as it is, then with other values of each attribute that it gives.

    None if the operator cannot be drawn, or has attributes that are tensors or graphs.

    Args:
        program: as ``Cutter.cut`` gives it: a node, and perhaps constants.
        specs: of the operators.
    """
    node = next((n for n in program.to_proto().graph.node if not is_constant(n)), None)
    spec = None if node is None else specs.get(node.op_type, program.opset, node.domain)
    data = None if node is None else program.tensor(program.value(node.input[0]))  # type: ignore[arg-type]
    if node is None or spec is None or data is None or not spec.is_sampled:
        return
    given = {a.name: plain(helper.get_attribute_value(a)) for a in node.attribute}
    if any(name not in spec.attrs or spec.attrs[name].type not in NUMBERS for name in given):
        return

    def drawn(attributes: Mapping[str, Any]) -> tuple[tuple[Program, dict[str, Value]], ...]:
        return tuple(_calls(spec, program.opset, attributes, data.dtype))

    yield RedrawnLayer("", "", "", drawn(given))
    for name, was in given.items():
        for now in other_values(spec.attrs[name], was):
            if calls := drawn({**given, name: now}):
                yield RedrawnLayer(name, text_of(was), text_of(now), calls)


def _calls(
    spec: OpSpec, opset: int, attributes: Mapping[str, Any], dtype: ir.DataType
) -> Iterator[tuple[Program, dict[str, Value]]]:
    """Calls with these attributes and no others, of which the first input has this element type."""
    fixed = replace(
        spec,
        attrs={n: _fixed(a, attributes.get(n)) for n, a in spec.attrs.items()},
        portable={**spec.portable, spec.inputs[0].type_str: (dtype,)},
    )
    seen = 0
    for draw in range(TRIES):
        call = sample_call(fixed, {}, Choices.from_seed(f"redrawn/{draw}"), max_elements=1024)
        if call is None or not call.inputs or call.inputs[0] is None or call.inputs[0].fact.dtype != dtype:
            continue
        try:
            program = _program(spec, opset, call)
            yield program, make_inputs(program, draw)
        except (InvalidProgram, Unsupported):
            continue
        seen += 1
        if seen == DRAWS:
            return


def _fixed(attr: AttrSpec, value: Any) -> AttrSpec:
    """An attribute that is always drawn with this value; omitted, if there is none."""
    absent = None if attr.domain is None else attr.domain.absent
    if value is None:
        return replace(attr, domain=replace(attr.domain or ValueDomain(), omit=1.0))
    return replace(
        attr, domain=ValueDomain(one_of=(tuple(value) if isinstance(value, list) else value,), omit=0.0, absent=absent)
    )


def _program(spec: OpSpec, opset: int, call: SampledCall) -> Program:
    """One node: prescribed values are initializers, everything else is an input.

    Raises:
        Unsupported: an input is no tensor.
        InvalidProgram: the call is none after all.
    """
    names: list[str] = []
    inputs: list[onnx.ValueInfoProto] = []
    weights: list[onnx.TensorProto] = []
    for place, given in enumerate(call.inputs):
        names.append("" if given is None else f"in{place}")
        if given is None:
            continue
        if not isinstance(given.whole, TensorFact):
            raise Unsupported("redrawing", spec.name, "an input is a sequence or optional")
        if given.value is not None:
            weights.append(numpy_helper.from_array(np.asarray(given.value), names[-1]))
        else:
            fact = given.fact
            inputs.append(helper.make_tensor_value_info(names[-1], int(fact.dtype), list(fact.static_shape or ())))
    outputs = [f"out{place}" for place in range(call.outputs)]
    node = helper.make_node(spec.op, names, outputs, domain=spec.domain, **dict(call.attrs))
    results = [onnx.ValueInfoProto(name=name) for name in outputs]
    graph = helper.make_graph([node], "redrawn", inputs, results, weights)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)
    return Program.from_proto(model)
