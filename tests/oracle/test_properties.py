"""What holds for all runs: order does not matter, scale does not matter, agreement is silence."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from irfuzz.execute.run_types import Exit, RunResult, Stage, Target
from irfuzz.ir.program import Program
from irfuzz.oracle import judge, signature

pytestmark = pytest.mark.property

NAMES = (
    "reference",
    "onnxruntime:disabled",
    "onnxruntime:basic",
    "onnxruntime:extended",
    "onnxruntime:layout",
    "onnxruntime:all",
    "torch:eager",
    "plug",
)

BASE = np.array([[0.5, -0.25, 0.75], [1.0, 0.125, -0.5]], np.float32)

ANSWERS = (
    lambda y: y,
    lambda y: y + np.float32(1e-7),
    lambda y: y + np.float32(0.25),
    lambda y: y * np.float32(-1),
    lambda y: np.where(y == y.max(), np.float32(np.nan), y),
    lambda y: y.astype(np.float64),
    lambda y: y.reshape(3, 2),
)
ENDINGS = (Exit.REJECTED, Exit.UNSUPPORTED, Exit.CRASH, Exit.HANG, Exit.MEMORY, Exit.PROTOCOL)


def result(name: str, what: int, scale: float) -> RunResult:
    target = Target(name, name.partition(":")[0])
    if what < len(ANSWERS):
        return RunResult(target, Stage.RUN, Exit.OK, {"y": ANSWERS[what](BASE * np.float32(scale))}, seconds=0.01)
    return RunResult(target, Stage.RUN, ENDINGS[what - len(ANSWERS)], error=f"Error: number {what} at node 'n{what}'")


runs = st.lists(st.sampled_from(NAMES), min_size=2, max_size=7, unique=True).flatmap(
    lambda names: st.tuples(
        st.just(names),
        st.lists(st.integers(0, len(ANSWERS) + len(ENDINGS) - 1), min_size=len(names), max_size=len(names)),
    )
)


@settings(max_examples=150)
@given(runs, st.randoms(use_true_random=False))
def test_the_order_of_targets_does_not_change_the_verdicts(gemm: Program, fed_once, drawn, random):
    names, answers = drawn
    results = [result(n, w, 1.0) for n, w in zip(names, answers, strict=True)]
    first = judge(gemm, fed_once, results)
    random.shuffle(results)
    again = judge(gemm, fed_once, results)
    assert first == again
    assert [signature(v, gemm) for v in first] == [signature(v, gemm) for v in again]
    # One verdict for a symptom and a target at most.
    assert len({(v.symptom, v.target) for v in first}) == len(first)


@settings(max_examples=100)
@given(runs, st.integers(-30, 30))
def test_scaling_all_outputs_does_not_change_who_is_blamed(gemm: Program, fed_once, drawn, exponent):
    names, answers = drawn
    # Powers of two scale floats exactly; a fixed offset would not scale with them.
    answers = [0 if w in (1, 2) else w for w in answers]
    verdicts = []
    for scale in (1.0, 2.0**exponent):
        # Without fed numbers the floor has nothing but the outputs to go by.
        results = [result(n, w, scale) for n, w in zip(names, answers, strict=True)]
        verdicts.append([(v.symptom, v.target, v.suspect, v.witnesses) for v in judge(gemm, fed_once, results)])
    assert verdicts[0] == verdicts[1]


@settings(max_examples=100)
@given(
    st.lists(st.sampled_from(NAMES), min_size=1, max_size=8, unique=True),
    st.lists(st.floats(width=32, allow_nan=True, allow_infinity=True), min_size=6, max_size=6),
)
def test_equal_results_never_give_a_verdict(gemm: Program, fed_once, names, numbers):
    y = np.array(numbers, np.float32).reshape(2, 3)
    results = [RunResult(Target(n, n.partition(":")[0]), Stage.RUN, Exit.OK, {"y": y.copy()}) for n in names]
    assert judge(gemm, fed_once, results) == []


@settings(max_examples=100)
@given(
    st.lists(st.sampled_from(NAMES), min_size=2, max_size=8, unique=True),
    st.lists(st.floats(0.25, 4.0, width=32), min_size=6, max_size=6),
    st.integers(0, 2**32),
)
def test_rounding_noise_never_gives_a_verdict(gemm: Program, fed_once, names, numbers, seed):
    y = np.array(numbers, np.float32).reshape(2, 3)
    noise = np.random.default_rng(seed)
    results = []
    for name in names:
        near = (y * (1 + noise.uniform(-8, 8, y.shape) * 2.0**-24)).astype(np.float32)
        results.append(RunResult(Target(name, name.partition(":")[0]), Stage.RUN, Exit.OK, {"y": near}))
    assert judge(gemm, fed_once, results) == []


@settings(max_examples=60)
@given(st.permutations(NAMES), st.integers(0, 7), st.integers(1, 3))
def test_a_finding_always_has_two_independent_witnesses(gemm: Program, fed_once, names, wrong, count):
    results = [result(n, 2 if i < wrong else 0, 1.0) for i, n in enumerate(names[: 4 + count])]
    for verdict in judge(gemm, fed_once, results):
        if not verdict.suspect:
            assert len({w.partition(":")[0] for w in verdict.witnesses}) >= 2
            assert verdict.target not in verdict.witnesses


@pytest.fixture(scope="module")
def fed_once() -> dict[str, np.ndarray]:
    return {"x": np.full((2, 4), 2.0**-40, np.float32), "w": np.full((4, 3), 2.0**-40, np.float32)}
