"""What makes a program a seed: ranges and samples of its inputs, and outputs that depend on them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import onnx_ir as ir

from irfuzz.campaign.corpus.seed_folder_maintenance import SeedCandidate
from irfuzz.errors import InvalidProgram, Unsupported, UsageError
from irfuzz.execute.quickest_installed_runtime import QuickRuntime
from irfuzz.execute.run_types import Value
from irfuzz.facts import Fact, TensorFact
from irfuzz.frontends.unknown_operator_refusal import nodes_in
from irfuzz.generate.input_planning import ModelInputPlan, annotate, plan_inputs
from irfuzz.generate.input_values import make_inputs
from irfuzz.ir.program import Program

SAMPLES = 4
"""How many samples of the inputs a seed has."""

TRIES = 8
"""So many other values of an input are tried before it counts as one that moves nothing."""

OPEN_SIZE = 2
"""What a size is in samples if the model leaves it open and every size will do."""


def examine(
    program: Program, *, max_bytes: int, ranges: Mapping[str, tuple[float, float]], seconds: float = 60.0
) -> SeedCandidate:
    """Look whether a program can be a seed.

    Args:
        program: it.
        max_bytes: of its serialised form.
        ranges: lowest and highest element by input; those of the others are what irfuzz draws.
        seconds: for one run.

    Raises:
        UsageError: a range is that of no input.
        InvalidProgram: it is too large, has no inputs, cannot be run, or an output does not move with them.
    """
    data = program.to_bytes()
    if len(data) > max_bytes:
        raise InvalidProgram(f"the model has {len(data)} bytes; a seed has at most {max_bytes}")
    values = [v for v in program.model.graph.inputs if v.name and v.name not in program.model.graph.initializers]
    facts = {v.name or "": _tensor(v.name or "", program.fact(v)) for v in values}
    if not facts:
        raise InvalidProgram("the model has no inputs, so its outputs are constants")
    for name in ranges:
        if name not in facts:
            raise UsageError(f"--range {name}: no such input; the model has {', '.join(facts)}")
    with QuickRuntime(seconds) as runtime:
        plan = plan_inputs(program, runtime=runtime)
        try:
            draws = _draws(program, plan, ranges, facts)
        except Unsupported as error:
            raise InvalidProgram(str(error)) from None
        _check_moves(program, draws, runtime)
    if plan.variants:
        program = program.clone()
        annotate(program, plan)
        data = program.to_bytes()
    samples = {name: np.stack([np.asarray(draw[name]) for draw in draws[:SAMPLES]]) for name in facts}
    for name, array in samples.items():
        if array.dtype == object:
            samples[name] = array.astype(np.str_)
    graph = program.to_proto().graph
    return SeedCandidate(
        model=data,
        digest=program.digest,
        nodes=len(graph.node),
        operators=tuple(sorted({node.op_type for node in nodes_in(graph.node)})),
        opset=program.opset,
        ir_version=program.model.ir_version,
        inputs=tuple(_input(name, fact, draws, ranges.get(name)) for name, fact in facts.items()),
        outputs=tuple(_value(v.name or "", program.fact(v)) for v in program.model.graph.outputs),
        samples=samples,
    )


def _draws(
    program: Program, plan: ModelInputPlan, ranges: Mapping[str, tuple[float, float]], facts: Mapping[str, TensorFact]
) -> list[dict[str, Value]]:
    """Inputs of one shape: the first that was found to fit."""
    copy = program.clone()
    annotate(copy, replace(plan, variants={name: rows[:1] for name, rows in plan.variants.items()}))
    names = (d for fact in facts.values() for d in fact.shape or () if isinstance(d, str))
    dims = {} if plan.variants else dict.fromkeys(names, OPEN_SIZE)
    return [make_inputs(copy, seed, ranges=ranges, dims=dims) for seed in range(TRIES)]


def _tensor(name: str, fact: Fact | None) -> TensorFact:
    if not isinstance(fact, TensorFact):
        raise InvalidProgram(f"input '{name}' is no tensor; seeds with other inputs are written by scripts")
    return fact


def _check_moves(program: Program, draws: list[dict[str, Value]], runtime: QuickRuntime) -> None:
    """Every input moves some output, and every output moves."""
    first = runtime(program, draws[0])
    if first.error:
        raise InvalidProgram(f"the model cannot be run ({first.error})")
    before = first.outputs
    still = set(before)
    for name in draws[0]:
        moves = False
        for other in draws[1:]:
            after = _run(runtime, program, {**draws[0], name: other[name]})
            moved = {out for out in before if not _equal(before[out], after[out])}
            still -= moved
            moves = moves or bool(moved)
            if not still or (moves and len(draws[0]) > 1):
                break
        if not moves:
            raise InvalidProgram(f"no output moves with input '{name}', whatever of {TRIES} values it has")
    if still:
        raise InvalidProgram(f"output '{min(still)}' is the same for all inputs that were tried")


def _run(runtime: QuickRuntime, program: Program, inputs: Mapping[str, Value]) -> Mapping[str, Value]:
    attempt = runtime(program, inputs)
    if attempt.error:
        raise InvalidProgram(f"the model does not run on all inputs that irfuzz draws ({attempt.error})")
    return attempt.outputs


def _equal(one: Value, other: Value) -> bool:
    """Sequences element by element; NaN is equal to itself."""
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(_equal, one, other))
    if one is None or other is None:
        return one is other
    a, b = np.asarray(one), np.asarray(other)
    if a.shape != b.shape:
        return False
    if a.dtype == object:
        return a.tolist() == b.tolist()
    return a.tobytes() == b.tobytes() or bool(np.array_equal(a, b))


def _value(name: str, fact: Fact | None) -> dict[str, Any]:
    if not isinstance(fact, TensorFact):
        return {"name": name, "dtype": "sequence" if fact is not None else "unknown", "shape": []}
    dtype = "string" if fact.dtype == ir.DataType.STRING else fact.dtype.numpy().name
    shape = [d if isinstance(d, int | str) else "" for d in fact.shape or ()]
    return {"name": name, "dtype": dtype, "shape": shape}


def _input(
    name: str, fact: TensorFact, draws: list[dict[str, Value]], given: tuple[float, float] | None
) -> dict[str, Any]:
    """With the range that was given, or of what irfuzz draws if nothing is known."""
    entry = _value(name, fact)
    if fact.dtype == ir.DataType.STRING:
        return entry
    if given is None:
        arrays = [np.asarray(draw[name]).astype(np.float64) for draw in draws]
        given = (min(float(a.min(initial=0)) for a in arrays), max(float(a.max(initial=0)) for a in arrays))
    low, high = given
    whole = fact.dtype.is_integer() or fact.dtype == ir.DataType.BOOL
    return {**entry, "low": int(low) if whole else low, "high": int(high) if whole else high}
