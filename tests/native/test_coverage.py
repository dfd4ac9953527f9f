"""Coverage of activations, bitmaps, ranks and sets of features against NumPy and plain Python."""

from __future__ import annotations

import threading
from collections import Counter
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from irfuzz import _native
from irfuzz._native import FeatureSet

pytestmark = [pytest.mark.unit, pytest.mark.usefixtures("instruction_set")]

FLOATS = [np.dtype(t) for t in (np.float16, ml_dtypes.bfloat16, np.float32, np.float64)]


def activations(dtype: np.dtype, rows: int, columns: int, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    values = rng.standard_normal((rows, columns)).round(1)  # rounded: many are equal
    for special in (np.nan, np.inf, -np.inf):
        values[rng.random(values.shape) < 0.05] = special
    return values.astype(dtype)


def bounds(values: np.ndarray, seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    dtype = np.float64 if values.dtype == np.float64 else np.float32
    low = rng.uniform(-1, 0, values.shape[1]).round(1).astype(dtype)
    high = (low + rng.uniform(-0.1, 2, low.size).round(1)).astype(dtype)
    low[::11] = np.nan
    high[::13] = np.inf
    return low, high


def packed(bits: np.ndarray) -> np.ndarray:
    return np.packbits(bits, axis=-1, bitorder="little")


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize(("rows", "columns"), [(1, 1), (1, 7), (3, 8), (2, 530), (17, 1029), (0, 5), (2, 0)])
def test_sections_and_boundaries(dtype: np.dtype, rows: int, columns: int) -> None:
    values = activations(dtype, rows, columns, 1)
    low, high = bounds(values, 2)
    wide, bottom, width = values.astype(float), low.astype(float), high.astype(float) - low.astype(float)
    for sections in (1, 8, 13):
        with np.errstate(all="ignore"):
            scale = np.where(width > 0, sections / width, 0.0)
            part = np.minimum(np.floor((wide - bottom) * scale), sections - 1)
        inside = (wide >= bottom) & (wide <= high.astype(float)) & ~np.isnan(part)
        want = np.zeros((columns, sections), bool)
        row, column = np.nonzero(inside)
        want[column, part[row, column].astype(int)] = True
        covered = np.zeros((columns, (sections + 7) // 8), np.uint8)
        assert _native.cover_sections(values, low, high, sections, covered, threads=2) == want.sum()
        assert np.array_equal(covered, packed(want))
        assert _native.cover_sections(values, low, high, sections, covered) == 0
    under = (wide < bottom).any(axis=0)
    over = (wide > high.astype(float)).any(axis=0)
    below, above = (np.zeros((columns + 7) // 8, np.uint8) for _ in range(2))
    assert _native.cover_boundaries(values, low, high, None, above) == over.sum()
    assert _native.cover_boundaries(values, low, high, below, above) == under.sum()
    assert np.array_equal(below, packed(under))
    assert np.array_equal(above, packed(over))


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize("scaled", [False, True])
def test_neurons_above_a_threshold(dtype: np.dtype, scaled: bool) -> None:
    for columns in (1, 9, 40, 1031):
        values = activations(dtype, 3, columns, columns)
        wide = values.astype(float)
        finite = np.where(np.isfinite(wide), wide, np.nan)
        if scaled:
            numbers = [row[~np.isnan(row)] for row in finite]
            low = np.array([[row.min() if row.size else np.nan] for row in numbers])
            high = np.array([[row.max() if row.size else np.nan] for row in numbers])
            want = (wide - low > 0.6 * (high - low)).any(axis=0)
        else:
            want = (wide > 0.6).any(axis=0)
        covered = np.zeros((columns + 7) // 8, np.uint8)
        assert _native.cover_neurons(values, 0.6, covered, scaled=scaled) == want.sum()
        assert np.array_equal(covered, packed(want))


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize("columns", [1, 5, 64, 1000])
def test_top_values_and_ranks(dtype: np.dtype, columns: int) -> None:
    values = activations(dtype, 6, columns, columns)
    wide = values.astype(float)
    places = [sorted(range(columns), key=lambda i: (np.isnan(r[i]), -r[i] if r[i] == r[i] else 0.0, i)) for r in wide]
    for k in {1, min(5, columns), columns}:
        want = np.array([[i if not np.isnan(r[i]) else -1 for i in p[:k]] for r, p in zip(wide, places, strict=True)])
        assert np.array_equal(_native.top(values, k), want)
        covered = np.zeros((columns + 7) // 8, np.uint8)
        bits = np.zeros(columns, bool)
        bits[want[want >= 0]] = True
        assert _native.cover_top(values, k, covered) == bits.sum()
        assert np.array_equal(covered, packed(bits))
    labels = np.random.default_rng(5).integers(0, columns, 6)
    ranks = np.array([p.index(label) + 1 for p, label in zip(places, labels, strict=True)])
    assert np.array_equal(_native.ranks(values, labels), ranks)
    assert np.array_equal(_native.class_scores(values, labels, k=5), np.where(ranks <= 5, 2.0 ** (5 - ranks), 0))


def test_cradles_example_of_a_class_score() -> None:
    """Section III.B: first scores 16, third 4, outside the first five nothing."""
    outputs = np.array([[9, 8, 7, 6, 5, 4], [7, 8, 9, 6, 5, 4], [4, 9, 8, 7, 6, 5]], np.float32)
    assert _native.class_scores(outputs, np.zeros(3, np.int64)).tolist() == [16, 4, 0]


@pytest.mark.property
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.integers(0, 700), st.integers(0, 2**32), st.sampled_from([0.0, 0.01, 0.5, 1.0]))
def test_new_bits(size: int, seed: int, density: float) -> None:
    rng = np.random.default_rng(seed)
    seen = rng.integers(0, 256, size, np.uint8)
    found = np.where(rng.random(size) < density, rng.integers(0, 256, size, np.uint8), seen & 15).astype(np.uint8)
    want = int(np.bitwise_count(found & ~seen).sum())
    merged = seen.copy()
    assert _native.new_bits(seen, found) == want
    assert _native.merge_bits(merged, found) == want
    assert np.array_equal(merged, seen | found)
    assert _native.new_bits(merged, found) == 0


def test_a_bitmap_takes_from_a_part_of_itself() -> None:
    bits = np.random.default_rng(0).integers(0, 256, 5000, dtype=np.uint8)
    before = bits.copy()
    fresh = int(np.unpackbits(before[:-1] & ~before[1:]).sum())
    assert _native.merge_bits(bits[1:], bits[:-1]) == fresh
    assert np.array_equal(bits[1:], before[1:] | before[:-1])


@pytest.mark.property
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.lists(st.integers(0, 60) | st.integers(0, 2**64 - 1), max_size=80), max_size=6))
def test_a_set_of_features(batches: list[list[int]]) -> None:
    features, other, want = FeatureSet(), FeatureSet(), Counter[int]()
    for batch in batches:
        keys = np.array(batch, np.uint64)
        assert features.is_new(keys).tolist() == [key not in want for key in batch]
        added = []
        for key in batch:
            added.append(not want[key])
            want[key] += 1
        assert features.add(keys).tolist() == added
        assert features.counts(keys).tolist() == [want[key] for key in batch]
        other.add(keys[::2])
    assert len(features) == len(want)
    assert dict(zip(*(part.tolist() for part in features.items()), strict=True)) == dict(want)
    assert other.merge(features) == len(features) - len({key for batch in batches for key in batch[::2]})
    assert features.merge(features) == 0
    doubled = {key: 2 * count for key, count in want.items()}
    assert dict(zip(*(part.tolist() for part in features.items()), strict=True)) == doubled


def test_a_large_set_grows() -> None:
    rng = np.random.default_rng(0)
    keys = rng.integers(0, 1 << 40, 200_000).astype(np.uint64)
    grown, reserved = FeatureSet(), FeatureSet()
    reserved.reserve(200_000)
    first = np.zeros(keys.size, bool)
    first[np.unique(keys, return_index=True)[1]] = True
    room = reserved.nbytes
    assert np.array_equal(grown.add(keys), first)
    assert np.array_equal(reserved.add(keys), first)
    assert reserved.nbytes == room
    assert not grown.is_new(keys).any()


def test_threads_may_share_a_set() -> None:
    features = FeatureSet()
    keys = np.arange(50_000, dtype=np.uint64)
    threads = [threading.Thread(target=features.add, args=(keys,)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(features) == keys.size
    assert (features.counts(keys) == 4).all()


VALUES, LOW, BITS = np.zeros((2, 9), np.float32), np.zeros(9, np.float32), np.zeros(2, np.uint8)
READ_ONLY = np.zeros(2, np.uint8)
READ_ONLY.flags.writeable = False


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: _native.cover_sections(VALUES[0], LOW, LOW, 8, BITS), ValueError, "a row a sample"),
        (lambda: _native.cover_sections(VALUES.astype(int), LOW, LOW, 8, BITS), TypeError, "floating-point dtype"),
        (lambda: _native.cover_sections(VALUES, LOW[:3], LOW, 8, BITS), ValueError, r"low must have shape \(9,\)"),
        (lambda: _native.cover_sections(VALUES, LOW.astype(float), LOW, 8, BITS), TypeError, "of dtype float32"),
        (lambda: _native.cover_sections(VALUES, LOW, LOW, 0, BITS), ValueError, "sections must be in 1"),
        (lambda: _native.cover_sections(VALUES, LOW, LOW, 9, BITS), ValueError, r"covered must have shape \(9, 2\)"),
        (lambda: _native.cover_neurons(VALUES, 0.5, READ_ONLY), ValueError, "must be writeable"),
        (lambda: _native.cover_neurons(VALUES, np.nan, BITS), ValueError, "threshold must be a number"),
        (lambda: _native.cover_neurons(VALUES, 0.5, BITS.astype(bool)), TypeError, "of dtype uint8, got bool"),
        (lambda: _native.cover_neurons(VALUES, 0.5, np.zeros((2, 2), np.uint8)[:, 0]), ValueError, "row-major"),
        (lambda: _native.cover_top(VALUES, 10, BITS), ValueError, "k must be in 1 to 9, got 10"),
        (lambda: _native.top(VALUES, 0), ValueError, "k must be in 1 to 9, got 0"),
        (lambda: _native.ranks(VALUES, np.array([0, 9])), ValueError, "label 9 of row 1 is not one of 9 classes"),
        (lambda: _native.ranks(VALUES, np.array([0])), ValueError, r"labels must have shape \(2,\)"),
        (lambda: _native.class_scores(VALUES, np.array([0, 1]), k=0), ValueError, "k must be in 1 to 1000"),
        (lambda: _native.new_bits(BITS, BITS[:1]), ValueError, "one size, got 2 and 1 bytes"),
        (lambda: _native.merge_bits(READ_ONLY, BITS), ValueError, "must be writeable"),
        (lambda: FeatureSet().add(np.zeros(3, np.int64)), TypeError, "of dtype uint64, got int64"),
        (lambda: FeatureSet().add(np.zeros((3, 1), np.uint64)), ValueError, "one dimension"),
        (lambda: FeatureSet().reserve(-1), ValueError, "0 or more"),
        (lambda: FeatureSet().reserve(2**62), ValueError, "too large"),
    ],
)
def test_what_does_not_fit_is_refused(call: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        call()
