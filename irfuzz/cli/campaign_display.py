"""Shows how far a campaign is, while it runs: a live screen in a terminal, else a line now and then."""

from __future__ import annotations

import sys
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING

from irfuzz.report.terminal_text_cleaning import one_line

if TYPE_CHECKING:
    from irfuzz.api.fuzz_report import FuzzReport

LINE_SECONDS = 10.0
"""How often progress is told if standard error is no terminal."""

Watch = Callable[["FuzzReport"], None]


@contextmanager
def watcher(seconds: float) -> Generator[Watch]:
    """What to call with each report: a live screen in a terminal, else a line now and then.

    Both go to standard error. Targets that did not start are told of once, above the screen or between the lines.

    Args:
        seconds: that the campaign may take, for the screen.
    """
    if not sys.stderr.isatty():
        yield _lines()
        return
    from rich.console import Console
    from rich.live import Live

    from irfuzz.cli.campaign_screen import screen

    with Live(console=Console(stderr=True), refresh_per_second=4, transient=True) as live:
        told = _Late(live.console.print)

        def show(report: FuzzReport) -> None:
            told.look(report)
            live.update(screen(report, seconds, live.console.width))

        yield show


def _lines() -> Watch:
    from irfuzz.api.fuzz_report import line

    last = 0.0
    told = _Late(lambda text: print(text, file=sys.stderr, flush=True))

    def show(report: FuzzReport) -> None:
        nonlocal last
        told.look(report)
        if report.progress.seconds - last >= LINE_SECONDS:
            last = report.progress.seconds
            print(f"irfuzz: {line(report.progress)}", file=sys.stderr, flush=True)

    return show


class _Late:
    """Tells once of each target that is installed and did not start, took too long, or is still starting."""

    def __init__(self, say: Callable[[str], None]) -> None:
        self._say = say
        self._told: set[str] = set()
        self._waits: set[str] = set()

    def look(self, report: FuzzReport) -> None:
        new = {name: why for name, why in report.failed_targets.items() if name not in self._told}
        self._told |= set(new)
        for text in targets_lines({}, new):
            self._say(f"irfuzz: {text}")
        for name, seconds in report.starting_targets.items():
            if name not in self._waits:
                self._waits.add(name)
                self._say(f"irfuzz: {name} has not started after {seconds:.0f} s; no program runs before it has")


def continued_lines(report: FuzzReport, most: int | None = None) -> list[str]:
    """What a campaign that goes on has by now, and what it does first.

    Args:
        report: of the campaign before anything was started.
        most: programs after which it is to stop, those of earlier runs among them.
    """
    p = report.progress
    so_far = f"{p.programs} programs, corpus {p.corpus}, findings {p.findings}, suspects {p.suspects}"
    waits = p.counts.get("untriaged", 0)
    then = f", then {waits} disagreements that wait for triage" if waits else ""
    enough = (
        [f"no more are run, as --programs {most} counts those of earlier runs"] if most and p.programs >= most else []
    )
    return [
        f"continuing the campaign in {report.out}, seed {report.config.seed}: {so_far}",
        f"first: starting the targets{then}",
        *enough,
    ]


NAMED = 6
"""So many of the targets that one reason keeps from being used are named."""

LETTERS = 120
"""Their names have at most so many letters together."""


def targets_lines(used: Mapping[str, str], absent: Mapping[str, str]) -> list[str]:
    """One line for the targets that are used, one for each reason why others are not.

    Args:
        used: versions by target name; variants of one component and version stand together.
        absent: reasons by target name; of one reason at most ``NAMED`` targets are named.
    """
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
        shown = _shortened(names)
        more = f" and {len(names) - len(shown)} more (`irfuzz targets`)" if len(names) > len(shown) else ""
        lines.append(f"not used: {', '.join(shown)}{more}: {why}")
    return lines


def _shortened(names: list[str]) -> list[str]:
    """The first ``NAMED`` names, fewer if they are long."""
    many = min(NAMED, len(names))
    while many > 1 and sum(map(len, names[:many])) > LETTERS:
        many -= 1
    return names[:many]


def _is_plugin(name: str) -> bool:
    return "." in name.partition(":")[0].partition("@")[0]
