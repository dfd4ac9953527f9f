"""Programs from text, inner values from onnx's evaluator, and predicates that refuse invalid programs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import onnx.parser
from onnx.reference import ReferenceEvaluator

from irfuzz.execute.run_types import Value
from irfuzz.facts import TensorFact
from irfuzz.ir.program import Program
from irfuzz.ir.verifier import verify
from irfuzz.reduce.session import Session, Still


def parse(text: str, opset: int = 17, functions: str = "") -> Program:
    """A program from ONNX's text format."""
    head = f'<ir_version: 8, opset_import: ["" : {opset}, "own" : 1]>\n'
    return Program.from_proto(onnx.parser.parse_model(head + text + functions))


def run(program: Program, inputs: Mapping[str, Value]) -> dict[str, Any]:
    """What onnx's evaluator computes."""
    evaluator = ReferenceEvaluator(program.to_proto())
    return dict(zip(evaluator.output_names, evaluator.run(None, dict(inputs)), strict=True))


def values_of(program: Program, inputs: Mapping[str, Value]) -> Mapping[str, Value]:
    """Inner values, as onnx's evaluator computes them; none where it raises, as with any target."""
    probe = program.clone()
    for value in list(probe.values()):
        if value.producer() is not None and isinstance(probe.fact(value), TensorFact):
            probe.add_output(value)
    try:
        return run(probe, inputs)
    except Exception:
        return {}


def checked(still: Still) -> Still:
    """The predicate, and a complaint where it is given what is no valid case."""

    def ask(program: Program, inputs: Mapping[str, Value]) -> bool:
        again = Program.from_bytes(program.to_bytes())
        assert verify(again) == []
        assert again.digest == program.digest, "the digest is not that of the program"
        needed = [v for v in program.graph.inputs if v.name not in program.graph.initializers]
        assert {v.name for v in needed} <= set(inputs) <= {v.name for v in program.graph.inputs}
        for value in needed:
            fact, data = program.fact(value), inputs[value.name or ""]
            if isinstance(fact, TensorFact) and fact.shape is not None:
                assert isinstance(data, np.ndarray)
                assert all(d == n for d, n in zip(fact.shape, data.shape, strict=True) if isinstance(d, int))
        return still(program, inputs)

    return ask


def ops(program: Program) -> list[str]:
    """Operators in topological order."""
    return [node.op_type for node in program.nodes()]


def has(*wanted: str) -> Still:
    """Holds for programs with all those operators."""
    return checked(lambda program, inputs: set(wanted) <= set(ops(program)))


def feeds(first: str, second: str) -> Still:
    """Holds where a node of one kind reads one of another."""

    def still(program: Program, inputs: Mapping[str, Value]) -> bool:
        return any(
            user.op_type == second
            for node in program.nodes()
            if node.op_type == first
            for output in node.outputs
            for user in output.consumers()
        )

    return checked(still)


def after(
    one: Callable[[Session], bool], program: Program, inputs: Mapping[str, Value], still: Still, values: Any = values_of
) -> Session:
    """A session after one pass that found something."""
    session = Session(program.clone(), inputs, still, values, 60, 500)
    assert one(session)
    return session
