"""Figures on sampled calls of seeds: how many were found, and how many load and run on ONNXRuntime.

Usage: ``python -m tests.spec.stress [--per-op N] [--opset V] [OP...]`` from the repository's root.
"""

from __future__ import annotations

import argparse
import collections
import time
import zlib
from dataclasses import dataclass, field

import numpy as np
import onnx_ir as ir

from irfuzz.choices import Choices
from irfuzz.facts import TensorFact
from irfuzz.spec import OpSpec, Specs, load_specs, sample_call
from tests.spec.onenode import OrtWorker, model_of

USUAL = [ir.DataType.FLOAT] * 6 + [ir.DataType.DOUBLE, ir.DataType.FLOAT16, ir.DataType.INT64, ir.DataType.INT32]
USUAL += [ir.DataType.BOOL, ir.DataType.UINT8, ir.DataType.INT8]


@dataclass
class Figures:
    """Counts of one operator."""

    asked: int = 0
    made: int = 0
    ran: int = 0
    empty: int = 0
    seconds: float = 0.0
    failures: list[str] = field(default_factory=list)


def random_fact(choices: Choices, spec: OpSpec) -> TensorFact:
    """A fact as it stands in real programs: mostly an element type that the operator takes, rank 0 to 5."""
    formal = spec.inputs[0]
    patterns = spec.overlay.patterns.get(formal.name, ()) if spec.overlay else ()
    ranks = [r for r in range(6) if not patterns or any(p.fits(r) for _, p in patterns)] or [0]
    rank = choices.weighted(ranks, [(1, 2, 4, 5, 6, 1)[r] for r in ranks])
    shape = tuple(choices.weighted((1, 2, 3, 4, 5, 6, 8, 12), (3, 3, 2, 3, 1, 2, 2, 1)) for _ in range(rank))
    allowed = [d for d in spec.portable.get(formal.type_str, formal.dtypes) if d in USUAL] or sorted(formal.dtypes)
    dtype = choices.pick([d for d in USUAL if d in allowed] or allowed)
    return TensorFact(dtype, shape)


def takes_any(spec: OpSpec) -> bool:
    """The first input is there and its elements are not prescribed."""
    if not spec.inputs or spec.overlay is None:
        return False
    domain = spec.overlay.values.get(spec.inputs[0].name)
    return domain is None or not domain.exact


def stress(worker: OrtWorker, spec: OpSpec, opset: int, count: int, salt: str = "") -> Figures:
    """Sample ``count`` calls of an operator and run those that were made."""
    f = Figures()
    key = zlib.crc32(f"{spec.op} {spec.since} {salt}".encode())
    for seed in range(count):
        choices = Choices.from_seed(f"{key} {seed}")
        given = {0: random_fact(choices, spec)} if seed % 8 and takes_any(spec) else {}
        started = time.perf_counter()
        call = sample_call(spec, given, choices)
        f.seconds += time.perf_counter() - started
        f.asked += 1
        if call is None:
            continue
        f.made += 1
        model = model_of(spec, call, opset, np.random.default_rng(seed))
        answer = worker.run(model.SerializeToString())
        if answer["stage"] == "done":
            f.ran += 1
            f.empty += any(s is not None and 0 in s for s in answer["shapes"])
        else:
            shapes = [None if p is None else (p.fact.dtype.name, p.fact.shape, p.fact.value) for p in call.inputs]
            f.failures.append(f"{spec.op}-{spec.since} {seed}: {answer['error'][:400]}\n    {call.attrs} {shapes}")
    return f


def targets(specs: Specs, opset: int) -> list[tuple[OpSpec, int]]:
    """Operators at ``opset``, those that came later at the opset they came with, and those that are gone by then."""
    out = [(s, opset) for s in specs.overlaid(opset)]
    known = {s.op for s, _ in out}
    for newer in [*range(opset + 1, 27), *range(opset - 1, 6, -1)]:
        for s in specs.overlaid(newer):
            if s.op not in known:
                known.add(s.op)
                out.append((s, newer))
    return out


def main() -> None:
    """Print figures by operator and in all."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("ops", nargs="*")
    parser.add_argument("--per-op", type=int, default=60)
    parser.add_argument("--opset", type=int, default=17)
    parser.add_argument("--salt", default="")
    parser.add_argument("--show", type=int, default=2)
    a = parser.parse_args()
    total = collections.Counter()
    with OrtWorker() as worker:
        for spec, opset in targets(load_specs(), a.opset):
            if a.ops and spec.op not in a.ops:
                continue
            f = stress(worker, spec, opset, a.per_op, a.salt)
            total.update(asked=f.asked, made=f.made, ran=f.ran, empty=f.empty)
            total["us"] += int(f.seconds * 1e6)
            speed = f.seconds / f.asked * 1e6
            print(
                f"{spec.op:22} {spec.since:3} made {f.made:4}/{f.asked} ran {f.ran:4} empty {f.empty:3} {speed:6.0f} us"
            )
            for text in f.failures[: a.show]:
                print("   ", text)
    print(
        dict(total),
        f"ran {total['ran'] / max(1, total['made']):.4%}, {total['us'] / max(1, total['asked']):.0f} us a sample",
    )


if __name__ == "__main__":
    main()
