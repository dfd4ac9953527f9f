"""Rewrites on random programs: whether each keeps the meaning, and what applying one takes.

``sound`` draws programs around each rewrite's operators (sampled calls in float64 where there are such, often with
mutations), applies the rewrite, and runs both forms on onnx's reference evaluator, on our lowering to PyTorch and on
ONNXRuntime without optimisation, in workers. A form is unsound that two of them compute otherwise by more than a fixed
tolerance and by more than the oracle of equivalence allows (100 times what rounding does to that program, as measured).
Where only one does, that component contradicts itself, which is counted apart; so is what the oracle explains or does
not decide. ``overhead`` measures the CPU time of one verified rewrite of 30-node programs.

Run ``python -m benchmarks.rewrites sound [-n 3 | --full] [--rewrites NAMES] [--json FILE]`` (``--full``: 200 programs
each) or ``python -m benchmarks.rewrites overhead [-n 400]``. Exit code 1 where a rewrite is unsound or has no program.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx_ir as ir

from irfuzz.choices import Choices
from irfuzz.errors import InvalidProgram, Unsupported
from irfuzz.execute.run_types import Exit, RunResult, Stage, Value
from irfuzz.execute.runner import Runner
from irfuzz.execute.target_table import resolve
from irfuzz.facts import TensorFact
from irfuzz.generate.graph_inputs.extreme_integers import inputs_with_extremes
from irfuzz.generate.input_values import make_inputs
from irfuzz.ir.program import Program
from irfuzz.isolate import Limits
from irfuzz.mutate.mutation_engine import Engine
from irfuzz.mutate.mutator_protocol import Skipped
from irfuzz.mutate.traced_mutant_generation import mutate_many
from irfuzz.oracle.equivalent_form_comparison import Answer, compare_forms
from irfuzz.rewrite.rewrite_chain import rewrite_once
from irfuzz.rewrite.rewrite_rule import Exactness, Rewrite
from irfuzz.rewrite.rewrite_table import build_rewrites
from irfuzz.shipped_folders import seeds_dir
from irfuzz.spec import Specs, has_trait, load_specs, sample_call
from tests.rewrite.test_sound import GRAPHS
from tests.spec.onenode import model_of

JUDGES = ("reference", "torch:eager", "ort:disabled")
FULL = 200
MOST = 4
"""Programs that are drawn for each that is judged; some rewrites skip sites, and some forms no judge takes."""
NODES = range(28, 33)
OPSETS = (17, 17, 13, 18, 21)
TRIES = 40
"""Draws for one program of a rewrite before it is given up."""

TOLERANCE = {"double": 1e-9, "float": 1e-4, "float16": 2e-2}
"""Of the largest magnitude, by element type."""


class Source:
    """Random programs in which a rewrite has a site."""

    def __init__(self, specs: Specs, seed: int) -> None:
        self._specs = specs
        self._seed = seed
        self._engine = Engine(specs)
        self._ops = sorted(
            {
                s.op
                for s in specs.all()
                if s.is_sampled and not s.domain and s.since <= OPSETS[0] and "random" not in s.traits
            }
        )
        self._seeds = [Program.from_bytes(p.read_bytes()) for p in sorted(seeds_dir().glob("*.onnx"))]
        self._seeds = [p for p in self._seeds if len(p.nodes()) < 60]
        head = '<ir_version: 8, opset_import: ["" : 17]>'
        self._seeds += [Program.from_proto(onnx.parser.parse_model(f"{head}\n{text}")) for text in GRAPHS.values()]
        self._of: dict[str, list[str]] = {}
        self._fit: dict[str, list[Program]] = {}

    def programs(self, rewrite: Rewrite, count: int, *, first: int = 0) -> Iterator[tuple[Program, Choices]]:
        """Up to so many, which depend on the number of the ``first``; those that come late cost more draws."""
        ops = self._ops_of(rewrite)
        fit = self._fit.get(rewrite.name)
        if fit is None:
            fit = self._fit[rewrite.name] = [p for p in self._seeds if rewrite.sites(p, self._specs)]
        for index in range(first, first + count):
            for attempt in range(TRIES):
                choices = Choices.from_seed(f"{self._seed}/{rewrite.name}/{index}/{attempt}")
                program = self._draw(choices, ops, fit)
                if program is not None and rewrite.sites(program, self._specs):
                    yield program, choices
                    break

    def call(self, choices: Choices) -> Program | None:
        """A call of any operator."""
        return self._call(choices.pick(self._ops), choices)

    def _draw(self, choices: Choices, ops: list[str], fit: list[Program]) -> Program | None:
        if ops and choices.boolean(0.75):
            program = self._call(choices.pick(ops), choices)
            edits = choices.integer(0, 2)
        elif fit and choices.boolean(0.7):
            program, edits = choices.pick(fit), choices.integer(1, 3)
        else:
            program, edits = self._call(choices.pick(self._ops), choices), choices.integer(2, 4)
        if program is None or not edits:
            return program
        mutant = self._engine.mutate(program, choices, edits=edits)
        return program if mutant is None else mutant.program

    def _call(self, op: str, choices: Choices) -> Program | None:
        """A call of the operator, of float64 where a few draws find one."""
        opset = choices.pick(OPSETS)
        spec = self._specs.get(op, opset)
        if spec is None:
            return None
        found = None
        for _ in range(6):
            call = sample_call(spec, {}, choices, max_elements=128)
            if call is None:
                continue
            found = call
            kinds = {plan.fact.dtype for plan in call.inputs if plan is not None}
            if not kinds & {ir.DataType.FLOAT, ir.DataType.FLOAT16, ir.DataType.BFLOAT16}:
                break
        if found is None:
            return None
        model = model_of(spec, found, opset, np.random.default_rng(choices.integer(0, 1 << 30)))
        if choices.boolean():
            del model.graph.output[1:]
        exact = {f"x{i}" for i, plan in enumerate(found.inputs) if plan is not None and plan.low is not None}
        free = {v.name for v in model.graph.input} - exact if choices.boolean(0.8) else set[str]()
        for tensor in [t for t in model.graph.initializer if t.name in free]:
            model.graph.initializer.remove(tensor)
        for value in [v for v in model.graph.input if v.name not in free]:
            model.graph.input.remove(value)
        try:
            return _typed(model)
        except InvalidProgram:
            return None

    def _ops_of(self, rewrite: Rewrite) -> list[str]:
        """Operators of which some call has a site."""
        if not self._of:
            table = build_rewrites()
            for op in self._ops:
                for draw in range(16):
                    program = self._call(op, Choices.from_seed(f"{self._seed}/{op}/{draw}"))
                    for name, other in table.items() if program is not None else ():
                        if op not in self._of.setdefault(name, []) and other.sites(program, self._specs):
                            self._of[name].append(op)
        return self._of.get(rewrite.name, [])


def _typed(model: onnx.ModelProto) -> Program | None:
    """With the outputs' types, which components want."""
    program = Program.from_proto(model)
    for value in model.graph.output:
        fact = program.fact(program.value(value.name))
        if not isinstance(fact, TensorFact) or not fact.is_static:
            return None
        value.CopyFrom(onnx.helper.make_tensor_value_info(value.name, int(fact.dtype), list(fact.static_shape or ())))
    return Program.from_proto(model)


def _ran(result: RunResult) -> bool:
    return result.exit is Exit.OK and result.stage is Stage.RUN


def _coarsest(program: Program) -> float:
    """The tolerance of the narrowest floats among a program's values."""
    facts = (program.tensor(v) for node in program.nodes() for v in (*node.inputs, *node.outputs) if v is not None)
    kinds = {fact.dtype for fact in facts if fact is not None and fact.dtype.is_floating_point()}
    return max((TOLERANCE.get(kind.name.lower(), 5e-2) for kind in kinds), default=0.0)


def _differs(one: Value, other: Value, tolerance: float) -> bool:
    """Whether two outputs are further apart than rounding explains; what overflowed says nothing."""
    if not isinstance(one, np.ndarray) or not isinstance(other, np.ndarray):
        return type(one) is not type(other)
    if one.dtype != other.dtype or one.shape != other.shape:
        return True
    if one.dtype.kind not in "fc":
        return not np.array_equal(one, other)
    a, b = one.astype(np.float64), other.astype(np.float64)
    if not np.isfinite(a).all():
        return False
    scale = 1 + float(np.abs(a).max(initial=0))
    return not np.allclose(b, a, rtol=0, atol=scale * tolerance, equal_nan=True)


def _steady(program: Program) -> bool:
    """Whether nothing on the way is so coarse that a step may fall otherwise."""
    return not any(has_trait(n, name) for name in ("discontinuous", "quantises", "random") for n in program.nodes())


def sound(count: int, seed: int, wanted: list[str] | None) -> dict[str, Any]:
    """What the judges say of each rewrite."""
    specs = load_specs()
    source = Source(specs, seed)
    rows: dict[str, Counter[str]] = {}
    told: list[str] = []
    with Runner(resolve(JUDGES), Limits(seconds=20.0)) as runner:
        for rewrite in build_rewrites(wanted).values():
            row = rows[rewrite.name] = Counter()
            for program, choices in source.programs(rewrite, MOST * count):
                if row["judged"] >= count:
                    break
                made = rewrite_once(program, specs, rewrite, choices.pick(rewrite.sites(program, specs)), choices)
                for _ in range(6):
                    if not isinstance(made, Skipped):
                        break
                    made = rewrite_once(program, specs, rewrite, choices.pick(rewrite.sites(program, specs)), choices)
                if isinstance(made, Skipped):
                    row["skipped"] += 1
                    continue
                told += _judged(runner, rewrite, program, made[1], made[0].detail, choices.seed() % 1000, row)
            print(f"{rewrite.name}: {dict(row)}", flush=True)
    return {"rewrites": {name: dict(row) for name, row in rows.items()}, "differences": told}


def _judged(
    runner: Runner, rewrite: Rewrite, program: Program, form: Program, detail: str, seed: int, row: Counter[str]
) -> list[str]:
    row["programs"] += 1
    try:
        inputs = inputs_with_extremes(program, seed)
        given = {**make_inputs(form, seed), **inputs}
    except Unsupported:
        row["no inputs"] += 1
        return []
    before, after = runner.run(program, inputs), runner.run(form, given)
    wrong: list[str] = []
    answers: Counter[Answer] = Counter()
    heard = 0
    tolerance = max(_coarsest(program), _coarsest(form))
    for one, other in zip(before, after, strict=True):
        if not _ran(one) or not _ran(other):
            row["refused"] += _ran(one)
            continue
        heard += 1
        if any(_differs(one.outputs[n], other.outputs[n], tolerance) for n in one.outputs):
            answer = _derived(runner, rewrite, program, form, given, one, other)
            answers[answer] += 1
            if answer is Answer.DIFFERENT:
                wrong.append(one.target.name)
    row["judged"] += bool(heard)
    if not wrong:
        row["explained by measured rounding"] += answers[Answer.SAME] > 0
        row["undecided"] += answers[Answer.SAME] == 0 < answers[Answer.UNDECIDED]
        return []
    if not _steady(program):
        row["undecided"] += 1
        return []
    kind = "unsound" if len(wrong) > 1 or heard == 1 else "one component differs"
    row[kind] += 1
    return [f"{rewrite.name}: {kind} ({', '.join(wrong)}): {detail}\n{onnx.printer.to_text(program.to_proto())[:1500]}"]


def _derived(
    runner: Runner,
    rewrite: Rewrite,
    program: Program,
    form: Program,
    given: Mapping[str, Value],
    one: RunResult,
    other: RunResult,
) -> Answer:
    """What the oracle of equivalence says, whose bound comes from the operators and from how far moved inputs go."""
    own = {v.name for v in program.graph.inputs}

    def rerun(moved: Mapping[str, Value], another: Program | None = None, /) -> list[RunResult]:
        asked = {name: value for name, value in moved.items() if name in own}
        return runner.run(program if another is None else another, asked, [one.target])

    bitwise = rewrite.exactness is Exactness.BITWISE
    found = compare_forms(program, form, given, (one, other), specs=load_specs(), bitwise=bitwise, rerun=rerun)
    return found.answer


def overhead(count: int) -> dict[str, Any]:
    """CPU milliseconds of one rewrite: clone, edit, inference and verification."""
    specs, table = load_specs(), build_rewrites()
    named = [(p.name, Program.from_bytes(p.read_bytes())) for p in sorted(seeds_dir().glob("*.onnx"))]
    programs = [m.program for m in mutate_many(named, seed=1, n=300) if len(m.program.nodes()) in NODES][:30]
    took: dict[str, list[float]] = defaultdict(list)
    names = list(table)
    for index in range(20 * count):
        if sum(map(len, took.values())) >= count:
            break
        choices = Choices.from_seed(index)
        program, rewrite = choices.pick(programs), table[choices.pick(names)]
        sites = rewrite.sites(program, specs)
        if not sites:
            continue
        site = choices.pick(sites)
        start = time.process_time()
        made = rewrite_once(program, specs, rewrite, site, choices)
        spent = time.process_time() - start
        if not isinstance(made, Skipped):
            took[rewrite.name].append(1e3 * spent)
    every = [t for row in took.values() for t in row]
    slowest = sorted(((statistics.median(row), name) for name, row in took.items()), reverse=True)[:8]
    return {
        "programs": len(programs),
        "rewrites": len(every),
        "median_ms": round(statistics.median(every), 3),
        "p90_ms": round(statistics.quantiles(every, n=10)[-1], 3),
        "slowest_ms": {name: round(value, 2) for value, name in slowest},
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=("sound", "overhead"))
    parser.add_argument("-n", type=int, help="programs for each rewrite (3), or rewrites to measure (400)")
    parser.add_argument("--full", action="store_true", help=f"{FULL} programs for each rewrite")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--rewrites", type=lambda text: text.split(","))
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    if args.what == "overhead":
        found: Mapping[str, Any] = overhead(args.n or 400)
        print(json.dumps(found, indent=1))
        code = int(found["median_ms"] > 2)
    else:
        found = sound(FULL if args.full else args.n or 3, args.seed, args.rewrites)
        rows = found["rewrites"].values()
        print("\n\n".join(found["differences"]))
        unsound, empty = sum(r.get("unsound", 0) for r in rows), sum(not r.get("judged", 0) for r in rows)
        judged = sum(r.get("judged", 0) for r in rows)
        print(f"{len(rows)} rewrites, {judged} forms judged, {unsound} unsound, {empty} rewrites never judged")
        code = int(bool(unsound or empty))
    if args.json:
        args.json.write_text(json.dumps(found, indent=1))
    return code


if __name__ == "__main__":
    sys.exit(main())
