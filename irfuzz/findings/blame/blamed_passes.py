"""Finds the optimiser pass that makes a finding, or that none does, and puts it into the verdict."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from irfuzz.errors import InvalidProgram, Unsupported
from irfuzz.execute.float64_shadow_runs import ShadowRun
from irfuzz.execute.onnxruntime_passes import known_passes, registered
from irfuzz.execute.run_types import Exit, RunResult, Stage, Target, Value
from irfuzz.execute.runner import Runner
from irfuzz.findings.blame.pass_bisection import PassTrial, blame_passes
from irfuzz.findings.fault_predicate import same_fault, told_by
from irfuzz.findings.witness_distrust import wrong_here
from irfuzz.ir.program import Program
from irfuzz.oracle import MeasuringJudge
from irfuzz.oracle.verdict import Symptom, Verdict

LOOKED_FOR = frozenset(
    {
        Symptom.DIFFERENCE, Symptom.NAN_INF, Symptom.WRONG_DTYPE, Symptom.WRONG_SHAPE, Symptom.REJECTION, Symptom.CRASH
    }
)  # fmt: skip
"""Symptoms of which a run takes no longer than one without them."""

MOST_NODES = 64
"""A larger program was not made small, and each try takes long."""

_TOOLS = frozenset({"onnxoptimizer", "onnxslim", "onnxsim", "onnxscript", "onnxruntime-saved"})
"""Model-to-model tools of which passes can be left out by name."""

_NAMED = frozenset({"onnxoptimizer", "onnxslim", "onnxsim", "onnxscript"})
"""Those of them whose passes are their own, not onnxruntime's."""


def with_pass(
    runner: Runner,
    program: Program,
    inputs: Mapping[str, Value],
    verdict: Verdict,
    results: Sequence[RunResult],
    *,
    invalid: bool = False,
) -> Verdict:
    """The verdict with the optimiser passes that make the fault; as it was if that is not known.

    Args:
        runner: has the targets of ``results``.
        program: made small; shows the fault.
        inputs: of it.
        verdict: of it.
        results: what all targets did with it.
        invalid: it breaks a rule of ONNX on purpose.
    """
    own = next((r for r in results if r.target.name == verdict.target), None)
    if (
        own is None
        or verdict.symptom not in LOOKED_FOR
        or not _has_passes(own.target)
        or len(program.graph) > MOST_NODES
    ):
        return verdict
    # What a session does besides, such as choosing kernels and laying out memory, is no pass.
    elsewhere = "kernel" if own.stage is Stage.RUN else "compilation"
    if own.target.component in _TOOLS:
        elsewhere = "tool"
    if own.target.options.get("level") == "disabled":
        return replace(verdict, place=elsewhere)
    try:
        look = _Look(runner, program, inputs, verdict, own, results, invalid=invalid)
        every = look.registered()
        # What dies or refuses while it is optimised does not say what it had done, nor do tools and old versions.
        silent = verdict.symptom in (Symptom.CRASH, Symptom.REJECTION) or not look.tells
        found = blame_passes(look.without, every if silent else (), every, look.staged)
        if found is None and not look.odd:
            return replace(verdict, place=look.elsewhere(elsewhere, every))
    except (InvalidProgram, Unsupported):
        return verdict
    if found is None:
        return verdict
    return replace(verdict, place="optimiser", passes=found.names, together=found.together)


def _has_passes(target: Target) -> bool:
    if target.component in _TOOLS:
        return True
    return target.component == "onnxruntime" and "way" not in target.options and "class" not in target.options


class _Look:
    """Runs the blamed target without some passes, and judges that as the finding was judged."""

    def __init__(
        self,
        runner: Runner,
        program: Program,
        inputs: Mapping[str, Value],
        verdict: Verdict,
        own: RunResult,
        results: Sequence[RunResult],
        *,
        invalid: bool,
    ) -> None:
        self._runner, self._program, self._inputs, self._verdict, self._own = runner, program, inputs, verdict, own
        # Other levels that show it would be blamed in the place of the one that no longer does.
        self._others = [r for r in results if r.target.name not in (own.target.name, *verdict.also)]
        self._invalid = invalid
        self._told = told_by(verdict, program)
        self._shadow: ShadowRun | None = None
        self._ended = own.exit
        self.odd = False
        """Without passes it once did something else that is wrong."""
        self.tells = False
        """The component says which passes there are, and which changed a program."""

    def registered(self) -> tuple[str, ...]:
        """All passes of the target's level, which any program tells; those of any version if it does not tell."""
        told = registered(self._runner, self._own.target)
        is_tool = self._own.target.component in _TOOLS
        self.tells = bool(told) and not is_tool
        return told or (() if self._own.target.component in _NAMED else known_passes())

    def without(self, off: frozenset[str]) -> PassTrial:
        """The program without those passes."""
        return self._tried({"off": ",".join(sorted(off))})

    def staged(self, first: frozenset[str], then: frozenset[str]) -> PassTrial:
        """The program optimised without some passes, and that without others."""
        return self._tried({"first": ",".join(sorted(first)), "off": ",".join(sorted(then))})

    def elsewhere(self, place: str, registered: Sequence[str]) -> str:
        """Where it is that passes left out do not cure; empty if that cannot be told, for none could be left out."""
        if self._own.target.component in _TOOLS:
            return place if registered else ""
        # It is the optimiser all the same if nothing is left once nothing is optimised: a pass without a known name.
        plain = self._tried({"level": "disabled"})
        if plain.shows:
            return place
        return "optimiser" if self._ended is Exit.OK else ""

    def _tried(self, options: Mapping[str, str]) -> PassTrial:
        tell = {} if self._own.target.component in _TOOLS else {"tell": "modified"}
        ran = self._runner.run_as(self._program, self._inputs, self._own.target, {**options, **tell})
        self._ended = ran.exit
        results = [*self._others, ran]

        def rerun(other: Mapping[str, Value], moved: Program | None = None, /) -> Sequence[RunResult]:
            program = moved or self._program
            targets = [r.target for r in self._others]
            again = self._runner.run(program, other, targets) if targets else []
            return [*again, self._runner.run_as(program, other, self._own.target, options)]

        hearing = MeasuringJudge(self._runner, wrong_here, self._once, self._once)
        verdicts = hearing.judge(self._program, self._inputs, results, rerun=rerun, invalid=self._invalid)
        same = same_fault(verdicts, self._verdict)
        if same is not None:
            return PassTrial(told_by(same, self._program) == self._told, ran.passes)
        # Ending in another way is no cure.
        worse = any(v.target == self._own.target.name and not v.suspect for v in verdicts)
        self.odd = self.odd or worse
        return PassTrial(worse, ran.passes)

    def _once(self, program: Program, inputs: Mapping[str, Value]) -> ShadowRun:
        if self._shadow is None:
            self._shadow = self._runner.shadow(program, inputs)
        return self._shadow
