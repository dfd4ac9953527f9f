"""Counts the programs that at least two targets ran, and keeps why the others could not be compared.

A disagreement needs two outputs. A campaign that finds nothing because targets refuse its programs must not read like
one that compared them: its summary begins with the share that ran on two targets if that is less than half.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence

from irfuzz.execute.run_types import Exit, RunResult
from irfuzz.ir.inference.call_output_types import one_line

COMPARED, ALONE = "on two targets", "on fewer than two targets"
"""Counts of valid programs."""

WHY = "not compared: "
"""Before a target and what it said, in the counts."""

MOST, LONGEST = 16, 160
"""Kept reasons of a job, and characters of one."""

FEW = 0.5
"""If a smaller share of the programs was compared, the summary begins with that."""


def count(results: Sequence[RunResult], counts: Counter[str]) -> None:
    """Count one valid program by how many of its targets ran it; of one target alone nothing can be compared."""
    if len(results) < 2:
        return
    if sum(result.exit is Exit.OK for result in results) >= 2:
        counts[COMPARED] += 1
        return
    counts[ALONE] += 1
    why = WHY + _reason(results)
    if why in counts or sum(name.startswith(WHY) for name in counts) < MOST:
        counts[why] += 1


def _reason(results: Sequence[RunResult]) -> str:
    """What the first target that did not run the program said; numbers and names that differ by program are cut."""
    failed = next(result for result in results if result.exit is not Exit.OK)
    said = re.sub(r"\d+", "#", one_line(failed.error)) or "no message"
    # The full stop keeps it apart from the counts of a target's runs, whose names end with an exit.
    return f"{failed.target.name}: {failed.exit} at {failed.stage}: {said}"[:LONGEST] + "."


def share(counts: Mapping[str, int]) -> float | None:
    """The part of the valid programs that at least two targets ran; ``None`` before the first.

    Args:
        counts: of a job or a campaign, as ``count`` keeps them.
    """
    compared, alone = counts.get(COMPARED, 0), counts.get(ALONE, 0)
    return compared / (compared + alone) if compared + alone else None


def warning(counts: Mapping[str, int]) -> str | None:
    """One line for a campaign that could compare few of its programs, with the most frequent reason.

    Args:
        counts: of the campaign.

    Returns:
        ``None`` if at least half of them ran on two targets or more, or if there was none.
    """
    part = share(counts)
    if part is None or part >= FEW:
        return None
    compared, alone = counts.get(COMPARED, 0), counts[ALONE]
    whys = {name.removeprefix(WHY): times for name, times in counts.items() if name.startswith(WHY)}
    most = max(whys, key=lambda why: whys[why], default="")
    told = f"; {whys[most]} times {most.removesuffix('.')}" if most else ""
    return f"only {compared} of {compared + alone} programs ran on two targets or more{told}"
