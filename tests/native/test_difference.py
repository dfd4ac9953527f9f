"""The native comparison against the same figures computed with NumPy, for every dtype that has a kernel."""

from __future__ import annotations

import json
import math
import sys
import threading
import time
from fractions import Fraction
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from irfuzz._native import Difference, difference

pytestmark = pytest.mark.unit

FLOATS = [np.dtype(t) for t in (np.float16, np.float32, np.float64, ml_dtypes.bfloat16)]
INTEGERS = [np.dtype(f"{kind}{8 * size}") for kind in ("int", "uint") for size in (1, 2, 4, 8)]
SMALL = [
    np.dtype(getattr(ml_dtypes, name))
    for name in (
        "float8_e3m4", "float8_e4m3", "float8_e4m3b11fnuz", "float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2",
        "float8_e5m2fnuz", "float8_e8m0fnu", "float6_e2m3fn", "float6_e3m2fn", "float4_e2m1fn", "int2", "int4",
        "uint2", "uint4",
    )
]  # fmt: skip
DTYPES = [np.dtype(bool), *FLOATS, *INTEGERS, *SMALL]


def number(value: Any) -> float | int:
    """An element as a Python number, exactly."""
    return int(value) if np.asarray(value).dtype.kind in "iu" else float(value)


def kind(value: float) -> str:
    return "nan" if math.isnan(value) else ("inf" if value > 0 else "-inf") if math.isinf(value) else "finite"


def expected(a: np.ndarray, b: np.ndarray) -> dict[str, Any]:
    """The definition, one pair after the other, in exact arithmetic."""
    left = [number(v) for v in a.ravel()]
    right = [number(v) for v in b.ravel()]
    kinds = [(kind(x), kind(y)) for x, y in zip(left, right, strict=True)]
    apart: dict[int, Fraction] = {}
    ratios = [0.0]
    for i, (x, y) in enumerate(zip(left, right, strict=True)):
        if kinds[i][0] != kinds[i][1]:
            continue
        apart[i] = Fraction(0) if kinds[i][0] != "finite" else abs(Fraction(x) - Fraction(y))
        if apart[i]:
            ratios.append(float(apart[i] / max(abs(Fraction(x)), abs(Fraction(y)))))
    mismatched = [i for i, (x, y) in enumerate(kinds) if x != y]
    exact = a.dtype.kind in "iu"  # those of floats are rounded to double before they are compared
    rounded = {i: v if exact else as_float(v) for i, v in apart.items()}
    return {
        "count": a.size,
        "compared": len(apart),
        "mismatched": len(mismatched),
        "first_mismatch": mismatched[0] if mismatched else -1,
        "mean_abs": as_float(sum(apart.values(), Fraction(0)) / len(apart)) if apart else 0.0,
        "max_abs": as_float(max(apart.values())) if apart else 0.0,
        "argmax": max(rounded, key=lambda i: (rounded[i], -i)) if apart else -1,
        "max_rel": max(ratios),
        "max_a": as_float(max((abs(Fraction(x)) for x in left if math.isfinite(x)), default=Fraction(0))),
        "max_b": as_float(max((abs(Fraction(y)) for y in right if math.isfinite(y)), default=Fraction(0))),
        "nan_a": sum(x == "nan" for x, _ in kinds),
        "nan_b": sum(y == "nan" for _, y in kinds),
        "posinf_a": sum(x == "inf" for x, _ in kinds),
        "posinf_b": sum(y == "inf" for _, y in kinds),
        "neginf_a": sum(x == "-inf" for x, _ in kinds),
        "neginf_b": sum(y == "-inf" for _, y in kinds),
    }


def as_float(value: Fraction | int) -> float:
    try:
        return float(value)
    except OverflowError:
        return math.inf


def assert_same(got: Difference, want: dict[str, Any]) -> None:
    fields: dict[str, Any] = dict(got.as_dict())
    assert list(fields) == list(want)
    for name, value in want.items():
        # Sums are rounded a few times, ratios twice; everything else is exact. The smallest subnormals have no
        # relative precision left.
        tolerance = {"mean_abs": 1e-13, "max_rel": 1e-15}.get(name, 0.0)
        if tolerance:
            assert fields[name] == pytest.approx(value, rel=tolerance, abs=5e-324), name
        else:
            assert fields[name] == value, name


def random_array(dtype: np.dtype, size: int, seed: int) -> np.ndarray:
    """Every bit pattern of the dtype may come up; half of a float array is of ordinary size."""
    rng = np.random.default_rng(seed)
    if dtype.kind == "b":
        return rng.integers(0, 2, size).astype(bool)
    if dtype in SMALL and "int" in dtype.name:
        return rng.integers(0, 2, size).astype(dtype)
    array = rng.integers(0, 256, size * dtype.itemsize, dtype=np.uint8)
    if dtype.name == "float4_e2m1fn":
        array &= 0x0F
    elif dtype.name.startswith("float6"):
        array &= 0x3F
    array = array.view(dtype)
    if dtype in FLOATS:
        ordinary = rng.standard_normal(size).astype(dtype)
        array = np.where(rng.random(size) < 0.5, array, ordinary)
    return array


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("size", [0, 1, 2, 7, 8, 9, 100, 1023, 1024, 1025, 2500])
def test_as_defined(dtype: np.dtype, size: int) -> None:
    a = random_array(dtype, size, 2 * size)
    b = random_array(dtype, size, 2 * size + 1)
    assert_same(difference(a, b), expected(a, b))
    assert_same(difference(a, a), expected(a, a))


@pytest.mark.property
@given(st.data())
def test_as_defined_for_any_values(data: st.DataObject) -> None:
    dtype = data.draw(st.sampled_from([np.dtype(t) for t in ("f2", "f4", "f8", "i1", "i8", "u4", "u8", "?")]))
    shape = data.draw(hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=7))
    a = data.draw(hnp.arrays(dtype, shape))
    b = data.draw(st.one_of(hnp.arrays(dtype, shape), st.just(a.copy())))
    assert_same(difference(a, b), expected(a, b))
    # Swapped, only the sides change.
    forth, back = difference(a, b), difference(b, a)
    assert (forth.max_abs, forth.argmax, forth.mismatched) == (back.max_abs, back.argmax, back.mismatched)
    assert (forth.max_a, forth.nan_a, forth.posinf_a) == (back.max_b, back.nan_b, back.posinf_b)


@pytest.mark.property
@given(st.data())
def test_memory_layout_does_not_matter(data: st.DataObject) -> None:
    dtype = np.dtype(data.draw(st.sampled_from(["f4", "f8", "f2", "i8", "u1"])))
    plain = data.draw(hnp.arrays(dtype, hnp.array_shapes(min_dims=2, max_dims=3, max_side=9)))
    other = data.draw(hnp.arrays(dtype, plain.shape))
    want = difference(plain, other).as_dict()

    def layouts(array: np.ndarray) -> dict[str, np.ndarray]:
        buffer = np.empty(array.nbytes + 1, np.uint8)
        misaligned = buffer[1:].view(array.dtype).reshape(array.shape)
        misaligned[...] = array
        spaced = np.empty((*array.shape[:-1], 2 * array.shape[-1]), array.dtype)[..., ::2]
        spaced[...] = array
        return {
            "fortran": np.asfortranarray(array),
            "misaligned": misaligned,
            "spaced": spaced,
            "reversed": array[::-1].copy()[::-1],
            "swapped": array.astype(array.dtype.newbyteorder(">")),
            "read-only": np.frombuffer(array.tobytes(), array.dtype).reshape(array.shape),
        }

    for name, changed in layouts(plain).items():
        assert difference(changed, other).as_dict() == want, name
        assert difference(other, changed).max_abs == want["max_abs"], name


def test_specials_do_not_poison_the_finite_figures() -> None:
    a = np.array([1.0, np.nan, np.inf, -np.inf, np.nan, 2.0, np.inf], np.float32)
    b = np.array([1.5, np.nan, np.inf, np.inf, 0.0, 2.0, 7.0], np.float32)
    d = difference(a, b)
    assert (d.count, d.compared, d.mismatched, d.first_mismatch) == (7, 4, 3, 3)
    assert (d.mean_abs, d.max_abs, d.argmax, d.max_rel) == (0.125, 0.5, 0, pytest.approx(1 / 3))
    assert (d.max_a, d.max_b) == (2.0, 7.0)
    assert (d.nan_a, d.nan_b, d.posinf_a, d.posinf_b, d.neginf_a, d.neginf_b) == (2, 1, 2, 2, 1, 0)


def test_sum_is_accurate() -> None:
    rng = np.random.default_rng(0)
    a = np.exp(rng.uniform(-40, 5, 300_001))
    mean = math.fsum(a) / a.size
    assert difference(a, np.zeros_like(a)).mean_abs == pytest.approx(mean, rel=1e-14)


def test_scalars_have_one_element() -> None:
    d = difference(np.array(3.0), np.array(1.0))
    assert (d.count, d.max_abs, d.argmax) == (1, 2.0, 0)


def test_a_bool_byte_above_one_is_true() -> None:
    odd = np.array([2, 1, 0], np.uint8).view(bool)
    assert difference(odd, np.array([True, True, False])).max_abs == 0.0


@pytest.mark.parametrize(
    ("a", "b", "error", "message"),
    [
        ([1.0], np.ones(1), TypeError, "a must be a numpy.ndarray, got list"),
        (np.ones(1), 1.0, TypeError, "b must be a numpy.ndarray, got float"),
        (np.float32(1), np.float32(1), TypeError, "a must be a numpy.ndarray, got float32"),
        (np.ones(2, np.float32), np.ones(2), TypeError, "one dtype, got float32 and float64"),
        (np.ones(2, np.uint16), np.ones(2, ml_dtypes.bfloat16), TypeError, "one dtype, got uint16 and bfloat16"),
        (np.ones(2, np.complex64), np.ones(2, np.complex64), TypeError, "no kernel for dtype complex64"),
        (np.ones(2, np.longdouble), np.ones(2, np.longdouble), TypeError, "no kernel for dtype (long|float)"),
        (np.array(["a"], object), np.array(["a"], object), TypeError, "no kernel for dtype object"),
        (np.zeros(1, "f4,f4"), np.zeros(1, "f4,f4"), TypeError, "no kernel for dtype void64"),
        (np.zeros(1, "M8[s]"), np.zeros(1, "M8[s]"), TypeError, "no kernel for dtype datetime64"),
        (np.ones((2, 3)), np.ones((3, 2)), ValueError, r"one shape, got \(2, 3\) and \(3, 2\)"),
        (np.ones((2, 1)), np.ones(2), ValueError, r"one shape, got \(2, 1\) and \(2,\)"),
        (np.ones(()), np.ones(1), ValueError, r"one shape, got \(\) and \(1,\)"),
    ],
)
def test_what_cannot_be_compared_is_refused(a: Any, b: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        difference(a, b)


def test_dtypes_that_are_equal_under_another_name_compare() -> None:
    assert difference(np.array([1], np.longlong), np.array([3], np.int64)).max_abs == 2.0


def test_result_is_plain_and_read_only() -> None:
    d = difference(np.ones(3), np.zeros(3))
    assert json.loads(json.dumps(d.as_dict())) == d.as_dict()
    assert repr(d).startswith("Difference(count=3, compared=3, mismatched=0, ")
    with pytest.raises(AttributeError):
        d.count = 4  # type: ignore[misc]


def test_the_stub_names_every_field() -> None:
    from pathlib import Path

    import irfuzz

    # The installed stub: type checkers read that one.
    stub = (Path(irfuzz.__file__).parent / "_native.pyi").read_text()
    fields = difference(np.ones(1), np.ones(1)).as_dict()
    assert [name for name in fields if f"def {name}(self)" not in stub] == []
    assert [name for name in fields if f"    {name}: " not in stub] == []


def test_other_threads_go_on_meanwhile() -> None:
    """The interpreter is told never to take the lock away: the other thread runs only where it is given up."""
    a = np.ones(2_000_000, np.uint8)
    counted = [0]
    stop = threading.Event()

    def count() -> None:
        while not stop.is_set():
            counted[0] += 1
            time.sleep(0)

    thread = threading.Thread(target=count)
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1000)
    moved = False
    try:
        thread.start()
        for _ in range(50):  # a busy machine may not schedule the other thread during one call
            before = counted[0]
            difference(a, a)
            moved = moved or counted[0] > before
    finally:
        sys.setswitchinterval(interval)
        stop.set()
        thread.join()
    assert moved
