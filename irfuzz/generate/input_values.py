"""Draws one value for each graph input of a program from a seed, the same in every process."""

from __future__ import annotations

import math
import zlib
from collections.abc import Mapping
from dataclasses import replace
from typing import Literal, TypeAlias

import numpy as np
import onnx_ir as ir

from irfuzz.errors import Unsupported
from irfuzz.facts import Fact, OptionalFact, SequenceFact, TensorFact
from irfuzz.generate.graph_inputs.graph_input_limits import GraphInputLimits
from irfuzz.generate.graph_inputs.integer_overflow_avoidance import fitted
from irfuzz.generate.graph_inputs.operator_input_limits import Limit
from irfuzz.generate.graph_inputs.shape_variant_choice import filled, variants_for
from irfuzz.ir.evaluation.stress_numbers import real, struck, whole
from irfuzz.ir.input_defaults import at_defaults
from irfuzz.ir.input_domain import MOST_ELEMENTS, input_domain, input_sizes
from irfuzz.ir.program import Program

Value: TypeAlias = "np.ndarray | list[Value] | None"
"""A tensor (strings as object arrays), a sequence as a list, an empty optional as ``None``."""

Numbers: TypeAlias = Literal["ordinary", "edges", "nan", "wide"]
"""Which numbers are drawn where nothing limits them: small ones; now and then those at the edges of their type, or NaN
and infinities as well; or those on which faulty arithmetic shows (``irfuzz.ir.evaluation.stress_numbers``)."""

_TOUCHED, _WIDE, _FITTED = 0.7, 0.85, 0.85
"""How often an input gets some numbers from the edges, or wide ones; and how often these are to fit the results."""

SIZES = (1, 2, 3, 4)
"""What a named or unknown dimension may become."""

WORDS = np.array(["", "a", "Ab", "neural", "0", "-1.5", "nan", "  x ", "häß", "日本", "a,b;c", "\t"], dtype=object)

_AT_EDGES = frozenset({"edges", "nan"})

_ALONE = 0.5
"""How often those that may be NaN or infinite are nothing else."""

_COARSE = 0.1
"""How often ordinary floats are whole ones, of which many are equal: who chooses must know which comes first."""

_SPECIAL_SHARE = 0.25
"""Share of the elements that these replace, in those inputs that they touch."""

_NUMPY: Mapping[ir.DataType, np.dtype] = {
    kind: np.dtype(kind.numpy()) for kind in ir.DataType if kind not in (ir.DataType.UNDEFINED, ir.DataType.STRING)
}
_FINFO: dict[np.dtype, np.finfo] = {np.dtype(t): np.finfo(t) for t in (np.float16, np.float32, np.float64)}


def make_inputs(
    program: Program,
    seed: int,
    *,
    ranges: Mapping[str, tuple[float, float]] | None = None,
    dims: Mapping[str, int] | None = None,
    numbers: Numbers = "ordinary",
) -> dict[str, Value]:
    """Values for the graph inputs of ``program``.

    An input's content depends on ``seed``, its name, type and limits alone, so it survives edits elsewhere. Inputs that
    are used as indices, shapes, axes, lengths or divisors (also through casts, reshapes, arithmetic with constants,
    loop bodies and local functions) stay within what their users allow, and within what their metadata says
    (``irfuzz/ir/input_domain.py``). Inputs with a default (an initializer of the
    same name) are left at it.

    Args:
        program: the program; its facts give types, shapes and ranges.
        seed: any non-negative integer.
        ranges: lowest and highest element by input name, before those of the facts.
        dims: sizes of named dimensions; the others are drawn, each name once.
        numbers: ``edges`` now and then mixes in zeros of both signs, subnormals, and the largest and smallest numbers,
            ``nan`` also NaN and both infinities; ``wide`` are whole numbers of all magnitudes, mostly as large as lets
            the program's exact results fit their types, and floats of all scales.

    Returns:
        By name: an array of the input's dtype (``ml_dtypes`` if numpy lacks it, one element an item; objects for
        strings), a list for a sequence, ``None`` for an empty optional.

    Raises:
        Unsupported: an input is a map, a sparse tensor, of unknown type, or larger than ``MOST_ELEMENTS``.
        InvalidProgram: the metadata of an input cannot be read.
    """
    program = at_defaults(program)
    inputs = program.graph.inputs
    sizes = dict(dims or {})
    for value in inputs:
        for size_name, allowed in input_sizes(value).items():
            if size_name not in sizes:
                sizes[size_name] = allowed[zlib.crc32(f"{seed}:{size_name}".encode()) % len(allowed)]
    variants = variants_for(program, inputs, seed, sizes)
    facts: dict[str, Fact | None] = {}
    for value in inputs:
        fact, variant = program.fact(value), variants.get(value.name or "")
        if variant is not None and isinstance(fact, TensorFact):
            fact = replace(fact, shape=filled(fact, variant, sizes))
        facts[value.name or ""] = fact
    for fact in facts.values():
        _bind(fact, seed, sizes)
    limits = GraphInputLimits(program, sizes)
    made: dict[str, Value] = {}
    large: set[str] = set()
    for value in inputs:
        name = value.name or ""
        fact = facts[name]
        rng = _generator(seed, zlib.crc32(name.encode()))
        limit = limits.of(value)
        domain = input_domain(value)
        if domain is not None:
            limit = replace(_narrow(limit, domain.low, domain.high), order=domain.order)
            if domain.exact is not None:
                limit = Limit(domain.low, domain.high, domain.exact)
        variant = variants.get(name)
        if variant is not None and variant.exact is not None:
            limit = Limit(min(variant.exact, default=0), max(variant.exact, default=0), variant.exact)
        given = (ranges or {}).get(name)
        if given is not None:
            limit = _narrow(limit, *given)
        touch = numbers if _touches(numbers, rng) else "ordinary"
        made[name] = _value(name, fact, limit, rng, sizes, touch)
        if touch == "wide" and limit is None and isinstance(fact, TensorFact) and fact.dtype.is_integer():
            large.add(name)
    if large and _generator(seed, len(large)).random() < _FITTED:
        return fitted(program, made, frozenset(n for n in large if _wide_integers(made[n])))
    return made


def _generator(*numbers: int) -> np.random.Generator:
    """``numpy.random.default_rng(numbers)``, in half the time: NumPy takes an array of words as it is."""
    words = [number >> shift & 0xFFFFFFFF for number in numbers for shift in range(0, number.bit_length() or 1, 32)]
    return np.random.default_rng(np.array(words, np.uint32))


def _touches(numbers: Numbers, rng: np.random.Generator) -> bool:
    return numbers != "ordinary" and bool(rng.random() < (_WIDE if numbers == "wide" else _TOUCHED))


def _wide_integers(value: Value) -> bool:
    """Whether they are drawn from more than the whole range of a byte, of which all are small."""
    return isinstance(value, np.ndarray) and value.dtype.kind in "iu" and value.dtype.itemsize > 1


def _bind(fact: Fact | None, seed: int, sizes: dict[str, int]) -> None:
    """Choose a size for every named dimension of ``fact`` that has none yet."""
    if isinstance(fact, SequenceFact | OptionalFact):
        _bind(fact.elem, seed, sizes)
    elif isinstance(fact, TensorFact):
        for d in fact.shape or ():
            if isinstance(d, str) and d not in sizes:
                sizes[d] = SIZES[zlib.crc32(f"{seed}:{d}".encode()) % len(SIZES)]


def _value(
    name: str,
    fact: Fact | None,
    limit: Limit | None,
    rng: np.random.Generator,
    sizes: Mapping[str, int],
    numbers: Numbers,
) -> Value:
    match fact:
        case TensorFact():
            # Unknown sizes become one: with broadcasting it fits wherever two such inputs meet.
            shape = tuple(d if isinstance(d, int) else sizes[d] if isinstance(d, str) else 1 for d in fact.shape or ())
            if math.prod(shape) > MOST_ELEMENTS:
                why = f"{math.prod(shape)} elements; at most {MOST_ELEMENTS} are made"
                raise Unsupported("input generation", f"graph input {name!r}", why)
            return _tensor(fact, shape, limit, rng, numbers)
        case SequenceFact():
            return [_value(name, fact.elem, limit, rng, sizes, numbers) for _ in range(int(rng.integers(1, 4)))]
        case OptionalFact():
            if rng.random() < 0.25:
                return None
            return _value(name, fact.elem, limit, rng, sizes, numbers)
        case _:
            why = "its element type is unknown" if fact is None else fact.why
            raise Unsupported("input generation", f"graph input {name!r}", why)


def _tensor(
    fact: TensorFact,
    shape: tuple[int, ...],
    limit: Limit | None,
    rng: np.random.Generator,
    numbers: Numbers,
) -> np.ndarray:
    kind = fact.dtype
    if kind == ir.DataType.STRING:
        words = np.empty(shape, object)
        words[...] = WORDS[rng.integers(0, len(WORDS), shape)]
        return words
    dtype = _NUMPY[kind]
    if kind == ir.DataType.BOOL:
        if limit is not None and limit.exact is not None and math.prod(shape) == len(limit.exact):
            return np.array(limit.exact, dtype=bool).reshape(shape)
        if limit is not None and limit.order:
            return _ordered(limit, shape, rng).astype(bool)
        return rng.integers(0, 2, shape, dtype=np.uint8).astype(bool)
    if fact.low is not None or fact.high is not None:
        low, high = fact.low, fact.high
        limit = _narrow(limit, -math.inf if low is None else low, math.inf if high is None else high)
    if limit is not None and limit.exact is not None and math.prod(shape) == len(limit.exact):
        return np.array(limit.exact, dtype=np.float64).astype(dtype).reshape(shape)
    if limit is not None and limit.order and kind != ir.DataType.BOOL and numbers not in _AT_EDGES:
        return _ordered(limit, shape, rng).astype(dtype)
    if limit is not None and limit.distinct is not None:
        array = _distinct(limit, shape, rng)
        if array is not None:
            return array.astype(dtype)
    if kind in (ir.DataType.COMPLEX64, ir.DataType.COMPLEX128):
        return (rng.standard_normal(shape) + 1j * rng.standard_normal(shape)).astype(dtype)
    if kind.is_integer():
        return _integers(kind, dtype, shape, limit, rng, numbers)
    return _floats(dtype, shape, limit, rng, numbers)


def _integers(
    kind: ir.DataType,
    dtype: np.dtype,
    shape: tuple[int, ...],
    limit: Limit | None,
    rng: np.random.Generator,
    numbers: Numbers,
) -> np.ndarray:
    bits, signed = kind.bitwidth, kind.is_signed()
    least, most = (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) if signed else (0, 2**bits - 1)
    if bits <= 8:
        low, high = least, most  # quantised data uses its whole range
    else:
        reach = 1000 if rng.random() < 0.1 else 10
        low, high = (-reach if signed else 0), reach
    low, high = _clamp(limit, low, high, least, most)
    if numbers == "wide" and limit is None and bits > 8:
        return whole(shape, dtype, rng)
    array = rng.integers(low, high, shape, dtype=np.uint64 if high > 2**63 - 1 else np.int64, endpoint=True)
    if limit is not None and limit.signed and signed and numbers != "ordinary":
        # Beside the least integer only a divisor of -1 leaves the type.
        array = np.where(rng.random(shape) < _SPECIAL_SHARE, -1, array * rng.choice((-1, 1), shape))
    if numbers in _AT_EDGES and limit is None and array.size:
        values = np.array([least, most, 0, 1, most - 1], dtype=np.uint64 if most > 2**63 - 1 else np.int64)
        mask = rng.random(shape) < _SPECIAL_SHARE
        array = np.where(mask, values[rng.integers(0, len(values), shape)], array.astype(values.dtype))
    return np.asarray(array).astype(dtype).reshape(shape)


def _clamp(limit: Limit | None, low: int, high: int, least: int, most: int) -> tuple[int, int]:
    """The default range, moved and cut to fit the limit and the type."""
    if limit is None:
        return low, high
    if math.isfinite(limit.low):
        low = max(math.ceil(limit.low), least)
        high = high if high >= low and not math.isfinite(limit.high) else max(low, min(low + (high - low), most))
    if math.isfinite(limit.high):
        top = min(math.floor(limit.high), most)
        high = top
        low = low if math.isfinite(limit.low) else max(least, min(low, top - 10))
    return (low, high) if low <= high else (min(low, most), min(low, most))


def _floats(
    dtype: np.dtype, shape: tuple[int, ...], limit: Limit | None, rng: np.random.Generator, numbers: Numbers
) -> np.ndarray:
    free = limit is None or (math.isinf(limit.low) and math.isinf(limit.high))
    if numbers == "wide" and free:
        return real(shape, dtype, rng)
    working = np.float64 if dtype == np.float64 else np.float32
    if limit is None or free:
        array = rng.standard_normal(shape, dtype=working)
        draw = rng.random()
        if draw < 0.15:
            array *= (100.0, 0.01, 10.0)[int(draw / 0.05)]
        elif draw < 0.15 + _COARSE:
            array = np.round(array)
    elif limit.whole and math.isfinite(limit.low) and math.isfinite(limit.high) and _has_whole(limit):
        array = rng.integers(math.ceil(limit.low), math.floor(limit.high), shape, endpoint=True)
    elif math.isfinite(limit.low) and math.isfinite(limit.high):
        array = rng.random(shape, dtype=working) * working(limit.high - limit.low) + working(limit.low)
    elif math.isfinite(limit.low):
        array = working(limit.low) + np.abs(rng.standard_normal(shape, dtype=working))
    else:
        array = working(limit.high) - np.abs(rng.standard_normal(shape, dtype=working))
    result = np.asarray(array).astype(dtype).reshape(shape)
    if numbers in _AT_EDGES and result.size:
        alone = numbers == "nan" and limit is None and rng.random() < _ALONE
        pool = (
            np.array([math.nan, math.inf, -math.inf]).astype(dtype)
            if alone
            else _specials(dtype, limit, numbers == "nan")
        )
        result = struck(result, rng, pool)
    return result


def _specials(dtype: np.dtype, limit: Limit | None, nan_inf: bool) -> np.ndarray:
    """The numbers at the edges of a floating-point type that the limit allows."""
    info = _finfo(dtype)
    numbers = [0.0, -0.0, float(info.smallest_subnormal), -float(info.smallest_subnormal), float(info.smallest_normal)]
    numbers += [float(info.max), float(info.min), 1.0, -1.0, 1.0 + float(info.eps)]
    if limit is not None:
        bound = limit.low if math.isfinite(limit.low) else limit.high
        numbers = [n for n in numbers if limit.low <= n <= limit.high] or [bound]
    elif nan_inf:
        numbers += [math.nan, math.inf, -math.inf]
    return np.array(numbers, dtype=np.float64).astype(dtype)


def _finfo(dtype: np.dtype) -> np.finfo:
    known = _FINFO.get(dtype)
    if known is not None:
        return known
    import ml_dtypes

    return ml_dtypes.finfo(dtype)  # type: ignore[return-value]


def _distinct(limit: Limit, shape: tuple[int, ...], rng: np.random.Generator) -> np.ndarray | None:
    """Indices without repetition, or ``None`` if there are not enough."""
    assert limit.distinct is not None
    kind, what = limit.distinct
    if kind == "axis" and isinstance(what, int):
        if not -len(shape) <= what < len(shape):
            return None
        count, available = shape[what], int(limit.high) + 1
        if count > available or math.prod(shape) * available > 1 << 20:
            return None
        moved = shape[:what] + (available,) + (shape[what + 1 :] if what != -1 else ())
        order = rng.random(moved).argsort(axis=what)
        return np.take(order, range(count), axis=what)
    if kind == "rows" and isinstance(what, tuple) and shape and shape[-1] == len(what):
        rows, total = math.prod(shape[:-1]), math.prod(what)
        if rows > total or total > 1 << 20 or not what:
            return None
        chosen = rng.permutation(total)[:rows]
        return np.stack(np.unravel_index(chosen, what), axis=-1).reshape(shape)
    return None


def _ordered(limit: Limit, shape: tuple[int, ...], rng: np.random.Generator) -> np.ndarray:
    """Rows along the last axis as ``limit.order`` has them."""
    length = shape[-1] if shape else 1
    places = np.arange(length).reshape((1,) * (len(shape) - 1) + (length,) if shape else ())
    if limit.order == "ascending":
        room = int(limit.high - limit.low) + 1 if math.isfinite(limit.high) else length
        return np.broadcast_to(limit.low + places % max(room, 1), shape)
    lengths = rng.integers(max((length + 1) // 2, 1), max(length, 1), (*shape[:-1], 1), endpoint=True)
    return np.where(places < lengths.reshape((*shape[:-1], 1) if shape else ()), limit.high, limit.low)


def _narrow(limit: Limit | None, low: float, high: float) -> Limit:
    """``limit`` cut to a given range; if they exclude each other the limit, which a crash may hang on, wins."""
    if limit is None:
        return Limit(low, high)
    cut = replace(limit, low=max(limit.low, low), high=min(limit.high, high), signed=False)
    return cut if cut.low <= cut.high and (not limit.whole or _has_whole(cut)) else limit


def _has_whole(limit: Limit) -> bool:
    """Whether a whole number lies within; there is one between any numbers that are not both finite."""
    ends = (limit.low, limit.high)
    return not all(map(math.isfinite, ends)) or math.ceil(limit.low) <= math.floor(limit.high)
