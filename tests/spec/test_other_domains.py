"""Operators of other domains: their schemas are those of the installed onnxruntime, and their overlays are right."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper

from irfuzz.choices import Choices
from irfuzz.facts import TensorFact
from irfuzz.ir.inference.call_output_types import CallKey, hashable_attrs, infer_attribute_types
from irfuzz.ir.inference.graph_facts import infer_call
from irfuzz.mutate.editing.call_inputs import random_array
from irfuzz.mutate.model_interface.import_domain import version_beside
from irfuzz.shipped_folders import ops_dir
from irfuzz.spec import OpSpec, check_call, load_specs, sample_call
from irfuzz.spec.operator_registry import SCHEMAS
from irfuzz.spec.operator_traits import RUNTIME
from tests.spec.export_schemas import exported, text

OPSET = 17
STORED: dict[str, Any] = json.loads((ops_dir() / RUNTIME / SCHEMAS).read_text(encoding="utf-8"))


def drawn() -> list[OpSpec]:
    """Every operator of another domain of which calls are drawn beside ``OPSET``."""
    specs = load_specs()
    return [s for d in ("ai.onnx.ml", RUNTIME) for s in specs.overlaid(version_beside(specs, d, OPSET), d)]


@pytest.mark.backend
def test_schemas_are_those_of_the_installed_onnxruntime() -> None:
    runtime = pytest.importorskip("onnxruntime", reason="onnxruntime, of which the schemas are, is not installed")
    if STORED["runtime"] != f"onnxruntime {runtime.__version__}":
        pytest.skip(f"the schemas are those of {STORED['runtime']}; this is {runtime.__version__}")
    assert (ops_dir() / RUNTIME / SCHEMAS).read_text(encoding="utf-8") == text(exported()), (
        "python -m tests.spec.export_schemas"
    )


def test_drawn_types_are_those_of_a_kernel() -> None:
    kernels = {operator["op"]: operator.get("kernels", []) for operator in STORED["operators"]}
    for spec in drawn():
        for variable, dtypes in spec.portable.items():
            if spec.domain == RUNTIME:
                run = {t for kernel in kernels[spec.op] for t in kernel.get(variable, ())}
                assert {f"tensor({d.name.lower()})" for d in dtypes} <= run, spec.name


def test_there_are_some_of_each_domain() -> None:
    names = [spec.name for spec in drawn()]
    assert len([n for n in names if n.startswith("ai.onnx.ml.")]) >= 6
    assert len([n for n in names if n.startswith("com.microsoft.")]) >= 8


@pytest.mark.backend
@pytest.mark.parametrize("spec", drawn(), ids=lambda spec: spec.name)
def test_drawn_calls_run_and_give_what_is_inferred(spec: OpSpec) -> None:
    runtime = pytest.importorskip("onnxruntime")
    made = 0
    for seed in range(25):
        call = sample_call(spec, {}, Choices.from_seed(f"{spec.name}:{seed}"), max_elements=256)
        if call is None:
            continue
        made += 1
        facts = [None if plan is None else plan.fact for plan in call.inputs]
        assert not check_call(spec, facts, call.attrs)
        attrs = infer_attribute_types(spec.op, spec.since, spec.domain, call.attrs)
        outputs = (True,) * call.outputs
        inferred = infer_call(CallKey(spec.domain, spec.op, spec.since, hashable_attrs(attrs), tuple(facts), outputs))
        arrays = {
            f"i{i}": plan.value if plan.value is not None else random_array(plan, seed)
            for i, plan in enumerate(call.inputs)
            if plan is not None
        }
        got = run(runtime, spec, call.attrs, arrays, len(facts), call.outputs)
        for fact, array in zip(inferred, got, strict=True):
            assert isinstance(fact, TensorFact)
            assert (fact.dtype.numpy(), fact.shape) == (array.dtype, array.shape)
    assert made > 10


def run(
    runtime: Any, spec: OpSpec, attrs: dict[str, Any], arrays: dict[str, np.ndarray], inputs: int, outputs: int
) -> list[np.ndarray]:
    """One node on onnxruntime's CPU provider, without optimisation."""
    names = [f"i{i}" if f"i{i}" in arrays else "" for i in range(inputs)]
    node = helper.make_node(spec.op, names, [f"o{i}" for i in range(outputs)], domain=spec.domain, **attrs)
    for attribute in node.attribute:
        stated = spec.attrs[attribute.name].type
        if stated == "FLOATS" and attribute.type == onnx.AttributeProto.INTS:
            values = list(attribute.ints)
            attribute.CopyFrom(helper.make_attribute(attribute.name, [float(v) for v in values]))
    graph = helper.make_graph(
        [node],
        "g",
        [
            helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(a.dtype), a.shape)
            for n, a in arrays.items()
        ],
        [onnx.ValueInfoProto(name=name) for name in node.output],
    )
    opsets = [helper.make_opsetid("", OPSET), helper.make_opsetid(spec.domain, max(spec.since, 1))]
    options = runtime.SessionOptions()
    options.graph_optimization_level = runtime.GraphOptimizationLevel.ORT_DISABLE_ALL
    model = helper.make_model(graph, opset_imports=opsets, ir_version=8)
    return runtime.InferenceSession(model.SerializeToString(), options).run(None, arrays)


def value_info(name: str, array: np.ndarray) -> onnx.ValueInfoProto:
    """An input of an array's type and shape."""
    return helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(array.dtype), array.shape)
