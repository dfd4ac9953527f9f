"""The 63 programs of GRIST (ESEC/FSE 2021) from a checkout: their defects, what else is warned of, and mended twins.

Nothing of their code is kept here: the command names a checkout of github.com/Jacob-yen/GRIST. Each program is run up
to its first step (``grist_capture.py``); its graph is analysed as an architecture, inputs being in the ranges of what
the program feeds. Where its defect is, GRIST's own objective says (``grist_defects.py``). A warning elsewhere is true
if an input of these ranges triggers it. A twin is the same graph with the operands of all defects and true warnings
limited to their domain; what is warned of there and not confirmed counts as false.

Run ``python -m benchmarks.papers.grist CHECKOUT [--work FOLDER] [--seconds 10] [--only ID...] [--json FILE]``. Exit
code 1 if a defect is missed or a twin has a false warning.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

import numpy as np
import onnx
from onnx import helper, numpy_helper

from benchmarks.papers.grist_defects import fails, located
from irfuzz.analyze.failing_inputs.fault_gradient import Gradients
from irfuzz.analyze.failing_inputs.witness_search import WitnessSearch
from irfuzz.analyze.initial_ranges import Ranges
from irfuzz.analyze.numeric_range_analysis import Alarm, Analysis, analyze
from irfuzz.execute.runner import Runner
from irfuzz.execute.target_table import resolve
from irfuzz.ir.program import Program

LISTED = re.compile(r'"(ID_\d+/[^"]+\.py)"')
LIMIT = {"Exp": ("Min", 80.0), "Log": ("Max", 1e-6), "Sqrt": ("Max", 1e-12)}
"""How an operand is limited in a twin."""

LONGEST = 200
"""Seconds that a program has to come to its first step."""

ROUNDS = 4
"""Times that a twin is mended: behind one fault the next may show."""


@dataclass
class Row:
    """What is said of a program.

    Attributes:
        program: its path in the data set.
        why: why there is no graph; empty if there is one.
        nodes: of the graph.
        defects: the calls at fault, ``Op output``, by GRIST's objective.
        harmless: calls that read the operand of the objective, but stay finite wherever that is.
        missed: defects without a warning.
        warned: all warnings.
        confirmed: warnings with a witness.
        twin: warnings in the mended twin that nothing confirms.
        mended: whether a twin could be made.
        seconds: of the analysis.
        witness_seconds: of each search for a witness.
    """

    program: str
    why: str = ""
    nodes: int = 0
    defects: list[str] = field(default_factory=list)
    harmless: list[str] = field(default_factory=list)
    missed: list[str] = field(default_factory=list)
    warned: list[str] = field(default_factory=list)
    confirmed: list[str] = field(default_factory=list)
    twin: list[str] = field(default_factory=list)
    mended: bool = False
    seconds: float = 0.0
    witness_seconds: list[float] = field(default_factory=list)


def programs_of(checkout: Path) -> list[str]:
    """The entry files, as the data set lists them."""
    return LISTED.findall((checkout / "scripts" / "utils" / "run_all.py").read_text())


def captured(checkout: Path, program: str, work: Path) -> tuple[Path, str]:
    """The program's graph as ONNX, captured unless it is there already, and why there is none."""
    out = work / (program.replace("/", "__").removesuffix(".py") + ".onnx")
    path = checkout / "scripts" / "study_case" / program
    if out.with_suffix(".json").exists():
        return out, ""
    command = [sys.executable, "-m", "benchmarks.papers.grist_capture", str(checkout), str(path), str(out)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=LONGEST, check=False)
    except subprocess.TimeoutExpired:
        return out, f"it did not come to its first step within {LONGEST} s"
    if done.returncode:
        lines = [line for line in (done.stdout + done.stderr).splitlines() if line.strip()] or ["no reason given"]
        return out, lines[-1][:200]
    return out, ""


def key(alarm: Alarm) -> str:
    return f"{alarm.op} {alarm.output}"


class Judge:
    """Analyses graphs and looks for witnesses."""

    def __init__(self, runner: Runner, seconds: float) -> None:
        self.runner, self._seconds = runner, seconds

    def analysed(self, model: onnx.ModelProto, ranges: Ranges) -> tuple[Program, Analysis]:
        program = Program.from_proto(model)
        return program, analyze(program, ranges)

    def confirmed(self, program: Program, found: Analysis, ranges: Ranges, row: Row) -> list[Alarm]:
        """The warnings that a witness confirms."""
        true: list[Alarm] = []
        with Gradients(found.warnings) as gradients:
            search = WitnessSearch(self.runner, 0, self._seconds, gradients)
            for alarm in found.warnings:
                began = time.monotonic()
                if search.find(program, alarm, ranges) is not None:
                    true.append(alarm)
                row.witness_seconds.append(round(time.monotonic() - began, 2))
        return true


def mended(model: onnx.ModelProto, alarms: Sequence[Alarm]) -> onnx.ModelProto | None:
    """The model with the operands that decide limited; ``None`` if one is of no single operand."""
    twin = onnx.ModelProto()
    twin.CopyFrom(model)
    for number, alarm in enumerate(alarms):
        place = next((i for i, n in enumerate(twin.graph.node) if alarm.output in n.output), None)
        if place is None or alarm.fault.operand is None:
            return None
        node = twin.graph.node[place]
        old, index = node.input[alarm.fault.operand], alarm.fault.operand
        op, limit = LIMIT.get(node.op_type, ("Where", 1e-6))
        constant, new = f"mended_{number}_{place}", f"mended_{number}_{place}_operand"
        array = np.array(limit, np.float32)
        twin.graph.initializer.append(numpy_helper.from_array(array, constant))
        if op != "Where":
            made = [helper.make_node(op, [old, constant], [new])]
        elif alarm.fault.range.low >= 0:
            made = [helper.make_node("Max", [old, constant], [new])]
        else:
            made = [
                helper.make_node("Abs", [old], [f"{new}_size"]),
                helper.make_node("Less", [f"{new}_size", constant], [f"{new}_near"]),
                helper.make_node("Where", [f"{new}_near", constant, old], [new]),
            ]
        node.input[index] = new
        for offset, extra in enumerate(made):
            twin.graph.node.insert(place + offset, extra)
    return twin


def judged(judge: Judge, row: Row, path: Path) -> None:
    """Fill in what is said of a captured program, and of its twin."""
    about = json.loads(path.with_suffix(".json").read_text())
    model = onnx.load_model(path)
    ranges = Ranges({n: (low, high) for n, (low, high) in about["ranges"].items()}, architecture=True)
    began = time.perf_counter()
    program, found = judge.analysed(model, ranges)
    row.seconds = round(time.perf_counter() - began, 3)
    row.nodes = len(program.nodes())
    row.warned = [key(a) for a in found.warnings]
    operand, calls = located(model, about["steered"], row.warned)
    shows = bool(calls) and fails(judge.runner, model, operand, calls, ranges.given)
    row.defects, row.harmless = (calls, []) if shows else ([], calls)
    row.missed = [d for d in row.defects if d not in row.warned]
    true = judge.confirmed(program, found, ranges, row)
    row.confirmed = [key(a) for a in true]
    twin: onnx.ModelProto | None = model
    wrong = [a for a in found.warnings if a in true or key(a) in row.defects]
    for _ in range(ROUNDS):
        twin = mended(twin, wrong)
        if twin is None:
            return
        program, found = judge.analysed(twin, ranges)
        wrong = judge.confirmed(program, found, ranges, Row(row.program))
        if not wrong:
            break
    row.mended = True
    row.twin = [key(a) for a in found.warnings if a not in wrong]


def told(row: Row) -> str:
    """A program on one line."""
    if row.why:
        return f"{row.program}: no graph: {row.why}"
    missed = f", MISSED {', '.join(row.missed)}" if row.missed else ""
    where = ", ".join(row.defects) or ("not located" if not row.harmless else f"none at {', '.join(row.harmless)}")
    twin = f", FALSE in the twin {', '.join(row.twin)}" if row.twin else "" if row.mended else ", no twin"
    return (
        f"{row.program}: {row.nodes} nodes, defects {where}{missed}; warned of "
        f"{', '.join(row.warned) or 'nothing'}; {len(row.confirmed)} of {len(row.warned)} confirmed{twin}"
    )


def summary(rows: Sequence[Row], seconds: float) -> str:
    """What all programs come to."""
    graphs = [r for r in rows if not r.why]
    defects, missed = sum(len(r.defects) for r in graphs), sum(len(r.missed) for r in graphs)
    warned, confirmed = sum(len(r.warned) for r in graphs), sum(len(r.confirmed) for r in graphs)
    return (
        f"{len(graphs)} of {len(rows)} programs give a graph; in {sum(bool(r.defects) for r in graphs)} the defect is "
        f"located, in {sum(bool(r.harmless) for r in graphs)} the calls that read what is steered stay finite; "
        f"{defects - missed} of {defects} calls at fault are warned of; {confirmed} of {warned} warnings confirmed "
        f"within {seconds:g} s each; {sum(len(r.twin) for r in graphs)} false warnings in "
        f"{sum(r.mended for r in graphs)} mended twins"
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("checkout", type=Path)
    parser.add_argument("--work", type=Path, help="keep the captured graphs here")
    parser.add_argument("--seconds", type=float, default=10.0, help="for each witness")
    parser.add_argument("--only", nargs="+", metavar="ID", help="such as ID_10")
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    rows: list[Row] = []
    with tempfile.TemporaryDirectory() as folder, Runner(resolve(["onnxruntime:disabled"])) as runner:
        work = args.work or Path(folder)
        work.mkdir(parents=True, exist_ok=True)
        judge = Judge(runner, args.seconds)
        for program in programs_of(args.checkout):
            if args.only and program.partition("/")[0] not in args.only:
                continue
            path, why = captured(args.checkout.resolve(), program, work)
            row = Row(program, why)
            rows.append(row)
            if not why:
                judged(judge, row, path)
            print(told(row), flush=True)
            if args.json is not None:
                args.json.write_text(json.dumps([asdict(r) for r in rows], indent=1))
    print(summary(rows, args.seconds))
    return int(any(r.missed or r.twin for r in rows))


if __name__ == "__main__":
    sys.exit(main())
