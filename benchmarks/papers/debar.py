"""DEBAR's first data set: its nine buggy architectures as TensorFlow code, and their mended twins.

Prints for each what is warned of, whether it is what table 1 counts, the seconds of the analysis, and with
``--witness`` which warnings an input confirms. Run
``python -m benchmarks.papers.debar [--witness] [--seconds 10] [--only NAME...]``.
Exit code 1 if a fault is missed or something else is warned of.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections import Counter

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")

from benchmarks.papers.debar_architectures import ARCHITECTURES, Architecture, converted
from irfuzz.analyze.failing_inputs.fault_gradient import Gradients
from irfuzz.analyze.failing_inputs.witness_search import WitnessSearch
from irfuzz.analyze.initial_ranges import Ranges
from irfuzz.analyze.numeric_range_analysis import Analysis, analyze
from irfuzz.execute.runner import Runner
from irfuzz.execute.target_table import resolve
from irfuzz.ir.program import Program


def analysed(architecture: Architecture, *, mended: bool) -> tuple[Program, Ranges, Analysis, float]:
    """The architecture's analysis, with the seconds that it took."""
    program = Program.from_bytes(converted(architecture, mended=mended))
    ranges = Ranges({name: ends for name, (_, ends) in architecture.inputs.items()}, architecture=True)
    began = time.perf_counter()
    found = analyze(program, ranges)
    return program, ranges, found, time.perf_counter() - began


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--witness", action="store_true", help="look for inputs that trigger the warnings")
    parser.add_argument("--seconds", type=float, default=10.0, help="for each witness")
    parser.add_argument("--only", nargs="+", metavar="NAME")
    args = parser.parse_args()
    wrong = confirmed = total = 0
    with Runner(resolve(["onnxruntime:disabled"])) as runner:
        for architecture in ARCHITECTURES:
            if args.only and architecture.name not in args.only:
                continue
            for mended in (False, True):
                program, ranges, found, seconds = analysed(architecture, mended=mended)
                warned = Counter(w.op for w in found.warnings)
                right = warned == ({} if mended else architecture.faults)
                wrong += not right
                told = ", ".join(f"{count} {op}" for op, count in sorted(warned.items())) or "nothing"
                name = f"{architecture.name}{'-mended' if mended else ''}"
                print(f"{name}: {len(program.nodes())} nodes, warned of {told}, {seconds:.2f} s", end="")
                print("" if right else f"; expected {'nothing' if mended else dict(architecture.faults)}", flush=True)
                if not args.witness or mended:
                    continue
                with Gradients(found.warnings) as gradients:
                    for warning in found.warnings:
                        began = time.monotonic()
                        witness = WitnessSearch(runner, 0, args.seconds, gradients).find(program, warning, ranges)
                        total, confirmed = total + 1, confirmed + (witness is not None)
                        how = "not confirmed" if witness is None else f"confirmed by a {witness.way}: {witness.shown}"
                        print(f"  {warning.op} {warning.output}: {how}, {time.monotonic() - began:.1f} s", flush=True)
    if total:
        print(f"{confirmed} of {total} warnings confirmed")
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
