"""In how many executed mutants of the seeds each operator is, as text and JSON.

``python benchmarks/operators.py [-n 2000] [--seed 0] [--json FILE]`` makes mutants of the shipped seeds, runs them on
ONNXRuntime without optimisation and counts, for each operator of opset 17, the mutants that hold it and ran. The goal
is at least 140 operators each in at least 20 of 10,000 mutants (2 in 1,000).
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from pathlib import Path
from typing import Any

import onnx.defs

from irfuzz.execute.run_types import Exit
from irfuzz.execute.runner import Runner
from irfuzz.execute.target_table import resolve
from irfuzz.generate.input_values import make_inputs
from irfuzz.ir.program import Program
from irfuzz.isolate import Limits
from irfuzz.mutate.mutator_protocol import Relation
from irfuzz.mutate.traced_mutant_generation import mutate_many
from irfuzz.shipped_folders import seeds_dir

OPSET = 17
RATE = 20 / 10_000
"""Share of the mutants that an operator is to be in."""


def reach(n: int, seed: int) -> dict[str, Any]:
    """How many operators reach ``RATE``, which do not, and what did not run."""
    seeds = [(p.name, Program.from_bytes(p.read_bytes())) for p in sorted(seeds_dir().glob("*.onnx"))]
    known = {
        s.name for s in onnx.defs.get_all_schemas_with_history() if s.domain == "" and onnx.defs.has(s.name, OPSET)
    }
    known = {op for op in known if not onnx.defs.get_schema(op, OPSET).deprecated}
    ran: Counter[str] = Counter()
    made: Counter[str] = Counter()
    failed: list[str] = []
    with Runner(resolve(["onnxruntime:disabled"]), Limits(seconds=60)) as runner:
        for index, mutant in enumerate(mutate_many(seeds, seed=seed, n=n)):
            if any(edit.relation is Relation.INVALID for edit in mutant.edits):
                continue
            operators = {x.op_type for x in mutant.program.graph.all_nodes() if x.domain in ("", "ai.onnx")}
            made.update(operators)
            result = runner.run(mutant.program, make_inputs(mutant.program, 1))[0]
            if result.exit is Exit.OK:
                ran.update(operators)
            else:
                failed.append(
                    f"mutant {index} of {mutant.seed.name}: {result.stage} {result.exit}: {result.error[:200]}"
                )
    least = RATE * n
    return {
        "mutants": n,
        "seeds": len(seeds),
        "ran_share": round(1 - len(failed) / n, 4),
        "operators": len(known),
        "reached": sum(ran[op] >= least for op in known),
        "rare": {op: ran[op] for op in sorted(known) if 0 < ran[op] < least},
        "never": sorted(op for op in known if not ran[op]),
        "of_other_opsets": sorted(op for op in ran if op not in known),
        "median": sorted(ran[op] for op in known)[len(known) // 2],
        "failed": failed,
    }


def main() -> None:
    """Parse arguments, count, print, and write JSON if wanted."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("-n", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    answer = reach(given.n, given.seed)
    print(json.dumps(answer, indent=1))
    if given.json:
        given.json.write_text(json.dumps(answer, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
