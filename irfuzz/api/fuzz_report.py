"""What a campaign found: a typed report, text for people and JSON for programs."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from irfuzz.api.stored_finding_replays import ReplayedFinding, StoredFindingState, gone_folders
from irfuzz.campaign.campaign import Campaign, CampaignProgress
from irfuzz.campaign.config import Config, Layout
from irfuzz.campaign.job_processes import JobDeath
from irfuzz.campaign.targets import compared_program_counts
from irfuzz.campaign.targets.drawn_calls import LEFT_OUT, MEANT
from irfuzz.campaign.targets.refusal_learning import ASKED, REFUSED
from irfuzz.campaign.targets.slow_sampling import SAMPLED, share_of
from irfuzz.execute.run_types import Exit
from irfuzz.findings.baseline import NO_BASELINE, FindingBaseline
from irfuzz.findings.blame.introduced_fixed_releases import fixed_in, introduced_in
from irfuzz.findings.causes.cause_grouping import groups
from irfuzz.findings.disposition import DecidedFinding, Disposition, FailOn, decided
from irfuzz.findings.finding import Finding
from irfuzz.findings.suspect_finding_groups import alike
from irfuzz.report.affected_versions_text import where_text
from irfuzz.report.ci_reports.build_result import BuildResult
from irfuzz.report.terminal_text_cleaning import one_line

TITLE = 160
"""Longest title in the summary; ``report.md`` has all of it."""

SUSPECTS = 3
"""Groups of suspects of which the summary names the first."""

FAULTS = 5
"""Faults of irfuzz itself that the summary names."""


@dataclass(frozen=True, slots=True)
class FuzzReport:
    """What a campaign found, over all its runs.

    Attributes:
        out: its folder.
        config: its settings.
        progress: how far it has come.
        findings: confirmed ones, oldest first, without models and inputs.
        folders: of the findings.
        suspects: too thinly proven to be findings, the likeliest fault first, with their folders.
        targets: versions of those that ran, by name.
        failed_targets: why some that are installed could not start, by name.
        missing_targets: why others were not tried, by name.
        continued: whether the folder held a campaign before.
        interrupted: whether somebody asked it to end.
        killed: jobs that did not end in time.
        faults: what irfuzz itself failed on in this run, a line each.
        deaths: jobs that died of that.
        fail_on: what makes ``exit_code`` 1.
        baseline: findings that the project knows.
        starting_targets: seconds for which jobs have waited for targets that do not come to their start, by name.
        unanswered: seconds for which jobs have waited for answers of components, by name.
        looked_into: what jobs look into now, in a few words.
        replayed: what the scripts of stored findings said before the campaign began.
        own: names of the classes of the caller's that are tested; if there are some, findings of others fail nothing.
    """

    out: Path
    config: Config
    progress: CampaignProgress
    findings: tuple[Finding, ...]
    folders: tuple[Path, ...]
    targets: Mapping[str, str]
    failed_targets: Mapping[str, str]
    missing_targets: Mapping[str, str]
    suspects: tuple[tuple[Finding, Path], ...] = ()
    continued: bool = False
    interrupted: bool = False
    killed: int = 0
    faults: tuple[str, ...] = ()
    deaths: tuple[JobDeath, ...] = ()
    fail_on: FailOn = FailOn.NEW
    baseline: FindingBaseline = NO_BASELINE
    starting_targets: Mapping[str, float] = field(default_factory=dict[str, float])
    unanswered: Mapping[str, float] = field(default_factory=dict[str, float])
    looked_into: tuple[str, ...] = ()
    replayed: tuple[ReplayedFinding, ...] = ()
    own: tuple[str, ...] = ()

    @property
    def exit_code(self) -> int:
        """What ``irfuzz fuzz`` exits with: 3 after a fault of irfuzz itself, 1 if something of ``decided`` or
        ``stored_elsewhere`` fails (by default a finding that is neither known nor labelled nor in the baseline), else
        0.
        """
        failed = any(row.fails for row in (*self.decided, *self.stored_elsewhere))
        return 3 if self.progress.internal_errors else int(failed)

    @property
    def decided(self) -> tuple[DecidedFinding, ...]:
        """What is decided of each finding, and with ``fail_on`` ``undecided`` of each suspect behind them; labels are
        read from the folders as they are now.
        """
        doubted = self.suspects if self.fail_on is FailOn.UNDECIDED else ()
        found = [*zip(self.findings, self.folders, strict=True), *doubted]
        return decided(found, self.fail_on, self.baseline, gone_folders(found, self.replayed), self.own)

    @property
    def stored_elsewhere(self) -> tuple[DecidedFinding, ...]:
        """What is decided of findings of other folders that were replayed and show, and that the campaign has not."""
        own, out = {finding.signature for finding in self.findings}, self.out.resolve()
        elsewhere = [r for r in self.replayed if not r.folder.resolve().is_relative_to(out)]
        showing = [r for r in elsewhere if r.outcome is StoredFindingState.SHOWS and r.finding.signature not in own]
        return decided([(r.finding, r.folder) for r in showing], self.fail_on, self.baseline, own=self.own)

    @property
    def for_ci(self) -> BuildResult:
        """The result as ``irfuzz/report/ci_reports`` writes it for build servers."""
        p, rows = self.progress, (*self.stored_elsewhere, *self.decided)
        return BuildResult(
            self.out, self.fail_on, rows, line(p), p.seconds, self.targets, p.internal_errors, len(self.suspects)
        )

    @property
    def internal(self) -> Path:
        """The folder of what irfuzz itself failed on."""
        return Layout(self.out).internal

    def to_json(self) -> dict[str, Any]:
        """All of it as JSON-able data, as ``irfuzz fuzz --json`` prints it."""
        return summary_json(self)

    def __str__(self) -> str:
        """The summary for people, as ``irfuzz fuzz`` prints it."""
        return summary_text(self)


def report_of(
    campaign: Campaign,
    progress: CampaignProgress,
    missing: Mapping[str, str],
    fail_on: FailOn = FailOn.NEW,
    baseline: FindingBaseline = NO_BASELINE,
    replayed: tuple[ReplayedFinding, ...] = (),
    own: tuple[str, ...] = (),
) -> FuzzReport:
    """What an open campaign has found by now.

    Args:
        campaign: its findings are read.
        progress: how far it has come.
        missing: targets that were never tried, with the reasons.
        fail_on: see ``FuzzReport``.
        baseline: likewise.
        replayed: likewise.
        own: likewise.
    """
    targets = campaign.targets() or {"used": {}, "absent": {}}
    found = campaign.findings()
    failed = progress.internal_errors
    return FuzzReport(
        campaign.layout.out,
        campaign.config,
        progress,
        tuple(found),
        tuple(campaign.folder_of(finding) for finding in found),
        dict(targets["used"]),
        dict(targets["absent"]),
        missing,
        tuple((suspect, campaign.folder_of(suspect)) for suspect in campaign.suspects()),
        campaign.continued,
        campaign.interrupted,
        len(campaign.killed),
        tuple(campaign.faults()[-failed:]) if failed else (),
        tuple(campaign.deaths),
        fail_on,
        baseline,
        campaign.starting(),
        campaign.unanswered(),
        tuple(campaign.looked_into()),
        replayed,
        own,
    )


def line(p: CampaignProgress) -> str:
    """One line of progress for people.

    Args:
        p: of a campaign, over all its runs; the rate is that of this run.

    Returns:
        Seconds, programs, corpus, findings and suspects; slow targets, coverage, unreplayed findings and internal
        errors only if there are any.
    """
    new = "" if p.last is None else f" (last new one {ago(p.last)} ago)"
    return (
        f"{p.seconds:.0f} s, {p.programs} programs ({p.rate:.0f}/s), corpus {p.corpus}, "
        f"findings {p.findings}{new}, suspects {p.suspects}{_sampled(p)}{_covered(p)}"
        + (f", unreplayed {p.unreplayed}" if p.unreplayed else "")
        + (f", internal errors {p.internal_errors}" if p.internal_errors else "")
    )


def _sampled(p: CampaignProgress) -> str:
    """What slow targets got, if there are any."""
    share = share_of(p.counts)
    return "" if share is None else f", slow targets on {p.counts.get(SAMPLED, 0)} programs ({share:.0%} of the time)"


def ago(seconds: float) -> str:
    """A time for people: ``90 s``, and from two minutes on ``2 min``.

    Args:
        seconds: that have gone by.
    """
    return f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.0f} min"


def _covered(p: CampaignProgress) -> str:
    """Coverage of COMET's criteria, as far as a job has told of it."""
    if not any(p.coverage.values()):
        return ""
    lines = f", Python lines {python_lines(p)}" if p.python_lines else ""
    return ", coverage " + " ".join(f"{name} {share:.1%}" for name, share in p.coverage.items()) + lines


def python_lines(p: CampaignProgress) -> str:
    """Lines of Python code that ran, by package, on one line; empty if none were counted."""
    return " ".join(f"{name.rpartition('/')[2]} {count}" for name, count in p.python_lines.items())


def summary_text(report: FuzzReport) -> str:
    """What a person reads at the end: the line of progress, what went wrong, and the findings by their causes."""
    p, layout = report.progress, Layout(report.out)
    lines = [*filter(None, [compared_program_counts.warning(p.counts)]), line(p)]
    if report.interrupted:
        lines[0] = f"stopped: {lines[0]}"
    if report.killed:
        lines.append(
            f"  {report.killed} of {report.config.jobs} jobs did not end in time and were killed; "
            "what they were busy with runs again when the campaign is continued"
        )
    lines += _ends(p.counts)
    if p.suspects:
        lines.append(f"  {p.suspects} suspects, too thinly proven to be findings: {layout.suspects}")
        lines += _suspect_lines(report)
    if p.unreplayed:
        lines.append(f"  {p.unreplayed} seen, but not shown by their own repro.py: {layout.unreplayed}")
    if p.internal_errors:
        lines.append(f"  {p.internal_errors} faults of irfuzz itself: {layout.internal}")
        lines += [f"    {one_line(text)}" for text in report.faults[-min(FAULTS, p.internal_errors) :]]
    lines += _replay_lines(report)
    rows = report.decided
    lines.append(_count_line(rows[: len(report.findings)]))
    for row in report.stored_elsewhere:
        lines += _finding_lines(row)
    for first, *others in groups([finding.cause for finding in report.findings]):
        lines += _finding_lines(rows[first])
        lines += [f"    of the same cause: {report.folders[place]}" for place in others]
    if report.findings or any(row.fails for row in (*rows, *report.stored_elsewhere)):
        lines.append(_exit_line(report, rows))
    return "\n".join(lines)


def _count_line(rows: Sequence[DecidedFinding]) -> str:
    """How many findings there are, and how many of them somebody has decided on."""
    if not rows:
        return "nothing found"
    known = sum(bool(row.finding.known) for row in rows)
    told = [f"{known} of them likely known"] if known else []
    decisions = {
        Disposition.LABELLED: "labelled",
        Disposition.BASELINE: "in the baseline",
        Disposition.OTHERS: "of other components",
        Disposition.GONE: "gone",
    }
    for disposition, words in decisions.items():
        count = sum(row.disposition is disposition for row in rows)
        told += [f"{count} {words}"] if count else []
    return f"{', '.join([f'{len(rows)} finding' + 's' * (len(rows) != 1), *told])}:"


def _exit_line(report: FuzzReport, rows: Sequence[DecidedFinding]) -> str:
    """Which exit code it is, and why."""
    found = [*report.stored_elsewhere, *rows[: len(report.findings)]]
    new = sum(row.disposition is Disposition.NEW for row in found)
    doubted = sum(row.fails for row in rows[len(report.findings) :])
    suspects = f", {doubted} of {len(report.suspects)} suspects undecided" if doubted else ""
    return f"exit code {report.exit_code}: {new} of {len(found)} findings new{suspects} (--fail-on {report.fail_on})"


def _replay_lines(report: FuzzReport) -> list[str]:
    """What came of replaying stored findings, with those that a person has something to do about."""
    if not report.replayed:
        return []
    counts = {outcome: sum(r.outcome is outcome for r in report.replayed) for outcome in StoredFindingState}
    told = ", ".join(f"{count} {outcome}" for outcome, count in counts.items() if count)
    lines = [f"  {len(report.replayed)} stored findings replayed first: {told}"]
    for replayed in report.replayed:
        entry = report.baseline.entry_of(replayed.finding.signature, replayed.finding.cause)
        if replayed.outcome is StoredFindingState.GONE and entry is not None:
            lines.append(f"    gone, so its entry may leave the baseline: {_title(replayed.finding)}")
        elif replayed.outcome is StoredFindingState.UNTOLD:
            lines.append(f"    {replayed.folder}: cannot be told: {one_line(replayed.why)}")
    return lines


def _suspect_lines(report: FuzzReport) -> list[str]:
    """The likeliest suspects, one of each group that are alike, and how to see the others."""
    rows = alike([suspect.group for suspect, _ in report.suspects])[:SUSPECTS]
    lines: list[str] = []
    for first, *others in rows:
        suspect, folder = report.suspects[first]
        more = f"; {len(others)} more like it" if others else ""
        title = _title(suspect).removeprefix("suspect: ")
        lines.append(f"    {folder.name}: {title} ({suspect.verdict.doubt}){more}")
    left = len(report.suspects) - sum(map(len, rows))
    if left:
        lines.append(f"    and {left} more: irfuzz findings list --suspects {report.out}")
    return lines


def _finding_lines(row: DecidedFinding) -> list[str]:
    finding, where = row.finding, where_text(row.finding)
    lines = [f"  {row.folder}", f"    {_title(finding)}", *([f"    {where}"] if where else [])]
    lines += [f"    likely known: {k.id}" + (f", {k.link}" if k.link else "") for k in finding.known]
    if row.disposition is Disposition.LABELLED:
        lines.append(f"    label: {one_line(row.reason)}")
    elif row.disposition is Disposition.BASELINE:
        lines.append("    in the baseline")
    elif row.disposition in (Disposition.OTHERS, Disposition.GONE):
        lines.append(f"    {row.disposition}: {row.reason}")
    return lines


def _title(finding: Finding) -> str:
    text = one_line(finding.title)
    return text if len(text) <= TITLE else f"{text[: TITLE - 3]}..."


def _ends(counts: Mapping[str, int]) -> list[str]:
    """How runs ended that were not ok, a line for each target; then what else was counted."""
    ends: dict[str, list[str]] = {}
    for name, count in counts.items():
        target, _, end = name.rpartition(" ")
        if target and end in set(Exit) - {Exit.OK}:
            ends.setdefault(target, []).append(f"{end} {count}")
    lines = []
    if ends:
        width = max(map(len, ends))
        lines = [f"  of {counts.get('runs', 0)} runs not ok:"]
        lines += [f"    {target:<{width}}  {', '.join(told)}" for target, told in ends.items()]
    for name in (name.removesuffix(f" {ASKED}") for name in counts if name.endswith(f" {ASKED}")):
        refused, asked = counts.get(f"{name} {REFUSED}", 0), counts[f"{name} {ASKED}"]
        lines.append(f"  {name} refused {refused} of {asked} runs of valid programs")
    for name in (name.removeprefix(f"{MEANT} ") for name in counts if name.startswith(f"{MEANT} ")):
        drawn = counts[f"{MEANT} {name}"]
        lines.append(f"  {drawn} programs were drawn from what {name} takes, which lacked most of the others")
    told = {
        "repeated": "disagreements were those of known findings",
        "suspects repeated": "suspects were like others that had been looked into",
        "unrepeatable": "did not show again in a fresh process",
        "unfinished": "were not shown by a script yet when the time was up, and wait for the next run",
        "let go": "were let go, since smaller ones like them waited",
        "failed in triage": "are kept as not replayed, since irfuzz failed each time that it looked into them",
        "untriaged": "were not looked into, for want of time, and wait for the next run",
        "unmutated": "programs could not be mutated",
        LEFT_OUT: "seeds were left out, as they are beyond what is to be drawn",
        "no inputs": "programs got no inputs",
        "spared": "runs were spared, of targets that hung on another mutant of the same seed",
        "skipped after a death": "programs were left out because irfuzz died at them",
    }
    lines += [f"  {counts[name]} {text}" for name, text in told.items() if counts.get(name)]
    return lines


def summary_json(report: FuzzReport) -> dict[str, Any]:
    """The same for programs, as ``irfuzz fuzz --json`` prints it.

    Returns:
        JSON-able data with the progress at its top level.
    """
    p = report.progress
    rows = groups([finding.cause for finding in report.findings])
    heads = {place: str(report.folders[row[0]]) for row in rows for place in row[1:]}
    decisions = report.decided
    return {
        **p.to_json(),
        "suspect_list": [
            {
                "folder": str(folder),
                "title": suspect.title,
                "symptom": suspect.verdict.symptom.value,
                "target": suspect.verdict.target,
                "doubt": suspect.verdict.doubt,
                "times": suspect.times,
                "group": suspect.group,
            }
            for suspect, folder in report.suspects
        ],
        "compared_share": compared_program_counts.share(p.counts),
        "slow_share": share_of(p.counts),
        "out": str(report.out),
        "exit_code": report.exit_code,
        "fail_on": report.fail_on.value,
        "seed": report.config.seed,
        "jobs": report.config.jobs,
        "continued": report.continued,
        "interrupted": report.interrupted,
        "targets": dict(report.targets),
        "absent_targets": {**report.missing_targets, **report.failed_targets},
        "starting_targets": dict(report.starting_targets),
        "unanswered": dict(report.unanswered),
        "faults": list(report.faults),
        "replayed": [replayed.to_json() for replayed in report.replayed],
        "deaths": [{"job": d.job, "how": d.how, "words": d.words} for d in report.deaths],
        "list": [
            {
                "folder": str(folder),
                "title": finding.title,
                "symptom": finding.verdict.symptom.value,
                "target": finding.verdict.target,
                "signature": finding.signature,
                "times": finding.times,
                "first": _iso(finding.first),
                "last": _iso(finding.last),
                "shown": [asdict(s) for s in finding.shown],
                "introduced": introduced_in(finding),
                "fixed": fixed_in(finding),
                "known": [k.id for k in finding.known],
                "disposition": decisions[place].disposition.value,
                "reason": decisions[place].reason,
                "fails": decisions[place].fails,
                "same_cause": heads.get(place, ""),
            }
            for place, (finding, folder) in enumerate(zip(report.findings, report.folders, strict=True))
        ],
    }


def _iso(seconds: float) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds))
