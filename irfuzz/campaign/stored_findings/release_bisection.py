"""Finds in which release of the blamed component each finding of a folder came, and in which it went."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import asdict, replace
from pathlib import Path

from irfuzz.campaign.config import Layout
from irfuzz.campaign.stored_findings.finding_reduction import targets_of
from irfuzz.errors import InvalidProgram, Unsupported, UsageError
from irfuzz.execute.run_types import Target
from irfuzz.execute.runner import Runner
from irfuzz.execute.versions.installation import Say
from irfuzz.execute.versions.releases import distribution_of, ensure, releases
from irfuzz.findings.blame.affected_versions import AffectedVersions, with_others
from irfuzz.findings.blame.introduced_fixed_releases import fixed, introduced
from irfuzz.findings.codec import ABOUT, about_with_versions, read_folder
from irfuzz.findings.fault_predicate import FaultPredicate
from irfuzz.findings.finding import Finding, VersionAnswer
from irfuzz.isolate import Limits
from irfuzz.report.finding_markdown import report_with_versions
from irfuzz.report.repro_scripts.two_form_script import ORACLE
from irfuzz.store.database import Database

NOTHING: Mapping[str, str] = {}

_NUMBER = re.compile(r"(\d{4,})-")
"""How the name of a finding's folder begins."""


def bisected(folder: Path, say: Say, *, timeout: float = 10.0) -> Finding:
    """The finding of a folder with the releases that show in which it came and went; nothing is written.

    Releases that are not installed are, and stay (``irfuzz env list``).

    Args:
        folder: of the finding.
        say: is told what goes on.
        timeout: seconds that a target may take.

    Raises:
        UsageError: the finding does not show here, no release can be asked, or the index cannot be reached.
    """
    stored = read_folder(folder)
    targets = _askable(stored, folder)
    distribution = distribution_of(targets[0])
    every = releases(distribution)

    def install(version: str) -> bool:
        try:
            ensure(distribution, version, say)
        except UsageError as error:
            say(f"{distribution} {version} is left out: {error}")
            return False
        return True

    with _asking(stored, folder, targets, timeout) as (found, versions):
        shown = versions.narrowed(found, every, install)
    return replace(stored, shown=with_others(shown, stored.shown))


def answers_of_installed(
    folder: Path, version: str | None = None, *, before: Mapping[str, str] = NOTHING, timeout: float = 10.0
) -> tuple[VersionAnswer, ...]:
    """What releases that are installed do with the finding of a folder; nothing is installed or written.

    Args:
        folder: of the finding.
        version: the only release that is asked; ``None``: as many as tell in which the fault came and went.
        before: the release before each, empty for the oldest, as far as that is known; answers tell it.
        timeout: seconds that a target may take.

    Returns:
        Oldest first, with that of the release in which it was found.

    Raises:
        UsageError: the finding does not show here, no release can be asked, or that one is not installed.
    """
    stored = read_folder(folder)
    targets = _askable(stored, folder)
    with _asking(stored, folder, targets, timeout) as (found, versions):
        shown = versions.shown_in(found) if version is None else versions.asked(found, version)
    return tuple(replace(one, previous=before.get(one.version.partition("+")[0])) for one in shown)


def _askable(stored: Finding, folder: Path) -> tuple[Target, ...]:
    """The targets of a finding, the blamed one first.

    Raises:
        UsageError: it shows in a way in which no release can be asked, or its target is not there.
    """
    if stored.verdict.oracle == ORACLE or stored.verdict.runs > 1:
        raise UsageError(f"{folder}: shows by comparing forms or after several runs, which no release is asked for")
    return targets_of(stored, folder)


@contextmanager
def _asking(
    stored: Finding, folder: Path, targets: Sequence[Target], timeout: float
) -> Generator[tuple[Finding, AffectedVersions]]:
    """A finding as it shows here, and what asks releases about it."""
    limits = Limits(seconds=timeout)
    with Runner(targets, limits) as runner:
        found = _seen_again(stored, folder, runner)
        with closing(AffectedVersions(runner, limits)) as versions:
            yield found, versions


def _seen_again(stored: Finding, folder: Path, runner: Runner) -> Finding:
    """The finding with results of fresh processes.

    Raises:
        UsageError: they do not show it.
    """
    try:
        program, inputs = stored.case.program, stored.case.inputs
        watch = FaultPredicate([runner], stored.verdict, program, invalid=stored.verdict.invalid)
        verdicts, results = watch.judged(program, inputs, fresh=True)
    except (InvalidProgram, Unsupported) as error:
        raise UsageError(f"{folder}: its program cannot be run here: {error}") from None
    wanted = stored.verdict
    for one in verdicts:
        if (one.symptom, one.target) == (wanted.symptom, wanted.target) and not one.suspect:
            kept = replace(one, passes=wanted.passes, together=wanted.together, place=wanted.place)
            return replace(stored, verdict=kept, results=results)
    raise UsageError(f"{folder}: {wanted.symptom} of {wanted.target} does not show here, so no release is asked")


def save(folder: Path, finding: Finding) -> int:
    """Write what releases showed into a finding's folder, and into the campaign that the folder lies in.

    Returns:
        The finding's number in that campaign; 0 if it lies in none.

    Raises:
        UsageError: a file cannot be written.
    """
    try:
        about = about_with_versions((folder / ABOUT).read_text(), finding)
        report = report_with_versions((folder / "report.md").read_text(errors="replace"), finding)
        for name, text in ((ABOUT, about), ("report.md", report)):
            draft = folder / f".{name}.draft"
            draft.write_text(text)
            draft.replace(folder / name)
    except OSError as error:
        raise UsageError(f"{folder}: cannot be written: {error.strerror}") from None
    path, number = Layout(folder.resolve().parent.parent).database, _NUMBER.match(folder.name)
    if number is None or not path.is_file():
        return 0
    database = Database(path)
    with closing(database):
        row = database.finding(int(number[1]))
        if row.signature != finding.signature:
            return 0
        verdict = {**json.loads(row.verdict), "shown": [asdict(s) for s in finding.shown]}
        database.set_verdict(row.number, json.dumps(verdict))
    return row.number


def bisect_all(
    folders: Sequence[Path], say: Say, *, timeout: float = 10.0, done: Callable[[int], None] = lambda number: None
) -> Iterator[Finding]:
    """Bisect findings one by one and save each; one that cannot be bisected is told and left as it was.

    Args:
        folders: of findings.
        say: is told what goes on.
        timeout: seconds that a target may take.
        done: is told the number of each that is saved.
    """
    for number, folder in enumerate(folders, 1):
        say(f"finding {number} of {len(folders)}: {folder.name}")
        try:
            finding = bisected(folder, say, timeout=timeout)
            done(save(folder, finding))
        except UsageError as error:
            say(f"not bisected: {error}")
            continue
        say("; ".join(x for x in (introduced(finding), fixed(finding)) if x) or "no change was found")
        yield finding
