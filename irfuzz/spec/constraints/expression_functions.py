"""The functions of the constraint language; with arguments that are not known, they return ``None``."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

Vector = tuple[Any, ...]


class Undefined(Exception):
    """An expression has no value for these arguments; a condition then counts as broken."""


class ConstraintFunction(NamedTuple):
    """A function with the number of arguments it takes."""

    body: Callable[..., Any]
    low: int
    high: int


def _vector(v: Any) -> Vector:
    if v.__class__ is not tuple:
        raise Undefined(f"expected a tuple, got {v!r}")
    return v


def length(v: Any) -> int:
    """Number of elements of a tuple, unknown ones included; ``Undefined`` for a number or text."""
    return len(_vector(v))


def prod(v: Any) -> Any:
    """Product of the elements; 1 for none. Zero wins over an unknown element.

    Without a zero an unknown element makes the product unknown (``None``).
    """
    v = _vector(v)
    if None in v:
        return 0 if 0 in v else None
    return math.prod(v)


def total(v: Any) -> Any:
    """Sum of the elements; 0 for none, and ``None`` if one of them is not known."""
    v = _vector(v)
    return None if None in v else sum(v)


def _extreme(pick: Callable[..., Any]) -> Callable[..., Any]:
    def run(*args: Any) -> Any:
        values = _vector(args[0]) if len(args) == 1 else args
        if any(a.__class__ is tuple for a in values):
            size = max(len(a) for a in values if a.__class__ is tuple)
            rows = [a if a.__class__ is tuple else (a,) * size for a in values]
            if any(len(r) != size for r in rows):
                raise Undefined("tuples of different lengths")
            return tuple(None if None in column else pick(column) for column in zip(*rows, strict=True))
        if not values:
            raise Undefined("no smallest or largest of nothing")
        return None if None in values else pick(values)

    return run


def absolute(v: Any) -> Any:
    """Absolute value of a number, or of a tuple element by element; unknown elements stay unknown."""
    return tuple(None if x is None else abs(x) for x in v) if v.__class__ is tuple else abs(v)


def every(v: Any) -> bool | None:
    """True if all elements are, in three-valued logic; also for none.

    One false element decides, and without one ``None`` stands for unknown elements. A single value is its own element.
    """
    v = v if v.__class__ is tuple else (v,)
    if any(x is not None and not x for x in v):
        return False
    return None if None in v else True


def some(v: Any) -> bool | None:
    """True if at least one element is, in three-valued logic; false for none.

    One true element decides, and without one ``None`` stands for unknown elements. A single value is its own element.
    """
    v = v if v.__class__ is tuple else (v,)
    if any(x is not None and x for x in v):
        return True
    return None if None in v else False


def fill(count: Any, value: Any) -> Vector:
    """A tuple of ``count`` times ``value``.

    Raises:
        Undefined: ``count`` is no integer in [0, 4096].
    """
    if count.__class__ is not int or not 0 <= count <= 4096:
        raise Undefined(f"cannot make {count!r} elements")
    return (value,) * count


def iota(count: Any) -> Vector:
    """The tuple 0, 1, ... ``count - 1``, as of all axes of a rank.

    Raises:
        Undefined: ``count`` is no integer in [0, 4096].
    """
    if count.__class__ is not int or not 0 <= count <= 4096:
        raise Undefined(f"cannot make {count!r} elements")
    return tuple(range(count))


def distinct(v: Any) -> bool | None:
    """True if no two elements are equal; ``None`` if only an unknown one might equal another."""
    known = [x for x in _vector(v) if x is not None]
    if len(set(known)) < len(known):
        return False
    return True if len(known) == len(v) else None


def among(v: Any, allowed: Any) -> bool | None:
    """True if every element is one of ``allowed`` (words in any case); ``None`` if all that are known are.

    Args:
        v: a tuple.
        allowed: a tuple of numbers or words.
    """
    known = {x.lower() if isinstance(x, str) else x for x in _vector(allowed)}
    if any(x is not None and (x.lower() if isinstance(x, str) else x) not in known for x in _vector(v)):
        return False
    return None if None in _vector(v) else True


def distinct_grams(pool: Any, counts: Any) -> bool:
    """True if no two n-grams of one length are equal (TfIdfVectorizer-9).

    Args:
        pool: all n-grams, one after the other, the shortest first.
        counts: those of length n begin at ``counts[n - 1]``.
    """
    pool, counts = _vector(pool), (*_vector(counts), len(pool))
    for n in range(1, len(counts)):
        part = pool[counts[n - 1] : counts[n]]
        grams = [part[i : i + n] for i in range(0, len(part), n)]
        if len(set(grams)) < len(grams):
            return False
    return True


def column(v: Any, width: Any, index: Any) -> Vector:
    """One column of the rows that stand one after the other in ``v``.

    Args:
        v: a tuple of whole rows.
        width: elements of a row.
        index: of the column, from 0 on.
    """
    return _vector(v)[index::width]


def at(v: Any, indices: Any) -> Vector:
    """The elements of ``v`` at ``indices``, which may count from the end; what is at an unknown index is unknown.

    Raises:
        Undefined: an index is outside.
    """
    v = _vector(v)
    out = []
    for i in _vector(indices):
        if i is not None and not -len(v) <= i < len(v):
            raise Undefined(f"index {i} is outside a tuple of {len(v)}")
        out.append(None if i is None else v[i])
    return tuple(out)


def without(v: Any, indices: Any) -> Vector | None:
    """``v`` without the elements at ``indices`` (not negative); ``None`` if an index is not known."""
    v = _vector(v)
    gone = _vector(indices)
    if None in gone:
        return None
    return tuple(x for i, x in enumerate(v) if i not in gone)


def put(v: Any, indices: Any, values: Any) -> Vector | None:
    """``v`` with the elements at ``indices`` replaced; ``None`` if an index is not known.

    Args:
        v: a tuple.
        indices: may count from the end.
        values: a tuple of one for each index, or one value for all.

    Raises:
        Undefined: an index is outside, or there are not as many values.
    """
    out = list(_vector(v))
    indices = _vector(indices)
    if None in indices:
        return None
    values = values if values.__class__ is tuple else (values,) * len(indices)
    if len(values) != len(indices):
        raise Undefined(f"{len(indices)} indices and {len(values)} values")
    for i, x in zip(indices, values, strict=True):
        if not -len(out) <= i < len(out):
            raise Undefined(f"index {i} is outside a tuple of {len(out)}")
        out[i] = x
    return tuple(out)


def join(*parts: Any) -> Vector:
    """Tuples and single values, one after the other, as one tuple: ``join(N, S)`` is ``N`` and all of ``S``."""
    out: list[Any] = []
    for p in parts:
        out.extend(p if p.__class__ is tuple else (p,))
    return tuple(out)


def broadcast(a: Any, b: Any) -> Vector:
    """The shape of NumPy's two-way broadcasting (ONNX, Broadcasting.md).

    An unknown size beside a number other than 1 becomes that number, and beside 1 or another unknown one stays unknown.

    Raises:
        Undefined: two sizes differ and neither is 1.
    """
    a, b = _vector(a), _vector(b)
    if len(a) < len(b):
        a, b = b, a
    out = list(a)
    shift = len(a) - len(b)
    for i, y in enumerate(b, shift):
        x = out[i]
        if x == 1:
            out[i] = y
        elif x is None:
            out[i] = None if y == 1 else y
        elif y is not None and y != 1 and y != x:
            raise Undefined(f"sizes {x} and {y} do not broadcast")
    return tuple(out)


def broadcasts_to(a: Any, b: Any) -> bool | None:
    """True if shape ``a`` broadcasts one way into shape ``b``; ``None`` if sizes that are not known decide.

    No size of ``b`` grows, and ``a`` has at most as many.
    """
    a, b = _vector(a), _vector(b)
    if len(a) > len(b):
        return False
    unknown = False
    for x, y in zip(a, b[len(b) - len(a) :], strict=True):
        if x == 1:
            continue
        if x is None or y is None:
            unknown = True
        elif x != y:
            return False
    return None if unknown else True


def rounded_up(a: Any, b: Any) -> Any:
    """``a / b`` rounded up, for integers; element by element, if one or both are tuples.

    Raises:
        Undefined: ``b`` is 0, or tuples differ in length.
    """
    if a.__class__ is tuple or b.__class__ is tuple:
        size = len(a) if a.__class__ is tuple else len(b)
        left = a if a.__class__ is tuple else (a,) * size
        right = b if b.__class__ is tuple else (b,) * size
        if len(left) != len(right):
            raise Undefined("tuples of different lengths")
        return tuple(None if x is None or y is None else rounded_up(x, y) for x, y in zip(left, right, strict=True))
    if b == 0:
        raise Undefined("division by zero")
    return -(-a // b)


def reshape(shape: Any, target: Any, allowzero: Any) -> Vector | None:
    """The shape that Reshape-14 makes of ``shape``: 0 copies unless ``allowzero``, one -1 is inferred.

    Args:
        shape: of the input; sizes may be unknown.
        target: the second input; if an element is unknown, so is the result.
        allowzero: whether 0 is a size.

    Raises:
        Undefined: the elements do not fit, or the target is none that Reshape takes.
    """
    shape, target = _vector(shape), _vector(target)
    if None in target:
        if sum(t == -1 for t in target) > 1:
            raise Undefined("more than one -1")
        return None
    if any(t < -1 for t in target) or target.count(-1) > 1:
        raise Undefined("a size is below -1 or more than one is -1")
    if allowzero and 0 in target and -1 in target:
        raise Undefined("0 and -1 together with allowzero")
    out: list[Any] = []
    for i, t in enumerate(target):
        if t == 0 and not allowzero:
            if i >= len(shape):
                raise Undefined(f"size 0 at position {i} copies a dimension that the input does not have")
            t = shape[i]
        out.append(t)
    size = prod(shape)
    rest = prod(tuple(t for t in out if t != -1))
    if -1 not in out:
        if size is not None and rest is not None and size != rest:
            raise Undefined(f"{size} elements do not fit {tuple(out)}")
        return tuple(out)
    if size is None or rest is None:
        return tuple(None if t == -1 else t for t in out)
    if rest == 0 or size % rest:
        raise Undefined(f"{size} elements do not fit {tuple(out)}")
    return tuple(size // rest if t == -1 else t for t in out)


def sliced(sizes: Any, starts: Any, ends: Any, steps: Any) -> Vector:
    """Sizes that Slice-10 leaves of ``sizes``, all four in the order of its axes.

    Args:
        sizes: of the sliced axes alone.
        starts: one for each of them.
        ends: likewise; not included.
        steps: likewise.

    Raises:
        Undefined: a step is 0.
    """
    out: list[Any] = []
    for d, a, b, s in zip(_vector(sizes), _vector(starts), _vector(ends), _vector(steps), strict=True):
        if s == 0:
            raise Undefined("a step is 0")
        if d is None or a is None or b is None or s is None:
            out.append(None)
            continue
        # Slice-10: negative bounds count from the end once; then both are clamped to what the direction allows.
        a, b = (a + d if a < 0 else a), (b + d if b < 0 else b)
        low, high = (0, d) if s > 0 else (-1, d - 1)
        a = min(max(a, 0), d if s > 0 else d - 1)
        b = min(max(b, low), high)
        out.append(max(0, -((a - b) // s) if s > 0 else -((b - a) // -s)))
    return tuple(out)


def pooled(sizes: Any, kernel: Any, pads: Any, strides: Any, dilations: Any, ceil_mode: Any, auto_pad: Any) -> Vector:
    """Output sizes of a convolution or pooling window (Conv-11, MaxPool-12), 0 if a window does not fit.

    Args:
        sizes: of the spatial axes of the input.
        kernel: size of the window along each.
        pads: begins, then ends; only their number counts if ``auto_pad`` is not ``NOTSET``.
        strides: one for each axis.
        dilations: one for each axis.
        ceil_mode: round up, without windows that lie wholly in the end padding.
        auto_pad: as ONNX spells it.

    Raises:
        Undefined: the tuples do not have one element an axis (pads: two), or a stride is 0.
    """
    sizes, kernel, strides, dilations = _vector(sizes), _vector(kernel), _vector(strides), _vector(dilations)
    n = len(sizes)
    pads = _vector(pads)
    if not len(kernel) == len(strides) == len(dilations) == n or len(pads) != 2 * n:
        raise Undefined("kernel, strides, dilations and pads do not have one element an axis (pads: two)")
    out: list[Any] = []
    for i in range(n):
        d, k, s, w = sizes[i], kernel[i], strides[i], dilations[i]
        if s == 0:
            raise Undefined("a stride is 0")
        if d is None or k is None or s is None or w is None:
            out.append(None)
            continue
        reach = (k - 1) * w + 1
        if auto_pad in ("SAME_UPPER", "SAME_LOWER"):
            out.append(-(-d // s))
            continue
        begin, end = (0, 0) if auto_pad == "VALID" else (pads[i], pads[i + n])
        if begin is None or end is None:
            out.append(None)
            continue
        span = d + begin + end - reach
        size = (-(-span // s) if ceil_mode else span // s) + 1
        if ceil_mode and (size - 1) * s >= d + begin:
            size -= 1  # the last window would lie wholly in the end padding
        out.append(size if span >= 0 else 0)
    return tuple(out)


def concatenable(shapes: Any, axis: Any) -> bool | None:
    """True if shapes agree in rank and everywhere but at ``axis`` (Concat-13).

    Args:
        shapes: of all inputs; those that are ``None`` are left out.
        axis: may count from the end; false if it is outside.

    Returns:
        ``None`` if sizes that are not known decide.
    """
    shapes = [s for s in _vector(shapes) if s is not None]
    if len({len(s) for s in shapes}) > 1:
        return False
    if not shapes:
        return None
    rank = len(shapes[0])
    if not -rank <= axis < rank:
        return False
    unknown = False
    for i in range(rank):
        sizes = {s[i] for s in shapes}
        if i == axis % rank:
            continue
        unknown = unknown or None in sizes
        if len(sizes - {None}) > 1:
            return False
    return None if unknown else True


def known(v: Any) -> Any:
    """The first element that is known; ``None`` if none is."""
    return next((x for x in _vector(v) if x is not None), None)


def addresses(indices: Any, sizes: Any) -> bool | None:
    """True if index tuples, one after the other in ``indices``, lie inside axes of ``sizes`` (from either end).

    Args:
        indices: the elements of a tensor whose last axis is as long as ``sizes``.
        sizes: of the indexed axes.

    Returns:
        ``None`` if elements or sizes that are not known decide.
    """
    sizes = _vector(sizes)
    unknown = False
    for k, v in enumerate(_vector(indices)):
        d = sizes[k % len(sizes)] if sizes else 0
        if v is None or d is None:
            unknown = True
        elif not -d <= v < d:
            return False
    return None if unknown else True


def einsum(equation: Any, shapes: Any) -> bool | None:
    """True if an Einsum-12 equation fits the shapes of its operands; ``None`` if sizes are not known.

    Args:
        equation: with or without ``->``; blanks do not count.
        shapes: one for each term, ``None`` if the rank is not known.

    Raises:
        Undefined: it does not fit, or is no equation.
    """
    left, arrow, right = equation.replace(" ", "").partition("->")
    terms = left.split(",")
    if len(terms) != len(shapes):
        raise Undefined(f"{len(terms)} terms for {len(shapes)} operands")
    if any(not (c.isascii() and c.isalpha()) for c in (left + right).replace("...", "").replace(",", "")):
        raise Undefined("a term holds something else than letters and '...'")
    known: dict[str, Any] = {}
    ellipsis: Vector = ()
    for term, shape in zip(terms, shapes, strict=True):
        if term.count("...") > 1:
            raise Undefined("a term has more than one '...'")
        if shape is None:
            continue
        before, dots, after = term.partition("...")
        letters = len(before) + len(after)
        if dots and known.setdefault(dots, len(shape) - letters) != len(shape) - letters:
            raise Undefined("'...' stands for different numbers of dimensions")
        if letters > len(shape) or (not dots and letters != len(shape)):
            raise Undefined(f"term {term!r} for an operand of rank {len(shape)}")
        if dots:
            ellipsis = broadcast(ellipsis, tuple(shape[len(before) : len(shape) - len(after)]))
        sizes = [*shape[: len(before)], *shape[len(shape) - len(after) :]]
        own: dict[str, Any] = {}
        for letter, size in zip(before + after, sizes, strict=True):
            if size is not None and own.setdefault(letter, size) != size:
                raise Undefined(f"{letter!r} is {own[letter]} and {size} in one operand")
            # like NumPy, a size of 1 broadcasts
            if size not in (None, 1) and known.setdefault(letter, size) != size:
                raise Undefined(f"{letter!r} is {known[letter]} and {size}")
    outputs = right.replace("...", "")
    if arrow and (len(set(outputs)) < len(outputs) or set(outputs) - set(left)):
        raise Undefined("the output repeats a letter or has one that no operand has")
    return None if None in shapes or any(None in s for s in shapes) else True


FUNCTIONS: dict[str, ConstraintFunction] = {
    "len": ConstraintFunction(length, 1, 1),
    "prod": ConstraintFunction(prod, 1, 1),
    "sum": ConstraintFunction(total, 1, 1),
    "min": ConstraintFunction(_extreme(min), 1, 8),
    "max": ConstraintFunction(_extreme(max), 1, 8),
    "abs": ConstraintFunction(absolute, 1, 1),
    "all": ConstraintFunction(every, 1, 1),
    "any": ConstraintFunction(some, 1, 1),
    "fill": ConstraintFunction(fill, 2, 2),
    "iota": ConstraintFunction(iota, 1, 1),
    "distinct": ConstraintFunction(distinct, 1, 1),
    "among": ConstraintFunction(among, 2, 2),
    "distinct_grams": ConstraintFunction(distinct_grams, 2, 2),
    "column": ConstraintFunction(column, 3, 3),
    "at": ConstraintFunction(at, 2, 2),
    "without": ConstraintFunction(without, 2, 2),
    "put": ConstraintFunction(put, 3, 3),
    "join": ConstraintFunction(join, 0, 8),
    "broadcast": ConstraintFunction(broadcast, 2, 2),
    "broadcasts_to": ConstraintFunction(broadcasts_to, 2, 2),
    "rounded_up": ConstraintFunction(rounded_up, 2, 2),
    "reshape": ConstraintFunction(reshape, 3, 3),
    "sliced": ConstraintFunction(sliced, 4, 4),
    "pooled": ConstraintFunction(pooled, 7, 7),
    "concatenable": ConstraintFunction(concatenable, 2, 2),
    "known": ConstraintFunction(known, 1, 1),
    "addresses": ConstraintFunction(addresses, 2, 2),
    "einsum": ConstraintFunction(einsum, 2, 2),
}
"""What expressions may call; an argument that is not known makes the result not known."""

LOOKUPS = frozenset({"shape", "rank", "has", "dtype", "items"})
"""Calls that ask about an input by its name: shape (of a variadic input: all its shapes), rank, presence, dtype.

Of a sequence or optional these are its tensors', and ``items`` is the number of elements of a sequence."""
