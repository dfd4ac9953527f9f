"""How fast mutants of seeds are made, and how many are valid, run and replay, as text and JSON.

``speed`` measures one mutation of 30-node programs (mutants of the seeds with 28 to 32 nodes): clone, choice, edit,
inference and verification, without serialization. ``validity`` makes mutants of the shipped seeds and of ONNX's
``light_*`` models and counts those that pass ``check_model(full_check=True)``, replay byte for byte, are the same in
another process, and run on ONNXRuntime without optimisation with every fact as predicted; and it tells of each mutator
how often it was applied, how often it was skipped, and why.

Run ``python benchmarks/mutation.py speed [-n 2000] [--json FILE]`` or
``... validity [-n 2000] [--shipped] [--mutators NAMES] [--json FILE]``.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import statistics
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import onnx
import onnx.backend.test

from irfuzz.choices import Choices
from irfuzz.errors import IrfuzzError
from irfuzz.execute.intermediate_values import tap
from irfuzz.execute.run_types import Exit
from irfuzz.execute.runner import Runner
from irfuzz.execute.target_table import resolve
from irfuzz.facts import OpaqueFact
from irfuzz.garbage_collection import settle
from irfuzz.generate.input_values import make_inputs
from irfuzz.ir.evaluation.fact_check import contradiction
from irfuzz.ir.program import Program
from irfuzz.isolate import Limits
from irfuzz.mutate.feature_counts import FeatureCounts
from irfuzz.mutate.mutation_engine import AttemptCounts, Engine
from irfuzz.mutate.mutation_trace import parse_trace, rebuild
from irfuzz.mutate.mutator_protocol import Relation
from irfuzz.mutate.traced_mutant_generation import mutate_many
from irfuzz.shipped_folders import seeds_dir
from irfuzz.spec import load_specs

LIGHT = Path(onnx.backend.test.__file__).parent / "data" / "light"
NODES = range(28, 33)
TAPPED_ELEMENTS = 1 << 25
"""Inner values of one mutant are compared up to this many elements in all: a worker answers with at most 1 GiB."""


def named(light: bool) -> list[tuple[str, Program]]:
    """The shipped seeds, and ONNX's light models if wanted."""
    paths = sorted(seeds_dir().glob("*.onnx"))
    if light:
        paths += sorted(LIGHT.glob("light_*.onnx"))
    return [(path.name, Program.from_bytes(path.read_bytes())) for path in paths]


def milliseconds(call: Callable[[], object], repeats: int = 200) -> float:
    """Median wall time of a call."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return round(1e3 * statistics.median(times), 4)


def speed(n: int) -> dict[str, Any]:
    """Medians in milliseconds."""
    programs = [m.program for m in mutate_many(named(light=False), seed=1, n=400) if len(m.program.nodes()) in NODES][
        :40
    ]
    seen = FeatureCounts()
    for program in programs:
        seen.add_program(program)
    engine = Engine(load_specs(), seen=seen)
    for seed in range(200):
        engine.mutate(programs[seed % len(programs)], Choices.from_seed(f"warm{seed}"))
    settle()  # as campaigns and `irfuzz mutate` do
    wall: list[float] = []
    cpu: list[float] = []
    by: dict[str, list[float]] = {}
    for seed in range(n):
        program, choices = programs[seed % len(programs)], Choices.from_seed(seed)
        start, used = time.perf_counter(), time.process_time()
        mutant = engine.mutate(program, choices)
        wall.append(1e3 * (time.perf_counter() - start))
        cpu.append(1e3 * (time.process_time() - used))
        if mutant is not None:
            by.setdefault(mutant.edits[-1].mutator, []).append(cpu[-1])
    program = programs[0]
    return {
        "programs": len(programs),
        "mutations": n,
        "nodes": f"{NODES.start} to {NODES.stop - 1}",
        "mutation_ms_median": round(statistics.median(wall), 3),
        "mutation_ms_p90": round(statistics.quantiles(wall, n=10)[-1], 3),
        "mutation_cpu_ms_median": round(statistics.median(cpu), 3),
        "mutation_cpu_ms_mean": round(statistics.mean(cpu), 3),
        "cpu_ms_median_by_mutator": {name: round(statistics.median(t), 3) for name, t in sorted(by.items())},
        "clone_ms_median": milliseconds(program.clone),
        "seen_add_program_ms_median": milliseconds(lambda: seen.add_program(program)),
        "to_bytes_ms_median": milliseconds(program.to_bytes),
    }


def bytes_digest(n: int, seed: int, light: bool, mutators: list[str] | None) -> str:
    """SHA-256 over the bytes of all mutants in order."""
    total = hashlib.sha256()
    for mutant in mutate_many(named(light), seed=seed, n=n, mutators=mutators):
        total.update(mutant.to_bytes())
    return total.hexdigest()


def validity(n: int, seed: int, light: bool, mutators: list[str] | None = None) -> dict[str, Any]:
    """Counts over ``n`` mutants."""
    models = named(light)
    by_digest = {program.digest: program for _, program in models}
    found: Counter[str] = Counter()
    counts = AttemptCounts()
    executed: Counter[str] = Counter()
    problems: list[str] = []
    total = hashlib.sha256()
    with Runner(resolve(["onnxruntime:disabled"]), Limits(seconds=60)) as runner:
        for index, mutant in enumerate(mutate_many(models, seed=seed, n=n, mutators=mutators)):
            data = mutant.to_bytes()
            total.update(data)
            counts.add(mutant.counts)
            found["mutants"] += 1
            invalid = any(edit.relation is Relation.INVALID for edit in mutant.edits)
            found["declared invalid"] += invalid
            what = f"mutant {index} of {mutant.seed.name} ({', '.join(e.mutator for e in mutant.edits)})"
            try:
                again = rebuild(parse_trace(json.loads(json.dumps(mutant.trace))), by_digest.get)
                found["replayed"] += again == data
            except IrfuzzError as error:
                problems.append(f"{what}: replay: {error}")
            if invalid:
                continue
            try:
                onnx.checker.check_model(onnx.load_from_string(data), full_check=True)
                found["checked"] += 1
            except onnx.checker.ValidationError as error:
                problems.append(f"{what}: check_model: {str(error)[:200]}")
            except onnx.shape_inference.InferenceError as error:
                problems.append(f"{what}: check_model: {str(error)[:200]}")
            _run(runner, mutant.program, what, found, executed, problems)
    chosen = [*([] if light else ["--shipped"]), *([] if mutators is None else ["--mutators", ",".join(mutators)])]
    again = subprocess.run(
        [sys.executable, __file__, "digest", "-n", str(n), "--seed", str(seed), *chosen],
        capture_output=True,
        text=True,
        check=True,
    )
    return {
        **found,
        "applied": counts.applied.total(),
        "thrown": counts.thrown.total(),
        "same_in_another_process": again.stdout.strip() == total.hexdigest(),
        "operators": len(executed),
        "operators_in_20_or_more": sum(count >= 20 for count in executed.values()),
        "seldom": {op: count for op, count in sorted(executed.items()) if count < 20},
        "by_mutator": by_mutator(counts),
        "thrown_because": {f"{name}: {why}": count for (name, why), count in counts.thrown.most_common(20)},
        "problems": problems,
    }


def by_mutator(counts: AttemptCounts) -> dict[str, dict[str, Any]]:
    """For each mutator what became of its attempts, and the commonest reasons for a skip."""
    skipped: dict[str, Counter[str]] = {name: Counter() for name in counts.applied}
    for (name, why), count in counts.skipped.items():
        skipped.setdefault(name, Counter())[why] += count
    thrown = Counter[str]()
    for (name, _), count in counts.thrown.items():
        thrown[name] += count
    table: dict[str, dict[str, Any]] = {}
    for name in sorted(skipped, key=lambda name: (-counts.applied[name], name)):
        tried = counts.applied[name] + skipped[name].total() + thrown[name]
        table[name] = {
            "applied": counts.applied[name],
            "skipped": skipped[name].total(),
            "thrown": thrown[name],
            "skipped_share": round(skipped[name].total() / tried, 3),
            "skipped_because": dict(skipped[name].most_common(4)),
        }
    return table


def _run(
    runner: Runner, program: Program, what: str, found: Counter[str], executed: Counter[str], problems: list[str]
) -> None:
    """Run with every inner tensor as an output and compare facts: types, sizes, known elements, ranges."""
    probe = tap(program, elements=TAPPED_ELEMENTS)
    result = runner.run(probe, make_inputs(probe, 1))[0]
    if result.exit is not Exit.OK:
        problems.append(f"{what}: {result.stage} {result.exit}: {result.error[:300]}")
        return
    found["ran"] += 1
    executed.update({node.op_type for node in program.graph.all_nodes() if node.domain in ("", "ai.onnx")})
    for value in probe.graph.outputs:
        name = value.name or ""
        if name not in result.outputs or isinstance(probe.fact(value), OpaqueFact):
            continue
        found["facts"] += 1
        wrong = contradiction(probe.fact(value), result.outputs[name])
        if wrong is not None:
            found["wrong facts"] += 1
            node = value.producer()
            problems.append(f"{what}: {name} ({'input' if node is None else node.op_type}): {wrong}")


def main() -> None:
    """Parse arguments, measure, print, and write JSON if wanted."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=("speed", "validity", "digest"))
    parser.add_argument("-n", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--shipped", action="store_true", help="without the light models")
    parser.add_argument("--mutators", help="only these, separated by commas")
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    mutators = given.mutators.split(",") if given.mutators else None
    if given.what == "digest":
        print(bytes_digest(given.n, given.seed, not given.shipped, mutators))
        return
    answer = speed(given.n) if given.what == "speed" else validity(given.n, given.seed, not given.shipped, mutators)
    print(json.dumps(answer, indent=1))
    if given.json:
        given.json.write_text(json.dumps(answer, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
