"""Programs enter and are rewritten; each form runs on one target beside the original, and contradictions leave."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from irfuzz.choices import Choices
from irfuzz.errors import Unsupported
from irfuzz.execute.types import Exit, RunResult, Stage, Target, Value
from irfuzz.generate.inputs import make_inputs
from irfuzz.oracle.equivalence import Answer, Comparison, compare_forms
from irfuzz.rewrite.engine import rewrite_chain
from irfuzz.rewrite.types import Exactness, Rewrite, Step

if TYPE_CHECKING:
    from irfuzz.execute.runner import Runner
    from irfuzz.ir.program import Program
    from irfuzz.spec import Specs


@dataclass(frozen=True, slots=True)
class Contradiction:
    """A target that computes something else for a program and for another form of it, in fresh processes too.

    Attributes:
        model: the model's name.
        target: the target's name.
        step: the rewrite from which on the forms differ.
        chain: all rewrites up to it, itself included.
        comparison: what differs.
        form: the rewritten program.
        inputs: of the form, which has all inputs of the original.
    """

    model: str
    target: str
    step: Step
    chain: tuple[Step, ...]
    comparison: Comparison
    form: Program
    inputs: Mapping[str, Value]


@dataclass(slots=True)
class Counts:
    """What became of the forms, by rewrite (the last of a chain) or target.

    Attributes:
        forms: forms that were made, by the rewrites in their chains.
        answers: comparisons by target and answer.
        refused: forms that a target does not take, by target and last rewrite.
        unusable: targets that do not run an original, with their reasons, by model and target.
    """

    forms: Counter[str] = field(default_factory=Counter)
    answers: Counter[tuple[str, str]] = field(default_factory=Counter)
    refused: Counter[tuple[str, str]] = field(default_factory=Counter)
    unusable: dict[tuple[str, str], str] = field(default_factory=dict)


class Equivalence:
    """Tests targets against themselves.

    Args:
        runner: open, with the targets.
        specs: operator specs.
        rewrites: those to draw from.
        seed: of chains and inputs.
        chain: most rewrites in a row.
    """

    def __init__(
        self, runner: Runner, specs: Specs, rewrites: Mapping[str, Rewrite], *, seed: int = 0, chain: int = 3
    ) -> None:
        self.counts = Counts()
        self._runner = runner
        self._specs = specs
        self._rewrites = rewrites
        self._seed = seed
        self._chain = chain

    def check(self, name: str, program: Program, forms: int) -> Iterator[Contradiction]:
        """Compare so many forms of a program with it; at most one contradiction a form and target.

        Raises:
            Unsupported: no inputs can be made for it.
        """
        inputs = make_inputs(program, self._seed)
        before = {r.target.name: r for r in self._runner.run(program, inputs)}
        usable = [r.target for r in before.values() if _ran(r)]
        for result in before.values():
            if not _ran(result):
                self.counts.unusable[name, result.target.name] = result.error or str(result.exit)
        if not usable:
            return
        for index in range(forms):
            choices = Choices.from_seed(f"{self._seed}:{program.digest}:{index}")
            steps = choices.integer(1, self._chain)
            chain = rewrite_chain(program, self._specs, self._rewrites, choices, steps)
            if not chain:
                continue
            self.counts.forms.update(step.rewrite for step, _ in chain)
            for target in usable:
                yield from self._on(name, program, inputs, before[target.name], target, chain)

    def _on(
        self,
        name: str,
        program: Program,
        inputs: Mapping[str, Value],
        before: RunResult,
        target: Target,
        chain: list[tuple[Step, Program]],
    ) -> Iterator[Contradiction]:
        last = self._compare(program, inputs, before, target, chain, len(chain))
        self.counts.answers[target.name, last[0].answer] += 1
        if last[0].answer is Answer.REFUSED:
            self.counts.refused[target.name, chain[-1][0].rewrite] += 1
        if last[0].answer is not Answer.DIFFERENT:
            return
        for length in range(1, len(chain) + 1):
            found, given = self._compare(program, inputs, before, target, chain, length, fresh=True)
            if found.answer is Answer.DIFFERENT:
                steps = tuple(step for step, _ in chain[:length])
                yield Contradiction(name, target.name, steps[-1], steps, found, chain[length - 1][1], given)
                return

    def _compare(
        self,
        program: Program,
        inputs: Mapping[str, Value],
        before: RunResult,
        target: Target,
        chain: list[tuple[Step, Program]],
        length: int,
        *,
        fresh: bool = False,
    ) -> tuple[Comparison, Mapping[str, Value]]:
        """The comparison with the form after so many steps, and its inputs; ``fresh``: both in new processes."""
        form = chain[length - 1][1]
        try:
            given = {**make_inputs(form, self._seed), **inputs}
        except Unsupported as error:
            return Comparison(Answer.UNDECIDED, reason=str(error)), inputs
        run = self._runner.run_fresh if fresh else self._runner.run
        own = {v.name for v in program.graph.inputs}
        if fresh:
            (before,) = run(program, inputs, [target])
            if not _ran(before):
                return Comparison(Answer.UNDECIDED, reason="alone, the original does not run"), given
        (after,) = run(form, given, [target])

        def rerun(moved: Mapping[str, Value], other: Program | None = None, /) -> list[RunResult]:
            asked = {k: v for k, v in moved.items() if k in own}
            return self._runner.run(program if other is None else other, asked, [target])

        bitwise = all(step.exactness is Exactness.BITWISE for step, _ in chain[:length])
        found = compare_forms(program, form, given, (before, after), specs=self._specs, bitwise=bitwise, rerun=rerun)
        return found, given


def _ran(result: RunResult) -> bool:
    return result.exit is Exit.OK and result.stage is Stage.RUN
