"""Generation from nothing: how fast, how varied and how valid programs of each topology are.

    python -m benchmarks.generation [free] [chain] [cell] [-n 500] [--nodes 10] [--seed 0] [--json FILE]

Counted are programs a second of processor time (NNSmith: 25 of 10 nodes), those that pass
``check_model(full_check=True)``, those that ONNXRuntime runs without optimisation with every fact as predicted, those
that their trace rebuilds byte for byte, whether another process makes the same, and how often operators occur.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import math
import statistics
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import onnx

from irfuzz.errors import IrfuzzError
from irfuzz.execute.intermediate_values import tap
from irfuzz.execute.run_types import Exit
from irfuzz.execute.runner import Runner
from irfuzz.execute.target_table import resolve
from irfuzz.generate.input_values import make_inputs
from irfuzz.generate.random_programs import Generated, generate, rebuild_generated
from irfuzz.ir.evaluation.fact_check import contradiction
from irfuzz.isolate import Limits

NNSMITH = 25


def made(topology: str, n: int, nodes: int, seed: int) -> tuple[list[Generated], str]:
    programs = list(generate(n=n, seed=seed, nodes=nodes, topology=topology))
    total = hashlib.sha256()
    for each in programs:
        total.update(each.to_bytes())
    return programs, total.hexdigest()


def measure(topology: str, n: int, nodes: int, seed: int) -> dict[str, Any]:
    list(generate(n=20, seed=seed + 1, nodes=nodes, topology=topology))  # specs are read, caches are warm
    began = time.process_time()
    programs = list(generate(n=n, seed=seed, nodes=nodes, topology=topology))
    seconds = time.process_time() - began
    again = subprocess.run(
        [sys.executable, __file__, topology, "-n", str(n), "--nodes", str(nodes), "--seed", str(seed), "--digest"],
        capture_output=True,
        text=True,
        check=True,
    )
    found: Counter[str] = Counter()
    operators: Counter[str] = Counter()
    problems: list[str] = []
    with Runner(resolve(["onnxruntime:disabled"]), Limits(seconds=60)) as runner:
        for index, each in enumerate(programs):
            operators.update(node.op_type for node in each.program.graph)
            try:
                found["rebuilt"] += rebuild_generated(each.trace) == each.to_bytes()
            except IrfuzzError as error:
                problems.append(f"{index}: replay: {error}")
            try:
                onnx.checker.check_model(each.model_proto, full_check=True)
                found["checked"] += 1
            except (onnx.checker.ValidationError, onnx.shape_inference.InferenceError) as error:
                problems.append(f"{index}: check_model: {str(error)[:200]}")
            probe = tap(each.program)
            result = runner.run(probe, make_inputs(probe, 1))[0]
            if result.exit is not Exit.OK:
                problems.append(f"{index}: {result.stage} {result.exit}: {result.error[:300]}")
                continue
            found["ran"] += 1
            wrong = [
                f"{index}: {v.name}: {text}"
                for v in probe.graph.outputs
                if (v.name or "") in result.outputs
                and (text := contradiction(probe.fact(v), result.outputs[v.name or ""])) is not None
            ]
            found["as predicted"] += not wrong
            problems += wrong
    shares = [count / operators.total() for count in operators.values()]
    return {
        "topology": topology,
        "programs": len(programs),
        "programs_a_second": round(len(programs) / seconds, 1),
        "nodes": statistics.mean(len(each.program.graph) for each in programs),
        **{name: found[name] / len(programs) for name in ("checked", "ran", "as predicted", "rebuilt")},
        "same_in_another_process": again.stdout.strip() == made(topology, n, nodes, seed)[1],
        "operators": len(operators),
        "entropy_bits": round(-sum(s * math.log2(s) for s in shares), 2),
        "commonest": operators.most_common(8),
        "problems": problems,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("topologies", nargs="*", choices=["free", "chain", "cell", []])
    parser.add_argument("-n", type=int, default=500)
    parser.add_argument("--nodes", type=int, default=10)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--digest", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.digest:
        print(made(options.topologies[0], options.n, options.nodes, options.seed)[1])
        return
    answers: list[dict[str, Any]] = []
    for topology in options.topologies or ("free", "chain", "cell"):
        answer = measure(topology, options.n, options.nodes, options.seed)
        answers.append(answer)
        print(f"{topology}: {answer['programs']} programs of {answer['nodes']:.1f} nodes")
        for what, value, target in (
            ("programs a second of processor time", answer["programs_a_second"], f"above NNSmith's {NNSMITH}"),
            ("pass check_model(full_check=True)", f"{answer['checked']:.2%}", "100%"),
            ("run on ONNXRuntime without optimisation", f"{answer['ran']:.2%}", "at least 99.5%"),
            ("of all, with every fact as predicted", f"{answer['as predicted']:.2%}", "99.5%"),
            ("rebuilt from their traces", f"{answer['rebuilt']:.2%}", "100%"),
            ("the same in another process", answer["same_in_another_process"], "True"),
            (
                "operators that occur; entropy in bits",
                f"{answer['operators']}; {answer['entropy_bits']}",
                "for comparison",
            ),
        ):
            print(f"  {what:<45} {value!s:>12}   ({target})")
        print(f"  commonest: {', '.join(f'{op} {count}' for op, count in answer['commonest'])}")
        for problem in answer["problems"]:
            print(f"  {problem}")
        sys.stdout.flush()
    if options.json:
        options.json.write_text(json.dumps(answers, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
