"""Whether other programs show the same fault as one on which there is a verdict, and no other."""

from __future__ import annotations

import math
import queue
import time
from collections.abc import Callable, Mapping, Sequence

from irfuzz.errors import InvalidProgram, Unsupported
from irfuzz.execute.intermediate_values import run_tapped, tap
from irfuzz.execute.run_types import Exit, RunResult, Target, Value
from irfuzz.execute.runner import Runner
from irfuzz.findings.witness_distrust import wrong_here
from irfuzz.ir.program import Program
from irfuzz.localize.nodes.single_node_replay import faulty_parts
from irfuzz.oracle import MeasuringJudge, normalise_message
from irfuzz.oracle.message_normalization import names_of
from irfuzz.oracle.oracle_table import oracles_of
from irfuzz.oracle.verdict import Symptom, Verdict
from irfuzz.oracle.witnesses_and_blame import REFERENCE
from irfuzz.reduce.session import OutOfBudget

MOST_NODES = 400
"""Of larger programs not every node is run alone."""

REGIONS = 4
"""So many of the nodes that are wrong alone are tried as programs of their own."""

_TOLD = frozenset({Symptom.REJECTION, Symptom.CRASH})

_ENDS = _TOLD | {Symptom.HANG, Symptom.MEMORY}
"""Does not show where the blamed target answers, so that the others need not be asked."""


def told_by(verdict: Verdict, program: Program) -> str:
    """What the component said of a rejection or crash, without names and numbers; empty for other symptoms.

    Args:
        verdict: with the message and the way in which it ended, which stands in front.
        program: whose own names are taken out.
    """
    if verdict.symptom not in _TOLD:
        return ""
    return f"{verdict.exit} {normalise_message(verdict.message, names_of(program))}".strip()


def same_fault(verdicts: Sequence[Verdict], wanted: Verdict) -> Verdict | None:
    """The verdict with the symptom and target that are looked for, unless it is a suspect.

    Args:
        verdicts: on one program.
        wanted: what is looked for; if a rule was broken it must be the same rule of the same operator.

    Returns:
        The first one that fits; ``None`` if none does.
    """
    return next((one for one in verdicts if one.target == wanted.target and _alike(one, wanted)), None)


def among(verdicts: Sequence[Verdict], wanted: Verdict) -> Verdict | None:
    """The verdict with a symptom that blames a target, be it beside another version or variant of its component.

    Args:
        verdicts: on one program.
        wanted: as for ``same_fault``; its target need only be among those blamed.

    Returns:
        The first one that fits; ``None`` if none does.
    """
    return next((one for one in verdicts if wanted.target in one.blamed and _alike(one, wanted)), None)


def _alike(one: Verdict, wanted: Verdict) -> bool:
    """Whether a verdict, no suspect, has the symptom that is looked for, and the rule if one is broken."""
    if one.suspect or one.symptom is not wanted.symptom:
        return False
    return one.symptom is not Symptom.LENIENCY or (one.operator, one.rule) == (wanted.operator, wanted.rule)


class FaultPredicate:
    """Looks for one fault.

    Args:
        runners: each has all targets; as many threads may ask as there are runners.
        verdict: of the fault; not a suspect.
        program: on which it was seen.
        targets: what is run to see it; all of the first runner's if omitted.
        invalid: programs break a rule of ONNX on purpose.
        stopping: true once no more should be asked.

    Attributes:
        verdict: of the fault.
        jobs: how many threads may ask.
    """

    def __init__(
        self,
        runners: Sequence[Runner],
        verdict: Verdict,
        program: Program,
        *,
        targets: Sequence[Target] | None = None,
        invalid: bool = False,
        stopping: Callable[[], bool] = lambda: False,
    ) -> None:
        self.verdict = verdict
        self.jobs = len(runners)
        self._runners: queue.SimpleQueue[Runner] = queue.SimpleQueue()
        for runner in runners:
            self._runners.put(runner)
        self._targets = tuple(runners[0].targets if targets is None else targets)
        self._all = tuple(runners[0].targets)
        self._told = told_by(verdict, program)
        self._invalid = invalid
        self._stopping = stopping

    def still(self, program: Program, inputs: Mapping[str, Value]) -> bool:
        """Whether a program shows the fault.

        Args:
            program: a smaller one; it stays as it is.
            inputs: of it.

        Returns:
            False also for a program that cannot be run, and if the component refuses it or dies with another message.

        Raises:
            OutOfBudget: no more should be asked.
        """
        if self._stopping():
            raise OutOfBudget
        try:
            found = self.seen(program, inputs)
        except (InvalidProgram, Unsupported):
            return False
        # A rejection for another reason is another fault, and hides the one that was seen.
        return found is not None and told_by(found, program) == self._told

    def seen(self, program: Program, inputs: Mapping[str, Value], *, fresh: bool = False) -> Verdict | None:
        """The verdict with the same symptom and target in one more run.

        Args:
            program: what is run.
            inputs: of it.
            fresh: in new processes.

        Returns:
            ``None`` if there is none that is no suspect; the message may be another one.
        """
        return same_fault(self.judged(program, inputs, fresh=fresh)[0], self.verdict)

    def judged(
        self, program: Program, inputs: Mapping[str, Value], *, fresh: bool = False
    ) -> tuple[list[Verdict], list[RunResult]]:
        """What is said of one more run as far as it may be this fault, and that run.

        Only oracles that may say the symptom are asked. If it is a crash, rejection, hang or lack of memory the blamed
        target runs first, and alone if it answers.

        Args:
            program: what is run.
            inputs: of it.
            fresh: in new processes.
        """
        runner = self._runners.get()
        try:
            results = self._results(runner.run_fresh if fresh else runner.run, program, inputs)
            verdicts = MeasuringJudge(runner, wrong_here).judge(
                program, inputs, results, invalid=self._invalid, table=oracles_of(self.verdict.symptom)
            )
            return verdicts, results
        finally:
            self._runners.put(runner)

    def _results(
        self, run: Callable[..., list[RunResult]], program: Program, inputs: Mapping[str, Value]
    ) -> list[RunResult]:
        """What the targets do; only the blamed one if that shows that there is nothing to be seen."""
        first = [t for t in self._targets if t.name == self.verdict.target]
        if self.verdict.symptom not in _ENDS or not first:
            return run(program, inputs, self._targets)
        found = run(program, inputs, first)
        if found[0].exit is Exit.OK:
            return found
        found += run(program, inputs, [t for t in self._targets if t not in first])
        by_name = {r.target.name: r for r in found}
        return [by_name[t.name] for t in self._targets]

    def values_of(self, program: Program, inputs: Mapping[str, Value]) -> Mapping[str, Value]:
        """Every inner tensor, as a witness computes it; the blamed target is not asked.

        Args:
            program: whose inner tensors become outputs of a copy, as far as ``tap`` has room for them.
            inputs: of it.

        Returns:
            Values by name, outputs included, of the first quick witness that runs it; empty if none does.
        """
        probe = tap(program)
        runner = self._runners.get()
        try:
            for target in self._trusted():
                (result,) = runner.run(probe, inputs, [target])
                if result.exit is Exit.OK:
                    return result.outputs
        finally:
            self._runners.put(runner)
        return {}

    def faulty_parts(
        self, program: Program, inputs: Mapping[str, Value], *, until: float = math.inf
    ) -> list[tuple[Program, dict[str, Value]]]:
        """The nodes, or the stretch of nodes, that do wrong alone on a witness's values, the worst first.

        Args:
            program: whose nodes run alone.
            inputs: of it.
            until: by ``time.monotonic``; from then on what was found so far has to do.

        Returns:
            Each of the first ``REGIONS`` as a program of its own with its inputs; none if the program is too large, or
            no witness tells its inner values.
        """
        other = next((t for t in self._targets if t.name == self.verdict.target), None)
        if other is None or other.slow or len(program.graph) > MOST_NODES:
            return []

        def stopping() -> bool:
            return self._stopping() or time.monotonic() >= until

        runner = self._runners.get()
        try:
            for base in self._trusted():
                (result,) = run_tapped(runner, program, inputs, [base])
                if result.exit is not Exit.OK or not result.taps:
                    continue
                known = {**inputs, **result.outputs, **result.taps}
                return faulty_parts(runner, program, known, base, other, most=REGIONS, stopping=stopping)
        except (InvalidProgram, Unsupported):
            return []
        finally:
            self._runners.put(runner)
        return []

    def _trusted(self) -> list[Target]:
        quick = [t for t in self._all if not t.slow and t.name != self.verdict.target]
        # The reference evaluator is slow, and other versions are not needed.
        quick.sort(key=lambda t: (t.component == REFERENCE, bool(t.environment)))
        return [t for t in quick if t.name in self.verdict.witnesses] or quick
