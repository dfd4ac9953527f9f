"""Looks for the bugs of the papers, and prints what irfuzz finds, what it blames, and how long it takes.

``python -m benchmarks.papers`` runs ``irfuzz.check`` for every planted one: the target with the fault beside ONNX's
reference evaluator, ONNXRuntime and PyTorch. A bug counts as found if the target is blamed, and as blamed if the first
node that is named is one of the operator that has the fault. ``--paper NAME`` takes one paper, ``--list`` runs nothing.
Exit code 1 if fewer than 60% of those that are described are found and blamed.
"""

from __future__ import annotations

import argparse
import sys
import time
from dataclasses import dataclass

import onnx_ir as ir

import irfuzz
from benchmarks.papers.bugs import Bug, bugs
from irfuzz.execute.runner import Runner
from irfuzz.execute.target_table import resolve
from irfuzz.ir.program import Program
from irfuzz.localize.check_result import CheckResult
from irfuzz.oracle import judge

BESIDE = ("reference", "onnxruntime:disabled", "torch:eager")
CHECKING = ("onnxruntime:disabled", "reference")
"""Those that look at what a call says, beside a target that does not; kernels of frameworks are never told of it."""
SHARE = 0.6


@dataclass(frozen=True, slots=True)
class Found:
    """What irfuzz says of one bug.

    Attributes:
        told: the faulty target is blamed.
        right: the operator that has the fault is named first.
        says: in one line.
        seconds: wall time.
    """

    told: bool
    right: bool
    says: str
    seconds: float


def look_for(bug: Bug) -> Found:
    """Check the program of a planted bug on its target and three others."""
    started = time.perf_counter()
    if bug.invalid:
        return _missing_check(bug, started)
    checked = irfuzz.check(bug.model(), targets=[*BESIDE, bug.target], inputs=bug.arrays())
    seconds = time.perf_counter() - started
    report = checked.report
    against = [d for d in report.divergences if bug.target in d.targets and d.counts]
    told = bool(against)
    named = _named(report, bug.target)
    what = against[0].what if against else "nothing"
    right = told and bool(named) and {*named.split()} <= {*bug.blame}  # several nodes may be named together
    return Found(told, right, f"{named or '-'}: {what}", seconds)


def _missing_check(bug: Bug, started: float) -> Found:
    """Break a rule of the program's operator, and ask the oracle of leniency who should have refused it."""
    program = Program.from_proto(bug.model())
    node = next(n for n in program.graph if n.op_type in bug.blame)
    for name, numbers in bug.invalid.items():
        node.attributes[name] = ir.AttrInt64s(name, numbers)
    inputs = bug.arrays()
    with Runner(resolve([*CHECKING, bug.target])) as runner:
        results = runner.run(program, inputs)
    against = [v for v in judge(program, inputs, results, expected_invalid=True) if v.target == bug.target]
    sure = [v for v in against if not v.suspect]
    says = "; ".join(f"{v.operator}: {v.rule}" + (f" ({v.doubt})" if v.doubt else "") for v in against) or "nothing"
    right = bool(sure) and sure[0].operator in bug.blame
    return Found(told=bool(sure), right=right, says=says, seconds=time.perf_counter() - started)


def _named(report: CheckResult, target: str) -> str:
    """The operator of the first node that is faulty alone on a target; of the map's first one if there is none."""
    for located in report.located:
        if located.target != target:
            continue
        faulty = [replayed for replayed in located.replayed if replayed.faulty]
        if faulty:
            return faulty[0].op
        if located.map is not None and located.map.ranked:
            return located.map.ranked[0].op
    return ""


def main() -> int:
    """Entry point."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.papers", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--paper", default="", help="Only the bugs of this paper.")
    parser.add_argument("--only", default="", metavar="FAULT", help="Only the bugs that are planted as this fault.")
    parser.add_argument("--list", action="store_true", help="Print the list and run nothing.")
    args = parser.parse_args()
    listed = [bug for bug in bugs(args.paper) if args.only in ("", bug.fault)]
    of = sum(bug.way != "not described" for bug in listed)
    counts = {"found": 0, "blamed": 0}
    print("| bug | library | operator | symptom | planted as | found | blamed | s | irfuzz says |")
    print("|---|---|---|---|---|---|---|---|---|")
    for bug in listed:
        row = f"| {bug.name} | {bug.library} | {bug.operator} | {bug.symptom} | {bug.fault or bug.way}"
        if bug.way != "planted" or args.list:
            print(f"{row} | | | | {bug.reason or (bug.again and f'found again: {bug.again}')} |")
            continue
        found = look_for(bug)
        counts["found"] += found.told
        counts["blamed"] += found.told and found.right
        marks = " | ".join("yes" if mark else "no" for mark in (found.told, found.right))
        print(f"{row} | {marks} | {found.seconds:.1f} | {found.says[:160]} |", flush=True)
    if args.list:
        return 0
    share = f"{counts['blamed'] / max(of, 1):.0%}"
    print(
        f"\n{of} bugs are described: {counts['found']} found, {counts['blamed']} blamed on the right operator ({share})"
    )
    return 0 if counts["blamed"] >= SHARE * of else 1


if __name__ == "__main__":
    sys.exit(main())
