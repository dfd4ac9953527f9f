"""Hypothesis strategies for programs, models, single operators and inputs, all of which shrink."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import cache, lru_cache
from typing import Any

import onnx
import onnx.printer
import onnx_ir as ir

try:
    from hypothesis import assume, note
    from hypothesis import strategies as st
except ModuleNotFoundError as error:
    raise ImportError("irfuzz.embed.hypothesis needs Hypothesis; run `pip install 'irfuzz[embed]'`") from error

from irfuzz.choices import Choices
from irfuzz.embed.element_type_filter import DType, element_type, of_types, types_in
from irfuzz.embed.node_range_extraction import part, side_by_side
from irfuzz.embed.single_call_model import MOST_ELEMENTS, OPSET, single_call
from irfuzz.errors import IrfuzzError, UsageError
from irfuzz.execute.run_types import Value
from irfuzz.generate.input_values import make_inputs
from irfuzz.generate.one_node_programs import sprouts, sprouts_up_to
from irfuzz.ir.program import Program
from irfuzz.mutate.model_interface.convert_opset import NEWEST
from irfuzz.mutate.mutation_engine import Engine
from irfuzz.mutate.mutator_protocol import Relation
from irfuzz.mutate.traced_mutant_generation import load
from irfuzz.spec import Specs, in_order, load_specs
from irfuzz.spec.operator_spec import OpSpec

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


class _Only(Specs):
    """Specs of which calls of some operators are drawn alone, or calls with some element types."""

    def __init__(self, specs: Specs, ops: Sequence[str], dtypes: frozenset[ir.DataType]) -> None:
        self.__dict__.update(specs.__dict__)
        self._names = frozenset(ops)
        self._dtypes = dtypes

    def overlaid(self, opset: int, domain: str = "") -> tuple[OpSpec, ...]:
        """See ``Specs.overlaid``."""
        specs = [spec for spec in super().overlaid(opset, domain) if not self._names or spec.op in self._names]
        return tuple(narrow for spec in specs if (narrow := of_types(spec, self._dtypes)) is not None)


@cache
def _engine(
    mutators: tuple[str, ...] | None, max_nodes: int, ops: tuple[str, ...], dtypes: frozenset[ir.DataType]
) -> Engine:
    specs = _Only(load_specs(), ops, dtypes) if ops or dtypes else load_specs()
    return Engine(specs, mutators, max_nodes=max_nodes)


@cache
def _operators(ops: tuple[str, ...], opset: int, dtypes: frozenset[ir.DataType]) -> tuple[str, ...]:
    """Names to draw from, common ones often.

    Raises:
        UsageError: of one of them no calls are drawn, or none with these element types.
    """
    of_all = [spec for spec in load_specs().overlaid(opset) if not spec.domain]
    known = {spec.op for spec in of_all if of_types(spec, dtypes) is not None}
    for op in ops:
        if op not in {spec.op for spec in of_all}:
            raise UsageError(
                f"ops: irfuzz draws no calls of {op!r} at opset {opset}; of these: {', '.join(sorted(known))}"
            )
        if op not in known:
            names = ", ".join(sorted(dtype.name for dtype in dtypes))
            raise UsageError(f"dtypes: no call of {op!r} has only values of {names}")
    if not known:
        raise UsageError(f"dtypes: no operator has only values of {', '.join(sorted(d.name for d in dtypes))}")
    if ops:
        return ops
    often = [op for op in in_order("common") if op in known]
    return (*(often * TIMES), *sorted(known.difference(often)))


@st.composite
def programs(
    draw: st.DrawFn,
    *,
    seeds: Sequence[onnx.ModelProto | bytes | Program] = (),
    ops: Sequence[str] = (),
    dtypes: Sequence[DType] = (),
    opset: int = OPSET,
    max_edits: int = 6,
    max_nodes: int = 32,
    mutators: Sequence[str] | None = None,
) -> Program:
    """Valid programs: calls of operators side by side, or a given model, in part with some edits.

    They shrink towards no edits and one node.

    Example:
        >>> from hypothesis import given
        >>> from irfuzz.embed.hypothesis import programs
        >>> @given(programs(ops=["Relu", "Add", "Conv"], dtypes=["float32"]))
        ... def test_it(program):
        ...     assert {node.op_type for node in program.nodes()} <= {"Relu", "Add", "Conv"}

    Args:
        draw: given by Hypothesis.
        seeds: models to start from, instead of calls.
        ops: names of operators; programs have no others (but for what ``seeds`` have). All if empty.
        dtypes: element types of all values, inner ones and weights among them, such as ``float32`` or
            ``numpy.int64``; programs have no others (but for what ``seeds`` have). All if empty. Operators that need
            others, as ``Reshape`` needs int64, are left out.
        opset: of the calls; edits may convert to others, but not with ``ops``.
        max_edits: most edits.
        max_nodes: most nodes.
        mutators: names of those to use (default: all of irfuzz's).

    Raises:
        UsageError: an operator that irfuzz draws no calls of, or none with these types; an unknown type or mutator.
    """
    types = frozenset(map(element_type, dtypes))
    names = _operators(tuple(ops), opset, types)
    engine = _engine(None if mutators is None else tuple(mutators), max_nodes, tuple(ops), types)
    drawn = draw(st.binary(min_size=1 + HALVES + max_edits, max_size=1 + HALVES + max_edits))
    way = WAYS[drawn[0] * len(WAYS) >> 8]
    if seeds:
        program = draw(st.sampled_from([load(seed) for seed in seeds]))
    elif way is _Way.SPROUT and not ops and not types and opset == OPSET:
        program = draw(st.sampled_from([sprouts()[name] for name in sprouts_up_to(NEWEST)]))
    else:
        op = draw(st.sampled_from(names)) if way is _Way.ALIKE else None
        letters = draw(_letters(SEEDS if op else len(names) * SEEDS, min(MOST_CALLS, max_nodes)))
        calls = [(op, ord(letter)) if op else _op_and_seed(ord(letter), names) for letter in letters]
        program = _side_by_side(calls, opset, types)
    if seeds or way in (_Way.EDITED, _Way.SPROUT):
        limits = _Limits({*ops, *_used(program)} if ops else None, {*types, *types_in(program)} if types else None)
        program = _edited(program, engine, drawn[1 + HALVES :], limits)
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
    when it sees several draws of a kind, it makes most of its examples by repeating one in the place of another: they
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


@dataclass(frozen=True, slots=True)
class _Limits:
    """What edited programs may have: operators and element types; ``None`` for all."""

    ops: set[str] | None
    dtypes: set[ir.DataType] | None

    def allow(self, program: Program, opset: int) -> bool:
        """Whether a program keeps to them; one that is limited stays at its opset, too."""
        if self.ops is None and self.dtypes is None:
            return True
        fits = self.ops is None or _used(program) <= self.ops
        return program.opset == opset and fits and (self.dtypes is None or types_in(program) <= self.dtypes)


def _edited(program: Program, engine: Engine, drawn: bytes, limits: _Limits) -> Program:
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
        if limits.allow(mutant.program, opset):
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


def _side_by_side(calls: Iterable[tuple[str, int]], opset: int, dtypes: frozenset[ir.DataType]) -> Program:
    """Valid calls, once each; what they are called hangs on no other, as elements of inputs do on names."""
    models = [model for op, seed in dict.fromkeys(calls) if (model := _call(op, seed, opset, dtypes)) is not None]
    assume(models)
    return Program.from_proto(side_by_side(models))


def _op_and_seed(number: int, names: Sequence[str]) -> tuple[str, int]:
    """Low numbers, which Hypothesis prefers, are the simplest calls of any operator."""
    seed, op = divmod(number, len(names)) if number < LOW else (number % SEEDS, number // SEEDS)
    return names[op], seed


@lru_cache(maxsize=1024)
def _call(op: str, seed: int, opset: int, dtypes: frozenset[ir.DataType]) -> onnx.ModelProto | None:
    """A valid call: the lower the seed, the smaller; even ones leave out what may be left out."""
    spec = load_specs().get(op, opset)
    assert spec is not None
    spec = of_types(spec, dtypes)
    assert spec is not None
    most = SIZES[seed * len(SIZES) // SEEDS]
    for number in range(DRAWS):
        choices = Choices.from_seed(f"{seed}:{number}")
        plain, prefix = seed % 2 == 0, f"{op}{seed}_"
        model = single_call(spec, opset, choices, seed, plain=plain, max_elements=most, prefix=prefix)
        if model is not None and (not dtypes or types_in(Program.from_proto(model)) <= dtypes):
            return model
    return None


def models(
    *,
    seeds: Sequence[onnx.ModelProto | bytes | Program] = (),
    ops: Sequence[str] = (),
    dtypes: Sequence[DType] = (),
    opset: int = OPSET,
    max_edits: int = 6,
    max_nodes: int = 32,
    mutators: Sequence[str] | None = None,
) -> st.SearchStrategy[onnx.ModelProto]:
    """``programs`` as ONNX models; the same arguments.

    Example:
        >>> from hypothesis import given
        >>> from irfuzz.embed.hypothesis import models
        >>> @given(models(ops=["Relu", "Softmax"], dtypes=["float32"], max_edits=2))
        ... def test_it(model):
        ...     assert {node.op_type for node in model.graph.node} <= {"Relu", "Softmax"}
    """
    made = programs(
        seeds=seeds, ops=ops, dtypes=dtypes, opset=opset, max_edits=max_edits, max_nodes=max_nodes, mutators=mutators
    )
    return made.map(lambda program: program.to_proto())


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
    """Inputs of a model, within what its operators allow; with ``special`` numbers at the edges of their types too.

    Args:
        draw: given by Hypothesis; callers leave it out, as in ``tensors_for(model)``.
        model: whose inputs are made; it is not changed.
        special: whether numbers at the edges of their types are among them.

    Returns:
        A strategy of arrays by input name.

    Raises:
        UsageError: the model is invalid, or no inputs can be made for it.
    """
    try:
        numbers = "edges" if special else "ordinary"
        return make_inputs(Program.from_proto(model), draw(st.integers(0, 2**32 - 1)), numbers=numbers)
    except IrfuzzError as error:
        raise UsageError(f"no inputs can be made for this model: {error}") from error
