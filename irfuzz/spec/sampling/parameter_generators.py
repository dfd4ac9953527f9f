"""Generators of values that no range can describe, such as permutations, axes and target shapes."""

from __future__ import annotations

import ast
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from irfuzz.choices import Choices
from irfuzz.errors import SpecError
from irfuzz.spec.constraints.expression import parse
from irfuzz.spec.operator_spec import GeneratorCall
from irfuzz.spec.sampling import operator_specific_generators

Vector = tuple[int, ...]
Generator = Callable[..., Any]


def parse_generate(text: Any, where: str) -> GeneratorCall:
    """A generator call ``"name(argument, ...)"`` with expressions as arguments.

    Messages begin with the place that is given: the file and key.

    Raises:
        SpecError: not such a call, or no generator of that name.
    """
    if not isinstance(text, str):
        raise SpecError(f"{where}: expected a generator call as a string, got {text!r}")
    try:
        call = ast.parse(text, mode="eval").body
    except SyntaxError as e:
        raise SpecError(f"{where}: {text!r}, column {e.offset}: {e.msg}") from None
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name) or call.keywords:
        raise SpecError(f"{where}: {text!r} is not a call of a generator, as in 'axes(len(S))'")
    name = call.func.id
    if name not in GENERATORS:
        raise SpecError(f"{where}: unknown generator {name!r}; known are {', '.join(sorted(GENERATORS))}")
    return GeneratorCall(name, tuple(parse(ast.unparse(a), where) for a in call.args))


def axes(choices: Choices, rank: int, least: int = 1, negative: bool = True) -> Vector | None:
    """Different axes of a tensor, in any order, some counted from the end.

    Args:
        choices: draws.
        rank: of the tensor.
        least: how many at least; mostly there are at most two.
        negative: whether any may be counted from the end.

    Returns:
        ``None`` if the rank is below ``least``.
    """
    if rank < least:
        return None
    count = choices.integer(least, max(least, rank if choices.boolean(0.3) else min(rank, 2)))
    return signed(choices, choices.sample(range(rank), count), rank, negative)


def signed(choices: Choices, chosen: Any, rank: int, negative: bool = True) -> Vector:
    """The same axes of a tensor of some rank, each written from the end with probability 0.3.

    Without ``negative`` they stay as they are, from 0 on.
    """
    return tuple(a - rank if negative and choices.boolean(0.3) else a for a in chosen)


def permutation(choices: Choices, rank: int) -> Vector:
    """An order of all ``rank`` axes, each from 0 on; all orders are equally likely."""
    return tuple(choices.sample(range(rank), rank))


def new_axes(choices: Choices, rank: int, negative: bool = True, most: int = 6) -> Vector | None:
    """Positions of axes to insert (Unsqueeze): one or two different ones, in the rank of the result.

    Args:
        choices: draws.
        rank: of the input.
        negative: whether any may be counted from the end.
        most: largest rank of the result; ``None`` if the input has it already.
    """
    if rank >= most:
        return None
    count = choices.integer(1, min(2, most - rank))
    return signed(choices, choices.sample(range(rank + count), count), rank + count, negative)


def unit_axes(choices: Choices, shape: Vector, negative: bool = True) -> Vector | None:
    """Axes of size 1 (Squeeze), at least one; ``None`` if there is none.

    With ``negative`` some may be counted from the end of the input's ``shape``.
    """
    units = [i for i, d in enumerate(shape) if d == 1]
    if not units:
        return None
    return signed(choices, choices.sample(units, choices.integer(1, len(units))), len(shape), negative)


def target_shape(choices: Choices, shape: Vector, zero_copies: bool = True) -> Vector:
    """A target for Reshape: another factorisation, with a -1 or copying zeros sometimes.

    Args:
        choices: draws.
        shape: of the input.
        zero_copies: whether 0 stands for the input's size (``allowzero`` is 0).
    """
    size = math.prod(shape)
    if size == 0 and (zero_copies or not choices.boolean()):
        return (0,) * len(shape) if zero_copies else tuple(shape)
    if size == 0:
        return tuple(choices.sample((0, *(choices.integer(0, 4) for _ in range(choices.integer(0, 3)))), 4))
    out = _factors(choices, size)
    if zero_copies:
        for i, d in enumerate(out):
            if i < len(shape) and shape[i] == d and choices.boolean(0.4):
                out[i] = 0
    if out and choices.boolean(0.4):
        out[choices.index(len(out))] = -1
    return tuple(out)


def _factors(choices: Choices, size: int) -> list[int]:
    """Sizes with the given product, rank 1 to 5 (sometimes with ones)."""
    out: list[int] = []
    left = size
    for _ in range(choices.integer(0, 3)):
        divisors = [d for d in range(1, min(left, 64) + 1) if left % d == 0]
        d = choices.pick(divisors)
        out.append(d)
        left //= d
    out.insert(choices.integer(0, len(out)), left)
    if len(out) < 5 and choices.boolean(0.15):
        out.insert(choices.integer(0, len(out)), 1)
    return out


def expand_target(choices: Choices, shape: Vector, limit: int) -> Vector:
    """A target for Expand: sizes of 1 grow, leading axes appear, a 1 may stand for a size that stays the input's.

    Leading sizes may be left out.

    Args:
        choices: draws.
        shape: of the input.
        limit: most elements that growing may come to.
    """
    out = list(shape)
    size = math.prod(shape)
    for i, d in enumerate(out):
        if d == 1 and choices.boolean(0.6):
            grow = choices.integer(1, 4)
            if size * grow <= limit:
                out[i] = grow
                size *= grow
        elif choices.boolean(0.25):
            out[i] = 1
    while len(out) < 5 and choices.boolean(0.3):
        grow = choices.integer(1, 3)
        if size * grow > limit:
            break
        out.insert(0, grow)
        size *= grow
    drop = 0
    while drop < len(shape) and out and choices.boolean(0.15):
        out.pop(0)
        drop += 1
    return tuple(out)


def split_sizes(choices: Choices, size: int, equal: bool = False) -> Vector | None:
    """Sizes of one to four parts that add up to ``size``; now and then one that is not to be equal is empty.

    Args:
        choices: draws.
        size: of the axis; ``None`` is given if it is 0.
        equal: whether all parts have one size.
    """
    if size <= 0:
        return None
    parts = choices.integer(1, min(4, size))
    if equal:
        divisors = [p for p in range(1, 5) if size % p == 0]
        parts = choices.pick(divisors)
        return (size // parts,) * parts
    cuts = sorted(choices.sample(range(1, size), parts - 1))
    sizes = [b - a for a, b in zip([0, *cuts], [*cuts, size], strict=True)]
    if choices.boolean(0.1):
        sizes.insert(choices.integer(0, len(sizes)), 0)
    return tuple(sizes)


def steps(choices: Choices, count: int) -> Vector:
    """Steps of Slice for ``count`` axes: mostly 1, sometimes larger or backwards."""
    return tuple(choices.weighted((1, 2, 3, -1, -2), (6, 2, 1, 2, 1)) for _ in range(count))


def slice_starts(choices: Choices, sizes: Vector, by: Vector) -> Vector | None:
    """First indices of Slice, some counted from the end, some beyond it.

    Args:
        choices: draws.
        sizes: of the sliced axes.
        by: the steps; backwards ones may start anywhere, others in the first half.

    Returns:
        ``None`` if there are not as many steps as sizes.
    """
    if len(sizes) != len(by):
        return None
    out: list[int] = []
    for d, s in zip(sizes, by, strict=True):
        if d == 0:
            out.append(0)
            continue
        start = choices.integer(0, d - 1) if s < 0 else choices.integer(0, (d - 1) // 2)
        beyond = start + d if s < 0 and start == d - 1 and choices.boolean(0.3) else start
        out.append(start - d if beyond == start and choices.boolean(0.3) else beyond)
    return tuple(out)


def slice_ends(choices: Choices, sizes: Vector, starts: Vector, by: Vector) -> Vector | None:
    """Bounds of Slice that leave at least one element if the axis has one; sometimes the far ends of int64.

    Args:
        choices: draws.
        sizes: of the sliced axes.
        starts: as ``slice_starts`` gives them.
        by: the steps.

    Returns:
        ``None`` if the three are not of one length.
    """
    if not len(sizes) == len(starts) == len(by):
        return None
    out: list[int] = []
    for d, a, s in zip(sizes, starts, by, strict=True):
        a = min(max(a + d if a < 0 else a, 0), max(d - 1, 0))
        if choices.boolean(0.15):
            out.append(2**63 - 1 if s > 0 else -(2**63) + 1)
        elif s > 0:
            end = choices.integer(a + 1, d + 1) if d else 0
            out.append(end - d if end < d and choices.boolean(0.3) else end)
        else:
            end = choices.integer(-1, a - 1) if d else 0
            out.append(end - d if end < 0 or choices.boolean(0.3) else end)
    return tuple(out)


def pads(choices: Choices, sizes: Vector, mode: str, negative: bool = True) -> Vector:
    """Begins, then ends, for Pad: reflect stays inside the axis, wrap and edge need an element, some are negative.

    Args:
        choices: draws.
        sizes: of the padded axes.
        mode: ``constant``, ``reflect``, ``edge`` or ``wrap``.
        negative: whether elements may be cut off (``constant`` only); at least one is left of each axis.
    """
    limit = {"reflect": lambda d: min(3, d - 1), "wrap": lambda d: min(3, d)}.get(mode, lambda d: 3)
    begins: list[int] = []
    ends: list[int] = []
    # Mostly it is the inner axes that are padded, those behind batch and channels above all, and now and then none.
    first = 0
    if choices.boolean(0.6):
        first = 2 if len(sizes) > 2 and choices.boolean(0.6) else choices.integer(0, len(sizes))
        negative = negative and choices.boolean()
    for place, d in enumerate(sizes):
        if place < first:
            begins.append(0)
            ends.append(0)
            continue
        top = max(0, limit(d)) if d or mode == "constant" else 0
        low = -min(2, d - 1) if negative and d > 1 and mode == "constant" else 0
        begin = choices.integer(low, top)
        begins.append(begin)
        ends.append(choices.integer(max(low, 1 - d - begin) if low else 0, top))
    return (*begins, *ends)


def resize_scales(choices: Choices, sizes: Vector, inner: int) -> tuple[float, ...]:
    """Scale factors for Resize (exact in binary) of the ``inner`` last axes, 1 before; no result is empty.

    ``sizes`` are those of all axes of the input.
    """
    out: list[float] = []
    for i, d in enumerate(sizes):
        factors = (1.0, 2.0, 0.5, 1.5, 0.75, 3.0, 1.25) if i >= len(sizes) - inner else (1.0,)
        out.append(choices.pick([f for f in factors if math.floor(d * f) >= 1] or [1.0]))
    return tuple(out)


def resize_sizes(choices: Choices, sizes: Vector, inner: int) -> Vector:
    """Target sizes for Resize: other sizes for the ``inner`` last axes, the same before.

    They are at most twice the input's ``sizes`` and at most 12; an empty axis stays so.
    """
    return tuple(
        choices.integer(1, min(2 * d, 12)) if d and i >= len(sizes) - inner else d for i, d in enumerate(sizes)
    )


def resize_axes(choices: Choices, rank: int, any_axes: bool) -> Vector | None:
    """Axes for Resize: different ones, or the last two of four, which is all that linear modes are run with.

    Unless ``any_axes`` is set, ``None`` is given for every rank but 4.
    """
    if any_axes:
        return axes(choices, rank)
    return signed(choices, (2, 3), rank) if rank == 4 else None


def resize_roi(choices: Choices, count: int) -> tuple[float, ...]:
    """Begins, then ends, of the part of each of ``count`` axes that Resize crops to, as shares of the axis.

    They are multiples of 1/8, exact in binary: begins from -1/8 to 1/4, ends from 3/4 to 9/8.
    """
    begins = [choices.integer(-1, 2) / 8 for _ in range(count)]
    return (*begins, *(choices.integer(6, 9) / 8 for _ in range(count)))


def scale_shape(choices: Choices, shape: Vector, axis: int, block: int) -> Vector:
    """Shape of a quantisation scale: of one number, of one an element of ``axis``, or of one a block of it.

    Args:
        choices: draws.
        shape: of the quantised tensor.
        axis: may count from the end; outside there is one number.
        block: elements to a scale along the axis, or 0 for no blocks.
    """
    if -len(shape) <= axis < len(shape):
        axis %= len(shape)
        if block > 0:
            return tuple(-(-d // block) if i == axis else d for i, d in enumerate(shape))
        if choices.boolean(0.5):
            return (shape[axis],)
    return ()


def range_limit(choices: Choices, start: float, delta: float) -> float:
    """A limit that gives Range from ``start`` in steps of ``delta`` one to eight elements."""
    return start + delta * choices.integer(1, 8)


def indices_nd(
    choices: Choices, shape: Vector, batch: Vector, last: int, batch_dims: int = 0, repeat: bool = True
) -> Any:
    """Indices of GatherND or ScatterND, int64 of shape ``(*batch, last)``, some counted from the end.

    Args:
        choices: draws one seed.
        shape: of the indexed tensor.
        batch: sizes before the last one of the indices.
        last: elements of an index tuple.
        batch_dims: leading axes that are not indexed.
        repeat: if false, no two index tuples are equal.

    Returns:
        ``None`` if there are not enough elements to index.
    """
    rng = np.random.default_rng(choices.seed())
    span = shape[batch_dims : batch_dims + last]
    count = math.prod(batch)
    space = math.prod(span)
    if count > space and (space == 0 or not repeat):
        return None
    flat = rng.choice(space, size=count, replace=repeat) if count else np.zeros(0, np.int64)
    parts = np.unravel_index(flat, span) if last else ()
    table = np.stack(parts, axis=-1) if last else np.zeros((count, 0))
    table = table.astype(np.int64)
    if last:
        table = np.where(rng.random(table.shape) < 0.3, table - np.array(span), table)
    return table.reshape(*batch, last)


def indices_along(choices: Choices, shape: Vector, size: Vector, axis: int, negative: bool = True) -> Any:
    """Indices of ScatterElements, int64 of shape ``size``: no two write to one element, some count from the end.

    Args:
        choices: draws one seed.
        shape: of the tensor that is written to.
        size: of the indices.
        axis: that they index; may count from the end.
        negative: whether any may count from the end.

    Returns:
        ``None`` if there are more indices along the axis than elements.
    """
    axis %= len(shape)
    if size[axis] > shape[axis]:
        return None
    rng = np.random.default_rng(choices.seed())
    order = np.argsort(rng.random((*size[:axis], *size[axis + 1 :], shape[axis])), axis=-1)[..., : size[axis]]
    table = np.moveaxis(order, -1, axis).astype(np.int64)
    if not negative:
        return table
    return np.where(rng.random(table.shape) < 0.3, table - shape[axis], table)


def small_shape(choices: Choices) -> Vector:
    """A shape of up to four sizes of 1 to 5; one time in ten they may be 0 as well."""
    least = 0 if choices.boolean(0.1) else 1
    return tuple(choices.integer(least, 5) for _ in range(choices.integer(0, 4)))


def parts(choices: Choices, size: int) -> Any:
    """What SplitToSequence takes: sizes that add up to ``size``, or one number that all parts but the last have.

    Returns:
        A tuple or a number; ``None`` if sizes are wanted of an empty axis.
    """
    if choices.boolean(0.4):
        return choices.integer(1, max(1, size))
    return split_sizes(choices, size)


def ngram_counts(choices: Choices, longest: int) -> Vector:
    """Positions at which the n-grams of each length begin in TfIdfVectorizer's pool; some lengths have none.

    Up to three n-grams of each length but the ``longest`` are drawn.
    """
    starts = [0]
    for length in range(1, longest):
        starts.append(starts[-1] + length * choices.integer(0, 3))
    return tuple(starts)


def _ngrams(starts: Vector, total: int) -> list[int]:
    """The length of each n-gram, in the order of the pool."""
    ends = [*starts[1:], None]
    lengths: list[int] = []
    for place, (start, end) in enumerate(zip(starts, ends, strict=True)):
        count = total - len(lengths) if end is None else (end - start) // (place + 1)
        lengths += [place + 1] * count
    return lengths


def ngram_indexes(choices: Choices, starts: Vector) -> Vector:
    """Positions in the output at which each n-gram is counted: a permutation.

    Args:
        choices: draws it, with one to four n-grams of the greatest length.
        starts: as ``ngram_counts`` gives them; they say how many there are of the other lengths.
    """
    total = len(_ngrams(starts, 0)) + choices.integer(1, 4)
    return tuple(choices.sample(range(total), total))


def ngram_numbers(choices: Choices, starts: Vector, indexes: Vector) -> Vector | None:
    """A pool of different n-grams of numbers from 0 to 5, one after the other.

    Args:
        choices: draws.
        starts: of each length, as ``ngram_counts`` gives them.
        indexes: as ``ngram_indexes`` gives them; only how many there are counts.

    Returns:
        ``None`` if no further n-gram that differs is found.
    """
    seen: set[Vector] = set()
    pool: list[int] = []
    for length in _ngrams(starts, len(indexes)):
        for _ in range(16):
            gram = tuple(choices.integer(0, 5) for _ in range(length))
            if gram not in seen:
                break
        else:
            return None
        seen.add(gram)
        pool += gram
    return tuple(pool)


def ngram_words(choices: Choices, starts: Vector, indexes: Vector) -> tuple[str, ...] | None:
    """The same as ``ngram_numbers`` of six words, among them an empty one, one with a blank and one beyond ASCII."""
    numbers = ngram_numbers(choices, starts, indexes)
    words = ("", "a", "b", "A", "é", "a b")
    return None if numbers is None else tuple(words[n] for n in numbers)


def nothing(choices: Choices) -> Vector:
    """An empty list; nothing is drawn."""
    return ()


def concat_shapes(choices: Choices, shape: Vector, axis: int, count: int) -> list[Vector]:
    """Shapes of ``count`` more inputs of Concat: equal but at ``axis``, along which each is 1 to 5 long.

    Args:
        choices: draws.
        shape: of the first input, of rank 1 at least.
        axis: may count from the end.
        count: of inputs besides the first.
    """
    axis %= len(shape)
    return [(*shape[:axis], choices.integer(1, 5), *shape[axis + 1 :]) for _ in range(count)]


_LETTERS = "abcdefghij"


def equation(choices: Choices, shape: Vector, inputs: int) -> str | None:
    """An Einsum equation whose first operand has ``shape``: products, contractions, transposes, diagonals, ellipses.

    Args:
        choices: draws.
        shape: of the first operand; ``None`` is given for a rank above 5.
        inputs: how many operands there are.
    """
    rank = len(shape)
    if rank > 5:
        return None
    letters = list(_LETTERS[:rank])
    equal = [(i, k) for k in range(rank) for i in range(k) if shape[i] == shape[k]]
    if equal and choices.boolean(0.2):
        i, k = choices.pick(equal)
        letters[k] = letters[i]
    dots = choices.integer(1, rank) if rank and choices.boolean(0.2) else 0
    first = "..." * bool(dots) + "".join(letters[dots:])
    terms = [first]
    known = list(dict.fromkeys(letters[dots:]))
    for _ in range(inputs - 1):
        shared = choices.sample(known, choices.integer(0, min(3, len(known))))
        fresh = [c for c in _LETTERS if c not in letters and c not in known][: choices.integer(0, 1)]
        own = choices.sample([*shared, *fresh], 4)
        terms.append("..." * (bool(dots) and choices.boolean(0.5)) + "".join(own))
        known += fresh
    text = ",".join(terms)
    if choices.boolean(0.2):
        return text
    kept = choices.sample(known, choices.integer(0, min(4, len(known))))
    return text + "->" + "..." * bool(dots) + "".join(kept)


def einsum_shapes(choices: Choices, text: str, shape: Vector, count: int) -> list[Vector]:
    """Shapes of the other operands of an Einsum whose first has ``shape``.

    Args:
        choices: draws a size of 1 to 4 for each letter that the first operand does not have.
        text: the equation.
        shape: of the first operand.
        count: of other operands.
    """
    terms = text.partition("->")[0].replace(" ", "").split(",")
    first = terms[0].replace("...", "")
    dots = shape[: len(shape) - len(first)]
    sizes = dict(zip(first, shape[len(dots) :], strict=False))
    out: list[Vector] = []
    for term in terms[1 : 1 + count]:
        for letter in term.replace("...", ""):
            if letter not in sizes:
                sizes[letter] = choices.integer(1, 4)
        own = tuple(sizes[letter] for letter in term.replace("...", ""))
        out.append((*dots, *own) if "..." in term else own)
    return out


GENERATORS: dict[str, Generator] = {
    "axes": axes,
    "permutation": permutation,
    "new_axes": new_axes,
    "unit_axes": unit_axes,
    "target_shape": target_shape,
    "expand_target": expand_target,
    "split_sizes": split_sizes,
    "steps": steps,
    "slice_starts": slice_starts,
    "slice_ends": slice_ends,
    "pads": pads,
    "resize_axes": resize_axes,
    "resize_roi": resize_roi,
    "resize_scales": resize_scales,
    "resize_sizes": resize_sizes,
    "scale_shape": scale_shape,
    "range_limit": range_limit,
    "indices_nd": indices_nd,
    "indices_along": indices_along,
    "small_shape": small_shape,
    "parts": parts,
    "ngram_counts": ngram_counts,
    "ngram_indexes": ngram_indexes,
    "ngram_numbers": ngram_numbers,
    "ngram_words": ngram_words,
    "nothing": nothing,
    "concat_shapes": concat_shapes,
    "equation": equation,
    "einsum_shapes": einsum_shapes,
    **operator_specific_generators.GENERATORS,
}
"""What ``generate`` in ``ops/`` may call; the first argument, the choices, is implied. ``None`` means impossible."""
