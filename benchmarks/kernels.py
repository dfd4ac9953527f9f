"""What the native kernels cost beside NumPy, numba, torch, usearch and hnswlib: ratios of medians measured in turn.

    python -m benchmarks.kernels [distances] [sections] [bits] [features] [novelty] [small] [--large] [--rounds N]

One thread is pinned to one core; what is compared runs alternately, since the bandwidth of a shared machine changes
from second to second. ``numba``, ``torch``, ``usearch`` and ``hnswlib`` are left out where they are not installed.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np

from irfuzz import _native

Times = dict[str, float]


def in_turn(rounds: int, runs: dict[str, Callable[[], object]]) -> Times:
    """Median seconds of each, after one run for nothing."""
    seconds: dict[str, list[float]] = {name: [] for name in runs}
    for lap in range(rounds + 1):
        for name, run in runs.items():
            start = time.perf_counter()
            run()
            if lap:
                seconds[name].append(time.perf_counter() - start)
    return {name: statistics.median(values) for name, values in seconds.items()}


def say(what: str, value: float, target: str, unit: str = "x") -> None:
    print(f"  {what:<58} {value:10.2f}{unit}   ({target})", flush=True)


def numpy_naive(a: np.ndarray, b: np.ndarray) -> tuple[Any, ...]:
    """The base statistics as one writes them down."""
    apart = np.abs(a.astype(np.float64) - b)
    return (
        apart.sum(), apart.max(), apart.argmax(), a.min(), a.max(), b.min(), b.max(),
        np.isnan(a).sum(), np.isnan(b).sum(), np.isposinf(a).sum(), np.isposinf(b).sum(), np.isneginf(a).sum(),
        np.isneginf(b).sum(), (np.isfinite(a) != np.isfinite(b)).sum(), (apart > 1e-6 + 1e-3 * np.abs(b)).sum(),
    )  # fmt: skip


def numpy_preallocated(a: np.ndarray, b: np.ndarray) -> Callable[[], object]:
    """The same without a new array for every step."""
    apart, limit = np.empty(a.shape), np.empty(a.shape)
    flags, others = np.empty(a.shape, bool), np.empty(a.shape, bool)

    def run() -> tuple[Any, ...]:
        np.subtract(a, b, out=apart, dtype=np.float64)
        np.abs(apart, out=apart)
        np.abs(b, out=limit)
        np.multiply(limit, 1e-3, out=limit)
        np.add(limit, 1e-6, out=limit)
        counts = [np.count_nonzero(np.greater(apart, limit, out=flags))]
        for test in (np.isnan, np.isposinf, np.isneginf):
            counts += [np.count_nonzero(test(side, out=flags)) for side in (a, b)]
        np.not_equal(np.isfinite(a, out=flags), np.isfinite(b, out=others), out=flags)
        return (apart.sum(), apart.max(), apart.argmax(), a.min(), a.max(), b.min(), b.max(), counts, flags.sum())

    return run


def with_numba(a: np.ndarray, b: np.ndarray) -> Callable[[], object] | None:
    try:
        import numba
    except ImportError:
        return None

    @numba.njit
    def run(a: np.ndarray, b: np.ndarray) -> tuple[Any, ...]:
        total, top, place = 0.0, -1.0, -1
        low_a = low_b = np.inf
        high_a = high_b = -np.inf
        nans_a = nans_b = infinite_a = infinite_b = differ = beyond = 0
        for i in range(a.size):
            x, y = np.float64(a[i]), np.float64(b[i])
            nans_a += np.isnan(x)
            nans_b += np.isnan(y)
            infinite_a += np.isinf(x)
            infinite_b += np.isinf(y)
            if np.isfinite(x) and np.isfinite(y):
                apart = abs(x - y)
                total += apart
                if apart > top:
                    top, place = apart, i
                beyond += apart > 1e-6 + 1e-3 * abs(y)
                low_a, high_a = min(low_a, x), max(high_a, x)
                low_b, high_b = min(low_b, y), max(high_b, y)
            else:
                differ += not (x == y or (np.isnan(x) and np.isnan(y)))
        return total, top, place, low_a, high_a, low_b, high_b, nans_a, nans_b, infinite_a, infinite_b, differ, beyond

    return lambda: run(a, b)


def with_torch(a: np.ndarray, b: np.ndarray) -> dict[str, Callable[[], object]]:
    try:
        import torch
    except ImportError:
        return {}
    torch.set_num_threads(1)

    def statistics_of(x: Any, y: Any) -> tuple[Any, ...]:
        apart = (x.double() - y.double()).abs()
        return (
            apart.sum(), apart.max(), apart.argmax(), x.min(), x.max(), y.min(), y.max(),
            x.isnan().sum(), y.isnan().sum(), x.isposinf().sum(), y.isposinf().sum(), x.isneginf().sum(),
            y.isneginf().sum(), (x.isfinite() != y.isfinite()).sum(), (apart > 1e-6 + 1e-3 * y.abs()).sum(),
        )  # fmt: skip

    x, y = torch.from_numpy(a), torch.from_numpy(b)
    compiled = torch.compile(statistics_of)
    return {"torch eager": lambda: statistics_of(x, y), "torch compiled": lambda: compiled(x, y)}


def pair(size: int, dtype: Any = np.float32) -> tuple[np.ndarray, np.ndarray]:
    a = np.random.default_rng(0).standard_normal(size, np.float32)
    return a.astype(dtype), (a * np.float32(1.001)).astype(dtype)


def halves(run: Callable[[np.ndarray, np.ndarray], object], a: np.ndarray, b: np.ndarray) -> None:
    middle = a.size // 2
    threads = [threading.Thread(target=run, args=(a[part], b[part])) for part in (slice(middle), slice(middle, None))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def distances(rounds: int, size: int) -> None:
    a, b = pair(size)
    bits_a, bits_b = a.view(np.uint8), a.copy().view(np.uint8)

    def base(x: np.ndarray = a, y: np.ndarray = b, **options: Any) -> object:
        return _native.distances([x], [y], atol=1e-6, rtol=1e-3, **options)

    cores = sorted(os.sched_getaffinity(0))
    os.sched_setaffinity(0, cores[:1])
    runs: dict[str, Callable[[], object]] = {"read": lambda: _native.new_bits(bits_b, bits_a), "base": base}
    others = {"numpy": lambda: numpy_naive(a, b), "numpy, preallocated": numpy_preallocated(a, b)}
    numba = with_numba(a, b)
    others |= ({"numba": numba} if numba else {}) | with_torch(a, b)
    print(f"distances of {size:,} float32, one thread, {_native.instruction_set()}")
    t = in_turn(4 * rounds, runs)
    print(f"  read {2 * a.nbytes / t['read'] / 1e9:.1f} GB/s, kernel {2 * a.nbytes / t['base'] / 1e9:.1f} GB/s")
    say("share of the read bandwidth, one thread", t["read"] / t["base"], "at least 0.85", "")
    targets = {"numpy": "at least 30x", "numpy, preallocated": "at least 15x", "numba": "at least 8x"}
    slow = in_turn(max(rounds // 3, 1), {"base": base, **others})
    for name in others:
        say(f"faster than {name}", slow[name] / slow["base"], targets.get(name, "more than 1x"))

    spotted = a.copy()
    spotted[np.random.default_rng(1).integers(0, size, size // 1000)] = np.nan
    runs = {"base": base}
    for name in ("ulp", "relative", "cosine"):
        runs[name] = lambda name=name: base(**{name: True})
    runs["all three"] = lambda: base(ulp=True, relative=True, cosine=True)
    runs["NaN"] = lambda: base(spotted)
    for dtype in (np.float16, ml_dtypes.bfloat16):
        halves_of = pair(size, dtype)
        runs[np.dtype(dtype).name] = lambda x=halves_of: base(*x)
    t = in_turn(2 * rounds, runs)
    for name in ("ulp", "relative", "cosine", "all three"):
        say(f"time with {name}, beside the base statistics", t[name] / t["base"], "at most 1.6x")
    say("time with one NaN in a thousand", t["NaN"] / t["base"], "at most 1.5x")
    for name in ("float16", "bfloat16"):
        say(f"elements a second of {name}, beside float32", t["base"] / t[name], "at least 1.1x")

    os.sched_setaffinity(0, cores)
    if len(cores) > 1:
        t = in_turn(
            2 * rounds,
            {"read": lambda: halves(_native.new_bits, bits_b, bits_a), "base": lambda: base(threads=2)},
        )
        say("share of the read bandwidth, two threads", t["read"] / t["base"], "at least 0.85", "")


def small(rounds: int) -> None:
    print("calls on small arrays (the least of many, since a busy machine interrupts)")
    a, b = pair(4)
    first, second = [a], [b]
    none = np.empty(0, np.float32)
    nothing = [none]
    for name, run in (
        ("difference of no", lambda: _native.difference(none, none)),
        ("difference of 4", lambda: _native.difference(a, b)),
        ("distances of no", lambda: _native.distances(nothing, nothing)),
        ("distances of 4", lambda: _native.distances(first, second)),
    ):
        least = float("inf")
        for _ in range(200 * rounds):
            start = time.perf_counter_ns()
            for _ in range(100):
                run()
            least = min(least, (time.perf_counter_ns() - start) / 100)
        say(f"{name} numbers, with 30 ns of this loop", least, "at most 200 ns plus its work", " ns")


def sections(rounds: int) -> None:
    neurons, parts = 1_000_000, 1000
    rng = np.random.default_rng(0)
    low, high = np.full(neurons, -3, np.float32), np.full(neurons, 3, np.float32)
    covered = np.zeros((neurons, parts // 8), np.uint8)
    flags = np.zeros((neurons, parts), bool)
    rows = np.arange(neurons)
    print(f"k-multisection of {neurons:,} neurons in {parts:,} sections, one thread")
    for batch, target in ((1, "at least 3.5x"), (16, "at least 10x")):
        values = np.clip(rng.standard_normal((batch, neurons), np.float32), -2.9, 2.9)

        def numpy_way(values: np.ndarray = values) -> None:
            scale = parts / (high.astype(float) - low)
            for sample in values:
                section = np.minimum(((sample - low) * scale).astype(np.int64), parts - 1)
                flags[rows, section] = True

        runs = {"numpy": numpy_way, "native": lambda v=values: _native.cover_sections(v, low, high, parts, covered)}
        t = in_turn(rounds, runs)
        say(f"batch {batch}, {t['native'] * 1e3:.1f} ms, faster than numpy", t["numpy"] / t["native"], target)
    say("memory beside numpy's flags", covered.nbytes / flags.nbytes, "an eighth", "")


def bits(rounds: int) -> None:
    print("bits that are new in a map, one thread; one byte in a thousand holds any")
    rng = np.random.default_rng(0)
    for size in (1 << 16, 1 << 20, 1 << 24):
        seen = rng.integers(0, 256, size, np.uint8)
        found = seen & rng.integers(0, 256, size, np.uint8)
        found[rng.integers(0, size, size // 1000)] = 255
        words = seen.view(np.uint64), found.view(np.uint64)
        buffer = np.empty_like(words[0])

        def numpy_way(words: tuple[np.ndarray, ...] = words, buffer: np.ndarray = buffer) -> int:
            np.bitwise_not(words[0], out=buffer)
            np.bitwise_and(buffer, words[1], out=buffer)
            return int(np.bitwise_count(buffer).sum())

        runs = {"numpy": numpy_way, "native": lambda s=seen, f=found: _native.new_bits(s, f)}
        t = in_turn(50 * rounds if size < 1 << 24 else 4 * rounds, runs)
        say(f"{size >> 10} KiB, faster than numpy", t["numpy"] / t["native"], "at least 2.5x")


def last_cache() -> int:
    """Bytes of the largest cache, as Linux tells; 0 where it does not."""
    sizes = Path("/sys/devices/system/cpu/cpu0/cache").glob("index*/size")
    return max((int(path.read_text().strip().removesuffix("K")) << 10 for path in sizes), default=0)


def features(rounds: int) -> None:
    count = 4_000_000
    rng = np.random.default_rng(0)
    keys = rng.integers(1, 1 << 63, count).astype(np.uint64)
    known = set(keys.tolist())
    native = _native.FeatureSet()
    native.add(keys)
    half = np.concatenate([keys[: count // 40], rng.integers(1, 1 << 63, count // 40).astype(np.uint64)])
    rng.shuffle(half)
    asked = half.tolist()
    sweep = np.zeros(max(64 << 20, 2 * last_cache()), np.uint8)

    def cold(run: Callable[[], object]) -> float:
        sweep[::64] += 1  # nothing of the tables stays in the caches
        start = time.perf_counter()
        run()
        return time.perf_counter() - start

    seconds: dict[str, list[float]] = {"set": [], "native": []}
    for _ in range(rounds):
        seconds["set"].append(cold(lambda: [key not in known for key in asked]))
        seconds["native"].append(cold(lambda: native.is_new(half)))
    t = {name: statistics.median(values) for name, values in seconds.items()}
    print(f"is-new of {len(asked):,} features among {count:,}, cold")
    say(
        f"{t['native'] / len(asked) * 1e9:.1f} ns each, faster than a Python set",
        t["set"] / t["native"],
        "at least 12x",
    )


def novelty(rounds: int) -> None:
    size, dimensions, asked = 100_000, 128, 1024
    rng = np.random.default_rng(0)
    corpus = rng.standard_normal((size, dimensions), np.float32)
    batches = [rng.standard_normal((asked, dimensions), np.float32) for _ in range(rounds + 1)]
    print(f"novelty: queries and adds a second at {size:,} x {dimensions}")
    for threads in (1, 2):
        index = _native.Novelty(dimensions)
        index.add(corpus)
        rates = []
        for batch in batches:
            start = time.perf_counter()
            index.add_novel(batch, 11.5, threads=threads)
            rates.append(asked / (time.perf_counter() - start))
        say(f"native, exact, {threads} thread(s)", statistics.median(rates[1:]), "at least 6,000 on two", "/s")
    exact = _native.Novelty(dimensions)
    exact.add(corpus)
    true, _ = exact.nearest(batches[0], threads=2)
    try:
        import usearch.index
    except ImportError:
        pass
    else:
        graph = usearch.index.Index(ndim=dimensions, metric="l2sq", dtype="f32")
        start = time.perf_counter()
        graph.add(np.arange(size // 5), corpus[: size // 5], threads=2)
        built = size // 5 / (time.perf_counter() - start)
        compare_graph(
            "usearch", built, lambda q: graph.search(q, 1, threads=2).distances[:, 0], exact, corpus, batches[0]
        )
    try:
        import hnswlib
    except ImportError:
        pass
    else:
        other = hnswlib.Index(space="l2", dim=dimensions)
        other.init_index(max_elements=size)
        start = time.perf_counter()
        other.add_items(corpus[: size // 5], num_threads=2)
        built = size // 5 / (time.perf_counter() - start)
        compare_graph(
            "hnswlib", built, lambda q: other.knn_query(q, 1, num_threads=2)[1][:, 0], exact, corpus, batches[0]
        )
    print(f"  (the mean distance to the nearest of all is {true.mean():.2f})")


def compare_graph(
    name: str, built: float, search: Callable[[np.ndarray], Any], exact: Any, corpus: np.ndarray, batch: np.ndarray
) -> None:
    """A graph over a fifth of the corpus only, since building all of it takes a minute."""
    few = _native.Novelty(corpus.shape[1])
    few.add(corpus[: len(corpus) // 5])
    start = time.perf_counter()
    found = np.sqrt(np.asarray(search(batch), np.float64))
    queried = len(batch) / (time.perf_counter() - start)
    right = np.isclose(found, few.nearest(batch, threads=2)[0], rtol=1e-5).mean()
    both = 1 / (1 / built + 1 / queried)
    say(f"{name}, a fifth of the corpus, 2 threads, {right:.0%} of the nearest found", both, "for comparison", "/s")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    names = ["distances", "sections", "bits", "features", "novelty", "small"]
    parser.add_argument("parts", nargs="*", choices=[*names, []], help="all, unless some are named")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--large", action="store_true", help="distances of 6.4e7 elements as well")
    options = parser.parse_args()
    print(f"Python {sys.version.split()[0]}, NumPy {np.__version__}, load {os.getloadavg()[0]:.1f}")
    for part in options.parts or names:
        if part == "distances":
            for size in (10_000_000, 64_000_000) if options.large else (10_000_000,):
                distances(options.rounds, size)
        else:
            {"sections": sections, "bits": bits, "features": features, "novelty": novelty, "small": small}[part](
                options.rounds
            )


if __name__ == "__main__":
    main()
