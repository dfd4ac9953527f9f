"""What all jobs of a campaign cover together, and its curve over time."""

from __future__ import annotations

import json
from collections.abc import Mapping

from irfuzz.campaign.corpus.mutation_steering import COVERAGE, FUSIONS, PASSES
from irfuzz.campaign.monitoring.python_line_coverage import LINES, LineCoverage
from irfuzz.search.coverage.coverable_call_space import load
from irfuzz.search.coverage.fusion_coverage import Fusions
from irfuzz.search.coverage.operator_call_coverage import CRITERIA, Coverage
from irfuzz.search.coverage.pass_coverage import PassCoverage
from irfuzz.store.database import Database

CURVE = "coverage curve"
"""Key of the setting that holds the curve: rows of seconds, programs and the share of each criterion."""

FIRED_CURVE = "passes curve"
"""Key of the setting with rows of seconds and how many passes of optimisers had fired."""

EVERY = 2.0
"""Seconds between two looks at what the jobs cover: it is read and unpacked whole, and grows by little."""

ROWS = 1000
"""Of a longer curve every second row is dropped."""


class JointCoverage:
    """The union of what the jobs cover; a job's part is read again only if it has changed."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._coverage = Coverage(load())
        self._texts: dict[str, str] = {}
        self._looked, self._shares = -EVERY, dict[str, float]()
        self._fusions = Fusions()
        self._lines = LineCoverage()
        self._passes = PassCoverage()
        curve = database.settings().get(CURVE)
        self._curve: list[list[float]] = json.loads(curve) if curve else []
        self._before = self._curve[-1][0] if self._curve else 0.0
        self._pass_curve: list[list[float]] = json.loads(database.settings().get(FIRED_CURVE, "[]"))

    def python_lines(self) -> dict[str, int]:
        """Lines of components written in Python that ran, by package, as of the last ``shares``."""
        return self._lines.packages()

    def shares(self, seconds: float, programs: int, *, anew: bool = False) -> Mapping[str, float]:
        """The share of each criterion, of fusion patterns and of optimisers' passes, from 0 to 1.

        If criteria changed, the curve gets a row.

        Args:
            seconds: since this run of the campaign began.
            programs: of all runs.
            anew: look even if the last look was less than ``EVERY`` seconds ago.
        """
        if anew or not 0 <= seconds - self._looked < EVERY:
            self._looked, self._shares = seconds, self._look(seconds, programs)
        return self._shares

    def _look(self, seconds: float, programs: int) -> dict[str, float]:
        changed = False
        for key, text in self._database.settings().items():
            if key.startswith(COVERAGE) and self._texts.get(key) != text:
                self._texts[key] = text
                self._coverage.absorb(json.loads(text))
                changed = True
            elif key.startswith(FUSIONS) and self._texts.get(key) != text:
                self._texts[key] = text
                self._fusions.absorb(json.loads(text))
            elif key.startswith(PASSES) and self._texts.get(key) != text:
                self._texts[key] = text
                self._passes.absorb(json.loads(text))
                self._note_passes(seconds)
            elif key.startswith(LINES) and self._texts.get(key) != text:
                self._texts[key] = text
                self._lines.absorb(json.loads(text))
        shares = self._coverage.shares()
        found = {name: shares[name].ratio for name in CRITERIA}
        if changed:
            self._curve.append([round(self._before + seconds, 1), programs, *(round(r, 5) for r in found.values())])
            if len(self._curve) > ROWS:
                self._curve = self._curve[::2]
            self._database.set(CURVE, json.dumps(self._curve))
        more = self._fusions.labelled() | self._passes.labelled()
        return found | {name: share.ratio for name, share in more.items()}

    def _note_passes(self, seconds: float) -> None:
        """Give the curve of fired passes a row if more have fired."""
        fired = sum(share.covered for share in self._passes.shares().values())
        if fired != (self._pass_curve[-1][1] if self._pass_curve else 0):
            self._pass_curve.append([round(self._before + seconds, 1), fired])
            self._database.set(FIRED_CURVE, json.dumps(self._pass_curve))


def curve_of(database: Database) -> list[list[float]]:
    """The curve of a campaign: rows of seconds, programs, and the share of each of ``CRITERIA``.

    Args:
        database: of the campaign, which may still run.

    Returns:
        Oldest first; empty before anything was covered.
    """
    text = database.settings().get(CURVE)
    return json.loads(text) if text else []


def coverage_of(database: Database) -> Coverage:
    """What the jobs of a campaign cover together, and of how many programs.

    A job counts the corpus, which others have made, too, and reads it anew when it is resumed; so how many programs
    there were is what the jobs have run.
    """
    coverage = Coverage(load())
    for key, text in database.settings().items():
        if key.startswith(COVERAGE):
            coverage.absorb(json.loads(text))
    coverage.programs = sum(programs for _, _, programs, _ in database.tallies())
    return coverage


def fusions_of(database: Database) -> Fusions:
    """Which fusion patterns the programs of a campaign show, over all its jobs.

    Args:
        database: in whose settings every job writes what it saw. The result is a new object.
    """
    fusions = Fusions()
    for key, text in database.settings().items():
        if key.startswith(FUSIONS):
            fusions.absorb(json.loads(text))
    return fusions


def passes_of(database: Database) -> PassCoverage:
    """Which passes of optimisers changed the programs of a campaign, over all its jobs.

    Args:
        database: in whose settings every job writes what it saw. The result is a new object.
    """
    passes = PassCoverage()
    for key, text in database.settings().items():
        if key.startswith(PASSES):
            passes.absorb(json.loads(text))
    return passes


def lines_of(database: Database) -> LineCoverage:
    """Lines of components written in Python that the programs of a campaign ran, if they were counted.

    Args:
        database: in whose settings every job writes what it saw.

    Returns:
        The lines of all jobs together; none if nobody counted.
    """
    lines = LineCoverage()
    for key, text in database.settings().items():
        if key.startswith(LINES):
            lines.absorb(json.loads(text))
    return lines
