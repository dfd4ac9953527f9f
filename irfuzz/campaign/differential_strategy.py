"""Differential testing: mutants run on several targets, and what these disagree on is triaged."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from irfuzz.campaign.config import MANY
from irfuzz.campaign.corpus.changed_target_turns import AGAIN, ChangedTargetTurns
from irfuzz.campaign.corpus.hazard_input_steering import InputSteering
from irfuzz.campaign.corpus.mutation_steering import MutantWorth, RunWorth, Steering
from irfuzz.campaign.corpus.program_corpus import Corpus
from irfuzz.campaign.corpus.testcase import CorpusEntry, Testcase
from irfuzz.campaign.corpus.unmutated_seed_turns import SeedTurns
from irfuzz.campaign.corpus.user_given_seed_inputs import SeedSamples
from irfuzz.campaign.loop import ROUND
from irfuzz.campaign.monitoring import inferred_fact_audit
from irfuzz.campaign.strategy import Strategy
from irfuzz.campaign.targets import compared_program_counts, per_program_selection
from irfuzz.campaign.targets.drawn_calls import LEFT_OUT, MEANT, DrawnCalls
from irfuzz.campaign.targets.failing_target_exclusion import FailingTargets
from irfuzz.campaign.targets.hang_avoidance import HangAvoidance
from irfuzz.campaign.targets.operator_support import OperatorSupport, identity
from irfuzz.campaign.targets.slow_runner import SlowTargets, longest, quick_and_slow
from irfuzz.campaign.targets.slow_sampling import Sampling
from irfuzz.campaign.triage.disagreement_handling import Triage
from irfuzz.campaign.triage.stored_case_queue import StoredQueue
from irfuzz.choices import Choices
from irfuzz.execute.onnxruntime_passes import registered
from irfuzz.execute.run_types import Exit, RunResult, Target
from irfuzz.execute.runner import Runner, versions_that_tell
from irfuzz.execute.target_table import resolve
from irfuzz.findings.failing_case import FailingCase
from irfuzz.findings.finding import Finding
from irfuzz.findings.witness_distrust import wrong_here
from irfuzz.generate.graph_inputs.number_class_draw import draw_numbers
from irfuzz.generate.graph_inputs.seed_model_input_ranges import seed_ranges
from irfuzz.generate.input_values import make_inputs
from irfuzz.ir.program import Program
from irfuzz.isolate import Limits
from irfuzz.mutate.feature_counts import FeatureCounts
from irfuzz.mutate.model_interface.convert_opset import NEWEST, newest_for
from irfuzz.mutate.mutation_trace import parse_trace
from irfuzz.oracle import MeasuringJudge, judge
from irfuzz.oracle.converter_verdicts import concerned
from irfuzz.oracle.excuses import lacks_witness
from irfuzz.oracle.verdict import Verdict

if TYPE_CHECKING:
    from irfuzz.campaign.job import Job

REFRESH, LEARNING = 200, 20
"""Iterations between two looks at what other jobs have added; and the same if it is learnt what targets refuse."""

NO_SHARE = "slow, and gets no share of the time; give a longer --time, or --slow-share"
"""Why a target is left out."""

Runs = list[RunResult]


class Differential(Strategy[Runs, Verdict]):
    """One program, several targets."""

    def __init__(self, job: Job) -> None:
        config = job.config
        self.root = f"{config.seed}/{config.first_job + job.number}"
        self.most = ROUND
        self._job = job
        self.corpus = Corpus(job.database, config.sprouts, job=job.number, jobs=config.jobs)
        self._drawn = DrawnCalls(config)
        self.refresh = LEARNING
        self.steering = Steering(config, self.corpus, FeatureCounts(), NEWEST, self._drawn.limits)
        self.steering.recall(job.database, job.number)
        self._ranges = seed_ranges()
        self._hunt = InputSteering(config.hunt)
        self._samples = SeedSamples(job.database, job.layout)
        self._stored_turns = ChangedTargetTurns(job.database, job.number, config.jobs)
        self._alone: Sequence[tuple[int, int]] = ()
        self._seed: tuple[int, int] | None = None
        self._again = False
        self._stuck = HangAvoidance()
        self._failing = FailingTargets()
        self._support = OperatorSupport(empty=True)

    def runner(self) -> Runner:
        """All quick targets; slow ones are added when their first turn comes, if they have a share of the time."""
        config = self._job.config
        quick, self._later = quick_and_slow(resolve(config.targets, slow=config.slow_share > 0, witness=True))
        if not config.slow_share:
            for target in self._later:
                self._job.targets.drop(target, NO_SHARE)
            self._later = ()
        limits = Limits(seconds=config.timeout, memory_bytes=config.memory)
        most = longest(self._job.time()[0]) if self._later else math.inf
        return Runner(
            quick, limits, required=config.targets is not None, lines=config.python_coverage, longest=most
        )  # fmt: skip

    def begin(self, runner: Runner) -> Sequence[Target]:
        """The runner's targets are under test, and the slow ones, which start when their first turn comes.

        Returns:
            Both, in that order.
        """
        job = self._job
        self._runner = runner
        self._witnesses = per_program_selection.in_doubt(runner.targets, job.config.targets)
        self._quick = per_program_selection.remaining(runner.targets, self._witnesses)
        self._parts = per_program_selection.TimeParts(self._quick)
        seconds, left = job.time()
        sampling = Sampling(self._later, job.config.slow_share, job.counts, until=time.monotonic() + left)
        self._slow = SlowTargets(
            runner, sampling, seconds, job.counts, job.targets.drop, lambda target: job.targets.use([target])
        )  # fmt: skip
        self._seed_turns = SeedTurns(job.counts, many=len(self._quick) > MANY)
        newest = newest_for((t.opset, t.ir) for t in runner.targets)
        if newest != NEWEST:
            self.steering.limit(newest)
            self.corpus.limit(newest)
        self._stored_turns.begin([(t.name, identity(t)) for t in runner.targets], job.iteration, left)
        self._drawn.begin(job.database, runner.targets)
        self.refresh = LEARNING if self._drawn.moving else REFRESH
        self.steering.moved()
        for target in versions_that_tell(runner.targets):
            self.steering.passes.register(target, registered(runner, target))
        waiting = StoredQueue(job.database, job.number, self._remade, job.journal.looks_into)
        self._triage = Triage(
            job.layout, waiting, runner, job.config, job.ends, longest=longest(seconds), patience=job.patience,
            aside=self._failing.aside,
        )  # fmt: skip
        return (*runner.targets, *self._later)

    def _remade(self, trace: Mapping[str, Any]) -> Program:
        return self.corpus.remade(parse_trace(trace, "trace of a waiting case"))

    def absorb(self) -> None:
        """Take in what was added to the corpus, and what was learnt of the targets."""
        if self._drawn.settle():
            self.steering.moved()
        self.refresh = LEARNING if self._drawn.moving else REFRESH
        self.steering.absorb()
        self._alone = self._samples.alone(self.corpus.seeds())

    def schedule(self, choices: Choices, iteration: int) -> CorpusEntry:
        """As the search chooses; the first job begins with the seeds as they are, on each of their samples, and every
        job of a continued campaign with its stored programs if a target has changed since.

        Args:
            choices: of the iteration; the search draws from them even if the seed's turn comes first.
            iteration: of the job, from 0.
        """
        self._drawn.decide(choices)
        entry = self.steering.parent(choices)
        self._seed = None if self._job.number else self._seed_turns.turn(iteration, self._alone)
        if self._seed is None:
            stored = self._stored_turns.turn(iteration, lambda: self.corpus.entries)
            if stored is not None:
                self._drawn.as_given()
            self._again = stored is not None and not self.steering.beyond(stored)
            if stored is None or not self._again:
                return entry
            self._job.counts[AGAIN] += 1
            return stored
        self._again = False
        self._drawn.as_given()
        seed = self.corpus.seed(self._seed[0])
        if self._drawn.limits and self.steering.beyond(seed):
            self._job.counts[LEFT_OUT] += 1
            self._seed = None
            return entry
        return seed

    def mutate(self, entry: CorpusEntry, parent: Program, choices: Choices, iteration: int) -> Testcase | None:
        """As the search plans; a seed or stored program whose turn it is is run without edits.

        Args:
            entry: what ``schedule`` gave.
            parent: its program, which stays as it is.
            choices: of the iteration.
            iteration: of the job.

        Returns:
            ``None`` if the mutant could not be made.
        """
        if self._seed is not None:
            return Testcase(self._job.number, iteration, entry, parent, parent, sample=self._seed[1])
        if self._again:
            return Testcase(self._job.number, iteration, entry, parent, parent)
        mutant, plan = self.steering.mutate(entry, parent, choices)
        return mutant and Testcase(self._job.number, iteration, entry, parent, mutant.program, mutant.edits, plan)

    def feed(self, testcase: Testcase, choices: Choices) -> Testcase:
        """Inputs that are drawn, sampled or steered, and the targets whose turn it is.

        Samples of the seed come first; inputs are steered only if none is given and the program is valid. An invalid
        program goes to every quick target, for who accepts it shows only beside all the others.

        Args:
            testcase: as ``mutate`` made it.
            choices: of the iteration.

        Returns:
            A copy with what was added.
        """
        program, entry, iteration, invalid = testcase.program, testcase.entry, testcase.iteration, testcase.invalid
        ranges = self._ranges.get(entry.seed)
        seed = choices.seed()
        inputs = make_inputs(program, seed, ranges=ranges, numbers=draw_numbers(program, choices))
        given = self._samples.give(entry.seed, program, testcase.sample, seed, choices, ranges)
        # Who accepts what is invalid shows only beside all the others.
        quick, counts = self._quick, self._job.counts
        every = self._job.config.every
        wanted = quick if invalid else per_program_selection.turn(quick, iteration, every, self._parts)
        wanted = (*wanted, *per_program_selection.remaining(self._drawn.meant, wanted))
        counts.update(f"{MEANT} {target.name}" for target in self._drawn.meant)
        wanted = self._failing.left(wanted)
        wanted = self._stuck.spared(entry.seed, program, wanted, counts) or wanted
        worth = self.steering.count(testcase) if testcase.edits and not invalid else MutantWorth()
        hunt = ""
        if given is not None:
            inputs = given
        elif not invalid:
            inputs, hunt = self._hunt.steer(program, inputs, seed, ranges, choices)
            counts["steered"] += bool(hunt)
        whole = self._job.database.programs.whole(program)
        return replace(
            testcase,
            whole=whole,
            inputs=inputs,
            targets=tuple(wanted),
            features=worth.features,
            cost=worth.cost,
            brings=worth.brings,
            keep=worth.keep,
            asks=self.steering.asks(testcase, worth.features),
            hunt=hunt,
        )

    def execute(self, testcases: Sequence[Testcase]) -> Sequence[Runs]:
        """What every target did with each of them; they travel together.

        Args:
            testcases: as ``feed`` gave them, each with its own targets.

        Returns:
            In the same order, one result for each of a testcase's targets.
        """
        return self._runner.run_all(testcases)

    def _more(self, testcase: Testcase, targets: Sequence[Target]) -> Runs:
        return self._runner.run(testcase.program, testcase.inputs, targets, tag=testcase.tag) if targets else []

    def _judged(self, testcase: Testcase, runs: Runs) -> list[Verdict]:
        return judge(
            testcase.program, testcase.inputs, runs, shadow=self._runner.shadow, expected_invalid=testcase.invalid,
            distrust=wrong_here,
        )  # fmt: skip

    def judge(self, testcase: Testcase, runs: Runs) -> tuple[Runs, list[Verdict]]:
        """Disagreements; slow targets are asked about what is new, and all others before anything is believed.

        Args:
            testcase: that was run.
            runs: what ``execute`` gave for it.

        Returns:
            The runs, with those of targets that were asked besides, and the verdicts on all of them. If one is a
            suspect and no slow target ran, everything is measured, which takes reruns.
        """
        seed, program, counts = testcase.entry.seed, testcase.program, self._job.counts
        self._parts.took(runs)
        self._seed_turns.took(sum(r.seconds for r in runs), seed=testcase.sample is not None)
        if not testcase.invalid:
            runs = [*runs, *self._slow.run(testcase)]
        verdicts = self._judged(testcase, runs)
        counts["declared invalid"] += testcase.invalid
        self._count(runs)
        if not testcase.invalid:
            compared_program_counts.count(runs, counts)
            self._set_aside(runs)
        self._stuck.saw(seed, program, runs)
        news = [v for v in verdicts if not self._triage.knows(v, program)]
        if news:
            runs, verdicts = self._asked(testcase, runs, verdicts, self._others(testcase, news))
        if not testcase.invalid and any(map(lacks_witness, verdicts)):
            runs, verdicts = self._asked(testcase, runs, verdicts, self._witnesses)
        if not testcase.invalid and any(v.suspect for v in verdicts) and not any(r.target.slow for r in runs):
            # Most doubts are that nothing was measured; slow targets are measured in triage alone.
            verdicts = MeasuringJudge(self._runner, wrong_here).judge(testcase.program, testcase.inputs, runs)
        return runs, verdicts

    def _set_aside(self, runs: Runs) -> None:
        for target, why in self._failing.saw(runs):
            self._slow.leave_out(target)
            self._job.targets.set_aside(target, why)

    def _others(self, testcase: Testcase, verdicts: Sequence[Verdict]) -> tuple[Target, ...]:
        """The quick targets that have not run a program and on which verdicts on it depend."""
        named = {t.name: t for t in self._runner.targets}
        depended = {t.name for v in verdicts for t in concerned(named[v.target], self._quick)}
        rest = per_program_selection.remaining(self._quick, testcase.targets)
        return rest if testcase.invalid else tuple(t for t in rest if t.name in depended)

    def _asked(
        self, testcase: Testcase, runs: Runs, verdicts: list[Verdict], targets: Sequence[Target]
    ) -> tuple[Runs, list[Verdict]]:
        """The same with what more targets say."""
        left = self._failing.left(targets)
        spared = self._stuck.spared(testcase.entry.seed, testcase.program, left, self._job.counts)
        more = self._more(testcase, spared)
        if not more:
            return runs, verdicts
        runs = [*runs, *more]
        return runs, self._judged(testcase, runs)

    def _count(self, runs: Runs) -> None:
        counts = self._job.counts
        counts["runs"] += len(runs)
        for result in runs:
            counts[f"{result.target.name} {result.exit}"] += 1

    def keep(self, testcase: Testcase, runs: Runs) -> None:
        """A program becomes a parent if it shows what is new, and anything runs it.

        New is what ``feed`` counted, or what ``Steering.ran`` sees in the runs. Runs of a valid program also count for
        what is known of the operators that each target supports.

        Args:
            testcase: that was judged.
            runs: all of it.
        """
        ran = RunWorth() if testcase.invalid else self.steering.ran(testcase, runs)
        refused = not testcase.invalid and self._drawn.saw(testcase.program, runs, self._job.counts)
        wanted = (testcase.keep or ran.keep) and not refused and any(r.exit is Exit.OK for r in runs)
        if wanted and not self.corpus.add(replace(testcase, brings=testcase.brings + ran.brings)):
            self._job.counts["large weights not kept"] += 1
        if not testcase.invalid:
            self._support.saw(testcase.program, runs)

    def triage(self, testcase: Testcase, runs: Runs, wrong: Sequence[Verdict]) -> None:
        """Take note of what is new.

        Each verdict becomes a finding with the trace of the program, and ``Triage.look`` decides what of it waits.

        Args:
            testcase: that was judged.
            runs: all of it.
            wrong: the verdicts on it; nothing happens without one.
        """
        if not wrong:
            return
        self.steering.disagreed(testcase, wrong, runs)
        trace = self.corpus.trace_of(testcase).to_json()
        case, job, at = FailingCase(testcase.program, testcase.inputs), testcase.job, testcase.iteration
        found = [
            Finding(v, case, case, runs, trace=trace, hunt=testcase.hunt, job=job, iteration=at) for v in wrong
        ]  # fmt: skip
        self._triage.look(found, self._job.counts)

    def audit(self, testcase: Testcase) -> None:
        """Every fact of a program now and then is compared with what a run computes.

        That is so in one iteration of ``inferred_fact_audit.EVERY``, and for valid programs only.
        """
        if testcase.iteration % inferred_fact_audit.EVERY == 0 and not testcase.invalid:
            self._job.counts["facts checked"] += inferred_fact_audit.audit(
                self._runner, testcase.program, testcase.inputs
            )

    def work(self) -> None:
        """Look into what waits."""
        self._triage.work(self._job.counts)

    def save(self, *, now: bool = False) -> None:
        """Store what is covered and was learnt in the campaign's database.

        Args:
            now: do so even if the last time was only seconds ago.
        """
        self.steering.tell(self._job.database, self._job.number, now=now)
        self._drawn.tell(self._job.database, self._job.number, now=now)

    def end(self) -> None:
        """What the targets were seen to run goes to a file that all campaigns share."""
        self._support.save()
