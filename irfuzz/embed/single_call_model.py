"""Draws a model of one valid call of an operator."""

from __future__ import annotations

import numpy as np
import onnx
import onnx_ir as ir
from onnx import helper

from irfuzz.choices import Choices
from irfuzz.errors import InvalidProgram
from irfuzz.facts import TensorFact
from irfuzz.ir.input_domain import InputDomain, set_input_domain
from irfuzz.ir.program import Program
from irfuzz.ir.serialization.checked_tensors import array_tensor
from irfuzz.spec import SampledInput, sample_call
from irfuzz.spec.operator_spec import OpSpec

OPSET = 17
"""Of models of one call, where nobody says another."""

IR_VERSION = 8
MOST_ELEMENTS = 256


def single_call(
    spec: OpSpec,
    opset: int,
    choices: Choices,
    seed: int,
    *,
    plain: bool = False,
    max_elements: int = MOST_ELEMENTS,
    prefix: str = "",
) -> onnx.ModelProto | None:
    """A model of one node; ``None`` if no call was drawn, or one that takes sequences or strings.

    Args:
        spec: of the operator, which must be sampled.
        opset: of the model.
        choices: of the call.
        seed: of the elements of its constants.
        plain: leave out nearly everything that may be left out.
        max_elements: of each input.
        prefix: of all names.
    """
    call = sample_call(spec, {}, choices, max_elements=max_elements, plain=plain)
    if call is None or any(p is not None and not _plain(p) for p in call.inputs):
        return None
    rng = np.random.default_rng(seed)
    names: list[str] = []
    inputs: list[onnx.ValueInfoProto] = []
    constants: list[onnx.TensorProto] = []
    for index, plan in enumerate(call.inputs):
        if plan is None:
            names.append("")
            continue
        name = f"{prefix}x{index}"
        names.append(name)
        if plan.value is not None or plan.is_parameter:
            array = plan.value if plan.value is not None else _elements(plan, rng)
            constants.append(ir.serde.serialize_tensor(array_tensor(array, plan.fact.dtype, name)))
        else:
            sizes = list(plan.fact.shape or ())
            inputs.append(helper.make_tensor_value_info(name, int(plan.fact.dtype), sizes))
    outputs = [f"{prefix}y{i}" for i in range(call.outputs)]
    node = helper.make_node(spec.op, names, outputs)
    for name, value in call.attrs.items():
        kind = getattr(onnx.AttributeProto, spec.attrs[name].type)
        tensor = onnx.numpy_helper.from_array(value) if isinstance(value, np.ndarray) else value
        node.attribute.append(helper.make_attribute(name, tensor, attr_type=kind))
    results = [helper.make_empty_tensor_value_info(o) for o in outputs]
    graph = helper.make_graph([node], "single", inputs, results, constants)
    imports = [helper.make_opsetid("", opset)]
    try:
        program = Program.from_proto(helper.make_model(graph, opset_imports=imports, ir_version=IR_VERSION))
    except InvalidProgram:
        return None
    for value in program.graph.inputs:
        plan = call.inputs[int((value.name or "x0").rpartition("x")[2])]
        if plan is not None and plan.low is not None and plan.high is not None:
            set_input_domain(value, InputDomain(float(plan.low), float(plan.high)))
    proto = program.to_proto()
    for value in proto.graph.output:
        fact = program.fact(program.value(value.name))  # type: ignore[arg-type]
        if isinstance(fact, TensorFact):
            sizes = None if fact.shape is None else list(fact.shape)
            value.CopyFrom(helper.make_tensor_value_info(value.name, int(fact.dtype), sizes))
    return proto


def _plain(plan: SampledInput) -> bool:
    return plan.outer is None and plan.fact.is_static and plan.fact.dtype != ir.DataType.STRING


def _elements(plan: SampledInput, rng: np.random.Generator) -> np.ndarray:
    """Elements of a weight, within the range that the spec gives."""
    shape = plan.fact.static_shape or ()
    dtype = plan.fact.dtype.numpy()
    if plan.fact.dtype == ir.DataType.BOOL:
        return np.asarray(rng.random(shape) < 0.5)
    low = -1.0 if plan.low is None else plan.low
    high = max(low, 1.0) if plan.high is None else plan.high
    if plan.fact.dtype.is_floating_point():
        return np.asarray(rng.uniform(low, high, shape)).astype(dtype)
    low = max(low, 0.0) if not plan.fact.dtype.is_signed() else low
    return np.asarray(rng.integers(int(low), int(high), shape, endpoint=True)).astype(dtype)
