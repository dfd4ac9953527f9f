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
from irfuzz.embed.single import OPSET, single_call
from irfuzz.errors import IrfuzzError, UsageError
from irfuzz.execute.types import Value
from irfuzz.generate.inputs import make_inputs
from irfuzz.generate.sprouts import sprouts
from irfuzz.ir.program import Program
from irfuzz.mutate.api import load
from irfuzz.mutate.engine import Engine
from irfuzz.mutate.table import BUILTIN, WEIGHTS
from irfuzz.spec import load_specs


@cache
def _engine(mutators: tuple[str, ...] | None, max_nodes: int) -> Engine:
    # Hypothesis draws without regard to weights, so that those of weight 0 must not be there.
    valid = [name for name in BUILTIN if WEIGHTS.get(name, 1.0) > 0]
    return Engine(load_specs(), mutators or valid, max_nodes=max_nodes)


@st.composite
def programs(
    draw: st.DrawFn,
    *,
    seeds: Sequence[onnx.ModelProto | bytes | Program] = (),
    max_edits: int = 6,
    max_nodes: int = 32,
    mutators: Sequence[str] | None = None,
) -> Program:
    """Valid programs: a seed, or a program of one node, with some edits. They shrink towards no edits at all.

    Args:
        draw: given by Hypothesis.
        seeds: models to start from; without any, programs of one node.
        max_edits: most edits.
        max_nodes: most nodes.
        mutators: names of those to use (default: all of irfuzz's).
    """
    starts = [load(seed) for seed in seeds] or list(sprouts().values())
    # What one node shows shrinks to that node: a call drawn as it is comes before one that is fitted to a sprout.
    alone = not seeds and not draw(st.booleans())
    program = Program.from_proto(draw(_any_call())) if alone else draw(st.sampled_from(starts))
    engine = _engine(None if mutators is None else tuple(mutators), max_nodes)
    for _ in range(draw(st.integers(0, max_edits))):
        choices = Choices(draw(st.randoms(use_true_random=False, note_method_calls=False)))
        mutant = engine.mutate(program, choices)
        if mutant is not None:
            program = mutant.program
    note(onnx.printer.to_text(program.to_proto()))
    return program


@st.composite
def _any_call(draw: st.DrawFn) -> onnx.ModelProto:
    """A valid call of any operator."""
    return draw(nodes(draw(st.sampled_from([spec.op for spec in load_specs().overlaid(OPSET)])), opset=OPSET))


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
