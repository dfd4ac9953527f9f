"""The batched native comparison against exact arithmetic: every dtype and instruction set, any number of threads."""

from __future__ import annotations

import math
import os
import subprocess
import sys
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from irfuzz import _native
from irfuzz._native import DISTANCE, difference, distances

pytestmark = [pytest.mark.unit, pytest.mark.usefixtures("instruction_set")]

FLOATS = [np.dtype(t) for t in (np.float16, ml_dtypes.bfloat16, np.float32, np.float64)]
OTHERS = [np.dtype(t) for t in ("?", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8")]

# Bit patterns that kernels get wrong: zeros, subnormals, neighbours of one and of infinity, NaN of any payload.
EDGES = {
    2: [0x0000, 0x8000, 0x0001, 0x8001, 0x03FF, 0x0400, 0x3C00, 0x3C01, 0x3F80, 0x7BFF, 0xFBFF, 0x7C00, 0xFC00,
        0x7C01, 0x7E00, 0xFE00, 0x7F7F, 0xFF7F, 0x7F80, 0xFF80, 0x7FC0, 0x7FFF, 0xFFFF],
    4: [0, 1 << 31, 1, (1 << 31) + 1, 0x007FFFFF, 0x00800000, 0x3F800000, 0x3F800001, 0xBF800000, 0x7F61B1E6,
        0xFF61B1E6, 0x7F7FFFFF, 0xFF7FFFFF, 0x7F800000, 0xFF800000, 0x7F800001, 0x7FC00000, 0xFFC01234, 0xFFFFFFFF],
    8: [0, 1 << 63, 1, (1 << 63) + 1, 0x000FFFFFFFFFFFFF, 0x0010000000000000, 0x3FF0000000000000, 0x3FF0000000000001,
        0x7FEFFFFFFFFFFFFF, 0xFFEFFFFFFFFFFFFF, 0x7FF0000000000000, 0xFFF0000000000000, 0x7FF0000000000001,
        0xFFF8000000000123, 0x7F00000000000000, 0x0100000000000000, 0x6000000000000000, 0x2000000000000000],
}  # fmt: skip


def order(bits: int, width: int) -> int:
    """A float's place among the floats: zeros are 0, the smallest subnormal is 1."""
    sign = 1 << (width - 1)
    return -(bits - sign) if bits & sign else bits


def kind(value: float) -> str:
    return "nan" if math.isnan(value) else ("inf" if value > 0 else "-inf") if math.isinf(value) else "finite"


def rounded(value: Fraction) -> float:
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def expected(a: np.ndarray, b: np.ndarray, atol: float, rtol: float, bound: np.ndarray | None) -> dict[str, Any]:
    """The definition in exact arithmetic, one pair after the other; what is rounded on the way is rounded here too."""
    exact = a.dtype.kind in "iu"
    left = [int(v) if exact else float(v) for v in a.ravel()]
    right = [int(v) if exact else float(v) for v in b.ravel()]
    want: dict[str, Any] = dict.fromkeys(["compared", "mismatched", "beyond", "max_ulp"], 0)
    want["first_mismatch"] = -1
    apart: list[tuple[float | Fraction, int]] = []
    ratio, total = 0.0, Fraction(0)
    histogram = [0] * 65
    dot, square_a, square_b = (Fraction(0),) * 3
    words = (a.ravel().view(f"u{a.itemsize}"), b.ravel().view(f"u{a.itemsize}"))
    for i, (x, y) in enumerate(zip(left, right, strict=True)):
        if kind(x) != kind(y):
            want["mismatched"] += 1
            want["first_mismatch"] = i if want["first_mismatch"] < 0 else want["first_mismatch"]
            continue
        finite = kind(x) == "finite"
        p, q = (Fraction(x), Fraction(y)) if finite else (Fraction(0), Fraction(0))
        far = abs(p - q)
        total += far
        apart.append((far if exact else rounded(far), -i))
        limit = float(bound.ravel()[i]) if bound is not None else atol + rtol * abs(rounded(q))
        want["compared"] += 1
        want["beyond"] += rounded(far) > limit
        dot, square_a, square_b = dot + p * q, square_a + p * p, square_b + q * q
        if far:
            ratio = max(ratio, rounded(far / max(abs(p), abs(q))))
        if finite and a.dtype in FLOATS:
            ulp = abs(order(int(words[0][i]), 8 * a.itemsize) - order(int(words[1][i]), 8 * a.itemsize))
            want["max_ulp"] = max(want["max_ulp"], ulp)
            histogram[ulp.bit_length()] += 1
    top = max(apart, default=(Fraction(0), 1))
    want |= {"max_abs": rounded(Fraction(top[0])) if not math.isinf(top[0]) else math.inf, "argmax": -top[1]}
    want |= {"sum_abs": rounded(total), "mean_abs": rounded(total / len(apart)) if apart else 0.0, "max_rel": ratio}
    want |= {"dot": dot, "square_a": square_a, "square_b": square_b, "ulp_histogram": histogram}
    for side, values in (("a", left), ("b", right)):
        numbers = [rounded(Fraction(v)) + 0.0 for v in values if kind(v) == "finite"]
        want |= {f"low_{side}": min(numbers, default=math.nan), f"high_{side}": max(numbers, default=math.nan)}
        want[f"max_{side}"] = max(map(abs, numbers), default=0.0)
        for name in ("nan", "inf", "-inf"):
            field = {"nan": "nan", "inf": "posinf", "-inf": "neginf"}[name]
            want[f"{field}_{side}"] = sum(kind(v) == name for v in values)
    return want


def root(square: Fraction) -> float:
    """Correct to a few units in the last place also where the square exceeds a double."""
    if not square:
        return 0.0
    shift = (square.numerator.bit_length() - square.denominator.bit_length()) // 2
    try:
        return math.ldexp(math.sqrt(float(square / Fraction(4) ** shift)), shift)
    except OverflowError:
        return math.inf


def assert_same(got: np.void, want: dict[str, Any]) -> None:
    exact = ["compared", "mismatched", "first_mismatch", "beyond", "max_ulp", "max_abs", "argmax"]
    exact += [f"{name}_{side}" for name in ("nan", "posinf", "neginf", "low", "high", "max") for side in "ab"]
    for name in exact:
        assert np.array_equal(got[name], want[name], equal_nan=True), (name, got[name], want[name])
    assert not np.signbit([got["low_a"], got["high_a"]])[np.array([got["low_a"], got["high_a"]]) == 0].any()
    assert got["ulp_histogram"].tolist() == want["ulp_histogram"]
    assert got["sum_abs"] == pytest.approx(want["sum_abs"], rel=1e-14, abs=5e-324)
    assert got["mean_abs"] == pytest.approx(want["mean_abs"], rel=1e-14, abs=5e-324)
    assert got["max_rel"] == pytest.approx(want["max_rel"], rel=1e-15, abs=5e-324)
    norms = root(want["square_a"]), root(want["square_b"])
    assert got["norm_a"] == pytest.approx(norms[0], rel=1e-13, abs=5e-324)
    assert got["norm_b"] == pytest.approx(norms[1], rel=1e-13, abs=5e-324)
    if want["square_a"] and want["square_b"]:
        # A sum of products may cancel, so its error is measured by their sizes.
        square = want["dot"] ** 2 / (want["square_a"] * want["square_b"])
        assert got["cosine"] == pytest.approx(math.sqrt(square) * (1 if want["dot"] >= 0 else -1), abs=1e-12)
    else:
        assert math.isnan(got["cosine"])


def edgy(dtype: np.dtype, size: int, rng: np.random.Generator) -> np.ndarray:
    """A third any bits, a third edges, a third ordinary numbers."""
    if dtype.kind == "b":
        return rng.integers(0, 2, size).astype(bool)
    array = rng.integers(0, 256, size * dtype.itemsize, dtype=np.uint8).view(dtype)
    if dtype in FLOATS:
        edges = np.array(EDGES[dtype.itemsize], f"u{dtype.itemsize}").view(dtype)
        choice = rng.integers(0, 3, size)
        array = np.where(choice == 0, rng.choice(edges, size), array)
        array = np.where(choice == 1, rng.standard_normal(size).astype(dtype), array)
    return array


def record(a: np.ndarray, b: np.ndarray, **options: Any) -> np.void:
    return distances([a], [b], ulp=True, relative=True, cosine=True, **options)[0]


@pytest.mark.parametrize("dtype", [*FLOATS, *OTHERS], ids=str)
@pytest.mark.parametrize("size", [0, 1, 17, 129, 1040])
def test_as_defined(dtype: np.dtype, size: int) -> None:
    rng = np.random.default_rng(size)
    a, b = edgy(dtype, size, rng), edgy(dtype, size, rng)
    b = np.where(rng.random(size) < 0.3, a, b)
    bound = rng.exponential(size=size)
    assert_same(record(a, b, atol=1e-3, rtol=0.5), expected(a, b, 1e-3, 0.5, None))
    if size > 200:  # exact arithmetic takes its time
        return
    assert_same(record(a, b), expected(a, b, 0.0, 0.0, None))
    assert_same(record(a, b, bounds=[bound]), expected(a, b, 0.0, 0.0, bound))


@pytest.mark.property
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=40)
@given(st.data())
def test_as_defined_for_adversarial_values(data: st.DataObject) -> None:
    dtype = data.draw(st.sampled_from(FLOATS))
    edges = np.array(EDGES[dtype.itemsize], f"u{dtype.itemsize}").view(dtype)
    few = data.draw(st.lists(st.sampled_from(range(len(edges))), min_size=1, max_size=4))
    indices = st.lists(st.sampled_from(few), min_size=34, max_size=34)
    a, b = edges[data.draw(indices)], edges[data.draw(indices)]
    tolerances = data.draw(st.tuples(st.sampled_from([0.0, 1.0, math.inf]), st.sampled_from([0.0, 1e-3, 2.0])))
    got = record(a, b, atol=tolerances[0], rtol=tolerances[1])
    assert_same(got, expected(a, b, *tolerances, None))
    assert difference(a, b).mean_abs == got["mean_abs"]


@pytest.mark.parametrize("dtype", [*FLOATS, *OTHERS], ids=str)
def test_the_bits_do_not_depend_on_threads_or_instruction_set(dtype: np.dtype, instruction_set: str) -> None:
    rng = np.random.default_rng(1)
    sizes = [300_001, 0, 70_000, 5]
    a, b = ([edgy(dtype, size, rng) for size in sizes] for _ in "ab")
    if dtype.kind == "f":  # the second pair has finite numbers only
        a[2], b[2] = (np.nan_to_num(x, posinf=1, neginf=-1) for x in (a[2], b[2]))
    _native.use_instruction_set(_native.instruction_sets()[0])
    plain = distances(a, b, ulp=True, relative=True, cosine=True, atol=0.5)
    _native.use_instruction_set(instruction_set)
    for threads in (1, 2, 3, 8):
        again = distances(a, b, ulp=True, relative=True, cosine=True, atol=0.5, threads=threads)
        assert again.tobytes() == plain.tobytes(), threads


def test_sums_are_accurate() -> None:
    rng = np.random.default_rng(0)
    a = np.exp(rng.uniform(-40, 5, 700_001)).astype(np.float32)
    got = record(a, np.zeros_like(a))
    assert got["mean_abs"] == pytest.approx(math.fsum(a) / a.size, rel=1e-14)
    assert got["norm_a"] == pytest.approx(math.sqrt(math.fsum(a.astype(float) ** 2)), rel=1e-13)
    constant = np.full(3_000_000, np.float32(0.1))
    exact = Fraction(float(np.float32(0.1))) * constant.size
    assert float(distances([constant], [np.zeros_like(constant)])["sum_abs"][0]) == pytest.approx(
        float(exact), rel=1e-14
    )


def test_sums_of_huge_differences_are_accurate() -> None:
    a = np.full(1 << 16, 3.3e295)
    found = distances([a], [np.zeros_like(a)])[0]
    assert abs(found["mean_abs"] - 3.3e295) <= 1e-15 * 3.3e295
    assert abs(found["sum_abs"] - a.size * 3.3e295) <= 1e-15 * a.size * 3.3e295


@pytest.mark.parametrize(
    ("a", "b", "dot", "norm_a", "norm_b", "cosine"),
    [
        ([1e300, 1e-200], [np.inf, 1e-200], 0.0, 1e-200, 1e-200, 1.0),
        ([1e300, 1e-10], [np.inf, -1e-200], -1e-210, 1e-10, 1e-200, -1.0),
        ([1e300, 0.0], [1e-50, 1e300], 1e250, 1e300, 1e300, 0.0),
        ([1e-130, 0.0], [1e-190, 1e-130], 1e-320, 1e-130, 1e-130, 1e-60),
        ([3e200, 4e200], [0.0, 0.0], 0.0, 5e200, 0.0, np.nan),
        ([0.0, 1e-200], [1e200, 0.0], 0.0, 1e-200, 1e200, 0.0),
        ([5e-324, 0.0], [1.7e308, 1.7e308], 8.4e-16, 5e-324, 2**0.5 * 1.7e308, 0.5**0.5),
    ],
)
def test_products_beyond_doubles(
    a: list[float], b: list[float], dot: float, norm_a: float, norm_b: float, cosine: float
) -> None:
    found = distances([np.array(a)], [np.array(b)], cosine=True)[0]
    for field, value in (("dot", dot), ("norm_a", norm_a), ("norm_b", norm_b), ("cosine", cosine)):
        assert found[field] == pytest.approx(value, rel=1e-2 if abs(value) < 1e-15 else 1e-13, abs=0, nan_ok=True), (
            field
        )


def test_lists_may_be_emptied_while_their_arrays_are_read() -> None:
    code = """
import threading, numpy as np
from irfuzz._native import distances
a, b = ([np.ones(2_000_000) for _ in range(8)] for _ in "ab")
thread = threading.Timer(0.005, lambda: (a.clear(), b.clear()))
thread.start()
found = distances(a, b, ulp=True, cosine=True)
thread.join()
assert len(found) in (0, 8) and (found["count"] == 2_000_000).all(), found
"""
    subprocess.run([sys.executable, "-P", "-c", code], check=True)


def test_one_special_value_anywhere() -> None:
    for size in (40, 1100):
        for place in range(0, size, 7 if size > 100 else 1):
            a, b = np.ones(size, np.float32), np.ones(size, np.float32)
            a[place] = np.nan
            b[(place + 3) % size] = -np.inf
            got = record(a, b)
            assert (got["nan_a"], got["neginf_b"], got["mismatched"]) == (1, 1, 2)
            assert got["first_mismatch"] == min(place, (place + 3) % size)
            assert (got["sum_abs"], got["low_a"], got["high_a"], got["ulp_histogram"][0]) == (0, 1, 1, size - 2)


def test_blocks_between_special_ones_are_taken_as_any_other() -> None:
    """For some blocks after one with NaN all are taken with care, and then no more: nothing of it shows in the sums."""
    rng = np.random.default_rng(3)
    a = rng.standard_normal(40 * 1024).astype(np.float32)
    b = a + np.float32(0.25) * rng.standard_normal(a.size).astype(np.float32)
    spots = [3 * 1024 + 7, 4 * 1024, 20 * 1024 + 1023, 39 * 1024 + 500]
    a[spots] = np.nan
    record = distances([a], [b], atol=0.1, ulp=True, relative=True, cosine=True)[0]
    kept = np.ones(a.size, bool)
    kept[spots] = False
    x, y = a[kept].astype(np.float64), b[kept].astype(np.float64)
    assert (record["nan_a"], record["mismatched"], record["first_mismatch"]) == (4, 4, spots[0])
    assert record["sum_abs"] == pytest.approx(math.fsum(np.abs(x - y)), rel=1e-15)
    assert record["beyond"] == np.count_nonzero(np.abs(x - y) > 0.1)
    assert record["dot"] == pytest.approx(math.fsum(x * y), rel=1e-13)
    assert record["max_rel"] == np.max(np.abs(x - y) / np.maximum(np.abs(x), np.abs(y)))
    assert record["ulp_histogram"].sum() == a.size - 4


def halves(dtype: np.dtype, size: int, rng: np.random.Generator) -> Iterator[tuple[str, np.ndarray, np.ndarray]]:
    """Pairs whose differences single precision holds, all but holds, and does not hold."""
    bits = rng.integers(0, 1 << 16, size).astype(np.uint16).view(dtype)
    anything = np.nan_to_num(bits.astype(np.float32), posinf=1, neginf=1)
    normal = rng.standard_normal(size).astype(np.float32)
    last = (normal.astype(dtype).view(np.uint16) + rng.integers(0, 2, size).astype(np.uint16)).view(dtype)
    whole = rng.integers(-200, 200, size).astype(np.float32)
    for name, a, b in (
        ("close", normal, normal * np.float32(1.002)),
        ("neighbours", normal, last),
        ("independent", normal, normal[::-1]),
        ("whole", whole, whole + rng.integers(-2, 3, size)),
        ("none negative", np.maximum(normal, 0), np.maximum(normal * np.float32(1.01), 0)),
        ("zeros", np.zeros(size), -np.zeros(size)),
        ("subnormal", (bits.view(np.uint16) % 8).view(dtype), (bits.view(np.uint16) // 8 % 8).view(dtype)),
        ("one in a thousand tiny", np.where(rng.random(size) < 0.001, anything, whole), whole),
        ("anything", anything, np.where(rng.random(size) < 0.5, anything, anything[::-1])),
        ("largest", np.full(size, ml_dtypes.finfo(dtype).max), np.full(size, ml_dtypes.finfo(dtype).min)),
        ("not finite", np.where(rng.random(size) < 0.001, np.nan, 1), np.ones(size)),
    ):
        yield name, np.asarray(a).astype(dtype), np.asarray(b).astype(dtype)


@pytest.mark.filterwarnings("ignore:.*(overflow|invalid value):RuntimeWarning")
@pytest.mark.parametrize("dtype", FLOATS[:2], ids=str)
def test_halves_are_compared_as_in_double_precision(dtype: np.dtype) -> None:
    """Blocks are taken in single precision where that is exact; with a limit for each element they never are."""
    rng = np.random.default_rng(4)
    size = 5 * 1024 + 77
    for name, a, b in halves(dtype, size, rng):
        for atol, rtol in ((0.0, 0.0), (1.0, 0.0), (0.0, 2.0**-9), (1e-6, 1e-3), (0.001, 0.002), (0.0, 1e-30)):
            record = distances([a], [b], atol=atol, rtol=rtol)
            limits = atol + rtol * np.abs(np.where(np.isfinite(b), b, 0).astype(np.float64))
            assert record.tobytes() == distances([a], [b], bounds=[limits]).tobytes(), (name, atol, rtol)
            kept = np.isfinite(a) & np.isfinite(b)
            x, y = a[kept].astype(np.float64), b[kept].astype(np.float64)
            assert record["sum_abs"][0] == pytest.approx(math.fsum(np.abs(x - y)), rel=1e-14), name
            assert record["beyond"][0] == np.count_nonzero(np.abs(x - y) > atol + rtol * np.abs(y)), (name, atol, rtol)


@pytest.mark.parametrize("dtype", FLOATS[:2], ids=str)
def test_halves_at_the_edge_of_single_precision(dtype: np.dtype) -> None:
    """Sums of 22 to 26 digits; limits next to a distance that occurs, from either side; special values."""
    rng = np.random.default_rng(5)
    digits = ml_dtypes.finfo(dtype).nmant
    size = 1024
    for trial in range(200):
        spread = 2.0 ** rng.integers(0, 20 - digits + rng.integers(0, 4), size)
        a = (rng.integers(1 << digits, 2 << digits, size) * spread * 2.0**-24).astype(dtype)
        b = np.where(rng.random(size) < 0.5, a, np.roll(a, 1))
        x, y = a.astype(np.float64), b.astype(np.float64)
        apart = np.abs(x - y)
        near = float(rng.choice(apart[apart > 0]))
        special = trial % 5
        if special == 0:
            spot = rng.integers(size)
            a[spot] = rng.choice([np.nan, np.inf])
            apart[spot] = 0.0
        for atol, rtol in ((near, 0.0), (np.nextafter(near, 0), 0.0), (np.nextafter(near, 9e9), 0.0), (0.0, 2.0**-8)):
            record = distances([a], [b], atol=atol, rtol=rtol)[0]
            assert record["mismatched"] == (special == 0)
            assert record["sum_abs"] == math.fsum(apart), trial
            assert record["beyond"] == np.count_nonzero(apart > atol + rtol * np.abs(y)), (trial, atol, rtol)


def test_what_was_not_asked_for_is_not_there() -> None:
    got = distances([np.ones(20)], [np.zeros(20)])[0]
    assert np.isnan([got[name] for name in ("max_rel", "dot", "norm_a", "norm_b", "cosine")]).all()
    assert (got["max_ulp"], got["ulp_histogram"].sum(), got["mean_abs"]) == (0, 0, 1.0)


@pytest.mark.parametrize("name", ["int1", "int2", "int4", "uint1", "uint2", "uint4"])
def test_small_integers_have_no_steps(name: str) -> None:
    dtype = getattr(ml_dtypes, name, None)
    if dtype is None:
        pytest.skip(f"this ml_dtypes has no {name}")
    a, b = np.array([0, 1, 0], np.int8).astype(dtype), np.array([1, 0, 0], np.int8).astype(dtype)
    record = distances([a], [b], ulp=True)[0]
    assert (record["max_abs"], record["max_ulp"], record["ulp_histogram"].sum()) == (1.0, 0, 0)


def test_any_layout_is_compared() -> None:
    rng = np.random.default_rng(3)
    plain, other = rng.standard_normal((2, 6, 40)).astype(np.float32)
    want = distances([plain], [other], bounds=[np.abs(other).astype(float)]).tobytes()
    buffer = np.empty(plain.nbytes + 1, np.uint8)
    misaligned = buffer[1:].view(np.float32).reshape(plain.shape)
    misaligned[...] = plain
    swapped = plain.astype(">f4")
    for a in (
        np.asfortranarray(plain),
        np.repeat(plain, 2, axis=1)[:, ::2],
        misaligned,
        swapped,
        plain[::-1].copy()[::-1],
    ):
        for bound in (np.abs(other).astype(float), np.asfortranarray(np.abs(other).astype(float))):
            assert distances([a], [other], bounds=[bound]).tobytes() == want


def test_records_have_the_declared_dtype() -> None:
    got = distances(
        (np.ones(3, np.float16), np.zeros((2, 2), np.int8)), [np.ones(3, np.float16), np.ones((2, 2), np.int8)]
    )
    assert got.dtype == DISTANCE
    assert got["mean_abs"].tolist() == [0.0, 1.0]
    assert distances([], []).shape == (0,)


ONE, TWO = np.ones(2), np.ones(2, np.float32)


@pytest.mark.parametrize(
    ("arguments", "options", "error", "message"),
    [
        (([ONE],), {}, TypeError, "takes 2 positional"),
        (([ONE], [ONE]), {"tolerance": 1}, TypeError, "unexpected keyword argument 'tolerance'"),
        ((ONE, [ONE]), {}, TypeError, "a must be a sequence of arrays, got numpy.ndarray"),
        (([ONE], 3), {}, TypeError, "b must be a sequence of arrays, got int"),
        (([ONE], []), {}, ValueError, "a has 1 arrays and b 0"),
        (([ONE], [TWO]), {}, TypeError, "one dtype, got float64 and float32"),
        (([ONE], [np.ones(3)]), {}, ValueError, r"one shape, got \(2,\) and \(3,\)"),
        (([ONE], [[1.0]]), {}, TypeError, "b must be a numpy.ndarray, got list"),
        (([ONE + 1j], [ONE + 1j]), {}, TypeError, "no kernel for dtype complex128"),
        (([ONE], [ONE]), {"atol": -1}, ValueError, "atol must be 0 or more"),
        (([ONE], [ONE]), {"rtol": math.nan}, ValueError, "rtol must be 0 or more"),
        (([ONE], [ONE]), {"rtol": "x"}, TypeError, "must be real number"),
        (([ONE], [ONE]), {"threads": 0}, ValueError, "threads must be in 1 to 1024, got 0"),
        (([ONE], [ONE]), {"threads": 1 << 70}, OverflowError, "cannot fit"),
        (([ONE], [ONE]), {"threads": 1.5}, TypeError, "float"),
        (([ONE], [ONE]), {"bounds": [ONE], "atol": 1}, ValueError, "give one of them"),
        (([ONE], [ONE]), {"bounds": [TWO]}, TypeError, r"bounds\[0\] must be of dtype float64, got float32"),
        (([ONE], [ONE]), {"bounds": [np.ones(3)]}, ValueError, r"bounds\[0\] must have the shape of a\[0\]"),
        (([ONE], [ONE]), {"bounds": []}, ValueError, "a has 1 arrays and bounds 0"),
    ],
)
def test_what_cannot_be_compared_is_refused(
    arguments: tuple[Any, ...], options: dict[str, Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        distances(*arguments, **options)


def test_no_thread_outlives_the_call() -> None:
    a = np.ones(1_000_000, np.float32)
    tasks = Path("/proc/self/task")
    before = len(list(tasks.iterdir()))
    for _ in range(3):
        distances([a], [a], threads=4)
        assert len(list(tasks.iterdir())) == before


def test_the_instruction_set_is_chosen_by_the_environment(instruction_set: str) -> None:
    code = "import irfuzz._native as n; print(n.instruction_set())"
    env = {**os.environ, "IRFUZZ_INSTRUCTION_SET": instruction_set}
    ran = subprocess.run([sys.executable, "-P", "-c", code], env=env, capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == instruction_set


def test_an_unknown_instruction_set_is_refused() -> None:
    with pytest.raises(ValueError, match="'mmx' is not one of this machine's: baseline"):
        _native.use_instruction_set("mmx")
