"""The numeric oracle on targets that differ by legal reassociation only, and on ones with a planted error of 1e-3.

``python -m benchmarks.numeric_oracle -n 20000 --faults 2000`` makes programs as campaigns do (mutants of the shipped
seeds and of their mutants), runs them as written and with sums in another order, and counts numeric findings: each
would be false. It also counts which elements are decidable: those of floats whose bound is at most a hundredth of the
larger of their own magnitude and their tensor's root mean square, and those of other types that no made-up rounding
error changes. Outputs behind random operators are left out. Where elements are counted, both targets' largest ratio of
distance to bound is kept, whether or not they differ by more than the screen that a campaign puts before the shadow.

Then, on programs whose floats are all single precision, one operator's result is multiplied by 1.001 in one of the two
targets. Where that moves the shadow beyond ten times the bound it has to be found; cases that the oracle reports as
left open by ONNX (declared undefined behaviour, NaN or Inf that reach an operator, numbers near overflow, subnormal
numbers) are counted apart. Exit code 1 where a figure misses its mark: no false finding, 70% decidable, 95% found.

``--state FILE --seconds 300`` runs a slice of that time, adds it to the figures of the slices before, and writes them
back after every few programs, so that a slice can be cut short; the programs of each slice come of a seed of its own.
``--every 10`` measures bounds on one program in ten only, and ``--sprouts 0.7`` lets that share of the programs grow
from one node, as campaigns on many targets do: they are small and quickly run. ``--shadow numpy`` measures against the
shadow of irfuzz without PyTorch, on the same targets.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import time
from collections import Counter, deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import onnx_ir as ir

from irfuzz.choices import Choices
from irfuzz.errors import Unsupported
from irfuzz.execute.float64_shadow_runs import ShadowRun
from irfuzz.execute.request_batching import Task
from irfuzz.execute.run_types import Exit, RunResult, Target, Value
from irfuzz.execute.runner import Runner
from irfuzz.execute.target_table import resolve
from irfuzz.export.lowerings import SHADOWED
from irfuzz.facts import TensorFact
from irfuzz.generate.graph_inputs.number_class_draw import draw_numbers
from irfuzz.generate.graph_inputs.seed_model_input_ranges import seed_ranges
from irfuzz.generate.input_values import make_inputs
from irfuzz.generate.one_node_programs import sprouts
from irfuzz.ir.program import Program
from irfuzz.isolate import Limits
from irfuzz.mutate.mutation_engine import Engine
from irfuzz.mutate.mutator_table import campaign_weights
from irfuzz.oracle import Symptom, Verdict, judge
from irfuzz.oracle.numeric.dtype_thresholds import is_float, smallest
from irfuzz.oracle.numeric.shadow_comparison import ShadowReference, measure_of
from irfuzz.oracle.runs_to_judge import Case
from irfuzz.shipped_folders import seeds_dir
from irfuzz.spec import has_trait, load_specs

TARGETS = Path(__file__).parents[1] / "tests" / "planted_targets" / "reassociated.py"
NUMERIC = (Symptom.DIFFERENCE, Symptom.NAN_INF)
DECIDED = 0.01
ERROR = 1e-3
BEYOND = 10.0
OPEN = ("undefined behaviour", "NaN", "overflow", "subnormal")
TOGETHER = 32
"""Programs that are sent to a target at once."""
TELL = 500
KEPT = 400
"""Mutants that may be parents."""


@dataclass
class Figures:
    """What was counted.

    Attributes:
        counts: programs and elements by what became of them.
        shares: share of decidable elements of each program.
        ratios: largest ratio of distance to bound of each program's right targets.
        false: numeric findings on targets that are both right, each with its program's number.
        missed: planted errors that were not found, with the reason that a suspect gives.
        slices: how many calls these are of.
        seconds: that they took.
    """

    counts: Counter[str] = field(default_factory=Counter)
    shares: list[float] = field(default_factory=list)
    ratios: list[float] = field(default_factory=list)
    false: list[str] = field(default_factory=list)
    missed: Counter[str] = field(default_factory=Counter)
    slices: int = 0
    seconds: float = 0.0

    def write(self, path: Path) -> None:
        """Whole or not at all."""
        draft = path.with_name(path.name + ".draft")
        draft.write_text(json.dumps(vars(self)))
        draft.replace(path)

    @classmethod
    def read(cls, path: Path) -> Figures:
        """What was written; nothing where there is no file."""
        if not path.exists():
            return cls()
        data = json.loads(path.read_text())
        return cls(**{**data, "counts": Counter(data["counts"]), "missed": Counter(data["missed"])})


def programs(seed: int, share: float = 0.0) -> Iterator[tuple[int, Program, dict[str, Value]]]:
    """Mutants and their inputs, without end, numbered; a number, a seed and a share always give the same ones.

    ``share`` of them grow from one node, as in campaigns; the others from seeds, from such nodes and from mutants.
    """
    first = [(p.name, Program.from_bytes(p.read_bytes())) for p in sorted(seeds_dir().glob("*.onnx"))]
    small = [(name, program) for name, program in sprouts().items()]
    first += small
    made: deque[tuple[str, Program]] = deque(maxlen=KEPT)
    engine = Engine(load_specs(), weights=campaign_weights(), max_nodes=60)
    ranges = seed_ranges()
    number = -1
    while True:
        number += 1
        choices = Choices.from_seed(f"{seed}/{number}")
        grown = share > 0 and choices.boolean(share)
        name, parent = choices.pick(small) if grown else choices.pick([*first, *made])
        mutant = engine.mutate(parent, choices, edits=choices.integer(1, 5))
        if mutant is None or any(edit.relation.name == "INVALID" for edit in mutant.edits):
            continue
        try:
            numbers = draw_numbers(mutant.program, choices)
            inputs = make_inputs(mutant.program, choices.seed(), ranges=ranges.get(name), numbers=numbers)
        except Unsupported:
            continue
        if not grown and len(mutant.program.nodes()) <= 60:
            made.append((name, mutant.program))
        yield number, mutant.program, inputs


class Bench:
    """The runner and what is counted with it."""

    def __init__(self, runner: Runner, out: Path | None, every: int, figures: Figures) -> None:
        self.runner = runner
        self.every = every
        self.plain, *self.others = runner.targets
        self.figures = figures
        self.number = 0
        self._out = out

    def pair(self, number: int) -> tuple[Target, Target]:
        """The plain target, and the other one that a program is to run on."""
        return self.plain, self.others[number % len(self.others)]

    def look_all(self, drawn: Sequence[tuple[int, Program, dict[str, Value]]], *, faults: int) -> None:
        """Several programs, which travel together to the targets; errors are planted until there are ``faults``."""
        tasks = [Task(program, inputs, self.pair(number)) for number, program, inputs in drawn]
        for (number, program, inputs), results in zip(drawn, self.runner.run_all(tasks), strict=True):
            self.look(number, program, inputs, results, fault=self.figures.counts["planted"] < faults)

    def look(
        self,
        number: int,
        program: Program,
        inputs: Mapping[str, Value],
        results: Sequence[RunResult],
        *,
        fault: bool,
    ) -> bool:
        """One program that ran on the plain target and another; ``False`` where they do not both run it."""
        self.number = number
        pair = self.pair(number)
        if any(r.exit is not Exit.OK for r in results):
            self.figures.counts["not run by both"] += 1
            return False
        self.figures.counts["programs"] += 1
        asked: list[ShadowRun] = []

        def shadow(of: Program, fed: Mapping[str, Value]) -> ShadowRun:
            self.figures.counts["programs beyond the screen"] += not asked
            asked.append(self.runner.shadow(of, fed))
            return asked[0]

        def rerun(fed: Mapping[str, Value], moved: Program | None = None, /) -> Sequence[RunResult]:
            return self.runner.run(moved or program, fed, pair)

        for verdict in judge(program, inputs, results, rerun=rerun, shadow=shadow):
            if verdict.symptom in NUMERIC:
                kind = "suspects" if verdict.suspect else "false findings"
                self.figures.counts[kind] += 1
                if not verdict.suspect:
                    self._false(number, program, inputs, verdict)
        if not fault and self.figures.counts["programs"] % self.every:
            return True
        run = asked[0] if asked else self.runner.shadow(program, inputs)
        case = Case(program, inputs, results, shadow=lambda *_: run)
        measures = self._decidable(case, run)
        if fault and measures:
            self._fault(number, case, run, measures, pair)
        return True

    def _false(self, number: int, program: Program, inputs: Mapping[str, Value], verdict: Verdict) -> None:
        told = f"{number}: {verdict.symptom} {verdict.output} ratio {verdict.ratio} {dict(verdict.evidence)}"
        self.figures.false.append(told)
        print("FALSE", told, flush=True)
        if self._out is not None:
            self._out.mkdir(parents=True, exist_ok=True)
            (self._out / f"{number}.onnx").write_bytes(program.to_bytes())
            arrays = {k: v for k, v in inputs.items() if isinstance(v, np.ndarray)}
            np.savez(self._out / f"{number}.npz", allow_pickle=False, **arrays)

    def _decidable(self, case: Case, run: ShadowRun) -> dict[str, tuple[ShadowReference, np.ndarray]]:
        """Count decidable elements; reference and bound of each floating-point output."""
        measures: dict[str, tuple[ShadowReference, np.ndarray]] = {}
        decided = every = 0
        case.doubtful = list(case.program.graph.outputs)  # not only those that differ
        for leaf in case.leaves():
            first = next(iter(leaf.values.values()))
            path = case.path(leaf.value)
            if path.random or not first.size:
                continue
            every += first.size
            if not is_float(first.dtype):
                moved = np.zeros(first.shape, bool)
                for moves in (run.small, run.wide):
                    moved |= moves.get(leaf.label, np.full(first.shape, np.inf)) > 0
                decided += int((~moved).sum()) if not run.refused else 0
                continue
            measure = measure_of(run, leaf, first, path, case)
            if isinstance(measure, str):
                self.figures.counts[f"refused: {measure[:70]}"] += 1
                continue
            finite = np.isfinite(measure.reference)
            value = np.where(finite, np.abs(measure.reference), 0.0)
            rms = float(np.sqrt(np.mean(value[finite] ** 2))) if finite.any() else 0.0
            scale = np.maximum(np.maximum(value, rms), np.sqrt(smallest(first.dtype)) / DECIDED)
            decided += int((~finite | (measure.bound <= DECIDED * scale)).sum())
            measures[leaf.label] = measure, first
            far = [float(measure.ratios(a.astype(np.float64)).max(initial=0.0)) for a in leaf.values.values()]
            self.figures.ratios.append(max(far))
            self.figures.counts["right outputs beyond the bound, screened or not"] += max(far) > 1
            if max(far) > 1:
                print(f"BEYOND {self.number}: {leaf.label} {max(far):.3g} {sorted(path.ops)}", flush=True)
        self.figures.counts["programs whose elements were counted"] += 1
        self.figures.counts["elements"] += every
        self.figures.counts["decidable elements"] += decided
        if every:
            self.figures.shares.append(decided / every)
        return measures

    def _fault(
        self,
        number: int,
        case: Case,
        run: ShadowRun,
        measures: Mapping[str, tuple[ShadowReference, np.ndarray]],
        pair: tuple[Target, Target],
    ) -> None:
        """Plant an error in the second target, and see whether it is found where it must be."""
        program, inputs = case.program, case.inputs
        where = _place(program, number)
        if where is None:
            return
        faulty = _planted(program, where)
        moved = self.runner.shadow(faulty, inputs)
        far = max(
            (float(m.ratios(moved.reference[n]).max(initial=0.0)) for n, (m, _) in measures.items()
             if n in moved.reference and moved.reference[n].shape == m.reference.shape),
            default=0.0,
        )  # fmt: skip
        self.figures.counts["planted"] += 1
        if moved.refused or far <= BEYOND:
            return
        results = [*self.runner.run(program, inputs, pair[:1]), *self.runner.run(faulty, inputs, pair[1:])]
        if any(r.exit is not Exit.OK for r in results):
            return

        def rerun(fed: Mapping[str, Value], other: Program | None = None, /) -> Sequence[RunResult]:
            base = other or program
            return [
                *self.runner.run(base, fed, pair[:1]),
                *self.runner.run(_planted(base, where), fed, pair[1:]),
            ]

        self.figures.counts["planted beyond the bound"] += 1
        verdicts = [
            v
            for v in judge(program, inputs, results, rerun=rerun, shadow=lambda *_: run)
            if v.symptom in NUMERIC and v.target == pair[1].name
        ]
        if any(not v.suspect for v in verdicts):
            self.figures.counts["planted and found"] += 1
            return
        why = verdicts[0].doubt if verdicts else "nothing said"
        self.figures.counts["planted and left open by ONNX"] += any(words in why for words in OPEN)
        self.figures.missed[why[:70]] += 1
        print(f"MISSED {number}: {where} x{far:.3g}: {why}", flush=True)


def _place(program: Program, number: int) -> str | None:
    """A value that an operator has rounded and another one reads; ``None`` where not all floats are float32."""
    kinds: set[ir.DataType] = set()
    names: list[str] = []
    for node in program.nodes():
        for value in node.outputs:
            fact = program.fact(value)
            if not isinstance(fact, TensorFact):
                continue
            kinds.add(fact.dtype)
        first = program.fact(node.outputs[0])
        rounds = not (has_trait(node, "discontinuous") or has_trait(node, "copies"))
        inner = rounds and node.outputs[0].uses() and node.graph is program.graph
        if inner and isinstance(first, TensorFact) and first.dtype == ir.DataType.FLOAT:
            names.append(node.outputs[0].name or "")
    kinds |= {f.dtype for v in program.graph.inputs if isinstance(f := program.fact(v), TensorFact)}
    others = {k for k in kinds if k.is_floating_point()} - {ir.DataType.FLOAT}
    return None if others or not names else Choices.from_seed(f"place {number}").pick(names)


def _planted(program: Program, name: str) -> Program:
    """The program with one value times 1.001."""
    made = program.clone()
    value = made.value(name)
    assert value is not None
    factor = made.constant(np.array(1 + ERROR, np.float32))
    (product,) = made.insert("Mul", [value, factor], after=value.producer()).outputs
    users = [(user, index) for user, index in value.uses() if user is not product.producer()]
    made.replace_uses(value, product, users=users)
    return made


def report(figures: Figures) -> dict[str, object]:
    """The figures as JSON."""
    counts = figures.counts
    beyond, found = counts["planted beyond the bound"], counts["planted and found"]
    defined = beyond - counts["planted and left open by ONNX"]
    ratios = np.array(figures.ratios or [0.0])
    return {
        "counts": dict(counts),
        "decidable of all elements": round(counts["decidable elements"] / max(1, counts["elements"]), 4),
        "decidable of a program's elements, mean": round(float(np.mean(figures.shares or [0])), 4),
        "distance over bound of right outputs": {
            q: float(f"{np.quantile(ratios, float(q)):.3g}") for q in ("0.5", "0.99", "0.999", "1")
        },
        "planted errors found, of all": round(found / beyond, 4) if beyond else None,
        "planted errors found, of those that ONNX defines": round(found / defined, 4) if defined else None,
        "missed": dict(figures.missed),
        "slices": figures.slices,
        "seconds": round(figures.seconds, 1),
    }


def main() -> int:
    """Run it."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("-n", type=int, default=50, help="Programs that both targets run.")
    parser.add_argument("--faults", type=int, default=20, help="On so many of them, at least, an error is planted.")
    parser.add_argument("--every", type=int, default=1, help="Count decidable elements in one of so many programs.")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--sprouts", type=float, default=0.0, help="Share of the programs that grow from one node.")
    parser.add_argument("--state", type=Path, help="File with the figures so far, which is written anew.")
    parser.add_argument("--seconds", type=float, default=math.inf, help="Most that this call takes.")
    parser.add_argument("--out", type=Path, help="Folder for programs with false findings.")
    parser.add_argument("--shadow", choices=sorted(SHADOWED), default="", help="What computes shadows.")
    options = parser.parse_args()
    figures = Figures.read(options.state) if options.state else Figures()
    seed, before, started = options.seed + 1000 * figures.slices, figures.seconds, time.monotonic()
    figures.slices += 1
    names = [f"{TARGETS}:{name}" for name in ("Plain", "Reassociated", "Blocked")]
    with Runner(resolve(names), Limits(seconds=20), shadow=options.shadow) as runner:
        bench = Bench(runner, options.out, options.every, figures)
        told = figures.counts["programs"]
        drawn: list[tuple[int, Program, dict[str, Value]]] = []
        for one in programs(seed, options.sprouts):
            drawn.append(one)
            if len(drawn) < min(TOGETHER, options.n - figures.counts["programs"]):
                continue
            bench.look_all(drawn, faults=options.faults)
            drawn.clear()
            figures.seconds = before + time.monotonic() - started
            done = figures.counts["programs"]
            if options.state:
                figures.write(options.state)
            if done - told >= TELL:
                told = done
                print(json.dumps(report(figures)), flush=True)
            if done >= options.n or figures.seconds - before >= options.seconds:
                break
    found = report(figures)
    print(json.dumps(found, indent=1))
    counts = bench.figures.counts
    good = not bench.figures.false and counts["decidable elements"] >= 0.7 * counts["elements"]
    defined = counts["planted beyond the bound"] - counts["planted and left open by ONNX"]
    return 0 if good and counts["planted and found"] >= 0.95 * defined else 1


if __name__ == "__main__":
    sys.exit(main())
