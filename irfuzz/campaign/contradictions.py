"""A campaign enters; each target runs mutants in several forms and ways, and contradictions are findings."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from irfuzz.campaign import job, lineage
from irfuzz.campaign.config import STOP_AT, TARGETS, Config, Layout
from irfuzz.campaign.contradiction import Contradiction
from irfuzz.campaign.corpus import Corpus
from irfuzz.campaign.equivalence import MOST_NODES, Equivalence
from irfuzz.campaign.faults import INTERNAL, Faults, kind_of, text_of
from irfuzz.campaign.pace import ROUND
from irfuzz.campaign.places import place_bundle
from irfuzz.campaign.seed_inputs import SeedSamples
from irfuzz.choices import Choices
from irfuzz.errors import Unsupported, UsageError
from irfuzz.execute.runner import Runner
from irfuzz.execute.table import resolve
from irfuzz.execute.types import RunResult
from irfuzz.execute.ways import adapters_for, build_ways, others_of
from irfuzz.findings.answers import answer_text
from irfuzz.generate.extremes import inputs_with_extremes
from irfuzz.generate.inputs import make_inputs
from irfuzz.isolate import Limits
from irfuzz.isolate.linux import stay_on_core
from irfuzz.memory import settle
from irfuzz.mutate.convert_opset import NEWEST, newest_for
from irfuzz.mutate.engine import Engine
from irfuzz.oracle.types import Symptom, Verdict
from irfuzz.report.bundle import replays, write_bundle
from irfuzz.report.contradiction import BEFORE, ORACLE
from irfuzz.report.repro import place_of
from irfuzz.rewrite.table import build_rewrites
from irfuzz.search.novelty import Seen
from irfuzz.spec import load_specs
from irfuzz.store.database import Database, FindingRow, ProgramRow, Status
from irfuzz.store.packed_model import is_packed
from irfuzz.store.tensors import pack

if TYPE_CHECKING:
    from irfuzz.campaign.campaign import Campaign, Progress
    from irfuzz.campaign.corpus import Entry
    from irfuzz.ir.program import Program

FORMS = 3
"""Rewritten forms of each mutant; of a large one there is one."""

DEAR = 4
"""In so many turns of a seed each of the ways that take long runs once."""

CHAIN = 4
"""Most rewrites in a row."""

REFRESH = 50
"""Iterations between two looks at what has been added to the corpus."""

SYMPTOMS: Mapping[str, Symptom] = {
    "crash": Symptom.CRASH,
    "hang": Symptom.HANG,
    "rejection": Symptom.REJECTION,
    "shape": Symptom.WRONG_SHAPE,
    "difference": Symptom.DIFFERENCE,
}


def contradict(
    campaign: Campaign, seconds: float | None, watch: Callable[[Progress], None], *, stop_at: int | None = None
) -> Progress:
    """Test each target against itself, in as many processes as the campaign has jobs; see ``Campaign.run``."""
    return campaign.run(seconds, watch, stop_at=stop_at, module=__name__)


def main(argv: Sequence[str]) -> int:
    """Entry point of a job's process, as ``irfuzz.campaign.job.main``."""
    return job.main(argv, SelfTests)


@dataclass(frozen=True, slots=True)
class _Turn:
    """A seed, which of its turns this is, and the rewrites that are tried: so many, since one by its place."""

    entry: Entry
    program: Program
    round: int
    since: int
    forms: int


class SelfTests:
    """The loop of one process.

    Args:
        out: the campaign's folder; its database holds settings and seeds already.
        number: which job this is, from 0. Its programs depend on the campaign's seed and on this number, up to what
            the other jobs add to the corpus meanwhile.
        skip: leave out the program at which this job died.
    """

    def __init__(self, out: Path, number: int, *, skip: bool = False) -> None:
        self.stop = False
        self._layout = Layout(out)
        self._number = number
        self._database = Database(self._layout.database)
        self._config = Config.from_json(self._database.settings()["config"])
        self.iteration, self.programs, counts = self._database.tally(number)
        self.iteration += skip
        self._counts: Counter[str] = Counter(counts)
        self._faults = Faults(self._layout.internal, self._database.blobs)
        self._corpus = Corpus(self._database, self._config.sprouts)
        self._samples = SeedSamples(self._database, self._layout)
        self._seen = Seen()
        settle()

    def run(self) -> None:
        """Work until told to stop, or until this job alone has run as many programs as the campaign is to run.

        Raises:
            UsageError: a target cannot be used.
        """
        config = self._config
        stay_on_core(self._number, config.jobs)
        targets = resolve(config.targets, slow=config.targets is not None)
        others = {target.name: others_of(target, build_ways()) for target in targets}
        whole = [*targets, *(other.target for row in others.values() for other in row)]
        limits = Limits(seconds=config.timeout, memory_bytes=config.memory)
        with Runner(whole, limits, required=config.targets is not None, adapters=adapters_for(others)) as runner:
            engine = Equivalence(runner, load_specs(), build_rewrites(), seed=config.seed, chain=CHAIN, others=others)
            used = {t.name: t.version for t in engine.targets}
            absent = {a.target.name: a.why_not.splitlines()[0] for a in runner.absent}
            self._database.set(TARGETS, json.dumps({"used": used, "absent": absent}))
            newest = min(NEWEST, newest_for((t.opset, t.ir) for t in engine.targets))
            mutate = Engine(
                load_specs(), config.mutators, max_nodes=config.max_nodes, seen=self._seen, donors=self._corpus,
                max_opset=newest,
            )  # fmt: skip
            enough = int(self._database.settings().get(STOP_AT) or 1 << 62)
            while not self.stop and self.programs < enough:
                self._turn(engine, mutate)
        self._database.close()

    def _turn(self, engine: Equivalence, mutate: Engine) -> None:
        """One program; a fault of our own costs this program only."""
        added: list[ProgramRow] = []
        try:
            added = self._one(engine, mutate)
        except UsageError:
            raise
        except Exception as error:  # noqa: BLE001 - whatever we have overlooked must not end a night's campaign
            self._counts[INTERNAL] += 1
            about = {"job": self._number, "iteration": self.iteration, "seed": self._config.seed}
            self._faults.keep(text_of(error), kind_of(error), about=about, models={})
        self.iteration += 1
        self._counts["corpus"] += self._database.record(
            self._number, self.iteration, self.programs, self._counts, added
        )

    def _one(self, engine: Equivalence, mutate: Engine) -> list[ProgramRow]:
        if self.iteration % REFRESH == 0 or not self._corpus.seed_count:
            for program in self._corpus.refresh():
                self._seen.add_program(program)
        choices = Choices.from_seed(f"{self._config.seed}/{ORACLE}/{self._number}/{self.iteration}")
        turn = self._seed_turn(engine)
        edits = ()
        if turn is not None:
            entry, program = turn.entry, turn.program
        else:
            entry = self._corpus.pick(choices)
            parent = self._corpus.program(entry)
            mutant = mutate.mutate(parent, choices, edits=choices.integer(1, self._config.edits))
            if mutant is None:
                self._counts["unmutated"] += 1
                return []
            program, edits = mutant.program, mutant.edits
        try:
            seed, alone = self._config.seed, None if turn is None else turn.round
            inputs = self._samples.give(entry.seed, program, alone, seed, choices)
            if inputs is None:
                extreme = turn is not None or self.iteration % 2
                inputs = (inputs_with_extremes if extreme else make_inputs)(program, seed)
        except Unsupported:
            self._counts["no inputs"] += 1
            return []
        every, small = self._config.every, len(program.nodes()) <= MOST_NODES
        forms, since, place = (FORMS if small else 1), None, self.iteration
        if turn is not None:
            forms, since, place, every = turn.forms, turn.since, turn.round, min(every, DEAR)
        found = list(
            engine.check(
                entry.seed, program, forms, inputs=inputs, since=since,
                dear=lambda way: small and (place + way) % every == 0,
            )
        )  # fmt: skip
        self.programs += 1
        self._counts["runs"] += engine.usable
        self._counts["forms"] = self._counts["forms"] + engine.counts.forms.total()
        engine.counts.forms.clear()
        for item in found:
            self._counts[self._store(item, entry, engine)] += 1
        features = self._seen.add_mutant(program) if edits else 0
        if not engine.usable or not edits or features < self._corpus.bar():
            return []
        data = self._database.programs.mutant(program)
        made = program if is_packed(data) else data
        trace = lineage.dump(lineage.extend(self._corpus.trace(entry), edits, self._corpus.donors(), made))
        return [
            ProgramRow(program.digest, data, entry.seed, entry.digest, trace, features, self._number, self.iteration)
        ]

    def _seed_turn(self, engine: Equivalence) -> _Turn | None:
        """The seed whose turn it is, as it is; ``None`` where it is a mutant's.

        A job begins with its share of the seeds, some rewrites each. Then they take turns with mutants until every
        rewrite that fits a seed was tried on it, and every way to run it.
        """
        own = range(self._number, self._corpus.seed_count, self._config.jobs)
        late = self.iteration - len(own)
        if not own or (late >= 0 and late % 2):
            return None
        index = self.iteration if late < 0 else late // 2
        entry = self._corpus.seed(own[index % len(own)])
        program = self._corpus.program(entry)
        most = ROUND if len(program.nodes()) <= MOST_NODES else 1
        turns = 0 if late < 0 else 1 + index // len(own)
        forms = min(most, max(0, engine.fitting(program) - turns * most))
        return _Turn(entry, program, turns, turns * most, forms) if forms or turns < DEAR else None

    def _store(self, item: Contradiction, entry: Entry, engine: Equivalence) -> str:
        """Make a contradiction small, replay it and keep it, unless its like is known."""
        if self._database.count_again(_key(item)):
            return "repeated"
        small = engine.smallest(item, seconds=self._config.reduce)
        key = _key(small)
        if self._database.count_again(key):
            return "repeated"
        row = row_of(small, key, entry.seed, self._number, self.iteration)
        draft = self._layout.drafts / f"job{self._number}"
        shutil.rmtree(draft, ignore_errors=True)
        write_bundle(draft, row)
        python = small.results[0].target.interpreter
        shown, log = replays(draft, seconds=max(120.0, 12 * self._config.timeout), python=python)
        if not shown:
            runs = json.loads(row.runs)
            row = replace(row, status=Status.UNREPLAYED, runs=json.dumps([*runs, {"repro.py": log[-2000:]}]))
        number = self._database.add_finding(row)
        if number is not None:
            place_bundle(self._layout, replace(row, number=number))
        shutil.rmtree(draft, ignore_errors=True)
        return "repeated" if number is None else "findings" if shown else "unreplayed"


def _key(item: Contradiction) -> str:
    """By which equal contradictions are one: the target, the rewrites, the operator and what is seen."""
    rules = ",".join(sorted({step.rewrite for step in item.chain}))
    return f"{ORACLE}|{item.comparison.symptom}|{item.target}|{rules}|{item.step.operator}"


def row_of(item: Contradiction, key: str, seed: str, job: int = 0, iteration: int = 0) -> FindingRow:
    """A contradiction as a finding; its trace lists the rewrites."""
    comparison = item.comparison
    symptom = SYMPTOMS[comparison.symptom]
    rules = " and ".join(dict.fromkeys(step.rewrite for step in item.chain))
    said = symptom in (Symptom.CRASH, Symptom.HANG, Symptom.REJECTION)
    evidence = {"rewrite": rules, "site": item.step.site, "reason": "" if said else comparison.reason}
    before = item.target + BEFORE
    verdict = Verdict(
        ORACLE, symptom, item.target, (before,), output=comparison.output, distance=comparison.distance,
        bound=comparison.bound, evidence={k: v for k, v in evidence.items() if v}, element=comparison.element,
        got=comparison.got, expected=comparison.expected, operator=item.step.operator,
        message=comparison.reason if said else "",
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
        verdict=json.dumps(verdict.to_json()),
        runs=json.dumps([_run(other, item.target, verdict), _run(one, before, verdict)]),
        trace=json.dumps({"seed": {"name": seed}, "edits": edits}),
        model=item.form_bytes(),
        inputs=pack(item.inputs),
        original_model=item.program.to_bytes(),
        original_inputs=pack({name: value for name, value in item.inputs.items() if name in own}),
        status=Status.CONFIRMED,
        job=job,
        iteration=iteration,
    )


def _run(result: RunResult, name: str, verdict: Verdict) -> dict[str, object]:
    target = result.target
    place = place_of(verdict.element, verdict.output)
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
