"""Draws parents and mutants by the settings and the corpus, and counts what they cover of COMET's space."""

from __future__ import annotations

import json
import time
from collections.abc import Container, Mapping, Sequence
from typing import Any

from irfuzz.campaign.config import Config
from irfuzz.campaign.corpus.fault_trigger_avoidance import FaultTriggers
from irfuzz.campaign.corpus.program_corpus import Corpus
from irfuzz.campaign.corpus.testcase import CorpusEntry, Testcase
from irfuzz.campaign.monitoring.python_line_coverage import LINES, LineCoverage
from irfuzz.choices import Choices
from irfuzz.execute.run_types import RunResult
from irfuzz.ir.program import Program
from irfuzz.mutate.drawn_calls.identity_program_filling import bare
from irfuzz.mutate.drawn_calls.identity_program_mutator_choice import called
from irfuzz.mutate.drawn_calls.insert_neighbours import InsertNeighbours
from irfuzz.mutate.feature_counts import Feature, FeatureCounts
from irfuzz.mutate.mutation_engine import Engine, Mutant
from irfuzz.mutate.mutator_table import campaign_weights
from irfuzz.oracle.verdict import Verdict
from irfuzz.search.coverage.coverable_call_space import load
from irfuzz.search.coverage.fusion_coverage import Fusions
from irfuzz.search.coverage.pass_coverage import PassCoverage
from irfuzz.search.coverage.pattern_priorities import PatternAims
from irfuzz.search.coverage.uncovered_operator_calls import Frontier
from irfuzz.search.strategies.strategy_protocol import MutationOutcome, Parent, Search
from irfuzz.search.strategies.strategy_table import USES, make_search
from irfuzz.spec import load_specs
from irfuzz.store.database import Database

SCHEMA = 2
"""Of what a job remembers of its search."""

COVERAGE = "coverage of job "
"""Key of the setting in which a job says what its programs cover, before its number."""

FUSIONS = "fusion patterns of job "
"""Key of the setting in which a job says which fusion patterns its programs show, before its number."""

PASSES = "passes of job "
"""Key of the setting in which a job says which passes of optimisers its programs fired, before its number."""

AIMS = "pattern aims of job "
"""Key of the setting in which a job says which passes its patterns fired, before its number."""

TRIGGERS = "fault triggers of job "
"""Key of the setting in which a job says what it draws less because of known faults, before its number."""

ASKED = 8
"""Of every so many programs one is asked which passes changed it, beside those that are likely to fire what is new.

To be told costs a third of a millisecond, and one session more where rewrite rules are looked for.
"""

LEARNT = "search of job "
"""Key of the setting in which a job says what its search has learnt, before its number."""

CALLS = 0.85
"""How often a program that grows from one node is one or two drawn calls and nothing else."""

TELL = 5.0
"""Seconds between two times that a job says so."""


class Steering:
    """What one job mutates next, and how.

    Args:
        config: of the campaign.
        corpus: of the job.
        seen: what mutation counts as new.
        max_opset: conversion of models goes no further.
    """

    def __init__(self, config: Config, corpus: Corpus, seen: FeatureCounts, max_opset: int) -> None:
        self._config = config
        self._corpus = corpus
        self._seen = seen
        self.frontier = Frontier(load())
        self.fusions = Fusions()
        self.lines = LineCoverage()
        self.passes = PassCoverage()
        self.aims = PatternAims(self.passes)
        self.triggers = FaultTriggers()
        self._told = (0.0, 0, 0, 0)
        self._learnt: dict[str, Any] | None = None
        self._known = 0
        self._credits: list[tuple[CorpusEntry, tuple[str, ...], int]] = []
        self.limit(max_opset)

    def limit(self, max_opset: int) -> None:
        """Begin anew with another highest opset: a new engine and a new search, which recalls what was learnt before.

        Args:
            max_opset: newest version of ONNX's default domain that the targets take.
        """
        named = self._config.mutators or USES.get(self._config.search)
        self.engine = Engine(
            load_specs(),
            named,
            max_nodes=self._config.max_nodes,
            seen=self._seen,
            donors=self._corpus,
            max_opset=max_opset,
            weights=campaign_weights() if named is None else None,
            wanted=self.frontier,
            domains=self._config.domains,
        )
        self.search = make_search(self._config.search, tuple(self.engine.mutators))
        if self._learnt is not None:
            self.search.recall(self._learnt["search"])

    def parent(self, choices: Choices) -> CorpusEntry:
        """The next parent, as the search chooses it from the corpus.

        Args:
            choices: of the iteration; every draw comes from them.
        """
        return self._corpus.pick(choices, self.search)

    def mutate(
        self, entry: CorpusEntry, program: Program, choices: Choices
    ) -> tuple[Mutant | None, tuple[str | None, ...]]:
        """A mutant of a parent, as the search plans it; ``None`` if it could not be made.

        Args:
            entry: the parent's.
            program: the parent; it stays as it is.
            choices: of the iteration.

        Returns:
            The mutant, and the plan: a mutator's name for each edit, ``None`` for an edit by any of them. The search is
            told if the mutant could not be made.
        """
        self._seen.favour(self._favours(entry))
        plan = plan_of(self.search, entry, program, choices, self._config.edits, self.engine.mutators)
        most = self._corpus.most_nodes(entry, self._config.max_nodes)
        mutant = self.engine.mutate(program, choices, len(plan), plan, max_nodes=most)
        if mutant is None:
            self.search.learn(entry, plan, MutationOutcome((), 0, 0, entry.nodes))
        return mutant, plan

    def _favours(self, entry: CorpusEntry) -> Mapping[Feature, float]:
        """What draws on a parent are worth: patterns by the passes that they may fire, known faults' triggers less."""
        aimed, shunned = self.aims.worths(entry.digest), self.triggers.favours()
        found = {**aimed, **shunned}
        for feature in shunned.keys() & aimed.keys():
            found[feature] = aimed[feature] * shunned[feature]
        return found

    def count(self, testcase: Testcase) -> tuple[int, bool]:
        """How many features of a valid mutant are new to mutation, and whether it is to be a parent.

        Args:
            testcase: of a mutant; its program now counts as seen, and the search learns what its edits gained.

        Returns:
            Two answers: the count, and what the search says of keeping it beside the corpus's bar.
        """
        program = testcase.program
        features = self._seen.add_mutant(program)
        before = self.frontier.worth
        gain = self.frontier.add_mutant(program)
        applied = tuple(edit.mutator for edit in testcase.edits)
        outcome = MutationOutcome(applied, gain, features, len(program.nodes()), worth=self.frontier.worth - before)
        self.search.learn(testcase.entry, testcase.plan, outcome)
        keep = self.search.keeps(outcome, self._corpus.bar())
        if keep:
            self.fusions.add_mutant(program)  # of every mutant it would take a fifth of a job's time
        return features, keep

    def asks(self, testcase: Testcase, features: int) -> Mapping[str, str] | None:
        """What the targets are asked for besides: which passes changed the program, if that may be new.

        Args:
            testcase: with its edits.
            features: how many of its features are new.

        Returns:
            ``None`` for most programs without anything new, to save time: one in ``ASKED`` is asked about all the same.
            An invalid program is never asked about.
        """
        edited = bool(testcase.patterns)
        likely = not testcase.edits or features > 0 or edited or testcase.iteration % ASKED == 0
        return self.passes.asks() if likely and not testcase.invalid else None

    def ran(self, testcase: Testcase, results: Sequence[RunResult]) -> bool:
        """Whether a mutant fired passes of optimisers, a pair of them, or ran lines, that no program before it did."""
        new = self.lines.add(results)
        fired = self.passes.add(results, testcase.program.digest) if testcase.asks is not None else 0
        new += fired if testcase.edits else 0
        if testcase.asks is not None:
            self.aims.ran(testcase.patterns, results)
            if new or testcase.keep:
                self.aims.keep(testcase.program.digest, results)
        if new and testcase.edits:
            self._credits.append((testcase.entry, tuple(edit.mutator for edit in testcase.edits), new))
        return new > 0

    def disagreed(self, testcase: Testcase, wrong: Sequence[Verdict], results: Sequence[RunResult]) -> None:
        """Take note of what is said against a mutant: what it hangs on is drawn less from the next ``credit`` on."""
        if testcase.edits:
            slow = {result.target.name for result in results if result.target.slow}
            self.triggers.add(wrong, testcase.program, testcase.patterns, slow)

    def credit(self) -> None:
        """Let what ran steer what comes, at times that do not depend on how many programs travel together."""
        for entry, mutators, new in self._credits:
            self.search.ran(entry, mutators, new)
        self._credits.clear()
        self.aims.settle()
        self.triggers.settle()

    def add(self, program: Program) -> None:
        """Count a program of the corpus; what this job covered before it was stopped holds the older ones already.

        Args:
            program: given in the order in which the corpus grew, each once, as ``Corpus.refresh`` gives them.
        """
        self._seen.add_program(program)
        if self._known:
            self._known -= 1
        else:
            self.frontier.add(program)
            if len(self._corpus) <= self._corpus.seed_count:
                self.fusions.add(program)  # a seed; whoever made another program has counted it

    def recall(self, database: Database, number: int) -> None:
        """Go on from what this job covered and learnt before; call it before any program is added.

        Args:
            database: of the campaign, in whose settings ``tell`` wrote it.
            number: of the job. What another search learnt is left out.
        """
        settings = database.settings()
        text = settings.get(f"{COVERAGE}{number}")
        if text:
            self.frontier.absorb(json.loads(text))
        self.fusions.absorb(json.loads(settings.get(f"{FUSIONS}{number}") or "{}"))
        self.lines.absorb(json.loads(settings.get(f"{LINES}{number}") or "{}"))
        self.passes.absorb(json.loads(settings.get(f"{PASSES}{number}") or "{}"))
        self.aims.recall(json.loads(settings.get(f"{AIMS}{number}") or "{}"))
        self.triggers.recall(json.loads(settings.get(f"{TRIGGERS}{number}") or "{}"))
        learnt = settings.get(f"{LEARNT}{number}")
        found: dict[str, Any] = json.loads(learnt) if learnt else {}
        if (found.get("schema"), found.get("name")) == (SCHEMA, self.search.name):
            self._learnt = found
            self.search.recall(found["search"])
            self._corpus.recall(found["picked"])
            self._known = len(found["picked"]) if text else 0

    def tell(self, database: Database, number: int, *, now: bool = False) -> None:
        """Let the campaign know what is covered and was learnt, now and then; a killed job goes on from there."""
        seconds, covered, fusions = time.monotonic(), self.frontier.covered, self.fusions.covered
        last, known, shown, fired = self._told
        if seconds - last < TELL and not now:
            return
        self._told = seconds, covered, fusions, self.passes.covered
        if fusions != shown:
            database.set(f"{FUSIONS}{number}", _text(self.fusions.state()))
        if self.passes.covered != fired:
            database.set(f"{PASSES}{number}", _text(self.passes.state()))
        database.set(f"{AIMS}{number}", _text(self.aims.state()))
        database.set(f"{TRIGGERS}{number}", _text(self.triggers.state()))
        if self._config.python_coverage:
            database.set(f"{LINES}{number}", _text(self.lines.state()))
        if covered != known:
            database.set(f"{COVERAGE}{number}", _text(self.frontier.state()))
        learnt = {
            "schema": SCHEMA, "name": self.search.name, "search": self.search.state(), "picked": self._corpus.picked(),
        }  # fmt: skip
        database.set(f"{LEARNT}{number}", _text(learnt))


def plan_of(
    search: Search, entry: Parent, program: Program, choices: Choices, most: int, mutators: Container[str]
) -> tuple[str | None, ...]:
    """What a search plans, or drawn calls in the place of a program that only copies its input.

    Calls on their own run in a fraction of the time, are small already, and no cast, slice or clip that leads to them
    or from them hides what is wrong with them.
    """
    if InsertNeighbours.name in mutators and bare(program) is not None and choices.boolean(CALLS):
        return called(choices, mutators)
    return search.plan(entry, choices, most)


def _text(state: Mapping[str, Any]) -> str:
    return json.dumps(state, separators=(",", ":"))
