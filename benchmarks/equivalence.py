"""EAGLE's rules: calls of all operators are rewritten or run otherwise; how many concrete pairs that made is counted.

A pair is a rule of EAGLE, a call and a target, whichever rewrite or way realised the rule. A call is an operator with
the class of its attributes (which it has, with which words, signs and equal or mixed numbers) and the element types of
its inputs, whatever their shapes; both forms ran on ``--inputs`` (20) different inputs. Rewrites of no rule of EAGLE's
are counted apart (``--others``), each as a rule of its own. Prints a table of rule and target with the number of
distinct pairs, the time, what differed, and by rule and target why nothing was made; ``--markdown`` writes the table
into a file between its marks. With ``--state`` a run that was ended goes on where it stood.

With ``--many 400`` so many pairs as ``--of`` (300) says are drawn from those of the state by the seed, and run on 400
different inputs each, as in the paper; the seconds a pair are printed.

Run ``python -m benchmarks.equivalence [--seconds 60] [--targets NAMES] [--inputs 20] [--others] [--state FILE]
[--many 400] [--of 300] [--markdown FILE]``, with ``docs/equivalence.md`` as FILE.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.rewrites import Source
from irfuzz.campaign.self_testing.equivalent_form_testing import ran
from irfuzz.campaign.self_testing.nan_free_proof import nan_free
from irfuzz.choices import Choices
from irfuzz.errors import Unsupported
from irfuzz.execute.adapters.alternative_runs import OtherWay, adapters_for, build_ways, others_of
from irfuzz.execute.request_batching import Task
from irfuzz.execute.run_types import RunResult, Target, Value
from irfuzz.execute.runner import Runner
from irfuzz.execute.target_table import resolve
from irfuzz.generate.input_values import make_inputs
from irfuzz.ir.program import Program
from irfuzz.mutate.mutator_protocol import Skipped
from irfuzz.oracle.equivalent_form_comparison import Answer, FormComparison, compare_forms
from irfuzz.rewrite.rewrite_chain import rewrite_once
from irfuzz.rewrite.rewrite_rule import Rewrite
from irfuzz.rewrite.rewrite_table import build_rewrites
from irfuzz.spec import load_specs

TARGETS = ("ort:disabled", "torch:eager", "tensorflow:eager")
BEGIN, END = "<!-- pairs: made by benchmarks/equivalence.py -->", "<!-- end of pairs -->"
RULES = range(1, 17)
CHUNK = 40
"""Inputs that travel together."""

KEPT = 60.0
"""Seconds between two states on disk."""

Pair = tuple[str, str, str, str]
"""Rule, operator, class of attributes and element types, target."""

Made = tuple[str, int]
"""The rewrite or way that realised a pair, and the number of the sampled call."""


class Bench:
    """Counts pairs."""

    def __init__(
        self,
        runner: Runner,
        others: Mapping[str, Sequence[OtherWay]],
        targets: Sequence[Target],
        inputs: int,
        seed: int,
    ) -> None:
        self.pairs: dict[Pair, Made] = {}
        self.by: Counter[str] = Counter()
        self.answers: Counter[str] = Counter()
        self.refused: dict[str, str] = {}
        self.differences: list[str] = []
        self._specs = load_specs()
        self._seed = seed
        self._runner = runner
        self._others = others
        self._targets = targets
        self._inputs = inputs

    def one(self, program: Program, index: int, rewrites: Mapping[str, Rewrite], *, ways: bool) -> None:
        """Rules on one program, the sampled call of that number, as far as the pair is new."""
        seeds = _different(program, self._inputs)
        if seeds is None:
            self.answers["fewer inputs"] += 1
            return
        forms: list[tuple[str, str, str, Program | bytes, dict[str, Target]]] = []
        for rewrite in rewrites.values():
            found = self._site(program, rewrite, index)
            if found is None:
                continue
            site, choices = found
            rule, kind = _rule(rewrite), _class(program, site)
            wanted = {t.name: t for t in self._targets if (rule, *kind, t.name) not in self.pairs}
            made = rewrite_once(program, self._specs, rewrite, site, choices) if wanted else Skipped("known")
            if not isinstance(made, Skipped):
                forms.append((rule, rewrite.name, "|".join(kind), made[1], wanted))
        if ways:
            node = program.nodes()[-1]
            kind = _class(program, node.outputs[0].name or "")
            for name, row in self._others.items():
                # Each in turn is the first that is tried for its rule.
                turn = index % len(row) if row else 0
                for other in (*row[turn:], *row[:turn]):
                    if (str(other.way.eagle), *kind, name) in self.pairs:
                        continue
                    data = program if other.way.model is None else other.way.model(program.to_bytes())
                    if data is not None:
                        forms.append((str(other.way.eagle), other.way.name, "|".join(kind), data, {name: other.target}))
        if not forms:
            return
        asked = {name for *_, wanted in forms for name in wanted}
        before = self._all(program, seeds, [t for t in self._targets if t.name in asked])
        for rule, name, kind_text, form, wanted in forms:
            op, attrs = kind_text.split("|", 1)
            new = {n: t for n, t in wanted.items() if (rule, op, attrs, n) not in self.pairs}
            self._pair(rule, (name, index), (op, attrs), program, form, new, seeds, before)

    def _site(self, program: Program, rewrite: Rewrite, index: int) -> tuple[str, Choices] | None:
        """Where a rewrite is applied to the call of a number, and what decides how."""
        sites = rewrite.sites(program, self._specs)
        choices = Choices.from_seed(f"{self._seed}/{index}/{rewrite.name}")
        return (choices.pick(sites), choices) if sites else None

    def again(self, pair: Pair, program: Program, rewrite: Rewrite | None, count: int) -> Counter[str] | None:
        """The answers of a pair on so many inputs; ``None`` if the program has no so many, or a run fails."""
        base, (name, index) = pair[3], self.pairs[pair]
        seeds = _different(program, count)
        target = next(t for t in self._targets if t.name == base)
        other = next((o.target for o in self._others[base] if o.way.name == name), target)
        form: Program | bytes = program
        if rewrite is not None:
            found = self._site(program, rewrite, index)
            made = None if found is None else rewrite_once(program, self._specs, rewrite, *found)
            if made is None or isinstance(made, Skipped):
                return None
            form, other = made[1], target
        else:
            model = next(o.way.model for o in self._others[base] if o.way.name == name)
            form = program if model is None else model(program.to_bytes()) or program
        if seeds is None:
            return None
        answers = Counter[str]()
        for start in range(0, count, CHUNK):
            own = seeds[start : start + CHUNK]
            given = own
            if isinstance(form, Program) and form is not program:
                given = [{**make_inputs(form, start + i), **row} for i, row in enumerate(own)]
            before, after = self._all(program, own, [target])[base], self._all(form, given, [other])[other.name]
            if not all(map(ran, (*before, *after))):
                return None
            for row, one, two in zip(given, before, after, strict=True):
                answers[self._compared(program, form, row, (one, two), base).answer] += 1
        return answers

    def _compared(
        self,
        program: Program,
        form: Program | bytes,
        given: Mapping[str, Value],
        results: tuple[RunResult, RunResult],
        base: str,
    ) -> FormComparison:
        return compare_forms(
            program, form if isinstance(form, Program) else program, given, results, specs=self._specs, bitwise=False,
            rerun=self._rerun(program, base), finite=nan_free,
        )  # fmt: skip

    def _all(
        self, program: Program | bytes, seeds: Sequence[Mapping[str, Value]], targets: Sequence[Target]
    ) -> dict[str, list[RunResult]]:
        rows = self._runner.run_all([Task(program, given, tuple(targets), "") for given in seeds])
        return {t.name: [row[place] for row in rows] for place, t in enumerate(targets)}

    def _pair(
        self,
        rule: str,
        made: Made,
        kind: tuple[str, str],
        program: Program,
        form: Program | bytes,
        wanted: Mapping[str, Target],
        seeds: Sequence[Mapping[str, Value]],
        before: Mapping[str, Sequence[RunResult]],
    ) -> None:
        usable = {n: t for n, t in wanted.items() if all(ran(r) for r in before[n])}
        for base in wanted.keys() - usable.keys():
            self._refuse(rule, base, kind, before[base])
        given = seeds
        if isinstance(form, Program):
            try:
                given = [{**make_inputs(form, seed), **own} for seed, own in enumerate(seeds)]
            except Unsupported:
                return
        # One input shows whether the other form is taken at all.
        tried = self._all(form, given[:1], list(usable.values())) if usable else {}
        taken = {n: t for n, t in usable.items() if ran(tried[t.name][0])}
        for base in usable.keys() - taken.keys():
            self._refuse(rule, base, kind, tried[usable[base].name])
        rest = self._all(form, given[1:], list(taken.values())) if taken else {}
        for base, target in taken.items():
            after = [*tried[target.name], *rest[target.name]]
            if not all(ran(r) for r in after):
                self._refuse(rule, base, kind, after)
                continue
            self.pairs[rule, *kind, base] = made
            self.by[made[0]] += 1
            for own, one, other in zip(given, before[base], after, strict=True):
                found = self._compared(program, form, own, (one, other), base)
                self.answers[found.answer] += 1
                if found.answer is Answer.DIFFERENT:
                    self.differences.append(f"{made[0]} of {kind[0]}[{kind[1]}] on {base}: {found.reason}")
                    break

    def _refuse(self, rule: str, base: str, kind: tuple[str, str], results: Sequence[RunResult]) -> None:
        self.answers["refused"] += 1
        wrong = next((r for r in results if not ran(r)), None)
        if wrong is not None:
            self.refused.setdefault(f"{rule}|{base}", f"{kind[0]}: {wrong.error[:200] or wrong.exit}")

    def _rerun(self, program: Program, base: str):
        target = next(t for t in self._targets if t.name == base)
        own = {v.name for v in program.graph.inputs}

        def rerun(moved: Mapping[str, Value], other: Program | None = None, /) -> list[RunResult]:
            return self._runner.run(other or program, {k: v for k, v in moved.items() if k in own}, [target])

        return rerun

    def state(self) -> dict[str, Any]:
        """What goes on disk."""
        return {
            "pairs": [[*pair, *made] for pair, made in self.pairs.items()],
            "by": self.by,
            "answers": self.answers,
            "refused": self.refused,
            "differences": self.differences,
        }

    def resume(self, kept: Mapping[str, Any]) -> None:
        """Go on from what was on disk."""
        self.pairs = {(rule, op, call, target): (name, index) for rule, op, call, target, name, index in kept["pairs"]}
        self.by, self.answers = Counter(kept["by"]), Counter(kept["answers"])
        self.refused, self.differences = dict(kept["refused"]), list(kept["differences"])


def _different(program: Program, count: int) -> list[dict[str, Value]] | None:
    """So many inputs of which no two are equal; ``None`` where the program has not as many."""
    found: dict[bytes, dict[str, Value]] = {}
    for seed in range(3 * count):
        try:
            given = make_inputs(program, seed)
        except Unsupported:
            return None
        arrays = [v for v in given.values() if isinstance(v, np.ndarray)]
        found.setdefault(b"|".join(a.tobytes() + repr(a.shape).encode() for a in arrays), given)
        if len(found) == count:
            return list(found.values())
        if seed >= 4 and len(found) == 1:
            break
    return None


def _rule(rewrite: Rewrite) -> str:
    return str(rewrite.eagle or rewrite.name)


def _class(program: Program, site: str) -> tuple[str, str]:
    """The operator that a site is about, and its attributes with their words or signs, and element types."""
    value = program.value(site)
    node = next((n for n in program.nodes() if n.name == site), None) if value is None else value.producer()
    if node is None and value is not None:
        node = next((use.node for use in value.uses()), None)
    if node is None:
        return "input", ""
    facts = [None if v is None else program.tensor(v) for v in node.inputs]
    types = ["-" if fact is None else fact.dtype.name for fact in facts]
    attrs = ",".join(sorted(f"{name}={_kind(v)}" for name, v in program.attrs(node).items()))
    return node.op_type, f"{attrs};{','.join(dict.fromkeys(types))}"


def _kind(value: object) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, (list, tuple)):
        return "uniform" if len(set(map(str, value))) <= 1 else "mixed"
    if isinstance(value, int):
        return str(value) if -2 < value < 3 else "int"
    return type(value).__name__


def table(pairs: Mapping[Pair, Made], targets: Sequence[Target]) -> str:
    """Markdown: rules and targets."""
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for rule, _, _, target in pairs:
        counts[rule if rule.isdigit() else "-"][target] += 1
    names = [t.name for t in targets]
    lines = ["| rule of EAGLE | " + " | ".join(f"`{n}`" for n in names) + " |", "|---" * (len(names) + 1) + "|"]
    lines += [f"| {rule} | " + " | ".join(str(counts[rule][n]) for n in names) + " |" for rule in map(str, RULES)]
    totals = [str(sum(c[n] for rule, c in counts.items() if rule != "-")) for n in names]
    lines.append("| all | " + " | ".join(totals) + " |")
    if "-" in counts:
        lines.append("| other rewrites | " + " | ".join(str(counts["-"][n]) for n in names) + " |")
    return "\n".join(lines)


class Calls:
    """The sampled calls by number: of any operator, and every third time one that the next rewrite is about."""

    def __init__(self, seed: int, rewrites: Mapping[str, Rewrite]) -> None:
        self._source, self._seed, self._rewrites = Source(load_specs(), seed), seed, rewrites
        self._order = [*rewrites.values()]

    def at(self, index: int) -> tuple[Program | None, Mapping[str, Rewrite], bool]:
        """The call, the rewrites to try on it, and whether it is run in other ways, too."""
        if index % 3:
            return self._source.call(Choices.from_seed(f"{self._seed}/{index}")), self._rewrites, True
        rewrite = self._order[index // 3 % len(self._order)]
        made = next(self._source.programs(rewrite, 1, first=index), None)
        return None if made is None else made[0], {rewrite.name: rewrite}, False


def count_pairs(args: argparse.Namespace) -> int:
    """Sample calls until the time is over."""
    targets = resolve(args.targets)
    others = {t.name: others_of(t, build_ways()) for t in targets}
    whole = [*targets, *(o.target for row in others.values() for o in row)]
    rewrites = {n: r for n, r in build_rewrites().items() if r.eagle or args.others}
    calls = Calls(args.seed, rewrites)
    with Runner(whole, adapters=adapters_for(others)) as runner:
        bench = Bench(runner, others, targets, args.inputs, args.seed)
        index, spent, cpu = 0, 0.0, 0.0
        if args.state is not None and args.state.exists():
            kept = json.loads(args.state.read_text())
            bench.resume(kept)
            index, spent, cpu = kept["index"], kept["seconds"], kept["cpu"]
        began, first = time.monotonic() - spent, time.process_time() - cpu
        saved = time.monotonic()
        while time.monotonic() - began < args.seconds:
            program, tried, ways = calls.at(index)
            if program is not None:
                bench.one(program, index, tried, ways=ways)
            index += 1
            if args.state is not None and time.monotonic() - saved > KEPT:
                saved = time.monotonic()
                _keep(args.state, bench, index, saved - began, time.process_time() - first)
        spent, cpu = time.monotonic() - began, time.process_time() - first
        if args.state is not None:
            _keep(args.state, bench, index, spent, cpu)
        more = run_many(bench, calls, rewrites, args) if args.many else ""
    _tell(bench, targets, args, index, spent, more)
    return 0


def run_many(bench: Bench, calls: Calls, rewrites: Mapping[str, Rewrite], args: argparse.Namespace) -> str:
    """Some pairs, drawn by the seed, on many inputs; the sentence about them."""
    drawn = Choices.from_seed(f"{args.seed}/many").sample(sorted(bench.pairs), len(bench.pairs))
    seconds: list[float] = []
    answers: Counter[str] = Counter()
    differ: list[str] = []
    for pair in drawn:
        if len(seconds) == args.of:
            break
        name, index = bench.pairs[pair]
        program = calls.at(index)[0]
        began = time.monotonic()
        found = None if program is None else bench.again(pair, program, rewrites.get(name), args.many)
        if found is None:
            continue
        seconds.append(time.monotonic() - began)
        answers += found
        if found[Answer.DIFFERENT]:
            differ.append(f"{name} of {pair[1]}[{pair[2]}] on {pair[3]}")
        print(f"{len(seconds)} pairs, {statistics.mean(seconds):.2f} s a pair", file=sys.stderr, flush=True)
    print("\n".join(differ))
    return (
        f"{len(seconds)} of them, drawn by the seed {args.seed}, ran on {args.many} different inputs each: "
        f"{statistics.mean(seconds):.2f} s a pair in the mean, {statistics.median(seconds):.2f} in the median, "
        f"{len(differ)} differ ({', '.join(f'{n} {answer}' for answer, n in sorted(answers.items()))})"
    )


def _keep(path: Path, bench: Bench, index: int, seconds: float, cpu: float) -> None:
    fresh = path.with_suffix(".new")
    fresh.write_text(json.dumps({**bench.state(), "index": index, "seconds": seconds, "cpu": cpu}))
    fresh.replace(path)


def _tell(
    bench: Bench, targets: Sequence[Target], args: argparse.Namespace, index: int, spent: float, more: str
) -> None:
    text = table(bench.pairs, targets)
    print(text)
    print("\n".join(bench.differences[:40]))
    made = {(rule, target) for rule, _, _, target in bench.pairs}
    for rule in map(str, RULES):
        for target in targets:
            if (rule, target.name) not in made:
                print(f"rule {rule} on {target.name}: none; {bench.refused.get(f'{rule}|{target.name}', 'no site')}")
    eagle = sum(pair[0].isdigit() for pair in bench.pairs)
    beside = f" and {len(bench.pairs) - eagle} of other rewrites" if args.others else ""
    told = (
        f"{eagle} distinct pairs of EAGLE's rules{beside} with {args.inputs} different inputs each, from {index} "
        f"sampled calls in {spent:.0f} s ({spent / max(len(bench.pairs), 1):.2f} s a pair), "
        f"{len(bench.differences)} differ"
    )
    told = f"{told}. {more}" if more else told
    print(f"{told}; {dict(bench.answers)}; {dict(bench.by)}")
    if args.markdown is not None:
        page = args.markdown.read_text()
        head, rest = page.split(BEGIN)
        args.markdown.write_text(f"{head}{BEGIN}\n{told}:\n\n{text}\n{END}{rest.split(END)[1]}")


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--inputs", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--many", type=int, default=0, metavar="N", help="run some of the pairs on N inputs")
    parser.add_argument("--of", type=int, default=300, metavar="N", help="so many pairs")
    parser.add_argument("--targets", type=lambda text: text.split(","), default=list(TARGETS))
    parser.add_argument("--others", action="store_true", help="count rewrites of no rule of EAGLE's, too")
    parser.add_argument("--state", type=Path, help="go on from this file, and keep it up to date")
    parser.add_argument("--markdown", type=Path)
    return count_pairs(parser.parse_args())


if __name__ == "__main__":
    sys.exit(main())
