"""Every fact about the outputs of ONNX's own node cases must hold for the outputs that ONNX publishes."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest

from irfuzz.errors import InvalidProgram
from irfuzz.facts import Fact, OptionalFact, SequenceFact, TensorFact
from irfuzz.ir.program import Program

pytestmark = pytest.mark.conformance

ILL_TYPED_BY_DESIGN: frozenset[str] = frozenset()
"""Published cases that contradict their own declarations."""


def cases() -> list[Any]:
    from onnx.backend.test.case.node import collect_testcases

    return list(collect_testcases())


def wrong(fact: Fact, value: Any) -> str | None:
    """Why ``fact`` does not hold for ``value``; None where it does."""
    if isinstance(fact, OptionalFact):
        return None if value is None or fact.elem is None else wrong(fact.elem, value)
    if isinstance(value, list):
        if isinstance(fact, SequenceFact) and fact.elem is not None:
            return next((w for item in value if (w := wrong(fact.elem, item)) is not None), None)
        return None
    if not isinstance(fact, TensorFact) or value is None:
        return None
    array = np.asarray(value)
    if fact.shape is not None:
        if len(fact.shape) != array.ndim:
            return f"rank {array.ndim}, fact {fact}"
        if any(type(d) is int and d != s for d, s in zip(fact.shape, array.shape, strict=True)):
            return f"shape {array.shape}, fact {fact}"
    if not fact.dtype.is_string() and array.dtype.kind not in "OUS" and array.dtype != fact.dtype.numpy():
        return f"dtype {array.dtype}, fact {fact}"
    if fact.value is not None:
        for known, element in zip(fact.value, array.ravel().tolist(), strict=True):
            if known is not None and not isinstance(known, str) and known != element and known == known:
                return f"element {element}, fact {fact}"
    if array.dtype.kind in "fiu" and array.size:
        numbers = array.astype(np.float64)
        numbers = numbers[~np.isnan(numbers)]
        if fact.low is not None and numbers.size and numbers.min() < fact.low:
            return f"minimum {numbers.min()}, fact {fact}"
        if fact.high is not None and numbers.size and numbers.max() > fact.high:
            return f"maximum {numbers.max()}, fact {fact}"
    return None


def test_facts_hold_on_the_published_outputs(capsys: pytest.CaptureFixture[str]) -> None:
    failures: list[str] = []
    loaded = typed = shaped = outputs = 0
    for case in cases():
        try:
            program = Program.from_proto(case.model)
        except InvalidProgram as error:
            if case.name not in ILL_TYPED_BY_DESIGN:
                failures.append(f"{case.name}: refused: {error}")
            continue
        loaded += 1
        for _, expected in case.data_sets:
            for value, array in zip(program.graph.outputs, expected, strict=False):
                fact = program.fact(value)
                outputs += 1
                typed += isinstance(fact, TensorFact | SequenceFact | OptionalFact)
                shaped += isinstance(fact, TensorFact) and fact.is_static
                reason = wrong(fact, array if not isinstance(array, onnx.TensorProto) else onnx.numpy_helper.to_array(array))
                if reason is not None:
                    failures.append(f"{case.name}: output {value.name!r}: {reason}")
    with capsys.disabled():
        print(f"\nfacts: {loaded} cases, {outputs} outputs, {typed} typed, {shaped} with a static shape", end="")
    assert not failures, "\n".join(failures[:20])
    assert loaded >= 1800
    assert typed == outputs


def test_facts_without_the_declared_output_shapes(capsys: pytest.CaptureFixture[str]) -> None:
    """The same with every declared output shape removed, so that nothing but inference can know it."""
    failures: list[str] = []
    shaped = outputs = 0
    for case in cases():
        model = onnx.ModelProto()
        model.CopyFrom(case.model)
        for output in model.graph.output:
            if output.type.WhichOneof("value") == "tensor_type":
                output.type.tensor_type.ClearField("shape")
        del model.graph.value_info[:]
        try:
            program = Program.from_proto(model)
        except InvalidProgram as error:
            failures.append(f"{case.name}: refused: {error}")
            continue
        for _, expected in case.data_sets:
            for value, array in zip(program.graph.outputs, expected, strict=False):
                fact = program.fact(value)
                outputs += 1
                shaped += isinstance(fact, TensorFact) and fact.shape is not None
                reason = wrong(fact, array if not isinstance(array, onnx.TensorProto) else onnx.numpy_helper.to_array(array))
                if reason is not None:
                    failures.append(f"{case.name}: output {value.name!r}: {reason}")
    with capsys.disabled():
        print(f"\nfacts without declarations: {outputs} outputs, {shaped} with a known rank", end="")
    assert not failures, "\n".join(failures[:20])
    assert shaped > 0.85 * outputs
