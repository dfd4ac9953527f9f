"""ONNX's own single-node cases are valid, so no rule may reject one, with or without their sizes and values known."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import onnx
import onnx_ir as ir
import pytest

from irfuzz.facts import MAX_KNOWN_ELEMENTS, OpaqueFact, TensorFact
from irfuzz.spec import OpSpec, Specs, check_call

pytestmark = pytest.mark.conformance


def cases() -> Iterator[tuple[str, onnx.NodeProto, int, list[Any]]]:
    """Name, node, opset and input arrays of each case whose model is one node of the default domain."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from onnx.backend.test.loader import load_model_tests

        for case in load_model_tests(kind="node"):
            if case.model is None or len(case.model.graph.node) != 1 or not case.data_sets:
                continue
            opset = next((o.version for o in case.model.opset_import if o.domain in ("", "ai.onnx")), 0)
            inputs, _ = case.data_sets[0]
            names = [i.name for i in case.model.graph.input]
            arrays = dict(zip(names, inputs, strict=False))
            types = {i.name: i.type for i in case.model.graph.input}
            node = case.model.graph.node[0]
            yield case.name, node, opset, [fact_of(arrays.get(n), types.get(n)) if n else None for n in node.input]


def fact_of(array: Any, declared: onnx.TypeProto | None) -> Any:
    """All that a value says of itself."""
    if declared is None or not declared.HasField("tensor_type"):
        return OpaqueFact("not a tensor")
    dtype = ir.DataType(declared.tensor_type.elem_type)
    if isinstance(array, onnx.TensorProto):
        return TensorFact(dtype, tuple(array.dims))
    array = np.asarray(array)
    value = tuple(array.ravel().tolist()) if array.size <= MAX_KNOWN_ELEMENTS and array.dtype.kind in "iufb" else None
    return TensorFact(dtype, array.shape, value=value)


def attributes(node: onnx.NodeProto) -> dict[str, Any]:
    return {a.name: onnx.helper.get_attribute_value(a) for a in node.attribute}


@pytest.fixture(scope="module")
def checked(specs: Specs) -> list[tuple[str, OpSpec, list[Any], dict[str, Any]]]:
    out = []
    for name, node, opset, facts in cases():
        spec = specs.get(node.op_type, opset, node.domain)
        if spec is not None:
            out.append((name, spec, facts, attributes(node)))
    return out


def test_no_case_breaks_a_rule(checked: list[tuple[str, OpSpec, list[Any], dict[str, Any]]]) -> None:
    wrong = [
        f"{name}: {spec.op}-{spec.since}: {v}"
        for name, spec, facts, attrs in checked
        for v in check_call(spec, facts, attrs)
    ]
    assert not wrong, "\n".join(wrong)
    assert len(checked) > 1000
    assert sum(spec.has_overlay for _, spec, _, _ in checked) > 700


def test_less_knowledge_never_makes_a_violation(checked: list[tuple[str, OpSpec, list[Any], dict[str, Any]]]) -> None:
    for name, spec, facts, attrs in checked:
        for blur in (without_values, with_names, without_shapes):
            blurred = [blur(f, i) if isinstance(f, TensorFact) else f for i, f in enumerate(facts)]
            assert check_call(spec, blurred, attrs) == [], (name, blur.__name__, blurred)


def without_values(f: TensorFact, position: int) -> TensorFact:
    return f.without_value()


def with_names(f: TensorFact, position: int) -> TensorFact:
    value = None if f.value is None else tuple(None if i % 2 else v for i, v in enumerate(f.value))
    return TensorFact(
        f.dtype, tuple(f"d{position}_{i}" if i % 2 else d for i, d in enumerate(f.shape or ())), value=value
    )


def without_shapes(f: TensorFact, position: int) -> TensorFact:
    return TensorFact(f.dtype, None)
