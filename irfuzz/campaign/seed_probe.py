"""A program enters, what makes it a seed leaves: ranges and samples of its inputs, and outputs that depend on them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import onnx_ir as ir

from irfuzz.campaign.seed_folder import Candidate
from irfuzz.errors import InvalidProgram, Unsupported, UsageError
from irfuzz.execute.runner import Runner
from irfuzz.execute.table import resolve
from irfuzz.execute.types import Exit, Target, Value
from irfuzz.facts import Fact, TensorFact
from irfuzz.frontends.operators import nodes_in
from irfuzz.generate.inputs import make_inputs
from irfuzz.ir.program import Program
from irfuzz.isolate import Limits

SAMPLES = 4
"""How many samples of the inputs a seed has."""

TRIES = 8
"""So many other values of an input are tried before it counts as one that moves nothing."""

OPEN_SIZE = 2
"""What a size that the model leaves open is in samples."""

PREFERRED = ("onnxruntime:disabled", "reference")
"""What runs the model: the first of these that can."""


def examine(
    program: Program, *, max_bytes: int, ranges: Mapping[str, tuple[float, float]], seconds: float = 60.0
) -> Candidate:
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
    dims = {d: OPEN_SIZE for fact in facts.values() for d in fact.shape or () if isinstance(d, str)}
    try:
        draws = [make_inputs(program, seed, ranges=ranges, dims=dims) for seed in range(TRIES)]
    except Unsupported as error:
        raise InvalidProgram(str(error)) from None
    _check_moves(program, draws, seconds)
    samples = {name: np.stack([np.asarray(draw[name]) for draw in draws[:SAMPLES]]) for name in facts}
    for name, array in samples.items():
        if array.dtype == object:
            samples[name] = array.astype(np.str_)
    graph = program.to_proto().graph
    return Candidate(
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


def _tensor(name: str, fact: Fact | None) -> TensorFact:
    if not isinstance(fact, TensorFact):
        raise InvalidProgram(f"input '{name}' is no tensor; seeds with other inputs are written by scripts")
    return fact


def _check_moves(program: Program, draws: list[dict[str, Value]], seconds: float) -> None:
    """Every input moves some output, and every output moves."""
    limits = Limits(seconds=seconds)
    with Runner([_target(program, draws[0], limits)], limits) as runner:
        before = _run(runner, program, draws[0])
        still = set(before)
        for name in draws[0]:
            moves = False
            for other in draws[1:]:
                after = _run(runner, program, {**draws[0], name: other[name]})
                moved = {out for out in before if not _equal(before[out], after[out])}
                still -= moved
                moves = moves or bool(moved)
                if not still or (moves and len(draws[0]) > 1):
                    break
            if not moves:
                raise InvalidProgram(f"no output moves with input '{name}', whatever of {TRIES} values it has")
        if still:
            raise InvalidProgram(f"output '{min(still)}' is the same for all inputs that were tried")


def _target(program: Program, inputs: Mapping[str, Value], limits: Limits) -> Target:
    """The first of the preferred targets that runs the program."""
    reasons: list[str] = []
    for name in PREFERRED:
        try:
            (target,) = resolve([name])
            with Runner([target], limits) as runner:
                (result,) = runner.run(program, inputs)
        except UsageError as error:
            reasons.append(f"{name}: {error}")
            continue
        if result.exit == Exit.OK:
            return target
        reasons.append(f"{name}: {result.exit}, {result.error}")
    raise InvalidProgram(f"the model cannot be run ({'; '.join(reasons)})")


def _run(runner: Runner, program: Program, inputs: Mapping[str, Value]) -> Mapping[str, Value]:
    (result,) = runner.run(program, inputs)
    if result.exit != Exit.OK:
        raise InvalidProgram(f"the model does not run on all inputs that irfuzz draws ({result.exit}: {result.error})")
    return result.outputs


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
    """With the range that was given, or of what irfuzz draws where nothing is known."""
    entry = _value(name, fact)
    if fact.dtype == ir.DataType.STRING:
        return entry
    if given is None:
        arrays = [np.asarray(draw[name]).astype(np.float64) for draw in draws]
        given = (min(float(a.min(initial=0)) for a in arrays), max(float(a.max(initial=0)) for a in arrays))
    low, high = given
    whole = fact.dtype.is_integer() or fact.dtype == ir.DataType.BOOL
    return {**entry, "low": int(low) if whole else low, "high": int(high) if whole else high}
