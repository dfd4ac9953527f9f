"""Cases that are one drawn call of one operator; nobody has written down what comes of them."""

from __future__ import annotations

from collections.abc import Collection, Iterator

import onnx_ir as ir

from irfuzz.conformance.case_types import CaseRun, CaseSource, ConformanceCase
from irfuzz.generate.drawn_call_programs import drawn_call
from irfuzz.generate.input_values import make_inputs
from irfuzz.ir.program import Program
from irfuzz.mutate.drawn_calls.single_call_draw import starts_of
from irfuzz.mutate.mutator_context import Context
from irfuzz.spec import OpSpec, load_specs

OPSETS = (17, 21, 23)
"""An operator is drawn at the first of these that has it: most runtimes take 17."""

CALLS = 6
"""Calls of an operator: of its element types in turn, the most usual first."""

TRIES = 4
"""Draws for a call; what one draws need not be valid."""


def drawn_cases(ops: Collection[str] | None = None, seed: int = 0) -> list[ConformanceCase]:
    """``CALLS`` calls of each operator whose results do not hang on chance.

    Args:
        ops: names of operators; all if ``None``.
        seed: equal seeds, operator files and versions of irfuzz give equal calls.
    """
    context = Context(load_specs())
    drawn: set[str] = set()
    found: list[ConformanceCase] = []
    for opset in OPSETS:
        for spec in load_specs().overlaid(opset):
            if spec.op in drawn or "random" in spec.traits or (ops is not None and spec.op not in ops):
                continue
            drawn.add(spec.op)
            found += _calls(context, opset, spec, seed)
    return found


def _calls(context: Context, opset: int, spec: OpSpec, seed: int) -> Iterator[ConformanceCase]:
    starts = [start for start in starts_of(spec, opset) if start[0] == 0]
    starts.sort(key=lambda start: (start[1] is not ir.DataType.FLOAT, -start[2]))
    for number in range(CALLS if starts else 0):
        start = starts[number % len(starts)]
        label = f"{CaseSource.DRAWN}/{spec.op}/{opset}/{start[1].name.lower()}/{number}"
        tries = (drawn_call(context, opset, spec, start, f"conform/{seed}/{label}/{again}") for again in range(TRIES))
        program = next((one for one in tries if one is not None), None)
        if program is not None:
            yield ConformanceCase(label, CaseSource.DRAWN, spec.op, _Fed(program, number).made)


class _Fed:
    """A program on drawn inputs."""

    def __init__(self, program: Program, number: int) -> None:
        self._program = program
        self._number = number

    def made(self) -> CaseRun:
        return CaseRun(self._program, make_inputs(self._program, self._number))
