"""The neighbours of a valid call: one size, one rank, one attribute, one element type or one value apart."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import onnx_ir as ir

from tests.spec.census.calls import Arg, Case

KINDS = ("size", "rank", "attribute", "dtype", "presence", "value")
DTYPES = tuple(d for d in ir.DataType if d != ir.DataType.UNDEFINED)
MOST_ELEMENTS = 4096


def neighbours(case: Case, rng: np.random.Generator) -> Iterator[tuple[str, str, Case]]:
    """Kind, place and call of every neighbour; most of them are valid, too."""
    yield from (("size", where, c) for where, c in sizes(case, rng))
    yield from (("rank", where, c) for where, c in ranks(case, rng))
    yield from (("attribute", where, c) for where, c in attributes(case))
    yield from (("dtype", where, c) for where, c in dtypes(case))
    yield from (("presence", where, c) for where, c in presence(case))
    yield from (("value", where, c) for where, c in values(case))


def sizes(case: Case, rng: np.random.Generator) -> Iterator[tuple[str, Case]]:
    """Every axis of every input: one more, one less, 1 and 0; and one axis of a size that several inputs share."""
    shared: dict[int, list[tuple[int, int]]] = {}
    for i, arg in _args(case):
        shape = arg.array.shape
        if arg.items is not None:
            for items in dict.fromkeys((arg.items + 1, arg.items - 1, 1, 0)):
                if items >= 0:
                    yield f"{_name(case, i)} items", case.with_arg(i, replace(arg, items=items))
        for axis, size in enumerate(shape):
            shared.setdefault(size, []).append((i, axis))
            for new in dict.fromkeys((size + 1, size - 1, 1, 0)):
                if new >= 0 and new != size:
                    other = (*shape[:axis], new, *shape[axis + 1 :])
                    if np.prod(other) <= MOST_ELEMENTS:
                        yield f"{_name(case, i)}[{axis}]", case.with_arg(i, arg.reshaped(other, rng))
    for size, places in shared.items():
        # what is one size by the operator's rules often has one size in all places
        if len({i for i, _ in places}) > 1 and size:
            for new in (size + 1, 0):
                changed = case
                for i, axis in places:
                    arg = changed.args[i]
                    assert arg is not None
                    shape = arg.array.shape
                    changed = changed.with_arg(i, arg.reshaped((*shape[:axis], new, *shape[axis + 1 :]), rng))
                if all(a is None or a.array.size <= MOST_ELEMENTS for a in changed.args):
                    yield f"every size {size}", changed


def ranks(case: Case, rng: np.random.Generator) -> Iterator[tuple[str, Case]]:
    """Every input: an axis of size 1 more at either end, the first or the last axis less."""
    for i, arg in _args(case):
        shape = arg.array.shape
        if arg.items is not None or arg.optional:
            yield f"{_name(case, i)} a tensor", case.with_arg(i, replace(arg, items=None, optional=False))
        else:
            yield f"{_name(case, i)} a sequence", case.with_arg(i, replace(arg, items=2))
        others = [(1, *shape), (*shape, 1)] + ([shape[1:], shape[:-1]] if shape else [])
        for other in dict.fromkeys(others):
            yield f"{_name(case, i)} rank {len(other)}", case.with_arg(i, arg.reshaped(other, rng))


def attributes(case: Case) -> Iterator[tuple[str, Case]]:
    """Every attribute: left out, values declared valid and invalid, and the neighbours of the value it has."""
    for name, spec in case.spec.attrs.items():
        if name in case.attrs:
            yield f"{name} left out", case.with_attr(name, None)
        now = case.attrs.get(name, spec.default)
        others: list[Any] = list(spec.invalid)
        if spec.domain is not None:
            others += [*(spec.domain.one_of or ()), *(spec.domain.pick or ())]
            if spec.domain.dtype_of:
                others += [int(d) for d in DTYPES] + [0, 99]
        others += list(_near(spec.type, now))
        for value in {repr(v): v for v in others}.values():
            if repr(value) != repr(case.attrs.get(name)):
                yield f"{name}={value!r}"[:60], case.with_attr(name, list(value) if isinstance(value, tuple) else value)


def _near(kind: str, now: Any) -> Iterator[Any]:
    if kind == "INT":
        yield from (0, 1, -1, 2)
        if isinstance(now, int):
            yield from (now + 1, now - 1, -now)
    elif kind == "FLOAT":
        yield from (0.0, 1.0, -1.0, 0.5)
    elif kind == "INTS" and isinstance(now, list | tuple):
        now = list(now)
        for at in dict.fromkeys((0, len(now) - 1)) if now else ():
            for value in dict.fromkeys((now[at] + 1, now[at] - 1, 0, -1)):
                yield [*now[:at], value, *now[at + 1 :]]
        yield from (now[:-1], [*now, *now[-1:]], [])
        if len(now) > 1:
            yield now[::-1]
            yield [now[0]] * len(now)
    elif kind == "FLOATS" and isinstance(now, list | tuple) and now:
        yield from (list(now)[:-1], [*now, now[-1]], [0.0, *list(now)[1:]])
    elif kind == "STRING" and isinstance(now, str):
        yield from ("", now.lower() if now.lower() != now else now.upper())
    elif kind == "STRINGS" and isinstance(now, list | tuple) and now:
        yield from (list(now)[:-1], [*now, now[-1]])


def dtypes(case: Case) -> Iterator[tuple[str, Case]]:
    """Every input in every other element type, alone and together with all inputs that share its type variable."""
    variables: dict[str, list[int]] = {}
    for i, _ in _args(case):
        formal = case.spec.formal(i)
        if formal is not None and formal.type_str in case.spec.type_vars:
            variables.setdefault(formal.type_str, []).append(i)
    groups = [[i] for i, _ in _args(case)] + [g for g in variables.values() if len(g) > 1]
    for group in groups:
        for dtype in DTYPES:
            changed = case
            for i in group:
                arg = changed.args[i]
                assert arg is not None
                changed = changed.with_arg(i, arg.cast(dtype))
            if changed != case:
                yield f"{'+'.join(_name(case, i) for i in group)} {dtype.name.lower()}", changed


def presence(case: Case) -> Iterator[tuple[str, Case]]:
    """Every input left out; the last one gone; one more; a variadic one repeated."""
    for i, _ in _args(case):
        left = (*case.args[:i], None, *case.args[i + 1 :])
        while left and left[-1] is None:
            left = left[:-1]
        yield f"without {_name(case, i)}", replace(case, args=left)
    if case.args:
        yield "one input less", replace(case, args=case.args[:-1])
        first = next((a for a in case.args if a is not None), None)
        last = case.args[-1]
        if last is not None:
            yield "last input twice", replace(case, args=(*case.args, last))
        if len(case.args) < len(case.spec.inputs) and first is not None:
            yield "first input behind the last", replace(case, args=(*case.args, first))


def values(case: Case) -> Iterator[tuple[str, Case]]:
    """The elements of inputs that the overlay says something about: neighbours, boundaries, all equal."""
    overlay = case.spec.overlay
    assert overlay is not None
    for i, arg in _args(case):
        formal = case.spec.formal(i)
        if arg.items is not None or arg.optional:
            continue
        if formal is None or formal.name not in overlay.values or not arg.array.size or arg.array.size > 64:
            continue
        flat = arg.array.ravel()
        if arg.dtype == ir.DataType.BOOL:
            yield f"{formal.name} inverted", case.with_arg(i, replace(arg, array=~arg.array))
            continue
        if arg.dtype == ir.DataType.STRING or arg.array.dtype.kind == "c":
            continue
        integer = "INT" in arg.dtype.name
        for at in dict.fromkeys((0, len(flat) - 1)):
            now = float(flat[at])
            steps = (now + 1, now - 1, 0, -1, 1, 2, 100, -100) if integer else (now + 1, 0.0, -1.0, 1.0)
            for new in dict.fromkeys(steps):
                changed = _set(arg, at, new)
                if changed is not None:
                    yield f"{formal.name}[{at}]={new:g}", case.with_arg(i, changed)
        if len(flat) > 1:
            same = replace(arg, array=np.full_like(arg.array, flat[0]))
            yield f"{formal.name} all equal", case.with_arg(i, same)


def _set(arg: Arg, at: int, value: float) -> Arg | None:
    array = arg.array.copy()
    if "INT" in arg.dtype.name:
        bits = arg.dtype.bitwidth
        low, high = (0, 2**bits - 1) if arg.dtype.name.startswith("U") else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)
        if not low <= value <= high:
            return None
    array.reshape(-1)[at] = value
    return None if np.array_equal(array, arg.array) else replace(arg, array=array)


def _args(case: Case) -> list[tuple[int, Arg]]:
    return [(i, a) for i, a in enumerate(case.args) if a is not None]


def _name(case: Case, position: int) -> str:
    formal = case.spec.formal(position)
    if formal is None:
        return f"input {position}"
    return formal.name if formal.option != "variadic" else f"{formal.name} {position}"
