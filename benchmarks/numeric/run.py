"""The benchmark of numeric faults: recall, precision and witnesses of each abstraction, printed as a table.

``python -m benchmarks.numeric.run`` analyses every program and its mended twin in each domain; ``--witness`` also looks
for an input that triggers each true warning. A value that is warned of is right where it is among the program's faults.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from dataclasses import dataclass

from benchmarks.numeric.programs import PAIRS, Case
from irfuzz.analyze.failing_inputs.fault_gradient import Gradients
from irfuzz.analyze.failing_inputs.witness_search import WitnessSearch
from irfuzz.analyze.initial_ranges import Ranges
from irfuzz.analyze.numeric_range_analysis import DOMAINS, analyze
from irfuzz.execute.runner import Runner
from irfuzz.execute.target_table import resolve
from irfuzz.ir.program import Program


@dataclass
class Score:
    """Counts over all programs."""

    found: int = 0
    missed: int = 0
    false: int = 0
    safe: int = 0
    seconds: float = 0.0


def judge(case: Case, domain: str, score: Score, verbose: bool) -> set[str]:
    """Add a program's warnings to the score; what was warned of."""
    program = Program.from_proto(case.model())
    started = time.perf_counter()
    found = analyze(program, Ranges(case.ranges), domain=domain)
    score.seconds += time.perf_counter() - started
    warned = {w.output for w in found.warnings}
    score.found += len(warned & case.faults)
    score.missed += len(case.faults - warned)
    score.false += len(warned - case.faults)
    score.safe += sum(found.safe.values())
    if verbose and (case.faults - warned or warned - case.faults):
        print(f"  {domain} {case.name}: missed {sorted(case.faults - warned)}, false {sorted(warned - case.faults)}")
    return warned


def witnesses(seconds: float, verbose: bool) -> tuple[Counter[str], int]:
    """How many of the true warnings have a witness, by the way it was found, and how many there are."""
    confirmed: Counter[str] = Counter()
    total = 0
    with Runner(resolve(["onnxruntime:disabled"])) as runner:
        for pair in PAIRS:
            program, ranges = Program.from_proto(pair.faulty.model()), Ranges(pair.faulty.ranges)
            true = [w for w in analyze(program, ranges).warnings if w.output in pair.faulty.faults]
            total += len(true)
            with Gradients(true) as gradients:
                for warning in true:
                    witness = WitnessSearch(runner, 0, seconds, gradients).find(program, warning, ranges)
                    if witness is not None:
                        confirmed[witness.way] += 1
                    elif verbose:
                        print(f"  no witness: {pair.faulty.name}: {warning.op} {warning.output}")
    return confirmed, total


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--witness", action="store_true")
    parser.add_argument("--seconds", type=float, default=3.0, help="for each witness")
    parser.add_argument("-v", "--verbose", action="store_true")
    args = parser.parse_args()
    print(f"{len(PAIRS)} programs with {sum(len(p.faulty.faults) for p in PAIRS)} faults, and as many mended twins")
    print("domain      recall  precision  accuracy  seconds")
    ours = Score()
    for domain in DOMAINS:
        score = Score()
        for pair in PAIRS:
            judge(pair.faulty, domain, score, args.verbose)
            judge(pair.mended, domain, score, args.verbose)
        recall = score.found / (score.found + score.missed)
        precision = score.found / (score.found + score.false)
        accuracy = (score.found + score.safe) / (score.found + score.safe + score.false + score.missed)
        print(f"{domain:10} {recall:7.1%} {precision:10.1%} {accuracy:9.1%} {score.seconds:8.2f}")
        ours = score if domain == "irfuzz" else ours
    if args.witness:
        confirmed, total = witnesses(args.seconds, args.verbose)
        found = confirmed.total()
        ways = ", ".join(f"{count} by {way}" for way, count in confirmed.most_common())
        print(f"witnesses: {found} of {total} true warnings ({found / total:.1%}): {ways}")
    return int(bool(ours.missed or ours.false))


if __name__ == "__main__":
    sys.exit(main())
