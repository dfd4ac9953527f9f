"""How far a campaign is enters, text for people and JSON for programs leaves."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from irfuzz.campaign import comparable
from irfuzz.campaign.sampling import SAMPLED, share_of
from irfuzz.cli.parser import one_line
from irfuzz.execute.types import Exit
from irfuzz.report.where import where_text

if TYPE_CHECKING:
    from rich.table import Table

    from irfuzz.campaign.campaign import Campaign, Progress
    from irfuzz.findings.finding import Finding

LINE_SECONDS = 10.0
"""How often progress is told where standard error is no terminal."""

TITLE = 160
"""Longest title in the summary; ``report.md`` has all of it."""

FAULTS = 5
"""Faults of irfuzz itself that the summary names."""

Watch = Callable[["Progress"], None]


@contextmanager
def watcher(campaign: Campaign, seconds: float, *, quiet: bool) -> Generator[Watch]:
    """What to call with each progress: a live table in a terminal, else a line now and then, or nothing."""
    if quiet:
        yield lambda progress: None
        return
    if not sys.stderr.isatty():
        yield _lines(campaign)
        return
    from rich.console import Console
    from rich.live import Live

    with Live(console=Console(stderr=True), refresh_per_second=4, transient=True) as live:
        told = _Late(campaign, live.console.print)

        def show(progress: Progress) -> None:
            told.look()
            live.update(_table(progress, seconds))

        yield show


def _lines(campaign: Campaign) -> Watch:
    last = 0.0
    told = _Late(campaign, lambda text: print(text, file=sys.stderr, flush=True))

    def show(progress: Progress) -> None:
        nonlocal last
        told.look()
        if progress.seconds - last >= LINE_SECONDS:
            last = progress.seconds
            print(f"irfuzz: {line(progress)}", file=sys.stderr, flush=True)

    return show


class _Late:
    """Tells once which targets are installed but did not start."""

    def __init__(self, campaign: Campaign, say: Callable[[str], None]) -> None:
        self._campaign = campaign
        self._say = say
        self._done = False

    def look(self) -> None:
        if self._done:
            return
        found = self._campaign.targets()
        if found is not None:
            self._done = True
            for text in targets_lines({}, found["absent"]):
                self._say(f"irfuzz: {text}")


NAMED = 6
"""So many of the targets that one reason keeps from being used are named."""


def targets_lines(used: Mapping[str, str], absent: Mapping[str, str]) -> list[str]:
    """One line for the targets that are used, one for each reason why others are not."""
    lines: list[str] = []
    if used:
        versions: dict[tuple[str, str], list[str]] = {}
        for name, version in used.items():
            component, _, variant = name.partition(":") if not _is_plugin(name) else (name, "", "")
            component = component.removesuffix(f"@{version}")
            versions.setdefault((component, version), []).append(variant)
        parts = [
            " ".join(x for x in (component, version, f"({', '.join(variants)})" if any(variants) else "") if x)
            for (component, version), variants in versions.items()
        ]
        lines.append(f"targets: {', '.join(parts)}")
    reasons: dict[str, list[str]] = {}
    for name, why in absent.items():
        reasons.setdefault(one_line(why), []).append(name)
    for why, names in reasons.items():
        more = f" and {len(names) - NAMED} more (`irfuzz targets`)" if len(names) > NAMED else ""
        lines.append(f"not used: {', '.join(names[:NAMED])}{more}: {why}")
    return lines


def _is_plugin(name: str) -> bool:
    return "." in name.partition(":")[0].partition("@")[0]


def line(p: Progress) -> str:
    """One line."""
    new = "" if p.last is None else f" (last new one {_ago(p.last)} ago)"
    return (
        f"{p.seconds:.0f} s, {p.programs} programs ({p.rate:.0f}/s), corpus {p.corpus}, "
        f"findings {p.findings}{new}, suspects {p.suspects}{_sampled(p)}{_covered(p)}"
        + (f", unreplayed {p.unreplayed}" if p.unreplayed else "")
        + (f", internal errors {p.internal_errors}" if p.internal_errors else "")
    )


def _sampled(p: Progress) -> str:
    """What slow targets got, where there are any."""
    share = share_of(p.counts)
    return "" if share is None else f", slow targets on {p.counts.get(SAMPLED, 0)} programs ({share:.0%} of the time)"


def _ago(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.0f} min"


def _covered(p: Progress) -> str:
    """Coverage of COMET's criteria, as far as a job has told of it."""
    if not any(p.coverage.values()):
        return ""
    lines = f", Python lines {_python_lines(p)}" if p.python_lines else ""
    return ", coverage " + " ".join(f"{name} {share:.1%}" for name, share in p.coverage.items()) + lines


def _python_lines(p: Progress) -> str:
    return " ".join(f"{name.rpartition('/')[2]} {count}" for name, count in p.python_lines.items())


def _table(p: Progress, seconds: float) -> Table:
    from rich.table import Table

    table = Table(show_header=False, box=None, padding=(0, 2))
    rows = [
        ("time", f"{p.seconds:.0f} of {seconds:.0f} s" if p.programs_this_run else f"{p.seconds:.0f} s, starting"),
        ("programs", f"{p.programs}  ({p.rate:.0f}/s)"),
        ("corpus", str(p.corpus)),
        ("findings", f"{p.findings}" + ("" if p.last is None else f"  (last new one {_ago(p.last)} ago)")),
        ("suspects", str(p.suspects)),
    ]
    if any(p.coverage.values()):
        rows.append(("coverage", "  ".join(f"{name} {share:.1%}" for name, share in p.coverage.items())))
    if p.python_lines:
        rows.append(("Python lines", _python_lines(p)))
    share = share_of(p.counts)
    if share is not None:
        rows.append(("slow targets", f"on {p.counts.get(SAMPLED, 0)} programs  ({share:.0%} of the time)"))
    gaps = sum(count for name, count in p.counts.items() if name.endswith(f" {Exit.UNSUPPORTED}"))
    if gaps:
        rows.append(("unsupported", f"{gaps} of {p.counts.get('runs', 0)} runs"))
    if p.unreplayed:
        rows.append(("unreplayed", str(p.unreplayed)))
    if p.internal_errors:
        rows.append(("internal errors", str(p.internal_errors)))
    for name, value in rows:
        table.add_row(name, value)
    return table


def summary_text(campaign: Campaign, p: Progress, found: Sequence[Finding]) -> str:
    """What a person reads at the end."""
    layout = campaign.layout
    lines = [*filter(None, [comparable.warning(p.counts)]), line(p)]
    if campaign.interrupted:
        lines[0] = f"stopped: {lines[0]}"
    if campaign.killed:
        lines.append(
            f"  {len(campaign.killed)} of {campaign.config.jobs} jobs did not end in time and were killed; "
            "what they were busy with runs again when the campaign is continued"
        )
    lines += _ends(p.counts)
    if p.suspects:
        lines.append(f"  {p.suspects} suspects, too thinly proven to be findings: {layout.suspects}")
    if p.unreplayed:
        lines.append(f"  {p.unreplayed} seen, but not shown by their own repro.py: {layout.unreplayed}")
    if p.internal_errors:
        lines.append(f"  {p.internal_errors} faults of irfuzz itself: {layout.internal}")
        lines += [f"    {one_line(text)}" for text in campaign.faults()[-min(FAULTS, p.internal_errors) :]]
    known = sum(bool(finding.known) for finding in found)
    counted = f", {known} of them likely known" if known else ""
    lines.append(f"{len(found)} finding{'s' if len(found) != 1 else ''}{counted}:" if found else "nothing found")
    for finding in found:
        lines.append(f"  {campaign.folder_of(finding)}\n    {_title(finding)}")
        where = where_text(finding.component, finding.shown)
        if where:
            lines.append(f"    {where}")
        lines += [f"    likely known: {k.id}" + (f", {k.link}" if k.link else "") for k in finding.known]
    return "\n".join(lines)


def _title(finding: Finding) -> str:
    text = one_line(finding.title)
    return text if len(text) <= TITLE else f"{text[: TITLE - 3]}..."


def _ends(counts: Mapping[str, int]) -> list[str]:
    """How runs ended that were not ok, a line for each target; then what else was counted."""
    ends: dict[str, list[str]] = {}
    for name, count in counts.items():
        target, _, end = name.rpartition(" ")
        if target and end in set(Exit):
            ends.setdefault(target, []).append(f"{end} {count}")
    lines = []
    if ends:
        width = max(map(len, ends))
        lines = [f"  of {counts.get('runs', 0)} runs not ok:"]
        lines += [f"    {target:<{width}}  {', '.join(told)}" for target, told in ends.items()]
    told = {
        "repeated": "disagreements were those of known findings",
        "unrepeatable": "did not show again in a fresh process",
        "untriaged": "were not looked into, for want of time",
        "unmutated": "programs could not be mutated",
        "no inputs": "programs got no inputs",
        "spared": "runs were spared, of targets that hung on another mutant of the same seed",
        "skipped after a death": "programs were left out because irfuzz died at them",
    }
    lines += [f"  {counts[name]} {text}" for name, text in told.items() if counts.get(name)]
    return lines


def summary_json(
    campaign: Campaign, p: Progress, found: Sequence[Finding], missing: Mapping[str, str], code: int
) -> dict[str, Any]:
    """The same for programs."""
    targets = campaign.targets() or {"used": {}, "absent": {}}
    layout = campaign.layout
    return {
        **p.to_json(),
        "compared_share": comparable.share(p.counts),
        "slow_share": share_of(p.counts),
        "out": str(layout.out),
        "exit_code": code,
        "seed": campaign.config.seed,
        "jobs": campaign.config.jobs,
        "continued": campaign.continued,
        "interrupted": campaign.interrupted,
        "targets": dict(targets["used"]),
        "absent_targets": {**missing, **targets["absent"]},
        "faults": campaign.faults()[-p.internal_errors :] if p.internal_errors else [],
        "deaths": [{"job": d.job, "how": d.how, "words": d.words} for d in campaign.deaths],
        "list": [
            {
                "folder": str(campaign.folder_of(finding)),
                "title": finding.title,
                "symptom": finding.verdict.symptom.value,
                "target": finding.verdict.target,
                "signature": finding.signature,
                "times": finding.times,
                "first": _iso(finding.first),
                "last": _iso(finding.last),
                "shown": [asdict(s) for s in finding.shown],
                "known": [k.id for k in finding.known],
            }
            for finding in found
        ],
    }


def _iso(seconds: float) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds))
