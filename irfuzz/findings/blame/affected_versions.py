"""In which of the installed versions of a component a finding shows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from irfuzz.errors import UsageError
from irfuzz.execute.run_types import Exit, RunResult, Target, Value
from irfuzz.execute.runner import Runner
from irfuzz.execute.target_table import versions_of
from irfuzz.execute.versions.environments import version_key
from irfuzz.findings.blame.version_bisection import narrowed
from irfuzz.findings.confirming_targets import jury
from irfuzz.findings.finding import Finding, VersionAnswer
from irfuzz.findings.witness_distrust import wrong_here
from irfuzz.ir.program import Program
from irfuzz.isolate import Limits
from irfuzz.oracle import MeasuringJudge, signature
from irfuzz.oracle.verdict import Verdict

MANY = 5
"""Of more other versions not all are asked."""


class AffectedVersions:
    """Tells in which versions a finding shows.

    Runners of other versions stay open from one finding to the next: starting eight versions takes seconds.

    Args:
        runner: ran the finding, and runs the witnesses again on other inputs.
        limits: of each run.
        stopping: true once nothing more is to be asked.
    """

    def __init__(self, runner: Runner, limits: Limits, stopping: Callable[[], bool] = lambda: False) -> None:
        self._runner = runner
        self._limits = limits
        self._stopping = stopping
        self._runners: dict[frozenset[str], Runner] = {}

    def runner(self, targets: Sequence[Target]) -> Runner:
        """A runner of these targets, as far as they start.

        Args:
            targets: of other versions. A runner that has all of them already is given again.

        Returns:
            An open runner, which ``close`` ends; callers must not.

        Raises:
            UsageError: none of them does.
        """
        wanted = frozenset(t.name for t in targets)
        for names, runner in self._runners.items():
            if wanted <= names:
                return runner
        self._runners[wanted] = Runner(targets, self._limits, required=False).__enter__()
        return self._runners[wanted]

    def __call__(self, finding: Finding) -> Finding:
        """The finding with the versions in which it shows, unless there is one only, or no time.

        Its name is then the fault's signature in the newest version that shows it, whichever it was found on.
        """
        shown = () if self._stopping() else self.shown_in(finding)
        return replace(finding, shown=shown, signature=_name_of(shown)) if len(shown) > 1 else finding

    def shown_in(self, finding: Finding) -> tuple[VersionAnswer, ...]:
        """Run a finding's program on other installed versions of the blamed component, with the same witnesses.

        Each version takes the place of the blamed one, with the same variants. Versions that took part and are not
        blamed bear witness, as they did before. Of many versions those are asked that tell in which it came and went.

        Args:
            finding: best made small; with its results.

        Returns:
            One entry a version, oldest first, that of ``results`` included; alone if no other is installed.
        """
        about = _Question.about(finding)
        groups = about.others()
        if len(groups) <= MANY:
            found = [about.own(), *(self._answer(about, environment, groups[environment]) for environment in groups)]
            return _in_order(found)
        return self.narrowed(finding, [], lambda version: False)

    def narrowed(
        self, finding: Finding, releases: Sequence[str], install: Callable[[str], bool]
    ) -> tuple[VersionAnswer, ...]:
        """In which versions it shows, asking as few as tell in which release it came and in which it went.

        Args:
            finding: with its results.
            releases: all there are, oldest first; empty: those that are installed.
            install: has a release at hand that is not yet; false if that cannot be.

        Returns:
            As ``shown_in``, of those that were asked; each knows the release before it if ``releases`` are given.
        """
        about = _Question.about(finding)
        own = about.own()
        told = {_release(own.version): own}

        def ask(version: str) -> bool | None:
            there = lambda: {_release(g[0].version): e for e, g in about.others().items()}  # noqa: E731
            environment = there().get(version)
            if environment is None and install(version):
                environment = there().get(version)
            if environment is None or self._stopping():
                return None
            told[version] = self._answer(about, environment, about.others()[environment])
            return told[version].shows

        every = releases or [_release(g[0].version) for g in about.others().values()]
        known = sorted({*every, *told}, key=version_key)
        narrowed(known, {v: s.shows for v, s in told.items()}, ask)
        if releases:
            before = dict(zip(known, ("", *known), strict=False))
            told = {v: replace(s, previous=before[v]) for v, s in told.items()}
        return _in_order(told.values())

    def asked(self, finding: Finding, version: str) -> tuple[VersionAnswer, ...]:
        """What one installed release does with a finding, beside that in which it was found.

        Args:
            finding: with its results.
            version: the release.

        Returns:
            One entry or two, oldest first.

        Raises:
            UsageError: it is not installed.
        """
        about = _Question.about(finding)
        own = about.own()
        if _release(own.version) == version:
            return (own,)
        for environment, group in about.others().items():
            if _release(group[0].version) == version:
                return _in_order([own, self._answer(about, environment, group)])
        raise UsageError(f"{about.blamed.component} {version} is not installed here")

    def _answer(self, about: _Question, environment: str, group: Sequence[Target]) -> VersionAnswer:
        """What one environment's version says."""
        own_names = {t.name for t in self._runner.targets}
        try:
            # A version that takes part has its worker already.
            versions = self._runner if {t.name for t in group} <= own_names else self.runner(group)
        except UsageError as error:
            why = str(error).splitlines()[0][:200]
            return VersionAnswer(group[0].name, group[0].version, environment, shows=None, told=why)
        started_ones = {t.name: t for t in versions.targets}
        there = [started_ones[t.name] for t in group if t.name in started_ones]
        if not there:
            return _absent(group, environment, versions)
        mine = (about.blamed.component, environment)
        witnesses = [w for w in about.witnesses if (w.target.component, w.target.environment) != mine]
        finding = about.finding
        case, verdict = finding.case, finding.verdict
        one = _Version(case.program, case.inputs, verdict, about.blamed, witnesses, there, self._runner, versions)
        return one.answer()

    def close(self) -> None:
        """End all of their workers."""
        runners, self._runners = list(self._runners.values()), {}
        for runner in runners:
            runner.close()


def _in_order(found: Iterable[VersionAnswer]) -> tuple[VersionAnswer, ...]:
    return tuple(sorted(found, key=lambda s: (version_key(s.version), s.environment)))


def with_others(now: Sequence[VersionAnswer], before: Sequence[VersionAnswer]) -> tuple[VersionAnswer, ...]:
    """New answers, and of earlier ones those of versions that were not asked again.

    Args:
        now: new ones.
        before: earlier ones.

    Returns:
        One for each version, oldest first.
    """
    asked = {_release(s.version) for s in now}
    return _in_order([*now, *(s for s in before if _release(s.version) not in asked)])


def _release(version: str) -> str:
    """``2.13.0`` of ``2.13.0+cpu``."""
    return version.partition("+")[0]


@dataclass(frozen=True, slots=True)
class _Question:
    """What is asked of other versions.

    Attributes:
        finding: with its results.
        blamed: the target at fault.
        variants: of the same version, those that ran.
        witnesses: results that are kept.
    """

    finding: Finding
    blamed: Target
    variants: Sequence[Target]
    witnesses: Sequence[RunResult]

    @classmethod
    def about(cls, finding: Finding) -> _Question:
        """Of a finding."""
        verdict, results = finding.verdict, finding.results
        blamed = next(r.target for r in results if r.target.name == verdict.target)
        mine = (blamed.component, blamed.environment)
        own = [r.target for r in results if (r.target.component, r.target.environment) == mine]
        witnesses = [
            r
            for r in results
            if (r.target.component, r.target.environment) != mine
            and (r.target.component != blamed.component or r.target.name not in verdict.blamed)
        ]
        foreign = [r.target for r in results if r.target.component != blamed.component]
        few = {t.name for t in jury(verdict, [blamed, *foreign])}
        if len(few) <= len(foreign):
            # Enough without other versions of the blamed component, and without all the others.
            witnesses = [r for r in witnesses if r.target.name in few]
        return cls(finding, blamed, own, witnesses)

    def own(self) -> VersionAnswer:
        """The version in which it was found."""
        verdict, blamed = self.finding.verdict, self.blamed
        key = signature(verdict, self.finding.case.program)
        return VersionAnswer(blamed.name, blamed.version, blamed.environment, shows=True, signature=key)

    def others(self) -> dict[str, list[Target]]:
        """The variants of each other version that is installed now, by environment."""
        groups: dict[str, list[Target]] = {}
        for target in self.variants:
            for other in versions_of(target):
                if other.target.environment != self.blamed.environment and not other.why_not:
                    groups.setdefault(other.target.environment, []).append(other.target)
        return groups


def _name_of(shown: Sequence[VersionAnswer]) -> str:
    return next(s.signature for s in reversed(shown) if s.shows)


def _absent(group: Sequence[Target], environment: str, versions: Runner) -> VersionAnswer:
    names = {t.name for t in group}
    why = next((a.why_not for a in versions.absent if a.target.name in names), "it does not start")
    return VersionAnswer(group[0].name, group[0].version, environment, shows=None, told=why.splitlines()[0][:200])


@dataclass(frozen=True, slots=True)
class _Version:
    """One version in the place of the blamed one."""

    program: Program
    inputs: Mapping[str, Value]
    verdict: Verdict
    blamed: Target
    witnesses: Sequence[RunResult]
    targets: Sequence[Target]
    runner: Runner
    versions: Runner

    def answer(self) -> VersionAnswer:
        """Run and judge."""
        results = self.versions.run_fresh(self.program, self.inputs, self.targets)
        verdicts = MeasuringJudge(self.runner, wrong_here).judge(
            self.program, self.inputs, [*self.witnesses, *results], rerun=self._again, invalid=self.verdict.invalid
        )
        variant = self.blamed.name.partition(":")[2]
        own = next((r for r in results if r.target.name.partition(":")[2] == variant), results[0])
        same = self._same(verdicts)
        if same is not None:
            passes, together, place = self.verdict.passes, self.verdict.together, self.verdict.place
            same = replace(same, passes=passes, together=together, place=place)
            shows, told, key = True, _message(same), signature(same, self.program)
            told = "" if told == _message(self.verdict) else told
        else:
            (shows, told), key = self._why_not(verdicts, own), ""
        return VersionAnswer(own.target.name, own.target.version, own.target.environment, shows, told, key)

    def _again(self, other: Mapping[str, Value], moved: Program | None = None, /) -> Sequence[RunResult]:
        program = moved or self.program
        asked = [r.target for r in self.witnesses]
        return [
            *(self.runner.run(program, other, asked) if asked else []),
            *self.versions.run(program, other, self.targets),
        ]

    def _same(self, verdicts: Sequence[Verdict]) -> Verdict | None:
        names = {t.name for t in self.targets}
        found = (v for v in verdicts if v.target in names and not v.suspect)
        return next((v for v in found if v.symptom is self.verdict.symptom), None)

    def _why_not(self, verdicts: Sequence[Verdict], own: RunResult) -> tuple[bool | None, str]:
        names = {t.name for t in self.targets}
        mine = [v for v in verdicts if v.target in names]
        same = [v for v in mine if v.symptom is self.verdict.symptom]
        if same:
            return None, f"suspect: {same[0].doubt}"
        if own.exit is Exit.UNSUPPORTED:
            return None, f"unsupported: {own.error}"[:200]
        if own.exit is not Exit.OK:
            return False, f"{own.exit}: {own.error}"[:200]
        return False, ", ".join(dict.fromkeys(f"{v.symptom} instead" for v in mine))


def _message(verdict: Verdict) -> str:
    return verdict.message[:200]
