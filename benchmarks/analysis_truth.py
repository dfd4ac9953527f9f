"""Mutants run with all inner values read; what was safe by the analysis and still holds NaN is counted.

    python -m benchmarks.analysis_truth [-n 2000] [--seed 0] [--witnesses] [--light]

Each mutant of the shipped seeds (with ``--light`` of onnx's ``light_*`` models too) is analysed for the ranges of the
inputs that it is then run with, on ONNXRuntime without optimisation. A value is unsound where it holds NaN or an
infinity, or a number beyond its range, though nothing that leads to it was warned of. With ``--witnesses`` the seeds
themselves are analysed at their index's ranges, and each confirmed warning's witness runs again in a fresh process.
Exit code 1 where any value is unsound, or any witness does not show its fault again.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import onnx.backend.test
import onnx_ir as ir

from irfuzz.analyze.initial_ranges import Ranges
from irfuzz.analyze.numeric_range_analysis import Analysis, analyze
from irfuzz.analyze.warning_examination import judge
from irfuzz.campaign.corpus.hazard_input_steering import observed
from irfuzz.errors import InvalidProgram, Unsupported, UsageError
from irfuzz.execute.intermediate_values import tap
from irfuzz.execute.run_types import Exit
from irfuzz.execute.runner import Runner
from irfuzz.execute.target_table import resolve
from irfuzz.facts import TensorFact
from irfuzz.generate.graph_inputs.seed_model_input_ranges import seed_ranges
from irfuzz.generate.input_values import make_inputs
from irfuzz.ir.program import Program
from irfuzz.ir.subgraphs import nodes_within
from irfuzz.isolate import Limits
from irfuzz.mutate.mutator_protocol import Relation
from irfuzz.mutate.traced_mutant_generation import mutate_many
from irfuzz.shipped_folders import seeds_dir

LIGHT = Path(onnx.backend.test.__file__).parent / "data" / "light"
MOST_NODES, MOST_ELEMENTS = 120, 1 << 22


@dataclass
class Count:
    """What was seen.

    Attributes:
        programs: that ran.
        values: of them, read and compared.
        special: those that held NaN or an infinity.
        suspects: values that follow from something that was warned of, so that nothing is said of them.
        unsound: a line for each value that holds what was said not to occur.
    """

    programs: int = 0
    values: int = 0
    special: int = 0
    suspects: int = 0
    unsound: list[str] = field(default_factory=list)


def compare(program: Program, found: Analysis, values: Mapping[str, object], count: Count, what: str) -> None:
    """Compare what was computed with what the analysis says of it."""
    accused = {w.output for w in (*found.warnings, *found.unjudged)}
    for name, array in values.items():
        value = program.value(name)
        if value is None or not isinstance(array, np.ndarray) or array.dtype.kind not in "biuf" or not array.size:
            continue
        wide = array.astype(np.float64)
        odd = not np.isfinite(wide).all()
        count.values += 1
        count.special += odd
        if accused & {o.name for n in _within(program, program.ancestors(value)) for o in n.outputs}:
            count.suspects += 1
            continue
        bounds = found.ranges[name]
        numbers = wide[np.isfinite(wide)]
        beyond = numbers.size and (numbers.min() < bounds.low or numbers.max() > bounds.high)
        infinite = np.isinf(wide).any() and bounds.low > -np.inf and bounds.high < np.inf
        if beyond or infinite or (np.isnan(wide).any() and not bounds.nan):
            seen = f"{np.nanmin(wide):g}..{np.nanmax(wide):g}" if not np.isnan(wide).all() else "NaN"
            producer = value.producer()
            op = "input" if producer is None else producer.op_type
            count.unsound.append(f"{what}: {op} {name}: {seen} in [{bounds.low:g}, {bounds.high:g}], NaN {bounds.nan}")


def _within(program: Program, nodes: Iterable[ir.Node]) -> Iterator[ir.Node]:
    """Nodes with those of their bodies and of the functions that they call."""
    for node in nodes:
        yield node
        yield from _within(program, nodes_within(node))
        function = program.model.functions.get(node.op_identifier())
        if function is not None:
            yield from _within(program, function)


def mutants(n: int, seed: int, *, light: bool) -> Count:
    """Analyse and run ``n`` mutants."""
    paths = sorted(seeds_dir().glob("*.onnx")) + (sorted(LIGHT.glob("light_*.onnx")) if light else [])
    named = [(path.name, Program.from_bytes(path.read_bytes())) for path in paths]
    named = [(name, program) for name, program in named if len(program.nodes()) <= MOST_NODES]
    count = Count()
    with Runner(resolve(["onnxruntime:disabled"]), Limits(seconds=60)) as runner:
        for index, mutant in enumerate(mutate_many(named, seed=seed, n=n)):
            program = mutant.program
            if any(e.relation is Relation.INVALID for e in mutant.edits):
                continue
            said = seed_ranges().get(mutant.seed.name)
            try:
                inputs = make_inputs(program, seed + index, ranges=said)
                names = [v.name for v in program.values() if v.producer() is not None and _readable(program, v.name)]
                (result,) = runner.run(tap(program, [n for n in names if n]), inputs)
                found = analyze(program, Ranges(observed(inputs)))
            except (Unsupported, InvalidProgram, UsageError):
                continue
            if result.exit is not Exit.OK:
                continue
            count.programs += 1
            compare(program, found, {**result.outputs, **result.taps}, count, f"mutant {index} of {mutant.seed.name}")
    return count


def _readable(program: Program, name: str | None) -> bool:
    value = program.value(name or "")
    fact = None if value is None else program.fact(value)
    return isinstance(fact, TensorFact) and (fact.static_shape is None or np.prod(fact.static_shape) <= MOST_ELEMENTS)


def witnesses(*, light: bool) -> tuple[int, list[str]]:
    """How many warnings of the seeds are confirmed, and those whose witness does not show it again."""
    wrong: list[str] = []
    confirmed = 0
    paths = sorted(seeds_dir().glob("*.onnx")) + (sorted(LIGHT.glob("light_*.onnx")) if light else [])
    with Runner(resolve(["onnxruntime:disabled"])) as runner:
        for path in paths:
            program = Program.from_bytes(path.read_bytes())
            report = judge(program, Ranges(seed_ranges().get(path.name, {})), witness_seconds=2.0)
            for judged in report.judged:
                witness = judged.witness
                if witness is None:
                    continue
                confirmed += 1
                (again,) = runner.run_fresh(witness.probe.program, witness.inputs)
                if judged.warning.fault.kind == "crash":
                    shown = again.exit is not Exit.OK
                else:
                    result = np.asarray(again.outputs.get(witness.probe.output))
                    shown = result.dtype.kind != "f" or not np.isfinite(result).all()
                if not shown:
                    wrong.append(f"{path.name}: {judged.warning.op} {judged.warning.output}: {witness.shown}")
    return confirmed, wrong


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-n", type=int, default=200, help="mutants")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--light", action="store_true", help="onnx's light models too")
    parser.add_argument("--witnesses", action="store_true", help="run the witnesses of the seeds' warnings again")
    options = parser.parse_args()
    count = mutants(options.n, options.seed, light=options.light)
    for line in count.unsound[:40]:
        print(line)
    print(
        f"{count.programs} mutants, {count.values} values, {count.special} with NaN or an infinity, "
        f"{count.suspects} after a warning, {len(count.unsound)} unsound"
    )
    wrong: list[str] = []
    if options.witnesses:
        confirmed, wrong = witnesses(light=options.light)
        print("\n".join([*wrong, f"{confirmed} confirmed warnings, {len(wrong)} not shown again"]))
    return int(bool(count.unsound or wrong))


if __name__ == "__main__":
    sys.exit(main())
