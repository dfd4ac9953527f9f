"""Counts results of random calls, of every operator that the analysis follows, outside of what it promised.

``python -m benchmarks.soundness -n 1000000 --seed 0`` checks that many result elements, spread over the operators, of
float, half, double and integer calls on ONNXRuntime without optimisation (the reference evaluator where that has no
kernel). A result is outside where a number lies beyond its range, or where a NaN or an infinity was neither in the
range nor reported. Exit code 1 where any is.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import onnx
import onnx_ir as ir
import onnxruntime
from onnx.reference import ReferenceEvaluator

from irfuzz.analyze.abstract_domain.number_formats import format_of
from irfuzz.analyze.initial_ranges import Ranges
from irfuzz.analyze.numeric_range_analysis import analyze
from irfuzz.analyze.transfer_functions.transfer_table import TRANSFER
from irfuzz.choices import Choices
from irfuzz.errors import InvalidProgram
from irfuzz.facts import TensorFact
from irfuzz.ir.program import Program
from irfuzz.spec import SampledInput, Specs, load_specs, sample_call
from tests.spec.onenode import model_of

INTERVALS = (
    *((-1.0, 1.0), (0.0, 1.0), (-1000.0, 1000.0), (1e-6, 1.0), (0.0, 0.0), (-88.0, 200.0), (1.0, 2.0), (-3.0, -0.5)),
    *((-1e30, 1e30), (0.0, 1e38), (-1e-30, 1e-30), (5.0, 5.0), (-20.0, 20.0), (999.9, 1000.2), (0.09, 0.11)),
)
RANDOM = {"Multinomial", "RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike", "Bernoulli"}
BITS = {k for k in ir.DataType if k.name.startswith(("FLOAT8", "FLOAT4", "BFLOAT16", "INT4", "UINT4", "INT2", "UINT2"))}
DRAWS = 4


@dataclass
class Count:
    """What was checked.

    Attributes:
        elements: result elements by operator.
        outside: those beyond their range, with an example for each.
    """

    elements: Counter[str] = field(default_factory=Counter)
    outside: list[str] = field(default_factory=list)


def check_operator(specs: Specs, op: str, opset: int, seed: int, count: Count) -> None:
    """Check one drawn call of an operator on several draws of its inputs."""
    spec = specs.get(op, opset)
    if spec is None or not spec.is_sampled:
        return
    call = sample_call(spec, {}, Choices.from_seed(f"{op} {seed}"), max_elements=256)
    if call is None:
        return
    rng = np.random.default_rng((seed, len(op), *op.encode()))
    model = model_of(spec, call, opset, rng)
    plans = {f"x{i}": p for i, p in enumerate(call.inputs) if p is not None}
    free = [v.name for v in model.graph.input]
    defaults = {t.name: t for t in model.graph.initializer}
    for name in free:
        model.graph.initializer.remove(defaults[name])
    try:
        described = _described(model)
    except InvalidProgram:  # a Constant without a value has no inputs to draw
        return
    try:
        session = onnxruntime.InferenceSession(described.SerializeToString(), _options())
        run = lambda feeds: session.run(None, feeds)  # noqa: E731
    except Exception:  # noqa: BLE001 - no kernel
        evaluator = ReferenceEvaluator(model)
        run = lambda feeds: evaluator.run(None, feeds)  # noqa: E731
    given = {name: _interval(plans[name], rng) for name in free}
    program = Program.from_proto(described)
    bounded = {n: r for n, r in given.items() if r is not None}
    found = analyze(program, Ranges(bounded))
    faulty = {w.output for w in (*found.warnings, *found.unjudged)}
    # What the answers have instead of float8 and its like are their bits.
    unread = {v.name for v in described.graph.output if ir.DataType(v.type.tensor_type.elem_type) in BITS}
    for _ in range(DRAWS):
        feeds = {name: _draw(plans[name], given[name], rng) for name in free}
        try:
            with warnings.catch_warnings(), np.errstate(all="ignore"):
                warnings.simplefilter("ignore")
                results = run(feeds)
        except Exception:  # noqa: BLE001 - refused inputs say nothing about ranges
            continue
        for value, array in zip(model.graph.output, results, strict=True):
            _compare(op, opset, value.name, array, found, faulty, unread, f"seed {seed}: {call.attrs} {bounded}", count)


def _described(model: onnx.ModelProto) -> onnx.ModelProto:
    """With the outputs' types, which onnxruntime wants."""
    made = onnx.ModelProto()
    made.CopyFrom(model)
    program = Program.from_proto(model)
    for value in made.graph.output:
        fact = program.fact(program.value(value.name))
        if isinstance(fact, TensorFact):
            sizes = None if fact.shape is None else list(fact.shape)
            value.CopyFrom(onnx.helper.make_tensor_value_info(value.name, int(fact.dtype), sizes))
    return made


def _options() -> Any:
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads = 1
    options.log_severity_level = 4
    return options


def _interval(plan: SampledInput, rng: np.random.Generator) -> tuple[float, float] | None:
    kind = plan.fact.dtype
    if kind in (ir.DataType.STRING, ir.DataType.BOOL) or plan.outer is not None:
        return None
    if kind.is_floating_point():
        low, high = (-1.0, 1.0) if kind in BITS else INTERVALS[int(rng.integers(len(INTERVALS)))]
        edge = format_of(kind).biggest
        low, high = max(low, -edge), min(high, edge)
        if plan.low is not None:
            low = max(low, plan.low)
        if plan.high is not None:
            high = min(high, plan.high)
        if low > high:
            low = high = plan.low if plan.low is not None else plan.high  # type: ignore[assignment]
        dtype = kind.numpy()
        return float(np.asarray(low).astype(dtype)), float(np.asarray(high).astype(dtype))
    edge = format_of(kind)
    low = max(-3.0, edge.lowest) if plan.low is None else plan.low
    high = min(float(rng.integers(1, 100)), edge.biggest) if plan.high is None else plan.high
    return float(int(low)), float(int(high))


def _draw(plan: SampledInput, bounds: tuple[float, float] | None, rng: np.random.Generator) -> np.ndarray:
    shape = plan.fact.static_shape
    assert shape is not None
    if bounds is None:
        if plan.fact.dtype == ir.DataType.STRING:
            return rng.choice(np.array(["", "a", "bc"], dtype=object), size=shape).reshape(shape)
        return np.asarray(rng.random(shape) < 0.5)
    low, high = bounds
    dtype = plan.fact.dtype.numpy()
    if not plan.fact.dtype.is_floating_point():
        return np.asarray(rng.integers(int(low), int(high), size=shape, endpoint=True)).astype(dtype)
    mode = rng.random()
    share = rng.random(shape)
    if mode < 0.25:
        share = np.round(share)
    elif mode < 0.35:
        share = np.zeros(shape) if mode < 0.3 else np.ones(shape)
    elif mode < 0.45:
        share = np.full(shape, rng.random())
    array = low + (high - low) * share
    if low <= 0 <= high and mode > 0.9:
        array = np.where(rng.random(shape) < 0.3, 0.0, array)
    return np.clip(np.asarray(array), low, high).astype(dtype)


def _compare(
    op: str, opset: int, name: str, array: Any, found: Any, faulty: set[str], unread: set[str], where: str, count: Count
) -> None:
    if not isinstance(array, np.ndarray) or array.dtype == object or array.dtype.kind in "OSUc" or not array.size:
        return
    if name in unread:
        return
    bounds = found.ranges[name]
    wide = array.astype(np.float64)
    count.elements[op] += array.size
    odd = ~np.isfinite(wide)
    if odd.any() and not (faulty or bounds.nan or bounds.low == -np.inf or bounds.high == np.inf):
        count.outside.append(f"{op}-{opset} {name}: {wide[odd][0]} in {bounds}; {where}")
        return
    numbers = wide[~odd]
    if faulty:  # the ranges hold where the fault that was warned of does not occur
        return
    if numbers.size and (numbers.min() < bounds.low or numbers.max() > bounds.high):
        count.outside.append(f"{op}-{opset} {name}: {numbers.min()!r}..{numbers.max()!r} in {bounds}; {where}")
    elif bounds.nonzero and bool((numbers == 0).any()):
        count.outside.append(f"{op}-{opset} {name}: 0 in {bounds}; {where}")


def run(target: int, seed: int, ops: list[str] | None = None) -> Count:
    """Check until ``target`` elements were, operator by operator in turn."""
    specs = load_specs()
    count = Count()
    names = sorted(set(ops or TRANSFER) - RANDOM)
    turn = 0
    while sum(count.elements.values()) < target:
        for op in names:
            if count.elements[op] > 2 * target / len(names):
                continue
            opset = (17, 13, 11, 20, 22, 23)[turn % 6]
            check_operator(specs, op, opset, seed * 1_000_003 + turn, count)
        turn += 1
        if turn > 100_000:
            break
    return count


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("-n", type=int, default=100_000, help="result elements to check")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--ops", nargs="*", default=None)
    args = parser.parse_args()
    count = run(args.n, args.seed, args.ops)
    for line in count.outside[:40]:
        print(line)
    print(f"{sum(count.elements.values())} elements of {len(count.elements)} operators, {len(count.outside)} outside")
    return 1 if count.outside else 0


if __name__ == "__main__":
    sys.exit(main())
