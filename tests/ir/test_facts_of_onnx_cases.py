"""Every fact about the outputs of ONNX's own node cases must hold for the outputs that ONNX publishes."""

from __future__ import annotations

from typing import Any

import onnx
import pytest

from irfuzz.errors import InvalidProgram
from irfuzz.facts import OptionalFact, SequenceFact, TensorFact
from irfuzz.ir.evaluation.fact_check import contradiction
from irfuzz.ir.program import Program

pytestmark = pytest.mark.conformance

ILL_TYPED_BY_DESIGN: frozenset[str] = frozenset()
"""Published cases that contradict their own declarations."""


def plain(value: Any) -> Any:
    return onnx.numpy_helper.to_array(value) if isinstance(value, onnx.TensorProto) else value


def cases() -> list[Any]:
    from onnx.backend.test.case.node import collect_testcases

    return list(collect_testcases())


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
                reason = contradiction(fact, plain(array))
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
                reason = contradiction(fact, plain(array))
                if reason is not None:
                    failures.append(f"{case.name}: output {value.name!r}: {reason}")
    with capsys.disabled():
        print(f"\nfacts without declarations: {outputs} outputs, {shaped} with a known rank", end="")
    assert not failures, "\n".join(failures[:20])
    assert shaped > 0.85 * outputs
