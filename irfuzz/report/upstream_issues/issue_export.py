"""Makes an issue of a finding's folder, with a script that has just been run."""

from __future__ import annotations

import re
import sys
import tempfile
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from irfuzz.errors import InternalError, UsageError
from irfuzz.execute.versions import environments
from irfuzz.findings.codec import finding_of, read_folder
from irfuzz.findings.finding import Finding
from irfuzz.report.finding_folder_writer import one_file_script
from irfuzz.report.script_replay import replays
from irfuzz.report.upstream_issues.issue_facts import facts_of
from irfuzz.report.upstream_issues.issue_trackers import IssueTracker, tracker_of
from irfuzz.store.database import Database
from irfuzz.store.finding_sightings import DATABASE

SCRIPT = "repro.py"
SECONDS = 120.0
"""That a script may take, imports included."""

PRINTED = 2000
"""Characters of what a script printed that an issue quotes."""

_NUMBER = re.compile(r"(\d{4,})-")
"""How the name of a finding's folder begins."""


@dataclass(frozen=True, slots=True)
class UpstreamIssue:
    """An issue, ready to be read by a person.

    Attributes:
        title: one line.
        body: Markdown, in the tracker's own form.
        tracker: of the component at fault.
        script: Python source; empty if no single file shows it.
        shows: whether the script showed the fault just now.
    """

    title: str
    body: str
    tracker: IssueTracker
    script: str
    shows: bool

    def to_json(self) -> dict[str, Any]:
        """Title, body, repository, template, address of the form, script, and whether the script shows the fault."""
        return {
            "title": self.title, "body": self.body, "repository": self.tracker.repository,
            "template": self.tracker.template, "form": self.tracker.form, "script": self.script, "shows": self.shows,
        }  # fmt: skip

    def __str__(self) -> str:
        return f"{self.title}\n\n{self.body}"


@dataclass(frozen=True, slots=True)
class _ScriptRun:
    source: str
    shows: bool
    printed: str


def issue_of(folder: Path, *, seconds: float = SECONDS) -> UpstreamIssue:
    """The issue for a finding.

    Its script is run in the interpreter that holds the blamed version, in a sandbox and on a copy. If no script of one
    file shows the fault, the folder's own is run, and the issue says that the folder has to be attached.

    Args:
        folder: of the finding; read only.
        seconds: that a script may take.

    Raises:
        UsageError: the folder is none, or the environment of its version is missing.
    """
    finding, whole = _read(folder)
    python = _interpreter(finding, folder)
    tracker = tracker_of(finding.verdict.target)
    run = _one_file(folder, whole, python, seconds)
    if run is None or not run.shows:
        shows, printed = replays(folder, seconds=seconds, python=python)
        own = _ScriptRun("", shows, printed)
        run = own if run is None or shows else run
    body = tracker.body(facts_of(finding, _script_text(run), tracker))
    return UpstreamIssue(f"{tracker.prefix}{finding.title}", body, tracker, run.source, run.shows)


def _read(folder: Path) -> tuple[Finding, Finding | None]:
    """A folder's finding; and as its campaign has it, with what each target answered, if that is there."""
    finding = read_folder(folder)
    database, number = folder.resolve().parent.parent / DATABASE, _NUMBER.match(folder.name)
    if number is None or not database.is_file():
        return finding, None
    try:
        with closing(Database(database)) as stored:
            row = stored.finding(int(number[1]))
            return finding, finding_of(row) if row.signature == finding.signature else None
    except (KeyError, UsageError):
        return finding, None


def _interpreter(finding: Finding, folder: Path) -> str:
    """That of the environment with the blamed version; irfuzz's own if it was found there."""
    wanted = next((r.requirement for r in finding.runs if r.name == finding.verdict.target), "")
    if not wanted:
        return sys.executable
    distribution, _, version = wanted.split()[0].partition("==")
    for environment in environments.installed():
        if (environment.distribution, environment.wanted) == (distribution, version):
            return environment.interpreter
    raise UsageError(
        f"{folder}: expected an environment with {distribution}=={version} to run its script, got none; "
        f"run `irfuzz env add {distribution}=={version}`"
    )


def _one_file(folder: Path, finding: Finding | None, python: str, seconds: float) -> _ScriptRun | None:
    """The script that needs no other file, run on its own; ``None`` if there is none."""
    source = None
    if (folder / "compare.py").is_file():  # then the folder's own script is the short one
        source = (folder / SCRIPT).read_text(encoding="utf-8")
    elif finding is not None:
        try:
            source = one_file_script(finding)
        except InternalError:  # what runs it is not known any more
            return None
    if source is None:
        return None
    with tempfile.TemporaryDirectory() as place:
        (Path(place) / SCRIPT).write_text(source, encoding="utf-8")
        shows, printed = replays(Path(place), seconds=seconds, python=python)
    return _ScriptRun(source, shows, printed)


def _script_text(run: _ScriptRun) -> str:
    printed = run.printed.strip().replace("```", "'''")[-PRINTED:] or "nothing"
    told = "It prints:" if run.shows else "**It does not show the fault here and now**; it prints:"
    if run.source:
        script = f"```python\n{run.source.rstrip()}\n```\n\n{told}"
    else:
        script = f"`python {SCRIPT}` in the attached folder: no single file of less than 40 lines shows it. {told}"
    return f"{script}\n\n```\n{printed}\n```"
