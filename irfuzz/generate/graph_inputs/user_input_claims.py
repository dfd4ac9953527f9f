"""Makes one ``InputSpec`` of what flags and files say of inputs, and checks that a model agrees with it.

A claim names an input or a dimension, and carries the words that say it, so that every message can quote them. Claims
come in layers (a file, then flags). Within a layer two claims that exclude each other are an error; a later layer wins
over an earlier one, size by size.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

import onnx_ir as ir

from irfuzz.errors import UsageError
from irfuzz.facts import Dim, TensorFact, tensors_in
from irfuzz.generate.input_spec import InputSpec
from irfuzz.ir.fact_type_conversion import render
from irfuzz.ir.input_domain import MOST_ELEMENTS
from irfuzz.ir.program import Program

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Claim(Generic[T]):
    """One thing that is said.

    Attributes:
        name: of an input, or of a dimension.
        value: what is said of it.
        words: the flag or the place in a file that says it.
    """

    name: str
    value: T
    words: str


@dataclass(frozen=True, slots=True)
class Claims:
    """A layer.

    Attributes:
        shapes: whole shapes of inputs.
        sizes: of named dimensions.
        ranges: lowest and highest elements of inputs.
    """

    shapes: Sequence[Claim[tuple[int, ...]]] = ()
    sizes: Sequence[Claim[int]] = ()
    ranges: Sequence[Claim[tuple[float, float]]] = ()


Place = str | tuple[str, int]
"""What has a size: a named dimension, or an axis of an input whose size has no name."""


def input_facts(program: Program) -> dict[str, TensorFact | None]:
    """Inputs without a default by name, in the graph's order; ``None`` for what is no tensor, such as a sequence."""
    graph = program.graph
    found: dict[str, TensorFact | None] = {}
    for value in graph.inputs:
        if value.name and value.name not in graph.initializers:
            fact = program.fact(value)
            found[value.name] = fact if isinstance(fact, TensorFact) else None
    return found


def dimension_names(program: Program) -> list[str]:
    """Names of the dimensions of inputs without a default, each once, in order; those of tensors in sequences and
    optionals count.
    """
    facts = [tensors_in(program.fact(value)) for value in program.graph.inputs if not value.is_initializer()]
    shapes = [fact.shape or () for fact in facts if fact is not None]
    return list(dict.fromkeys(size for shape in shapes for size in shape if isinstance(size, str)))


def refuse_unknown(layer: Claims, programs: Sequence[Program], *, weights: bool = False) -> None:
    """See that each name is known to at least one of the models.

    Args:
        layer: it.
        programs: of the models.
        weights: a range may be that of an initializer, too.

    Raises:
        UsageError: one is not; the line lists those that are.
    """
    inputs = list(dict.fromkeys(name for program in programs for name in input_facts(program)))
    sizes = list(dict.fromkeys(name for program in programs for name in dimension_names(program)))
    ranged = {*inputs, *(n for program in programs for n in program.graph.initializers)} if weights else {*inputs}
    whose = "the model has" if len(programs) == 1 else "the models have"
    for claims, known in ((layer.shapes, {*inputs}), (layer.ranges, ranged)):
        for claim in claims:
            if claim.name not in known:
                kind = "input or initializer" if weights and claims is layer.ranges else "input"
                raise UsageError(f"{claim.words}: no such {kind} {claim.name!r}; {whose} {_list(inputs, 'no inputs')}")
    for claim in layer.sizes:
        if claim.name not in sizes:
            more = "; --input-shapes sets sizes without a name" if not sizes else ""
            listed = _list(sizes, "no dimension with a name")
            raise UsageError(f"{claim.words}: no such dimension {claim.name!r}; {whose} {listed}{more}")


def _list(names: Sequence[str], none: str) -> str:
    more = f", and {len(names) - 20} more" if len(names) > 20 else ""
    return ", ".join(map(repr, names[:20])) + more if names else none


def resolve(program: Program, layers: Iterable[Claims]) -> InputSpec:
    """What the layers say of one model, in agreement with it; names that it does not have say nothing.

    Args:
        program: of the model.
        layers: later ones win.

    Raises:
        UsageError: a claim contradicts the model or another one of its layer.
    """
    facts = input_facts(program)
    sizes: dict[Place, int] = {}
    ranks: dict[str, int] = {}
    ranges: dict[str, tuple[float, float]] = {}
    for layer in layers:
        said: dict[Place, Claim[int]] = {}
        for claim in layer.sizes:
            _put(said, claim.name, claim)
        for claim in layer.shapes:
            if claim.name in facts:
                ranks[claim.name] = len(claim.value)
                for place, size in _sizes_of(claim, facts[claim.name]):
                    _put(said, place, size)
        known = {*dimension_names(program)}
        sizes |= {place: claim.value for place, claim in said.items() if not isinstance(place, str) or place in known}
        ranges |= {c.name: _ends(c, facts[c.name]) for c in layer.ranges if c.name in facts}
    shapes = {name: _shape(name, rank, facts[name], sizes) for name, rank in ranks.items()}
    return InputSpec(shapes, {place: size for place, size in sizes.items() if isinstance(place, str)}, ranges)


def _put(said: dict[Place, Claim[int]], place: Place, claim: Claim[int]) -> None:
    """Take a size in.

    Raises:
        UsageError: it is smaller than 1, or another one is said of the same.
    """
    if claim.value < 1:
        raise UsageError(f"{claim.words}: expected sizes of at least 1, got {claim.value}")
    before = said.setdefault(place, claim)
    if before.value != claim.value:
        what = f"dimension {place!r}" if isinstance(place, str) else f"axis {place[1]} of {place[0]!r}"
        raise UsageError(f"{claim.words}: {what} is {claim.value} here and {before.value} in {before.words}")


def _sizes_of(claim: Claim[tuple[int, ...]], fact: TensorFact | None) -> list[tuple[Place, Claim[int]]]:
    """What a shape says of named dimensions and of axes without a name.

    Raises:
        UsageError: the input is no tensor, of another rank, has another fixed size, or would be too large.
    """
    name, shape, words = claim.name, claim.value, claim.words
    if fact is None:
        raise UsageError(f"{words}: input {name!r} is no tensor, so it has no shape")
    declared: tuple[Dim, ...] = (None,) * len(shape) if fact.shape is None else fact.shape
    expected = render(declared)
    if len(declared) != len(shape):
        raise UsageError(f"{words}: input {name!r} has rank {len(declared)} ({expected}), got {len(shape)} sizes")
    if math.prod(shape) > MOST_ELEMENTS:
        raise UsageError(f"{words}: {math.prod(shape)} elements; at most {MOST_ELEMENTS} are made for one input")
    found: list[tuple[Place, Claim[int]]] = []
    for axis, (own, size) in enumerate(zip(declared, shape, strict=True)):
        if isinstance(own, int):
            if own != size:
                raise UsageError(f"{words}: axis {axis} of input {name!r} is fixed at {own} ({expected}), got {size}")
        else:
            found.append((own if isinstance(own, str) else (name, axis), Claim(name, size, words)))
    return found


def _shape(name: str, rank: int, fact: TensorFact | None, sizes: Mapping[Place, int]) -> tuple[int, ...]:
    """The shape of an input of which all sizes are known."""
    assert fact is not None
    declared: tuple[Dim, ...] = (None,) * rank if fact.shape is None else fact.shape
    return tuple(
        own if isinstance(own, int) else sizes[own if isinstance(own, str) else (name, axis)]
        for axis, own in enumerate(declared)
    )


def _ends(claim: Claim[tuple[float, float]], fact: TensorFact | None) -> tuple[float, float]:
    """A range, cut to the finite numbers of the input's type.

    Raises:
        UsageError: there are none in it.
    """
    low, high = claim.value
    if fact is None or fact.dtype == ir.DataType.STRING or not (fact.dtype.is_integer() or _real(fact.dtype)):
        kind = "no tensor" if fact is None else fact.dtype.name
        raise UsageError(f"{claim.words}: input {claim.name!r} is {kind}; a range is for real numbers")
    least, most = limits_of(fact.dtype)
    low, high = max(low, least), min(high, most)
    whole = not fact.dtype.is_floating_point()
    if low > high or (whole and math.ceil(low) > math.floor(high)):
        kind = f"whole number of {fact.dtype.name}" if whole else f"finite number of {fact.dtype.name}"
        ends = ", ".join(f"{end:g}" for end in claim.value)
        raise UsageError(f"{claim.words}: range of {claim.name!r}: [{ends}] holds no {kind} ({least:g} to {most:g})")
    return low, high


def _real(dtype: ir.DataType) -> bool:
    return dtype.is_floating_point() or dtype == ir.DataType.BOOL


def limits_of(dtype: ir.DataType) -> tuple[float, float]:
    """The smallest and the largest finite number of an element type that is real; 0 and 1 for truth values."""
    if dtype == ir.DataType.BOOL:
        return 0.0, 1.0
    return float(dtype.min), float(dtype.max)
