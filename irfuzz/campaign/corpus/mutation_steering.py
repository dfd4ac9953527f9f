"""Draws parents and mutants by the settings and the corpus, and counts what they cover of COMET's space."""

from __future__ import annotations

import json
import time
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from irfuzz.campaign.config import Config
from irfuzz.campaign.corpus import feature_count_memory
from irfuzz.campaign.corpus.fault_trigger_avoidance import FaultTriggers
from irfuzz.campaign.corpus.feature_count_memory import FEATURES
from irfuzz.campaign.corpus.program_corpus import Corpus
from irfuzz.campaign.corpus.testcase import CorpusEntry, Testcase
from irfuzz.campaign.monitoring.python_line_coverage import LINES, LineCoverage
from irfuzz.choices import Choices
from irfuzz.execute.run_types import RunResult
from irfuzz.ir.program import Program
from irfuzz.mutate.drawing_limits import DrawingLimits, Steered, SteeredGaps
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

PARENTS, AGAIN = 8, 3
"""With limits of what is drawn: parents that are tried before one of one node is taken, and further mutants of one."""

NO_LIMITS = DrawingLimits()

CALLS = 0.85
"""How often a program that grows from one node is one or two drawn calls and nothing else."""

TELL = 5.0
"""Seconds between two times that a job says so."""

TELLING = 0.02
"""Part of its time that a job takes to say how often it saw each feature, at most: the more there are, the more seldom.
"""


@dataclass(frozen=True, slots=True)
class MutantWorth:
    """What a mutant is worth to the corpus before it has run.

    Attributes:
        features: how many are new to mutation.
        keep: what the search says of keeping it.
        cost: of the program.
        brings: features that nobody in the corpus holds, or somebody dearer, as ``feature_holders.Keys`` in bytes.
    """

    features: int = 0
    keep: bool = False
    cost: int = 0
    brings: bytes = b""


@dataclass(frozen=True, slots=True)
class RunWorth:
    """What the runs of a mutant show besides.

    Attributes:
        keep: passes fired, or lines ran, for the first time, or enough of them with what else it brings.
        brings: as in ``MutantWorth``, features of passes and lines.
    """

    keep: bool = False
    brings: bytes = b""


class Steering:
    """What one job mutates next, and how.

    Args:
        config: of the campaign.
        corpus: of the job.
        seen: what mutation counts as new.
        max_opset: conversion of models goes no further.
        limits: of what is drawn; those who change them call ``moved``.
    """

    def __init__(
        self, config: Config, corpus: Corpus, seen: FeatureCounts, max_opset: int, limits: DrawingLimits = NO_LIMITS
    ) -> None:
        self._config = config
        self._limits = limits
        self._beyond: dict[tuple[str, bool], str] = {}
        self._corpus = corpus
        self._seen = seen
        self.frontier = Frontier(load())
        self.fusions = Fusions()
        self.lines = LineCoverage()
        self.passes = PassCoverage()
        self.aims = PatternAims(self.passes)
        self.triggers = FaultTriggers()
        self._told = (0.0, 0, 0, 0)
        self._counts_told, self._pause = 0.0, TELL
        self._learnt: dict[str, Any] | None = None
        self._credits: list[tuple[CorpusEntry, tuple[str, ...], int]] = []
        self.limit(max_opset)

    def limit(self, max_opset: int) -> None:
        """Begin anew with another highest opset: a new engine and a new search, which recalls what was learnt before.

        Args:
            max_opset: newest version of ONNX's default domain that the targets take.
        """
        self._make_engine(max_opset)
        self.search = make_search(self._config.search, tuple(self.engine.mutators))
        if self._learnt is not None:
            self.search.recall(self._learnt["search"])

    def _make_engine(self, max_opset: int) -> None:
        named = self._config.mutators or USES.get(self._config.search)
        self._max_opset, self._limited = max_opset, self._limits.ever
        self.engine = Engine(
            load_specs(),
            named,
            max_nodes=self._config.max_nodes,
            seen=Steered(self._seen, self._limits) if self._limited else self._seen,
            donors=self._corpus,
            max_opset=max_opset,
            weights=campaign_weights() if named is None else None,
            wanted=SteeredGaps(self.frontier, self._limits) if self._limited else self.frontier,
            constraints=self._limits if self._limited else None,
            domains=self._config.domains,
        )

    def parent(self, choices: Choices) -> CorpusEntry:
        """The next parent, as the search chooses it from the corpus.

        Args:
            choices: of the iteration; every draw comes from them.
        """
        limited = bool(self._limits)
        entry = self._corpus.pick(choices, self.search, widely=not limited)
        if not limited:
            return entry
        for _ in range(PARENTS):
            if self._corpus.is_small(entry.digest) or not self.beyond(entry):
                return entry
            entry = self._corpus.pick(choices, self.search)
        return (self.search.sprouts and self._corpus.small_parent(choices)) or entry

    def beyond(self, entry: CorpusEntry) -> str:
        """Why a program of the corpus may not be drawn; empty if it may. The answer is kept until ``moved``.

        Args:
            entry: the program's.
        """
        if not self._limits:
            return ""
        asked = entry.digest, self._limits.exploring
        if asked not in self._beyond:
            self._beyond[asked] = self._limits.why_not(self._corpus.program(entry))
        return self._beyond[asked]

    def moved(self) -> None:
        """The limits are others now."""
        if self._limits.ever and not self._limited:
            self._make_engine(self._max_opset)
        self._beyond.clear()
        self._corpus.narrow(lambda opset: not self._limits.forbids(("opset", opset)))

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
        small = bool(self._limits) and self._corpus.is_small(entry.digest)
        plan = plan_of(self.search, entry, program, choices, self._config.edits, self.engine.mutators, alone=small)
        most = self._corpus.most_nodes(entry, self._config.max_nodes)
        self._limits.whole = small
        mutant = self.engine.mutate(program, choices, len(plan), plan, max_nodes=most)
        for _ in range(AGAIN if self._limits else 0):
            if mutant is not None and not self._limits.why_not(mutant.program):
                break
            mutant = self.engine.mutate(program, choices, len(plan), plan, max_nodes=most)
        if mutant is not None and self._limits and self._limits.why_not(mutant.program):
            mutant = None
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

    def count(self, testcase: Testcase) -> MutantWorth:
        """What a valid mutant shows that is new to mutation, or cheaper than in the corpus.

        Args:
            testcase: of a mutant; its program now counts as seen, and the search learns what its edits gained.
        """
        program, holders = testcase.program, self._corpus.holders
        brought = holders.weigh(program, self._seen)
        before = self.frontier.worth
        gain = self.frontier.add_mutant(program)
        applied = tuple(edit.mutator for edit in testcase.edits)
        outcome = MutationOutcome(
            applied, gain, len(brought.keys), len(program.nodes()), worth=self.frontier.worth - before
        )
        self.search.learn(testcase.entry, testcase.plan, outcome)
        keep = self.search.keeps(outcome, self._corpus.bar())
        if keep:
            holders.reserve(brought.keys, brought.cost)
            self.fusions.add_mutant(program)  # of every mutant it would take a fifth of a job's time
        return MutantWorth(brought.new, keep, brought.cost, brought.keys.tobytes())

    def asks(self, testcase: Testcase, new: int) -> Mapping[str, str] | None:
        """What the targets are asked for besides: which passes changed the program, if that may be new.

        Args:
            testcase: with its edits.
            new: how many of its features are new.

        Returns:
            ``None`` for most programs without anything new, to save time: one in ``ASKED`` is asked about all the same.
            An invalid program is never asked about.
        """
        edited = bool(testcase.patterns)
        likely = not testcase.edits or new > 0 or edited or testcase.iteration % ASKED == 0
        return self.passes.asks() if likely and not testcase.invalid else None

    def ran(self, testcase: Testcase, results: Sequence[RunResult]) -> RunWorth:
        """Whether a mutant fired passes of optimisers, a pair of them, or ran lines, that no program before it did, or
        fired them cheaper than the corpus.

        Args:
            testcase: that was run.
            results: all of its runs.
        """
        lines = self.lines.add(results)
        fired = self.passes.add(results, testcase.program.digest) if testcase.asks is not None else 0
        new = lines + (fired if testcase.edits else 0)
        if testcase.asks is not None:
            self.aims.ran(testcase.patterns, results)
            if new or testcase.keep:
                self.aims.keep(testcase.program.digest, results)
        if not testcase.edits:
            return RunWorth(new > 0)
        if new:
            self._credits.append((testcase.entry, tuple(edit.mutator for edit in testcase.edits), new))
        return self._run_worth(testcase, results, lines, new)

    def _run_worth(self, testcase: Testcase, results: Sequence[RunResult], lines: int, new: int) -> RunWorth:
        holders = self._corpus.holders
        shown = list(self.passes.features(results)) if testcase.asks is not None else []
        if lines:  # they are told once, so no other program will be known to run them
            shown.append(("lines", testcase.program.digest))
        if not shown:
            return RunWorth()
        brings = holders.news(holders.keys(shown), testcase.cost)
        enough = len(brings) and len(brings) + len(testcase.brings) // 8 >= self._corpus.bar()
        keep = new > 0 or bool(enough and self.search.culls)
        if keep or testcase.keep:
            holders.reserve(brings, testcase.cost)
        return RunWorth(keep, brings.tobytes())

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
        """Count a whole program that came into the corpus: of a mutant only what was edited is counted as it is made.

        Args:
            program: given in the order in which the corpus grew, each once, as ``Corpus.refresh`` gives them.
        """
        self._seen.add_program(program)
        self.frontier.add(program)
        if self._corpus.is_seed(program.digest):
            self.fusions.add(program)  # whoever made another program has counted it

    def absorb(self) -> None:
        """Take in what was added to the corpus, by any job, and let what ran steer what comes."""
        self.credit()
        for program in self._corpus.refresh(culls=self.search.culls):
            self.add(program)
        self.passes.follow(self._corpus.holder)

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
        feature_count_memory.recall(settings.get(f"{FEATURES}{number}"), self._seen, self._corpus, counted=bool(text))
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
        if now or seconds - self._counts_told >= self._pause:
            self._tell_counts(database, number, seconds)
        learnt = {"schema": SCHEMA, "name": self.search.name, "search": self.search.state()}
        database.set(f"{LEARNT}{number}", _text(learnt))

    def _tell_counts(self, database: Database, number: int, seconds: float) -> None:
        began = time.process_time()
        feature_count_memory.tell(database, number, self._seen, self._corpus)
        self._counts_told, self._pause = seconds, max(TELL, (time.process_time() - began) / TELLING)


def plan_of(
    search: Search,
    entry: Parent,
    program: Program,
    choices: Choices,
    most: int,
    mutators: Container[str],
    *,
    alone: bool = False,
) -> tuple[str | None, ...]:
    """What a search plans, or drawn calls in the place of a program that only copies its input.

    Calls on their own run in a fraction of the time, are small already, and no cast, slice or clip that leads to them
    or from them hides what is wrong with them.
    """
    if InsertNeighbours.name in mutators and bare(program) is not None and (alone or choices.boolean(CALLS)):
        return called(choices, mutators)
    return search.plan(entry, choices, most)


def _text(state: Mapping[str, Any]) -> str:
    return json.dumps(state, separators=(",", ":"))
