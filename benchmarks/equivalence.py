"""EAGLE's rules: calls of all operators are rewritten or run otherwise; how many concrete pairs that made is counted.

A pair is a rule (or a rewrite of no rule, under ``-``), an operator, the class of its attributes and element type, and
a target; both forms run on ``--inputs`` inputs (20). Prints a table of rule and target with the number of distinct
pairs whose forms ran, the time, and what differed; ``--markdown`` writes the table into a file between its marks.

Run ``python -m benchmarks.equivalence [--seconds 60] [--targets NAMES] [--inputs 20] [--markdown FILE]``, with
``docs/equivalence.md`` as FILE.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path

import onnx_ir as ir

from benchmarks.rewrites import Source
from irfuzz.campaign.equivalence import ran
from irfuzz.choices import Choices
from irfuzz.errors import Unsupported
from irfuzz.execute.runner import Runner
from irfuzz.execute.table import resolve
from irfuzz.execute.together import Task
from irfuzz.execute.types import RunResult, Target, Value
from irfuzz.execute.ways import Other, adapters_for, build_ways, others_of
from irfuzz.generate.inputs import make_inputs
from irfuzz.ir.program import Program
from irfuzz.mutate.types import Skipped
from irfuzz.oracle.equivalence import Answer, compare_forms
from irfuzz.rewrite.engine import rewrite_once
from irfuzz.rewrite.table import build_rewrites
from irfuzz.spec import load_specs

TARGETS = ("ort:disabled", "torch:eager", "tensorflow:eager")
BEGIN, END = "<!-- pairs: made by benchmarks/equivalence.py -->", "<!-- end of pairs -->"
Pair = tuple[str, str, str, str]


class Bench:
    """Counts pairs."""

    def __init__(self, runner: Runner, others: Mapping[str, Sequence[Other]], targets: Sequence[Target], inputs: int):
        self.pairs: dict[Pair, int] = {}
        self.answers: Counter[str] = Counter()
        self.differences: list[str] = []
        self._specs = load_specs()
        self._rewrites = build_rewrites()
        self._runner = runner
        self._others = others
        self._targets = targets
        self._inputs = inputs

    def one(self, program: Program, choices: Choices) -> None:
        """Every rule on one program, as far as the pair is new."""
        try:
            seeds = [make_inputs(program, seed) for seed in range(self._inputs)]
        except Unsupported:
            return
        node = program.nodes()[-1]
        kind = _class(program, node)
        forms: list[tuple[str, str, Program | bytes, dict[str, Target]]] = []
        for rewrite in self._rewrites.values():
            rule = str(rewrite.eagle or "-")
            wanted = [t for t in self._targets if (rule, rewrite.name, kind, t.name) not in self.pairs]
            sites = rewrite.sites(program, self._specs) if wanted else ()
            if not sites:
                continue
            made = rewrite_once(program, self._specs, rewrite, choices.pick(sites), choices)
            if not isinstance(made, Skipped):
                forms.append((rule, rewrite.name, made[1], {t.name: t for t in wanted}))
        for name, row in self._others.items():
            for other in row:
                if (str(other.way.eagle), other.way.name, kind, name) in self.pairs:
                    continue
                data = program if other.way.model is None else other.way.model(program.to_bytes())
                if data is not None:
                    forms.append((str(other.way.eagle), other.way.name, data, {name: other.target}))
        if not forms:
            return
        asked = {name for *_, wanted in forms for name in wanted}
        before = self._all(program, seeds, [t for t in self._targets if t.name in asked])
        for rule, name, form, wanted in forms:
            self._pair(rule, name, kind, program, form, wanted, seeds, before)

    def _all(
        self, program: Program | bytes, seeds: Sequence[Mapping[str, Value]], targets: Sequence[Target]
    ) -> dict[str, list[RunResult]]:
        rows = self._runner.run_all([Task(program, given, tuple(targets), "") for given in seeds])
        return {t.name: [row[place] for row in rows] for place, t in enumerate(targets)}

    def _pair(
        self,
        rule: str,
        name: str,
        kind: str,
        program: Program,
        form: Program | bytes,
        wanted: Mapping[str, Target],
        seeds: Sequence[Mapping[str, Value]],
        before: Mapping[str, Sequence[RunResult]],
    ) -> None:
        usable = {n: t for n, t in wanted.items() if all(ran(r) for r in before[n])}
        if not usable:
            return
        given = seeds
        if isinstance(form, Program):
            given = [{**make_inputs(form, seed), **own} for seed, own in enumerate(seeds)]
        after = self._all(form, given, list(usable.values()))
        for base, target in usable.items():
            if not all(ran(r) for r in after[target.name]):
                self.answers["refused"] += 1
                continue
            self.pairs[rule, name, kind, base] = len(seeds)
            for own, one, other in zip(given, before[base], after[target.name], strict=True):
                found = compare_forms(
                    program, form if isinstance(form, Program) else program, own, (one, other), specs=self._specs,
                    bitwise=False, rerun=self._rerun(program, base),
                )  # fmt: skip
                self.answers[found.answer] += 1
                if found.answer is Answer.DIFFERENT:
                    self.differences.append(f"{name} of {kind} on {base}: {found.reason}")
                    break

    def _rerun(self, program: Program, base: str):
        target = next(t for t in self._targets if t.name == base)
        own = {v.name for v in program.graph.inputs}

        def rerun(moved: Mapping[str, Value], other: Program | None = None, /) -> list[RunResult]:
            return self._runner.run(other or program, {k: v for k, v in moved.items() if k in own}, [target])

        return rerun


def _class(program: Program, node: ir.Node) -> str:
    """Operator, which attributes it has with which words or signs, element type and rank."""
    fact = program.tensor(node.inputs[0]) if node.inputs else None
    attrs = ",".join(sorted(f"{name}={_kind(value)}" for name, value in program.attrs(node).items()))
    about = "" if fact is None else f"{fact.dtype.name}/{fact.rank}"
    return f"{node.op_type}[{attrs}]{about}"


def _kind(value: object) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, (list, tuple)):
        return "uniform" if len(set(map(str, value))) <= 1 else "mixed"
    return str(value) if isinstance(value, int) and -2 < value < 3 else type(value).__name__


def table(pairs: Mapping[Pair, int], targets: Sequence[Target]) -> str:
    """Markdown: rules and targets."""
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for rule, _, _, target in pairs:
        counts[rule][target] += 1
    names = [t.name for t in targets]
    lines = ["| rule of EAGLE | " + " | ".join(f"`{n}`" for n in names) + " |", "|---" * (len(names) + 1) + "|"]
    for rule in sorted(counts, key=lambda r: (r == "-", int(r) if r != "-" else 0)):
        row = [str(counts[rule][n]) for n in names]
        lines.append(f"| {'other rewrites' if rule == '-' else rule} | " + " | ".join(row) + " |")
    totals = [str(sum(c[n] for c in counts.values())) for n in names]
    return "\n".join([*lines, "| all | " + " | ".join(totals) + " |"])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--inputs", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--targets", type=lambda text: text.split(","), default=list(TARGETS))
    parser.add_argument("--markdown", type=Path)
    args = parser.parse_args()
    targets = resolve(args.targets)
    others = {t.name: others_of(t, build_ways()) for t in targets}
    whole = [*targets, *(o.target for row in others.values() for o in row)]
    source = Source(load_specs(), args.seed)
    with Runner(whole, adapters=adapters_for(others)) as runner:
        bench = Bench(runner, others, targets, args.inputs)
        began, cpu, index = time.monotonic(), time.process_time(), 0
        while time.monotonic() - began < args.seconds:
            choices = Choices.from_seed(f"{args.seed}/{index}")
            program = source.call(choices)
            if program is not None:
                bench.one(program, choices)
            index += 1
        wall, spent = time.monotonic() - began, time.process_time() - cpu
    text = table(bench.pairs, targets)
    print(text)
    print("\n".join(bench.differences[:40]))
    told = (
        f"{len(bench.pairs)} distinct pairs with {args.inputs} inputs each, from {index} sampled calls in {wall:.0f} s "
        f"({spent:.0f} s of it this process's CPU time), {len(bench.differences)} differ"
    )
    print(f"{told}; {dict(bench.answers)}")
    if args.markdown is not None:
        page = args.markdown.read_text()
        head, rest = page.split(BEGIN)
        args.markdown.write_text(f"{head}{BEGIN}\n{told}:\n\n{text}\n{END}{rest.split(END)[1]}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
