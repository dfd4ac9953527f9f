"""Which of the shapes that were found for a program's inputs a seed takes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import onnx_ir as ir

from irfuzz.facts import Dim, TensorFact
from irfuzz.ir.input_domain import InputVariant, input_variants
from irfuzz.ir.program import Program


def variants_for(
    program: Program, inputs: Sequence[ir.Value], seed: int, sizes: Mapping[str, int]
) -> dict[str, InputVariant]:
    """The variant of each input that has any, all from one place of their lists.

    Edits may have made a number of a size since the variants were found, so the first place from ``seed`` on is taken
    at which they agree with the program's own numbers and with each other.

    Args:
        program: its facts give the sizes that are numbers now.
        inputs: of the program.
        seed: decides which place is tried first; equal ones give equal variants.
        sizes: of named dimensions, as far as they are decided.

    Returns:
        Variants by input name; if no place agrees, those of the first one, of which a caller takes what fits.
    """
    rows = {value.name or "": found for value in inputs if (found := input_variants(value))}
    if not rows:
        return {}
    count = min(map(len, rows.values()))
    facts = {value.name or "": program.fact(value) for value in inputs if value.name in rows}
    shapes = {name: fact.shape for name, fact in facts.items() if isinstance(fact, TensorFact) and fact.shape}
    for step in range(count):
        place = (seed + step) % count
        if _agrees({name: (shape, rows[name][place].shape) for name, shape in shapes.items()}, sizes):
            return {name: row[place] for name, row in rows.items()}
    return {name: row[seed % count] for name, row in rows.items()}


def _agrees(shapes: Mapping[str, tuple[tuple[Dim, ...], tuple[int, ...]]], sizes: Mapping[str, int]) -> bool:
    bound = dict(sizes)
    for own, found in shapes.values():
        if len(own) != len(found):
            return False
        for dim, size in zip(own, found, strict=True):
            if dim is not None and size != (bound.setdefault(dim, size) if isinstance(dim, str) else dim):
                return False
    return True


def filled(fact: TensorFact, variant: InputVariant | None, sizes: dict[str, int]) -> tuple[Dim, ...] | None:
    """The shape of ``fact`` with unknown sizes from ``variant``; named ones are put into ``sizes`` if they are new.

    Args:
        fact: of an input.
        variant: shape to take sizes from; without one, or of another rank, the shape stays as it is.
        sizes: number by name; it is changed.
    """
    if fact.shape is None or variant is None or len(fact.shape) != len(variant.shape):
        return fact.shape
    for dim, size in zip(fact.shape, variant.shape, strict=True):
        if isinstance(dim, str):
            sizes.setdefault(dim, size)
    return tuple(size if dim is None else dim for dim, size in zip(fact.shape, variant.shape, strict=True))
