"""Self-testing: each target runs mutants in several forms and ways, and where it contradicts itself it is wrong."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from irfuzz.campaign.corpus import feature_count_memory
from irfuzz.campaign.corpus.feature_count_memory import FEATURES
from irfuzz.campaign.corpus.mutation_steering import TELL
from irfuzz.campaign.corpus.program_corpus import Corpus
from irfuzz.campaign.corpus.testcase import CorpusEntry, Testcase
from irfuzz.campaign.corpus.user_given_seed_inputs import SeedSamples
from irfuzz.campaign.self_testing.contradiction_findings import came_to
from irfuzz.campaign.self_testing.contradiction_record import Contradiction
from irfuzz.campaign.self_testing.contradiction_reduction import MOST_NODES
from irfuzz.campaign.self_testing.equivalent_form_testing import Equivalence, FormRuns
from irfuzz.campaign.self_testing.rounds_until_deadline import ROUND
from irfuzz.campaign.stored_findings.archive import CampaignArchive
from irfuzz.campaign.strategy import Strategy
from irfuzz.choices import Choices
from irfuzz.execute.adapters.alternative_runs import adapters_for, build_ways, others_of
from irfuzz.execute.run_types import Target
from irfuzz.execute.runner import Runner
from irfuzz.execute.target_table import resolve
from irfuzz.generate.graph_inputs.extreme_integers import inputs_with_extremes
from irfuzz.generate.input_values import make_inputs
from irfuzz.ir.program import Program
from irfuzz.isolate import Limits
from irfuzz.mutate.feature_counts import FeatureCounts
from irfuzz.mutate.model_interface.convert_opset import NEWEST, newest_for
from irfuzz.mutate.mutation_engine import Engine
from irfuzz.report.repro_scripts.two_form_script import ORACLE
from irfuzz.rewrite.rewrite_table import build_rewrites
from irfuzz.spec import load_specs

if TYPE_CHECKING:
    from irfuzz.campaign.job import Job

FORMS = 3
"""Rewritten forms of each mutant; of a large one there is one."""

DEAR = 4
"""In so many turns of a seed each of the ways that take long runs once."""

CHAIN = 4
"""Most rewrites in a row."""

REFRESH = 50
"""Iterations between two looks at what has been added to the corpus."""


@dataclass(frozen=True, slots=True)
class _Turn:
    """One of a seed's turns as it is: which, and the rewrites that are tried, so many, since one by its place."""

    entry: CorpusEntry
    round: int
    since: int
    forms: int


class SelfTests(Strategy[FormRuns, Contradiction]):
    """One target, several forms of a program and ways to run it.

    A round is one program, for that travels with all of its forms.
    """

    def __init__(self, job: Job) -> None:
        config = job.config
        self.root = f"{config.seed}/{ORACLE}/{config.first_job + job.number}"
        self.refresh, self.most = REFRESH, 1
        self._job = job
        self.corpus = Corpus(job.database, config.sprouts, job=job.number, jobs=config.jobs)
        self._samples = SeedSamples(job.database, job.layout)
        self._seen = FeatureCounts()
        feature_count_memory.recall(job.database.settings().get(f"{FEATURES}{job.number}"), self._seen, self.corpus)
        self._told = time.monotonic()
        self._archive = CampaignArchive(job.layout, job.database, config, patience=job.patience)
        self._others = {t.name: others_of(t, build_ways()) for t in self._targets()}

    def _targets(self) -> list[Target]:
        named = self._job.config.targets
        return list(resolve(named, slow=named is not None))

    def runner(self) -> Runner:
        """All targets, and each way to run a program on one of them as a target of its own."""
        config = self._job.config
        whole = [*self._targets(), *(other.target for row in self._others.values() for other in row)]
        limits = Limits(seconds=config.timeout, memory_bytes=config.memory)
        return Runner(whole, limits, required=config.targets is not None, adapters=adapters_for(self._others))

    def begin(self, runner: Runner) -> Sequence[Target]:
        """The targets themselves are under test; those of their other ways only run beside them.

        Args:
            runner: open, with both.

        Returns:
            The former alone.
        """
        config = self._job.config
        self._engine = Equivalence(
            runner, load_specs(), build_rewrites(), seed=config.seed, chain=CHAIN, others=self._others
        )
        newest = min(NEWEST, newest_for((t.opset, t.ir) for t in self._engine.targets))
        self._mutate = Engine(
            load_specs(), config.mutators, max_nodes=config.max_nodes, seen=self._seen, donors=self.corpus,
            max_opset=newest, domains=config.domains,
        )  # fmt: skip
        return self._engine.targets

    def absorb(self) -> None:
        """Take in what was added to the corpus."""
        for program in self.corpus.refresh():
            self._seen.add_program(program)

    def schedule(self, choices: Choices, iteration: int) -> CorpusEntry:
        """The seed whose turn it is, or by what is new in them.

        Args:
            choices: of the iteration; nothing is drawn if it is a seed's turn.
            iteration: of the job, from 0.
        """
        turn = self._turn(iteration)
        return self.corpus.pick(choices) if turn is None else turn.entry

    def _turn(self, iteration: int) -> _Turn | None:
        """The seed whose turn it is, as it is; ``None`` if it is a mutant's.

        A job begins with its share of the seeds, some rewrites each. Then they take turns with mutants until every
        rewrite that fits a seed was tried on it, and every way to run it.
        """
        own = range(self._job.number, self.corpus.seed_count, self._job.config.jobs)
        late = iteration - len(own)
        if not own or max(late, 0) % 2:
            return None
        index = iteration if late < 0 else late // 2
        entry = self.corpus.seed(own[index % len(own)])
        program = self.corpus.program(entry)
        most = ROUND if len(program.nodes()) <= MOST_NODES else 1
        turns = 0 if late < 0 else 1 + index // len(own)
        forms = min(most, max(0, self._engine.fitting(program) - turns * most))
        return _Turn(entry, turns, turns * most, forms) if forms or turns < DEAR else None

    def mutate(self, entry: CorpusEntry, parent: Program, choices: Choices, iteration: int) -> Testcase | None:
        """A mutant by drawn mutators; a seed whose turn it is stays as it is.

        Args:
            entry: what ``schedule`` gave.
            parent: its program, which is not changed.
            choices: of the iteration; also of how many edits there are.
            iteration: of the job.

        Returns:
            ``None`` if no edit could be made.
        """
        if self._turn(iteration) is not None:
            return Testcase(self._job.number, iteration, entry, parent, parent)
        mutant = self._mutate.mutate(parent, choices, edits=choices.integer(1, self._job.config.edits))
        return mutant and Testcase(self._job.number, iteration, entry, parent, mutant.program, mutant.edits)

    def feed(self, testcase: Testcase, choices: Choices) -> Testcase:
        """Inputs that are drawn or sampled; every target runs every program.

        Drawn ones depend on the program and the campaign's seed alone; those of seeds, and of every second mutant, hold
        extreme integers.

        Args:
            testcase: as ``mutate`` made it.
            choices: of the iteration, for samples.
        """
        turn, program = self._turn(testcase.iteration), testcase.program
        seed, alone = self._job.config.seed, None if turn is None else turn.round
        inputs = self._samples.give(testcase.entry.seed, program, alone, seed, choices)
        if inputs is None:
            extreme = turn is not None or testcase.iteration % 2
            inputs = (inputs_with_extremes if extreme else make_inputs)(program, seed)
        return replace(testcase, inputs=inputs, whole=self._job.database.programs.whole(program))

    def execute(self, testcases: Sequence[Testcase]) -> list[FormRuns]:
        """What each target and its ways make of each program, and the targets of its forms.

        Args:
            testcases: as ``feed`` gave them; each runs by itself, with all of its forms.
        """
        return [self._run(testcase) for testcase in testcases]

    def _run(self, testcase: Testcase) -> FormRuns:
        every, small = self._job.config.every, len(testcase.program.nodes()) <= MOST_NODES
        forms, since, place = (FORMS if small else 1), None, testcase.iteration
        turn = self._turn(testcase.iteration)
        if turn is not None:
            forms, since, place, every = turn.forms, turn.since, turn.round, min(every, DEAR)
        return self._engine.run(
            testcase.entry.seed, testcase.program, testcase.inputs, forms,
            dear=lambda way: small and (place + way) % every == 0, since=since,
        )  # fmt: skip

    def judge(self, testcase: Testcase, runs: FormRuns) -> tuple[FormRuns, list[Contradiction]]:  # noqa: ARG002 - the protocol's
        """Contradictions that show in fresh processes, too.

        Args:
            testcase: that was run.
            runs: what ``execute`` gave for it.

        Returns:
            The runs as they are, and the contradictions: those of other ways to run the program first, then those of
            its forms.
        """
        found = [*self._engine.judge_ways(runs), *self._engine.judge_forms(runs)]
        self._job.counts["runs"] += len(runs.before)
        self._job.counts["forms"] += self._engine.counts.forms.total()
        self._engine.counts.forms.clear()
        return runs, found

    def keep(self, testcase: Testcase, runs: FormRuns) -> None:
        """A mutant becomes a parent if it shows enough that is new, and a target runs it.

        Args:
            testcase: a seed that was run as it is, without edits, is never added again.
            runs: of it.
        """
        if not testcase.edits:
            return
        brought = self.corpus.holders.weigh(testcase.program, self._seen)
        if not runs.before or len(brought.keys) < self.corpus.bar():
            return
        self.corpus.holders.reserve(brought.keys, brought.cost)
        kept = replace(testcase, features=brought.new, cost=brought.cost, brings=brought.keys.tobytes())
        if not self.corpus.add(kept):
            self._job.counts["large weights not kept"] += 1

    def triage(self, testcase: Testcase, runs: FormRuns, wrong: Sequence[Contradiction]) -> None:  # noqa: ARG002 - the protocol's
        """Each contradiction goes through the pipeline at once; nothing waits.

        Args:
            testcase: on which they were seen.
            runs: not looked at.
            wrong: what ``judge`` found; what each comes to is counted.
        """
        for item in wrong:
            self._job.counts[came_to(item, testcase, self._engine, self._job, self._archive)] += 1

    def save(self, *, now: bool = False) -> None:
        """Store what was counted in the campaign's database.

        Args:
            now: do so even if the last time was only seconds ago.
        """
        if now or time.monotonic() - self._told >= TELL:
            feature_count_memory.tell(self._job.database, self._job.number, self._seen, self.corpus)
            self._told = time.monotonic()
