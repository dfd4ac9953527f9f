"""Asks targets, before a campaign runs, what they refuse: seeds, a call of each operator, then of each element type.

Between the first two, opsets and element types are asked about for some operators of seeds: most programs are refused
for these if they are not known.

What is drawn depends on the answers and on nothing else, so two probes of one target are alike unless time ends one. On
a slow machine a share of a short campaign's time is a handful of programs, which teach next to nothing; so until each
operator was asked for once, a longer limit holds.
"""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from typing import TYPE_CHECKING

import onnx_ir as ir

from irfuzz.campaign.targets.drawn_calls import REFUSALS, limits_of, recalled
from irfuzz.campaign.targets.operator_support import identity
from irfuzz.campaign.targets.refusal_learning import learnt_of
from irfuzz.choices import Choices
from irfuzz.errors import Unsupported
from irfuzz.execute.request_batching import Task
from irfuzz.execute.run_types import Exit
from irfuzz.execute.runner import Runner
from irfuzz.generate.drawn_call_programs import drawn_call
from irfuzz.generate.input_values import make_inputs
from irfuzz.generate.one_node_programs import sprouts, sprouts_up_to
from irfuzz.ir.program import Program
from irfuzz.isolate import Limits
from irfuzz.mutate.call_traits import RANK, traits
from irfuzz.mutate.drawing_limits import Steered
from irfuzz.mutate.drawn_calls.insert_neighbours import InsertNeighbours
from irfuzz.mutate.drawn_calls.single_call_draw import Start, starts_of
from irfuzz.mutate.feature_counts import FeatureCounts
from irfuzz.mutate.model_interface.convert_opset import newest_for
from irfuzz.mutate.mutation_engine import Engine
from irfuzz.mutate.mutator_context import Context
from irfuzz.spec import load_specs

if TYPE_CHECKING:
    from irfuzz.campaign.config import Config
    from irfuzz.campaign.targets.refusal_learning import RefusalMemory
    from irfuzz.execute.run_types import Target
    from irfuzz.mutate.drawing_limits import DrawingLimits
    from irfuzz.spec import OpSpec
    from irfuzz.store.database import Database

OPSETS = (17, 13, 21, 11, 9, 18, 23, 24, 22, 12, 10, 25, 26, 27, 28)
"""The first of these at which any operator runs is asked about; the others for what is new there."""

USUAL, OF_RANK, OTHERS, OF_TYPE, OF_OPSET = 8, 2, 4, 3, 2
"""Calls of an operator on its most usual element type, and those of them of one rank; types that are tried once if none
of these ran; calls on each of its types if one did; and calls of an operator that ran at each other opset.
"""

SEEDS, SEED_NODES = 50, 100
"""Seeds that are run first, the smallest ones, and nodes of the largest of them: what they have is likely taken."""

FEW = 2
"""Operators that seeds showed to run of which calls at other opsets, and of other element types, come next."""

DRAWS = 3
"""Times as many calls are drawn as are asked for: those run that show another rank, or nothing else that is refused."""

REHEARSED = 600
"""Programs that are drawn as a campaign draws them, in the light of what was learnt, once the calls are asked for."""

TOGETHER = 25
"""Programs between two times that is learnt from them."""

PROBED = "probed"
"""Key of the setting with the targets of which all was asked, in their versions."""


@dataclass(frozen=True, slots=True)
class ProbeResult:
    """What a probe came to.

    Attributes:
        programs: that ran.
        refused: how many of them a target refused.
        asked: operators of which a call ran or was refused.
        taken: those of which one ran, on every target.
        complete: time did not end it.
    """

    programs: int
    refused: int
    asked: int
    taken: tuple[str, ...]
    complete: bool

    def __str__(self) -> str:
        more = "" if self.complete else "; its time was up before it was done"
        return f"{len(self.taken)} of {self.asked} operators are taken ({self.programs} programs asked for it{more})"


class RefusalProbe:
    """Runs calls on some targets and has a memory learn from the answers.

    Args:
        runner: open.
        targets: those of the runner that are asked.
        memory: learns.
        limits: of what is drawn; obey the memory.
        opset: newest that the targets take.
        seeds: of the campaign.
    """

    def __init__(
        self,
        runner: Runner,
        targets: Sequence[Target],
        memory: RefusalMemory,
        limits: DrawingLimits,
        opset: int,
        seeds: Sequence[Program] = (),
    ) -> None:
        self._runner = runner
        self._targets = targets
        self._memory = memory
        self._limits = limits
        self._newest = opset
        small = sorted((p for p in seeds if len(p.nodes()) <= SEED_NODES), key=lambda p: len(p.nodes()))
        self._seeds = small[:SEEDS]
        self._until = self._longest = 0.0
        self._all_asked = False
        self._seen = FeatureCounts()
        self._context = Context(load_specs(), Steered(self._seen, limits))
        self._asked: set[str] = set()
        self._programs = self._refused = 0
        memory.test(targets)

    def run(self, seconds: float, say: Callable[[int], None] = lambda _: None, *, longest: float = 0.0) -> ProbeResult:
        """Ask until all is asked, or the time is up.

        Args:
            seconds: at most; what is known by then is learnt.
            say: told after each batch how many programs have run.
            longest: seconds instead, if it is more, until each operator was asked for once.
        """
        began = time.monotonic()
        self._until, self._longest = began + seconds, began + max(seconds, longest)
        seeds = ((programs, True) for programs in _together(self._seeds))
        calls = ((programs, False) for programs in self._batches())
        for programs, given in chain(seeds, calls):
            self._ask(programs, runs_only=given)  # what a seed gets for inputs may be what no target takes
            say(self._programs)
            if self._over():
                break
        taken = tuple(sorted(op for op in self._asked if self._ran(op)))
        return ProbeResult(self._programs, self._refused, len(self._asked), taken, not self._over())

    def _over(self) -> bool:
        return time.monotonic() > (self._until if self._all_asked else self._longest)

    def _batches(self) -> Iterator[Sequence[Program]]:
        """Programs to run together; what was learnt from those before decides on the next."""
        yield from _together(self._of_the_whole())
        for opset in (o for o in OPSETS if o <= self._newest):
            specs = self._specs(opset)
            known = [(spec, starts) for spec, starts in specs if spec.op in self._asked and self._ran(spec.op)]
            yield from _together(p for spec, starts in known for p in self._taken(opset, spec, starts[0], OF_OPSET))
            if not known or self._ran_at(opset):
                specs = [(spec, starts) for spec, starts in specs if not known or spec.op not in self._asked]
                yield from self._operators(opset, specs)
        yield from self._rehearsal()

    def _of_the_whole(self) -> Iterator[Program]:
        """Calls of a few operators that seeds showed to run, at each opset, then of each element type."""
        ops = {str(f[1]) for t in self._targets for f in self._memory.table(t).ran if f[0] == "operator"}
        within = sorted(ops if self._limits.ops is None else ops & self._limits.ops)
        chosen = [op for op in within if self._ran(op) and _drawable(op, OPSETS[0])][:FEW]
        for opset in OPSETS:
            for op in chosen if opset <= self._newest else ():
                spec = _drawable(op, opset)
                if spec is None:
                    continue
                starts = _starts(spec, opset)
                for start in starts if self._ran_at(opset) else starts[:1]:
                    program = drawn_call(self._context, opset, spec, start, f"support/{opset}/{op}/{start[1].name}")
                    yield from [] if program is None else [program]

    def _operators(self, opset: int, specs: list[tuple[OpSpec, list[Start]]]) -> Iterator[Sequence[Program]]:
        """Calls of all operators, one each and then more, then of those that ran on all element types."""
        calls = (self._call(opset, spec, starts[0], 0) for spec, starts in specs)
        yield from _together(program for program in calls if program is not None)
        self._all_asked = True
        yield from _together(p for spec, starts in specs for p in self._of_ranks(opset, spec, starts[0]))
        silent = [(spec, starts) for spec, starts in specs if not self._ran(spec.op)]
        others = ((spec, start) for spec, starts in silent for start in starts[1 : 1 + OTHERS])
        yield from _together(p for spec, start in others for p in self._drawn(opset, spec, start, 1))
        types = ((spec, start) for spec, starts in specs if self._ran(spec.op) for start in starts[1:])
        yield from _together(p for spec, start in types for p in self._taken(opset, spec, start, OF_TYPE))

    def _of_ranks(self, opset: int, spec: OpSpec, start: Start) -> Iterator[Program]:
        """Calls behind the first one whose first inputs have as many ranks as can be drawn."""
        found: Counter[int | None] = Counter()
        for program in self._drawn(opset, spec, start, USUAL * DRAWS, behind=1):
            fact = program.tensor(program.graph.inputs[0])
            rank = None if fact is None else fact.rank
            if found[rank] < OF_RANK and found.total() < USUAL:
                found[rank] += 1
                yield program

    def _taken(self, opset: int, spec: OpSpec, start: Start, most: int) -> Iterator[Program]:
        """Calls of which no rank or attribute is known to be refused."""
        calls = (
            program
            for program in self._drawn(opset, spec, start, most * DRAWS)
            if not any(level >= RANK and self._memory.refuses(feature) for level, feature in traits(program))
        )
        yield from islice(calls, most)

    def _specs(self, opset: int) -> list[tuple[OpSpec, list[Start]]]:
        """Operators, each with the element types of its first input, the most usual first."""
        found: list[tuple[OpSpec, list[Start]]] = []
        for spec in load_specs().overlaid(opset):
            starts = _starts(spec, opset) if "random" not in spec.traits else []
            if starts and (self._limits.ops is None or spec.op in self._limits.ops):
                found.append((spec, starts))
        return found

    def _ran(self, op: str) -> bool:
        return all(("operator", op) in self._memory.table(target).ran for target in self._targets)

    def _ran_at(self, opset: int) -> bool:
        return all(("opset", opset) in self._memory.table(target).ran for target in self._targets)

    def _drawn(self, opset: int, spec: OpSpec, start: Start, draws: int, behind: int = 0) -> Iterator[Program]:
        calls = (self._call(opset, spec, start, number) for number in range(behind, draws))
        yield from (program for program in calls if program is not None)

    def _call(self, opset: int, spec: OpSpec, start: Start, number: int) -> Program | None:
        """A program that is one call, of other sizes with each number."""
        seed = f"support/{opset}/{spec.op}/{start[0]}/{start[1].name}/{number}"
        program = drawn_call(self._context, opset, spec, start, seed)
        if program is not None:
            self._asked.add(spec.op)
        return program

    def _rehearsal(self) -> Iterator[Sequence[Program]]:
        """Programs as a campaign grows them from one node."""
        engine = Engine(
            load_specs(), seen=Steered(self._seen, self._limits), constraints=self._limits, max_opset=self._newest
        )  # fmt: skip
        every = [sprouts()[name] for name in sprouts_up_to(self._newest)]
        parents = [p for p in every if not self._limits.forbids(("opset", p.opset))] or every
        for first in range(0, REHEARSED, TOGETHER):
            found: list[Program] = []
            for number in range(first, first + TOGETHER):
                choices = Choices.from_seed(f"support/rehearsal/{number}")
                self._limits.whole = True
                mutant = engine.mutate(choices.pick(parents), choices, plan=(InsertNeighbours.name,))
                self._limits.whole = False
                if mutant is not None:
                    self._seen.add_mutant(mutant.program)
                    found.append(mutant.program)
            yield found

    def _ask(self, programs: Sequence[Program], *, runs_only: bool) -> None:
        """Run some programs and learn from the answers.

        Args:
            programs: to run together.
            runs_only: nothing is learnt from refusals.
        """
        tasks: list[Task] = []
        for program in programs:
            try:
                tasks.append(Task(program, make_inputs(program, len(tasks)), self._targets))
            except Unsupported:
                continue
        for task, results in zip(tasks, self._runner.run_all(tasks), strict=True):
            assert isinstance(task.program, Program)
            told = [result for result in results if result.exit is Exit.OK] if runs_only else results
            self._refused += self._memory.saw(task.program, told)
        self._programs += len(tasks)
        self._memory.settle()


def probe_targets(
    database: Database,
    config: Config,
    targets: Sequence[Target],
    seeds: Sequence[Program],
    seconds: tuple[float, float],
    say: Callable[[int], None],
) -> ProbeResult | None:
    """Ask the targets that have to take what a campaign draws, and store what they refuse; jobs begin with that.

    Args:
        database: of the campaign.
        config: of the campaign.
        targets: all of them; ``learnt_of`` says which are asked.
        seeds: of the campaign.
        seconds: at most, and at most until each operator was asked for once.
        say: told how many programs have run.

    Returns:
        ``None`` if the campaign knows them already, in these versions.

    Raises:
        UsageError: one of them cannot be used.
    """
    memory = recalled(database)
    limits = Limits(seconds=config.timeout, memory_bytes=config.memory)
    with Runner(learnt_of(targets), limits) as runner:
        names = sorted(map(identity, runner.targets))
        if json.loads(database.settings().get(PROBED) or "[]") == names:
            return None
        newest = newest_for((t.opset, t.ir) for t in runner.targets)
        probe = RefusalProbe(runner, runner.targets, memory, limits_of(config, memory), newest, seeds)
        result = probe.run(seconds[0], say, longest=seconds[1])
    database.set(REFUSALS, json.dumps(memory.state(), separators=(",", ":")))
    database.set(PROBED, json.dumps(names if result.complete else []))
    return result


def _drawable(op: str, opset: int) -> OpSpec | None:
    """An operator of the default domain of which calls are drawn."""
    spec = load_specs().get(op, opset)
    return spec if spec is not None and spec.is_sampled and spec.is_dense else None


def _starts(spec: OpSpec, opset: int) -> list[Start]:
    """Element types of an operator's first input, the most usual first."""
    starts = [start for start in starts_of(spec, opset) if start[0] == 0]
    return sorted(starts, key=lambda start: (start[1] is not ir.DataType.FLOAT, -start[2]))


def _together(programs: Iterable[Program]) -> Iterator[Sequence[Program]]:
    """The programs in batches; each is drawn after the one before was learnt from."""
    every = iter(programs)
    while found := list(islice(every, TOGETHER)):
        yield found
