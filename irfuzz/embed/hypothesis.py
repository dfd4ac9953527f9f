"""Hypothesis strategies: its draws enter, programs, models, single operators and inputs leave, and shrink with it."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import onnx
import onnx.printer

try:
    from hypothesis import assume, note
    from hypothesis import strategies as st
except ModuleNotFoundError as error:
    raise ImportError("irfuzz.embed.hypothesis needs Hypothesis; run `pip install 'irfuzz[embed]'`") from error

from irfuzz.choices import Choices
from irfuzz.embed.part import part, side_by_side
from irfuzz.embed.single import OPSET, single_call
from irfuzz.errors import IrfuzzError, UsageError
from irfuzz.execute.types import Value
from irfuzz.generate.inputs import make_inputs
from irfuzz.generate.sprouts import sprouts
from irfuzz.ir.program import Program
from irfuzz.mutate.api import load
from irfuzz.mutate.engine import Engine
from irfuzz.spec import load_specs

CALLS = 8
"""Most calls side by side."""

DRAWS = 4
"""Calls drawn of an operator before another is taken."""

HALVES = 6
"""How often a program may be halved."""


@cache
def _engine(mutators: tuple[str, ...] | None, max_nodes: int) -> Engine:
    return Engine(load_specs(), mutators, max_nodes=max_nodes)


@cache
def _operators() -> tuple[str, ...]:
    return tuple(spec.op for spec in load_specs().overlaid(OPSET))


@st.composite
def programs(
    draw: st.DrawFn,
    *,
    seeds: Sequence[onnx.ModelProto | bytes | Program] = (),
    max_edits: int = 6,
    max_nodes: int = 32,
    mutators: Sequence[str] | None = None,
) -> Program:
    """Valid programs: a seed, or a program of one node, with some edits. They shrink towards no edits and one node.

    Args:
        draw: given by Hypothesis.
        seeds: models to start from; without any, programs of one node.
        max_edits: most edits.
        max_nodes: most nodes.
        mutators: names of those to use (default: all of irfuzz's).
    """
    starts = [load(seed) for seed in seeds] or list(sprouts().values())
    is_call = not seeds and not draw(st.booleans())
    program = draw(_calls()) if is_call else draw(st.sampled_from(starts))
    engine = _engine(None if mutators is None else tuple(mutators), max_nodes)
    for _ in range(max_edits):
        mutant = draw(_edited(program, engine))
        if mutant is None:
            break
        program = mutant
    program = draw(_narrowed(program))
    note(onnx.printer.to_text(program.to_proto()))
    return program


@st.composite
def _edited(draw: st.DrawFn, program: Program, engine: Engine) -> Program | None:
    """One edit more, or the end.

    Two draws an edit: Hypothesis leaves out what is not needed one by one, in seconds. The draws within an edit are
    not its to shrink, as each hangs on the program that the edits before have made.
    """
    if draw(st.integers(0, 3)) == 0:
        return None
    mutant = engine.mutate(program, Choices.from_seed(draw(st.integers(0, 2**16 - 1))))
    return program if mutant is None else mutant.program


@st.composite
def _narrowed(draw: st.DrawFn, program: Program) -> Program:
    """The program, or some of its nodes: what a node shows shrinks to that node, whatever it took to make it.

    Every draw says of what is left whether its second half stays, its first half, or all. There are as many draws for
    every program, so that Hypothesis can try each without another.
    """
    first, end = 0, len(program.graph)
    for _ in range(HALVES):
        way = draw(st.integers(0, 15))
        middle = first + end + 1 >> 1
        if way == 0:
            first = min(middle, end - 1)
        elif way == 1:
            end = max(middle, first + 1)
    if end - first == len(program.graph):
        return program
    made = part(program, first, end)
    assume(made is not None)  # the whole program in its place would be as simple, and stay
    assert made is not None
    return made


@st.composite
def _calls(draw: st.DrawFn) -> Program:
    """Valid calls of operators, side by side."""
    calls = [draw(_any_call())]
    while len(calls) < CALLS and (another := draw(_another_call())) is not None:
        calls.append(another)
    return Program.from_proto(side_by_side(calls))


@st.composite
def _another_call(draw: st.DrawFn) -> onnx.ModelProto | None:
    return None if draw(st.integers(0, 7)) == 0 else draw(_any_call())


@st.composite
def _any_call(draw: st.DrawFn) -> onnx.ModelProto:
    """A valid call of any operator; of two draws, so that many of them shrink to one in seconds."""
    op, seed = draw(st.sampled_from(_operators())), draw(st.integers(0, 2**16 - 1))
    spec = load_specs().get(op, OPSET)
    assert spec is not None
    drawn = (single_call(spec, OPSET, Choices.from_seed(f"{seed}:{number}"), seed) for number in range(DRAWS))
    model = next((call for call in drawn if call is not None), None)
    assume(model is not None)
    assert model is not None
    return model


def models(**options: Any) -> st.SearchStrategy[onnx.ModelProto]:
    """``programs`` as ONNX models; the same options."""
    return programs(**options).map(lambda program: program.to_proto())


@st.composite
def nodes(draw: st.DrawFn, op: str, *, opset: int = OPSET) -> onnx.ModelProto:
    """Models of one node: a valid call of an operator, whose weights and exact inputs are constants.

    Raises:
        UsageError: irfuzz draws no calls of it.
    """
    spec = load_specs().get(op, opset)
    if spec is None or not spec.is_sampled:
        raise UsageError(f"irfuzz draws no calls of operator {op!r}")
    choices = Choices(draw(st.randoms(use_true_random=False, note_method_calls=False)))
    model = single_call(spec, opset, choices, draw(st.integers(0, 2**16)))
    assume(model is not None)
    assert model is not None
    note(onnx.printer.to_text(model))
    return model


@st.composite
def tensors_for(draw: st.DrawFn, model: onnx.ModelProto, *, special: bool = False) -> dict[str, Value]:
    """Inputs of a model, within what its operators allow; with ``special`` numbers at the edges of their types too."""
    try:
        return make_inputs(Program.from_proto(model), draw(st.integers(0, 2**32 - 1)), special=special)
    except IrfuzzError as error:
        raise UsageError(f"no inputs can be made for this model: {error}") from error
