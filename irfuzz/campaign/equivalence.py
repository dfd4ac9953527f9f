"""Programs enter and are rewritten, or run in another way; contradictions of a target with itself leave."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from irfuzz.campaign.cause import ending_at
from irfuzz.choices import Choices
from irfuzz.errors import InvalidProgram, Unsupported
from irfuzz.execute.types import Exit, RunResult, Stage, Target, Value
from irfuzz.execute.ways import Other
from irfuzz.generate.inputs import make_inputs
from irfuzz.oracle.equivalence import Answer, Comparison, compare_forms
from irfuzz.reduce import reduce_case
from irfuzz.rewrite.engine import replay_chain, rewrite_chain
from irfuzz.rewrite.types import Exactness, Rewrite, Step

if TYPE_CHECKING:
    from irfuzz.execute.runner import Runner
    from irfuzz.ir.program import Program
    from irfuzz.spec import Specs

MOST_NODES = 64
"""Programs with more nodes are not cut to find the operator that a way to run goes wrong with."""


@dataclass(frozen=True, slots=True)
class Contradiction:
    """A target that computes something else for a program and for another form of it, in fresh processes too.

    Attributes:
        model: the model's name.
        target: the target's name.
        step: the rewrite from which on the forms differ, or the way to run.
        chain: all rewrites up to it, itself included: the fewest that were found.
        comparison: what differs.
        program: as it was.
        form: the rewritten program.
        inputs: of the form, which has all inputs of the original.
        other: the way in which the form was run, where it was not the target's own.
        results: of the program and of the form.
    """

    model: str
    target: str
    step: Step
    chain: tuple[Step, ...]
    comparison: Comparison
    program: Program
    form: Program
    inputs: Mapping[str, Value]
    other: Other | None
    results: tuple[RunResult, RunResult]

    def form_bytes(self) -> bytes:
        """What was run in the other way."""
        data = self.form.to_bytes()
        return data if self.other is None or self.other.way.model is None else self.other.way.model(data) or data


@dataclass(slots=True)
class Counts:
    """What became of the forms, by rewrite (the last of a chain) or target.

    Attributes:
        forms: forms that were made, by the rewrites in their chains, and runs by the ways in which they were made.
        answers: comparisons by target and answer.
        refused: forms that a target does not take, by target and last rewrite, or way.
        unusable: targets that do not run an original, with their reasons, by model and target.
    """

    forms: Counter[str] = field(default_factory=Counter)
    answers: Counter[tuple[str, str]] = field(default_factory=Counter)
    refused: Counter[tuple[str, str]] = field(default_factory=Counter)
    unusable: dict[tuple[str, str], str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _Seen:
    """One comparison, and what was compared."""

    comparison: Comparison
    inputs: Mapping[str, Value]
    results: tuple[RunResult, RunResult]

    @property
    def different(self) -> bool:
        return self.comparison.answer is Answer.DIFFERENT


class Equivalence:
    """Tests targets against themselves.

    Args:
        runner: open, with the targets, and those of ``others``.
        specs: operator specs.
        rewrites: those to draw from.
        seed: of chains and inputs.
        chain: most rewrites in a row.
        others: by the target's name, the other ways to run a program on it.
    """

    def __init__(
        self,
        runner: Runner,
        specs: Specs,
        rewrites: Mapping[str, Rewrite],
        *,
        seed: int = 0,
        chain: int = 3,
        others: Mapping[str, Sequence[Other]] | None = None,
    ) -> None:
        self.counts = Counts()
        self._runner = runner
        self._specs = specs
        self._rewrites = rewrites
        self._seed = seed
        self._chain = chain
        self._others = dict(others or {})
        extra = {other.target.name for row in self._others.values() for other in row}
        self.targets: tuple[Target, ...] = tuple(t for t in runner.targets if t.name not in extra)
        started = {t.name for t in runner.targets}
        self._others = {n: [o for o in row if o.target.name in started] for n, row in self._others.items()}

    def check(self, name: str, program: Program, forms: int) -> Iterator[Contradiction]:
        """Compare so many forms of a program with it, and every other way to run it.

        At most one contradiction a form and target is told.

        Raises:
            Unsupported: no inputs can be made for it.
        """
        inputs = make_inputs(program, self._seed)
        before = self._runner.run(program, inputs, self.targets)
        for result in before:
            if not ran(result):
                self.counts.unusable[name, result.target.name] = result.error or str(result.exit)
        usable = [result for result in before if ran(result)]
        for result in usable:
            yield from self.by_ways(name, program, inputs, result)
        for index in range(forms if usable else 0):
            yield from self.by_chain(name, program, inputs, usable, f"{self._seed}:{program.digest}:{index}")

    def by_chain(
        self, name: str, program: Program, inputs: Mapping[str, Value], before: Sequence[RunResult], seed: str
    ) -> Iterator[Contradiction]:
        """Compare one form, which the seed decides on, with the program on the targets that ran it."""
        choices = Choices.from_seed(seed)
        chain = rewrite_chain(program, self._specs, self._rewrites, choices, choices.integer(1, self._chain))
        if not chain:
            return
        steps = tuple(step for step, _ in chain)
        self.counts.forms.update(step.rewrite for step in steps)
        for result in before:
            seen = self._count(result, self._compare(program, inputs, result, chain), steps[-1].rewrite)
            if not seen.different:
                continue
            for length in range(1, len(steps) + 1):
                found = self._again(name, program, inputs, result.target, steps[:length])
                if found is not None:
                    yield self._with_fewer(found)
                    break

    def by_ways(
        self, name: str, program: Program, inputs: Mapping[str, Value], before: RunResult
    ) -> Iterator[Contradiction]:
        """Compare every other way to run the program on a target with its own."""
        for other in self._others.get(before.target.name, ()):
            if other.way.model is not None and other.way.model(program.to_bytes()) is None:
                continue
            self.counts.forms[other.way.name] += 1
            seen = self._count(before, self._compare(program, inputs, before, [], other), other.way.name)
            found = self._again(name, program, inputs, before.target, (), other) if seen.different else None
            if found is not None:
                yield self._located(found)

    def smallest(self, found: Contradiction, *, seconds: float) -> Contradiction:
        """The same contradiction on the smallest program that shows it, by the same steps."""
        target = found.results[0].target
        own = {v.name for v in found.program.graph.inputs}
        inputs = {name: value for name, value in found.inputs.items() if name in own}
        steps = found.chain if found.other is None else ()

        def still(candidate: Program, given: Mapping[str, Value]) -> bool:
            try:
                again = self._again(found.model, candidate, given, target, steps, found.other, fresh=False)
            except (InvalidProgram, Unsupported):
                return False
            return again is not None and again.comparison.symptom == found.comparison.symptom

        small = reduce_case(found.program, inputs, still, seconds=seconds)
        again = self._again(found.model, small.program, small.inputs, target, steps, found.other)
        return self._located(again or found) if found.other is not None else again or found

    # ---- one comparison ---------------------------------------------------------------------

    def _count(self, before: RunResult, seen: _Seen, last: str) -> _Seen:
        name = before.target.name
        self.counts.answers[name, seen.comparison.answer] += 1
        if seen.comparison.answer is Answer.REFUSED:
            self.counts.refused[name, last] += 1
        return seen

    def _again(
        self,
        name: str,
        program: Program,
        inputs: Mapping[str, Value],
        target: Target,
        steps: Sequence[Step],
        other: Other | None = None,
        *,
        fresh: bool = True,
    ) -> Contradiction | None:
        """The contradiction that the steps lead to; ``fresh``: both forms run in new processes."""
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
        chain: Sequence[tuple[Step, Program]],
        other: Other | None = None,
        *,
        fresh: bool = False,
    ) -> _Seen:
        """The comparison with the last form, run on the same target or in another way."""
        form = chain[-1][1] if chain else program
        target = before.target if other is None else other.target
        try:
            given = {**make_inputs(form, self._seed), **inputs} if chain else dict(inputs)
        except Unsupported as error:
            return _Seen(Comparison(Answer.UNDECIDED, reason=str(error)), inputs, (before, before))
        data = None if other is None or other.way.model is None else other.way.model(form.to_bytes())
        run = self._runner.run_fresh if fresh else self._runner.run
        (after,) = run(form if data is None else data, given, [target])
        own = {v.name for v in program.graph.inputs}

        def rerun(moved: Mapping[str, Value], another: Program | None = None, /) -> list[RunResult]:
            asked = {k: v for k, v in moved.items() if k in own}
            return self._runner.run(program if another is None else another, asked, [before.target])

        bitwise = all(step.exactness is Exactness.BITWISE for step, _ in chain) and (other is None or other.way.exact)
        found = compare_forms(program, form, given, (before, after), specs=self._specs, bitwise=bitwise, rerun=rerun)
        return _Seen(found, given, (before, after))

    # ---- making it small --------------------------------------------------------------------

    def _with_fewer(self, found: Contradiction) -> Contradiction:
        """Without the rewrites that it does without."""
        index = 0
        while len(found.chain) > 1 and index < len(found.chain):
            fewer = (*found.chain[:index], *found.chain[index + 1 :])
            own = {v.name for v in found.program.graph.inputs}
            inputs = {name: value for name, value in found.inputs.items() if name in own}
            again = self._again(found.model, found.program, inputs, found.results[0].target, fewer)
            if again is None:
                index += 1
            else:
                found = again
        return found

    def _located(self, found: Contradiction) -> Contradiction:
        """With the first operator that the other way goes wrong with: the last of the shortest part that shows it."""
        nodes = found.program.nodes()
        if len(nodes) > MOST_NODES:
            return found
        for node in nodes:
            output = next((o for o in node.outputs if o.name and (o.uses() or o.is_graph_output())), None)
            if output is None or output.name is None:
                continue
            try:
                part = ending_at(found.program, output.name)
                own = {v.name for v in part.graph.inputs}
                inputs = {name: value for name, value in found.inputs.items() if name in own}
                again = self._again(
                    found.model, part, inputs, found.results[0].target, (), found.other, fresh=False
                )  # fmt: skip
            except (InvalidProgram, Unsupported):
                continue
            if again is not None:
                site = found.program.site_of(node)
                step = replace(found.step, site=site, operator=node.op_type)
                return replace(found, step=step, chain=(step,))
        return found


def _step(other: Other, program: Program) -> Step:
    """A way as the only step of a chain; its operator is known where there is but one."""
    ops = {node.op_type for node in program.nodes()}
    exactness = Exactness.BITWISE if other.way.exact else Exactness.BOUNDED
    operator = ops.pop() if len(ops) == 1 else "program"
    return Step(other.way.name, "", operator, other.way.about, exactness)


def ran(result: RunResult) -> bool:
    """Whether it went through."""
    return result.exit is Exit.OK and result.stage is Stage.RUN
