"""Tests of targets against themselves: programs are rewritten, or run in another way, and must compute the same."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import TYPE_CHECKING

from irfuzz.campaign.self_testing.contradiction_record import Contradiction, FormCounts
from irfuzz.campaign.self_testing.contradiction_reduction import located, with_fewer
from irfuzz.campaign.self_testing.nan_free_proof import nan_free
from irfuzz.campaign.self_testing.rounds_until_deadline import RoundTiming
from irfuzz.choices import Choices
from irfuzz.errors import Unsupported
from irfuzz.execute.adapters.alternative_runs import OtherWay
from irfuzz.execute.request_batching import Task
from irfuzz.execute.run_types import Exit, RunResult, Stage, Target, Value
from irfuzz.generate.input_values import make_inputs
from irfuzz.ir.input_defaults import at_defaults
from irfuzz.oracle import normalise_message
from irfuzz.oracle.equivalent_form_comparison import Answer, FormComparison, compare_forms
from irfuzz.oracle.message_normalization import names_of
from irfuzz.rewrite.rewrite_chain import replay_chain, rewrite_chain
from irfuzz.rewrite.rewrite_rule import Exactness, Rewrite, RewriteStep
from irfuzz.rewrite.trial_order import TrialOrder
from irfuzz.store.npz_tensors import pack

if TYPE_CHECKING:
    from irfuzz.execute.runner import Runner
    from irfuzz.ir.program import Program
    from irfuzz.spec import Specs

MEASURED = 256
"""Runs on moved inputs that are remembered for the other forms of the same program."""


@dataclass(frozen=True, slots=True)
class _Seen:
    """One comparison, and what was compared."""

    comparison: FormComparison
    inputs: Mapping[str, Value]
    results: tuple[RunResult, RunResult]

    @property
    def different(self) -> bool:
        return self.comparison.answer is Answer.DIFFERENT


@dataclass(frozen=True, slots=True)
class FormRuns:
    """What targets make of a program, and of its other forms.

    Attributes:
        name: of the model.
        program: as it is.
        inputs: of it.
        before: what the targets that ran it made of it.
        ways: by the target's name, what its other ways to run the program made of it.
        forms: the rewrites that led to each form, its inputs and what the targets of ``before`` made of it.
    """

    name: str
    program: Program
    inputs: Mapping[str, Value]
    before: Sequence[RunResult]
    ways: Mapping[str, Sequence[tuple[OtherWay, RunResult]]]
    forms: Sequence[tuple[Sequence[tuple[RewriteStep, Program]], Mapping[str, Value], Sequence[RunResult]]] = ()


class Equivalence:
    """Tests targets against themselves.

    Args:
        runner: open, with the targets, and those of ``others``.
        specs: operator specs.
        rewrites: those to draw from.
        seed: of chains and inputs.
        chain: most rewrites in a row.
        others: by the target's name, the other ways to run a program on it.

    Attributes:
        counts: what became of all forms.
        targets: those that are tested.
    """

    def __init__(
        self,
        runner: Runner,
        specs: Specs,
        rewrites: Mapping[str, Rewrite],
        *,
        seed: int = 0,
        chain: int = 3,
        others: Mapping[str, Sequence[OtherWay]] | None = None,
    ) -> None:
        self.counts = FormCounts()
        self._runner = runner
        self._specs = specs
        self._rewrites = rewrites
        self._seed = seed
        self._chain = chain
        self._turns = TrialOrder(specs, rewrites)
        self._others = dict(others or {})
        extra = {other.target.name for row in self._others.values() for other in row}
        self.targets: tuple[Target, ...] = tuple(t for t in runner.targets if t.name not in extra)
        started = {t.name for t in runner.targets}
        self._others = {n: [o for o in row if o.target.name in started] for n, row in self._others.items()}
        self._measured: dict[bytes, list[RunResult]] = {}

    def check(
        self,
        name: str,
        program: Program,
        forms: int,
        *,
        inputs: Mapping[str, Value] | None = None,
        dear: Callable[[int], bool] = lambda place: True,
        since: int | None = None,
        pace: RoundTiming | None = None,
    ) -> Iterator[Contradiction]:
        """Compare so many forms of a program with it, and every other way to run it.

        At most one contradiction a form and target is told. What has to run travels together: the program with all
        its quick ways is one request of each worker, and so is a round of forms.

        Args:
            name: of the model.
            program: it stays as it is.
            forms: how many.
            inputs: to run it on; made by the seed if there are none.
            dear: by their place among all, which of the ways that take long are to run.
            since: begin with every rewrite that fits, alone, from this one on; else with one that was tried least.
            pace: when to end; all forms are made if omitted.

        Raises:
            Unsupported: no inputs can be made for it.
        """
        inputs = make_inputs(at_defaults(program), self._seed) if inputs is None else inputs
        runs = self.run_ways(name, program, inputs, dear)
        yield from self.judge_ways(runs)
        if not runs.before or not forms:
            return
        turns = self._first(runs.program, since)
        for places in (pace or RoundTiming()).rounds(forms):
            yield from self.judge_forms(self.run_forms(runs, places, turns, since or 0))

    def run(
        self,
        name: str,
        program: Program,
        inputs: Mapping[str, Value],
        forms: int,
        dear: Callable[[int], bool],
        since: int | None,
    ) -> FormRuns:
        """The runs of ``check``, all forms together.

        Args:
            name: of the model.
            program: it stays as it is.
            inputs: to run it on.
            forms: how many.
            dear: as for ``check``.
            since: likewise.

        Returns:
            Without forms if no target runs the program as it is.
        """
        runs = self.run_ways(name, program, inputs, dear)
        if not runs.before or not forms:
            return runs
        return self.run_forms(runs, range(forms), self._first(runs.program, since), since or 0)

    def _first(self, program: Program, since: int | None) -> list[Rewrite]:
        """The rewrites that make the first forms, one each."""
        choices = Choices.from_seed(f"{self._seed}:{program.digest}:first")
        return self._turns.rarest(program, choices) if since is None else self._turns.each(program)[since:]

    def run_ways(
        self, name: str, program: Program, inputs: Mapping[str, Value], dear: Callable[[int], bool]
    ) -> FormRuns:
        """What each target makes of a program, and its other ways to run it.

        Args:
            name: of the model, under which targets that do not run it are counted.
            program: its inputs with default values are taken at these.
            inputs: to run it on.
            dear: by their place among all, which of the ways that take long are to run.
        """
        program = at_defaults(program)
        self._measured.clear()
        before, ways = self._run_ways(program, inputs, dear)
        for result in before:
            if not ran(result):
                self.counts.unusable[name, result.target.name] = result.error or str(result.exit)
        return FormRuns(name, program, inputs, [result for result in before if ran(result)], ways)

    def judge_ways(self, runs: FormRuns) -> Iterator[Contradiction]:
        """Contradictions of targets with their other ways to run a program.

        Args:
            runs: of ``run`` or ``run_ways``.

        Returns:
            One by one. Each difference is run again in fresh processes, and led back to the operator that makes it,
            before it is given.
        """
        program, inputs = runs.program, runs.inputs
        for result in runs.before:
            for other, after in runs.ways.get(result.target.name, ()):
                self.counts.forms[other.way.name] += 1
                seen = self._count(result, self._seen(program, inputs, result, after, [], other), other.way.name)
                found = self.again(runs.name, program, inputs, result.target, (), other) if seen.different else None
                if found is not None:
                    yield located(self, found)

    def ways(self, target: str) -> list[OtherWay]:
        """The other ways to run a program on a target, those that take long last.

        Args:
            target: its name; one without other ways gives an empty list.
        """
        return sorted(self._others.get(target, ()), key=lambda other: other.dear)

    def agree(self, one: Contradiction, other: Contradiction) -> bool:
        """Whether two ways to run the same program do the same, so that both contradict the target for one reason."""
        mine, its = one.results[1], other.results[1]
        if not (ran(mine) and ran(its)):
            said = [normalise_message(r.error, names_of(one.program)) for r in (mine, its)]
            return (mine.exit, said[0]) == (its.exit, said[1])
        found = compare_forms(one.program, one.program, one.inputs, (mine, its), specs=self._specs, bitwise=False)
        return found.answer is Answer.SAME

    def fitting(self, program: Program) -> int:
        """How many rewrites fit a program, each counted once however many sites it has."""
        return len(self._turns.each(program))

    def _run_ways(
        self, program: Program, inputs: Mapping[str, Value], dear: Callable[[int], bool]
    ) -> tuple[list[RunResult], dict[str, list[tuple[OtherWay, RunResult]]]]:
        """What each target makes of a program, and by the target's name what its other ways make of it."""
        data = program.to_bytes()
        chosen: list[OtherWay] = []
        place = 0
        for row in self._others.values():
            for other in row:
                place += other.dear
                if not other.dear or dear(place):
                    chosen.append(other)
        plain = [other for other in chosen if other.way.model is None and not other.dear]
        tasks = [Task(program, inputs, [*self.targets, *(o.target for o in plain)], model=data)]
        alone: list[OtherWay] = []
        for other in chosen:
            if other.way.model is not None:
                spelt = other.way.model(data)
                if spelt is not None:
                    tasks.append(Task(spelt, inputs, [other.target]))
                    alone.append(other)
            elif other.dear:
                tasks.append(Task(program, inputs, [other.target], model=data))
                alone.append(other)
        first, *rest = self._runner.run_all(tasks)
        after = {other.target.name: result for other, (result,) in zip(alone, rest, strict=True)}
        after |= {r.target.name: r for r in first[len(self.targets) :]}
        ways = {
            name: [(o, after[o.target.name]) for o in row if o.target.name in after]
            for name, row in self._others.items()
        }
        return first[: len(self.targets)], ways

    def run_forms(self, runs: FormRuns, places: range, turns: Sequence[Rewrite], since: int) -> FormRuns:
        """The same with some forms, each of which its place decides on, as the targets that ran the program run them.

        The first are made by one of ``turns`` each; ``since``: how many came before.
        """
        program, before = runs.program, runs.before
        chains: list[Sequence[tuple[RewriteStep, Program]]] = []
        tasks: list[Task] = []
        for place in places:
            choices = Choices.from_seed(f"{self._seed}:{program.digest}:{since + place}")
            if place < len(turns):
                only = {turns[place].name: turns[place]}
                chain = rewrite_chain(program, self._specs, only, choices, 1)
            else:
                chain = rewrite_chain(program, self._specs, self._rewrites, choices, choices.integer(1, self._chain))
            if not chain:
                continue
            self.counts.forms.update(step.rewrite for step, _ in chain)
            form = chain[-1][1]
            try:
                given = {**make_inputs(form, self._seed), **runs.inputs}
            except Unsupported as error:
                for result in before:
                    self.counts.answers[result.target.name, Answer.UNDECIDED] += 1
                    self.counts.undecided[result.target.name, chain[-1][0].rewrite, str(error)] += 1
                continue
            chains.append(chain)
            tasks.append(Task(form, given, [result.target for result in before]))
        found = self._runner.run_all(tasks) if tasks else []
        forms = [(chain, task.inputs, after) for chain, task, after in zip(chains, tasks, found, strict=True)]
        return replace(runs, forms=forms)

    def judge_forms(self, runs: FormRuns) -> Iterator[Contradiction]:
        """Contradictions of targets with what they make of the forms of a program.

        Args:
            runs: of ``run``.

        Returns:
            One by one, at most one a form and target: the first part of the chain that shows one in fresh processes,
            without the rewrites that it does without.
        """
        for chain, inputs, after in runs.forms:
            steps = tuple(step for step, _ in chain)
            for result, other in zip(runs.before, after, strict=True):
                seen = self._count(result, self._seen(runs.program, inputs, result, other, chain), steps[-1].rewrite)
                if not seen.different:
                    continue
                for length in range(1, len(steps) + 1):
                    found = self.again(runs.name, runs.program, runs.inputs, result.target, steps[:length])
                    if found is not None:
                        yield with_fewer(self, found)
                        break

    # ---- one comparison ---------------------------------------------------------------------

    def _count(self, before: RunResult, seen: _Seen, last: str) -> _Seen:
        name = before.target.name
        self.counts.answers[name, seen.comparison.answer] += 1
        if seen.comparison.answer is Answer.REFUSED:
            self.counts.refused[name, last] += 1
        elif seen.comparison.answer is Answer.UNDECIDED:
            self.counts.undecided[name, last, seen.comparison.reason] += 1
        return seen

    def again(
        self,
        name: str,
        program: Program,
        inputs: Mapping[str, Value],
        target: Target,
        steps: Sequence[RewriteStep],
        other: OtherWay | None = None,
        *,
        fresh: bool = True,
    ) -> Contradiction | None:
        """The contradiction that the steps lead to, or the other way; ``fresh``: both forms run in new processes.

        Args:
            name: of the model.
            program: as it was.
            inputs: of it.
            target: that is tested.
            steps: rewrites, done again one after the other.
            other: the way to run the last form, if it is not the target's own.
            fresh: quicker if false, but what ran before may then be to blame.

        Returns:
            ``None`` if a step does not fit any more, the target does not run the program, or no difference is proven.
        """
        chain = replay_chain(program, self._specs, self._rewrites, steps)
        if chain is None:
            return None
        run = self._runner.run_fresh if fresh else self._runner.run
        (before,) = run(program, inputs, [target])
        if not ran(before):
            return None
        seen = self._compare(program, inputs, before, chain, other, fresh=fresh)
        if not seen.different:
            return None
        done = tuple(step for step, _ in chain)
        step = done[-1] if other is None else _step(other, program)
        form = chain[-1][1] if chain else program
        return Contradiction(
            name, target.name, step, done if other is None else (step,), seen.comparison, program, form, seen.inputs,
            other, seen.results,
        )  # fmt: skip

    def _compare(
        self,
        program: Program,
        inputs: Mapping[str, Value],
        before: RunResult,
        chain: Sequence[tuple[RewriteStep, Program]],
        other: OtherWay | None = None,
        *,
        fresh: bool = False,
    ) -> _Seen:
        """The comparison with the last form, run on the same target or in another way."""
        form = chain[-1][1] if chain else program
        target = before.target if other is None else other.target
        try:
            given = {**make_inputs(form, self._seed), **inputs} if chain else dict(inputs)
        except Unsupported as error:
            return _Seen(FormComparison(Answer.UNDECIDED, reason=str(error)), inputs, (before, before))
        data = None if other is None or other.way.model is None else other.way.model(form.to_bytes())
        run = self._runner.run_fresh if fresh else self._runner.run
        (after,) = run(form if data is None else data, given, [target])
        return self._seen(program, given, before, after, chain, other)

    def _seen(
        self,
        program: Program,
        given: Mapping[str, Value],
        before: RunResult,
        after: RunResult,
        chain: Sequence[tuple[RewriteStep, Program]],
        other: OtherWay | None = None,
    ) -> _Seen:
        """What two results say; ``given`` are the inputs of the form."""
        form = chain[-1][1] if chain else program
        own = {v.name for v in program.graph.inputs}

        def rerun(moved: Mapping[str, Value], another: Program | None = None, /) -> list[RunResult]:
            asked = {k: v for k, v in moved.items() if k in own}
            key = _asked(program if another is None else another, asked, before.target.name)
            if key not in self._measured:  # all forms and ways ask for the same
                if len(self._measured) >= MEASURED:
                    self._measured.clear()
                self._measured[key] = self._runner.run(program if another is None else another, asked, [before.target])
            return self._measured[key]

        bitwise = all(step.exactness is Exactness.BITWISE for step, _ in chain) and (other is None or other.way.exact)
        found = compare_forms(
            program, form, given, (before, after), specs=self._specs, bitwise=bitwise, rerun=rerun,
            optimised=other is not None and other.way.eagle == 1, finite=nan_free,
        )  # fmt: skip
        return _Seen(found, given, (before, after))


def _step(other: OtherWay, program: Program) -> RewriteStep:
    """A way as the only step of a chain; its operator is known if there is but one."""
    ops = {node.op_type for node in program.nodes()}
    exactness = Exactness.BITWISE if other.way.exact else Exactness.BOUNDED
    operator = ops.pop() if len(ops) == 1 else "program"
    return RewriteStep(other.way.name, "", operator, other.way.about, exactness)


def _asked(program: Program, inputs: Mapping[str, Value], target: str) -> bytes:
    """What a run depends on."""
    return sha256(b"|".join((program.digest.encode(), target.encode(), pack(inputs)))).digest()


def ran(result: RunResult) -> bool:
    """Whether it went through: it ended well, and in the stage of running."""
    return result.exit is Exit.OK and result.stage is Stage.RUN
