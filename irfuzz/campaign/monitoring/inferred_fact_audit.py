"""Compares every fact of a program with two independent runs, which a wrong one contradicts."""

from __future__ import annotations

from collections.abc import Mapping

from irfuzz.errors import InternalError
from irfuzz.execute.intermediate_values import tap
from irfuzz.execute.run_types import Exit, Value
from irfuzz.execute.runner import Runner
from irfuzz.ir.evaluation.fact_check import contradiction
from irfuzz.ir.program import Program

EVERY = 64
"""On each so many-th program of a job every fact is compared with what a run computes."""

WITNESSES = ("onnxruntime:disabled", "reference")
"""Targets that compute node by node. One alone may be wrong: the second, slow one is then asked."""


class WrongFact(InternalError):
    """What irfuzz inferred of a value is not so: a fault of our own, which would spoil every later mutant.

    Attributes:
        op: operator that computes the value, or ``input``.
    """

    def __init__(self, op: str, text: str) -> None:
        super().__init__(text)
        self.op = op


def audit(runner: Runner, program: Program, inputs: Mapping[str, Value]) -> int:
    """Compare every fact of a program with what two targets compute; how many facts were compared.

    Raises:
        WrongFact: both contradict the same fact.
    """
    witnesses = [t for name in WITNESSES for t in runner.targets if t.name == name]
    if len(witnesses) < len(WITNESSES):
        return 0
    probe = tap(program)
    first, second = witnesses
    wrong = _contradicted(runner, probe, inputs, first.name)
    if wrong:
        again = _contradicted(runner, probe, inputs, second.name)
        for name, reason in wrong.items():
            if name in again:
                value = program.value(name)
                node = None if value is None else value.producer()
                op = "input" if node is None else node.op_type
                raise WrongFact(op, f"the fact of {name!r} ({op}) is wrong: {reason} on {first.name} and {second.name}")
    return len(probe.graph.outputs)


def _contradicted(runner: Runner, probe: Program, inputs: Mapping[str, Value], target: str) -> dict[str, str]:
    """Values whose facts do not hold in a run on one target, with the reason; none if it does not run."""
    result = runner.run(probe, inputs, [t for t in runner.targets if t.name == target])[0]
    if result.exit is not Exit.OK:
        return {}
    found: dict[str, str] = {}
    for value in probe.graph.outputs:
        name = value.name or ""
        if name in result.outputs:
            reason = contradiction(probe.fact(value), result.outputs[name])
            if reason is not None:
                found[name] = reason
    return found
