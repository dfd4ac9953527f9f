"""The acceptance figures in full: validity, facts and determinism of mutants; tests/ hold a small sample of each.

Run ``python benchmarks/acceptance.py [--mutants 2000] [--traces 1000] [--seed 0] [--json FILE]``. Needs onnxruntime.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import onnx
import onnx.backend.test

from irfuzz.errors import InvalidProgram, Unsupported
from irfuzz.execute.run_types import Exit
from irfuzz.execute.runner import Runner
from irfuzz.execute.target_table import resolve
from irfuzz.facts import TensorFact
from irfuzz.frontends.isolated_onnx_calls import OnnxChecker
from irfuzz.frontends.onnx_file import find_models, load_seed
from irfuzz.generate.graph_inputs.seed_model_input_ranges import seed_ranges
from irfuzz.generate.input_values import make_inputs
from irfuzz.ir.evaluation.fact_check import contradiction
from irfuzz.ir.program import Program
from irfuzz.isolate import Limits
from irfuzz.mutate.mutation_trace import rebuild
from irfuzz.mutate.mutator_protocol import Relation
from irfuzz.mutate.traced_mutant_generation import TracedMutant, mutate_many
from irfuzz.shipped_folders import seeds_dir

LIGHT = Path(onnx.backend.test.__file__).parent / "data" / "light"


def seeds() -> list[tuple[str, Program]]:
    """The shipped seeds and onnx's ``light_*`` models."""
    files, problems = find_models([seeds_dir(), LIGHT])
    found: list[tuple[str, Program]] = []
    with OnnxChecker() as checker:
        for path in files:
            try:
                found.append((path.name, load_seed(path, checker=checker)))
            except InvalidProgram as error:
                problems.append(str(error))
    for problem in problems:
        print(f"left out: {problem}", file=sys.stderr)
    return found


def mutants(named: Sequence[tuple[str, Program]], count: int, seed: int) -> Iterator[TracedMutant]:
    """``count`` mutants in all, the shares of all seeds alike."""
    return mutate_many(named, seed=seed, n=count)


def with_inner_outputs(program: Program) -> Program:
    """The program with every inner tensor as an output."""
    probe = program.clone()
    for node in probe.nodes():
        for value in node.outputs:
            fact = probe.fact(value)
            if value.name and isinstance(fact, TensorFact) and fact.shape is not None:
                probe.add_output(value)
    return probe


def validity_and_facts(named: Sequence[tuple[str, Program]], count: int, seed: int) -> dict[str, Any]:
    """Checker, thrown edits, onnxruntime without optimisation, and every fact against what it gave."""
    counts: Counter[str] = Counter()
    applied, thrown = 0, 0
    problems: list[str] = []
    ranges = seed_ranges()
    (target,) = resolve(["onnxruntime:disabled"])
    with Runner([target], Limits(seconds=120, answer_bytes=8 << 30, memory_bytes=12 << 30)) as runner:
        for index, mutant in enumerate(mutants(named, count, seed)):
            applied += mutant.counts.applied.total()
            thrown += mutant.counts.thrown.total()
            counts["mutants"] += 1
            invalid = any(edit.relation is Relation.INVALID for edit in mutant.edits)
            try:
                onnx.checker.check_model(mutant.to_bytes(), full_check=True)
                counts["pass the full check"] += 1
            except Exception as error:  # noqa: BLE001 - the checker raises several kinds
                problems.append(f"{index} checker: {error}"[:300])
            inputs = make_inputs(mutant.program, index, ranges=ranges.get(mutant.seed.name))
            (plain,) = runner.run(mutant.program, inputs)
            if invalid:
                counts["declared invalid"] += 1
                continue
            counts["must run"] += 1
            if plain.exit is not Exit.OK:
                problems.append(f"{index} onnxruntime {plain.exit}: {plain.error}"[:300])
                continue
            counts["run"] += 1
            try:
                probe = with_inner_outputs(mutant.program)
                (result,) = runner.run(probe, inputs)
            except Unsupported as error:
                problems.append(f"{index} probe: {error}"[:300])
                continue
            if result.exit is not Exit.OK:
                counts["probes refused"] += 1
                problems.append(f"{index} probe {result.exit}: {result.error}"[:300])
                continue
            counts["fact mutants"] += 1
            for value in probe.graph.outputs:
                counts["facts"] += 1
                reason = contradiction(probe.fact(value), result.outputs[value.name or ""])
                if reason is not None:
                    counts["wrong facts"] += 1
                    problems.append(f"{index} {value.name}: {reason}"[:300])
    return {
        **counts,
        "wrong facts": counts["wrong facts"],
        "edits applied": applied,
        "edits thrown away": thrown,
        "thrown share": thrown / max(1, applied),
        "run share": counts["run"] / max(1, counts["must run"]),
        "problems": problems[:50],
    }


def digests(named: Sequence[tuple[str, Program]], count: int, seed: int) -> list[str]:
    """sha256 of every mutant."""
    return [hashlib.sha256(m.to_bytes()).hexdigest() for m in mutants(named, count, seed)]


def determinism(count: int, seed: int) -> dict[str, Any]:
    """The same mutants in two fresh processes with different hash seeds, and every trace replayed."""
    command = [sys.executable, __file__, "--digests", str(count), "--seed", str(seed)]
    outputs = [
        subprocess.run(command, capture_output=True, check=True, env={**os.environ, "PYTHONHASHSEED": str(n)}).stdout
        for n in (1, 2)
    ]
    named = seeds()
    by_digest = {program.digest: program for _, program in named}
    replayed = 0
    for mutant in mutants(named, count, seed):
        trace = json.loads(json.dumps(mutant.trace))
        replayed += rebuild(trace, by_digest.get) == mutant.to_bytes()
    return {"same in two processes": outputs[0] == outputs[1], "traces": count, "replayed": replayed}


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--mutants", type=int, default=2000)
    parser.add_argument("--traces", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--digests", type=int)
    args = parser.parse_args()
    if args.digests is not None:
        print("\n".join(digests(seeds(), args.digests, args.seed)))
        return
    start = time.monotonic()
    found = {
        "validity and facts": validity_and_facts(seeds(), args.mutants, args.seed),
        "determinism": determinism(args.traces, args.seed),
        "seed": args.seed,
    }
    found["seconds"] = round(time.monotonic() - start, 1)
    text = json.dumps(found, indent=1)
    print(text)
    if args.json:
        args.json.write_text(text + "\n")


if __name__ == "__main__":
    main()
