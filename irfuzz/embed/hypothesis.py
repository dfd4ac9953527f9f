"""Hypothesis strategies: its draws enter, programs, models, single operators and inputs leave, and shrink with it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from enum import Enum
from functools import cache, lru_cache
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
from irfuzz.embed.single import MOST_ELEMENTS, OPSET, single_call
from irfuzz.errors import IrfuzzError, UsageError
from irfuzz.execute.types import Value
from irfuzz.generate.inputs import make_inputs
from irfuzz.generate.sprouts import sprouts
from irfuzz.ir.program import Program
from irfuzz.mutate.api import load
from irfuzz.mutate.engine import Engine
from irfuzz.mutate.types import Relation
from irfuzz.spec import Specs, load_specs
from irfuzz.spec.types import OpSpec

MOST_CALLS = 12
"""Calls side by side."""

DRAWS = 4
"""Calls drawn of an operator before another is taken."""

HALVES = 6
"""How often a program may be halved."""

SIZES = (24, 64, MOST_ELEMENTS)
"""Elements of a call's inputs: the lower a call's seed, the fewer."""

SEEDS = 2**12
"""Different calls of an operator; with as many operators as there are, a call is a letter."""

EDITS = 128
"""Bytes below it are an edit."""

LOW = 256
"""Below it are a fifth of all letters that Hypothesis draws."""

TIMES = 3
"""How often a common operator is drawn for once that another is."""

COMMON = (
    *("Relu", "Add", "Mul", "Sub", "Div", "MatMul", "Gemm", "Conv", "Softmax", "LogSoftmax", "Concat", "Reshape"),
    *("Transpose", "Flatten", "Gather", "Split", "Slice", "Squeeze", "Unsqueeze", "ReduceMean", "ReduceSum"),
    *("ReduceMax", "ArgMax", "MaxPool", "AveragePool", "GlobalAveragePool", "BatchNormalization", "Clip", "Pad"),
    *("LeakyRelu", "Elu", "Selu", "Sigmoid", "HardSigmoid", "Tanh", "Erf", "Exp", "Sqrt", "Pow", "Cast", "Where"),
    *("Expand", "Tile", "TopK", "CumSum", "LayerNormalization", "Resize", "LSTM"),
)
"""Operators that most models are made of."""


class _Only(Specs):
    """Specs of which calls of some operators are drawn alone."""

    def __init__(self, specs: Specs, ops: Sequence[str]) -> None:
        self.__dict__.update(specs.__dict__)
        self._names = frozenset(ops)

    def overlaid(self, opset: int) -> tuple[OpSpec, ...]:
        """See ``Specs.overlaid``."""
        return tuple(spec for spec in super().overlaid(opset) if spec.op in self._names)


@cache
def _engine(mutators: tuple[str, ...] | None, max_nodes: int, ops: tuple[str, ...]) -> Engine:
    return Engine(_Only(load_specs(), ops) if ops else load_specs(), mutators, max_nodes=max_nodes)


@cache
def _operators(ops: tuple[str, ...], opset: int) -> tuple[str, ...]:
    """Names to draw from, common ones often.

    Raises:
        UsageError: of one of them no calls are drawn.
    """
    known = {spec.op for spec in load_specs().overlaid(opset) if not spec.domain}
    for op in ops:
        if op not in known:
            raise UsageError(
                f"ops: irfuzz draws no calls of {op!r} at opset {opset}; of these: {', '.join(sorted(known))}"
            )
    if ops:
        return ops
    often = [op for op in COMMON if op in known]
    return (*(often * TIMES), *sorted(known.difference(often)))


@st.composite
def programs(
    draw: st.DrawFn,
    *,
    seeds: Sequence[onnx.ModelProto | bytes | Program] = (),
    ops: Sequence[str] = (),
    opset: int = OPSET,
    max_edits: int = 6,
    max_nodes: int = 32,
    mutators: Sequence[str] | None = None,
) -> Program:
    """Valid programs: calls of operators side by side, or a given model, in part with some edits.

    They shrink towards no edits and one node.

    Args:
        draw: given by Hypothesis.
        seeds: models to start from, instead of calls.
        ops: names of operators; programs have no others (but for what ``seeds`` have). All where empty.
        opset: of the calls; edits may convert to others, but not with ``ops``.
        max_edits: most edits.
        max_nodes: most nodes.
        mutators: names of those to use (default: all of irfuzz's).

    Raises:
        UsageError: an operator that irfuzz draws no calls of, or an unknown mutator.
    """
    names = _operators(tuple(ops), opset)
    engine = _engine(None if mutators is None else tuple(mutators), max_nodes, tuple(ops))
    drawn = draw(st.binary(min_size=1 + HALVES + max_edits, max_size=1 + HALVES + max_edits))
    way = WAYS[drawn[0] * len(WAYS) >> 8]
    if seeds:
        program = draw(st.sampled_from([load(seed) for seed in seeds]))
    elif way is _Way.SPROUT and not ops and opset == OPSET:
        program = draw(st.sampled_from(list(sprouts().values())))
    else:
        op = draw(st.sampled_from(names)) if way is _Way.ALIKE else None
        letters = draw(_letters(SEEDS if op else len(names) * SEEDS, min(MOST_CALLS, max_nodes)))
        calls = [(op, ord(letter)) if op else _op_and_seed(ord(letter), names) for letter in letters]
        program = _side_by_side(calls, opset)
    if seeds or way in (_Way.EDITED, _Way.SPROUT):
        allowed = {*ops, *_used(program)} if ops else None
        program = _edited(program, engine, drawn[1 + HALVES :], allowed)
        program = _narrowed(program, drawn[1 : 1 + HALVES])
    note(_Text(program))
    return program


class _Way(Enum):
    """How a program without seeds is made, simple ones first."""

    CALLS = "calls"
    ALIKE = "calls of one operator: what is left to a converter that has few and refuses what holds another"
    EDITED = "edited calls"
    SPROUT = "an edited sprout"


WAYS = (_Way.CALLS, _Way.ALIKE, _Way.ALIKE, _Way.EDITED, _Way.SPROUT)
"""As often as they are drawn."""


def _letters(count: int, most: int) -> st.SearchStrategy[str]:
    """Numbers below a count, as one text.

    Hypothesis leaves out letters of a text one by one and makes each simpler, as it does with draws of their own. But
    where it sees several draws of a kind, it makes most of its examples by repeating one in the place of another: they
    would show few different calls.
    """
    letters = st.characters(max_codepoint=count - 1, exclude_categories=("Cs",))
    return st.text(letters, min_size=1, max_size=most)


class _Text:
    """A program's ONNX text, made when somebody reads it."""

    def __init__(self, program: Program) -> None:
        self._program = program

    def _repr_pretty_(self, printer: Any, _cycle: bool) -> None:  # what Hypothesis's printer asks for
        printer.text(onnx.printer.to_text(self._program.to_proto()))


def _used(program: Program) -> set[str]:
    """Operators that a program calls anywhere."""
    found = {node.op_type for node in program.graph.all_nodes()}
    return found | {node.op_type for function in program.model.functions.values() for node in function.all_nodes()}


def _edited(program: Program, engine: Engine, drawn: bytes, allowed: set[str] | None) -> Program:
    """An edit for every second byte; 0 is none.

    The draws within an edit are not Hypothesis's to shrink, as each hangs on the program that the edits before made.
    """
    opset = program.opset
    for place, byte in enumerate(drawn):
        if byte == 0 or byte >= EDITS:
            continue
        mutant = engine.mutate(program, Choices.from_seed(f"{place}:{byte}"))
        if mutant is None or any(edit.relation is Relation.INVALID for edit in mutant.edits):
            continue
        if allowed is None or (mutant.program.opset == opset and _used(mutant.program) <= allowed):
            program = mutant.program
    return program


def _narrowed(program: Program, drawn: bytes) -> Program:
    """The program, or some of its nodes: what a node shows shrinks to that node, whatever it took to make it.

    Every byte says of what is left whether its second half stays, its first half, or, mostly, all. There are as many
    for every program, so that Hypothesis can try each without another.
    """
    first, end = 0, len(program.graph)
    for byte in drawn:
        middle = first + end + 1 >> 1
        if byte == 0:
            first = min(middle, end - 1)
        elif byte == 1:
            end = max(middle, first + 1)
    if end - first == len(program.graph):
        return program
    made = part(program, first, end)
    assume(made is not None)  # the whole program in its place would be as simple, and stay
    assert made is not None
    return made


def _side_by_side(calls: Iterable[tuple[str, int]], opset: int) -> Program:
    """Valid calls, once each; what they are called hangs on no other, as elements of inputs do on names."""
    models = [model for op, seed in dict.fromkeys(calls) if (model := _call(op, seed, opset)) is not None]
    assume(models)
    return Program.from_proto(side_by_side(models))


def _op_and_seed(number: int, names: Sequence[str]) -> tuple[str, int]:
    """Low numbers, which Hypothesis prefers, are the simplest calls of any operator."""
    seed, op = divmod(number, len(names)) if number < LOW else (number % SEEDS, number // SEEDS)
    return names[op], seed


@lru_cache(maxsize=1024)
def _call(op: str, seed: int, opset: int) -> onnx.ModelProto | None:
    """A valid call: the lower the seed, the smaller; even ones leave out what may be left out."""
    spec = load_specs().get(op, opset)
    assert spec is not None
    most = SIZES[seed * len(SIZES) // SEEDS]
    for number in range(DRAWS):
        choices = Choices.from_seed(f"{seed}:{number}")
        plain, prefix = seed % 2 == 0, f"{op}{seed}_"
        model = single_call(spec, opset, choices, seed, plain=plain, max_elements=most, prefix=prefix)
        if model is not None:
            return model
    return None


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
    model = single_call(spec, opset, choices, draw(st.integers(0, SEEDS - 1)), plain=draw(st.booleans()))
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
