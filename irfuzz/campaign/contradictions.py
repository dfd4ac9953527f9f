"""A campaign and a time enter; each target runs mutants in several forms and ways, and contradictions are findings."""

from __future__ import annotations

import json
import shutil
import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import asdict, replace
from typing import TYPE_CHECKING

from irfuzz.campaign import lineage
from irfuzz.campaign.config import TARGETS
from irfuzz.campaign.corpus import Corpus
from irfuzz.campaign.equivalence import Contradiction, Equivalence, ran
from irfuzz.campaign.faults import INTERNAL, Faults, kind_of, text_of
from irfuzz.campaign.places import place_bundle
from irfuzz.choices import Choices
from irfuzz.errors import Unsupported, UsageError
from irfuzz.execute.runner import Runner
from irfuzz.execute.table import resolve
from irfuzz.execute.types import RunResult
from irfuzz.execute.ways import adapters_for, build_ways, others_of
from irfuzz.generate.inputs import make_inputs
from irfuzz.isolate import Limits
from irfuzz.mutate.convert_opset import NEWEST, newest_for
from irfuzz.mutate.engine import Engine
from irfuzz.oracle.types import Symptom, Verdict
from irfuzz.report.answers import answer_text
from irfuzz.report.bundle import replays, write_bundle
from irfuzz.report.contradiction import BEFORE, ORACLE
from irfuzz.report.repro import place_of
from irfuzz.rewrite.table import build_rewrites
from irfuzz.search.novelty import Seen
from irfuzz.spec import load_specs
from irfuzz.store.database import FindingRow, ProgramRow, Status
from irfuzz.store.tensors import pack

if TYPE_CHECKING:
    from irfuzz.campaign.campaign import Campaign, Progress
    from irfuzz.campaign.corpus import Entry

FORMS = 3
"""Rewritten forms of each program."""

CHAIN = 4
"""Most rewrites in a row."""

LOOK = 2.0
"""Seconds between two tellings of how far it is."""

SYMPTOMS: Mapping[str, Symptom] = {
    "crash": Symptom.CRASH,
    "hang": Symptom.HANG,
    "shape": Symptom.WRONG_SHAPE,
    "difference": Symptom.DIFFERENCE,
}


def contradict(
    campaign: Campaign, seconds: float | None, watch: Callable[[Progress], None], *, stop_at: int | None = None
) -> Progress:
    """Test each target against itself until the time is up or ``stop_at`` programs have run in all, in this process.

    Raises:
        UsageError: there is no seed, or a target cannot be used.
    """
    if not campaign.database.corpus_size():
        raise UsageError("no usable seed; give at least one ONNX model that loads")
    config = campaign.config
    targets = resolve(config.targets, slow=config.targets is not None)
    others = {target.name: others_of(target, build_ways()) for target in targets}
    whole = [*targets, *(other.target for row in others.values() for other in row)]
    limits = Limits(seconds=config.timeout, memory_bytes=config.memory)
    began, before = time.monotonic(), campaign.programs()
    with Runner(whole, limits, required=config.targets is not None, adapters=adapters_for(others)) as runner:
        engine = Equivalence(runner, load_specs(), build_rewrites(), seed=config.seed, chain=CHAIN, others=others)
        used = {t.name: t.version for t in engine.targets}
        absent = {a.target.name: a.why_not.splitlines()[0] for a in runner.absent}
        campaign.database.set(TARGETS, json.dumps({"used": used, "absent": absent}))
        loop = _Loop(campaign, engine, runner)
        told = 0.0
        while True:
            progress = campaign.progress(began, before, loop.faults_before)
            if progress.seconds - told >= LOOK:
                watch(progress)
                told = progress.seconds
            if seconds is not None and progress.seconds >= seconds:
                break
            if stop_at is not None and progress.programs >= stop_at:
                break
            loop.turn()
    watch(progress)
    return progress


class _Loop:
    """What one process does again and again."""

    def __init__(self, campaign: Campaign, engine: Equivalence, runner: Runner) -> None:
        self._campaign = campaign
        self._config = campaign.config
        self._database = campaign.database
        self._engine = engine
        self._runner = runner
        self.iteration, self.programs, counts = self._database.tally(0)
        self._counts: Counter[str] = Counter(counts)
        self.faults_before = self._counts[INTERNAL]
        self._faults = Faults(campaign.layout.internal)
        self._corpus = Corpus(self._database, self._config.sprouts)
        self._seen = Seen()
        for program in self._corpus.refresh():
            self._seen.add_program(program)
        newest = min(NEWEST, newest_for((t.opset, t.ir) for t in engine.targets))
        self._mutate = Engine(
            load_specs(), self._config.mutators, max_nodes=self._config.max_nodes, seen=self._seen,
            donors=self._corpus, max_opset=newest,
        )  # fmt: skip

    def turn(self) -> None:
        """One program; a fault of our own costs this program only."""
        added: list[ProgramRow] = []
        try:
            added = self._one()
        except UsageError:
            raise
        except Exception as error:  # noqa: BLE001 - whatever we have overlooked must not end a night's campaign
            self._counts[INTERNAL] += 1
            about = {"job": 0, "iteration": self.iteration, "seed": self._config.seed}
            self._faults.keep(text_of(error), kind_of(error), about=about, models={})
        self.iteration += 1
        self._counts["corpus"] += self._database.record(0, self.iteration, self.programs, self._counts, added)

    def _one(self) -> list[ProgramRow]:
        choices = Choices.from_seed(f"{self._config.seed}/{ORACLE}/{self.iteration}")
        entry = self._corpus.pick(choices)
        edits = ()
        if self.iteration < self._corpus.seed_count:
            entry = self._corpus.seed(self.iteration)
            program = self._corpus.program(entry)
        else:
            parent = self._corpus.program(entry)
            mutant = self._mutate.mutate(parent, choices, edits=choices.integer(1, self._config.edits))
            if mutant is None:
                self._counts["unmutated"] += 1
                return []
            program, edits = mutant.program, mutant.edits
        try:
            inputs = make_inputs(program, self._config.seed)
        except Unsupported:
            self._counts["no inputs"] += 1
            return []
        before = [r for r in self._runner.run(program, inputs, self._engine.targets) if ran(r)]
        self.programs += 1
        self._counts["runs"] += len(before)
        found: list[Contradiction] = []
        for result in before:
            found += self._engine.by_ways(entry.seed, program, inputs, result)
        for index in range(FORMS if before else 0):
            seed = f"{self._config.seed}:{program.digest}:{index}"
            found += self._engine.by_chain(entry.seed, program, inputs, before, seed)
        for item in found:
            self._counts[self._store(item, entry)] += 1
        features = self._seen.add_mutant(program) if edits else 0
        if not before or not edits or features < self._corpus.bar():
            return []
        data = program.to_bytes()
        trace = lineage.dump(lineage.extend(self._corpus.trace(entry), edits, self._corpus.donors(), data))
        return [ProgramRow(program.digest, data, entry.seed, entry.digest, trace, features, 0, self.iteration)]

    def _store(self, item: Contradiction, entry: Entry) -> str:
        """Make a contradiction small, replay it and keep it, unless its like is known."""
        if self._database.count_again(_key(item)):
            return "repeated"
        small = self._engine.smallest(item, seconds=self._config.reduce)
        key = _key(small)
        if self._database.count_again(key):
            return "repeated"
        row = row_of(small, key, entry.seed, self.iteration)
        draft = self._campaign.layout.drafts / "job0"
        shutil.rmtree(draft, ignore_errors=True)
        write_bundle(draft, row)
        python = small.results[0].target.interpreter
        shown, log = replays(draft, seconds=max(120.0, 12 * self._config.timeout), python=python)
        if not shown:
            runs = json.loads(row.runs)
            row = replace(row, status=Status.UNREPLAYED, runs=json.dumps([*runs, {"repro.py": log[-2000:]}]))
        number = self._database.add_finding(row)
        if number is not None:
            place_bundle(self._campaign.layout, replace(row, number=number))
        shutil.rmtree(draft, ignore_errors=True)
        return "repeated" if number is None else "findings" if shown else "unreplayed"


def _key(item: Contradiction) -> str:
    """By which equal contradictions are one: the target, the rewrites, the operator and what is seen."""
    rules = ",".join(sorted({step.rewrite for step in item.chain}))
    return f"{ORACLE}|{item.comparison.symptom}|{item.target}|{rules}|{item.step.operator}"


def row_of(item: Contradiction, key: str, seed: str, iteration: int = 0) -> FindingRow:
    """A contradiction as a finding; its trace lists the rewrites."""
    comparison = item.comparison
    symptom = SYMPTOMS[comparison.symptom]
    rules = " and ".join(dict.fromkeys(step.rewrite for step in item.chain))
    evidence = {
        "rewrite": rules,
        "operator": item.step.operator,
        "site": item.step.site,
        "element": comparison.element,
        "expected": comparison.expected,
        "got": comparison.got,
        "message" if symptom in (Symptom.CRASH, Symptom.HANG) else "reason": comparison.reason,
    }
    before = item.target + BEFORE
    verdict = Verdict(
        ORACLE, symptom, item.target, (before,), output=comparison.output, distance=comparison.distance,
        bound=comparison.bound, evidence={k: v for k, v in evidence.items() if v},
    )  # fmt: skip
    told = f"{comparison.got} instead of {comparison.expected}" if comparison.got else comparison.symptom
    edits = [{"mutator": s.rewrite, "site": s.site, "detail": s.detail} for s in item.chain]
    one, other = item.results
    own = {v.name for v in item.program.graph.inputs}
    return FindingRow(
        signature=key,
        symptom=symptom,
        target=item.target,
        suspect=False,
        title=f"{item.target} contradicts itself after {rules} of {item.step.operator}: {told}",
        verdict=json.dumps(asdict(verdict)),
        runs=json.dumps([_run(other, item.target, verdict), _run(one, before, verdict)]),
        trace=json.dumps({"seed": {"name": seed}, "edits": edits}),
        model=item.form_bytes(),
        inputs=pack(item.inputs),
        original_model=item.program.to_bytes(),
        original_inputs=pack({name: value for name, value in item.inputs.items() if name in own}),
        status=Status.CONFIRMED,
        job=0,
        iteration=iteration,
    )


def _run(result: RunResult, name: str, verdict: Verdict) -> dict[str, object]:
    target = result.target
    place = place_of(str(verdict.evidence.get("element", "")), verdict.output)
    answer = answer_text(result.outputs, verdict.output, verdict.symptom, place) if verdict.output else ""
    return {
        "target": name,
        "component": target.component,
        "version": target.version,
        "environment": target.environment,
        "requirement": target.requirement,
        "options": dict(target.options),
        "stage": result.stage,
        "exit": result.exit,
        "error": result.error[:500],
        "answer": answer,
    }
